"""Loops over lists of many objects, whose attributes are columns (capture/lists/listed_objects.py)."""

from __future__ import annotations

import enum
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_left

Args = tuple[Any, ...]


class Mood(enum.Enum):
    CALM = 1
    WILD = 2


class Body:
    """What particles, walkers, cells and people have."""

    limit = 2.0

    def __init__(self, pick: random.Random) -> None:
        self.x, self.y, self.vx, self.vy = (pick.uniform(-2.0, 2.0) for _ in range(4))
        self.mass = 1.0 + pick.random()
        self.n = pick.randrange(3000)
        self.on = pick.random() < 0.5
        self.force: Any = 0
        self.state = "S" if pick.random() < 0.7 else "I"
        self.mood = Mood.CALM
        self.boss: Any = None

    def move(self, dt: float) -> None:
        self.x += self.vx * dt
        self.y += self.vy * dt

    def bounce(self) -> None:
        if self.x < -self.limit or self.x > self.limit:
            self.vx = -self.vx
        if self.y < -self.limit:
            self.y = -self.limit

    def distance(self, other: Body) -> float:
        return math.hypot(self.x - other.x, self.y - other.y)

    @property
    def energy(self) -> float:
        return 0.5 * self.mass * (self.vx * self.vx + self.vy * self.vy)

    @staticmethod
    def half(number: float) -> float:
        return number * 0.5

    @classmethod
    def most(cls) -> float:
        return cls.limit


class Slotted:
    """The same in slots."""

    __slots__ = ("boss", "force", "mass", "mood", "n", "on", "state", "vx", "vy", "x", "y")
    limit = 2.0
    __init__, move, bounce, distance, energy = Body.__init__, Body.move, Body.bounce, Body.distance, Body.energy
    half, most = staticmethod(Body.half), classmethod(Body.most.__func__)  # type: ignore[attr-defined]


@dataclass
class Point:
    x: float
    y: float


class World:
    """What holds a list of them."""

    def __init__(self, bodies: list[Any]) -> None:
        self.bodies = bodies
        self.dt = 0.125
        self.t = 0.0

    def step(self) -> None:
        for body in self.bodies:
            body.move(self.dt)
            body.bounce()
        self.t += self.dt


def bodies(n: int = 30, seed: int = 0, cls: Any = Body) -> list[Any]:
    pick = random.Random(seed)
    return [cls(pick) for _ in range(n)]


PROGRAMS: list[Callable[..., Any]] = []


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS.append(function)
    return function


@program
def drift(ps, k):
    for _ in range(k):
        for p in ps:
            p.x += p.vx * 0.5
            p.n += 1
            p.on = not p.on


@program
def by_methods(ps, k):
    total = 0.0
    for _ in range(k):
        for p in ps:
            p.move(0.5)
            p.bounce()
            total += p.energy + p.half(p.x) + p.most()
    return total


@program
def pairs(ps, k):
    for a in ps:
        for b in ps:
            if a is not b and a.distance(b) < 1.0:
                a.vx += b.mass * (a.x - b.x)
    return k


@program
def pairs_by_number(ps, k):
    close = 0
    for i in range(len(ps)):
        a = ps[i]
        for j in range(i + 1, len(ps)):
            b = ps[j]
            if a == b:
                close += 1000
            if abs(a.x - b.x) < 0.5:
                a.vx, b.vx = b.vx, a.vx
                close += k
    return close


@program
def pairs_of_parts(ps, k):
    close = 0
    for i, a in enumerate(ps):
        for b in ps[i + 1 :]:
            if abs(a.x - b.x) < 0.5:
                close += k
    return close


@program
def forces(ps, k):
    for _ in range(k):
        for p in ps:
            p.force = 0
            for q in ps:
                if q is not p:
                    p.force += q.mass / (1.0 + abs(q.x - p.x))
        for p in ps:
            p.vx += p.force


@program
def epidemic(ps, k):
    for _ in range(k):
        for p in ps:
            if p.state == "I":
                for q in ps:
                    if q.state == "S" and q.distance(p) < 0.8:
                        q.state = "I"
                        q.mood = Mood.WILD
                p.n += 1
                if p.n % 3 == 0:
                    p.state = "R"
                    p.boss = None
    return k


@program
def moods(ps, k):
    wild = 0
    for p in ps:
        if p.mood is Mood.WILD or (p.boss is not None and p.on):
            wild += 1
        p.mood = ps[wild].mood
    return wild + k


@program
def moved_numbers(ps, k):
    """One number in many places: constants, exchanged ones, those of others, and new ones that two have."""
    for i in range(len(ps)):
        p, q = ps[i], ps[i - 1]
        p.vy = 1.5
        p.x = q.y
        q.y = p.vx
        s = p.x * 2.0
        p.mass = s
        q.vx = s
        p.n = max(p.n, k)


@program
def in_two_loops(ps, k):
    """The second loop tells apart again which objects the numbers are."""
    for p in ps:
        p.x = p.y
        p.vx = 1.5
    for i in range(len(ps)):
        for j in range(i + 1, len(ps)):
            ps[i].x, ps[j].x = ps[j].x, ps[i].x
            ps[j].vx += 1.0
    return k


@program
def left_early(ps, k):
    for p in ps:
        p.x += 1.0
        if p.x > 2.5:
            return p.x
    return k


@program
def gathered(ps, k):
    out = []
    for p in ps:
        p.y *= 0.5
        out.append(p.y)
        out.append(p.x)
    return sum(p.n for p in ps) + k, out


def everything(of: Callable[..., Any], args: Args, objects: list[Any]) -> Any:
    """All that can be told of a call: values, types, and which of what there is each number is."""
    held = [getattr(one, name) for one in objects for name in names(one)]
    error, result = None, None
    try:
        result = of(*args)
    except Exception as raised:
        error = type(raised), str(raised)
    found = [getattr(one, name) for one in objects for name in names(one)]
    flat = [*(result if isinstance(result, list) else [])]
    for one in result if isinstance(result, tuple) else (result,):
        flat += one if isinstance(one, list) else [one]
    places: dict[int, int] = {}
    for place, one in enumerate((*held, *objects, *found, *flat)):
        places.setdefault(id(one), place)
    values = [*found, *flat]
    return [(type(one), repr(one) if not isinstance(one, Body) else "", places[id(one)]) for one in values], error


def names(one: Any) -> list[str]:
    return sorted(vars(one) if hasattr(one, "__dict__") else type(one).__slots__)


def compare(function: Any, make: Callable[[], tuple[Args, list[Any]]], backend: str, fast: Any = None) -> Any:
    """The compiled function, which leaves what the plain one does."""
    fast = fast or dynamo_lite.compile(function, backend=backend, options=OPTIONS)
    for _ in range(2):
        found, expected = (everything(of, *make()) for of in (fast, function))
        assert found == expected
    return fast


def columns_of(fast: Any) -> list[Any]:
    """The paths of the columns of attributes that its segments have."""
    ops = [op for segment in fast._compilation.segments for op in segment.capture.guards]
    return [op[3] for op in ops if op[0] == "column" and ";" in str(op[3])]


@program
def one_or_another(ps, k):
    """The number of an object is Python's or NumPy's; or the choice is between objects."""
    for t in range(k):
        j = t % len(ps) if ps[0].x < 0.5 else np.argmax([p.vx for p in ps])
        p = ps[j]
        p.x += 0.25
        p.n += t
        q = ps[t % 3] if p.x < 1.0 else ps[p.n % 5]
        q.vx = 0.5 * q.vx + 0.125 * p.y
        q.n += q is p

@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize("cls", [Body, Slotted])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda one: one.__name__)
def test_loops_over_objects(function: Any, backend: str, cls: Any, leaves: bool) -> None:
    def make() -> tuple[Args, list[Any]]:
        objects = bodies(cls=cls)
        return (objects, 3), objects

    with loops_left(leaves):
        fast = compare(function, make, backend)
    if not leaves and not _C.get_stress():
        assert columns_of(fast) and any(loop.outcome == "native" for loop in fast.explain().loops)
        assert fast.stats()["declines"] == 0 and (fast.stats()["plain_calls"] == 0 or function is left_early)


def test_lengths_and_classes_change() -> None:
    """One program serves all lengths; another class, another kind of number or a missing attribute has its own."""
    fast: Any = dynamo_lite.compile(drift, options=OPTIONS)
    for n in (20, 21, 9, 40):
        compare(drift, lambda n=n: ((ps := bodies(n), 2), ps), "numba", fast)  # type: ignore[misc]
    assert fast.stats()["compiles"] == 1 or _C.get_stress()
    for change in ("slots", "int", "big", "missing", "property", "one of another class", "empty"):

        def make(change: str = change) -> tuple[Args, list[Any]]:
            ps = bodies(20, cls=Slotted if change == "slots" else Body)
            if change == "int":
                ps[7].x = 3
            if change == "big":
                ps[7].n = 2**63 - 1
            if change == "missing":
                del ps[7].vx
            if change == "one of another class":
                ps[7] = Slotted(random.Random(1))
            left = [one for one in ps if change != "missing" or one is not ps[7]]
            return ([] if change == "empty" else ps, 2), left

        if change == "property":
            Body.vx = property(lambda self: self.vy)  # type: ignore[attr-defined]
            try:
                with pytest.raises(AttributeError):
                    fast(bodies(), 2)
            finally:
                del Body.vx  # type: ignore[attr-defined]
            continue
        compare(drift, make, "numba", fast)


def shared(ps: list[Any], qs: list[Any], leader: Any) -> float:
    total = 0.0
    for p in ps:
        p.x += 1.0
        leader.x += 0.5
        total += leader.x
    for q in qs:
        total += q.x
    return total


@pytest.mark.parametrize("kind", ["apart", "same list", "one in both", "twice", "leader", "leader in other"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_objects_that_are_reached_twice(backend: str, kind: str) -> None:
    """The program made for objects that nothing else has does not run for others."""

    def make(kind: str = kind) -> tuple[Args, list[Any]]:
        ps, qs, leader = bodies(20), bodies(20, 1), bodies(1, 2)[0]
        if kind == "same list":
            qs = ps
        if kind == "one in both":
            qs[4] = ps[9]
        if kind == "twice":
            ps[11] = ps[3]
        if kind == "leader":
            leader = ps[5]
        if kind == "leader in other":
            leader = qs[5]
        return (ps, qs, leader), [*ps, *qs, leader]

    fast = compare(shared, lambda: make("apart"), backend)
    compare(shared, make, backend, fast)
    compare(shared, make, backend)


def raises(ps: list[Any], k: int) -> float:
    total = 0.0
    for p in ps:
        p.x += 1.0
        p.n = 70000
        total += math.sqrt(p.y + k)
        p.vx = 1.0 / (p.mass - 1.25)
    return total


@pytest.mark.parametrize("change", [None, "y", "mass"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_an_exception_leaves(backend: str, change: str | None) -> None:
    def make() -> tuple[Args, list[Any]]:
        ps = bodies()
        if change is not None:
            setattr(ps[17], change, -9.0 if change == "y" else 1.25)
        return (ps, 3), ps

    compare(raises, make, backend)


def test_what_can_be_seen_is_left_alone() -> None:
    """Classes that look at their attributes, and lists whose objects have a method of their own."""

    class Watched(Body):
        stores = 0

        def __setattr__(self, name: str, value: Any) -> None:
            Watched.stores += 1
            super().__setattr__(name, value)

    class Asked(Body):
        reads = 0

        def __getattribute__(self, name: str) -> Any:
            Asked.reads += 1
            return super().__getattribute__(name)

    for cls, count in ((Watched, "stores"), (Asked, "reads")):
        fast: Any = dynamo_lite.compile(drift, options=OPTIONS)
        counts = []
        for of in (fast, drift):
            ps = bodies(cls=cls)
            setattr(cls, count, 0)
            of(ps, 2)
            counts.append(getattr(cls, count))
        assert counts[0] == counts[1] and not columns_of(fast)

    def make() -> tuple[Args, list[Any]]:
        ps = bodies()
        ps[4].move = lambda dt: None
        return (ps, 2), [one for one in ps if one is not ps[4]]

    fast = compare(by_methods, lambda: ((ps := bodies(), 2), ps), "numba")
    compare(by_methods, make, "numba", fast)
    compare(by_methods, make, "numba")


def test_a_dictionary_that_is_the_objects_own_is_not_overlooked() -> None:
    def both(ps: list[Any], of_one: dict[str, Any]) -> float:
        total = 0.0
        for p in ps:
            p.x += 1.0
            total += of_one["x"]
        return total

    def make(place: int | None) -> tuple[Args, list[Any]]:
        ps = bodies()
        return (ps, {"x": 1.5} if place is None else vars(ps[place])), ps

    fast = compare(both, lambda: make(None), "numba")
    compare(both, lambda: make(3), "numba", fast)
    compare(both, lambda: make(3), "numba")


def run(world: World, steps: int) -> float:
    for _ in range(steps):
        world.step()
    return world.t


@pytest.mark.parametrize("backend", BACKENDS)
def test_lists_that_objects_hold(backend: str) -> None:
    def make() -> tuple[Args, list[Any]]:
        world = World(bodies(50))
        return (world, 5), world.bodies

    fast = compare(run, make, backend)
    assert columns_of(fast) or _C.get_stress()


def shifted(points: list[Point], k: float) -> None:
    for p in points:
        p.x, p.y = p.y + k, p.x


@pytest.mark.parametrize("backend", BACKENDS)
def test_objects_keep_alive_what_they_exchange(backend: str) -> None:
    """Numbers that nobody else has move from one attribute to the other."""
    fast = dynamo_lite.compile(shifted, backend=backend, options=OPTIONS)
    points, expected = ([Point(float(k) * 1.5, float(-k)) for k in range(100)] for _ in range(2))
    for _ in range(3):
        fast(points, 0.5)
        shifted(expected, 0.5)
    assert points == expected


def test_a_long_list_of_what_makes_no_columns_is_left_plain() -> None:
    """It is not gone through item by item, which would take an operation for each attribute of each object."""

    class Other:
        def __init__(self, k: int) -> None:
            self.at = {k: 1}
            self.x = 0.5

    def count(ps: list[Other]) -> float:
        total = 0.0
        for p in ps:
            p.at = dict(p.at)
            total += p.x
        return total

    fast: Any = dynamo_lite.compile(count)
    assert fast([Other(k) for k in range(300)]) == 150.0
    assert sum(len(segment.capture.graph.nodes) for segment in fast._compilation.segments) < 50


class Trader:
    def __init__(self, x: int) -> None:
        self.x = x
        self.wealth = 10.0

    def gives(self, other: Trader) -> None:
        if self.wealth > 0:
            self.wealth -= 1
            other.wealth += 1


def trades(traders: list[Trader], n: int) -> Any:
    for t in range(n):
        i, j = np.random.randint(len(traders)), t % len(traders)
        traders[i].gives(traders[j])
    return [one.wealth for one in traders]


def trades_of_its_own(count: int, n: int) -> Any:
    traders = [Trader(x) for x in range(8)]
    for t in range(n):
        traders[np.random.randint(8)].gives(traders[t % 8])
        traders[t % count].x += 1
    return sum(one.wealth for one in traders), [one.x for one in traders]


@pytest.mark.parametrize("count", [1, 8, 60])
def test_a_comprehension_over_objects_that_a_loop_has_changed(count: int) -> None:
    fast = dynamo_lite.compile(trades, options=OPTIONS)
    for _ in range(2):
        given = []
        for function in (trades, fast):
            np.random.seed(1)
            given.append(function([Trader(x) for x in range(count)], 200))
        assert repr(given[0]) == repr(given[1])
    line = trades.__code__.co_firstlineno + 1
    assert {loop.outcome for loop in fast.explain().loops if loop.line == line} == {"native"}


@pytest.mark.parametrize("count", [3, 8])
def test_a_loop_over_objects_that_the_function_makes_begins_a_segment(count: int) -> None:
    fast = dynamo_lite.compile(trades_of_its_own, options=OPTIONS)
    for _ in range(2):
        given = []
        for function in (trades_of_its_own, fast):
            np.random.seed(1)
            given.append(function(count, 200))
        assert repr(given[0]) == repr(given[1])
    line = trades_of_its_own.__code__.co_firstlineno + 2
    assert {loop.outcome for loop in fast.explain().loops if loop.line == line} == {"native"}

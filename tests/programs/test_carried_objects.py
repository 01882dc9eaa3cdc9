"""Objects of ordinary classes that each iteration of a loop replaces by another one: carried by their attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import OPTIONS


class Vector:
    def __init__(self, x: Any, y: Any) -> None:
        self.x = x
        self.y = y

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y)

    def __rmul__(self, factor: float) -> Vector:
        return Vector(factor * self.x, factor * self.y)


class State:
    def __init__(self, place: Vector, speed: Vector, steps: int) -> None:
        self.place = place
        self.speed = speed
        self.steps = steps


class Marked(Vector):
    pass


def turned(v: Vector) -> Vector:
    return Vector(v.y, -v.x)


def moved(s: State, dt: float) -> State:
    speed = s.speed + (-dt) * s.place
    return State(s.place + dt * speed, speed, s.steps + 1)


def steps(n: int) -> tuple[Any, ...]:
    v = Vector(0.5, 1.0)
    for _ in range(n):
        k = turned(v)
        v = v + 0.5 * turned(v + 0.25 * k)
    return v.x, v.y


def shown(n: int) -> tuple[Any, ...]:
    return sorted(vars(made(n)).items()), type(made(n))


def made(n: int) -> Vector:
    v = Vector(0.5, 1.0)
    for _ in range(n):
        v = turned(v)
    return v


def nested(n: int) -> tuple[Any, ...]:
    s = State(Vector(1.0, 0.0), Vector(0.0, 1.0), 0)
    for _ in range(n):
        s = moved(s, 0.01)
    return s.place.x, s.place.y, s.speed.x, s.speed.y, s.steps


def from_outside(v: Vector, n: int) -> tuple[Any, ...]:
    begin = v
    for _ in range(n):
        v = v + 0.5 * turned(v)
    return v is begin, v.x, v.y, begin.x, begin.y


def returned(v: Vector, n: int) -> Vector:
    for _ in range(n):
        v = v + 0.5 * turned(v)
    return v


def before_and_now(n: int) -> tuple[Any, ...]:
    old = None
    new = Vector(0.5, 1.0)
    for _ in range(n):
        old = new
        new = turned(new) + 0.5 * old
    return old is new, old is None, None if old is None else old.x, new.y


def alias_at_first(n: int) -> tuple[Any, ...]:
    v = w = Vector(0.5, 1.0)
    for _ in range(n):
        v = v + 0.5 * turned(w)
    w.x = 7.0
    return v.x, v.y, v is w


def alias_made(n: int) -> tuple[Any, ...]:
    v, w = Vector(0.5, 1.0), Vector(1.0, 2.0)
    for _ in range(n):
        v = w = 0.5 * (v + w)
    w.x = 7.0
    return v.x, v.y, v is w


def held_by_a_list(n: int) -> tuple[Any, ...]:
    v = Vector(0.5, 1.0)
    kept = [v]
    for _ in range(n):
        v = v + 0.5 * turned(v)
    kept[0].x = 3.0
    return v.x, v.y, v is kept[0], len(kept)


def kept_in_a_list(n: int) -> tuple[Any, ...]:
    v = Vector(0.5, 1.0)
    kept = []
    for _ in range(n):
        v = v + 0.5 * turned(v)
        kept.append(v)
    v.x = 3.0
    return v.x, [one.x for one in kept], [one is v for one in kept]


def set_and_replaced(n: int) -> tuple[Any, ...]:
    v = Vector(0.5, 1.0)
    for i in range(n):
        v.x += 1.0
        w = v
        v = turned(v)
        w.y = 9.0
        v.y += i
    return v.x, v.y


def best(xs: Any) -> tuple[Any, ...]:
    found = Vector(xs[0], 0.0)
    for i in range(len(xs)):
        v = Vector(xs[i], 2.0 * i)
        if v.x < found.x:
            found = v
    return found.x, found.y


def best_beside(xs: Any) -> tuple[Any, ...]:
    v = found = Vector(float(xs[0]), 0.0)
    for i in range(1, len(xs)):
        if xs[i] < found.x:
            found = v
        v = Vector(float(xs[i]), found.x)
    v.x = 100.0
    return found.x, found.y, v is found


def clamped(v: Vector) -> Vector:
    if v.x > 1.0:
        return Vector(1.0, v.y)
    return v


def one_way_or_the_other(n: int) -> tuple[Any, ...]:
    v = Vector(0.5, 1.0)
    for _ in range(n):
        v = clamped(v + 0.5 * turned(v))
    return v.x, v.y


def another_class(n: int) -> tuple[Any, ...]:
    v = Vector(0.5, 1.0)
    for i in range(n):
        v = Marked(v.x + 1.0, v.y) if i % 2 else Vector(v.y, v.x)
    return type(v).__name__, v.x, v.y


def other_attributes(n: int) -> tuple[Any, ...]:
    v = Vector(0.5, 1.0)
    for i in range(n):
        v = turned(v)
        if i == 3:
            v.z = i  # type: ignore[attr-defined]
    return sorted(vars(v).items())


def other_order(n: int) -> tuple[Any, ...]:
    v = Vector(0.5, 1.0)
    for i in range(n):
        x = v.x + i
        v = Vector.__new__(Vector) if n < 0 else Vector(x, v.y)
        if i % 3 == 2:
            del v.x
            v.x = x
    return list(vars(v).items())


def until(limit: float) -> tuple[Any, ...]:
    v, count = Vector(1.0, 1.0), 0
    while v.x * v.x + v.y * v.y < limit:
        v = v + 0.5 * turned(v)
        count += 1
    return v.x, v.y, count


def left_early(n: int, limit: float) -> Any:
    v = Vector(1.0, 1.0)
    for _ in range(n):
        v = v + 0.5 * turned(v)
        if v.x > limit:
            return v
    return v.x, v.y


def raises(n: int) -> Any:
    v = Vector(3.0, 1.0)
    try:
        for _ in range(n):
            v = Vector(v.x - 1.0, 1.0 / v.x)
    except ZeroDivisionError:
        return v.x, v.y, "raised"
    return v.x, v.y


def printed(n: int) -> Any:
    v = Vector(0.5, 1.0)
    for i in range(n):
        v = v + 0.5 * turned(v)
        if i % 7 == 6:
            print(i, v.x, v.y)
    return v.x, v.y


def of_arrays(a: Any, n: int) -> tuple[Any, ...]:
    v = Vector(a, a * 2.0)
    for _ in range(n):
        v = v + 0.5 * turned(v)
    return v.x, v.y


def in_a_nest(n: int) -> tuple[Any, ...]:
    v = Vector(0.5, 1.0)
    total = 0.0
    for i in range(n):
        w = Vector(1.0, i)
        for _ in range(3):
            w = turned(w) + 0.5 * v
        v = 0.25 * (v + w)
        total += w.x
    return v.x, v.y, total


def no_rounds(n: int) -> tuple[Any, ...]:
    total, last = 0.0, None
    for i in range(n):
        v = Vector(1.0, 2.0)
        for j in range(i - 200):
            last = j
            v = Vector(v.y, v.x + 1.0)
        w = v
        for _ in range(n):
            v.x += 1.0
            v = Vector(v.y, v.x)
        total += w.x + v.y
    return total, last


def identities(n: int) -> int:
    v, same = Vector(0.5, 1.0), 0
    for _ in range(n):
        w = v
        v = turned(v)
        same += (w is v) + 2 * (w is not v) + 4 * (v is v)
    return same


def ints(n: int) -> tuple[Any, ...]:
    v = Vector(1, 0)
    for _ in range(n):
        v = Vector(v.x + v.y, v.x)
    return v.x, v.y, type(v.x)


class Body:
    def __init__(self) -> None:
        self.place = Vector(1.0, 0.0)
        self.speed = Vector(0.0, 1.0)
        self.seen: list[Any] = []

    def run(self, n: int) -> None:
        for _ in range(n):
            self.speed = self.speed + (-0.01) * self.place
            self.place = self.place + 0.01 * self.speed

    def swap(self, n: int) -> None:
        for _ in range(n):
            self.speed, self.place = self.place, turned(self.speed)

    def share(self, n: int) -> None:
        for _ in range(n):
            self.speed = self.place = self.place + 0.01 * self.speed

    def show(self) -> tuple[Any, ...]:
        same = self.place is self.speed
        return vars(self.place), vars(self.speed), same, len(self.seen), list(vars(self))


def made_and_run(n: int) -> tuple[Any, ...]:
    body = Body()
    body.run(n)
    return body.place.x, body.place.y, body.speed.x


def run_outside(n: int) -> tuple[Any, ...]:
    body = Body()
    place = body.place
    RUN(body, n)
    return *body.show(), place is body.place, vars(place)


def swap_outside(n: int) -> tuple[Any, ...]:
    body = Body()
    place, speed = body.place, body.speed
    SWAP(body, n)
    return *body.show(), place is body.place, place is body.speed, speed is body.place, vars(place), vars(speed)


def share_outside(n: int) -> tuple[Any, ...]:
    body = Body()
    SHARE(body, n)
    body.place.x = 5.0
    return body.show()


RUN, SWAP, SHARE = Body.run, Body.swap, Body.share


def from_none(n: int) -> Any:
    v: Any = None
    for i in range(n):
        v = Vector(float(i), 0.0) if v is None else Vector(v.x + 1.0, v.y - 1.0)
    return None if v is None else (v.x, v.y)


COUNTED = [
    steps,
    shown,
    nested,
    before_and_now,
    alias_at_first,
    alias_made,
    held_by_a_list,
    kept_in_a_list,
    set_and_replaced,
    one_way_or_the_other,
    another_class,
    other_attributes,
    other_order,
    raises,
    printed,
    in_a_nest,
    no_rounds,
    identities,
    ints,
    from_none,
    made_and_run,
]
FOUND = [best, best_beside]
CASES: list[tuple[Callable[..., Any], list[Callable[[], tuple[Any, ...]]]]] = [
    *((fn, [lambda n=n: (n,) for n in (30, 0, 1, 2, 3, 8, 100)]) for fn in COUNTED),
    *((fn, [lambda n=n: (Vector(0.5, 1.0), n) for n in (30, 0, 1, 2)]) for fn in (from_outside, returned)),
    *((fn, [lambda k=k: (np.random.default_rng(k).normal(size=20 + k),) for k in range(4)]) for fn in FOUND),
    (until, [lambda limit=limit: (limit,) for limit in (1e6, 0.0, 3.0, 1e3)]),
    (left_early, [lambda n=n, limit=limit: (n, limit) for n in (50, 0, 1) for limit in (1e9, 4.0, 0.0)]),
    (of_arrays, [lambda n=n, size=size: (np.arange(size) * 0.5, n) for n in (9, 0, 1) for size in (5, 0, 3)]),
]


@pytest.mark.parametrize(("fn", "calls"), CASES, ids=lambda case: getattr(case, "__name__", ""))
@pytest.mark.parametrize("check", [0, 1])
def test_as_plainly(fn: Callable[..., Any], calls: list[Callable[[], tuple[Any, ...]]], check: int) -> None:
    require_equal(
        fn,
        calls[0],
        variants=calls[1:],
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS | {"check": check}},
    )


NATIVE = [steps, nested, before_and_now, one_way_or_the_other, in_a_nest, identities, from_none, made_and_run]


@pytest.mark.parametrize("fn", NATIVE, ids=lambda fn: fn.__name__)
def test_native(fn: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    assert fast(50) == fn(50)
    assert (fast.stats()["breaks"], fast.stats()["declines"], fast.stats()["native_calls"]) == (0, 0, 1)


@pytest.mark.parametrize("check", [0, 1])
@pytest.mark.parametrize("name", ["run", "swap", "share"])
def test_in_attributes(name: str, check: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = {"run": run_outside, "swap": swap_outside, "share": share_outside}[name]
    plain = [whole(n) for n in (0, 1, 2, 3, 50)]
    fast = dynamo_lite.compile(getattr(Body, name), options=OPTIONS | {"check": check})
    monkeypatch.setitem(globals(), name.upper(), fast)
    assert [whole(n) for n in (0, 1, 2, 3, 50)] == plain
    assert fast.stats()["declines"] == 0


def test_a_field_that_differs_from_object_to_object() -> None:
    fast = dynamo_lite.compile(best, options=OPTIONS)
    xs = np.random.default_rng(1).normal(size=100)
    assert fast(xs) == best(xs)
    assert fast.stats()["breaks"] == 0


def as_list(n: int) -> Any:
    s = [1.0, 0.0]
    for _ in range(n):
        s = [s[0] + 0.1 * s[1], s[1] - 0.1 * s[0]]
    return s


def by_comprehension(n: int) -> Any:
    s = [1.0, 0.0, 0.5]
    for _ in range(n):
        k = [s[1], -s[0], s[2] * 0.5]
        s = [a + 0.1 * b for a, b in zip(s, k, strict=True)]
    return s, len(s)


def rows(n: int) -> Any:
    m = [[1.0, 2.0], [3.0, 4.0]]
    for i in range(n):
        m = [[m[1][0], m[0][1] + i], [m[0][0] * 0.5, 1.0]]
    m[0][0] = 9.0
    return m


def list_shared(n: int) -> Any:
    s = t = [1.0, 0.0]
    for _ in range(n):
        s = [t[1], s[0] + 1.0]
    t[0] = 7.0
    return s, t, s is t


def list_changed(n: int) -> Any:
    s = [1.0, 0.0]
    for i in range(n):
        s[0] += i
        t = s
        s = [t[1], t[0]]
        t[1] = 5.0
    return s


def list_grown(n: int) -> Any:
    s = [1.0]
    for i in range(n):
        s = [*s, i] if i % 2 else [*s[:3], 2.0]
    return s


def list_or_the_other(xs: Any) -> Any:
    found = [xs[0], 0.0]
    for i in range(len(xs)):
        if xs[i] < found[0]:
            found = [xs[i], 1.0 * i]
    return found


class Slotted:
    __slots__ = ("__hidden", "x", "y")

    def __init__(self, x: Any, y: Any) -> None:
        self.x = x
        self.y = y

    def hide(self, value: Any) -> Slotted:
        self.__hidden = value
        return self

    def show(self) -> Any:
        return self.__hidden


class Wider(Slotted):
    __slots__ = ("z",)
    fixed = 3.0
    alias = Slotted.x

    def __init__(self, x: Any, y: Any, z: Any) -> None:
        super().__init__(x, y)
        self.z = z


def slots(n: int) -> tuple[Any, ...]:
    s = Slotted(1.0, 0.0)
    w = Wider(1.0, 2.0, 3.0)
    for i in range(n):
        s = Slotted(s.x + 0.1 * s.y, s.y - 0.1 * s.x)
        w = Wider(w.z, w.x, s.x + i)
    return s.x, s.y, w.x, w.y, w.z, type(w).__name__


def hidden(n: int) -> Any:
    s = Slotted(1.0, 0.0).hide(2.0)
    for _ in range(n):
        s = Slotted(s.x, s.show()).hide(s.x + s.y)
    return s.show(), s.x, s


def unset(n: int) -> Any:
    s = Slotted(1.0, 0.0)
    for _ in range(n):
        s = Slotted(s.x + 1.0, 0.0)
    try:
        return s.show()
    except AttributeError as error:
        return str(error), s.x


def no_such_slot(n: int) -> Any:
    s = Wider(1.0, 2.0, 3.0)
    for _ in range(n):
        s = Wider(s.x + 1.0, 0.0, 0.0)
    try:
        s.fixed = 4.0
    except AttributeError as error:
        return str(error), s.fixed
    return s.fixed


def through_an_alias(n: int) -> Any:
    s = Wider(1.0, 2.0, 3.0)
    for _ in range(n):
        s = Wider(s.x + 1.0, 0.0, 0.0)
        s.alias = s.x * 2.0
    return s.x, s.alias


LISTS = [as_list, by_comprehension, rows, list_shared, list_changed, list_grown]


@pytest.mark.parametrize("fn", LISTS, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("check", [0, 1])
def test_lists(fn: Callable[..., Any], check: int) -> None:
    calls = [lambda n=n: (n,) for n in (30, 0, 1, 2, 3, 8)]
    options = {"options": OPTIONS | {"check": check}}
    require_equal(fn, calls[0], variants=calls[1:], compile=dynamo_lite.compile, compile_options=options)


def test_lists_are_native() -> None:
    xs = np.random.default_rng(3).normal(size=60)
    for fn, given in ((as_list, 50), (by_comprehension, 50), (list_or_the_other, xs)):
        fast = dynamo_lite.compile(fn, options=OPTIONS)
        assert fast(given) == fn(given)
        assert (fast.stats()["breaks"], fast.stats()["native_calls"]) == (0, 1)


SLOTTED = [slots, hidden, unset, no_such_slot, through_an_alias]


@pytest.mark.parametrize("fn", SLOTTED, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("check", [0, 1])
def test_slots(fn: Callable[..., Any], check: int) -> None:
    def shown(n: int) -> Any:
        result = fn(n)
        return (*result[:2], result[2].x, result[2].show()) if fn is hidden else result

    fast = dynamo_lite.compile(fn, options=OPTIONS | {"check": check})
    for n in (30, 0, 1, 2, 5):
        expected, result = shown(n), fast(n)
        assert repr((*result[:2], result[2].x, result[2].show()) if fn is hidden else result) == repr(expected)


def test_slots_are_native() -> None:
    fast = dynamo_lite.compile(slots, options=OPTIONS)
    assert fast(50) == slots(50)
    assert fast.stats()["native_calls"] == 1


def list_from_before(n: int) -> Any:
    before, held = [1.0, 1.0], None
    total = 0.0
    for i in range(n):
        held = before
        total += i
    if held is not None:
        held[0] = 5.0
    return before, held, held is before, total


def nested_from_before(n: int) -> Any:
    inner = [1.0]
    outer, held = (inner, 2.0), None
    for _ in range(n):
        held = outer
    inner[0] = 3.0
    return held, held is outer, held is not None and held[0] is inner


def two_names(n: int) -> Any:
    one = other = None
    for i in range(n):
        one = other = [i, 2.0]
    if other is not None:
        other[0] = 9
    return one, other, one is other


def one_in_the_other(n: int) -> Any:
    one = other = None
    for i in range(n):
        other = [i, 2.0]
        one = [other, (other, i)]
    if other is not None:
        other[1] = 9
    return one, other, one is not None and one[0] is other and one[1][0] is other


@pytest.mark.parametrize("fn", [list_from_before, nested_from_before, two_names, one_in_the_other])
@pytest.mark.parametrize("check", [0, 1])
def test_one_list_by_several_names(fn: Callable[..., Any], check: int) -> None:
    calls = [lambda n=n: (n,) for n in (30, 0, 1, 2, 3)]
    options = {"options": OPTIONS | {"check": check}}
    require_equal(fn, calls[0], variants=calls[1:], compile=dynamo_lite.compile, compile_options=options)

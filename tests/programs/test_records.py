"""Named tuples and frozen dataclasses: from outside, made in the program, and replaced by each iteration of a loop."""

from __future__ import annotations

import dataclasses
from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import OPTIONS


class Rates(NamedTuple):
    growth: Any
    loss: Any = 0.25
    steps: int = 3

    scale = 2.0

    @property
    def balance(self) -> Any:
        return self.growth - self.loss

    def of(self, x: Any) -> Any:
        return x * self.growth - self.loss * self.scale

    @staticmethod
    def half(x: Any) -> Any:
        return x * 0.5


Plain = namedtuple("Plain", "x v")


class Tracked(namedtuple("Tracked", "x v")):
    """One with a dict of attributes."""

    def energy(self) -> Any:
        return self.x**2 + self.v**2


class Odd(namedtuple("Odd", "x v")):
    """One that is read in a way of its own."""

    def __getitem__(self, place: Any) -> Any:
        return super().__getitem__(place) * 2.0

    def __iter__(self) -> Any:
        return iter((self.v, self.x))


class Counted(namedtuple("Counted", "x v")):
    """One that is made in a way of its own."""

    made = 0

    def __new__(cls, x: Any, v: Any) -> Any:
        Counted.made += 1
        return super().__new__(cls, x, v)


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: Any
    v: Any = 0.5

    def moved(self, dt: float) -> Frozen:
        return Frozen(self.x + dt * self.v, self.v - dt * self.x)


@dataclasses.dataclass(frozen=True)
class Deeper(Frozen):
    w: Any = dataclasses.field(default=1.5, kw_only=True)
    sum: Any = dataclasses.field(init=False, default=0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sum", self.x + self.v)


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    x: Any
    v: Any


@dataclasses.dataclass
class Open:
    x: Any
    v: Any


class Guarded:
    """Stores to its attributes do more."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value * 2.0)


def attributes(x: Any, p: Any) -> Any:
    return x * p.growth + p.loss * p.steps


def methods(x: Any, p: Any) -> Any:
    return p.of(x) + p.balance + p.half(x) + p.scale


def unpacked(x: Any, p: Any) -> Any:
    a, b, c = p
    *rest, last = p
    return x * a + b * c + len(p) + len(rest) + last + p[0] + p[-1], p[1:], [*p], p


def beside_numpy(x: Any, p: Any) -> Any:
    numbers = np.array(p) + 1.0, np.sum(p), x + np.float64(p[0])
    return numbers, max(p), sum(p), tuple(p), list(p), str(p), p == tuple(p), hash(p)


def asked(x: Any, p: Any) -> Any:
    is_rates = isinstance(p, Rates), isinstance(p, tuple), type(p) is tuple, p is None, p._fields, bool(p), 3 in p
    return x + 1.0, is_rates, p._asdict(), p.count(3), p * 2, p[:1] + p[1:], p._replace(loss=x), Rates._make(p), repr(p)


def asked_for_attributes(x: Any, p: Any) -> Any:
    made = Plain(x, 1.0), Frozen(x)
    has = [hasattr(one, name) for one in (p, *made) for name in ("growth", "x", "balance", "of", "count", "missing")]
    return x * 2.0, has, getattr(p, "missing", 3.0), getattr(made[1], "v", None)


def in_a_loop(x: Any, p: Any) -> Any:
    for i in range(p.steps * 3):
        x = p.of(x) * 0.5 + p.growth * i
    return x


@pytest.mark.parametrize("fn", [attributes, methods, unpacked, beside_numpy, asked, asked_for_attributes, in_a_loop])
def test_from_outside(fn: Callable[..., Any]) -> None:
    x = np.arange(4.0)
    require_equal(
        fn,
        lambda: (x.copy(), Rates(1.5)),
        variants=[lambda: (x.copy(), Rates(2.0, 3.0, 1)), lambda: (x.copy(), Rates(np.float64(0.5), loss=2))],
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
    )


def test_attributes_are_in_the_graph() -> None:
    fast = dynamo_lite.compile(in_a_loop)
    for p in (Rates(1.5), Rates(2.5, 0.5)):
        assert fast(np.arange(3.0), p).tobytes() == in_a_loop(np.arange(3.0), p).tobytes()
    assert not fast.explain().breaks and fast.stats()["compiles"] == 1


def test_a_class_that_changes() -> None:
    class Mutable(NamedTuple):
        k: float

        def of(self, x: Any) -> Any:
            return x * self.k

    def f(x: Any, p: Any) -> Any:
        return p.of(x) + p.k

    fast, x = dynamo_lite.compile(f), np.arange(3.0)
    assert fast(x, Mutable(2.0)).tolist() == f(x, Mutable(2.0)).tolist()
    Mutable.of = lambda self, x: x - self.k  # type: ignore[method-assign]
    assert fast(x, Mutable(2.0)).tolist() == f(x, Mutable(2.0)).tolist()
    Mutable.k = property(lambda self: 7.0)  # type: ignore[assignment,misc]
    assert fast(x, Mutable(2.0)).tolist() == f(x, Mutable(2.0)).tolist()


def test_a_class_that_changes_of_a_tuple_made_by_tuple_itself() -> None:
    class Mutable(NamedTuple):
        k: float

        def of(self, x: Any) -> Any:
            return x * self.k

    def f(x: Any) -> Any:
        p = tuple.__new__(Mutable, (2.0,))
        return p.of(x) + p.k

    fast, x = dynamo_lite.compile(f), np.arange(3.0)
    assert fast(x).tolist() == f(x).tolist()
    Mutable.of = lambda self, x: x - self.k  # type: ignore[method-assign]
    assert fast(x).tolist() == f(x).tolist()


def test_items_of_another_number() -> None:
    def f(x: Any, p: Any) -> Any:
        return x * p[0]

    fast, x = dynamo_lite.compile(f), np.arange(3.0)
    for p in (Plain(2.0, 1.0), tuple.__new__(Plain, (3.0,)), tuple.__new__(Plain, (4.0, 1.0, 2.0)), (5.0, 1.0)):
        assert fast(x, p).tolist() == f(x, p).tolist()


def records(n: int) -> Any:
    s, e = Plain(1.0, 0.0), 0.0
    for _ in range(n):
        s = Plain(s.x + 0.01 * s.v, v=s.v - 0.01 * s.x)
        e += s.x * s.v
    return s, e, type(s)


def replaced(n: int) -> Any:
    s = Rates(1.0, 0.5)
    for i in range(n):
        s = s._replace(growth=s.growth * 0.5 + s.loss, steps=i)
    return s


def nested(n: int) -> Any:
    pair = (Plain(1.0, 0.0), Rates(0.5))
    for _ in range(n):
        a, b = pair
        pair = (Plain(a.x + 0.01 * b.growth, a.v), b._replace(growth=b.growth - a.x))
    return pair


def tracked(n: int) -> Any:
    s, e = Tracked(1.0, 0.0), 0.0
    for _ in range(n):
        s = Tracked(s.x + 0.01 * s.v, s.v - 0.01 * s.x)
        e += s.energy()
    return s, e, type(s)


def chosen(n: int) -> Any:
    s = Plain(1.0, 0.0)
    for _ in range(n):
        s = Plain(s.x * 0.5, s.v + 1.0) if s.x > 0.1 else Plain(s.x + 2.0, s.v)
    return s


def arrays(n: int) -> Any:
    s = Plain(np.ones(5), np.zeros(5))
    for _ in range(n):
        s = Plain(s.x + 0.01 * s.v, s.v - 0.01 * s.x)
    return s.x, s.v


def frozen(n: int) -> Any:
    s = Frozen(1.0)
    for _ in range(n):
        s = s.moved(0.01)
    return s


def replaced_frozen(n: int) -> Any:
    s = Frozen(1.0, 0.5)
    for _ in range(n):
        s = dataclasses.replace(s, x=s.x * 0.5 + s.v)
    return s


def slotted(n: int) -> Any:
    s = Slotted(1.0, 0.5)
    for _ in range(n):
        s = Slotted(s.x + 0.01 * s.v, s.v - 0.01 * s.x)
    return s


def replaced_open(n: int) -> Any:
    s = Open(1.0, 0.5)
    for _ in range(n):
        s = dataclasses.replace(s, v=s.v - 0.01 * s.x)
        s.x += s.v
    return s


def deeper(n: int) -> Any:
    s = Deeper(1.0, w=2.0)
    for _ in range(n):
        s = dataclasses.replace(s, x=s.x * 0.5)
    return s


NATIVE = [records, replaced, nested, tracked, chosen, arrays, frozen, replaced_frozen, slotted, replaced_open, deeper]


@pytest.mark.parametrize("fn", NATIVE)
def test_replaced_by_iterations(fn: Callable[..., Any]) -> None:
    report = require_equal(
        fn,
        lambda: (30,),
        variants=[lambda: (0,), lambda: (1,), lambda: (2,), lambda: (50,)],
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
    )
    assert any(one.outcome == "native" for one in report.compiled.explain().loops), report.compiled.explain()


def test_which_tuple_it_is() -> None:
    """A loop that leaves a tuple alone leaves the very tuple."""

    class Box:
        def __init__(self, pair: Any) -> None:
            self.pair = pair

    def f(x: Any, n: int, make: Any) -> Any:
        p = make(x[0], 1.0)
        box, q, t = Box(p), p, 0.0
        for i in range(n):
            p = box.pair
            t += p[0] * i
        return p is box.pair, p is q, t

    def plain(a: Any, b: Any) -> Any:
        return a, b

    fast = dynamo_lite.compile(f, options=OPTIONS)
    for make in (plain, Plain, Rates):
        for n in (3, 0, 1):
            assert fast(np.arange(3.0), n, make) == f(np.arange(3.0), n, make) == (True, True, 0.0)


def test_attributes_behind_a_loop() -> None:
    for fn in (frozen, replaced_frozen, deeper):
        fast = dynamo_lite.compile(fn, options=OPTIONS)
        for n in (3, 0, 7):
            assert list(vars(fast(n)).items()) == list(vars(fn(n)).items())
    fast = dynamo_lite.compile(tracked, options=OPTIONS)
    assert vars(fast(3)[0]) == {} and tracked(3) == fast(3)


def odd(n: int) -> Any:
    s = Odd(1.0, 2.0)
    for _ in range(n):
        a, b = s
        s = Odd(a * 0.5, b + s[0])
    return s, s[0], tuple(s)


def counted(n: int) -> Any:
    s = Counted(1.0, 2.0)
    for _ in range(n):
        s = Counted(s.v * 0.5, s.x)
    return s, Counted.made


class Doubling(namedtuple("Doubling", "x v")):
    """One that is made of items in a way of its own."""

    @classmethod
    def _make(cls, items: Any) -> Any:
        return tuple.__new__(cls, [item * 2.0 for item in items])


def doubling(n: int) -> Any:
    s = Doubling(1.0, 2.0)
    for _ in range(n):
        s = s._replace(x=s.v)
    return s


def guarded(n: int) -> Any:
    s = Guarded(1.0)
    for _ in range(n):
        s = Guarded(s.x * 0.25)
    return vars(s)


def stored_to(n: int) -> Any:
    s = Frozen(1.0)
    try:
        s.x = 2.0  # type: ignore[misc]
    except dataclasses.FrozenInstanceError as error:
        return str(error), s
    return s


def wrong_arguments(n: int) -> Any:
    try:
        return Plain(1.0)
    except TypeError as error:
        return str(error)


def unknown_field(n: int) -> Any:
    try:
        return Plain(1.0, 2.0)._replace(w=n)
    except (TypeError, ValueError) as error:
        return type(error), str(error)


def not_initialised(n: int) -> Any:
    try:
        return dataclasses.replace(Deeper(1.0, 2.0), sum=3.0)
    except (TypeError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    "fn", [odd, counted, doubling, guarded, stored_to, wrong_arguments, unknown_field, not_initialised]
)
def test_ways_of_their_own(fn: Callable[..., Any]) -> None:
    def afresh(n: int) -> Any:
        Counted.made = 0
        return fn(n)

    require_equal(
        afresh,
        lambda: (5,),
        variants=[lambda: (0,), lambda: (9,)],
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
    )

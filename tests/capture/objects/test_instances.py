"""Objects of users' classes that compiled code makes: their attributes, their order, what is one and the same object,
operators, and all that classes may define to do more than object does."""

from __future__ import annotations

import abc
import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

import dynamo_lite
from tests.programs.loop_cases import loops_left


class Vector:
    made: ClassVar[int] = 7

    def __init__(self, x: Any, y: Any, *, z: Any = 0.5) -> None:
        (self.x, self.y) = (x, y)
        self.z = z

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Vector):
            return NotImplemented
        return Vector(self.x + other.x, self.y + other.y, z=self.z)

    def __mul__(self, by: Any) -> Any:
        return Vector(self.x * by, self.y * by, z=self.z * by)

    def __rmul__(self, by: Any) -> Any:
        return self * by

    def __iadd__(self, other: Any) -> Any:
        self.x = self.x + other.x
        return self

    def __neg__(self) -> Any:
        return self * -1.0

    def __abs__(self) -> Any:
        return self.x * self.x + self.y * self.y

    def __getitem__(self, place: Any) -> Any:
        return (self.x, self.y)[place]

    def __call__(self, scale: Any) -> Any:
        return self.x * scale

    @property
    def sum(self) -> Any:
        return self.x + self.y

    @staticmethod
    def zero(x: Any) -> Any:
        return Vector(x * 0.0, x * 0.0)

    @classmethod
    def twice(cls, x: Any) -> Any:
        return cls(x * 2.0, x)


class Longer(Vector):
    def __radd__(self, other: Any) -> Any:
        return Longer(other.x, self.y)

    def __len__(self) -> int:
        return 0


class Longest(Longer):
    pass


class Slots:
    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x


class Counting:
    set: ClassVar[int] = 0

    def __setattr__(self, name: str, value: Any) -> None:
        Counting.set += 1
        super().__setattr__(name, value)


class Answering:
    def __getattr__(self, name: str) -> Any:
        return name


class Dying:
    dead: ClassVar[int] = 0

    def __del__(self) -> None:
        Dying.dead += 1


class Made(type):
    def __call__(cls, *args: Any) -> Any:
        return (cls.__name__, *args)


class OfMade(metaclass=Made):
    pass


class Abstract(abc.ABC):
    @abc.abstractmethod
    def must(self) -> None: ...


class Fussy:
    def __init__(self, x: Any) -> None:
        return x  # type: ignore[return-value]


class Guarded:
    def __init__(self, x: Any) -> None:
        self._x = x

    @property
    def x(self) -> Any:
        return self._x

    @x.setter
    def x(self, value: Any) -> None:
        self._x = value * 2.0


class Same:
    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same)

    def __hash__(self) -> int:
        return 1

    def __bool__(self) -> bool:
        return False


class Base:
    def __init__(self, x: Any) -> None:
        self.x = x


class Derived(Base):
    def __init__(self, x: Any, y: Any) -> None:
        super().__init__(x)
        self.y = y


class Plain:
    pass


@dataclass
class Record:
    x: Any
    y: Any = 1.5
    items: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    x: Any


class Colour(enum.Enum):
    RED = 1


class Trouble(Exception):
    def __init__(self, x: Any) -> None:
        self.x = x


def operators(x: Any) -> Any:
    a, b = Vector(x, x + 1.0), Vector(x * 2.0, x, z=2)
    c = a + b * 2.0
    c += b
    return -c, abs(c), 3 * a, c[0], c[-1], c(2.0), c.sum, Vector.zero(x), a.zero(x), Vector.twice(x), a.twice(x), a.made


def subclasses(x: Any) -> Any:
    longest = Longest(x, x)
    inherited = longest.made * x, longest.made
    return inherited, Longer.twice(x), Longer(x, x) * 2.0, isinstance(longest, Vector), type(longest) is Longest


def reflected_first(x: Any) -> Any:
    return Vector(x, 1.0) + Longer(x, x * 2.0)


def no_answer(x: Any) -> Any:
    return Vector(x, x) + 1


def times_array(x: Any) -> Any:
    return Vector(1.0, 2.0) * x


def array_times(x: Any) -> Any:
    return x * Vector(1.0, 2.0)


def number_out_of_an_array(x: Any) -> Any:
    return x[0] * Vector(1.0, 2.0), Vector(x[0], x[1]) * x[2]


def identity(x: Any) -> Any:
    a = Vector(x, x)
    b = a
    return a is b, a == b, a is Vector(x, x), a == Vector(x, x), a != b, a is None, a == 1.0, [a, b], {"k": a}


def cycles(x: Any) -> Any:
    a, b = Plain(), Plain()
    a.other, b.other = b, a
    a.me = a
    a.all = [a, b, [b]]
    a.x = x + 1.0
    return [a.all, b]


def many(x: Any) -> Any:
    first = last = Plain()
    for _ in range(150):
        last.next = Plain()
        last = last.next
    last.x = x * 2.0
    return first


def order(x: Any) -> Any:
    a = Plain()
    a.z, a.a, a.m = 1, x * 2.0, "m"
    a.z = 5
    return a


def kept_functions(x: Any) -> Any:
    a = Vector(x * 2.0, x)

    def inner() -> Any:
        return a.x

    return a.__call__(2.0), inner, a.zero, [a]


def in_the_middle(x: Any) -> Any:
    a = Vector(x + 1.0, x)
    print("at", a.z)
    a.w = a.x * 2.0
    b = a
    print("then", b is a)
    b.y = x
    return a, b


def branches(x: Any) -> Any:
    a = Vector(x, x)
    if x.sum() > 0:
        a.x = x + 5.0
        a.up = True
    else:
        a = Vector(x - 1.0, x)
    return a


def branches_in_a_loop(x: Any) -> Any:
    a = Vector(x, 0.0)
    for i in range(len(x)):
        if x[i] > 1.0:
            a.y = a.y + x[i]
        else:
            a.y = a.y - 1.0
    return a


def a_new_one_each_time(x: Any) -> Any:
    a = Vector(x, x * 2.0)
    for _ in range(20):
        a = a + Vector(x, x)
    return a


def temporary_ones(x: Any) -> Any:
    total = x * 0.0
    for i in range(20):
        v = Vector(x + i, x) + Vector(x, x - i)
        total = total + v.x * v.y
    return total, v


def changed_in_a_loop(x: Any) -> Any:
    a = Vector(x, 0.0)
    a.n = 0
    for i in range(20):
        a.x = a.x * 0.5 + i
        a.y += 1.0
        a.n += 1
    return a


def changed_in_a_while(x: Any, n: int = 30) -> Any:
    a, i = Plain(), 0
    a.x = x
    while i < n:
        a.x = a.x * 0.9
        a.last = i
        i += 1
    return a, i


def collected(x: Any) -> Any:
    found = []
    for i in range(12):
        found.append(Vector(x * i, i))
    return found


def printed_in_a_loop(x: Any) -> Any:
    a = Vector(x, x)
    for i in range(20):
        a.x = a.x + 1.0
        if i % 5 == 0:
            print(i, a.x[0])
    return a


def other_kinds(x: Any) -> Any:
    y = x * 2.0
    a = (Slots(y).x, Counting(), Answering().what, OfMade(y), Same(y), Derived(y, x), Record(y), Record(y, items=[x]))
    g = Guarded(y)
    g.x = y
    return a, g, Frozen(y), Colour(1), Colour.RED, bool(Same(y)), Same(y) == Same(x), Counting.set


def deaths(x: Any) -> Any:
    before = Dying.dead
    Dying()
    return x * 2.0, Dying.dead - before


def missing(x: Any) -> Any:
    a = Plain()
    a.x = x * 2.0
    return getattr(a, "y", 3), hasattr(a, "x"), a.y


def removed(x: Any) -> Any:
    a = Vector(x * 2.0, x)
    del a.x
    return a


def its_dict(x: Any) -> Any:
    a = Vector(x * 2.0, x)
    a.__dict__["w"] = 3
    return a, vars(a)["w"], a.__class__


def abstract(x: Any) -> Any:
    return x * 2.0, Abstract()  # type: ignore[abstract]


def fussy(x: Any) -> Any:
    return Fussy(x * 2.0)


def wrong_arguments(x: Any) -> Any:
    return Vector(x * 2.0)  # type: ignore[call-arg]


def plain_with_arguments(x: Any) -> Any:
    return Plain(x * 2.0)  # type: ignore[call-arg]


def raised(x: Any) -> Any:
    try:
        raise Trouble(x * 2.0)
    except Trouble as error:
        return error.x


def sought(x: Any) -> Any:
    a, b = Vector(x * 2.0, x), Vector(x, x)
    return [a, b].index(b), a in [b, a], {a: 1}[a], len({a, b})


def truth(x: Any) -> Any:
    y = x * 2.0
    return [bool(one) for one in (Vector(y, x), Longer(y, x), Same(y))], 1 if Longer(y, x) else 2


PROGRAMS = (
    operators, subclasses, reflected_first, no_answer, times_array, array_times, number_out_of_an_array, identity,
    cycles, many, order, kept_functions, in_the_middle, branches, branches_in_a_loop, a_new_one_each_time,
    temporary_ones, changed_in_a_loop, changed_in_a_while, collected, printed_in_a_loop, other_kinds, deaths, missing,
    removed, its_dict, abstract, fussy, wrong_arguments, plain_with_arguments, raised, sought, truth,
)  # fmt: skip


def seen(value: Any, known: dict[int, int]) -> Any:
    """All that can be told of a value, which places hold the same object included."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return "objects", [seen(item, known) for item in value.tolist()]
    if isinstance(value, np.ndarray | np.generic):
        return type(value).__name__, str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, int | float | str | type(None) | type | enum.Enum):
        return type(value).__name__, repr(value)
    if id(value) in known:
        return "again", known[id(value)]
    known[id(value)] = len(known)
    if isinstance(value, list | tuple):
        return type(value).__name__, [seen(item, known) for item in value]
    if isinstance(value, dict):
        return "dict", [(seen(key, known), seen(item, known)) for key, item in value.items()]
    if isinstance(value, BaseException):
        return type(value).__name__, str(value)
    if hasattr(value, "__code__"):
        return "function", [seen(cell.cell_contents, known) for cell in value.__closure__ or ()]
    return type(value).__qualname__, seen(vars(value), known)


def run(fn: Callable[..., Any], x: Any) -> Any:
    Counting.set = 0
    try:
        return fn(x)
    except Exception as error:
        return error


@pytest.mark.parametrize("leave", [0, 1], ids=["", "left each time"])
@pytest.mark.parametrize("fn", PROGRAMS)
def test_is_plain_pythons(fn: Callable[..., Any], leave: int, capsys: pytest.CaptureFixture[str]) -> None:
    fast = dynamo_lite.compile(fn, options={"check": 1})
    with loops_left(leave):
        for x in (np.linspace(0.5, 2.0, 6), np.linspace(-2.0, 1.9, 6), np.arange(4), np.linspace(0.5, 2.0, 6)):
            wanted, got = run(fn, x.copy()), None
            text = capsys.readouterr().out
            got = run(fast, x.copy())
            printed = capsys.readouterr().out
            assert seen(got, {}) == seen(wanted, {})
            assert printed == text


@pytest.mark.parametrize(
    "fn", [operators, subclasses, cycles, order, temporary_ones, changed_in_a_loop, changed_in_a_while, times_array]
)
def test_is_one_program(fn: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(fn)
    fast(np.linspace(0.5, 2.0, 6))
    assert fast.stats()["native_calls"] and not fast.explain().breaks, fast.explain()


def test_a_class_that_changes() -> None:
    class Changing:
        scale = 2.0

        def __init__(self, x: Any) -> None:
            self.x = x

        def scaled(self) -> Any:
            return self.x * self.scale

    def program(x: Any) -> Any:
        return Changing(x).scaled()

    fast, x = dynamo_lite.compile(program), np.arange(1.0, 5.0)
    assert (fast(x) == x * 2.0).all() and (fast(x) == x * 2.0).all()
    Changing.scale = 3.0
    assert (fast(x) == x * 3.0).all()
    Changing.scaled = lambda self: self.x - 1.0  # type: ignore[method-assign]
    assert (fast(x) == x - 1.0).all()

    def begin(self: Any, x: Any) -> None:
        self.x = x + 10.0

    Changing.__init__ = begin  # type: ignore[assignment]
    assert (fast(x) == x + 9.0).all()
    Changing.__setattr__ = lambda self, name, value: object.__setattr__(self, name, value * 2.0)  # type: ignore
    assert (fast(x) == (x + 10.0) * 2.0 - 1.0).all()


def test_what_the_type_of_a_class_computes() -> None:
    class Documented:
        """Some words."""

    def program(x: Any) -> Any:
        one = Documented()
        return x * 2.0, one.__doc__, one.__module__

    fast, x = dynamo_lite.compile(program), np.arange(1.0, 5.0)
    for _ in range(3):
        assert fast(x)[1:] == program(x)[1:]
    assert "internal-error" not in {record.id for record in fast.explain().skips}

"""Every kind of guard: passes on what was compiled for, fails when one fact changes; C and the Python twin agree."""

from __future__ import annotations

import collections
import contextlib
import enum
import functools
import gc
import itertools
import math
import random
import sys
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite._C import GUARD_KINDS, Guards, abi, version_tag
from dynamo_lite.capture.wrap import supported_array
from dynamo_lite.graph.scalar import FUNCTIONS, ScalarOp, Symbol
from dynamo_lite.guards import twin
from dynamo_lite.guards.words import OPERANDS, GuardsOf
from tests.oracle import require_equal

F8, F4, I8 = np.dtype("f8"), np.dtype("f4"), np.dtype("i8")


def function(x: Any, y: Any = 2.0, *, z: Any = None) -> Any:
    return x


def both(ops: list[tuple[Any, ...]], inputs: tuple[int, ...], func: object, slots: tuple[Any, ...]) -> Any:
    """What C says, after the twin said the same."""
    guards = Guards(ops, inputs)
    got = guards.check(func, slots)
    expected = twin.check(ops, inputs, func, slots)
    assert (got is None) == (expected is None), (ops, slots)
    if got is not None:
        assert all(a is b for a, b in zip(got, expected, strict=True))
        assert guards.explain(func, slots) is None
    else:
        assert isinstance(guards.explain(func, slots), str)
    return got


def test_the_tables_agree() -> None:
    """The twin has a function for each row of guards.def, and for nothing else."""
    names = {name for name, _, _ in GUARD_KINDS}
    assert set(twin.READS) | set(twin.TESTS) == names
    assert {name for name in names if OPERANDS[name].startswith("d")} == set(twin.READS)


CONSTANTS: list[Any] = [
    *(0, 1, -1, 2**70, True, False, 0.0, -0.0, 1.0, math.nan, math.inf, -math.nan, 1j, -0.0 - 0j, complex(0.0, -0.0)),
    *(None, "", "a", "b", b"", b"a", (), (1,), (1.0,), (True,), ((1,), "a"), slice(1), slice(1, None, 2), slice(True)),
    *(..., int, float, np.float64, np.int64(1), np.float64(1.0), np.dtype("f8"), range(3), [1], {}),
]


def test_equal_means_interchangeable() -> None:
    """Type and bits: True is not 1, -0.0 is not 0.0; what is no plain constant is equal to itself alone."""
    for then, now in itertools.product(CONSTANTS, CONSTANTS):
        passed = both([("arg", 0, 0), ("equal", 0, then)], (0,), function, (now,)) is not None
        if then is now:
            assert passed
        elif type(then) is not type(now):
            assert not passed
        elif passed:
            assert repr(then) == repr(now)
    assert both([("arg", 0, 0), ("equal", 0, 10**30)], (0,), function, (10**29 * 10,))
    assert both([("arg", 0, 0), ("equal", 0, ("ab", 1.5))], (0,), function, (("a" + "b" * 1, 3 / 2),))


def nested(depth: int) -> Any:
    """A tuple in a tuple, so many levels deep."""
    made: Any = 1
    for _ in range(depth):
        made = (made,)
    return made


def test_constants_are_compared_to_a_bounded_depth() -> None:
    """Tuples in tuples use no more of the C stack than a hundred levels; the same object is equal at any depth."""
    ops = [("arg", 0, 0), ("equal", 0, nested(abi.EQUAL_DEPTH - 1))]
    assert both(ops, (0,), function, (nested(abi.EQUAL_DEPTH - 1),)) is not None
    deep = nested(10**6)
    ops = [("arg", 0, 0), ("equal", 0, deep)]
    assert both(ops, (0,), function, (deep,)) is not None
    assert both(ops, (0,), function, (nested(10**6),)) is None


ARRAYS: list[Any] = [
    np.zeros(3),
    np.zeros((3, 4)),
    np.zeros((1, 4)),
    np.zeros((3, 1)),
    np.zeros((1, 1)),
    np.zeros((0, 4)),
    np.zeros((3, 4), order="F"),
    np.zeros((3, 8))[:, ::2],
    np.zeros((3, 4), "f4"),
    np.zeros((3, 4), ">f8"),
    np.zeros((3, 4), np.dtype("f8", metadata={"a": 1})),  # type: ignore[call-overload]
    np.zeros(()),
    np.zeros((3, 4), "q"),
    np.zeros((3, 4), "l"),
    np.zeros((3, 4), object),
    np.zeros(8 * 12 + 1, "u1")[1:].view("f8").reshape(3, 4),
    np.zeros((3, 4)).view(np.recarray),
    np.float64(1.0),
    [1.0],
    None,
]
READONLY = np.zeros((3, 4))
READONLY.flags.writeable = False


@pytest.mark.parametrize("writeable", [True, False, None])
def test_arrays(writeable: bool | None) -> None:
    """Exact type, dtype, rank, size-1 axes, alignment, byte order, and writeable if asked for."""
    for dtype, ndim, ones in itertools.product((F8, F4, I8), (0, 1, 2), range(4)):
        ops = [("arg", 0, 0), ("array", 0, dtype, ndim, ones, writeable)]
        for array in [*ARRAYS, READONLY]:
            passed = both(ops, (0,), function, (array,)) is not None
            if not isinstance(array, np.ndarray) or type(array) is not np.ndarray:
                assert not passed
                continue
            expected = (
                array.dtype == dtype
                and array.dtype.num == dtype.num
                and not array.dtype.metadata
                and array.ndim == ndim
                and [size == 1 for size in array.shape] == [bool(ones >> axis & 1) for axis in range(ndim)]
                and ones >> ndim == 0
                and array.flags.aligned
                and (not writeable or array.flags.writeable)
            )
            assert passed == expected
    kinds: list[Any] = ["U1", ">f8", "M8[s]", [("a", "f8")], object, "g", np.dtype("f8", metadata={"a": 2})]
    unfit = [np.zeros(2, kind) for kind in kinds]
    unfit += [np.frombuffer(bytearray(17), np.uint8)[1:].view(np.float64), np.zeros((1,) * 9)]
    unfit.append(np.broadcast_arrays(np.zeros((1, 2)), np.zeros((2, 1)))[0])  # NumPy warns of writes into it
    for one in [*ARRAYS, READONLY, *unfit, None]:
        passes = any(one is other for other in unfit) or (type(one) is np.ndarray and not supported_array(one))
        assert (both([("arg", 0, 0), ("unfit", 0)], (0,), function, (one,)) is not None) == passes


def test_quiet() -> None:
    """Numbers, strings, arrays, and lists and tuples of these, unless they are long or deep."""
    quiet: list[Any] = [1, 1.5, True, 1j, None, "a", b"a", np.float32(1), np.zeros(3), [], (1, [2.0, "b"]), [0] * 256]
    loud: list[Any] = [object(), [object()], {}, {1}, function, ([[1]],), [0] * 257, [[0] * 200] * 2, Exception()]
    for one in [*quiet, *loud]:
        passes = any(one is other for other in quiet)
        assert (both([("arg", 0, 0), ("quiet", 0)], (0,), function, (one,)) is not None) == passes


def test_numbers_and_scalars() -> None:
    """Exact Python types, ints of 64 bits, exact NumPy scalar types."""
    values = [0, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, True, 1.0, np.float64(1), np.int64(1), np.float32(1), "1"]
    for value in values:
        for kind in ("int", "float", "bool"):
            passed = both([("arg", 0, 0), ("number", 0, kind)], (0,), function, (value,)) is not None
            assert passed == (type(value).__name__ == kind and (kind != "int" or -(2**63) <= value < 2**63))
        for kind in (np.float64, np.int64, np.float32):
            passed = both([("arg", 0, 0), ("np_scalar", 0, kind)], (0,), function, (value,)) is not None
            assert passed == (type(value) is kind)


def test_scalar_relations() -> None:
    """Relations between sizes and numbers, as Python computes them; overflow and division by zero fail."""
    rng = random.Random(0)
    a, b = Symbol("a", "int", 0, 0), Symbol("b", "int", 1, 0)
    k, f = Symbol("k", "int", 2), Symbol("f", "float", 3)
    reads = [(name, i, i) for i, name in enumerate(["arg"] * 4)]
    integers: list[Any] = [a, b, k, 0, 1, 2, -3, 7]
    floats: list[Any] = [f, 0.5, -2.0, 0.0]

    def whole(depth: int) -> Any:
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(integers)
        op = rng.choice(("add", "sub", "mul", "floordiv", "mod", "neg", "min", "max", "trunc"))
        if op == "trunc":
            return ScalarOp(op, "int", (real(depth - 1),))
        operands = [whole(depth - 1) for _ in range(1 if op == "neg" else 2)]
        return ScalarOp(op, "int", tuple(operands))

    def real(depth: int) -> Any:
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(floats)
        op = rng.choice(("add", "sub", "mul", "truediv", "floordiv", "mod", "min", "pow", "sqrt", *FUNCTIONS))
        if op == "sqrt" or op in FUNCTIONS:
            count = FUNCTIONS.get(op, 1)
            return ScalarOp(op, "float", tuple(rng.choice((whole, real))(depth - 1) for _ in range(count)))
        if op == "truediv" and rng.random() < 0.5:
            return ScalarOp(op, "float", (whole(depth - 1), whole(depth - 1)))
        other = real(depth - 1) if op == "min" or rng.random() < 0.7 else whole(depth - 1)
        return ScalarOp(op, "float", (real(depth - 1), other))

    passed = 0
    for _ in range(4000):
        side = rng.choice((whole, real))
        other = rng.choice((whole, real))
        expr = ScalarOp(rng.choice(("lt", "le", "eq", "ne", "gt", "ge")), "bool", (side(3), other(2)))
        if rng.random() < 0.3:
            expr = ScalarOp("not", "bool", (expr,))
        if rng.random() < 0.3:
            again = ScalarOp(rng.choice(("lt", "eq", "ge")), "bool", (whole(1), whole(1)))
            expr = ScalarOp(rng.choice(("and", "or")), "bool", (again, again))
        slots = (
            np.zeros(rng.choice((0, 1, 2, 3, 7))),
            np.zeros(rng.choice((0, 1, 2, 3, 7))),
            rng.choice((0, 1, -1, 5, 2**31, -(2**40), 2**62)),
            rng.choice((0.0, -0.0, 1.5, -2.5, 1e300, math.inf, math.nan)),
        )
        ops = [*reads, ("scalar", expr)]
        got = Guards(ops, (0, 1, 2, 3)).check(function, slots)
        expected = twin.check(ops, (0, 1, 2, 3), function, slots)
        # NB: C declines where 64 bits or exact doubles end, so it may fail where Python's integers go on.
        assert got is None or expected is not None, (expr, slots)
        small = abs(slots[2]) < 2**20 and not any(abs(v) > 2**40 for v in (slots[3],) if v == v)
        if small and "mul" not in str(expr) and "pow" not in str(expr):
            assert (got is None) == (expected is None), (expr, slots)
        passed += got is not None
    assert passed > 1000


def test_simple_comparisons() -> None:
    """Sizes against sizes and constants go a shorter way, with the same answers."""
    a, b = Symbol("a", "int", 0, 0), Symbol("b", "int", 1, 1)
    for op, left, right in itertools.product(("lt", "le", "eq", "ne", "gt", "ge"), (a, b, 3, 2**70), (a, b, 3, 0, -1)):
        if not {left, right} & {a, b} or left == 2**70:
            continue
        ops = [("arg", 0, 0), ("arg", 1, 1), ("scalar", ScalarOp(op, "bool", (left, right)))]
        for n, m in itertools.product(range(5), range(5)):
            both(ops, (0, 1), function, (np.zeros(n), np.zeros((2, m))))
        assert both(ops, (0, 1), function, (None, np.zeros(1))) is None


class Plain:
    kind = "class"
    shared = (1, 2)

    def __init__(self) -> None:
        self.value = 1.5

    def method(self) -> None: ...

    @staticmethod
    def static() -> None: ...

    @property
    def computed(self) -> int:
        raise AssertionError("a guard ran Python code")


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Fallback(Plain):
    def __getattr__(self, name: str) -> Any:
        raise AssertionError("a guard ran Python code")


class Own(Plain):
    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, name)


class Meta(type):
    flag = 7


class WithMeta(metaclass=Meta):
    inside = "x"


def read(cls: type, name: str) -> list[tuple[Any, ...]]:
    return [("arg", 0, 0), ("type_version", 0, cls, version_tag(cls)), ("attr", 1, 0, name)]


def test_attributes() -> None:
    """Read where CPython keeps them: instance, slot, class, module; never by running code."""
    plain, slotted, fallback = Plain(), Slotted(3), Fallback()
    assert both(read(Plain, "value"), (1,), function, (plain,)) == (1.5,)
    assert both(read(Plain, "kind"), (1,), function, (plain,)) == ("class",)
    assert both(read(Plain, "shared"), (1,), function, (plain,)) == ((1, 2),)
    assert both(read(Slotted, "value"), (1,), function, (slotted,)) == (3,)
    assert both(read(Fallback, "value"), (1,), function, (fallback,)) == (1.5,)
    assert both(read(Fallback, "absent"), (1,), function, (fallback,)) is None
    assert both(read(Plain, "absent"), (1,), function, (plain,)) is None
    assert both(read(Plain, "method"), (1,), function, (plain,)) is None
    assert both(read(Plain, "static"), (1,), function, (plain,)) == (Plain.static,)
    plain.kind = "own"
    assert both(read(Plain, "kind"), (1,), function, (plain,)) == ("own",)
    del plain.value
    assert both(read(Plain, "value"), (1,), function, (plain,)) is None
    del slotted.value
    assert both(read(Slotted, "value"), (1,), function, (slotted,)) is None
    assert both(read(Plain, "kind"), (1,), function, (slotted,)) is None
    assert both([("arg", 0, 0), ("attr", 1, 0, "pi")], (1,), function, (math,)) == (math.pi,)
    assert both([("arg", 0, 0), ("attr", 1, 0, "no")], (1,), function, (math,)) is None
    assert both([("arg", 0, 0), ("attr", 1, 0, "pi")], (1,), function, (plain,)) is None
    assert both(read(type, "kind"), (1,), function, (Plain,)) == ("class",)
    assert both(read(type, "method"), (1,), function, (Plain,)) == (Plain.method,)
    assert both(read(type, "computed"), (1,), function, (Plain,)) is None
    assert both(read(Meta, "inside"), (1,), function, (WithMeta,)) == ("x",)
    known = [("const", 0, Plain), ("class_version", 0, Plain, version_tag(Plain))]
    assert both([*known, ("attr", 1, 0, "kind")], (1,), function, ()) == ("class",)
    assert both([*known, ("attr", 1, 0, "absent")], (1,), function, ()) is None
    for cls, name in ((Plain, "computed"), (Own, "value"), (type, "__name__"), (Plain, "__dict__")):
        with pytest.raises(ValueError, match="attr"):
            Guards(read(cls, name), (1,))


class Computing:
    """A descriptor in Python that leaves the first word to the instance, as functools.cached_property does."""

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        raise AssertionError("a guard ran Python code")


class Cached:
    filled = Computing()


def test_values_that_hide_a_descriptor() -> None:
    thing = Cached()
    assert both(read(Cached, "filled"), (1,), function, (thing,)) is None
    vars(thing)["filled"] = 2.5
    assert both(read(Cached, "filled"), (1,), function, (thing,)) == (2.5,)


def test_absent_attributes() -> None:
    plain, slotted = Plain(), Slotted(3)

    def lacks(cls: type, name: str) -> list[tuple[Any, ...]]:
        return [("arg", 0, 0), ("type_version", 0, cls, version_tag(cls)), ("lacks", 0, name)]

    assert both(lacks(Plain, "absent"), (0,), function, (plain,))
    assert not both(lacks(Plain, "value"), (0,), function, (plain,))
    assert not both(lacks(Plain, "kind"), (0,), function, (plain,))
    assert not both(lacks(Plain, "method"), (0,), function, (plain,))
    plain.absent = None  # type: ignore[attr-defined]
    assert not both(lacks(Plain, "absent"), (0,), function, (plain,))
    assert not both(lacks(Slotted, "value"), (0,), function, (slotted,))
    del slotted.value
    assert both(lacks(Slotted, "value"), (0,), function, (slotted,))


def test_class_changes_are_seen() -> None:
    """Assigning to a class or a base of it fails its version; so do a changed metaclass attribute and __class__."""
    base = type("Base", (), {"a": 1})
    cls = type("Derived", (base,), {})
    thing = cls()
    changes: list[Callable[[], None]] = [
        lambda: setattr(cls, "b", 2),
        lambda: setattr(base, "a", 2),
        lambda: delattr(base, "a"),
        lambda: setattr(cls, "__getattribute__", object.__getattribute__),
        lambda: setattr(cls, "__bases__", (type("Other", (), {}),)),
        lambda: setattr(thing, "__class__", type("Derived", (), {})),
    ]
    for change in changes:
        guards = Guards([("arg", 0, 0), ("type_version", 0, cls, version_tag(cls))], (0,))
        of_class = Guards([("const", 0, cls), ("class_version", 0, cls, version_tag(cls))], ())
        assert guards.check(function, (thing,)) and of_class.check(function, ()) is not None
        change()
        assert guards.check(function, (thing,)) is None
        assert "class" in str(guards.explain(function, (thing,))).lower()
        if change is not changes[-1]:
            assert of_class.check(function, ()) is None


def test_methods() -> None:
    """A method is the function that its class has; an instance's own value hides it."""
    thing = Plain()
    ops = [("arg", 0, 0), ("type_version", 0, Plain, version_tag(Plain)), ("method", 0, "method", Plain.method)]
    assert both(ops, (0,), function, (thing,))
    assert both([*ops[:2], ("method", 0, "static", Plain.static)], (0,), function, (thing,))
    assert not both([*ops[:2], ("method", 0, "method", Plain.static)], (0,), function, (thing,))
    thing.method = lambda: None  # type: ignore[method-assign]
    assert not both(ops, (0,), function, (thing,))
    bound = Plain().method
    ops = [("arg", 0, 0), ("method_function", 1, 0), ("method_self", 2, 0), ("is", 1, Plain.method)]
    assert both(ops, (2,), function, (bound,)) == (bound.__self__,)
    assert both(ops, (2,), function, (function,)) is None


def test_containers() -> None:
    """Items, keys, lengths and orders of keys."""
    pair = collections.namedtuple("pair", "a b")(1, 2)
    for value in ((1, 2), [1, 2], pair, (1,), [], "ab", {0: 1}, None, {0: 1, 1: 2}, {1: 2, 0: 1}, {1, 2}, b"ab"):
        for index in (0, 1, -1, -2, 5):
            both([("arg", 0, 0), ("item", 1, 0, index)], (1,), function, (value,))
        for key in (0, 1, "a", 1.0, True, (1,)):
            both([("arg", 0, 0), ("key", 1, 0, key)], (1,), function, (value,))
            both([("arg", 0, 0), ("arg", 1, 1), ("lookup", 2, 0, 1)], (2,), function, (value, key))
            both([("arg", 0, 0), ("arg", 1, 1), ("item_at", 2, 0, 1)], (2,), function, (value, key))
            both([("arg", 0, 0), ("arg", 1, 1), ("plus", 2, 1, -2), ("item_at", 3, 0, 2)], (3,), function, (value, key))
        for length in range(4):
            both([("arg", 0, 0), ("length", 0, length)], (0,), function, (value,))
        for keys in ((), (0,), (0, 1), (1, 0), (False, True)):
            both([("arg", 0, 0), ("dict_keys", 0, keys)], (0,), function, (value,))
    assert both([("arg", 0, 0), ("item", 1, 0, 1)], (1,), function, (pair,)) == (2,)
    assert both([("arg", 0, 0), ("arg", 1, 1), ("lookup", 2, 0, 1)], (2,), function, ({"a": 3}, "a")) == (3,)
    ops = [("arg", 0, 0), ("arg", 1, 1), ("plus", 2, 1, -1), ("item_at", 3, 0, 2)]
    assert both(ops, (2, 3), function, ([5, 6, 7], 2)) == (1, 6)
    assert both(ops, (2, 3), function, ((5, 6, 7), 0)) == (-1, 7)
    for number in (-3, 4, -(2**63), 2**63, True, 1.0, np.int64(1)):
        assert both(ops, (2, 3), function, ([5, 6, 7], number)) is None
    assert both([("arg", 0, 0), ("dict_keys", 0, (0, 1))], (0,), function, ({1: 2, 0: 1},)) is None


def test_keys_that_run_code_do_no_harm() -> None:
    """A key whose own __eq__ runs in the middle of a check may free what was read before."""
    kept: dict[Any, Any] = {}

    class Evil:
        def __hash__(self) -> int:
            return hash(1000)

        def __eq__(self, other: object) -> bool:
            kept.clear()
            gc.collect()
            return False

    evil: dict[Any, Any] = {Evil(): 0}
    ops = [("arg", 0, 0), ("key", 1, 0, "list"), ("arg", 2, 1), ("key", 3, 2, 1000), ("length", 1, 2)]
    for _ in range(50):
        kept["list"] = [object(), object()]
        assert Guards(ops, (1,)).check(function, (kept, evil)) is None

    class Raises(Evil):
        __hash__ = Evil.__hash__

        def __eq__(self, other: object) -> bool:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Guards(ops, (1,)).check(function, ({"list": [1, 2]}, {Raises(): 0}))


def test_no_key_beside_a_name_runs_code() -> None:
    """A name among keys that have their own __eq__ is not looked up at all: in an object, a module, or globals."""
    compared: list[object] = []
    namespace: dict[Any, Any] = {}

    class Evil:
        def __init__(self, name: str) -> None:
            self.hash = hash(name)

        def __hash__(self) -> int:
            return self.hash

        def __eq__(self, other: object) -> bool:
            compared.append(other)
            return False

    class Text(str):
        """Compares as str does."""

    class Choice(enum.StrEnum):
        A = "a"

    class Cached:
        value = functools.cached_property(lambda self: 1)

    def checked(cls: type, *ops: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return [("arg", 0, 0), ("type_version", 0, cls, version_tag(cls)), *ops]

    cases: list[tuple[Callable[[], Any], str, list[tuple[Any, ...]]]] = [
        (Plain, "value", checked(Plain, ("attr", 1, 0, "value"))),
        (Plain, "kind", checked(Plain, ("attr", 1, 0, "kind"))),
        (Plain, "method", checked(Plain, ("method", 0, "method", Plain.method))),
        (Plain, "absent", checked(Plain, ("lacks", 0, "absent"))),
        (Cached, "value", checked(Cached, ("attr", 1, 0, "value"))),
        (lambda: types.ModuleType("module"), "value", [("arg", 0, 0), ("attr", 1, 0, "value")]),
        (lambda: function, "value", [("arg", 0, 0), ("global", 1, namespace, "value")]),
        (lambda: function, "absent", [("arg", 0, 0), ("dict_lacks", namespace, "absent")]),
    ]
    for make, name, ops in cases:
        for key in (1, ("a", None), Text("a"), Choice.A, Plain(), Evil(name)):
            namespace.clear()
            thing = make()
            own = namespace if thing is function else vars(thing)
            if name == "value":
                own[name] = 1
            assert both(ops, (0,), function, (thing,))
            own[key] = 0
            compared.clear()
            assert bool(both(ops, (0,), function, (thing,))) is not isinstance(key, Evil)
            assert not compared


def test_globals_and_closures() -> None:
    """Names as LOAD_GLOBAL finds them, and cells of the function that is called."""
    namespace: dict[str, Any] = {"a": 1}
    ops = [("global", 0, namespace, "a"), ("equal", 0, 1), ("dict_lacks", namespace, "len")]
    assert both(ops, (0,), function, ())
    namespace["len"] = 1
    assert not both(ops, (0,), function, ())
    del namespace["len"]
    namespace["a"] = 2
    assert not both(ops, (0,), function, ())
    del namespace["a"]
    assert not both(ops, (0,), function, ())

    def outer(value: Any) -> Any:
        def inner() -> Any:
            return value, later

        if value == 1:
            later = 2
        return inner

    cell = [("cell", 0, 1), ("equal", 0, 1)]
    names = outer(1).__code__.co_freevars
    at = names.index("value")
    cell[0] = ("cell", 0, at)
    assert both(cell, (0,), outer(1), ())
    assert not both(cell, (0,), outer(2), ())
    assert not both([("cell", 0, 1 - at)], (0,), outer(2), ())
    assert not both([("cell", 0, 5)], (0,), outer(1), ())
    assert not both([("cell", 0, 0)], (0,), function, ())
    assert both([("globals", globals())], (), function, ()) == ()
    assert not both([("globals", globals())], (), gc.collect, ())
    cells = outer(1).__closure__ or ()
    assert both([("arg", 0, 0), ("cell_contents", 1, 0)], (1,), function, (cells[at],)) == (1,)
    assert not both([("arg", 0, 0), ("cell_contents", 1, 0)], (1,), function, (types.CellType(),))


def test_functions() -> None:
    """Code and defaults, in place or replaced; keyword defaults are compared with how they were."""

    def make() -> Any:
        def target(a: Any, b: Any = "default", *, c: Any = 1.5) -> None: ...

        return target

    target = make()
    facts = (target.__code__, target.__defaults__, target.__kwdefaults__)
    ops = [("arg", 0, 0), ("function", 0, *facts)]
    guards = Guards(ops, ())
    again = make()
    assert both(ops, (), function, (target,)) == ()
    again.__kwdefaults__ = {"c": facts[2]["c"]}
    assert both(ops, (), function, (again,)) == ()
    target.__kwdefaults__["c"] = 2.5
    assert guards.check(function, (target,)) is None
    target.__kwdefaults__ = None
    assert guards.check(function, (target,)) is None
    again.__defaults__ = ("other",)
    assert not both(ops, (), function, (again,))
    again.__defaults__ = None
    assert not both(ops, (), function, (again,))
    assert not both(ops, (), function, (function,))
    assert not both(ops, (), function, (len,))
    bare = [("arg", 0, 0), ("function", 0, test_functions.__code__, None, None)]
    assert both(bare, (), function, (test_functions,)) == ()


def test_functions_by_what_they_are_made_of() -> None:
    """Code, how many defaults, which keyword defaults; their values and the closure's are read apart."""

    def make(value: Any) -> Any:
        def target(a: Any, b: Any = value, *, c: Any = value) -> Any:
            return value

        return target

    target = make(1.5)
    ops = [
        ("arg", 0, 0),
        ("function", 0, target.__code__, 1, ("c",)),
        ("function_globals", 0, globals()),
        ("defaults", 1, 0),
        ("item", 2, 1, 0),
        ("kwdefaults", 3, 0),
        ("key", 4, 3, "c"),
        ("closure", 5, 0, 0),
    ]
    assert both(ops, (2, 4, 5), function, (target,)) == (1.5, 1.5, 1.5)
    assert both(ops, (2, 4, 5), function, (make("other"),)) == ("other", "other", "other")
    assert not both([("arg", 0, 0), ("function_globals", 0, {})], (), function, (target,))
    for name, value in (("__defaults__", None), ("__defaults__", (1, 2)), ("__kwdefaults__", None)):
        changed = make(1.5)
        setattr(changed, name, value)
        assert not both(ops, (2,), function, (changed,)), name
    changed = make(1.5)
    changed.__kwdefaults__ = {"d": 1.5}
    assert not both(ops, (2,), function, (changed,))
    assert not both(ops, (2,), function, (len,))


def test_identity_and_slots() -> None:
    """same, distinct, is, type; slots that are not there."""
    x, y = [1], [1]
    reads = [("arg", 0, 0), ("arg", 1, 1)]
    assert both([*reads, ("same", 0, 1)], (0,), function, (x, x)) and not both(
        [*reads, ("same", 0, 1)], (), function, (x, y)
    )
    assert both([*reads, ("distinct", 0, 1)], (0,), function, (x, y))
    assert not both([*reads, ("distinct", 0, 1)], (0,), function, (x, x))
    for one, holds in ((x, False), ([x], True), ((3, x), True), ([[x], 4], False), ([y], False), (3, True)):
        assert both([*reads, ("type", 0, type(one)), ("holds_not", 0, 1, 1)], (0,), function, (one, x)) != holds
    assert not both([*reads, ("holds_not", 0, 1, 2)], (0,), function, ([[x], 4], x))
    assert both([*reads, ("is", 0, x)], (0,), function, (x, y)) and not both(
        [*reads, ("is", 1, x)], (), function, (x, y)
    )
    assert both([*reads, ("type", 0, list)], (0,), function, (x, y))
    assert not both([*reads, ("type", 0, tuple)], (0,), function, (x, y))
    assert not both(reads, (0,), function, (x,))

    assert both([("const", 0, x)], (0,), function, ()) == (x,)


@pytest.mark.parametrize(
    ("ops", "inputs"),
    [
        ([("arg", 0, 0), ("is", 1, None)], (0,)),
        ([("arg", 0, 0), ("arg", 0, 1)], (0,)),
        ([("arg", 0, 0)], (1,)),
        ([("arg", 0, 0)], (-1,)),
        ([("arg", -1, 0)], ()),
        ([("arg", 1 << 30, 0)], ()),
        ([("arg", 0)], ()),
        ([("unknown", 0)], ()),
        (["arg"], ()),
        ([()], ()),
        ([("global", 0, [], "a")], ()),
        ([("global", 0, {}, 1)], ()),
        ([("arg", 0, 0), ("type", 0, 1)], ()),
        ([("arg", 0, 0), ("array", 0, np.dtype("M8[s]"), 1, 0, None)], ()),
        ([("arg", 0, 0), ("array", 0, float, 1, 0, None)], ()),
        ([("scalar", ScalarOp("lt", "bool", (Symbol("s", "int", 0, 0), 1)))], ()),
        ([("scalar", ScalarOp("lt", "bool", (Symbol("s", "int", 0, 0), 1))), ("arg", 0, 0)], (0,)),
        ([("arg", 0, 0), ("scalar", Symbol("s", "float", 0))], (0,)),
        ([("arg", 0, 0), ("scalar", ScalarOp("power", "int", (1, 1)))], (0,)),
        ([("arg", 0, 0), ("scalar", ScalarOp("min", "int", (1, 1.5)))], (0,)),
        ([("arg", 0, 0), ("key", 1, 0, [])], ()),
        ([("arg", 0, 0), ("function", 0, None, None, 3)], ()),
    ],
)
def test_broken_tables_are_refused(ops: list[Any], inputs: tuple[int, ...]) -> None:
    """Whatever could read a register that is not set, or compare nonsense, is not built."""
    with pytest.raises((ValueError, TypeError, OverflowError)):
        Guards(ops, inputs)


def test_words() -> None:
    """A table prints one test a line in the names of the source; a failure says what is there instead."""
    s0 = Symbol("s0", "int", 0, 0)
    ops = [
        ("arg", 0, 0),
        ("array", 0, F8, 2, 2, True),
        ("global", 1, globals(), "math"),
        ("attr", 2, 1, "pi"),
        ("equal", 2, math.pi),
        ("scalar", ScalarOp("ge", "bool", (ScalarOp("sub", "int", (s0, 1)), 2))),
    ]
    guards = Guards(ops, (0,))
    assert str(guards).splitlines() == [
        "slot0 is an aligned float64 array of 2 dimensions, of size 1 just along [1], writeable",
        f"math.pi equals {math.pi!r}",
        "(slot0.shape[0] - 1) >= 2",
        "inputs: slot0",
    ]
    assert guards.explain(function, (np.zeros((2, 1)),)) == "not true that (x.shape[0] - 1) >= 2"
    assert guards.explain(function, (np.zeros(5),)) == (
        "not true that x is an aligned float64 array of 2 dimensions, of size 1 just along [1], writeable; "
        "it is an array float64[5] with strides [8]"
    )
    assert GuardsOf(guards, function.__code__).sentences() == [
        "x is an aligned float64 array of 2 dimensions, of size 1 just along [1], writeable",
        f"math.pi equals {math.pi!r}",
        "(x.shape[0] - 1) >= 2",
    ]
    assert repr(guards) == "<Guards of 6 ops, 1 inputs>"


def test_checks_leave_nothing_behind() -> None:
    """Hits and misses keep no references and no memory."""
    thing, namespace = Plain(), {"a": [1, 2]}
    x = np.zeros((3, 4))
    s0, s1 = Symbol("s0", "int", 0, 0), Symbol("s1", "int", 0, 1)
    ops = [
        *(
            ("arg", 0, 0),
            ("array", 0, F8, 2, 0, None),
            ("arg", 1, 1),
            ("type_version", 1, Plain, version_tag(Plain)),
            ("attr", 2, 1, "value"),
        ),
        *(("global", 3, namespace, "a"), ("item", 4, 3, 1), ("key", 5, 6, "a"))[:2],
        ("scalar", ScalarOp("lt", "bool", (s0, ScalarOp("mul", "int", (s1, 2))))),
    ]
    guards = Guards(ops, (0, 2, 3))
    with_key = Guards([("arg", 0, 2), ("key", 1, 0, "a"), ("arg", 2, 1)], (0, 1, 2))

    def work() -> None:
        assert guards.check(function, (x, thing)) is not None
        assert guards.check(function, (x.T, thing)) is not None
        assert guards.check(function, (x[0], thing)) is None
        assert with_key.check(function, (x, thing, namespace)) is not None
        assert with_key.check(function, (x, thing, {})) is None

    for _ in range(100):
        work()
    gc.collect()
    counts = [sys.getrefcount(value) for value in (x, thing, namespace, namespace["a"], guards)]
    before = sys.getallocatedblocks()
    for _ in range(20_000):
        work()
    gc.collect()
    assert sys.getallocatedblocks() - before < 20
    assert [sys.getrefcount(value) for value in (x, thing, namespace, namespace["a"], guards)] == counts


def test_tables_are_garbage_collected() -> None:
    """A table in a cycle with what it guards goes away."""

    class Thing:
        guards: Guards

    thing = Thing()
    thing.guards = Guards([("const", 0, thing), ("is", 0, thing)], (0,))
    gone = weakref.ref(thing)
    del thing
    gc.collect()
    assert gone() is None


def test_large_tables() -> None:
    """More registers and numbers than are kept on the C stack."""
    n = 200
    ops: list[tuple[Any, ...]] = [("arg", i, i) for i in range(n)]
    for i in range(n):
        ops.append(("scalar", ScalarOp("eq", "bool", (ScalarOp("mul", "int", (Symbol("k", "int", i), 2)), 2 * i))))
    slots = tuple(range(n))
    assert both(ops, tuple(range(n)), function, slots) == slots
    assert both(ops, tuple(range(n)), function, (*slots[:-1], 7)) is None


def test_integers_beyond_64_bits() -> None:
    """A comparison with such a constant is decided; arithmetic that needs one fails the guard."""
    k = Symbol("k", "int", 0)
    for op, big, value in itertools.product(
        ("lt", "le", "eq", "ne", "gt", "ge"), (2**64, -(2**64), 2**63), (0, 2**63 - 1, -(2**63))
    ):
        for operands in ((k, big), (big, k)):
            both([("arg", 0, 0), ("scalar", ScalarOp(op, "bool", operands))], (0,), function, (value,))
    total = ScalarOp("gt", "bool", (ScalarOp("add", "int", (k, 2**64)), 0))
    assert Guards([("arg", 0, 0), ("scalar", total)], (0,)).check(function, (1,)) is None


def test_every_kind_has_a_use() -> None:
    """Each row of csrc/guards/guards.def is stated somewhere in capture."""
    folder = Path(dynamo_lite.__file__).parent / "capture"
    text = "\n".join(path.read_text() for path in folder.rglob("*.py"))
    assert not [name for name, _, _ in GUARD_KINDS if f'"{name}"' not in text]


def test_columns_are_arrays_of_the_numbers_in_lists() -> None:
    ops = [("arg", 0, 0), ("type", 0, list), ("column", 1, 0, "llf"), ("array", 1, np.dtype(float), 1, 0, False)]
    function = test_columns_are_arrays_of_the_numbers_in_lists
    for check in (Guards(ops, (1,)).check, functools.partial(twin.check, ops, (1,))):
        rows = [[1.0, 2.0], [], [0.5]]
        before = sys.getrefcount(rows)
        (array,) = check(function, (rows,))
        assert array.base is rows and array.tolist() == [1.0, 2.0, 0.5]
        del array
        assert sys.getrefcount(rows) == before
        assert all(check(function, (other,)) is None for other in ([[1]], [1.0], ([1.0],), [[1.0], (1.0,)], None))


@pytest.mark.parametrize(("text", "dtype"), [("abc", "u1"), ("aŁ", "u2"), ("a😀", "u4"), (b"abc", "u1")])
def test_texts_are_arrays_of_their_characters(text: Any, dtype: str) -> None:
    ops = [("arg", 0, 0), ("text", 1, 0), ("array", 1, np.dtype(dtype), 1, 0, False)]
    function = test_texts_are_arrays_of_their_characters
    for check in (Guards(ops, (1,)).check, functools.partial(twin.check, ops, (1,))):
        before = sys.getrefcount(text)
        (array,) = check(function, (text,))
        assert array.base is text and array.dtype == dtype and array.size == len(text)
        del array
        assert sys.getrefcount(text) == before
        for other in ("é" * 2 + "ŁŁ😀" if dtype != "u4" else "ab", None, 3, ["a"], bytearray(b"ab")):
            assert check(function, (other,)) is None


PARTS: tuple[tuple[slice | int, ...], ...] = (
    *((slice(1, -1), slice(1, -1)), (slice(None), 2), (-1, slice(None)), (slice(None, None, 2), slice(-1, None, -1))),
    *((slice(5, 5), slice(None)), (9, slice(None)), (slice(None),), (slice(1, None), slice(None), slice(None))),
)


@pytest.mark.parametrize("index", PARTS)
def test_a_part_lies_where_the_index_says(index: tuple[slice | int, ...]) -> None:
    """Of all parts of an array those pass that ``whole[index]`` is, and neither the whole nor another array."""
    whole = np.arange(48.0).reshape(6, 8)
    ops = [("arg", 0, 0), ("arg", 1, 1), ("part", 0, 1, index)]
    disjoint = [*ops[:2], ("disjoint", 0, 1)]
    function = test_a_part_lies_where_the_index_says
    objects: list[Any] = [whole[i] for i in PARTS if len(i) == 2 and i[0] != 9]
    objects += [whole, whole[:], whole.T[1:-1, 1:-1], whole.copy(), whole[1:-1, 1:-2], whole.ravel(), None, 3]
    objects.append(whole[3:3, ::-1])  # empty, and begins amid it
    passed = 0
    for array, base in itertools.product(objects, [whole, whole.T, whole[:, :6], None]):
        found = [check(function, (array, base)) for check in (Guards(ops, ()).check, twin_of(ops))]
        expected = None
        with contextlib.suppress(IndexError, TypeError, AttributeError):
            one, other = base[(*index, ...)], array  # type: ignore[index]
            same = (one.ctypes.data, one.shape, one.strides) == (other.ctypes.data, other.shape, other.strides)
            if same and len(index) == base.ndim and other is not base and one.size:  # type: ignore[union-attr]
                expected = ()
        assert found == [expected, expected], (array, base)
        found = [check(function, (array, base)) for check in (Guards(disjoint, ()).check, twin_of(disjoint))]
        both = isinstance(array, np.ndarray) and isinstance(base, np.ndarray)
        assert found == [() if both and not np.may_share_memory(array, base) else None] * 2
        passed += expected is not None
    assert (passed > 0) == (index in PARTS[:4])


def twin_of(ops: list[Any]) -> Any:
    return functools.partial(twin.check, ops, ())


@pytest.mark.parametrize("index", [None, [slice(1)], (1.0,), (slice(1.0),), (None,), ("a",), (slice(True),)])
def test_the_index_of_a_part_is_checked(index: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="tuple of ints and slices"):
        Guards([("arg", 0, 0), ("arg", 1, 1), ("part", 0, 1, index)], ())


def test_the_words_of_a_part() -> None:
    guards = Guards([("arg", 0, 0), ("arg", 1, 1), ("part", 0, 1, (slice(1, -1), 3, slice(None, None, -2)))], ())
    assert str(guards).startswith("slot0 lies where slot1[1:-1, 3, ::-2] does")


@pytest.mark.parametrize("n", [10**6000, -(3**9999), 2**70], ids=["decimal", "negative", "short"])
def test_numbers_that_python_does_not_write(n: int) -> None:
    """sys.get_int_max_str_digits(): neither a compilation nor explain() has to do with it."""

    def compares(x: Any, n: int) -> Any:
        return x * (n > 5), n, x * (n % 7)

    def multiplies(x: Any, n: int) -> Any:
        return x * n

    for function in (compares, multiplies):
        report = require_equal(
            function,
            lambda: (np.arange(3.0), 5),
            compile=dynamo_lite.compile,
            compile_options={"options": {"cost_model": False}},
            variants=[lambda: (np.arange(3.0), n), lambda: (np.arange(3.0), -n)],
        )
        assert report.compiled is not None and str(report.compiled.explain())


def test_a_list_of_another_length_says_how_long_it_is() -> None:
    def function(items: list[int]) -> None: ...

    guards = Guards([("arg", 0, 0), ("length", 0, 2)], (0,))
    assert guards.explain(function, ([1, 2, 3],)) == "not true that items has length 2; it has 3"

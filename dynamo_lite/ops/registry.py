"""The ops, their NumPy spellings, and the way calls of them enter a graph.

Capture looks a callable up by identity (``lookup``), a method or an attribute of an array by name (``method``,
``attribute``), lets the spelling's ``bind`` turn the call's arguments into a ``Bound`` (op, operands, params, out), and
appends it (``apply``; ``call`` for one op by name). The op families of this package fill ``REGISTRY`` and the tables of
spellings when imported. INVARIANT: what has no exact rule raises OpError, and then nothing has been appended.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cache
from types import BuiltinFunctionType, FunctionType
from typing import Any, TypeAlias

import numpy as np

from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Location, Node
from dynamo_lite.graph.opdef import (
    REGISTRY,
    DoesNotBroadcast,
    NotConstant,
    NotRead,
    OpDef,
    OpError,
    OpKind,
    Relate,
    ResultType,
    Sample,
    UnknownShape,
    define,
    demand,
)
from dynamo_lite.graph.scalar import Dim, Scalar, ScalarOp, Symbol, make, simplify
from dynamo_lite.graph.types import GENERATOR, LIST, MAX_DIMS, ArrayType
from dynamo_lite.ops.conversion import enter, is_pending
from dynamo_lite.ops.parameters import DType, Operand, Parameters, parameters_of, supported, type_of

__all__ = [
    "REGISTRY",
    "Bound",
    "DoesNotBroadcast",
    "NotConstant",
    "NotRead",
    "OpDef",
    "OpError",
    "OpKind",
    "Relate",
    "Sample",
    "Spelling",
    "UnknownShape",
    "apply",
    "call",
    "define",
]


@dataclass(frozen=True, slots=True)
class Bound:
    """A call in canonical form. op "same": the call yields its operand itself.

    out: an array of the graph that receives the result, which then is `out`; casting: what that write may cast.
    returns: "value" (the result, or `out`) or "none" (np.copyto and the like return None). record: the named tuple that
    several results are the items of; None for a tuple.
    """

    op: str
    args: tuple[Operand, ...]
    params: dict[str, Any] = field(default_factory=dict)
    out: Node | None = None
    casting: str = "same_kind"
    returns: str = "value"
    record: type | None = None


Binder: TypeAlias = Callable[..., Bound]


@dataclass(frozen=True, slots=True)
class Spelling:
    """One NumPy name for ops. bind takes the arguments of a call of that name, capture's `relate` aside. of_array: the
    first one is the array whose method or attribute it is.

    Arguments are Nodes, Scalars, and plain Python objects (tuples, lists, slices, dtypes, None ...) that may hold them.
    """

    text: str
    binder: Binder
    ops: tuple[str, ...]
    of_array: bool = False

    @property
    def parameters(self) -> Parameters:
        """Those of the binder; asked for late, since most names are never met."""
        return parameters_of(self.binder, self.of_array)

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], relate: Relate | None = None) -> Bound:
        """The call in canonical form; OpError if it has none.

        relate: answers and guards a relation between numbers, as for `call`; without it only constants are decided.
        """
        try:
            bound = self.parameters.bind(args, kwargs)
        except OpError as error:
            if type(error) is not OpError:
                raise
            raise OpError(f"{self.text}: {error}") from None
        return self.binder(_answer(relate), *bound.args, **bound.kwargs)


_SPELLINGS: dict[Any, Spelling] = {}
_METHODS: dict[str, Spelling] = {}
_ATTRIBUTES: dict[str, Spelling] = {}
_SUBSCRIPTS: dict[int, tuple[Any, Spelling]] = {}  # by identity
_UFUNC_METHODS: dict[str, tuple[str, Callable[[np.ufunc], Binder]]] = {}
_ANY_UFUNC: list[tuple[str, Callable[[np.ufunc], Binder]]] = []  # how one that no op is made of is called
_CALLABLES = (np.ufunc, FunctionType, BuiltinFunctionType, type, type(np.sum))


def _answer(relate: Relate | None) -> Relate:
    def ask(condition: Scalar) -> bool:
        condition = simplify(condition)
        if not isinstance(condition, Symbol | ScalarOp):
            return bool(condition)
        if relate is None:
            raise OpError("what depends on sizes that are not known")
        return relate(condition)

    return ask


def spell(
    ops: str,
    text: str | None,
    *callables: Any,
    method: str | None = None,
    attribute: str | None = None,
    subscript: Any = None,
) -> Callable[[Binder], Binder]:
    """Decorator: the function binds calls of `callables`, of the ndarray method, reads of the ndarray attribute, and
    what stands in brackets after the object `subscript` (np.r_).

    ops: names of the ops it may yield, separated by blanks. The function's parameters after `ask` are those of the
    NumPy callable, with its defaults, each annotated with its Kind (parameters.py); what is not given is not converted.
    """
    names = tuple(ops.split())

    def register(binder: Binder) -> Binder:
        for target in callables:
            _SPELLINGS[target] = Spelling(text or target.__name__, binder, names)
        if subscript is not None:
            _SUBSCRIPTS[id(subscript)] = subscript, Spelling(text or "", binder, names)
        if method is not None:
            _METHODS[method] = Spelling(f"x.{method}", binder, names, True)
        if attribute is not None:
            _ATTRIBUTES[attribute] = Spelling(f"x.{attribute}", binder, names, True)
        return binder

    return register


def spell_ufunc_method(op: str, name: str) -> Callable[[Callable[[np.ufunc], Binder]], Callable[[np.ufunc], Binder]]:
    """Decorator: the function gives, for a ufunc, the binder of its method `name` (``np.add.reduce``)."""

    def register(make_binder: Callable[[np.ufunc], Binder]) -> Callable[[np.ufunc], Binder]:
        _UFUNC_METHODS[name] = (op, make_binder)
        return make_binder

    return register


def spell_any_ufunc(op: str) -> Callable[[Callable[[np.ufunc], Binder]], Callable[[np.ufunc], Binder]]:
    """Decorator: the function gives the binder of a call of a ufunc that has no spelling, another package's say."""

    def register(make_binder: Callable[[np.ufunc], Binder]) -> Callable[[np.ufunc], Binder]:
        _ANY_UFUNC.append((op, make_binder))
        return make_binder

    return register


def lookup(callable_object: object) -> Spelling | None:
    """The spelling of a NumPy callable, by its identity; None when it has no rule. Runs no code of the object's type.

    Knows functions, ufuncs of whatever package, bound ufunc methods (``np.add.reduce``) and scalar types
    (``np.float32``).
    """
    if type(callable_object) not in _CALLABLES:
        return None
    if isinstance(callable_object, BuiltinFunctionType) and type(callable_object.__self__) is np.ufunc:
        return _ufunc_method(callable_object.__self__, callable_object.__name__)
    found = _SPELLINGS.get(callable_object)
    if found is None and type(callable_object) is np.ufunc:
        return _any_ufunc(callable_object)
    return found


@cache
def _any_ufunc(ufunc: np.ufunc) -> Spelling:
    op, make_binder = _ANY_UFUNC[0]
    binder = make_binder(ufunc)
    return Spelling(ufunc.__name__, binder, (op,))


@cache
def _ufunc_method(ufunc: np.ufunc, name: str) -> Spelling | None:
    row = _UFUNC_METHODS.get(name)
    if row is None:
        return None
    binder = row[1](ufunc)
    return Spelling(f"np.{ufunc.__name__}.{name}", binder, (row[0],))


def method(name: str) -> Spelling | None:
    """The spelling of the ndarray (and NumPy scalar) method `name`; bind takes the array first."""
    return _METHODS.get(name)


def attribute(name: str) -> Spelling | None:
    """The spelling of the ndarray attribute `name` (T, mT, real ...); bind takes the array alone."""
    return _ATTRIBUTES.get(name)


def subscript(target: object) -> Spelling | None:
    """The spelling of ``target[...]`` for an object of NumPy's, by its identity; bind takes the items."""
    found = _SUBSCRIPTS.get(id(target))
    return found[1] if found is not None and found[0] is target else None


def asker(graph: Graph, relate: Relate | None) -> Relate:
    """`relate`, asked only what the facts of `graph` do not decide; its answers become facts."""
    answer = _answer(relate)

    def ask(condition: Scalar) -> bool:
        known = graph.decides(condition)
        if known is None:
            known = bool(answer(condition))
            graph.facts.learn(condition, known)
        return known

    return ask


def infer(op: str, args: tuple[Argument, ...], params: dict[str, Any], relate: Relate) -> ResultType:
    """The type that `op` yields; raises OpError, also for one that graphs do not have."""
    for arg in args:
        if isinstance(arg, Node) and isinstance(arg.type, ArrayType) and arg.type != GENERATOR:
            supported(arg.type.dtype)
    result = REGISTRY[op].infer(args, params, relate)
    for type_ in result if isinstance(result, tuple) else (result,):
        if type_ != LIST:
            supported(type_.dtype)
        if type_.ndim > MAX_DIMS:
            raise OpError(f"an array of {type_.ndim} dimensions")
    return result


def call(
    graph: Graph,
    op: str,
    args: tuple[Operand, ...],
    params: dict[str, Any] | None = None,
    location: Location | None = None,
    relate: Relate | None = None,
) -> Node:
    """Append a call of `op` with its inferred type.

    relate(condition) says whether a relation between sizes or numbers is true now and guards it; without it, only what
    the graph's facts decide is known. Raises OpError (nothing appended) when the op has no rule for these operands.
    """
    params = {} if params is None else params
    mark = len(graph.nodes)
    if REGISTRY[op].open_size and "yields" not in params:
        params = {**params, "yields": (graph.add_size(f"y{len(graph.symbols)}"),)}
    try:
        nodes = tuple(_entered(graph, arg, location, relate, REGISTRY[op]) for arg in args)
        type_ = infer(op, nodes, params, asker(graph, relate))
    except OpError:
        del graph.nodes[mark:]
        raise
    return graph.add_call(op, nodes, params, type_, location)


def _entered(
    graph: Graph, value: Any, location: Location | None, relate: Relate | None, taker: OpDef | None = None
) -> Any:
    """`value` as an operand that is in the graph: see ``conversion.enter``."""
    return enter(graph, value, taker, lambda op, args, params: call(graph, op, args, params, location, relate))


def apply(
    graph: Graph, bound: Bound, location: Location | None = None, relate: Relate | None = None
) -> Operand | tuple[Node, ...] | None:
    """Append what `bound` says, the write into its `out` too, and return what the call returns.

    A multi-output op yields a tuple of nodes. Raises OpError (nothing appended).
    """
    mark = len(graph.nodes)
    try:
        value: Operand | tuple[Node, ...]
        if bound.op == "same":
            value = bound.args[0]
            if is_pending(value):
                value = _entered(graph, value, location, relate)
        else:
            node = call(graph, bound.op, bound.args, bound.params, location, relate)
            value = node
            if isinstance(node.type, tuple):
                value = tuple(
                    call(graph, "tuple_get", (node,), {"index": index}, location, relate)
                    for index in range(len(node.type))
                )
        if bound.out is not None:
            if isinstance(value, tuple):
                raise OpError("out= of an op with several results")
            if bound.op == "reduce" and isinstance(value, Node):
                _require_shape(value, bound.out, asker(graph, relate))
            store(graph, bound.out, value, location, relate, casting=bound.casting, like_out=bound.returns == "value")
            value = bound.out
    except OpError:
        del graph.nodes[mark:]
        raise
    return value if bound.returns == "value" else None


def _require_shape(value: Node, out: Node, ask: Relate) -> None:
    """The out= of a reduction has just the result's shape."""
    shape, room = value.array_type.shape, out.array_type.shape
    if len(shape) != len(room) or not all(ask(make("eq", a, b)) for a, b in zip(shape, room, strict=True)):
        raise OpError("out= of another shape than the result")


def store(
    graph: Graph,
    target: Node,
    value: Operand,
    location: Location | None = None,
    relate: Relate | None = None,
    *,
    casting: str = "unsafe",
    like_out: bool = False,
) -> Node:
    """Append a store of `value` into all of `target`, as ``target[...] = value``; OpError where NumPy would complain.

    casting: what the write may cast. like_out: by the rule of out=, which allows no superfluous leading axes.
    """
    ask = asker(graph, relate)
    room = target.array_type
    if room.scalar:
        raise OpError("a NumPy scalar cannot be written to")
    entered: Argument = _entered(graph, value, location, relate)
    if not isinstance(entered, Node):
        check_number(entered, room.dtype, ask, assignment=True)
        return graph.add_store(target, entered, location)
    value = entered
    type_ = value.array_type
    if not np.can_cast(type_.dtype, room.dtype, casting):  # type: ignore[arg-type]
        raise OpError(f"cannot cast {type_.dtype} to {room.dtype} with casting={casting!r}")
    if type_.dtype.kind == "c" and room.dtype.kind != "c":
        raise OpError("writing complex values into real memory warns")
    shape = type_.shape
    if len(shape) > room.ndim:
        extra = len(shape) - room.ndim
        if like_out or any(dim != 1 for dim in shape[:extra]):
            raise OpError("the value has more axes than the array it is written to")
        shape = shape[extra:]
    for size, space in zip(reversed(shape), reversed(room.shape), strict=False):
        if size != 1 and not ask(make("eq", size, space)):
            raise OpError(f"{size} elements do not fit an axis of {space}")
    return graph.add_store(target, value, location)


# Ufuncs that may warn or raise on integers: division by zero, negative powers. Other integer arithmetic wraps silently.
_REPORTS_ON_INTEGERS = frozenset(
    ("floor_divide", "remainder", "divmod", "fmod", "power", "float_power", "reciprocal", "ldexp", "lcm", "gcd")
)

_SCALAR_COMPARISONS = frozenset(
    f"scalar_{name}" for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
)

_LARGEST = {"e": 65504.0, "f": float(np.finfo(np.float32).max)}

# NumPy's loops for these are silent, but for complex NaN.
_ORDERED = frozenset(("less", "less_equal", "greater", "greater_equal"))


def _is_in_range(view: Node) -> bool:
    """Whether all integers of an index surely name elements: those of an axis of known length."""
    (x,) = view.args
    assert isinstance(x, Node)
    entries = [entry for entry in view.params["index"] if entry is not None and entry is not ...]
    return all(
        isinstance(entry, tuple) or (type(entry) is int and type(size) is int and -size <= entry < size)
        for entry, size in zip(entries, x.array_type.shape, strict=False)
    )


def _is_size(size: Dim) -> bool:
    """Whether a number is no less than 0: that of an array's elements along an axis."""
    return size >= 0 if isinstance(size, int) else isinstance(size, Symbol) and size.axis is not None


def has_to_run(node: Node) -> bool:
    """Whether `node` has to run even when nothing reads its result: it may report something, or what is known of its
    type, which the code may have asked for, is a guess that it tests."""
    return REGISTRY[node.op].guesses or may_report(node)


def may_report(node: Node) -> bool:
    """Whether `node` may warn or raise."""
    op = REGISTRY[node.op]
    operands = [type_of(arg).dtype for arg in node.args if isinstance(arg, Node) and not isinstance(arg.type, tuple)]
    is_complex = any(dtype.kind == "c" for dtype in operands) or any(isinstance(arg, complex) for arg in node.args)
    if op.name.removeprefix("scalar_") in _ORDERED and is_complex:
        return True
    if not op.may_report:
        return False
    if op.name == "basic_index":  # a slice of what is not there is empty
        return not _is_in_range(node)
    if op.name == "empty":
        return not all(_is_size(size) for size in node.array_type.shape)
    if op.name in _SCALAR_COMPARISONS and all(dtype.kind in "biuf" for dtype in operands):
        return _converting_may_overflow(node, operands)
    if op.name == "scalar_cast" and node.params["type"] is np.int64 and all(dtype.kind in "bi" for dtype in operands):
        return False
    results = [type_.dtype for type_ in (node.type if isinstance(node.type, tuple) else (node.array_type,))]
    if {dtype.kind for dtype in (*operands, *results)} <= set("biu"):
        if op.kind is OpKind.ELEMENTWISE:
            return op.name in _REPORTS_ON_INTEGERS
        if op.name == "outer":
            return node.params["ufunc"].__name__ in _REPORTS_ON_INTEGERS
        if op.name == "reduce":  # of known numbers; sums and products wrap around, others may have no answer
            made = isinstance(node.args[0], Node) and node.args[0].op == "array_of"
            return not made or node.params["ufunc"] not in (np.add, np.multiply)
        return op.name not in ("full", "full_like", "array_of", "argsort")
    return op.name != "astype" or not np.can_cast(operands[0], results[0], "safe")


def _converting_may_overflow(node: Node, operands: list[DType]) -> bool:
    """Whether NumPy may warn when it converts a Python number to the narrower float type of a scalar beside it."""
    limits = [_LARGEST[dtype.char] for dtype in operands if dtype.char in _LARGEST]
    numbers = [arg for arg in node.args if not isinstance(arg, Node)]
    return any(
        isinstance(number, Symbol | ScalarOp) or limit < abs(number) < math.inf
        for number in numbers
        for limit in limits
    )


def check_number(value: Scalar, dtype: DType, ask: Relate, assignment: bool = False) -> None:
    """OpError unless the Python number `value` converts to `dtype` without error or warning, as NumPy converts it.

    A symbolic int is asked to be in range. assignment: by the rule of ``x[i] = value``, where also floats go into
    integer arrays.
    """
    if not isinstance(value, Symbol | ScalarOp):
        cell = np.zeros((), dtype)
        try:
            with np.errstate(all="raise"):
                cell[()] = value
        except (OverflowError, ValueError, TypeError, FloatingPointError) as error:
            raise OpError(f"{type(value).__name__} as {dtype}: {error}") from None
        if dtype.kind == "b" and not assignment and type(value) is int and not -(2**63) <= value < 2**63:
            raise OpError("an int is an int64 before it is true")
        return
    if value.kind == "float" and dtype.kind in "iu":
        raise OpError(f"the float {value} as {dtype} depends on its value")
    low, high = _limits(value.kind, dtype)
    bounds = [make(op, value, bound) for op, bound in (("ge", low), ("le", high)) if bound is not None]
    if not all(demand(ask, bound) for bound in bounds):
        raise OpError(f"{value} does not fit {dtype}")


def _limits(kind: str, dtype: DType) -> tuple[Scalar | None, Scalar | None]:
    """The range in which every Python number of `kind` converts to `dtype` silently; symbolic ints have 64 bits."""
    if kind == "int" and dtype.kind in "iu":
        limits = np.iinfo(dtype)  # type: ignore[type-var]
        return (
            int(limits.min) if limits.min > -(2**63) else None,
            int(limits.max) if limits.max < 2**63 - 1 else None,
        )
    if dtype.kind in "fc":
        largest = float(np.finfo(dtype).max)  # type: ignore[type-var]
        if kind == "float" and largest < float(np.finfo(np.float64).max):
            return -largest, largest
        if kind == "int" and largest < 2.0**63:
            return -int(largest), int(largest)
    return None, None


def spellings() -> dict[str, tuple[str, ...]]:
    """For every op the NumPy names that yield it, sorted."""
    found: dict[str, set[str]] = {name: set() for name in REGISTRY}
    for spelling in (*_SPELLINGS.values(), *_METHODS.values(), *_ATTRIBUTES.values()):
        for name in spelling.ops:
            found[name].add(spelling.text)
    for method_name, (op, _) in _UFUNC_METHODS.items():
        found[op].add(f"ufunc.{method_name}")
    for op, _ in _ANY_UFUNC:
        found[op].add("any other ufunc")
    return {name: tuple(sorted(texts)) for name, texts in found.items()}


def callables() -> Iterator[tuple[Any, Spelling]]:
    """Every callable with a row, ufuncs among them, but for the methods of ufuncs."""
    yield from _SPELLINGS.items()


def methods() -> Iterator[tuple[str, Spelling]]:
    """Every array method with a row."""
    yield from _METHODS.items()


def attributes() -> Iterator[tuple[str, Spelling]]:
    """Every array attribute with a row."""
    yield from _ATTRIBUTES.items()


def ufunc_methods(ufunc: np.ufunc) -> Iterator[tuple[str, Spelling]]:
    """Every method of `ufunc` with a row."""
    for name in _UFUNC_METHODS:
        found = _ufunc_method(ufunc, name)
        assert found is not None
        yield name, found

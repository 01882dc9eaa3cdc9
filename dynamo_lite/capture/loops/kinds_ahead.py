"""Which variables are of another kind after an iteration of a loop than before it, by its instructions alone.

Enters a frame in front of a loop. Leaves what to expect: that one iteration runs before the loop, since a sum that
begins as ``s = 0`` grows by ``x[i]``, or a time that begins as ``t = 0`` by ``dt``; or that a variable is of one kind
after some iterations and of another after others, as ``best = 0.0`` is, and ``if x[i] > best: best = x[i]``. What would
be traced until that is found would have to be traced again. Functions of the user's that the loop calls are looked
into. NB: guesses; nothing rests on their being right.
"""

from __future__ import annotations

import math
import types
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from dynamo_lite._C import generic_attributes, names_are_plain, own_attribute
from dynamo_lite.capture.loops.code import always_run, exposed
from dynamo_lite.capture.loops.eithers import Form
from dynamo_lite.capture.objects.places import Place, namespace
from dynamo_lite.capture.state import Frame, Tracer
from dynamo_lite.capture.value import (
    ArrayValue,
    ConstantValue,
    EitherValue,
    FunctionValue,
    IteratorValue,
    LazyValue,
    ListedObject,
    NestedValue,
    NullValue,
    NumberedValue,
    NumberValue,
    ObjectValue,
    SequenceValue,
    TextValue,
    Value,
)
from dynamo_lite.capture.wrap import MISSING, NUMBER_LETTERS, class_lookup
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.scalar import kind_of
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.module_names import module_of
from dynamo_lite.pycode import OPCODES, Code, Instr, decoded

_INT, _FLOAT = "int", "float"  # Python's
_NUMPY = "numpy"  # an array or scalar of which no more is known
_NULL, _RANGE, _UNBOUND = "null", "range", "unbound"


@dataclass(frozen=True, slots=True)
class _Array:
    """An array, or a NumPy scalar, which has no axes."""

    dtype: np.dtype[Any]
    ndim: int


@dataclass(frozen=True, slots=True)
class _Either:
    """Of a number of Python's or a NumPy scalar. is_new: the former is another than any variable had."""

    number: str
    scalar: _Array
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class _Iterator:
    item: Any


@dataclass(frozen=True, slots=True)
class _Items:
    """A list or tuple, of which the first item is of that kind."""

    first: Any


@dataclass(eq=False, frozen=True, slots=True)
class _Object:
    """One of an ordinary class of the user's. stored: the attributes that this segment has set."""

    concrete: Any
    stored: Mapping[str, Value]


@dataclass(eq=False, frozen=True, slots=True)
class _Function:
    """One of Python's. owner: whose method it is, if it is one."""

    code: types.CodeType
    namespace: dict[str, Any]
    builtins: dict[str, Any] | None = None
    owner: Any = None


_Kind: TypeAlias = Any  # one of these, a tuple of them, a module or function itself, or None where nothing is known
_FLOATS = frozenset(
    getattr(math, name) for name in ("sqrt", "sin", "cos", "tan", "atan", "atan2", "exp", "log", "log10", "pow")
)
_OF_NUMPY = (np.ufunc, type(np.sum))
_CALLED = (
    *(types.ModuleType, types.FunctionType, types.BuiltinFunctionType),
    *_OF_NUMPY,
)
_CLASSES = {float: _FLOAT, int: _INT}
_CLASSES_OF_PYTHON = (float, int, range, enumerate)
_PLAIN = frozenset({np.shape, np.size, np.ndim})  # which make no NumPy scalars or arrays
_ALIKE = frozenset({np.sqrt, np.sin, np.cos, np.exp, np.log, np.abs, np.tanh, abs})  # of a float: one like it
_STORES = {"STORE_FAST": False, "STORE_GLOBAL": True}
_OF_ARRAYS = {"size": _INT, "ndim": _INT, "shape": _Items(_INT)}
_OF_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE: of a class that a `class` statement may have made
_DEEP = 2  # calls that are looked into, one in the other
_LONG = 400  # instructions of a function that is not
_NESTED = 3  # lists in lists, which may hold themselves
_NOTHING: Mapping[str, Value] = types.MappingProxyType({})


@dataclass(slots=True)
class Expected:
    """differing: a variable that is of another kind after any iteration. eithers: those that are of two, with the forms
    (eithers.py) of both; kept: those of them that are always one constant of the code where they are a number of
    Python's; changed: those that are some other number then. Each by its name, and whether it is one of the module."""

    differing: tuple[str, bool] | None
    eithers: dict[tuple[str, bool], tuple[Form, Form]]
    kept: set[tuple[str, bool]]
    changed: set[tuple[str, bool]]


def expected(tracer: Tracer, frame: Frame, loop: frozenset[int], header: int) -> Expected:
    """What to expect of the variables that a loop stores to."""
    instrs, always = frame.code.instrs, always_run(frame.code, loop, header)
    places = [at for at in sorted(loop) if instrs[at].op in _STORES]
    names = dict.fromkeys((str(instrs[at].arg), _STORES[instrs[at].op]) for at in places)
    cells = {name: value for name, cell in frame.cells.items() if (value := cell.contents) is not None}
    variables = _Variables(tracer, frame.namespace, frame.builtins, frame.locals | cells)
    begins = {name: kinds for name in names if all(map(_is_number, kinds := variables.kinds(*name)))}
    found = Expected(None, {}, set(), set())
    if not begins:
        return found
    ends: dict[tuple[str, bool], set[_Kind]] = dict(begins)
    constants: dict[tuple[str, bool], list[Any]] = {
        name: [found] for name, kinds in begins.items() if any(kind in (_INT, _FLOAT) for kind in kinds)
    }  # what it is where it is a number of Python's; `found` where that is no constant of the code
    stack = [_item_kind(frame)] if instrs[header].op == "FOR_ITER" else []
    for at in range(header + bool(stack), max(places) + 1):
        instr = instrs[at]
        taken = _run(instr, stack, variables)
        if instr.op in _STORES:
            name, kind = (str(instr.arg), _STORES[instr.op]), taken[0]
            if name in ends and at in loop:
                new = {kind.number, kind.scalar} if isinstance(kind, _Either) else {kind}
                ends[name] = new if always >> at & 1 else ends[name] | new
                variables.known[name] = kind if len(ends[name]) == 1 else _one_of(ends[name])
                found.changed |= {name} if isinstance(kind, _Either) and kind.is_new else set()
                if not new.isdisjoint((_INT, _FLOAT)):
                    load = instrs[at - 1]
                    constants.setdefault(name, []).append(load.arg if load.op == "LOAD_CONST" else found)
    for name, kinds in ends.items():
        if None in kinds or (len(kinds) == 1 and (len(begins[name]) > 1 or kinds == begins[name])):
            continue
        either = _one_of(kinds)
        if len(kinds) == 1:
            if found.differing is None and _is_read(frame, loop, header, *name):
                found.differing = name
        elif either is not None:
            ones = constants.get(name, [found])
            is_constant = ones[0] is not found and all(one is ones[0] for one in ones)
            number: Form = ConstantValue(None, ones[0]) if is_constant else either.number
            found.eithers[name] = ArrayType(either.scalar.dtype, (), True), number
            found.kept |= {name} if is_constant else set()
    return found


def _is_read(frame: Frame, loop: frozenset[int], header: int, name: str, is_global: bool) -> bool:
    """Whether an iteration may read a variable before it has stored to it: the kind of any other does not matter."""
    kind = "GLOBAL" if is_global else "FAST"
    return name in exposed(frame.code, loop, header, frozenset(), frozenset(), kind)


def _one_of(kinds: set[_Kind]) -> _Either | None:
    numbers = [kind for kind in kinds if kind in (_INT, _FLOAT)]
    scalars = [kind for kind in kinds if isinstance(kind, _Array) and not kind.ndim]
    return _Either(numbers[0], scalars[0]) if len(kinds) == 2 and numbers and scalars else None


def _is_number(kind: _Kind) -> bool:
    return kind in (_INT, _FLOAT) or (isinstance(kind, _Array) and not kind.ndim)


class _Variables:
    """The kinds of locals and of the module's variables, as far as they are known. known: what was stored. deep: how
    many calls of functions are looked into, one in the other; results: what those so far give back."""

    def __init__(
        self,
        tracer: Tracer,
        namespace: dict[str, Any],
        builtins: dict[str, Any],
        held: Mapping[str, Value] = _NOTHING,
        caller: _Variables | None = None,
    ) -> None:
        self.tracer, self.namespace, self.builtins, self.held = tracer, namespace, builtins, held
        self.deep: int = _DEEP if caller is None else caller.deep - 1
        self.results: dict[Any, _Kind] = {} if caller is None else caller.results
        self.known: dict[tuple[str, bool], _Kind] = {}
        module = tracer.namespaces.get(id(namespace))
        self.stored = {} if module is None else module.stored
        self.are_plain = names_are_plain(namespace) and names_are_plain(builtins)

    def get(self, name: str, is_global: bool) -> _Kind:
        if (name, is_global) not in self.known:
            kinds = self.kinds(name, is_global)
            self.known[name, is_global] = kinds.pop() if len(kinds) == 1 else _one_of(kinds)
        return self.known[name, is_global]

    def kinds(self, name: str, is_global: bool) -> set[_Kind]:
        """Those that it may have in front of the loop."""
        if not is_global:
            return _kinds_of(self.held.get(name))
        if name in self.stored:
            return _kinds_of(self.stored[name])
        return {_known(self.namespace.get(name, self.builtins.get(name))) if self.are_plain else None}


def _run(instr: Instr, stack: list[_Kind], variables: _Variables) -> list[_Kind]:
    """What an instruction takes off the stack; have it leave there what it makes, and in a variable what it stores."""
    popped = OPCODES[instr.op].effect.popped(instr.arg)
    if popped > len(stack):  # those of before, or of another way
        stack[:0] = [None] * (popped - len(stack))
    taken = stack[len(stack) - popped :]
    stack[len(stack) - popped :] = _made(instr, taken, variables)
    if instr.op in _STORES:
        variables.known[str(instr.arg), _STORES[instr.op]] = taken[0]
    return taken


def _returned(called: _Function, given: Sequence[_Kind], variables: _Variables) -> _Kind:
    """The kind of what a function of the user's gives back."""
    given = given if called.owner is None else (called.owner, *given)
    is_simple = called.code.co_argcount == len(given) and not called.code.co_kwonlyargcount
    if not (variables.deep and is_simple):
        return None
    key = id(called.code), id(called.namespace), variables.deep, *given
    if key not in variables.results:
        variables.results[key] = _looked_into(called, given, variables)
    return variables.results[key]


def _looked_into(called: _Function, given: Sequence[_Kind], variables: _Variables) -> _Kind:
    code: Code = decoded(called.code)
    if len(code.instrs) > _LONG:
        return None
    builtins = variables.builtins if called.builtins is None else called.builtins
    inside = _Variables(variables.tracer, called.namespace, builtins, caller=variables)
    inside.known = {(name, False): kind for name, kind in zip(code.varnames, given, strict=False)}
    stack: list[_Kind] = []
    found = {taken[0] for instr in code.instrs if (taken := _run(instr, stack, inside)) and instr.op == "RETURN_VALUE"}
    return found.pop() if len(found) == 1 else None


def _item_kind(frame: Frame) -> _Kind:
    """Of what the `for` in front of which the frame is goes over."""
    iterator = frame.stack[-1] if frame.stack else None
    if not isinstance(iterator, IteratorValue):
        return None
    return _item_under(iterator)


def _item_under(iterator: IteratorValue) -> _Kind:
    if iterator.parts:
        items = tuple(map(_item_under, iterator.parts))
        return (_INT, *items) if iterator.kind == "enumerate" else items
    return _INT if iterator.kind == "range" else _item_of(_kind_of(iterator.of))


def _item_of(kind: _Kind) -> _Kind:
    if kind is _RANGE:
        return _INT
    if isinstance(kind, _Items):
        return kind.first
    return _Array(kind.dtype, kind.ndim - 1) if isinstance(kind, _Array) and kind.ndim else None


def _made(instr: Instr, taken: list[_Kind], variables: _Variables) -> list[_Kind]:
    """What an instruction leaves on the stack in place of what it takes."""
    match instr.op:
        case "LOAD_FAST" | "LOAD_FAST_CHECK":
            return [variables.get(instr.arg, False)]
        case "LOAD_GLOBAL":
            return [variables.get(instr.arg, True)]
        case "LOAD_CONST":
            return [_known(instr.arg)]
        case "PUSH_NULL":
            return [_NULL]
        case "LOAD_ATTR":
            return [_attribute(taken[0], instr.arg)]
        case "LOAD_METHOD":
            method = _NUMPY if isinstance(taken[0], _Array) or taken[0] is _NUMPY else _attribute(taken[0], instr.arg)
            return [method, method]
        case "UNARY_NEGATIVE":
            return [_operation("-", _INT, taken[0])]
        case "LOAD_DEREF" | "LOAD_CLASSDEREF":
            return [variables.get(instr.arg, False)]
        case "BUILD_TUPLE":
            return [tuple(taken)]
        case "UNPACK_SEQUENCE":
            parts = taken[0] if isinstance(taken[0], tuple) else ()
            return [*reversed(parts)] if len(parts) == instr.arg else [None] * instr.arg
        case "GET_ITER":
            return [taken[0] if isinstance(taken[0], _Iterator) else _Iterator(_item_of(taken[0]))]
        case "FOR_ITER":
            return [taken[0], taken[0].item if isinstance(taken[0], _Iterator) else None]
        case "BINARY_OP":
            return [_operation(str(instr.arg), *taken)]
        case "BINARY_SUBSCR":
            return [_part(*taken)]
        case "CALL":
            is_function = taken[0] is _NULL
            return [_result(taken[is_function], taken[2:], variables)]
    return [None] * OPCODES[instr.op].effect.pushed(instr.arg)


def kinds_before(tracer: Tracer, frame: Frame, loop: frozenset[int]) -> dict[str | Place, set[_Kind]]:
    """The kinds that the variables that a loop stores to may have in front of it, of numbers, arrays and constants;
    None among them where a variable may be something else."""
    variables = _Variables(tracer, frame.namespace, frame.builtins, frame.locals)
    instrs = (frame.code.instrs[at] for at in loop)
    stores = dict.fromkeys((str(instr.arg), _STORES[instr.op]) for instr in instrs if instr.op in _STORES)
    found: dict[str | Place, set[_Kind]] = {}
    for name, is_global in stores:
        is_there = is_global or frame.locals.get(name) is not None
        kinds = {_telling(kind) for kind in variables.kinds(name, is_global)} if is_there else {_UNBOUND}
        found[Place(namespace(tracer, frame.namespace).source, name) if is_global else name] = kinds
    return found


def _telling(kind: _Kind) -> _Kind:
    """The kind, if it refers to nothing of the user's."""
    is_plain = isinstance(kind, _Array) and kind.dtype.isbuiltin == 1 and kind.dtype.metadata is None
    return kind if is_plain or kind in (_INT, _FLOAT) else None


def _kinds_of(value: Value | None) -> set[_Kind]:
    if isinstance(value, EitherValue):
        return _kinds_of(value.first) | _kinds_of(value.second)
    return {_kind_of(value)}


def _kind_of(value: Value | None, nested: int = _NESTED) -> _Kind:
    match value:
        case NullValue():
            return _NULL
        case ConstantValue() if not isinstance(value, TextValue):  # NB: whose value would be guarded
            return _known(value.value)
        case LazyValue():
            return _known(value.concrete) if value.known is None else _kind_of(value.known)
        case NumberValue():
            kind = kind_of(value.expr)
            return kind if kind in (_INT, _FLOAT) else None
        case ArrayValue():
            return _Array(value.node.array_type.dtype, value.node.array_type.ndim)
        case NumberedValue():
            return _of_layout(value.layout)
        case NestedValue():
            return _of_layout(value.layout)
        case ListedObject():
            return _Object(value.first[1], _NOTHING)
        case FunctionValue():
            return _Function(value.code, value.namespace)
        case SequenceValue():
            return _Items(_kind_of(value.known[0], nested - 1)) if value.known and nested else None
        case ObjectValue():
            return _Object(value.concrete, value.stored)
    return None


def _known(found: Any, nested: int = _NESTED) -> _Kind:
    """The kind of an object; no code of the user's runs. nested: how many lists in lists are looked into."""
    kind = type(found)
    if type(kind) is not type:  # which may have more to say when its classes are asked something
        return None
    if kind is int or kind is float:
        return _CLASSES[kind]
    is_of_python = bool(kind.__flags__ & _OF_PYTHON)
    if kind is np.ndarray or (issubclass(kind, np.number) and not is_of_python):
        return _Array(found.dtype, found.ndim)
    if kind is list or kind is tuple:
        return _Items(_known(found[0], nested - 1)) if found and nested else None
    if kind is types.FunctionType and module_of(found).partition(".")[0] != "numpy":
        return _function(found)
    if kind in _CALLED or (kind is type and found in _CLASSES_OF_PYTHON):
        return found
    return _Object(found, _NOTHING) if is_of_python and generic_attributes(kind)[0] else None


def _function(found: types.FunctionType, owner: _Kind = None) -> _Function:
    builtins: dict[str, Any] = found.__builtins__  # type: ignore[attr-defined,unused-ignore]
    return _Function(found.__code__, found.__globals__, builtins, owner)


def _of_layout(layout: Any) -> _Kind:
    """Of what is made so, as wrap.layout_of says it."""
    if isinstance(layout, str):
        return next((kind for cls, kind in _CLASSES.items() if NUMBER_LETTERS[cls] == layout), None)
    return _Items(_of_layout(layout[1])) if layout and layout[0] in ("l", "t") else None


def _attribute(owner: _Kind, name: str) -> _Kind:
    if isinstance(owner, _Array):
        return owner if name in ("T", "real", "imag") and owner.dtype.kind != "c" else _OF_ARRAYS.get(name)
    if isinstance(owner, _Object):
        return _attribute_of(owner, name)
    is_module = type(owner) is types.ModuleType and names_are_plain(owner)
    return _known(vars(owner).get(name)) if is_module else None


def _attribute_of(owner: _Object, name: str) -> _Kind:
    """Of an object of the user's; no code of its class runs."""
    if name in owner.stored:
        return _kind_of(owner.stored[name])
    on_class = class_lookup(type(owner.concrete), name)
    if isinstance(on_class, types.FunctionType):
        return _function(on_class, owner)
    is_plain = on_class is MISSING and names_are_plain(owner.concrete)
    own = own_attribute(owner.concrete, name, MISSING) if is_plain else MISSING
    return None if own is MISSING else _known(own)


def _operation(symbol: str, one: _Kind, other: _Kind) -> _Kind:
    """The kind of a sum, product and so on."""
    if isinstance(one, _Either) or isinstance(other, _Either):
        kinds = [[kind.number, kind.scalar] if isinstance(kind, _Either) else [kind] for kind in (one, other)]
        made = {_operation(symbol, first, second) for first in kinds[0] for second in kinds[1]}
        either = _one_of(made)
        return made.pop() if len(made) == 1 else either and _Either(either.number, either.scalar, True)
    both = (one, other)
    if all(kind in (_INT, _FLOAT) for kind in both):
        if _FLOAT in both:
            return _FLOAT
        return _FLOAT if symbol in ("/", "/=") else None if symbol.startswith("**") else _INT
    known = [kind for kind in both if isinstance(kind, _Array)]
    if len(known) + sum(kind in (_INT, _FLOAT) for kind in both) < 2:
        is_numpy = _NUMPY in both and all(kind is _NUMPY or kind in (_INT, _FLOAT) or kind in known for kind in both)
        return _NUMPY if is_numpy else None
    weak = {_INT: 0, _FLOAT: 0.0}
    try:
        dtype = np.result_type(*(kind.dtype if isinstance(kind, _Array) else weak[kind] for kind in both))
    except (TypeError, OverflowError):
        return None
    if symbol in ("/", "/=") and dtype.kind in "iu":
        dtype = np.dtype(np.float64)
    return _Array(dtype, max(kind.ndim for kind in known))


def _part(owner: _Kind, index: _Kind) -> _Kind:
    """The kind of what stands at an index."""
    if isinstance(owner, _Items):
        return owner.first if _is_integer(index) else None
    indices = index if isinstance(index, tuple) else (index,)
    is_numpy = isinstance(owner, _Array) or owner is _NUMPY
    if not isinstance(owner, _Array) or not all(_is_integer(one) for one in indices) or len(indices) > owner.ndim:
        return _NUMPY if is_numpy else None
    return _Array(owner.dtype, owner.ndim - len(indices))


def _is_integer(kind: _Kind) -> bool:
    return kind is _INT or (isinstance(kind, _Array) and not kind.ndim and kind.dtype.kind in "iu")


def _result(called: _Kind, given: Iterable[_Kind], variables: _Variables) -> _Kind:
    """The kind of what a call of a function of NumPy's, math's or the user's, or of a method, gives back."""
    kinds = list(given)
    if called is _NUMPY:
        return _NUMPY
    if isinstance(called, _Function):
        return _returned(called, kinds, variables)
    try:
        is_float, is_alike, is_class = called in _FLOATS, called in _ALIKE, called in _CLASSES
    except TypeError:
        return None
    if is_class:
        return _CLASSES[called]
    if called is range or is_float:
        return _RANGE if called is range else _FLOAT
    if called is enumerate:
        return _Iterator((_INT, _item_of(kinds[0]) if kinds else None))
    if called is len:
        return _INT
    if called in (max, min) and len(kinds) > 1:
        return kinds[0] if all(one == other for one, other in pairwise(kinds)) else None
    if is_alike and len(kinds) == 1:
        kind = kinds[0]
        if called is abs or (isinstance(kind, _Array) and kind.dtype.kind == "f"):
            return kind
        return _Array(np.dtype(np.float64), 0) if kind in (_INT, _FLOAT) and called is not np.abs else _NUMPY
    is_numpy = type(called) in _OF_NUMPY or module_of(called).partition(".")[0] == "numpy"
    return _NUMPY if is_numpy and called not in _PLAIN else None


__all__ = ["Expected", "expected", "kinds_before"]

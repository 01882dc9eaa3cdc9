"""Guards evaluated in Python: the same ops as csrc/guards/guards_run.c, to test it by and to read.

Enters the ops of a ``_C.Guards``, a function and its slots; leaves the inputs, or None. One function a
kind; a read returns what it finds or MISSING. INVARIANT: nothing here runs the user's code either: attributes are
looked up in instance dictionaries, slots and the classes' own dictionaries.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dynamo_lite import _C
from dynamo_lite.graph.scalar import Number, Scalar, Symbol, evaluate, terms_of
from dynamo_lite.guards.words import OPERANDS, Op

MISSING: Any = object()
INT64 = range(-(2**63), 2**63)
HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement, say
_COMPARISONS = ("__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__")


def check(ops: Sequence[Op], inputs: Sequence[int], func: object, slots: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The inputs if every op passes, else None."""
    registers: dict[int, Any] = {}
    state = _State(func, slots, registers, inputs)
    for op in ops:
        operands = [
            registers[part] if letter == "r" else part
            for letter, part in zip(OPERANDS[op[0]], op[1:], strict=True)
            if letter != "d"
        ]
        if OPERANDS[op[0]].startswith("d"):
            value = READS[op[0]](state, *operands)
            if value is MISSING:
                return None
            registers[op[1]] = value
        elif not TESTS[op[0]](state, *operands):
            return None
    return tuple(registers[register] for register in inputs)


class _State:
    """What reads and tests may look at beside their operands."""

    def __init__(
        self, func: object, slots: tuple[Any, ...], registers: Mapping[int, Any], inputs: Sequence[int]
    ) -> None:
        self.func = func
        self.slots = slots
        self.registers = registers
        self.inputs = inputs


# ---- reads


def _class_lookup(cls: type, name: str) -> Any:
    return next((vars(base)[name] for base in type.mro(cls) if name in vars(base)), MISSING)


def _own(value: Any) -> Mapping[str, Any] | None:
    """The attributes of `value` itself; None where looking one up may run a key's own __eq__."""
    own = object.__getattribute__(value, "__dict__") if type(value).__dictoffset__ else {}
    return own if _keys_are_plain(own) else None


def _keys_are_plain(namespace: Mapping[Any, Any]) -> bool:
    return all(type(key) is str or _compares_in_c(type(key)) for key in namespace)


def _compares_in_c(cls: type) -> bool:
    """Whether its objects compare as those of the C type do that it derives from."""
    base = cls
    while base.__flags__ & HEAP_TYPE:
        assert base.__base__ is not None
        base = base.__base__
    return all(_class_lookup(cls, name) is _class_lookup(base, name) for name in _COMPARISONS)


def _read_name(_: _State, namespace: dict[str, Any], name: str) -> Any:
    return dict.get(namespace, name, MISSING) if _keys_are_plain(namespace) else MISSING


def _read_attr(_: _State, base: Any, name: str) -> Any:
    if type(base) is types.ModuleType:
        return (_own(base) or {}).get(name, MISSING)
    if isinstance(base, type):
        value = _class_lookup(base, name)
        made = value is not MISSING and hasattr(type(value), "__get__") and not isinstance(value, types.FunctionType)
        return MISSING if made else value
    value = _class_lookup(type(base), name)
    if isinstance(value, types.MemberDescriptorType):
        try:
            return value.__get__(base, type(base))
        except AttributeError:
            return MISSING
    own = _own(base)
    if own is None:
        return MISSING
    if name in own:
        return own[name]
    if isinstance(value, staticmethod):
        return value.__func__
    return MISSING if value is MISSING or hasattr(type(value), "__get__") else value


def _read_item(_: _State, base: Any, index: int) -> Any:
    if isinstance(base, tuple):
        return tuple.__getitem__(base, index) if -tuple.__len__(base) <= index < tuple.__len__(base) else MISSING
    if isinstance(base, list):
        return list.__getitem__(base, index) if -list.__len__(base) <= index < list.__len__(base) else MISSING
    return MISSING


def _read_cell(state: _State, index: int) -> Any:
    return _read_closure(state, state.func, index)


def _read_closure(_: _State, function: Any, index: int) -> Any:
    return _cell_contents(_cell_of(_, function, index))


def _cell_of(_: _State, function: Any, index: int) -> Any:
    closure = function.__closure__ if isinstance(function, types.FunctionType) else None
    return closure[index] if closure is not None and index < len(closure) else MISSING


def _cell_contents(cell: Any) -> Any:
    try:
        return cell.cell_contents if isinstance(cell, types.CellType) else MISSING
    except ValueError:
        return MISSING


def _read_arg(state: _State, slot: int) -> Any:
    return state.slots[slot] if slot < len(state.slots) else MISSING


def _is_number(value: Any) -> bool:
    return type(value) is int and value in INT64


READS: Mapping[str, Callable[..., Any]] = {
    "arg": _read_arg,
    "const": lambda _, value: value,
    "global": _read_name,
    "cell": _read_cell,
    "attr": _read_attr,
    "item": _read_item,
    "key": lambda _, base, key: base.get(key, MISSING) if type(base) is dict else MISSING,
    "lookup": lambda _, base, key: READS["key"](_, base, key) if type(key) in (str, int) else MISSING,
    "item_at": lambda _, base, index: READS["item"](_, base, index) if _is_number(index) else MISSING,
    "plus": lambda _, base, addend: base + addend if _is_number(base) and base + addend in INT64 else MISSING,
    "closure": _read_closure,
    "own_cell": lambda state, index: _cell_of(state, state.func, index),
    "closure_cell": _cell_of,
    "defaults": lambda _, base: MISSING if base.__defaults__ is None else base.__defaults__,
    "kwdefaults": lambda _, base: MISSING if base.__kwdefaults__ is None else base.__kwdefaults__,
    "cell_contents": lambda _, base: _cell_contents(base),
    "method_function": lambda _, base: base.__func__ if type(base) is types.MethodType else MISSING,
    "base": lambda _, base: base.base if type(base) is np.ndarray and base.base is not None else MISSING,
    "text": lambda _, base: MISSING if (made := _C.text_array(base)) is None else made,
    "complex_part": lambda _, base, place: (base.real, base.imag)[place] if type(base) is complex else MISSING,
    "list_length": lambda _, base: len(base) if type(base) is list else MISSING,
    "column": lambda _, base, path: MISSING if (made := _C.column(base, path)) is None else made,
    "method_self": lambda _, base: base.__self__ if type(base) is types.MethodType else MISSING,
}


# ---- tests


def const_equal(a: Any, b: Any, depth: int = _C.abi.EQUAL_DEPTH) -> bool:
    """Interchangeable: identical, or of the same exact type with the same bits."""
    if a is b:
        return True
    if depth == 0:
        return False
    if type(a) is not type(b):
        return False
    if type(a) in (float, complex):
        return np.asarray(a).tobytes() == np.asarray(b).tobytes()
    if type(a) in (int, str, bytes):
        return bool(a == b)
    if type(a) in (tuple, list):
        return len(a) == len(b) and all(const_equal(x, y, depth - 1) for x, y in zip(a, b, strict=True))
    if type(a) is slice:
        return const_equal((a.start, a.stop, a.step), (b.start, b.stop, b.step), depth)
    return False


def _same_items(now: Any, then: Any) -> bool:
    if now is then:
        return True
    both = type(now) is tuple and type(then) is tuple and len(now) == len(then)
    return both and all(a is b for a, b in zip(now, then, strict=True))


def _test_function(_: _State, value: Any, code: Any, defaults: Any, kwdefaults: Any) -> bool:
    if type(value) is not types.FunctionType or value.__code__ is not code:
        return False
    if isinstance(kwdefaults, tuple):
        return len(value.__defaults__ or ()) == defaults and tuple(value.__kwdefaults__ or ()) == kwdefaults
    if not _same_items(value.__defaults__, defaults):
        return False
    now = value.__kwdefaults__
    if now is None or kwdefaults is None:
        return now is kwdefaults
    return list(now) == list(kwdefaults) and all(now[key] is kwdefaults[key] for key in now)


def _test_array(_: _State, value: Any, dtype: Any, ndim: int, ones: int, writeable: Any) -> bool:
    if type(value) is not np.ndarray or value.dtype.num != dtype.num or value.ndim != ndim:
        return False
    if not value.dtype.isnative or value.dtype.metadata or not value.flags.aligned or value.flags.num & 1 << 31:
        return False
    if writeable and not value.flags.writeable:
        return False
    return bool(sum((size == 1) << axis for axis, size in enumerate(value.shape)) == ones)


def _is_unfit(value: np.ndarray[Any, Any]) -> bool:
    dtype, flags = value.dtype, value.flags
    if dtype.char not in _NUMBERS or not dtype.isnative or dtype.metadata:
        return True
    return not flags.aligned or bool(flags.num & 1 << 31) or value.ndim > _C.abi.MAX_DIMS


_NUMBERS = "?bBhHiIlLqQefdFD"


def _test_part(_: _State, part: Any, whole: Any, index: tuple[slice | int, ...]) -> bool:
    if part is whole or type(part) is not np.ndarray or type(whole) is not np.ndarray or whole.ndim != len(index):
        return False
    try:
        found = whole[(*index, ...)]
    except IndexError:
        return False
    lies = [(array.ctypes.data, array.shape, array.strides) for array in (found, part)]
    return part.size > 0 and lies[0] == lies[1]


def _test_disjoint(_: _State, one: Any, other: Any) -> bool:
    return type(one) is np.ndarray and type(other) is np.ndarray and not np.may_share_memory(one, other)


def _test_length(_: _State, value: Any, length: int) -> bool:
    if isinstance(value, tuple):
        return tuple.__len__(value) == length
    if isinstance(value, list):
        return list.__len__(value) == length
    return type(value) in (bytes, dict, str, set, frozenset) and len(value) == length


def _test_lacks(_: _State, value: Any, name: str) -> bool:
    own = _own(value)
    if own is None:
        return False
    found = _class_lookup(type(value), name)
    if isinstance(found, types.MemberDescriptorType):
        return _read_attr(_, value, name) is MISSING
    return name not in own and found is MISSING


def _test_method(_: _State, value: Any, name: str, function: Any) -> bool:
    own = _own(value)
    if own is None:
        return False
    found = own[name] if name in own else _class_lookup(type(value), name)
    if name not in own and isinstance(found, staticmethod | classmethod):
        found = found.__func__
    return found is function or (isinstance(found, types.MethodType) and found.__func__ is function)


def _test_number(_: _State, value: Any, kind: str) -> bool:
    return type(value).__name__ == kind and (type(value) is not int or value in INT64)


def _test_scalar(state: _State, expr: Scalar) -> bool:
    env: dict[str, Number] = {}
    for symbol in _symbols(expr):
        value = state.registers[state.inputs[symbol.input]]
        if symbol.axis is None:
            value = int(value) if type(value) is np.int64 else value
            if not _test_number(state, value, symbol.kind):
                return False
            env[symbol.name] = value
        elif not isinstance(value, np.ndarray) or value.ndim <= symbol.axis:
            return False
        else:
            env[symbol.name] = value.shape[symbol.axis]
    try:
        return bool(evaluate(expr, env))
    except ArithmeticError:
        return False


def _symbols(expr: Scalar) -> list[Symbol]:
    parts = (expr, *(operand for term in terms_of(expr) for operand in term.operands))
    return [part for part in parts if isinstance(part, Symbol)]


TESTS: Mapping[str, Callable[..., bool]] = {
    "dict_lacks": lambda _, namespace, name: _keys_are_plain(namespace) and name not in namespace,
    "is": lambda _, value, wanted: value is wanted,
    "type": lambda _, value, wanted: type(value) is wanted,
    "type_version": lambda _, value, wanted, tag: type(value) is wanted and _C.version_tag(wanted) == tag,
    "class_version": lambda _, value, wanted, tag: value is wanted and _C.version_tag(wanted) == tag,
    "equal": lambda _, value, wanted: const_equal(value, wanted),
    "length": _test_length,
    "dict_keys": lambda _, value, keys: type(value) is dict and const_equal(tuple(value), keys),
    "function": _test_function,
    "globals": lambda state, namespace: getattr(state.func, "__globals__", None) is namespace,
    "function_globals": lambda _, value, namespace: getattr(value, "__globals__", None) is namespace,
    "array": _test_array,
    "part": _test_part,
    "disjoint": _test_disjoint,
    "unfit": lambda _, value: type(value) is np.ndarray and _is_unfit(value),
    "packed": lambda _, value, order, wanted: (
        type(value) is np.ndarray and value.flags[("C_CONTIGUOUS", "F_CONTIGUOUS")[order]] == bool(wanted)
    ),
    "np_scalar": lambda _, value, wanted: type(value) is wanted,
    "same": lambda _, a, b: a is b,
    "distinct": lambda _, a, b: a is not b,
    "quiet": lambda _, value: _C.dies_quietly(value),
    "all_lack": lambda _, value, path: _C.all_lack(value, path),
    "all_differ": lambda _, a, b: _C.all_differ(a, b),
    "apart": lambda _, a, b: _C.are_apart(a, b),
    "holds_not": lambda _, a, b, depth: type(a) in (list, tuple) and not _C.holds(a, b, depth),
    "method": _test_method,
    "lacks": _test_lacks,
    "scalar": _test_scalar,
    "number": _test_number,
}

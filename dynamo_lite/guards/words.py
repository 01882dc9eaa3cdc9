"""Guards in words, for explain(), logs and ``str(guards)``.

Enters the ops of a ``_C.Guards`` (csrc/guards/guards.def lists them); leaves sentences that name things as the user's
source does: slots by their variable, registers by the path that read them. Called by csrc/guards/guards.c, never while
checking.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dynamo_lite._C import GUARD_KINDS, Guards
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.scalar import Scalar, Symbol, as_python

Op = tuple[Any, ...]

OPERANDS: Mapping[str, str] = {name: operands for name, operands, _ in GUARD_KINDS}
WORDS: Mapping[str, str] = {name: words for name, _, words in GUARD_KINDS}

# Ops whose text operand is a name or a word, not a value.
_NAMED = frozenset({"attr", "method", "lacks", "global", "dict_lacks", "number"})


@dataclass(frozen=True, slots=True)
class GuardsOf:
    """The guards of calls of `code`: ``str`` names its variables, where ``str(guards)`` can only count slots."""

    guards: Guards
    code: types.CodeType

    def __str__(self) -> str:
        return to_text(self.guards.ops, self.guards.inputs, self.code)

    def sentences(self) -> list[str]:
        """What must hold, one sentence each; none that another one says, and more."""
        lines = dict.fromkeys(str(self).splitlines()[:-1])
        return [line for line in lines if f"{line}, and that class is unchanged" not in lines]

    def of_inputs(self, expr: Scalar) -> str:
        """A number of the inputs that the guards yield."""
        return _Namer(self.guards.ops, self.guards.inputs, self.code).scalar(expr)


def to_text(ops: Sequence[Op], inputs: Sequence[int], code: types.CodeType | None = None) -> str:
    """All guards, one a line, then the inputs they yield."""
    namer = _Namer(ops, inputs, code)
    lines = [sentence(op, namer) for op in ops if not _is_read(op)]
    lines.append("inputs: " + (", ".join(namer.register(register) for register in inputs) or "none"))
    return "\n".join(lines)


def explain(ops: Sequence[Op], inputs: Sequence[int], failed: int, func: object, slots: tuple[Any, ...]) -> str:
    """Why guard number `failed` fails: what must hold, and what is there instead where that can be told."""
    namer = _Namer(ops, inputs, getattr(func, "__code__", None))
    op = ops[failed]
    text = "not true that " + sentence(op, namer)
    values = _values(ops[:failed], slots)
    tested = next((part for letter, part in zip(OPERANDS[op[0]], op[1:], strict=True) if letter == "r"), None)
    if tested in values and not _is_read(op):
        found = values[tested]
        sized = op[0] == "length" and type(found) in (list, tuple, dict)
        text += f"; it has {len(found)}" if sized else f"; it is {_shorten(_describe(found))}"
    return text


def sentence(op: Op, namer: _Namer) -> str:
    """One guard in words."""
    parts: list[str] = []
    for letter, part in zip(OPERANDS[op[0]], op[1:], strict=True):
        if letter == "r":
            parts.append(namer.register(part))
        elif letter == "o" and op[0] == "scalar":
            parts.append(namer.scalar(part))
        elif isinstance(part, str) and op[0] in _NAMED:
            parts.append(part)
        else:
            parts.append(_shorten(_describe(part)))
    if op[0] == "array":
        parts[2] = f"{op[3]} dimension{'' if op[3] == 1 else 's'}"
        ones = [axis for axis in range(op[3]) if op[4] >> axis & 1]
        parts[3] = f", of size 1 just along {ones}" if ones else ", none of size 1" if op[3] else ""
        parts[4] = ", writeable" if op[5] not in (None, False, -1, 0) else ""
    if op[0] == "packed":
        parts[1:] = "CF"[op[2]], "lies" if op[3] else "does not lie"
    if op[0] == "part":
        parts[2] = ", ".join(map(_entry, op[3]))
    if op[0] == "arg":
        parts[-1] = namer.slot(op[-1])
    return WORDS[op[0]].format(*parts)


def _entry(entry: slice | int) -> str:
    """One entry of an index, as the source has it."""
    if isinstance(entry, int):
        return str(entry)
    bounds = ":".join("" if bound is None else str(bound) for bound in (entry.start, entry.stop))
    return bounds if entry.step is None else f"{bounds}:{entry.step}"


class _Namer:
    """Registers, slots and symbols by the names of the source."""

    def __init__(self, ops: Sequence[Op], inputs: Sequence[int], code: types.CodeType | None) -> None:
        self._reads = {op[1]: op for op in ops if _is_read(op)}
        self._inputs = inputs
        self._names: tuple[str, ...] = code.co_varnames if code else ()
        self._free: tuple[str, ...] = code.co_freevars if code else ()

    def slot(self, index: int) -> str:
        if index >= len(self._names):
            return f"slot{index}"
        name = self._names[index]
        # The parameters of a resume function that hold Python's stack have no name in the source.
        return f"intermediate value {index}" if name.startswith(".") else name

    def register(self, register: int) -> str:
        op = self._reads[register]
        match op[0]:
            case "arg":
                return self.slot(op[2])
            case "const":
                return _shorten(_describe(op[2]))
            case "global":
                return str(op[3])
            case "cell":
                return self._free[op[2]] if op[2] < len(self._free) else f"<closure>[{op[2]}]"
            case "attr":
                return f"{self.register(op[2])}.{op[3]}"
            case "item" | "key":
                return f"{self.register(op[2])}[{op[3]!r}]"
            case "lookup" | "item_at":
                return f"{self.register(op[2])}[{self.register(op[3])}]"
            case "plus":
                return f"{self.register(op[2])} {'+' if op[3] > 0 else '-'} {abs(op[3])}"
            case "defaults" | "kwdefaults":
                return f"{self.register(op[2])}.__{op[0]}__"
            case "own_cell":
                return f"<closure>[{op[2]}]"
            case "closure" | "closure_cell":
                return f"{self.register(op[2])}.__closure__[{op[3]}]"
            case "cell_contents":
                return f"{self.register(op[2])}.cell_contents"
            case "method_function":
                return f"{self.register(op[2])}.__func__"
            case "text":
                return f"the text {self.register(op[2])}"
            case "complex_part":
                return f"{self.register(op[2])}.{'imag' if op[3] else 'real'}"
            case "list_length":
                return f"len({self.register(op[2])})"
            case "column":
                return f"the numbers of {self.register(op[2])}"
            case "method_self":
                return f"{self.register(op[2])}.__self__"
            case "base":
                return f"{self.register(op[2])}.base"
        raise AssertionError(op)

    def scalar(self, expr: Scalar) -> str:
        return as_python(expr, self._symbol)

    def _symbol(self, symbol: Symbol) -> str:
        name = self.register(self._inputs[symbol.input])
        return name if symbol.axis is None else f"{name}.shape[{symbol.axis}]"


def _is_read(op: Op) -> bool:
    return OPERANDS[op[0]].startswith("d")


def _values(ops: Sequence[Op], slots: tuple[Any, ...]) -> dict[int, Any]:
    """What the reads that need no care gave: slots, constants, and items of those."""
    values: dict[int, Any] = {}
    for op in ops:
        match op:
            case ("arg", dst, index) if index < len(slots):
                values[dst] = slots[index]
            case ("const", dst, value):
                values[dst] = value
            case ("global", dst, namespace, name):
                values[dst] = dict.get(namespace, name)
            case ("item", dst, base, index) if type(values.get(base)) in (tuple, list):
                values[dst] = values[base][index]
    return values


def _describe(value: Any, depth: int = 8) -> str:
    """A value without running code of the user's: builtins by repr, arrays by dtype and shape, others by type."""
    # NB: type(), not isinstance(), which asks value.__class__: the user's code, perhaps.
    kind = type(value)
    if kind is int and value.bit_length() > 128:  # Python refuses to write very long ones
        return f"an int of {value.bit_length()} bits"
    if kind in (str, bytes) and len(value) > 200:
        return f"{value[:100]!r}... of length {len(value)}"
    if kind in (int, float, complex, bool, str, bytes, type(None)):
        return repr(value)
    if issubclass(kind, np.dtype):
        return str(value)
    if kind is np.ndarray:
        return f"an array {value.dtype}{list(value.shape)} with strides {list(value.strides)}"
    if issubclass(kind, np.generic) and kind.__module__ == "numpy":
        return f"{_type_name(kind)}({value!s})"
    if issubclass(kind, type):
        return _type_name(value)
    if kind is types.BuiltinFunctionType:
        return f"<builtin {value.__qualname__}>"
    if kind is np.ufunc:
        return f"<ufunc {value.__name__}>"
    if value is np._NoValue:
        return "np._NoValue"
    if kind is type(np.sum):
        return f"<function {value.__name__}>"
    if kind is types.FunctionType:
        return f"<{_type_name(kind)} {value.__qualname__}>"
    if kind in (types.CodeType, types.ModuleType):
        name = value.co_qualname if kind is types.CodeType else vars(value).get("__name__", "without a name")
        return f"<{_type_name(kind)} {name}>"
    if kind is tuple and depth == 0:
        return "(...)"
    if kind is tuple:
        return f"({', '.join(_describe(item, depth - 1) for item in value)}{',' if len(value) == 1 else ''})"
    return f"<{_type_name(kind)} object>"


def _type_name(cls: type) -> str:
    """The name of a class, whatever its metaclass makes of attributes."""
    name: str = type.__dict__["__qualname__"].__get__(cls)
    return name


def _shorten(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."

"""Strings in loops: characters of those from outside (`s[i] == t[j]`, `for c in s`, `c in "ACGT"`, `ord(c)`, `b[i]`),
and what f-strings make of numbers.

Enters a TextValue with an index that only the run knows. Leaves the character: of bytes an int, of a str a
CharacterValue, whose number an element of the array of its characters gives (csrc/guards/guards.c makes that array over
the string's memory). Strings compare as their characters' numbers do. INVARIANT: what a graph knows of such a string is
the width of its characters and what is guarded of its length; whoever asks for more has its value guarded.
"""

from __future__ import annotations

import functools
from typing import Any

from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.calls.folding import check_format
from dynamo_lite.capture.kinds import a_kind
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbers.numbers import as_scalar, not_too_long, number_compare
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    CharacterValue,
    ConstantValue,
    FormattedValue,
    NumberValue,
    SequenceValue,
    TextValue,
    Value,
)
from dynamo_lite.capture.wrap import characters
from dynamo_lite.graph.scalar import Scalar, is_symbolic, kind_of, make, negate

MAX_MEMBERS = 32  # characters that another one is compared with for `in`


def item_of(machine: Machine, text: TextValue, index: Value) -> Value | None:
    """text[index] where only the run knows it; None where capture does."""
    tracer = machine.tracer
    number = as_scalar(index)
    is_int = number is not None and kind_of(number) == "int" and is_symbolic(number)
    is_element = isinstance(index, ArrayValue) and index.node.array_type.scalar
    if not (tracer.regions or tracer.peeling) or not (is_int or (is_element and _is_int(index))):
        return None
    element = numpy_rules.get_item(machine, characters(tracer, text), index)
    code = numpy_rules.read_number(machine, element)
    if not isinstance(code, NumberValue):
        raise Break("unsupported-operation", f"indexing {a_kind(text)}")
    return code if isinstance(text.text, bytes) else CharacterValue(None, code)


def _is_int(index: Value) -> bool:
    return isinstance(index, ArrayValue) and index.node.array_type.dtype.kind in "iu"


def length_of_text(machine: Machine, text: TextValue) -> Value:
    """len(text)."""
    return machine.tracer.number(characters(machine.tracer, text).node.array_type.shape[0])


def compare_characters(machine: Machine, op: str, lhs: Value, rhs: Value) -> Value:
    """lhs op rhs, one of which is a character that only the run knows."""
    pair = [_code(value) for value in (lhs, rhs)]
    if pair[0] is not None and pair[1] is not None:
        return number_compare(machine.tracer, op, pair[0], pair[1])
    if op in ("==", "!="):
        other = lhs if isinstance(rhs, CharacterValue) else rhs
        if isinstance(other, ConstantValue) and type(other.value) in (str, int, float, bool, type(None)):
            return ConstantValue(None, op == "!=")  # no string of one character
    raise Break("unsupported-operation", f"{op} of {a_kind(lhs)} and {a_kind(rhs)}")


def _code(value: Value) -> Value | None:
    """The number of a character; None for anything else."""
    if isinstance(value, CharacterValue):
        return value.code
    if isinstance(value, ConstantValue) and type(value.value) is str and len(value.value) == 1:
        return ConstantValue(None, ord(value.value))
    return None


def is_among(machine: Machine, item: CharacterValue, container: Value, wanted: bool) -> Value:
    """(item in container) == wanted for strings, tuples and sets that are known."""
    members: Any = container.value if isinstance(container, ConstantValue) else None
    if isinstance(container, SequenceValue):
        found = [machine.realised(one) for one in container.items]
        members = [one.value for one in found if isinstance(one, ConstantValue)]
        members = members if len(members) == len(found) else None
    if type(members) not in (str, list, frozenset) or any(type(one) is not str for one in members):
        raise Break("unsupported-operation", f"`in` {a_kind(container)}")
    codes = sorted({ord(one) for one in members if len(one) == 1})
    if len(codes) > MAX_MEMBERS:
        raise Break("unsupported-operation", f"`in` {len(codes)} characters")
    tests: list[Scalar] = [make("eq", item.code.expr, code) for code in codes]
    if not tests:
        return ConstantValue(None, not wanted)
    among = functools.reduce(lambda one, other: make("or", one, other), tests)
    return not_too_long(machine.tracer.number(among if wanted else negate(among)))


def formatted(value: Value, *rest: Any) -> FormattedValue | None:
    """What FORMAT_VALUE makes of a number or a NumPy scalar; None where that may be more than a text of it. rest: the
    format spec, if there is one, and the conversion."""
    *specs, conversion = rest
    spec = specs[0].value if specs and isinstance(specs[0], ConstantValue) else ""
    if type(spec) is not str or (specs and not isinstance(specs[0], ConstantValue)) or set(spec) & set("{}c"):
        return None
    number = as_scalar(value)
    example: Any = None
    if isinstance(value, FormattedValue) and conversion is None and value.format in ("{!r}", "{!s}", "{!a}"):
        return formatted(value.args[0], *specs, {"r": "repr", "s": "str", "a": "ascii"}[value.format[2]])  # from 3.13
    if isinstance(value, ArrayValue) and value.node.array_type.scalar and value.node.array_type.dtype.kind in "biuf":
        example = value.node.array_type.dtype.type(1)
    elif number is not None and kind_of(number) != "complex":
        example = {"int": 1, "float": 1.0, "bool": True}[kind_of(number)]
    if example is None:
        return None
    convert = {None: "", "str": "!s", "repr": "!r", "ascii": "!a"}[conversion]
    check_format(spec)
    field = f"{{{convert}{':' if spec else ''}{spec}}}"
    try:
        field.format(example)
    except ValueError:
        return None
    return FormattedValue(None, str.format, [value], field)


def joined(parts: list[Value]) -> FormattedValue | None:
    """What BUILD_STRING makes of literals and of what `formatted` gave; None of others."""
    text, args = "", list[Value]()
    for part in parts:
        if isinstance(part, FormattedValue):
            text, args = text + part.format, args + part.args
        elif isinstance(part, ConstantValue) and type(part) is ConstantValue and type(part.value) is str:
            text += part.value.replace("{", "{{").replace("}", "}}")
        else:
            return None
    return FormattedValue(None, str.format, args, text)


__all__ = ["compare_characters", "formatted", "is_among", "item_of", "joined", "length_of_text"]

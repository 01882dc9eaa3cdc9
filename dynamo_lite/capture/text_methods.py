"""Methods of strings that are known: `mode.lower()` is a constant, and guards the value of a string from outside."""

from __future__ import annotations

import types
from typing import Any

from dynamo_lite.capture.calls.folding import python_result
from dynamo_lite.capture.machine import Machine, as_constant
from dynamo_lite.capture.value import Break, ConstantValue, TextValue, Value

# What reads one string, and others, and gives a bool, a number, or a string of at most three times the size.
_KNOWN = frozenset(
    (
        *("upper", "lower", "strip", "lstrip", "rstrip", "casefold", "capitalize", "title", "swapcase"),
        *("startswith", "endswith", "isdigit", "isalpha", "isupper", "islower", "isidentifier", "find", "count"),
    )
)


def knows(target: Any, owner: Value | None = None) -> bool:
    """Whether a callable is such a method: of `owner`, or bound to a constant."""
    if type(target) is types.BuiltinFunctionType:
        return owner is None and type(target.__self__) is str and target.__name__ in _KNOWN
    is_method = type(target) is types.MethodDescriptorType and target.__objclass__ is str
    return is_method and target.__name__ in _KNOWN and owner is not None and _is_text(owner)


def call(machine: Machine, method: Any, owner: Value | None, args: list[Value]) -> Value:
    """The call of such a method of `owner`, or of one that is bound."""
    items = [machine.realised(arg) for arg in args]
    if not all(map(_is_text, items)):
        raise Break("c-function", method.__qualname__)
    given = [as_constant(machine, one) for one in (*(() if owner is None else (owner,)), *items)]
    found = python_result(method, *given)
    text = method.__self__ if owner is None else given[0]
    if isinstance(found, ConstantValue) and found.value is text and text:
        if owner is None:
            raise Break("c-function", method.__qualname__)  # at another call it is that call's string, as of strip()
        return owner
    return found


def _is_text(value: Value) -> bool:
    """Whether it is a string, though maybe one of whose value nothing is known yet."""
    return isinstance(value, TextValue | ConstantValue) and type(_text_of(value)) is str


def _text_of(value: ConstantValue) -> object:
    return value.text if isinstance(value, TextValue) else value.value


__all__ = ["call", "knows"]

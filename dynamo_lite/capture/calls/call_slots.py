"""What lies on the stack in front of a call, as the instruction there is to find it.

Enters values of the symbolic stack; leaves what residual code puts in their place.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from dynamo_lite.capture.value import ArrayValue, ConstantValue, MethodValue, NullValue, SequenceValue, Value
from dynamo_lite.pycode import null_below_callable


def keyword_names(value: SequenceValue) -> tuple[str, ...]:
    """The tuple of names that CALL_KW takes from the stack."""
    return tuple(item.value for item in value.items if isinstance(item, ConstantValue))


def is_lent_method(stack: list[Value], at: int) -> bool:
    """Whether the null in slot `at` is that of an array's method, which can be loaded with its array instead."""
    method = stack[at - 1] if at else None
    return isinstance(stack[at], NullValue) and isinstance(method, MethodValue) and isinstance(method.self, ArrayValue)


def as_loaded(stack: list[Value]) -> list[Value]:
    """The stack with methods of C types as LOAD_METHOD leaves them, function and self: called as one bound object they
    would say another name in their TypeErrors."""
    loaded = list(stack)
    for place, value in enumerate(stack):
        if isinstance(value, NullValue) and value.of_method:
            low = place if null_below_callable else place - 1
            method = stack[low + null_below_callable]
            match method:
                case MethodValue(function=ConstantValue(value=types.MethodDescriptorType())):
                    loaded[low : low + 2] = [method.function, method.self]
                case ConstantValue(value=types.BuiltinFunctionType(__self__=np.ufunc() as ufunc)):
                    function = vars(np.ufunc)[method.value.__name__]
                    loaded[low : low + 2] = [ConstantValue(None, function), ConstantValue(None, ufunc)]
    return loaded


def by_identity(value: Any) -> bool:
    """True for constants whose guard was on identity: the object itself may be loaded."""
    return not isinstance(value, int | float | complex | str | bytes | tuple) or isinstance(value, bool)


__all__ = ["as_loaded", "by_identity", "is_lent_method", "keyword_names"]

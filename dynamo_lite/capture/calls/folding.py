"""What may be computed while capturing: functions of Python constants whose cost has a bound.

Enters: a function and constants. Leaves: its result as a constant, or a Break: where Python raises, and where the
result may be long to compute or large to hold. Capture follows branches that may never run, and what `'x' * (k ** 10)`
costs in one of these nobody has asked for. A row of ``_GROWTH`` bounds the size of a result by the sizes of what goes
in; all other functions that come here read what there is and give no more.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Any

from dynamo_lite.capture.value import Break, ComputedValue, ConstantValue, Value, is_single

MAX_SIZE = 4096  # of a result: bytes of an int, items of anything else


def size_of(value: object) -> float:
    """How much `value` holds: the bytes of an int, the items of a sequence."""
    if isinstance(value, int):
        return value.bit_length() // 8 + 1
    return len(value) if isinstance(value, str | bytes | tuple) else 1


def _together(*args: object) -> float:
    """At most the operands side by side, as in a sum; what takes the square of that for ints is as bounded."""
    return sum(map(size_of, args))


def _product(one: object, other: object) -> float:
    for sequence, count in ((one, other), (other, one)):
        if isinstance(sequence, str | bytes | tuple) and isinstance(count, int):
            return len(sequence) * max(count, 0)
    return _together(one, other)


def _power(base: object, exponent: object, *modulus: object) -> float:
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0:
        return size_of(base) * exponent if abs(base) > 1 else 1
    return _together(base, exponent, *modulus)


def _shifted(value: object, by: object) -> float:
    return size_of(value) + by / 8 + 1 if isinstance(by, int) and value else _together(value, by)


def _remainder(value: object, by: object) -> float:
    """Of ints as of any; a string is a format, in which a number is a width and `*` takes one from what it formats."""
    if not isinstance(value, str | bytes):
        return _together(value, by)
    text = value if isinstance(value, str) else value.decode("latin-1")
    if "*" in text:
        return math.inf
    return len(text) + _widths(text) + 3 * size_of(by) + 400  # digits of an int; those of the largest float


def _widths(text: str) -> int:
    """All numbers in a format, of which each may be a width."""
    return sum(min(int(digits[:9]), 10**9) for digits in re.findall("[0-9]+", text))


# By function, what bounds the size of its result, and with it what it costs.
_GROWTH: dict[Any, Callable[..., float]] = {
    operator.mul: _product,
    operator.pow: _power,
    operator.lshift: _shifted,
    operator.mod: _remainder,
    **dict.fromkeys((operator.add, operator.sub, operator.truediv, operator.floordiv, operator.matmul), _together),
    **dict.fromkeys((operator.and_, operator.or_, operator.xor, operator.rshift), _together),
    **dict.fromkeys((operator.neg, operator.pos, operator.invert, abs, int), _together),
    **dict.fromkeys((math.gcd, math.floor, math.ceil), _together),
}


def python_result(function: Callable[..., Any], *args: Any) -> Value:
    """function(*args) on constants; an exception is a break, so that plain Python raises it."""
    growth = _GROWTH.get(function)
    if growth is not None and growth(*args) > MAX_SIZE:
        kinds = " and ".join(type(arg).__name__ for arg in args)
        raise Break("costly-constant", f"{function.__name__} of {kinds}")
    try:
        made = function(*args)
        is_computed = (type(made) is str and made != "") or (
            type(made) in (int, float, complex) and not is_single(made)
        )
        is_new = is_computed and all(made is not arg for arg in args)
        return ComputedValue(None, made) if is_new else ConstantValue(None, made)
    except Exception as error:  # whatever Python raises here it raises again, in its place, when the code runs plainly
        raise Break("python-exception", f"{type(error).__name__}: {error}") from None


def check_format(spec: str) -> None:
    """Break at a format spec by which a text may be made that is too long to try it out."""
    if _widths(spec) > MAX_SIZE:
        raise Break("costly-constant", f"a text by the format {spec}")


def is_small(count: int) -> bool:
    """Whether a list or tuple of so many items may be made while capturing."""
    return count <= MAX_SIZE


def check_items(count: int) -> None:
    """Break at a list or tuple of so many items, made while capturing, if they are too many."""
    if not is_small(count):
        raise Break("costly-constant", f"a sequence of {count} items")


__all__ = ["check_format", "check_items", "is_small", "python_result", "size_of"]

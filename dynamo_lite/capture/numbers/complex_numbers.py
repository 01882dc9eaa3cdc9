"""Python's complex numbers as two floats each, which loops carry and choices merge like the items of a tuple.

    z = z * z + c       z = (x, y), c = (a, b):  x * x - y * y + a, x * y + y * x + b

INVARIANT: a complex number is the object that its real part is. Each that is computed gets a real part of its own, so
that what is known of which object a float is (number_objects.py, choices.py) says it of the complex number, too.
"""

from __future__ import annotations

import operator

from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.state import Tracer
from dynamo_lite.capture.value import (
    CallValue,
    ComplexValue,
    ComputedValue,
    ConstantValue,
    EitherValue,
    NestedValue,
    NumberedValue,
    NumberValue,
    Picked,
    TextValue,
    Value,
    choice_of,
    computed_number,
    object_key,
)
from dynamo_lite.graph.scalar import Scalar, is_symbolic


def of_parts(tracer: Tracer, re: Value, im: Value) -> Value:
    """The complex number with these parts, of which the real one makes it out."""
    known = tracer.complexes.get(re)
    if known is not None and _parts_of(tracer, known)[1] is im:
        return known
    made = ComplexValue(None, [re, im], tracer.complexes)
    tracer.complexes.setdefault(re, made)
    return made


def made_of(tracer: Tracer, re: Scalar, im: Scalar) -> Value:
    """A complex number that is computed here, of these parts; a constant where they are."""
    if not is_symbolic(re) and not is_symbolic(im):
        return computed_number(complex(re, im))  # type: ignore[arg-type]
    return of_parts(tracer, _float(re), _float(im))


def _float(number: Scalar) -> Value:
    return NumberValue(None, number) if is_symbolic(number) else ComputedValue(None, number)


def from_outside(tracer: Tracer, value: ComplexValue) -> ComplexValue:
    """`value`, which is an object from outside, made known by its real part."""
    tracer.complexes[value.items[0]] = value
    return value


def parted(tracer: Tracer, value: Value) -> Value:
    """A complex number that capture knows, by its parts; any other value as it is."""
    if not isinstance(value, ConstantValue) or isinstance(value, TextValue) or type(value.value) is not complex:
        return value
    key = object_key(value)
    if key not in tracer.parted:
        parts: list[Value] = []
        for part in (value.value.real, value.value.imag):  # floats that nothing else has
            is_made = isinstance(value, ComputedValue)
            parts.append(ComputedValue(None, part, value.serial) if is_made else ConstantValue(None, part))  # type: ignore
        tracer.parted[key] = ComplexValue(None, parts, tracer.complexes)
        tracer.complexes[parts[0]] = value
    return tracer.parted[key]


def _parts_of(tracer: Tracer, value: Value) -> list[Value]:
    known = parted(tracer, value)
    assert isinstance(known, ComplexValue)
    return known.items


def object_of(value: ComplexValue) -> Value:
    """What residual code loads for `value`: the complex number from before the segment that it is, or a new one."""
    return _object_of(value, value.items[0])


def _object_of(value: ComplexValue, part: Value) -> Value:
    """What it is where its real part is `part`."""
    known = value.known.get(part)
    if known is not None and known is not value:
        return known
    origin = part.origin if isinstance(part, NumberValue) else part
    if isinstance(origin, Picked):
        assert isinstance(part, NumberValue)
        origin = choice_of(part, origin)
    if isinstance(origin, EitherValue):
        one, other = (_object_of(value, of) for of in (origin.first, origin.second))
        return EitherValue(None, origin.condition, one, other)
    if isinstance(origin, CallValue) and is_listed_complex(origin):
        return origin
    return CallValue(None, complex, [part, value.items[1]])


def is_listed_complex(value: CallValue) -> bool:
    """Whether a number is the real part of a complex number that a list or tuple from outside has (columns.py)."""
    of = value.args[0] if value.function is operator.getitem else None
    if isinstance(of, NestedValue) and of.layout[0] == "p":
        place = as_scalar(value.args[1])
        return type(place) is int and of.layout[1:][place] == "c"
    return isinstance(of, NestedValue | NumberedValue) and of.layout[1] == "c"


__all__ = ["from_outside", "is_listed_complex", "made_of", "object_of", "of_parts", "parted"]

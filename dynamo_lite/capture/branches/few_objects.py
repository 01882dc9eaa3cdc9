"""One of a few objects that data chooses: ``best = None``, and then ``for b in balls: if near(b): best = b``.

Enters two objects from outside, or such choices, or None, at the ends of two ways. Leaves a OneOf, whose code, a number
that the choice yields, says which it is. What its attributes are is chosen by that code, as what is stored to one is:

    best.mass     %mass = cond(eq(code, 2), %mass of b, %mass of a)

Residual code takes the object out of a tuple of all of them. Attributes that a property or another descriptor gives are
computed once, with the OneOf as self; so are methods.
INVARIANT: each object has one number in a capture (Tracer.picked).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.source import Source
from dynamo_lite.capture.state import Tracer
from dynamo_lite.capture.value import (
    Break,
    ConstantValue,
    ObjectValue,
    OneOf,
    SequenceValue,
    Value,
    object_key,
)
from dynamo_lite.capture.wrap import present, realise
from dynamo_lite.graph.scalar import Scalar, make, negate, simplify


def objects_of(tracer: Tracer, value: Value) -> dict[int, Value] | None:
    """The objects that a value may be, by number, None among them; None for other values."""
    if isinstance(value, OneOf):
        return value.objects
    if isinstance(value, ConstantValue) and value.value is None:
        value = ConstantValue(None, None)  # wherever it was found, it is the same
    elif not isinstance(value, ObjectValue) or value.source is None:
        return None
    return {tracer.picked.setdefault(object_key(value), 1 + len(tracer.picked)): value}


def code_of(tracer: Tracer, value: Value) -> Scalar:
    """The number of the one that it is."""
    if isinstance(value, OneOf):
        return _number_of(value)
    found = objects_of(tracer, value)
    assert found is not None
    return next(iter(found))


def one_of(objects: dict[int, Value], code: Value) -> OneOf:
    """That one of some objects whose number `code` is."""
    objects = dict(sorted(objects.items()))
    known = [objects.get(number, ConstantValue(None, None)) for number in range(1 + max(objects))]
    return OneOf(None, operator.getitem, [SequenceValue(None, tuple, known), code], objects, code)


def _number_of(value: OneOf) -> Scalar:
    code = as_scalar(value.code)
    if code is None:
        raise Break("data-dependent-number", "which of a few objects it is")
    return code


def is_the_one(value: OneOf, number: int) -> Scalar:
    """The condition that it is the object of that number, which is one of its own."""
    return make("eq", _number_of(value), number)


def number_of_none(value: OneOf) -> int | None:
    """The number of None among the objects."""
    return next((number for number, one in value.objects.items() if not isinstance(one, ObjectValue)), None)


def is_true(tracer: Tracer, value: ObjectValue) -> bool:
    """Whether an object is true as all of its class are; states what has to hold for that."""
    assert value.source is not None
    tracer.state_class("type_version", value.source, value.cls)
    return not has_truth(value.cls)


def has_truth(cls: type) -> bool:
    """Whether objects of a class say themselves whether they are true."""
    return any(name in vars(base) for base in cls.__mro__ for name in ("__bool__", "__len__"))


def truth_of_one(tracer: Tracer, value: OneOf) -> Scalar | None:
    """Whether it is true; None where one of the objects says so itself."""
    if not all(is_true(tracer, one) for one in value.objects.values() if isinstance(one, ObjectValue)):
        return None
    nothing = number_of_none(value)
    return True if nothing is None else negate(is_the_one(value, nothing))


def narrowed_objects(value: OneOf, condition: object, truth: bool) -> Value | None:
    """What it is where a condition holds, or does not; None if that tells nothing."""
    if as_scalar(value.code) is None:  # a loop has ended with it, and nobody has looked which one it is
        return None
    for number, one in value.objects.items():
        asked = is_the_one(value, number)
        if condition in (asked, simplify(negate(asked))):
            if (condition == asked) is truth:
                return one
            left = {key: other for key, other in value.objects.items() if key != number}
            return next(iter(left.values())) if len(left) == 1 else one_of(left, value.code)
    return None


# -- what loops carry --------------------------------------------------------------------------------------


def sources_of(value: Value) -> dict[Source | None, Any]:
    """Where the guards find the objects that a value may be, and what they are in this call; None for None."""
    objects = value.objects.values() if isinstance(value, OneOf) else [value]
    return {one.source: one.concrete if isinstance(one, ObjectValue) else None for one in objects}


def widened(tracer: Tracer, value: Value, sources: Mapping[Source | None, Any]) -> Value:
    """One of a few objects as one of those and of more; any other value as it is."""
    objects = objects_of(tracer, value)
    if objects is None:
        return value
    code = value.code if isinstance(value, OneOf) else ConstantValue(None, next(iter(objects)))
    found = dict(objects)
    for source, obj in sources.items():
        one = ConstantValue(None, None) if source is None else realise(tracer, present(tracer, source, obj))
        found |= objects_of(tracer, one) or {}
    return one_of(found, code)


def as_one_like(tracer: Tracer, before: Value | None, after: Value) -> Value:
    """What an iteration leaves where one of a few objects was, as one of these; any other value as it is."""
    return widened(tracer, after, sources_of(before)) if isinstance(before, OneOf) else after


def is_chosen_anew(tracer: Tracer, before: Value, after: Value) -> bool:
    """Whether a loop may go on with one of a few objects that it does not know of yet."""
    if not (isinstance(before, OneOf) or isinstance(after, OneOf)):
        return False
    known, found = objects_of(tracer, before), objects_of(tracer, after)
    if known is None or found is None:
        return False
    return not isinstance(before, OneOf) or not found.keys() <= known.keys()

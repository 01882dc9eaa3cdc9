"""Locals that a loop gives another kind of value in some iterations only.

    best, where = 0, (0, 0)
    for i in range(n):
        if h[i] > best:
            best, where = h[i], (i, 1)

Enters: what such a local holds before a loop and after an iteration. Leaves: its three parts, each of which the loop
carries like any local: whether it holds what the loop makes (an array, a NumPy scalar, a tuple of scalars), that, and
what it holds otherwise; before the first time something of that size stands for an array (Sized). Operations are traced
for both (choices.split), since an int and an int64 differ in how they overflow and convert. INVARIANT: what stood there
before the loop is the same object after it, where no iteration put something in its place.
"""

from __future__ import annotations

from dataclasses import field
from typing import TypeAlias

import numpy as np

from dynamo_lite.capture.branches.choices import are_like, beside, parts_of
from dynamo_lite.capture.branches.stand_ins import stand_in_node
from dynamo_lite.capture.lists.listed_objects import first_of
from dynamo_lite.capture.numbers.complex_numbers import of_parts
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.source import Source
from dynamo_lite.capture.state import Tracer
from dynamo_lite.capture.value import (
    ArrayValue,
    ComplexValue,
    ConstantValue,
    EitherValue,
    ListedObject,
    ResultValue,
    SequenceValue,
    Value,
)
from dynamo_lite.capture.wrap import realise
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.scalar import Scalar, Symbol, kind_of
from dynamo_lite.graph.types import ArrayType


@dataclass(frozen=True, slots=True)
class Sized:
    """The type of an array, each size of which is that of something from outside, as the guards find it (and an axis of
    it, or None for a number): symbols have other names in each attempt."""

    dtype: np.dtype[np.generic]
    sizes: tuple[int | tuple[Source, int | None], ...]


# What a part looks like: an array's type, a number's kind, a tuple of these, an object in the list that a source names,
# or a value that is always the same.
Form: TypeAlias = "ArrayType | Sized | str | tuple[Form, ...] | Source | Value"


@dataclass(eq=False, slots=True)
class Either:
    """The parts of such a local before the loop, and in the body."""

    before: list[Value]
    inside: list[Value] = field(default_factory=list)

    def after(self, tracer: Tracer, value: Value) -> list[Value | None]:
        """The parts after an iteration: those that it has not are what they were; None for one of another type."""
        found = parts_of(tracer, value)
        if found is None:
            return [None, None, None]
        parts = beside(found, self.inside[2])
        own = [one if part is None else part for one, part in zip(self.inside, parts, strict=True)]
        pairs = zip(self.inside, own, strict=True)
        return [part if are_like(tracer, one, part) else None for one, part in pairs]


def forms_of(tracer: Tracer, before: Value | None, after: Value, unpeeled: bool) -> tuple[Form, Form] | None:
    """The forms of what a local holds that is of one kind or another; None if it is always of one. unpeeled: what an
    iteration makes of another kind than what was there before the first one cannot be had before the loop."""
    if before is None or before is after:
        return None
    if not unpeeled and not isinstance(before, EitherValue) and not isinstance(after, EitherValue):
        return None
    one, other = parts_of(tracer, before), parts_of(tracer, after)
    if one is None or other is None:
        return None
    one, other = beside(one, other[2]), beside(other, one[2])
    found: list[Form] = []
    for first, second in zip(one[1:], other[1:], strict=True):
        value = second if first is None else first
        if value is None or (first is not None and second is not None and not are_like(tracer, first, second)):
            return None
        form = _form(tracer, value)
        if form is None:
            return None
        found.append(form)
    return found[0], found[1]


def _form(tracer: Tracer, value: Value) -> Form | None:
    """None of an array whose size nothing outside the program has."""
    if isinstance(value, ArrayValue):
        type_ = value.node.array_type
        sizes = [_place_of(tracer, dim) for dim in type_.shape]
        return None if None in sizes else Sized(type_.dtype, tuple(sizes)) if sizes else type_  # type: ignore[arg-type]
    if isinstance(value, ComplexValue):
        return "complex"
    if isinstance(value, SequenceValue) and value.source is None:
        return tuple(_form(tracer, realise(tracer, item)) for item in value.items)  # type: ignore[misc]
    if isinstance(value, ListedObject):
        assert value.root.source is not None
        return value.root.source
    number = as_scalar(value)
    return value if number is None or kind_of(number) == "complex" else kind_of(number)


def sources_in(form: Form) -> list[Source]:
    """What has to be looked at in front of a loop, so that something of that form can stand there."""
    if isinstance(form, Sized):
        return [size[0] for size in form.sizes if not isinstance(size, int)]
    return [form] if isinstance(form, Source) else []


def _place_of(tracer: Tracer, dim: Scalar) -> int | tuple[Source, int | None] | None:
    symbol = tracer.root.symbols.get(dim.name) if isinstance(dim, Symbol) else None
    if symbol is None:
        return dim if isinstance(dim, int) else None
    return (tracer.inputs[symbol.input], symbol.axis) if symbol.input >= 0 else None


def _array_type(tracer: Tracer, form: Sized) -> ArrayType | None:
    """The type with the symbols of this attempt; None where it has not met something whose size that is."""
    known = {(tracer.inputs[one.input], one.axis): one for one in tracer.root.symbols.values() if one.input >= 0}
    shape = [size if isinstance(size, int) else known.get(size) for size in form.sizes]
    return None if None in shape else ArrayType(form.dtype, tuple(shape))  # type: ignore[arg-type]


def _stand_in(tracer: Tracer, form: Form) -> Value | None:
    """Any value of that form; None where there is none, since its size is not known here."""
    if isinstance(form, Sized):
        sized = _array_type(tracer, form)
        node = None if sized is None else stand_in_node(tracer, sized)
        return None if node is None else ArrayValue(None, node)
    if isinstance(form, Source):
        listed = first_of(tracer, form)  # any of them
        return Value() if listed is None else listed
    if isinstance(form, ArrayType):
        node = stand_in_node(tracer, form)
        return None if node is None else ArrayValue(None, node)
    if form == "complex":
        return of_parts(tracer, ConstantValue(None, 0.0), ConstantValue(None, 0.0))
    if isinstance(form, tuple):
        items = [_stand_in(tracer, one) for one in form]
        return None if None in items else SequenceValue(None, tuple, items)  # type: ignore[arg-type]
    return ConstantValue(None, _NUMBERS[form]) if isinstance(form, str) else form


def _kept(tracer: Tracer, forms: tuple[Form, Form]) -> Value | None:
    """What a local holds otherwise, or a number of that kind."""
    return _stand_in(tracer, forms[1]) if isinstance(forms[1], str | Value) else None


_NUMBERS = {"int": 0, "float": 0.0, "bool": False}


def enter_either(tracer: Tracer, value: Value, forms: tuple[Form, Form]) -> Either | None:
    """The parts of a local in front of the loop, with stand-ins for those that it has not; None if it has none."""
    parts = parts_of(tracer, value)
    if parts is None:
        return None
    flag, *others = beside(parts, _kept(tracer, forms))
    pairs = zip(others, forms, strict=True)
    before = [flag, *(_stand_in(tracer, form) if part is None else part for part, form in pairs)]
    return None if None in before else Either(before)  # type: ignore[arg-type]


def either_made(tracer: Tracer, value: EitherValue) -> Either | None:
    """The parts of what an iteration makes and none before it had; None if it has none."""
    parts = parts_of(tracer, value)
    return None if parts is None or None in parts else Either(list(parts), list(parts))  # type: ignore[arg-type]


def put_together(parts: list[Value]) -> EitherValue:
    """The value of three parts."""
    flag, made, kept = parts
    return EitherValue(None, flag if isinstance(flag, ResultValue) else as_scalar(flag), made, kept)


__all__ = ["Either", "either_made", "enter_either", "forms_of", "put_together", "sources_in"]

"""Numbers that capture takes for constants, and those of which that has made a version for each call.

Enters: a number whose value is needed. Leaves: a break, where the captures so far have fixed it at this place to as
many other values: a guard on one more would fail in the next call. What needs the value runs plainly, and what stands
around it is compiled once. An op that can do with a number that changes gets that (numpy_rules.py: bind).

INVARIANT: only numbers that are given to the segment count. Of sizes few are fixed, and they are small (short_axes.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_lite.capture.numbers.words import number_words
from dynamo_lite.capture.segments.restraints import place_in
from dynamo_lite.capture.value import Break
from dynamo_lite.graph.scalar import Number, Scalar, Symbol, symbols_of

if TYPE_CHECKING:
    from dynamo_lite.capture.state import Tracer

FIXED = 4  # values of one number for which there is a version each


def note_fixed(tracer: Tracer, expr: Scalar, number: Number) -> None:
    """Note that `expr` is fixed to `number` at the instruction at hand; break where it has been too many others."""
    met = _met(tracer, expr)
    if met is None:
        return
    if number not in met and len(met) >= FIXED:
        raise Break("changing-number", number_words(tracer, expr))
    met.add(number)


def has_changed(tracer: Tracer, expr: Scalar) -> bool:
    """Whether it would break."""
    met = _met(tracer, expr)
    return met is not None and len(met) >= FIXED and tracer.hint(expr) not in met


def _met(tracer: Tracer, expr: Scalar) -> set[Number] | None:
    """What `expr` has been fixed to at this instruction, None where that may be anything."""
    known = tracer.restraints.fixed
    given = {one.name for one in tracer.root.inputs if isinstance(one, Symbol)}
    if known is None or not tracer.frames or not symbols_of(expr) <= given:
        return None
    frame = tracer.frames[-1]
    return known.setdefault((place_in(frame.code, frame.index - 1), number_words(tracer, expr)), set())


__all__ = ["FIXED", "has_changed", "note_fixed"]

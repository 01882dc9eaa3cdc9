"""Lists of numbers from outside where NumPy wants an array: `pos[ci]`, `np.add.at(a, ci, x)`, `np.mean(history)`.

Enters such a list as an operand. From the next attempt on it is known by its column (columns.py): the array of its
numbers, which the guards make as NumPy would, however long the list is. Leaves that array, in the place of the list.
INVARIANT: the list has a number at least, since NumPy makes floats of none. An op that wants the numbers themselves, a
shape say, has the list known by its items in the next attempt.
"""

from __future__ import annotations

from dynamo_lite.capture.segments.restraints import WHOLE
from dynamo_lite.capture.state import ALWAYS_UNROLLED, Retry, Tracer
from dynamo_lite.capture.value import LazyValue, ListValue, NumberedValue, SequenceValue
from dynamo_lite.capture.wrap import NUMBERS, column, layout_of
from dynamo_lite.graph.scalar import make
from dynamo_lite.ops.conversion import Filled

_LAYOUTS = [("l", letter) for letter in NUMBERS if letter != "c"]  # a complex number is in two columns


def as_operand(tracer: Tracer, value: SequenceValue | ListValue) -> Filled | None:
    """The numbers of a list; None where its items have to be known."""
    if not isinstance(value, NumberedValue):
        _open(tracer, value)
        return None
    if value.layout not in _LAYOUTS:
        return None
    if any(isinstance(one, SequenceValue) and not isinstance(one, NumberedValue) for one in tracer.stored):
        return None
    numbers = column(tracer, value, "l" + value.layout[1]).node
    if not tracer.relate(make("ge", numbers.array_type.shape[0], 1)):
        return None
    tracer.handed.append(value)
    return Filled(numbers)


def _open(tracer: Tracer, value: SequenceValue | ListValue) -> None:
    """Have a list known by its column from the next attempt on, if it is long, or has had other lengths."""
    known = tracer.numbered
    if isinstance(value, ListValue):
        source, concrete = value.at, value.concrete
    else:
        source = value.source
        found = (obj for obj, one in tracer.wrapped.values() if one is value)
        is_plain = all(isinstance(one, LazyValue) for one in value.known) and value not in tracer.stored
        concrete = next(found, None) if is_plain and value.kind is list else None
    if source is None or known is None or source in known or not concrete:
        return
    lengths = (tracer.lengths or {}).get(source, ())
    if (len(concrete) > ALWAYS_UNROLLED or len(lengths) > 1) and layout_of(concrete) in _LAYOUTS:
        known[source] = WHOLE
        raise Retry


def look_closer(tracer: Tracer, reason: str) -> None:
    """Have the lists of which an op had the arrays in vain known by their items in the next attempt."""
    if tracer.handed and reason == "op-without-rule":
        tracer.handed[0].give_up()


def check_unchanged(tracer: Tracer) -> None:
    """See that a program which knows lists by their columns changes none that could be one of theirs."""
    if not tracer.changes_lists:
        return
    for _, value in tracer.wrapped.values():
        if isinstance(value, NumberedValue) and value.columns and value.layout[1][0] in NUMBERS:
            value.give_up()


__all__ = ["as_operand", "check_unchanged", "look_closer"]

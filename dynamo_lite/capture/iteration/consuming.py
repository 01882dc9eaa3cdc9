"""Iterators that builtins go through, as loops: ``sum(xs)``, ``max(f(x) for x in xs if c(x))``.

Enters what is gone through, and the function of consumers.py that does what the builtin does; leaves what that returns,
or None where no loop may do that. An item of each number of an iterator is known to numbered.py. Of a generator
expression of which not every item gives one, or that goes over several things, the loop is its own, with the
function's body where it yields (pycode/splice.py). INVARIANT: nobody else has an iterator whose items are taken so.
"""

from __future__ import annotations

from typing import Any

from dynamo_lite.capture.branches.sameness import is_read_later, reachable
from dynamo_lite.capture.calls.numpy_rules import filled_list
from dynamo_lite.capture.iteration import consumers
from dynamo_lite.capture.iteration.iterators import iterate
from dynamo_lite.capture.iteration.numbered import goes_over_arrays
from dynamo_lite.capture.lists.rows import holds_numbers
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.source import constant
from dynamo_lite.capture.state import Frame
from dynamo_lite.capture.value import (
    ArrayValue,
    ConstantValue,
    GeneratorValue,
    IteratorValue,
    ListValue,
    RangeValue,
    SequenceValue,
    Value,
)
from dynamo_lite.capture.wrap import present
from dynamo_lite.graph.scalar import is_symbolic
from dynamo_lite.pycode import decoded, spliced


def as_loop(machine: Machine, function: Any, value: Value, *others: Any) -> Value | None:
    """What `function` of consumers.py makes of the items of `value`, if a loop may go over these; None otherwise.
    others: its other arguments, values or functions of consumers.py."""
    tracer = machine.tracer
    given = [one if isinstance(one, Value) else present(tracer, constant(one), one) for one in others]
    if not tracer.native_loops or isinstance(value, ArrayValue):
        return None
    if isinstance(value, ListValue) and not tracer.regions and tracer.changes_lists and tracer.restraints.lists_grow:
        return None  # nobody knows whether it has a first item, which would run by itself
    if isinstance(value, SequenceValue) and value.filled is not None:
        value = gathered(machine, value, function in (consumers.sum_of, consumers.compensated_sum_of)) or value
    if goes_over_arrays(value) or is_long_range(value):
        items = value if isinstance(value, RangeValue) else iterate(machine, value)
        return machine.call_python(function, constant(function), [items, *given], {})
    return _as_own(machine, function, value, given) if isinstance(value, GeneratorValue) else None


def gathered(machine: Machine, value: SequenceValue, makes_new: bool = False) -> Value | None:
    """What goes through the numbers that a loop has put into a list, where nobody can tell them from the list's own:
    makes_new, where they are only computed with; else if this is the last that happens to the list, and nobody else
    had one of them."""
    tracer = machine.tracer
    if not holds_numbers(tracer, value) or not (makes_new or (value.rows.own and not is_read_later(tracer, value))):
        return None
    found = filled_list(machine, value)
    if found is None:
        return None
    array, dtype = ArrayValue(None, found.array), found.array.array_type.dtype
    if value.rows.of_arrays:
        return array
    kind = {"f": float, "b": bool}.get(dtype.kind, int)
    return IteratorValue(None, ConstantValue(None, kind), kind="map", parts=(iterate(machine, array),))


def is_long_range(value: Value) -> bool:
    """Whether it is a range whose length depends on the call."""
    return isinstance(value, RangeValue) and any(map(is_symbolic, (value.start, value.stop, value.step)))


def _as_own(machine: Machine, function: Any, generator: GeneratorValue, others: list[Value]) -> Value | None:
    """The same, in the generator expression's own loop, from its first item on."""
    tracer, own = machine.tracer, generator.frame
    code = None if generator.ended or own.index else spliced(own.code, function.__code__)
    if code is None or any(one is generator for one in reachable(tracer)):
        return None
    names = decoded(function.__code__).argnames[1:]
    given = {f".{name}": other for name, other in zip(names, others, strict=True)}
    generator.ended = True
    return machine.finish(Frame(code, own.namespace, own.builtins, own.locals | given, own.cells))


__all__ = ["as_loop", "gathered"]

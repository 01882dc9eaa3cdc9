"""Lists by their items: list.index() of numbers that only the run knows, in loops a chain of choices; insert, remove.

    d = [abs(c - x) for c in (0.1, 0.5, 0.9)]
    k = d.index(min(d))         %cond: y0 = cond(d0 == m): returns 0, else returns cond(d1 == m): returns 1, else 2

The program declines where no item is equal, since Python raises, and where a NaN is looked for: Python finds that by
which object it is.
"""

from __future__ import annotations

import math
from functools import reduce

from dynamo_lite.capture.branches.choices import GoesOn, choose
from dynamo_lite.capture.branches.conditions import as_number_here, data_condition
from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.calls.folding import check_items
from dynamo_lite.capture.handlers import operators
from dynamo_lite.capture.handlers.control import known_truth
from dynamo_lite.capture.machine import Machine, as_constant
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.value import ArrayValue, Break, ConstantValue, SequenceValue, Value
from dynamo_lite.graph.scalar import Scalar, ScalarOp, kind_of, make

MOST_SEARCHED = 16  # items


def index_of(machine: Machine, owner: SequenceValue, wanted: Value) -> Value:
    """owner.index(wanted)."""
    items = [machine.realised(item) for item in owner.items]
    wanted = machine.realised(wanted)
    if len(items) > MOST_SEARCHED or not all(map(_is_number, (*items, wanted))):
        raise Break("c-function", f"{owner.kind.__name__}.index")
    _refuse_nan(machine, wanted)
    open_: list[tuple[GoesOn, int]] = []  # conditions under which it is the item in that place
    last: int | None = None
    for place, item in enumerate(items):
        truth = operators.compare(machine, "==", item, wanted)
        condition = data_condition(machine, truth)
        if condition is not None:
            open_.append((condition, place))
        elif known_truth(machine, truth):
            last = place
            break
    if last is None:
        if not open_:
            raise Break("python-exception", "ValueError: the number is not in the list")
        parts: list[Scalar] = [as_number_here(machine, condition) for condition, _ in open_]
        machine.tracer.require(reduce(lambda one, other: make("or", one, other), parts))
        last = open_.pop()[1]
    result: Value = ConstantValue(None, last)
    for condition, place in reversed(open_):
        result = choose(machine, condition, ConstantValue(None, place), result)
    return result


def _is_number(value: Value) -> bool:
    number = as_scalar(value)
    if number is not None:
        return kind_of(number) in ("int", "float")
    return isinstance(value, ArrayValue) and value.node.array_type.scalar and value.node.array_type.dtype.kind in "iuf"


def _refuse_nan(machine: Machine, value: Value) -> None:
    """Let the program decline for a NaN."""
    if isinstance(value, ArrayValue):
        if value.node.array_type.dtype.kind != "f":
            return
        value = numpy_rules.read_number(machine, value, asked=True) or value
    number = as_scalar(value)
    if number is None:
        raise Break("c-function", "list.index")
    if kind_of(number) == "float":
        machine.tracer.require(ScalarOp("ge", "bool", (number, -math.inf)))


def insert(machine: Machine, items: list[Value], index: Value, value: Value) -> None:
    """list.insert(index, value)."""
    place = as_constant(machine, index)
    if type(place) is not int:
        raise Break("side-effect-container", "list.insert")
    check_items(len(items) + 1)
    items.insert(place, value)


def remove(machine: Machine, items: list[Value], value: Value) -> None:
    """list.remove(value), where all are known ints or strings up to the first one that is equal."""
    wanted = machine.realised(value)
    for place, item in enumerate(map(machine.realised, items)):
        known = [part.value if isinstance(part, ConstantValue) else None for part in (wanted, item)]
        if not all(type(part) in (int, str) for part in known):
            break
        if known[0] == known[1]:
            del items[place]
            return
    raise Break("side-effect-container", "list.remove")


__all__ = ["index_of", "insert", "remove"]

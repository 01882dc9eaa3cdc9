"""Functions of the module `operator`: their rules, in the words of capture, beside those of call_rules.py."""

from __future__ import annotations

import operator

from dynamo_lite.capture.calls.call_rules import Args, Kwargs, only, positional, rule
from dynamo_lite.capture.handlers.containers import get_item, set_item
from dynamo_lite.capture.machine import Machine, as_constant
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.value import Break, ConstantValue, Value
from dynamo_lite.graph.scalar import kind_of


@rule(operator.index)
def _index(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    value = only(args, kwargs)
    scalar = as_scalar(value)
    if scalar is None or kind_of(scalar) not in ("int", "bool"):
        raise Break("c-function", "operator.index")
    return value if kind_of(scalar) == "int" else ConstantValue(None, int(as_constant(machine, value)))


@rule(operator.getitem)
def _getitem(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    container, index = positional(args, kwargs, 2)
    return get_item(machine, container, index)


@rule(operator.setitem)
def _setitem(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    container, index, value = positional(args, kwargs, 3)
    set_item(machine, container, index, value)
    return ConstantValue(None, None)

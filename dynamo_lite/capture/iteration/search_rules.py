"""Rules of the builtins that look for one among the items of something: min, max, next, any and all.

Enters their calls. Leaves what they find: of an array a reduction; else their loops are those of consumers.py, native
where the items are numbered (consuming.py), and unrolled where they are few.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dynamo_lite.capture.branches.choices import choose, may_choose
from dynamo_lite.capture.branches.conditions import data_condition
from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.calls.call_rules import RULES, Args, Kwargs, Rule, is_line, is_number, only, rule
from dynamo_lite.capture.handlers import operators
from dynamo_lite.capture.handlers.control import known_truth
from dynamo_lite.capture.iteration import consumers
from dynamo_lite.capture.iteration.consuming import as_loop
from dynamo_lite.capture.iteration.iterators import drain, iterate
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbers.numbers import as_scalar, not_too_long
from dynamo_lite.capture.source import constant
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    CallValue,
    GeneratorValue,
    IteratorValue,
    NumberValue,
    Value,
)
from dynamo_lite.capture.wrap import present
from dynamo_lite.graph.scalar import ScalarOp, is_symbolic, kind_of

_FIRST: Any = consumers.first_of
_ANY: Any = consumers.any_of
_ALL: Any = consumers.all_of


def _better(machine: Machine, compare: str, item: Value, best: Value) -> Value:
    """`item` if it compares so with `best`, which came before it; inside of a loop, which may choose."""
    truth = operators.compare(machine, compare, item, best)
    condition = data_condition(machine, truth)
    if condition is not None:
        return choose(machine, condition, item, best)
    return item if known_truth(machine, truth) else best


def _reduced(machine: Machine, function: Any, array: ArrayValue) -> Value:
    result = numpy_rules.call_numpy(machine, function, [array], {})
    if result is None:
        raise Break("loop-over-unknown-iterator", "an array")
    return result


def _extreme_of_line(machine: Machine, name: str, array: ArrayValue) -> Value:
    """max(array). NB: what Python finds depends on where a NaN stands: there the program declines. Of equal zeros it is
    the first one, as of np.argmax, which a loop asks; elsewhere the program declines there, too."""
    dtype = array.node.array_type.dtype
    is_in_loop = dtype.kind == "f" and (machine.tracer.in_loop or machine.tracer.peeling)
    result = _reduced(machine, getattr(np, f"arg{name}" if is_in_loop else name), array)
    if is_in_loop:
        result = numpy_rules.get_item(machine, array, result)
    if dtype.kind == "f":
        number = as_scalar(numpy_rules.read_number(machine, result, asked=True) or result)
        if number is None:
            raise Break("loop-over-unknown-iterator", "an array")
        machine.tracer.require(ScalarOp("ge", "bool", (number, -math.inf)))
        if not is_in_loop:
            machine.tracer.require(ScalarOp("ne", "bool", (number, 0.0)))
    elif dtype.kind not in "iub":
        raise Break("loop-over-unknown-iterator", "an array")
    return result


def _make_extremum(name: str) -> Rule:
    compare, function = ("<", min) if name == "min" else (">", max)

    of, by = (getattr(consumers, f"{'least' if name == 'min' else 'greatest'}_{kind}") for kind in ("of", "by"))
    steps = consumers.number, consumers.found

    def extremum(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        is_one = len(args) == 1 and kwargs.keys() <= {"key"}
        if is_one and not kwargs and is_line(args[0]):
            return _extreme_of_line(machine, name, args[0])
        loop = as_loop(machine, by if kwargs else of, args[0], *steps, *kwargs.values()) if is_one else None
        if loop is not None:
            return loop
        if kwargs and is_one:
            given = [present(machine.tracer, constant(one), one) for one in steps]
            items = [iterate(machine, args[0]), *given, *kwargs.values()]
            return machine.call_python(by, constant(by), items, {})
        if kwargs:
            raise Break("python-call", name)
        items = args if len(args) > 1 else drain(machine, only(args, kwargs))
        items = [machine.realised(item) for item in items]
        scalars = [as_scalar(item) for item in items]
        integers = all(scalar is not None and kind_of(scalar) == "int" for scalar in scalars)
        if items and all(map(is_number, items)) and not integers and may_choose(machine, items):
            best = items[0]
            for item in items[1:]:
                best = _better(machine, compare, item, best)
            return best
        if not items or any(scalar is None for scalar in scalars):
            raise Break("python-call", name)
        if any(is_symbolic(scalar) for scalar in scalars) and all(
            kind_of(s) == "int" for s in scalars if s is not None
        ):
            best = items[0]
            for item in items[1:]:
                expr = ScalarOp(name, "int", (as_scalar(best), as_scalar(item)))  # type: ignore[arg-type]
                best = not_too_long(NumberValue(None, expr, CallValue(None, function, [best, item])))
            return best
        best = items[0]
        for item in items[1:]:
            if known_truth(machine, operators.compare(machine, compare, item, best)):
                best = item
        return best

    return extremum


RULES[min] = _make_extremum("min")
RULES[max] = _make_extremum("max")


@rule(next)
def _next(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    if kwargs or len(args) != 2 or not isinstance(args[0], GeneratorValue | IteratorValue):
        raise Break("c-function", "next")
    loop = as_loop(machine, _FIRST, args[0], args[1])
    return loop or machine.call_python(_FIRST, constant(_FIRST), [iterate(machine, args[0]), args[1]], {})


def _search(wanted: bool) -> Rule:
    """any or all: goes on to the first item whose truth is `wanted`."""

    def search(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        if len(args) == 1 and is_line(args[0]):
            found = _reduced(machine, np.any if wanted else np.all, args[0])
            whole = numpy_rules.call_numpy(machine, np.int64, [found], {}) or found  # Python's answer is no NumPy bool
            number = as_scalar(numpy_rules.read_number(machine, whole, asked=True) or whole)
            if number is not None:
                return NumberValue(None, ScalarOp("ne", "bool", (number, 0)))
        value, function = only(args, kwargs), _ANY if wanted else _ALL
        loop = as_loop(machine, function, value)
        if loop is not None:
            return loop
        return machine.call_python(function, constant(function), [iterate(machine, value)], {})

    return search


RULES[any], RULES[all] = _search(True), _search(False)

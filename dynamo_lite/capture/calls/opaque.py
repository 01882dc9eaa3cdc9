"""Calls of functions that the user allows in graphs: one op each, whatever the function does.

Enters the call's values; leaves those of its results. What the function yields is learnt by calling it on ones, twice,
with sizes that differ.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from dynamo_lite import ops
from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.machine import ALLOWED, Machine, as_constant
from dynamo_lite.capture.state import StoresShow
from dynamo_lite.capture.value import ArrayValue, Break, NumberValue, Value
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.scalar import Dim, evaluate, is_symbolic, symbols_of


def call_allowed(machine: Machine, function: types.FunctionType, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """function(*args, **kwargs) as one op."""
    if machine.tracer.stored:
        raise StoresShow
    template: list[Any] = []
    operands: list[Any] = []
    for arg in args:
        arg = machine.realised(arg)
        known = None if isinstance(arg, ArrayValue | NumberValue) else (as_constant(machine, arg),)
        template.append(known)
        if known is None:
            operands.append(numpy_rules.raw(machine, arg))
    keywords = tuple((name, as_constant(machine, value)) for name, value in kwargs.items())
    params: dict[str, Any] = {"function": function, "template": tuple(template), "keywords": keywords}
    names = sorted({name for one in operands for name in _symbols(one)})
    hints = {name: machine.tracer.hints.get(name) for name in names}
    if None in hints.values():
        raise Break("op-without-rule", f"{function.__qualname__} of arrays whose sizes only the run knows")
    tries, sizes = [], []
    for count, step in enumerate((0, 1)):
        # NB: other steps for other names, so that two sizes that happen to be equal are told apart.
        env = {name: _changed(hint, step * (place + 2)) for place, (name, hint) in enumerate(hints.items())}
        samples = [_sample(one, env) for one in operands]
        try:
            with np.errstate(all="ignore"):
                tries.append(ops.user.call_user(*samples, **params))
        except Exception as error:
            what = "" if count == 0 else " of other sizes"
            text = f"{function.__qualname__} cannot be tried on ones{what} ({type(error).__name__}: {error})"
            raise Break("op-without-rule", text) from None
        sizes.append({dim: int(evaluate(dim, env).real) for one in operands for dim in _dims(one)})
    try:
        result = ops.user.learn(tries, sizes)
    except ops.OpError as error:
        raise Break("op-without-rule", f"{function.__qualname__}: {error}") from None
    return numpy_rules.complete(machine, ops.Bound("user_call", tuple(operands), params | {"result": result}))


def _dims(operand: Any) -> tuple[Dim, ...]:
    return () if not isinstance(operand, Node) else tuple(filter(is_symbolic, operand.array_type.shape))


def _symbols(operand: Any) -> set[str]:
    parts = operand.array_type.shape if isinstance(operand, Node) else (operand,)
    return {name for part in parts for name in symbols_of(part)}


def _changed(hint: Any, step: int) -> Any:
    return hint + step if type(hint) is int else hint


def _sample(operand: Any, env: dict[str, Any]) -> Any:
    if not isinstance(operand, Node):
        return evaluate(operand, env)
    type_ = operand.array_type
    if type_.scalar:
        return type_.dtype.type(1)
    return np.ones(tuple(int(evaluate(dim, env).real) for dim in type_.shape), type_.dtype)


ALLOWED.append(call_allowed)

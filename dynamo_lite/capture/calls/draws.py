"""Random draws: methods of a Generator or RandomState from outside, as ops of the graph (ops/draws.py), and the two
methods of Python's Random with which all others of it draw, Python functions that are inlined.

Enters the generator, an object of which only the type is guarded, and the arguments of its method; leaves the draw's
result. What ops/draws.py does not model is called as it is, between two graphs.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from dynamo_lite import ops
from dynamo_lite.capture.branches.choices import first_either, split
from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.kinds import callable_name
from dynamo_lite.capture.machine import Machine, as_constant
from dynamo_lite.capture.state import Drawn
from dynamo_lite.capture.value import ArrayValue, Break, ConstantValue, ObjectValue, Value
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.scalar import is_symbolic, kind_of, make
from dynamo_lite.graph.types import GENERATOR
from dynamo_lite.ops.conversion import convert, is_sequence


def is_draw(function: Value) -> bool:
    """Whether a function is a method that draws."""
    return isinstance(function, ConstantValue) and ops.draws.find(function.value) is not None


def draw(machine: Machine, owner: Value, function: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """function(owner, *args, **kwargs), a method of a random generator."""
    owner = machine.realised(owner)
    method = ops.draws.find(function)
    if not isinstance(owner, ObjectValue) or method is None or type(owner.concrete) is not method.kind:
        raise Break("random", callable_name(function))
    if method.kind is random.Random and not ops.draws.is_python_allowed():
        raise Break("random", callable_name(function))
    if method.kind is not random.Random:
        bits: type = type(getattr(owner.concrete, "_bit_generator"))  # noqa: B009  (NumPy's stubs do not have it)
        if not ops.draws.is_allowed(bits):
            raise Break("random", f"{callable_name(function)} of a {bits.__name__}")
    if method.name == "shuffle":
        return _shuffle(machine, owner, method, args, kwargs)
    if (either := first_either(machine, args)) is not None:
        place, value = either

        def drawn(one: Value) -> Value:
            return draw(machine, owner, function, [*args[:place], one, *args[place + 1 :]], kwargs)

        return split(machine, value, drawn)
    operands, params = _bound(machine, method, function, args, kwargs)
    bound = ops.Bound("draw", (_generator(machine, owner), *operands), params)
    result = numpy_rules.complete(machine, bound)
    if not params["number"] or not isinstance(result, ArrayValue) or result.node.array_type.ndim:
        return result
    number = numpy_rules.read_number(machine, result, asked=True)
    assert number is not None
    return number


def _shuffle(machine: Machine, owner: ObjectValue, method: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """An array's rows into another order, in place: by a permutation of their positions."""
    if len(args) != 1 or kwargs:
        raise Break("random", "shuffle, with such arguments,")
    array = machine.realised(args[0])
    if not isinstance(array, ArrayValue) or not array.node.array_type.ndim or array.node.array_type.scalar:
        raise Break("random", "shuffle of what is no array")
    if not ops.draws.shuffles_as_it_permutes(method.kind, array.node.array_type.ndim):
        raise Break("random", "shuffle of such an array")
    if not all(machine.tracer.relate(make("ge", size, 1)) for size in array.node.array_type.shape[1:]):
        raise Break("random", "shuffle of an empty array")  # for which nothing is drawn
    permute = vars(method.kind)["permutation"]
    order = draw(machine, owner, permute, [machine.tracer.number(array.node.array_type.shape[0])], {})
    numpy_rules.set_item(machine, array, ConstantValue(None, Ellipsis), numpy_rules.get_item(machine, array, order))
    return ConstantValue(None, None)


def _generator(machine: Machine, owner: ObjectValue) -> Node:
    """The graph's input for a generator."""
    tracer, concrete = machine.tracer, owner.concrete
    known = tracer.drawn.get(id(concrete))
    if known is None:
        assert owner.source is not None
        known = Drawn(concrete, owner.source, tracer.root.add_input(GENERATOR, "rng"))
        tracer.drawn[id(concrete)] = known
        tracer.inputs.append(owner.source)
        tracer.example_inputs.append(concrete)
    elif known.source != owner.source:
        tracer.facts.state_pair("same", known.source, owner.source)  # type: ignore[arg-type]
    return known.node


def _bound(
    machine: Machine, method: Any, function: Any, args: list[Value], kwargs: dict[str, Value]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The operands of a draw, and its params."""
    name = callable_name(function)
    if method.many:
        if kwargs:
            raise Break("random", name)
        dims = tuple(_int(machine, arg, name) for arg in args)
        number = not dims
        return dims, {"method": function, "names": (), "constants": (), "size": None, "number": number}
    if len(args) > len(method.parameters) or not set(kwargs) <= set(method.parameters):
        raise Break("random", name)
    given: dict[str, Value] = dict(zip(method.parameters, args, strict=False))
    if not given.keys().isdisjoint(kwargs):
        raise Break("random", name)
    given |= kwargs
    if not set(method.operands[: method.required]) <= set(given):
        raise Break("python-exception", f"TypeError: {name} with too few arguments")
    operands: list[Any] = []
    names: list[str] = []
    for place, parameter in enumerate(method.operands):
        if parameter not in given:
            continue
        value = machine.realised(given[parameter])
        if parameter == "high" and isinstance(value, ConstantValue) and value.value is None:
            continue
        operands.append(_operand(machine, value, method.name))
        if names or len(operands) != place + 1:
            names.append(parameter)
    constants: list[tuple[str, Any]] = []
    size = None
    for parameter in method.parameters[len(method.operands) :]:
        if parameter not in given:
            continue
        value = machine.realised(given[parameter])
        if parameter == "size":
            size = _size(machine, value, name)
        elif parameter == "p":
            if isinstance(value, ConstantValue) and value.value is None:
                continue
            operands.append(_operand(machine, value, method.name))
            names.append("p")
        else:
            constants.append((parameter, _constant(machine, parameter, value, name)))
    if method.name in ("choice", "permutation"):
        _check_source(operands[0], constants, name)
    source = operands[0] if method.name == "permutation" else None
    if isinstance(source, Node) and not machine.tracer.relate(make("ge", source.array_type.shape[0], 1)):
        # NB: NumPy yields the array itself, since one without elements shares no memory with itself.
        raise Break("random", f"{name} of an empty array")
    try:
        is_number = ops.draws.is_number(function, tuple(constants), tuple(operands))
    except ops.OpError as error:
        raise numpy_rules.no_rule(error) from None
    is_array = any(isinstance(one, Node) and one.array_type.ndim for one in operands) and method.name != "choice"
    number = is_number and size is None and not is_array and method.name != "permutation"
    return tuple(operands), {
        **{"method": function, "names": tuple(names), "constants": tuple(constants)},
        **{"size": size, "number": number},
    }


def _operand(machine: Machine, value: Value, name: str) -> Any:
    """A parameter of a distribution: an array, or a number. What is chosen from may be a sequence."""
    found = numpy_rules.raw(machine, value)
    if name == "choice" and is_sequence(found):
        try:
            found = convert(found)
        except ops.OpError as error:
            raise numpy_rules.no_rule(error) from None
    if isinstance(found, Node) and (found.array_type.ndim or found.array_type.scalar):
        return found
    if is_symbolic(found) or type(found) in (int, float, bool):
        return found
    raise Break("random", f"{name}, with such an argument,")


def _int(machine: Machine, value: Value, name: str) -> Any:
    """A size."""
    found = numpy_rules.raw(machine, numpy_rules.read_int(machine, value, asked=True))
    if (is_symbolic(found) and kind_of(found) == "int") or type(found) is int:
        return found
    raise Break("random", f"{name}, with such a size,")


def _size(machine: Machine, value: Value, name: str) -> tuple[Any, ...] | None:
    """The argument `size`; NB: of one that is () an array or a single value comes, which is not modelled."""
    found = numpy_rules.raw(machine, value)
    if found is None:
        return None
    if not isinstance(found, tuple | list):
        return (_int(machine, value, name),)
    sizes = tuple(found)
    ints = all((is_symbolic(one) and kind_of(one) == "int") or type(one) is int for one in sizes)
    if not sizes or not ints:
        raise Break("random", f"{name}, with such a size,")
    return sizes


def _constant(machine: Machine, parameter: str, value: Value, name: str) -> Any:
    found = as_constant(machine, value)
    if parameter == "out" and found is None:
        return None
    if parameter == "dtype" and isinstance(found, type | np.dtype | str):
        return np.dtype(found).type if not isinstance(found, type) else found
    if parameter in ("endpoint", "replace", "shuffle", "axis", "method") and type(found) in (bool, int, str):
        return found
    raise Break("random", f"{name}, with such a value of {parameter},")


def _check_source(source: Any, constants: list[tuple[str, Any]], name: str) -> None:
    """What is chosen from, or put into another order: an int, or an array of one axis."""
    one = isinstance(source, Node) and source.array_type.ndim == 1
    whole = type(source) is int or (is_symbolic(source) and kind_of(source) == "int")
    if not (one or whole) or dict(constants).get("axis", 0) != 0:
        raise Break("random", f"{name}, of such an argument,")

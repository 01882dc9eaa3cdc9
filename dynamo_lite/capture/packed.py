"""np.ascontiguousarray and np.asfortranarray: of an array that lies packed the array itself (lying.py), else a copy."""

from __future__ import annotations

import numpy as np

from dynamo_lite.capture import numpy_rules
from dynamo_lite.capture.call_rules import Args, Kwargs, rule
from dynamo_lite.capture.lying import is_packed
from dynamo_lite.capture.machine import Machine, as_constant
from dynamo_lite.capture.value import ArrayValue, Break, ConstantValue, SequenceValue, Value


def _contiguous(machine: Machine, args: Args, kwargs: Kwargs, order: str) -> Value:
    """np.ascontiguousarray and np.asfortranarray: the array itself where it lies so, else a copy that does."""
    given = dict(zip(("a", "dtype"), args, strict=False)) | kwargs
    if len(args) > 2 or given.keys() - {"a", "dtype"} or "a" not in given:
        raise Break("op-without-rule", "np.ascontiguousarray in this form")
    array = machine.realised(given["a"])
    if isinstance(array, SequenceValue):
        array = numpy_rules.call_numpy(machine, np.asarray, [array], {}) or array
    if not isinstance(array, ArrayValue) or array.node.array_type.scalar or not array.node.array_type.ndim:
        raise Break("op-without-rule", "np.ascontiguousarray of no array with axes")
    wanted = given.get("dtype", ConstantValue(None, None))
    text = ConstantValue(None, order)
    if as_constant(machine, wanted) is not None:
        made = numpy_rules.call_method(machine, array, "astype", [wanted], {"order": text})
        assert isinstance(made, ArrayValue)
        if made.node.array_type.dtype.num != array.node.array_type.dtype.num:
            return made
    packed = is_packed(machine.tracer, array.node, order)
    if packed is None:
        raise Break("op-without-rule", "np.ascontiguousarray of an array of which it is not known how it lies")
    return array if packed else numpy_rules.call_method(machine, array, "copy", [text], {})


@rule(np.ascontiguousarray)
def _ascontiguousarray(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    return _contiguous(machine, args, kwargs, "C")


@rule(np.asfortranarray)
def _asfortranarray(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    return _contiguous(machine, args, kwargs, "F")

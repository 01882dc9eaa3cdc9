"""What stands where a branch has no value of its own, and nobody reads it: something of the type of the other one's."""

from __future__ import annotations

import numpy as np

from dynamo_lite import ops
from dynamo_lite.capture.state import Tracer
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.scalar import Scalar, make
from dynamo_lite.graph.types import LIST, ArrayType
from dynamo_lite.ops.parameters import is_supported


def _is_size(tracer: Tracer, dim: Scalar) -> bool:
    """Whether an array of any graph may have an axis of so many elements: what is known of them where a type was found
    need not be known elsewhere."""
    return not tracer.varies(dim) and tracer.relate(make("ge", dim, 0)) and not tracer.relate(make("eq", dim, 1))


def stand_in_node(tracer: Tracer, type_: ArrayType, of_any_size: bool = False) -> Node | None:
    """A node of that type whose value nobody reads; None where its size is not known in the graph at hand and has to be
    that one, or graphs do not compute with its dtype."""
    if type_ == LIST:
        return ops.lists.new_container(tracer.graph, list, tracer.location())
    if type_.dtype.kind in "biufc" and not is_supported(type_.dtype):
        return None
    if type_.scalar:
        constant = tracer.graph.add_constant(np.zeros((), type_.dtype)[()])
        if not tracer.regions or type_.dtype.kind not in "biufc":
            return constant
        # A constant is one object, which may not leave machine code; what is computed may.
        copied = "logical_not" if type_.dtype.kind == "b" else "positive"
        return ops.call(tracer.graph, copied, (constant,), {}, tracer.location())
    known = [isinstance(dim, int) or _is_size(tracer, dim) for dim in type_.shape]
    if not (of_any_size or all(known)):
        return None
    shape = tuple(dim if is_known else 0 for dim, is_known in zip(type_.shape, known, strict=True))
    return ops.call(tracer.graph, "empty", (), {"shape": shape, "dtype": type_.dtype, "order": "C"}, tracer.location())


__all__ = ["stand_in_node"]

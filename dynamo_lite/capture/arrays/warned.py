"""Floating-point errors of which NumPy has warned before, at the same place: the program warns of them itself.

Enters a call that capture appends; leaves, around its nodes, two nodes of the error state (ops/error_state.py) where
the registry of the module says that this operation, on this line, has been warned of. A program declines where an error
is to be reported, since the kernel that met it does not know by which of its operations; of one alone it does. What may
report something and is not in the registry is kept by its place: `is_known_now` says whether it is by now, so that it
is worth to capture the code again.
"""

from __future__ import annotations

import _operator
import builtins
import types
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from dynamo_lite import ops
from dynamo_lite.capture.state import Tracer
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.scalar import kind_of
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops import error_state
from dynamo_lite.ops.warner import Warner, kinds_known


class ReportingPlace(NamedTuple):
    """Where a ufunc may report an error: in a function with these globals."""

    name: str
    line: int
    names: dict[str, Any]

    @property
    def kinds(self) -> int:
        """Of which kinds of errors the module has been warned (bits)."""
        return kinds_known(*self)


def append(tracer: Tracer, bound: ops.Bound) -> Any:
    """Append a bound call, as ``ops.apply``."""
    graph, mark = tracer.graph, len(tracer.graph.nodes)
    location = tracer.location()
    result = ops.apply(graph, bound, location, tracer.relate)
    reporting = [node for node in graph.nodes[mark:] if node.kind is NodeKind.CALL and ops.may_report(node)]
    if len(reporting) != 1 or location is None or not (name := _name_of(reporting[0])):
        return result
    frame = tracer.frames[-1]
    if not _is_told(frame.calls):
        return result
    place = ReportingPlace(name, location.line, frame.namespace)
    ignored, reported = tracer.errors
    # NB: a function that is called, and NumPy's own, may have been warned on behalf of others
    is_ours = len(tracer.frames) == 1 or tracer.restraints.warns
    kinds = place.kinds & ~ignored & ~reported if is_ours and not tracer.silent else 0
    if kinds:
        before = error_state.set_state(graph, ignored, reported, location, noted=kinds)
        graph.nodes.insert(mark, graph.nodes.pop())
        assert graph.nodes[mark] is before
        warner = Warner(name, location.filename, location.line, frame.namespace)
        error_state.set_state(graph, ignored, reported, location, warner=warner)
    elif not tracer.silent:
        tracer.reporting[name, location.line, id(frame.namespace)] = place
    return result


def _is_told(called: object) -> bool:
    """Whether it is the frame itself that is told of the errors in what it calls: operators, ufuncs and their methods,
    and builtin functions that use operators. Other functions of NumPy's call ufuncs on lines of their own."""
    owner = called.__self__ if type(called) is types.BuiltinFunctionType else called
    return owner is None or type(owner) is np.ufunc or owner is builtins or owner is _operator


_OF_SCALARS = frozenset(("scalar_add", "scalar_subtract", "scalar_multiply", "scalar_divide"))
_POWERS = frozenset(("power", "float_power"))
_BY_OTHERS = frozenset(("floor_divide", "remainder", "fmod", "hypot"))  # computed by other operations than NumPy's


def _name_of(node: Node) -> str:
    """The name by which NumPy warns of what `node` meets; "" where it is not certain that compiled code meets the same:
    it is where each element comes of one operation, or of NumPy's own loop."""
    op = ops.REGISTRY[node.op]
    types = [arg.type for arg in (node, *node.args) if isinstance(arg, Node)]
    if not all(isinstance(type_, ArrayType) and type_.dtype.char in "?bhilqBHILQfd" for type_ in types):
        return ""
    if op.name in _OF_SCALARS:
        # NB: that integers are too large sets no flag of the processor, neither in NumPy's code nor in ours
        known = node.array_type.dtype.kind == "f" and not _are_converted(node)
        return op.name.replace("_", " ") if known else ""
    if op.kind is ops.OpKind.REDUCTION:
        return "reduce"
    if op.name == "ufunc_out":
        return str(node.params["ufunc"].__name__)
    if op.kind is not ops.OpKind.ELEMENTWISE or op.ufunc is None or op.name in _BY_OTHERS:
        return ""
    if op.name in _POWERS and _is_product(node):
        return ""
    return op.ufunc.__name__


def _are_converted(node: Node) -> bool:
    """Whether NumPy computes with these scalars as with arrays, and says so: neither is of the dtype that both fit."""
    dtypes = {arg.array_type.dtype for arg in node.args if isinstance(arg, Node)}
    common = np.result_type(*dtypes)
    has_float = any(kind_of(arg) == "float" for arg in node.args if not isinstance(arg, Node))
    return common not in dtypes or (has_float and common.kind != "f")


def _is_product(node: Node) -> bool:
    """Whether a power may be computed by products, which meet errors of their own."""
    exponent = node.args[1]
    return type(exponent) not in (int, float) or (exponent >= 0 and exponent % 1 == 0)  # type: ignore


def is_known_now(places: Iterable[ReportingPlace]) -> bool:
    """Whether NumPy has warned at one of these places by now."""
    return any(place.kinds for place in places)


__all__ = ["ReportingPlace", "append", "is_known_now"]

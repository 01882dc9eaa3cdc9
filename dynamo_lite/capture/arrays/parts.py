"""Arrays from outside of which one shows memory of another, as ``u = U[1:-1, 1:-1]`` shows that of ``U``.

A program declines where what it writes overlaps another input (csrc/program/overlap.c). A capture that would end so
takes note of these arrays and begins again. Such an array is then no input of its own: it is a view of another one, of
an input that was met before or of the array that owns the memory, its ``base``, and a guard says which part of that it
is. So all that is known of views holds for it. As an object it is still the user's, which residual code takes from
where it was found; where the graph might hand it out, as the value of a loop, say, it stays an input.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from dynamo_lite import ops
from dynamo_lite.capture.source import Source
from dynamo_lite.capture.state import Retry, Tracer
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.rewrite import hands_out, is_structured

Array = np.ndarray[Any, Any]
MOST_PARTS = 4  # that an array from one place is compiled as; one that is ever another is left to the launcher
GIVEN_UP: set[str] = {""}


def is_open(tracer: Tracer, source: Source) -> bool:
    """Whether the array at `source` may be compiled as a part of another one."""
    known = tracer.restraints.parts.get(source)
    if known is None or known == GIVEN_UP:
        return False
    if len(known) == MOST_PARTS:
        tracer.restraints.parts[source] = GIVEN_UP
        return False
    return True


def is_array(tracer: Tracer, input_: Node) -> bool:
    """Whether an input is an array: no NumPy scalar, random generator or list."""
    return type(tracer.example_inputs[input_.params["index"]]) is np.ndarray


def part_of(tracer: Tracer, obj: Array, source: Source, whole: Array, input_: Node) -> Node | None:
    """`obj` as a view of an input, guarded to be that part of it; None where it is none that a slice names."""
    index = index_of(whole, obj)
    if index is None:
        return None
    bound = ops.index(input_, index, scalar=False)
    try:
        node = ops.apply(tracer.root, bound, tracer.location(), tracer.relate)
    except ops.OpError:
        return None
    assert isinstance(node, Node)
    tracer.facts.state_part(source, tracer.inputs[input_.params["index"]], index)
    tracer.parts[node] = source
    tracer.restraints.parts[source].add(f"{input_.name} {index}")
    return node


def index_of(whole: Array, part: Array) -> tuple[slice | int, ...] | None:
    """The index by slices and integers with which ``whole[index]`` lies where `part` does; None if there is none."""
    if part.dtype != whole.dtype or part is whole or not 0 < part.ndim <= whole.ndim or not part.size:
        return None
    if part.flags.writeable != whole.flags.writeable or not np.may_share_memory(whole, part):
        return None
    for kept in combinations(range(whole.ndim), part.ndim):
        index = _index(whole, part, kept)
        if index is not None:
            found = whole[index]
            if _lies(found) == _lies(part) and _ones(whole, index) == [size == 1 for size in part.shape]:
                return index
    return None


def _lies(array: Array) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    return array.__array_interface__["data"][0], array.shape, array.strides


def _ones(whole: Array, index: tuple[slice | int, ...]) -> list[bool]:
    """Which axes of a part certainly have size 1."""
    pairs = zip(index, whole.shape, strict=True)
    return [size == 1 for entry, size in pairs if isinstance(entry, slice)]


def _index(whole: Array, part: Array, kept: tuple[int, ...]) -> tuple[slice | int, ...] | None:
    """A guess, if `part` has those axes of `whole`: bounds are counted from the end that is nearer."""
    offset = _lies(part)[0] - _lies(whole)[0]
    starts = [0] * whole.ndim
    for axis in sorted(range(whole.ndim), key=lambda axis: -abs(whole.strides[axis])):
        stride, size = whole.strides[axis], whole.shape[axis]
        if stride and size > 1:
            starts[axis] = min(max(offset // stride, 0), size - 1)
            offset -= starts[axis] * stride
    index: list[slice | int] = []
    strides = dict(zip(kept, zip(part.shape, part.strides, strict=True), strict=True))
    for axis, (size, stride) in enumerate(zip(whole.shape, whole.strides, strict=True)):
        start = starts[axis]
        if axis not in strides:
            index.append(start if start <= size // 2 else start - size)
            continue
        count, step = strides[axis]
        if size == 1:
            index.append(slice(None))
            continue
        if not stride or step % stride or not step:
            return None
        index.append(_slice(start, count, step // stride, size))
    return tuple(index)


def _slice(start: int, count: int, step: int, size: int) -> slice:
    last = start + (count - 1) * step
    behind = size - 1 - last if step > 0 else last  # elements of the axis that stand behind the last one
    first: int | None = start if start <= size // 2 else start - size
    stop: int | None
    if behind < abs(step):
        stop = None
    elif step > 0:
        stop = step - 1 - behind if behind <= size // 2 else last + 1
    else:
        stop = last - 1 if last <= size // 2 else last - 1 - size
    if start == (0 if step > 0 else size - 1):
        first = None
    return slice(first, stop, None if step == 1 else step)


def check_parts(tracer: Tracer) -> None:
    """Raise Retry for a capture that writes one of two arrays that overlap, or that might hand out a part.

    The next one takes them for parts, or not for one. Else state what is disjoint, of arrays that once were not."""
    known = tracer.restraints.parts
    handed = {source for node, source in tracer.parts.items() if _may_come_out(node, tracer.root.nodes)}
    for source in handed:
        known[source] = GIVEN_UP
    arrays = [node for node in tracer.root.inputs if isinstance(node, Node) and is_array(tracer, node)]
    new = set()
    disjoint = set()
    for written in tracer.written & set(arrays):
        for other in arrays:
            places = written.params["index"], other.params["index"]
            one, two = (tracer.inputs[place] for place in places)
            if written is other or GIVEN_UP in (known.get(one), known.get(two)):
                continue
            if np.may_share_memory(*(tracer.example_inputs[place] for place in places)):
                new |= {one, two} - known.keys()
            elif one in known and two in known:
                disjoint.add((one, two))
    known.update({source: set() for source in new})
    if handed or new:
        raise Retry
    for one, two in disjoint:
        tracer.facts.state_pair("disjoint", one, two)


def _may_come_out(node: Node, nodes: list[Node]) -> bool:
    """Whether a loop, a choice or a list among `nodes` may hand out this very array."""
    for user in nodes:
        for place, arg in enumerate(user.args):
            if arg is not node or not hands_out(user):
                continue
            if not is_structured(user) or (user.kind is NodeKind.LOOP and place - 3 < user.params["carried"]):
                return True
            first = 2 if user.kind is NodeKind.LOOP else 1  # of the operands, that goes into the bodies
            for body in user.regions:
                inside = body.inputs[place - first]
                if inside in body.outputs or (isinstance(inside, Node) and _may_come_out(inside, body.nodes)):
                    return True
    return False

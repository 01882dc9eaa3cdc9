"""Notes which values have to be computed though nothing may need them: for the floating-point flags that this sets.

    v2 = divide(v0, v1); v3 = less(v0, v1); store r0[i] = v3  ->  ...; store r0[i] = v3; keep v2

A value is safe if it is stored, or if a safe value cannot be had without it; of any other an optimiser may find that it
is not needed, and drop it with its flag. INVARIANT: what of an iteration only the next one needs is safe if that is so
over and over.
"""

from __future__ import annotations

from dynamo_lite.dataclass import replace
from dynamo_lite.program.element_ops import may_raise
from dynamo_lite.program.ir import Element, For, Function, Keep, Node, Store, Tiles, Value, walk
from dynamo_lite.program.nans import Origins, origins


def keep(function: Function) -> Function:
    """The function with a Keep for each value that is not safe."""
    found = origins(function)
    nodes = tuple(walk(function.body))
    ops = [node for node in nodes if isinstance(node, Element)]
    safe = {found.source(node.value) for node in nodes if isinstance(node, Store)}
    loops = [node for node in nodes if isinstance(node, For) and node.carried]
    kept: set[Value] = set()
    if loops:
        safe = _over_and_over(found, ops, loops, safe)
        for op in reversed(ops):
            if op.results[0] not in safe and may_raise(op.op, op.in_dtypes, op.dtypes):
                kept.add(op.results[0])
                safe |= _closure(found, ops, {op.results[0]})
    else:
        for op in reversed(ops):
            value = op.results[0]
            if value not in safe and may_raise(op.op, op.in_dtypes, op.dtypes):
                kept.add(value)
                safe.add(value)
            if value in safe:
                safe |= found.needs(op)
    return replace(function, body=_with(function.body, kept)) if kept else function


def _over_and_over(found: Origins, ops: list[Element], loops: list[For], stored: set[Value]) -> set[Value]:
    """What is safe in each iteration. Results are so in the last one only; those without which what is carried cannot
    be had, over and over, are so in each."""
    last = {inside for loop in loops for inside, _ in loop.last}
    inside = {value for op in ops for value in op.results}
    stored = {value for value in stored if value in inside}
    wanted = last | stored
    while True:
        safe = _closure(found, ops, set(wanted))
        again = {one.next for loop in loops for one in loop.carried if one.value in safe} & wanted
        again |= stored
        if again == wanted:
            return safe
        wanted = again


def _closure(found: Origins, ops: list[Element], safe: set[Value]) -> set[Value]:
    """`safe` and all without which no optimiser can compute it."""
    for op in reversed(ops):
        if op.results[0] in safe:
            safe |= found.needs(op)
    return safe


def _with(nodes: tuple[Node, ...], kept: set[Value]) -> tuple[Node, ...]:
    result: list[Node] = []
    here: list[Value] = []
    for node in nodes:
        if isinstance(node, For | Tiles):
            node = replace(node, body=_with(node.body, kept))
        elif isinstance(node, Element) and node.results[0] in kept:
            here.append(node.results[0])
        result.append(node)
    return (*result, *(Keep(value) for value in reversed(here)))

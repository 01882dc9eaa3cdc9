"""Keeps an element that each iteration of a loop reads and then writes in a register: it is loaded once, before it.

    range k: v = load c; w = add(v, ...); store c = w
    ->  first = load c; range k with v = first, then w: w = add(v, ...); store c = w

Each iteration still stores it, so that whatever else is read sees it. Between iterations others may run while the loop
looks at signals and threads: then it is loaded again (Phi.again). NB: not where anything else in the loop writes, or an
inner loop looks; those with a call of a function that may are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from dynamo_lite.dataclass import replace
from dynamo_lite.program.ir import (
    Decline,
    Element,
    If,
    Load,
    Node,
    Note,
    Phi,
    Range,
    Routine,
    Store,
    Value,
    View,
    Within,
    inner,
    walk,
)

QUIET = Load | Store | Element | Decline | Note | View | Within | If  # what leaves memory alone, a store apart


def promote(routine: Routine) -> Routine:
    """The routine with such elements in registers."""
    return replace(routine, body=tuple(_nodes(routine.body)))


def _nodes(nodes: tuple[Node, ...]) -> Iterator[Node]:
    for node in nodes:
        if isinstance(node, If):
            yield replace(node, then=tuple(_nodes(node.then)), orelse=tuple(_nodes(node.orelse)))
        elif isinstance(node, Range) and any(isinstance(one, Range) for body in inner(node) for one in walk(body)):
            yield replace(node, body=tuple(_nodes(node.body)))
        elif isinstance(node, Range):
            yield from _promoted(node)
        else:
            yield node


def _promoted(loop: Range) -> Iterator[Node]:
    """The loop, behind a load of the element that it keeps, if it has one."""
    within = tuple(walk(loop.body))
    stores = [node for node in within if isinstance(node, Store)]
    loads = [node for node in within if isinstance(node, Load) and stores and node.memref is stores[0].memref]
    if len(stores) != 1 or len(loads) != 1 or not all(isinstance(node, QUIET) for node in within):
        yield loop
        return
    (store,), (load,) = stores, loads
    memref = store.memref
    places = [loop.body.index(one) if one in loop.body else -1 for one in (load, store)]
    is_outside = not any(isinstance(node, View) and node.result is memref for node in within)
    if not 0 <= places[0] < places[1] or not is_outside or memref.axes or memref.dtype.kind not in "iuf":
        yield loop
        return
    first = Value(f"{load.result.name}.first", load.result.dtype)
    yield Load(first, memref, ())
    kept = Phi(load.result, first, store.value, again=memref)
    body = tuple(node for node in loop.body if node is not load)
    yield replace(loop, body=body, carried=(*loop.carried, kept))

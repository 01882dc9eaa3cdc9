"""Moves before a loop what it does not change: loads of single numbers, and where the row at hand of an array begins.

    for row in rows: for i in n: v0 = load o0[row, i]; v1 = load o1[]
    ->  v1 = load o1[]; for row in rows: o0.row = view o0[row]; for i in n: v0 = load o0.row[i]

NB: not out of a loop that calls NumPy's loops: across a call no number stays in a register. There, too, results may lie
where operands do that a later iteration reads.
"""

from __future__ import annotations

from dynamo_lite.dataclass import replace
from dynamo_lite.program.ir import (
    Element,
    For,
    Function,
    Load,
    Memref,
    Node,
    Note,
    NumpyLoop,
    Store,
    Tiles,
    Value,
    View,
    defined,
    walk,
)


def hoist(function: Function) -> Function:
    """The function with each such load as far out as it may stand."""
    rows = {function.rows} | {node.rows for node in function.body if isinstance(node, Tiles)}
    return replace(function, body=_out(function.body, rows - {None}))


def _out(nodes: tuple[Node, ...], rows: set[Value | None]) -> tuple[Node, ...]:
    result: list[Node] = []
    for node in nodes:
        if isinstance(node, Tiles) or (isinstance(node, For) and _calls(node)):
            result.append(replace(node, body=_out(node.body, rows)))
        elif isinstance(node, For):
            before, loop = _loop(node, rows)
            result += [*before, loop]
        else:
            result.append(node)
    return tuple(result)


def _calls(loop: For) -> bool:
    return any(isinstance(node, NumpyLoop) for node in walk(loop.body))


def _loop(loop: For, rows: set[Value | None]) -> tuple[list[Node], For]:
    """What stands before the loop now, and the loop."""
    before: list[Node] = []
    body: list[Node] = []
    if loop.extent in rows:
        (inner,) = loop.body
        assert isinstance(inner, For)
        loop = replace(loop, body=_by_rows(loop.index, inner))
    here = {node.result for node in loop.body if isinstance(node, View)}
    fixed: set[Value] = set()
    for node in loop.body:
        moved: list[Node] = []
        if isinstance(node, For):
            moved, node = _loop(node, rows)
        for one in (*moved, node):
            out = _may_move(one, fixed)
            if isinstance(one, Load):
                out = loop.index not in one.index and one.memref not in here and one.memref.space != "constant"
            fixed.update(defined(one) if out else ())
            (before if out else body).append(one)
    return before, replace(loop, body=tuple(body))


def _may_move(node: Node, fixed: set[Value]) -> bool:
    """Whether a node asks for a part of a number that the loop does not change, or notes something of one."""
    if isinstance(node, Element):
        return node.op in ("real", "imag", "huge") and fixed.issuperset(node.operands)
    return isinstance(node, Note) and node.condition in fixed


def _by_rows(row: Value, inner: For) -> tuple[Node, ...]:
    """The body of a loop over rows: views of the row at hand, its numbers, and the loop over its elements."""
    views: dict[Memref, Memref] = {}
    for node in inner.body:
        if isinstance(node, Load | Store) and row in node.index and node.memref not in views:
            of = node.memref
            views[of] = Memref(f"{of.name}.row", of.dtype, of.axes[1:], of.extents[1:], "view")
    numbers: list[Node] = []
    fixed: set[Value] = set()
    body: list[Node] = []
    for node in inner.body:
        if isinstance(node, Load | Store) and node.memref in views:
            node = replace(node, memref=views[node.memref], index=node.index[1:])
        out = _may_move(node, fixed)
        if isinstance(node, Load):
            out = node.memref.space == "view" and not node.index
        fixed.update(defined(node) if out else ())
        (numbers if out else body).append(node)
    return (
        *(View(view, of, (row,), drop=True) for of, view in views.items()),
        *numbers,
        replace(inner, body=tuple(body)),
    )

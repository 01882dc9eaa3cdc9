"""Cells of variables that inner functions share: which of them a loop carries.

Up to CPython 3.11 each comprehension is such a function. A cell that nobody but the frame has is as good as a local: it
is read where its value is, or where it is handed to a function. One that a function has which lives on may be read at
any time.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import NamedTuple

from dynamo_lite.capture.branches.sameness import cells_of_others
from dynamo_lite.capture.loops.code import exposed
from dynamo_lite.capture.loops.plan import LoopPlan
from dynamo_lite.capture.state import Frame, Retry, Tracer
from dynamo_lite.pycode import cell_liveness


class LoopCells(NamedTuple):
    """Of the cells that a loop stores to: those that live functions have; that live at the header; that live behind the
    loop; of which an iteration may read what the one before has left."""

    names: frozenset[str]
    shared: frozenset[str]
    entered: frozenset[str]
    behind: frozenset[str]
    read: frozenset[str]


def cells_of_loop(
    tracer: Tracer,
    frame: Frame,
    plan: LoopPlan,
    loop: frozenset[int],
    header: int,
    exits: Iterable[int],
    stored: Set[str],
) -> LoopCells:
    """exits: where the code goes on behind the loop. stored: what the loop assigns."""
    names = frozenset(stored & frame.cells.keys())
    if not names:
        return LoopCells(names, names, names, names, names)
    shared = names & plan.shared | cells_of_others(tracer, frame, names)
    live = cell_liveness(frame.code)
    behind = names & frozenset[str]().union(*(live[place] for place in exits))
    read = exposed(frame.code, loop, header, behind, names, "DEREF") & names & live[header]
    return LoopCells(names, shared, shared | names & live[header], shared | behind, shared | read)


def check_cells(tracer: Tracer, frame: Frame, plan: LoopPlan, cells: LoopCells) -> None:
    """Begin again where an iteration has handed a cell to a function that lives on."""
    more = cells_of_others(tracer, frame, cells.names - cells.shared)
    if more:
        plan.shared |= more
        raise Retry

"""Loops that nobody can leave between two iterations, and what must not be where they are.

What a signal's handler raises in such a loop ends the call at once. What was stored or appended before would be
gone, which may be seen, and no `try` or `with` of the call would handle it. So with these the graph breaks, and the
loop runs in a segment that can be left in it.
"""

from __future__ import annotations

from collections.abc import Callable

from dynamo_lite.capture.iteration import consumers
from dynamo_lite.capture.lists.rows import only_collects
from dynamo_lite.capture.loops.candidates import is_comprehended
from dynamo_lite.capture.loops.leaving import note_exit
from dynamo_lite.capture.loops.rests import Bounds
from dynamo_lite.capture.numbers.numbers import length_of
from dynamo_lite.capture.state import Frame, Region, Retry, StoresShow, Tracer
from dynamo_lite.capture.value import Break, Value
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.scalar import is_symbolic
from dynamo_lite.pycode import Code, handlers_at
from dynamo_lite.pycode.polls import statement_depth

_BRIEF = 128  # iterations, without a loop in them, that are over before anybody waits


def check_whole(tracer: Tracer, region: Region, header: int, leaves: bool, may_leave: bool) -> None:
    """Break the graph, or begin again, where the outermost loop, at `header` of the frame at hand, must be one that can
    be left, or hold none inside, in which others may have to wait until it is. leaves: it can. may_leave: what it goes
    over lets it, if it is in the segment's own frame."""
    if leaves and not _is_nest(region):
        return
    if tracer.stored and not leaves:
        if len(tracer.frames) > 1:  # in a frame of its own it can be left
            raise Break("loop-whole", "what was stored before would be lost")
        raise StoresShow
    if tracer.has_grown:
        tracer.note_reading()
        raise Retry
    if leaves or not may_leave or _is_brief(region) or not _has_frame(tracer, header):
        return
    if tracer.grown:
        raise Break("loop-whole", "it changes a list or dict from outside")
    if _is_handled(tracer, header):
        raise Break("loop-whole", "a try or with around it handles what a signal raises")


def let_leave(
    tracer: Tracer,
    frame: Frame,
    region: Region,
    header: int,
    loop: Node,
    rest: tuple[Value, Bounds] | None,
    held: Callable[[str], Value | None],
) -> bool:
    """Let a loop be left, as note_exit does, unless it had better not be: whether it may be."""
    return not _is_better_whole(tracer, region, header) and note_exit(tracer, frame, header, loop, rest, held)


def _is_better_whole(tracer: Tracer, region: Region, header: int) -> bool:
    """Whether nobody needs the list that a loop fills, if it is not left, and nothing speaks against that."""
    if tracer.stored or tracer.has_grown or tracer.grown or not only_collects(tracer.plans[region.key], region):
        return False
    return not _is_handled(tracer, header)


def _is_handled(tracer: Tracer, header: int) -> bool:
    """Whether a `try` or `with` around a loop handles what is raised in it."""
    places = [frame.index - 1 for frame in tracer.frames[:-1]]
    around = [*zip(tracer.frames, (*places, header), strict=True)]
    return sum(_count_handlers(frame.code, index) for frame, index in around) > tracer.depth  # those are of np.errstate


def _has_frame(tracer: Tracer, header: int) -> bool:
    """Whether the loop stands in the user's own functions, as a statement: another segment could be left in it. (One of
    a comprehension, or of what `sum` goes over, could not, and would be plain.)"""
    if any(is_comprehended(frame) or frame.namespace is vars(consumers) for frame in tracer.frames):
        return False
    frame = tracer.frames[-1]
    return len(frame.stack) == statement_depth(frame.code, header)


def _is_brief(region: Region) -> bool:
    known = not any(map(is_symbolic, region.bounds)) and length_of(region.bounds) <= _BRIEF
    return known and not _is_nest(region)


def _is_nest(region: Region) -> bool:
    return any(node.kind is NodeKind.LOOP for node in region.graph.nodes)


def _count_handlers(code: Code, index: int) -> int:
    """How many blocks of `try` and `with` handle what instruction `index` raises."""
    count, entry = 0, handlers_at(code, index)
    while entry is not None:
        if code.instrs[entry.target].op == "PUSH_EXC_INFO":
            count += 1
            own = handlers_at(code, entry.target)  # which puts back what was being handled before
            entry = own and handlers_at(code, own.target)
        else:
            entry = handlers_at(code, entry.target)
    return count


__all__ = ["check_whole", "let_leave"]

"""Iterations in front of which a loop is left, since they may go a way that breaks the graph: its pauses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from dynamo_lite.capture.state import Retry
from dynamo_lite.capture.value import Break
from dynamo_lite.graph.scalar import Scalar, make, substitute
from dynamo_lite.pycode import begins_at

if TYPE_CHECKING:
    from dynamo_lite.capture.loops.loops import Attempt

MANY_WAYS = 3
MAX_ALONE = 8  # iterations in one segment for which the loop is left, where they do not break the graph after all


def see_whether_alone(attempt: Attempt) -> None:
    """Have the first iteration run by itself if the loop pauses in front of it; that it does not is guarded."""
    tracer, plan, pauses = attempt.machine.tracer, attempt.plan, attempt.region.pauses or ()
    if any(tracer.is_carried(pause) for pause in pauses):
        refuse_pauses(attempt)
    try:
        first = (pause_at(attempt, pause, attempt.bounds[0]) for pause in pauses)
        alone = any(tracer.relate(make("and", attempt.more, pause)) for pause in first)
    except Break:  # evaluating it raises
        refuse_pauses(attempt)
    if not alone:
        return
    # The ways through the rest of one iteration and through the next one would make many segments together.
    parts = len(plan.avoided) >= MANY_WAYS and not begins_at(attempt.frame.code, attempt.header)
    if parts or len(plan.alone) == MAX_ALONE:
        plan.outcome = "paused"
        raise Break("loop-pauses", f"iteration {len(plan.alone)} of this segment")
    plan.alone.add(attempt.number)
    raise Retry


def pause_at(attempt: Attempt, pause: Scalar, index: Scalar) -> Scalar:
    """Whether the loop pauses in front of the iteration with that index."""
    return substitute(attempt.machine.tracer.canonical(pause), {attempt.region.index.name: index})


def refuse_pauses(attempt: Attempt) -> NoReturn:
    """Refuse the loop for what its iterations would be left for."""
    reason, detail, _ = next(iter(attempt.plan.avoided.values()))
    attempt.refuse(reason, detail)


__all__ = ["pause_at", "refuse_pauses", "see_whether_alone"]

"""What becomes of a condition on the index of a loop that a rule asks, and that no guard decides for this iteration.

Enters: the condition, amid an attempt at the loop. Leaves: whether another attempt is worth it, for the plan of the
loop whose index it is now says what to do about it. Three things are tried, in this order:

    x[i - 1 : i + 2] for i in range(1, n)   the guards say that it holds in every iteration, or in none
    x[i - 1 : i + 2] for i in range(n)      the first iteration or two run before the loop, if they alone differ
    x[i : 2 * i] for some i beyond the end  the program declines in those few iterations, which run plainly

NB: only what rules ask comes here. An `if` of the user's is a choice in the body (branches.py).
"""

from __future__ import annotations

from dynamo_lite.capture.loops.plan import MAX_PEELED, LoopPlan
from dynamo_lite.capture.state import Region, Tracer
from dynamo_lite.capture.value import Break
from dynamo_lite.graph.facts import at_worst
from dynamo_lite.graph.scalar import Scalar, evaluate, make, negate, substitute

_LOOKED_AT = 64  # iterations, evenly spread, that are asked whether the condition holds
_FEW = 32  # one in so many may be different
_UNKNOWN = 2**32  # iterations that no `for` has: how many there are nobody knows
_FIRST = 8  # of these are looked at


def learn(tracer: Tracer, condition: Scalar) -> bool:
    """Note in the plan of the loop on whose index `condition` is how the next attempt decides it."""
    if not tracer.is_owned(condition):
        return _begins_so(tracer, condition)
    place = tracer.owner(condition)
    region = tracer.regions[place]
    plan = tracer.plans[region.key]
    for wanted in (condition, negate(condition)):
        if str(condition) not in plan.promises and tracer.worst(region, wanted) is not None:
            plan.promises.add(str(condition))
            return True
    return _peel(tracer, region, plan, condition) or _speculate(tracer, region, plan, condition, place == 0)


def _begins_so(tracer: Tracer, condition: Scalar) -> bool:
    """Whether the extents of the arrays that a loop carries decide the condition before the first iteration: then the
    program declines in iterations in which that is otherwise."""
    region = tracer.of_extents(condition)
    if region is None or str(condition) in tracer.plans[region.key].required:
        return False
    begins = {name: begin for one in tracer.regions for name, begin in one.extents.items()}
    known = substitute(condition, begins)
    if tracer.varies(known):
        return False
    tracer.plans[region.key].required[str(condition)] = bool(evaluate(known, tracer.hints))
    return True


def _peel(tracer: Tracer, region: Region, plan: LoopPlan, condition: Scalar) -> bool:
    """Whether all iterations but the first one or two are alike: then these run before the loop."""
    start, stop, step = region.bounds
    for count in range(1, MAX_PEELED - plan.peel + 1 if not plan.unpeeled else 1):
        later = make("add", start, make("mul", count, step))
        for wanted in (condition, negate(condition)):
            worst = at_worst(tracer.graph.facts, wanted, region.index, later, stop, step)
            may_hold = worst is not None and tracer.graph.facts.decide(worst) is not False
            if worst is not None and may_hold and not tracer.varies(worst) and tracer.hint(worst):
                plan.peel += count
                return True
    return False


def _speculate(tracer: Tracer, region: Region, plan: LoopPlan, condition: Scalar, is_outermost: bool) -> bool:
    """Whether nearly all iterations are alike: then the program declines in the others. A loop inside another one is
    not left alone, but with the iteration around it: there all have to be alike in this call."""
    if str(condition) in plan.required:
        return False
    try:
        first, last, by = (int(tracer.hint(bound)) for bound in region.bounds)  # type: ignore[arg-type]
        indices = range(first, last, by)
        if len(indices) > _UNKNOWN:  # a `while`
            indices = indices[:_FIRST]
        looked_at = [indices[len(indices) * k // _LOOKED_AT] for k in range(_LOOKED_AT if len(indices) else 0)]
        known = [substitute(condition, {region.index.name: index}) for index in (*looked_at, *indices[-1:])]
        truths = [bool(evaluate(one, tracer.hints)) for one in known if not tracer.varies(one)]
    except (ArithmeticError, Break, ValueError):
        return False
    if not truths or len(truths) < len(known):
        return False
    truth = truths.count(True) * 2 > len(truths)
    if truths.count(not truth) * _FEW > (len(truths) if is_outermost else 0):
        return False
    plan.required[str(condition)] = truth
    return True

"""What a loop will change, guessed from its instructions before the first attempt at it.

Enters what the locals of a loop hold before it; leaves in its LoopPlan which numbers are likely to grow by the same int
in every iteration (``steps``), and which to change otherwise (``numbers``). A guess that is right saves an attempt for
each loop of a nest, since what an attempt learns is known to the next one only. One that is wrong is seen as soon as the
body has been traced. INVARIANT: a loop is not refused, nor a way in it set apart, on the strength of a guess.
"""

from __future__ import annotations

from collections.abc import Collection

from dynamo_lite.capture.loop_code import even_steps
from dynamo_lite.capture.numbers import as_scalar
from dynamo_lite.capture.sameness import is_tuple
from dynamo_lite.capture.state import LoopPlan, Retry, Tracer
from dynamo_lite.capture.value import Value
from dynamo_lite.capture.wrap import realise
from dynamo_lite.graph.scalar import Scalar, kind_of
from dynamo_lite.pycode import Code

MAX_NUMBERS = 16  # csrc/loop.c has room for so many


def is_carriable(begin: Scalar) -> bool:
    """Whether a loop can carry what begins as this number."""
    return kind_of(begin) != "complex" and (type(begin) is not int or -(2**63) <= begin < 2**63)


def guess(
    tracer: Tracer,
    plan: LoopPlan,
    code: Code,
    loop: frozenset[int],
    header: int,
    before: dict[str, Value],
) -> None:
    """Note what the loop may change of `before`, values by the names of locals that an iteration reads and assigns. Of
    those of a `while` only even steps are guessed: others are taken to change until the contrary is seen."""
    if not plan.guesses:
        return
    is_for = code.instrs[header].op == "FOR_ITER"
    steps = even_steps(code, loop, header)
    work = [((name,), value) for name, value in before.items()]
    for path, value in work:  # grows
        if is_tuple(value):
            items = value.items  # type: ignore[attr-defined]
            work += [((*path, place), realise(tracer, item)) for place, item in enumerate(items)]
            continue
        begin = as_scalar(value)
        if begin is None or not is_carriable(begin) or path in plan.fixed | plan.numbers | plan.steps.keys():
            continue
        if kind_of(begin) == "int" and len(path) == 1 and path[0] in steps:
            plan.steps[path] = steps[path[0]]
            plan.guessed.add(path)
        elif is_for and len(plan.numbers) < MAX_NUMBERS:
            plan.numbers.add(path)
            plan.guessed.add(path)


def doubt(tracer: Tracer, plan: LoopPlan) -> None:
    """Where an attempt is about to fail that rests on guesses, about this loop or one around it: raise Retry for one
    without."""
    plans = [plan, *(tracer.plans[region.key] for region in tracer.regions if region.key in tracer.plans)]
    if not any(one.guessed for one in plans):
        return
    for one in plans:
        one.guesses = False
        for path in one.guessed:
            one.steps.pop(path, None)
            one.numbers.discard(path)
        one.guessed.clear()
    raise Retry


def settled(plan: LoopPlan, path: Collection[object]) -> bool:
    """Whether it is known that a number changes, not only guessed."""
    return path in plan.numbers and path not in plan.guessed


__all__ = ["MAX_NUMBERS", "doubt", "guess", "is_carriable", "settled"]

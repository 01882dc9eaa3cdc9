"""Arrays that a loop carries and whose extents it changes: each such extent is a number that the loop carries, too.

Enters an Attempt, and the types that an array has before and after an iteration. Leaves the type that stands in the
body, whose changing extents are numbers of the region's, and what these are after an iteration. LoopPlan.extents says
which axes these are; an earlier attempt has learned it, maybe from sizes that did not fit each other. Extents that are
equal before the loop, and after each iteration, are one number, so that arrays which shrink together are known to fit
each other:

    while ...: z = z[alive]; c = c[alive]      # %z: float64[n1], %c: float64[n1]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dynamo_lite.capture.branches.sameness import alike_but_for_extents, types_agree
from dynamo_lite.capture.loops.guesses import plans_for
from dynamo_lite.capture.loops.number_objects import Path
from dynamo_lite.capture.state import Retry
from dynamo_lite.capture.value import Break, SizesDiffer
from dynamo_lite.dataclass import replace
from dynamo_lite.graph.scalar import Scalar, make, symbols_of
from dynamo_lite.graph.types import ArrayType

if TYPE_CHECKING:
    from dynamo_lite.capture.loops.loops import Attempt

EXTENT = "extent"  # and, with an axis, of a number that is an extent of the array at the path before


def enter_type(attempt: Attempt, path: Path, type_: ArrayType) -> ArrayType:
    """The type of the array at `path` in the body, where it has `type_` before the loop."""
    axes = attempt.plan.extents.get(path, ())
    shape = [_number(attempt, path, axis, size) if axis in axes else size for axis, size in enumerate(type_.shape)]
    return replace(type_, shape=tuple(shape))  # type: ignore[arg-type]


def _number(attempt: Attempt, path: Path, axis: int, begin: Scalar) -> Scalar:
    """The number that stands for an extent, which is `begin` before the loop."""
    tracer, own = attempt.machine.tracer, (*path, EXTENT, axis)
    is_shared = own not in attempt.plan.own_extents
    shared = [known for known in attempt.extents.values() if known not in attempt.plan.own_extents]
    for known in dict.fromkeys(shared) if is_shared else ():
        if tracer.graph.facts.decide(make("eq", attempt.begins[known], begin)):
            attempt.extents[own] = known
            return attempt.region.numbers[known]
    attempt.extents[own] = own
    attempt.begins[own] = begin
    number = tracer.carry_number(attempt.region, own, "int")
    attempt.region.extents[number.name] = begin
    attempt.region.graph.facts.learn(make("ge", number, 0), True)
    return number


def agree(attempt: Attempt, path: Path, inside: ArrayType, after: ArrayType) -> bool:
    """Whether the array at `path` may be carried that has one type in the body, and another after an iteration; may
    have learned something."""
    tracer = attempt.machine.tracer
    if not alike_but_for_extents(inside, after):
        return False
    for axis, (old, new) in enumerate(zip(inside.shape, after.shape, strict=True)):
        own = (*path, EXTENT, axis)
        number = attempt.extents.get(own)
        if number is None:
            one, other = (ArrayType(inside.dtype, (size,)) for size in (old, new))
            if types_agree(tracer, one, other):
                continue
            if own in attempt.plan.settled or not _goes_on_changing(attempt, old, new):
                return False
            for plan in plans_for(attempt, path[0]):
                plan.extents.setdefault(path, set()).add(axis)
            attempt.learned = True
        elif not tracer.varies(new) or (own in attempt.plan.doubtful and new == old):
            # It is another one after the first iteration alone, which runs before the loop; or none.
            attempt.plan.extents[path].discard(axis)
            attempt.plan.settled.add(own)
            attempt.learned = True
        elif number not in attempt.next:
            attempt.next[number] = tracer.canonical(new)
        elif not tracer.graph.facts.decide(make("eq", attempt.next[number], new)):
            attempt.plan.own_extents.add(own)
            attempt.learned = True
    return True


def fit_extents(attempts: Sequence[Attempt], reason: Break) -> None:
    """Begin again where sizes that do not fit each other are of arrays that loops replace: their extents may change."""
    if not isinstance(reason, SizesDiffer):
        return
    learned = [_may_change(attempt, reason.sizes) for attempt in attempts]  # by each of them
    if any(learned):
        raise Retry from None


def _may_change(attempt: Attempt, sizes: Sequence[Scalar]) -> bool:
    plan, names = attempt.plan, set().union(*map(symbols_of, sizes))
    found = [
        (path, axis)
        for path, (_, node) in attempt.leaves.items()
        for axis, size in enumerate(node.array_type.shape)
        if path[0] in attempt.stored and not names.isdisjoint(symbols_of(size))
        if axis not in plan.extents.get(path, ()) and (*path, EXTENT, axis) not in plan.settled
    ]
    for path, axis in found:
        plan.extents.setdefault(path, set()).add(axis)
        plan.doubtful.add((*path, EXTENT, axis))
    return bool(found)


def _goes_on_changing(attempt: Attempt, old: Scalar, new: Scalar) -> bool:
    """Whether an extent may be another one after each iteration, not after the first one alone."""
    is_of_begin = not symbols_of(old).isdisjoint(symbols_of(new)) or (isinstance(old, int) and isinstance(new, int))
    return is_of_begin or attempt.machine.tracer.varies(new)

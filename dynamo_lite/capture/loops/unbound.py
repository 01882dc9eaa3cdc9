"""Locals that an iteration may leave unbound: one arm of a branch assigns them, and the other does not.

    while not done:
        if x > high: result, done = 1, True
        elif x < low: result, done = 0, True
    return result

Enters: what the arms leave, or what a loop has left. Leaves: an EitherValue of what is assigned and of UNBOUND, which
loops carry like any other (eithers.py). Who reads the local takes it for bound, and the program declines where it is
not: there plain Python raises. INVARIANT: no such value is handed out. Behind the outermost loop such a local is
certain to be read, and is read at once; a loop that is left between two iterations has none.
"""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING, Any

from dynamo_lite.capture.branches.choices import Merge
from dynamo_lite.capture.branches.conditions import is_first
from dynamo_lite.capture.loops.code import always_read
from dynamo_lite.capture.loops.leaving import CannotLeave
from dynamo_lite.capture.loops.plan import LoopPlan
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.value import UNBOUND, EitherValue, Value
from dynamo_lite.capture.wrap import realise
from dynamo_lite.pycode import liveness

if TYPE_CHECKING:
    from dynamo_lite.capture.loops.loops import Attempt


def may_be_unbound(value: Value | None) -> bool:
    """Whether a local that holds this may not be bound."""
    return value is UNBOUND or (isinstance(value, EitherValue) and value.second is UNBOUND)


def or_unbound(
    merge: Merge, pair: tuple[Value | None, Value | None], wanted: tuple[bool, bool]
) -> tuple[Value | None, Value | None]:
    """What the ends of two ways leave in a local, with UNBOUND where one of them has none, if it may be read there and
    a loop can carry what the other has."""
    if not any(value is None and is_read for value, is_read in zip(pair, wanted, strict=True)):
        return pair
    place = 1 if pair[0] is None else 0
    known = realise(merge.tracer, pair[place])  # type: ignore[arg-type]
    if known is not UNBOUND and merge.parts(known, (merge.then, merge.orelse)[place]) is None:
        return pair
    return (UNBOUND, known) if place else (known, UNBOUND)


def unbound_before(plan: LoopPlan, name: Any) -> Value | None:
    """What a local holds in front of a loop that is not bound there, and that iterations may leave so."""
    forms = plan.eithers.get(name)
    return UNBOUND if forms is not None and forms[1] is UNBOUND else None


def left_unbound(attempt: Attempt, name: Any, live: Set[Any]) -> Value | None:
    """The same, once the first iteration has been seen."""
    is_new = name in live and name not in attempt.plan.eithers
    return UNBOUND if is_new and may_be_unbound(attempt.frame.locals.get(name)) else None


def bound(machine: Machine, value: Value) -> Value:
    """What a local holds that is read; the program declines where that is nothing."""
    if not may_be_unbound(value) or value is UNBOUND:
        return value
    assert isinstance(value, EitherValue)
    machine.tracer.require(is_first(machine, value))
    return value.first


def all_bound(value: Value) -> Value:
    """A value that is handed out where a loop is left."""
    if may_be_unbound(value):
        raise CannotLeave
    return value


def settle(attempt: Attempt, exit_index: int) -> None:
    """Let the locals be bound that the outermost loop may have left unbound, where they are certain to be read."""
    tracer, frame = attempt.machine.tracer, attempt.frame
    if tracer.regions or frame is not tracer.frames[0]:
        return
    everything = frozenset(range(len(frame.code.instrs)))
    live = frozenset[str]().union(*(liveness(frame.code)[at] for at in (exit_index, *attempt.plan.side_exits)))
    for name, value in [*frame.locals.items()]:
        if not may_be_unbound(value):
            continue
        if name not in live or value is UNBOUND:
            del frame.locals[name]
            continue
        if attempt.plan.side_exits or not always_read(frame.code, everything, -1, exit_index, name):
            attempt.refuse("loop-state", f"the local {name}, which one branch of an if does not assign")
        frame.locals[name] = bound(attempt.machine, value)


__all__ = ["all_bound", "bound", "left_unbound", "may_be_unbound", "or_unbound", "settle", "unbound_before"]

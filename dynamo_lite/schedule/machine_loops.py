"""Finds the loops over single elements and vectors, which a backend compiles whole.

Enters a Schedule; leaves it with the machine form (Loop.machine) of each loop that has one, the outermost of a nest. A
loop without one runs step by step, and the loops in its body are asked one by one; so are those of a loop that runs
step by step where its vectors are long.
"""

from __future__ import annotations

from dynamo_lite.dataclass import replace
from dynamo_lite.schedule.steps import Cond, Loop, Schedule, Step, bodies
from dynamo_lite.schedule.target import Target


def machine_loops(schedule: Schedule, target: Target) -> Schedule:
    """The schedule with the machine forms that the target has."""
    if not any(map(bodies, schedule.steps)):
        return schedule
    return replace(schedule, steps=tuple(_machine_loop(step, target) for step in schedule.steps))


def _machine_loop(step: Step, target: Target) -> Step:
    if isinstance(step, Cond):
        return replace(step, then=machine_loops(step.then, target), orelse=machine_loops(step.orelse, target))
    if not isinstance(step, Loop):
        return step
    machine = target.machine(step)
    if machine is None or machine.vectors:
        step = replace(step, body=machine_loops(step.body, target))
    return replace(step, machine=machine)

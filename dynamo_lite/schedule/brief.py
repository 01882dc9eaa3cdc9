"""Which loops compiled whole are brief, so that their code takes longer to optimise than to run.

Enters a Schedule and what its symbols are in the example; leaves the Machines whose loops are expected to take less
than BRIEF_NS in one run of the program. A loop of open length is none, nor one with another of those in it. The guess
may be wrong: code that is not optimised has half the speed, still many times plain Python's, and what has run for
longer than expected is made anew (csrc/kernels/kernel_code.c).
"""

from __future__ import annotations

from collections.abc import Iterator

from dynamo_lite.schedule.cost import branches, is_long, iterations, machine_time
from dynamo_lite.schedule.iterations import Env
from dynamo_lite.schedule.steps import Cond, Loop, Machine, Schedule, bodies
from dynamo_lite.schedule.straight import routine_of

BRIEF_NS = 1e6


def brief_loops(schedule: Schedule, env: Env) -> tuple[Machine, ...]:
    """The brief loops among the steps of a program. What is one routine is called again and again, by a shorter way
    (csrc/program/straight.c) that reads no clock."""
    return () if routine_of(schedule) is not None else tuple(_brief(schedule, env, 1.0))


def _brief(schedule: Schedule, env: Env, times: float) -> Iterator[Machine]:
    """times: how often the steps run."""
    for step in schedule.steps:
        if isinstance(step, Loop):
            if step.machine is not None and not _is_open(step) and not is_long(step, step.machine, env):
                if times * machine_time(step, env) < BRIEF_NS:
                    yield step.machine
            else:
                number, inside = iterations(step, env)
                yield from _brief(step.body, inside, times * number)
        elif isinstance(step, Cond):
            for body, inside in branches(step, env):
                yield from _brief(body, inside, times)


def _is_open(step: Loop) -> bool:
    """Whether nobody knows for how long the loop runs, or one in it."""
    return step.goes_on or any(_holds_open(body) for body in bodies(step))


def _holds_open(schedule: Schedule) -> bool:
    return any(
        _is_open(step) if isinstance(step, Loop) else any(map(_holds_open, bodies(step)))
        for step in schedule.steps
        if isinstance(step, Loop | Cond)
    )


__all__ = ["brief_loops"]

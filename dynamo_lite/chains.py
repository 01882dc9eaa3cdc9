"""Segments that follow one another in a call: whether all of them together take longer than plain Python.

Enters what is known of a function's segments (compilation.py), by code object, the resume functions' included. Leaves
why the call is to run plainly, or None. One segment is judged by what it takes alone only where nothing follows it
(schedule/cost.py); one that ends in a break is compiled whatever it gains, for what follows may gain more.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence

from dynamo_lite.pipeline import Segment
from dynamo_lite.schedule.cost import MUCH_SLOWER, SEGMENT, DoesNotPay, Times, paying_sizes, times_of_round

Versions = Mapping[types.CodeType, Sequence[Segment]]
_WAY_BACK = {0: Times(0.0, 0.0, 6e3)}  # to go on plainly where exceptions are handled, and to come back


def call_that_loses(root: types.CodeType, versions: Versions, skipped: set[types.CodeType]) -> str | None:
    """Why a call that begins with the latest version of `root` is to be left plain: its segments take much longer at
    all sizes. None where they do not, where they are not known to the end, and where they form a loop."""
    path = _path_of_most_gain(root, versions, skipped, ())
    if path is None or len(path) < 2:
        return None
    own = max(path, key=lambda one: len(one.times))
    times = times_of_round(own.times, [one.times for one in path if one is not own])
    if any(one.native <= MUCH_SLOWER * one.plain for one in times.values()):
        return None
    about = f"about {times[0].native / 1e3:.3g} us compiled against {times[0].plain / 1e3:.3g} us by NumPy"
    return f"the segments of a call together: {about}"


def of_round(versions: Sequence[Segment]) -> list[Segment]:
    """The segments of one code object that run in turn as part of a loop: the latest one, and where a loop leaves
    single iterations to others, the latest that is such a loop and the latest that is not."""
    found = [versions[-1]]
    found += [one for one in reversed(versions) if one.capture.pauses != found[0].capture.pauses][:1]
    return found


def sizes_of_round(segment: Segment, segments: Sequence[Segment], ways_back: int) -> tuple[Segment, tuple[int, int]]:
    """The one of a loop's segments by whose arrays its rounds are judged, `segment` if that has any; fewest and most
    elements for which they pay. ways_back: how often in a round plain code comes back. Raises DoesNotPay."""
    programs = [one for one in segments if one.program is not None]
    if not programs:
        raise DoesNotPay("there is nothing in them")
    judged = segment if segment.times else max(programs, key=lambda one: len(one.times))
    others = [one.times for one in segments if one is not judged]
    return judged, paying_sizes(times_of_round(judged.times, [*others, *[_WAY_BACK] * ways_back]))


def waits_for_loop(segments: Sequence[Segment]) -> bool:
    """Whether some segment is an iteration that a loop leaves to it which is yet to be met."""
    alone = any(plan.outcome == "paused" for one in segments for plan in one.capture.loops)
    return alone and not any(one.capture.pauses for one in segments)


def _path_of_most_gain(
    code: types.CodeType, versions: Versions, skipped: set[types.CodeType], before: tuple[types.CodeType, ...]
) -> list[Segment] | None:
    """The segments from `code` on, on the way on which they gain most, of those ways that have been met; None where
    some way is not known to its end, or leads round in a loop."""
    if code in skipped:
        return []
    if code in before or code not in versions:
        return None
    segment = versions[code][-1]
    if segment.capture.ends != "break" or segment.entry.retired:
        return [segment]
    targets = {jump.resume_function.__code__ for jump in segment.capture.jumps}
    ways = []
    for target in targets:
        if target in versions or target in skipped:
            way = _path_of_most_gain(target, versions, skipped, (*before, code))
            if way is None:
                return None
            ways.append(way)
    return [segment, *max(ways, key=_gain)] if ways else None


def _gain(segments: list[Segment]) -> float:
    """What segments one after the other gain, at the sizes of the example, in ns."""
    times = [one.times[0] for one in segments if one.times]
    return sum(one.plain - one.native for one in times) - SEGMENT * len(segments)


def reached(code: types.CodeType, steps: Mapping[types.CodeType, set[types.CodeType]]) -> set[types.CodeType]:
    """Where one or more steps lead from `code`."""
    found: set[types.CodeType] = set()
    ahead = [code]
    while ahead:
        new = steps.get(ahead.pop(), set()) - found
        found |= new
        ahead += new
    return found


__all__ = ["call_that_loses", "reached"]

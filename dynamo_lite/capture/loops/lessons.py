"""What the attempts at a loop have taught, kept from one capture of a function to the next.

Enters: the LoopPlans that a capture leaves. Leaves: the plan with which the next capture meets the same loop, in the
same loops around it or where it was captured by itself before: in a resume function, or inlined from another place.
Each lesson that is known from there saves an attempt, which would trace all of the segment again. INVARIANT: none
refers to an object of the user's; a wrong one costs an attempt, or an iteration that is traced by itself, never a
value.

A loop is taken to be refused again where `OFTEN` captures, one after the other, have found so for one reason.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from dynamo_lite.capture.loops.plan import LoopPlan
from dynamo_lite.capture.objects.places import Place, namespace
from dynamo_lite.capture.segments.restraints import Lesson, Restraints, place_in
from dynamo_lite.capture.source import Source
from dynamo_lite.capture.state import Frame, Tracer

OFTEN = 2


def recall(tracer: Tracer, plan: LoopPlan, frame: Frame, header: int) -> None:
    """Begin a plan with what is known of its loop."""
    plans = (tracer.plans[region.key] for region in reversed(tracer.regions) if region.key in tracer.plans)
    around = next((one.chain for one in plans), ())
    plan.chain = ((*place_in(frame.code, header), frame.code.qualname, len(tracer.frames) > 1), *around)
    lessons = tracer.restraints.lessons
    lesson = lessons.get(plan.chain) or lessons.get(plan.chain[:1])  # it was entered by itself, while it ran
    if lesson is None:
        return
    if tracer.regions or len(tracer.frames) > 1:  # one that the segment begins in may be past its first iteration
        plan.peel, plan.differing = lesson.peel, set(lesson.differing)
    plan.fixed |= lesson.fixed
    plan.numbers |= lesson.numbers
    plan.steps |= lesson.steps
    plan.replaced |= lesson.replaced
    plan.guessed |= lesson.numbers | lesson.steps.keys()
    source = namespace(tracer, frame.namespace).source if lesson.variables else None
    plan.places |= {Place(source, name): is_read for name, is_read in lesson.variables.items()}
    attributes = {_place(tracer.frames[0], names): is_read for names, is_read in lesson.attributes.items()}
    found = {place: is_read for place, is_read in attributes.items() if place is not None}
    plan.places |= found
    plan.guessed_places |= found.keys()
    if lesson.often >= OFTEN and plan.chain in lessons:
        plan.refused = lesson.refused


def remember(restraints: Restraints, plans: Iterable[LoopPlan], globals_: dict[str, Any]) -> None:
    """Keep what one capture of a function with these globals has taught."""
    alike: dict[tuple[Any, ...], list[LoopPlan]] = {}
    for plan in plans:
        if plan.chain:
            alike.setdefault(plan.chain, []).append(plan)
    for chain, those in alike.items():  # several where branches stand around it, and in a first iteration
        lesson = restraints.lessons.setdefault(chain, Lesson())
        refused = next((plan.refused for plan in those if plan.refused is not None), None)
        is_same = refused is not None and lesson.refused is not None and refused[0] == lesson.refused[0]
        lesson.refused, lesson.often = refused, lesson.often + 1 if is_same else 1
        if refused is not None:
            continue
        peeled = max(those, key=lambda plan: plan.peel)
        known = max(those, key=lambda plan: len(plan.fixed) + len(plan.numbers) + len(plan.steps))
        lesson.peel, lesson.differing = peeled.peel, {name for name in peeled.differing if isinstance(name, str)}
        lesson.kinds = {name: kinds for name, kinds in peeled.kinds.items() if isinstance(name, str)}
        lesson.fixed = {path for path in known.fixed if isinstance(path[0], str)}
        lesson.numbers = {path for path in known.numbers if isinstance(path[0], str)}
        lesson.steps = {path: step for path, step in known.steps.items() if isinstance(path[0], str)}
        lesson.replaced = {name for plan in those for name in plan.replaced if isinstance(name, str)}
        places = {
            place: any(plan.places.get(place, False) for plan in those) for plan in those for place in plan.places
        }
        lesson.variables = {
            place.key: is_read for place, is_read in places.items() if _is_variable(place.where, globals_)
        }
        names = {place: _names(place) for place in places}
        lesson.attributes = {way: places[place] for place, way in names.items() if way is not None}


def _names(place: Place) -> tuple[str, ...] | None:
    """The local, and the names of attributes, by which an attribute of an object from outside is found, if it is."""
    names: list[Any] = [place.key]
    where: Any = place.where
    while isinstance(where, Source) and where.kind == "attr":
        names.append(where.key)
        where = where.base
    is_found = isinstance(where, Source) and where.kind == "slot" and all(type(name) is str for name in names)
    return (where.key[1], *reversed(names)) if is_found else None


def _place(frame: Frame, names: tuple[str, ...]) -> Place | None:
    """The place that `_names` has named, in another capture."""
    value = frame.locals.get(names[0])
    if value is None or value.source is None:
        return None
    return Place(functools.reduce(Source.attr, names[1:-1], value.source), names[-1])


def _is_variable(where: Any, globals_: dict[str, Any]) -> bool:
    return isinstance(where, Source) and where.kind == "const" and where.key.value is globals_


__all__ = ["recall", "remember"]

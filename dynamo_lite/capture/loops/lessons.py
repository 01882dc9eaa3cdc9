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
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from dynamo_lite.capture.loops.plan import LoopPlan
from dynamo_lite.capture.objects.places import Place, namespace
from dynamo_lite.capture.segments.restraints import Lesson, Restraints, Variable, place_in
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
    here = in_frame(tracer, frame, lesson)
    if tracer.regions or len(tracer.frames) > 1:  # one that the segment begins in may be past its first iteration
        plan.peel, plan.differing = here.peel, here.differing
    plan.fixed |= here.fixed
    plan.numbers |= here.numbers
    plan.steps |= here.steps
    plan.replaced |= here.replaced
    plan.guessed |= here.numbers | here.steps.keys()
    source = namespace(tracer, frame.namespace).source if lesson.variables else None
    plan.places |= {Place(source, name): is_read for name, is_read in lesson.variables.items()}
    attributes = {_place(tracer.frames[0], names): is_read for names, is_read in lesson.attributes.items()}
    found = {place: is_read for place, is_read in attributes.items() if place is not None}
    plan.places |= found
    plan.guessed_places |= found.keys()
    if lesson.often >= OFTEN and plan.chain in lessons:
        plan.refused = lesson.refused


def in_frame(tracer: Tracer, frame: Frame, lesson: Lesson) -> Lesson:
    """The lesson, with the places that its variables are in a frame; a copy."""
    source = namespace(tracer, frame.namespace).source

    def named(name: Any) -> Any:
        return Place(source, name.name) if isinstance(name, Variable) else name

    return replace(lesson, **_renamed(lesson, named))


def remember(restraints: Restraints, plans: Iterable[LoopPlan], globals_: dict[str, Any]) -> None:
    """Keep what one capture of a function with these globals has taught."""

    def named(name: Any) -> Any:
        is_place = isinstance(name, Place) and _is_variable(name.where, globals_)
        return Variable(name.key) if is_place else name if isinstance(name, str) else None

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
        lesson.peel, lesson.unpeeled, lesson.differing = peeled.peel, peeled.unpeeled, peeled.differing
        lesson.kinds, lesson.eithers = peeled.kinds, known.eithers
        lesson.fixed, lesson.numbers, lesson.steps = known.fixed, known.numbers, known.steps
        lesson.extents, lesson.own_extents, lesson.settled = known.extents, known.own_extents, known.settled
        lesson.replaced = {name for plan in those for name in plan.replaced}
        for field, value in _renamed(lesson, named).items():
            setattr(lesson, field, value)
        places = {
            place: any(plan.places.get(place, False) for plan in those) for plan in those for place in plan.places
        }
        lesson.variables = {
            place.key: is_read for place, is_read in places.items() if _is_variable(place.where, globals_)
        }
        names = {place: _names(place) for place in places}
        lesson.attributes = {way: places[place] for place, way in names.items() if way is not None}


def _renamed(lesson: Lesson, named: Callable[[Any], Any]) -> dict[str, Any]:
    """Copies of what a lesson has by names, with others for them: without what has none."""

    def path(old: tuple[Any, ...]) -> tuple[Any, ...]:
        return named(old[0]), *old[1:]

    by_name = {field: {named(name) for name in getattr(lesson, field)} - {None} for field in ("differing", "replaced")}
    by_path = {
        field: {path(old) for old in getattr(lesson, field) if named(old[0]) is not None}
        for field in ("fixed", "numbers", "own_extents", "settled")
    }
    of_names = {
        field: {named(name): value for name, value in getattr(lesson, field).items() if named(name) is not None}
        for field in ("kinds", "eithers")
    }
    of_paths = {
        field: {path(old): value for old, value in getattr(lesson, field).items() if named(old[0]) is not None}
        for field in ("steps", "extents")
    }
    return {**by_name, **by_path, **of_names, **of_paths}


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


__all__ = ["in_frame", "recall", "remember"]

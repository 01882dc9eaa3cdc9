"""What a loop will change, guessed from its instructions before the first attempt at it.

Enters what the locals of a loop hold before it; leaves in its LoopPlan which numbers are likely to grow by the same int
in every iteration (``steps``), and which to change otherwise (``numbers``); and which ways in it are not to be
captured, since they could not be when it was entered elsewhere. A guess that is right saves an attempt for each loop of
a nest, since what an attempt learns is known to the next one only. One that is wrong is seen once the body has been
traced. INVARIANT: a loop is not refused, nor a way in it found to be a side exit, on the strength of a guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynamo_lite._C import abi
from dynamo_lite.capture.branches.choices import parts_of
from dynamo_lite.capture.branches.few_objects import is_chosen_anew, sources_of
from dynamo_lite.capture.loops.code import even_steps, stored_names, while_loops
from dynamo_lite.capture.loops.eithers import Form, forms_of
from dynamo_lite.capture.loops.kinds_ahead import expected, kinds_before
from dynamo_lite.capture.loops.lessons import in_frame
from dynamo_lite.capture.loops.number_objects import Path
from dynamo_lite.capture.loops.plan import LoopPlan
from dynamo_lite.capture.loops.surroundings import Name
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.objects.aggregates import has_items
from dynamo_lite.capture.objects.places import Place, namespace
from dynamo_lite.capture.segments.restraints import Lesson
from dynamo_lite.capture.source import Source
from dynamo_lite.capture.state import Frame, Retry, Tracer
from dynamo_lite.capture.value import ArrayValue, EitherValue, SequenceValue, Value
from dynamo_lite.capture.wrap import realise
from dynamo_lite.graph.scalar import Scalar, Symbol, kind_of
from dynamo_lite.pycode import Code
from dynamo_lite.pycode.flow import natural_loop

if TYPE_CHECKING:
    from dynamo_lite.capture.loops.loops import Attempt

MAX_NUMBERS = abi.MAX_CARRIED_NUMBERS  # csrc/program/loop.c has room for so many


def is_carriable(begin: Scalar) -> bool:
    """Whether a loop can carry what begins as this number."""
    return kind_of(begin) != "complex" and (type(begin) is not int or -(2**63) <= begin < 2**63)


def guess(
    tracer: Tracer,
    plan: LoopPlan,
    code: Code,
    loop: frozenset[int],
    header: int,
    before: dict[Name, Value],
) -> None:
    """Note what the loop may change of `before`, values by the names of locals that an iteration assigns and may read
    before, or leave as they are. Of those of a `while` only even steps are guessed: others are taken to change until
    the contrary is seen."""
    if not plan.guesses:
        return
    is_for = code.instrs[header].op == "FOR_ITER"
    steps = even_steps(code, loop, header)
    work: list[tuple[Path, Value]] = [((name,), value) for name, value in before.items()]
    for path, value in work:  # grows
        if has_items(value):
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


def guess_kinds(tracer: Tracer, plan: LoopPlan, frame: Frame, header: int) -> None:
    """Have one iteration run before the loop where a number is expected to be of another kind after it, and let those
    be of two kinds that are expected to be; once, and not where an earlier capture has taught it. As long as nothing is
    known of the loop here, what is known of it elsewhere is asked for with each attempt."""
    if plan.refused or not plan.chain:
        return
    if plan.looked_ahead:
        has_learned = plan.peel or plan.unpeeled or plan.eithers or plan.extents
        if plan.guesses and not has_learned and not tracer.is_repeated:
            _begin_as_elsewhere(tracer, plan, frame)
        return
    plan.looked_ahead = True
    is_for = frame.code.instrs[header].op == "FOR_ITER"
    loop = natural_loop(frame.code, header, False) if is_for else while_loops(frame.code).get(header)
    if loop is None:
        return  # the call of a comprehension
    plan.kinds = kinds_before(tracer, frame, loop)
    if _begin_as_elsewhere(tracer, plan, frame) or plan.chain in tracer.restraints.lessons:
        return

    def name_of(variable: tuple[str, bool]) -> Any:
        name, is_global = variable
        return Place(namespace(tracer, frame.namespace).source, name) if is_global else name

    found = expected(tracer, frame, loop, header)
    if found.differing is not None:
        plan.peel = 1
        plan.differing.add(name_of(found.differing))
    for variable, forms in found.eithers.items():
        name = name_of(variable)
        _note_either(plan, (name,), forms, [2] if variable in found.changed else [])
        plan.guessed_eithers.add(name)
        if variable in found.kept:
            plan.fixed.add((name, 2))  # of the parts (eithers.py) the number of Python's


def _begin_as_elsewhere(tracer: Tracer, plan: LoopPlan, frame: Frame) -> bool:
    """Begin a plan with what is known of the same loop in other loops or captures, or inlined by other calls, about the
    variables that are of the same kinds in front of it there; whether something is."""
    place, lessons = plan.chain[0][:-1], tracer.restraints.lessons
    others: list[LoopPlan | Lesson] = [
        *(one for one in tracer.plans.values() if one is not plan and one.chain and one.chain[0][:-1] == place),
        *(in_frame(tracer, frame, one) for chain, one in reversed(lessons.items()) if chain[0][:-1] == place),
    ]
    for one in others:
        alike = {name for name, kinds in one.kinds.items() if None not in kinds and plan.kinds.get(name) == kinds}
        is_first = isinstance(one, LoopPlan) or bool(tracer.regions) or len(tracer.frames) > 1  # as in lessons.py
        peels = bool(one.peel) and one.differing <= alike and is_first
        eithers, places = {}, {}
        if not one.unpeeled:  # NB: here it may be known that there is an iteration, and the kind after it
            eithers = {name: forms for name, forms in one.eithers.items() if name in alike}
        extents = {path: set(axes) for path, axes in one.extents.items() if path[0] in alike}
        if isinstance(one, LoopPlan):
            places = {place: is_read for place, is_read in one.places.items() if isinstance(place.where, Source)}
        steps = {path for path in one.steps if path[0] in alike and path not in plan.steps}
        if not (peels or eithers or extents or steps or places.keys() - plan.places.keys()):
            continue
        if peels:
            plan.peel, plan.differing = one.peel, set(one.differing)
        plan.eithers |= eithers
        plan.guessed_eithers |= eithers.keys()
        plan.extents |= extents
        plan.own_extents |= {path for path in one.own_extents if path[0] in alike}
        plan.settled |= {path for path in one.settled if path[0] in alike}
        plan.guessed_places |= places.keys() - plan.places.keys()
        plan.places |= places | plan.places
        plan.steps |= one.steps
        plan.numbers |= one.numbers
        plan.fixed |= one.fixed
        plan.guessed |= one.steps.keys() | one.numbers
        plan.replaced |= one.replaced
        return True
    return False


def plans_for(attempt: Attempt, name: Name) -> list[LoopPlan]:
    """The plan of a loop, and those of the loops around it that carry a local, too, and leave it to this one."""
    plans = [attempt.plan]
    for one in reversed(attempt.machine.attempts[:-1]):
        carried = (name,) in one.begins or (name,) in one.leaves or (name,) in one.eithers
        is_own = one.frame is attempt.frame and name in stored_names(one.frame.code, one.loop - attempt.loop)
        if one.frame is not attempt.frame or not carried or is_own:
            break
        plans.append(one.plan)
    return plans


def guess_differing(
    tracer: Tracer,
    plan: LoopPlan,
    before: dict[Name, Value],
    now: dict[str, Value],
    numbers: dict[Path, Symbol],
) -> None:
    """In the middle of an iteration, where the attempt ends: whether numbers have become others than they were before
    the loop, so that one iteration is to run before it, or are that in some iterations. numbers: those carried."""
    for name, value in before.items():
        begin, after = as_scalar(value), now.get(name) if isinstance(name, str) else None
        if plan.peel or plan.unpeeled or begin is None or after is None:
            continue
        end = as_scalar(after)
        forms = forms_of(tracer, value, after, False) if isinstance(after, EitherValue) else None
        if forms is not None and plan.guesses:
            _note_either(plan, (name,), forms, changing_parts(tracer, numbers.get((name,)), value, after))
        either = isinstance(after, EitherValue) and forms is None
        if either or isinstance(after, ArrayValue) or (end is not None and kind_of(end) != kind_of(begin)):
            plan.peel = 1
            plan.differing.add(name)


def doubt(tracer: Tracer, plan: LoopPlan, reason: str = "") -> None:
    """Where an attempt is about to fail that rests on guesses, about this loop or one around it: raise Retry for one
    without; not where the code alone is the reason."""
    if reason == "loop-exit":
        return
    plans = [plan, *(tracer.plans[region.key] for region in tracer.regions if region.key in tracer.plans)]
    if not any(one.guessed or one.guessed_places or one.guessed_eithers or one.known for one in plans):
        return
    for one in plans:
        one.guesses = False
        one.side_exits -= one.known
        one.known.clear()
        for path in one.guessed:
            one.steps.pop(path, None)
            one.numbers.discard(path)
        one.guessed.clear()
        for place in one.guessed_places:
            one.places.pop(place, None)
        one.guessed_places.clear()
        for name in one.guessed_eithers:
            one.eithers.pop(name, None)
            one.numbers = {path for path in one.numbers if path[0] != name}
        one.guessed_eithers.clear()
    raise Retry


def changing_parts(tracer: Tracer, number: Symbol | None, before: Value | None, after: Value) -> list[int]:
    """Which parts of what a local holds after an iteration are numbers that the next one is to carry, too; it was
    `number` in that iteration, and `before` before the loop."""
    begin, parts = None if before is None else as_scalar(before), parts_of(tracer, after)
    if number is None or begin is None or parts is None:
        return []
    found: list[int] = []
    for place, part in enumerate(parts):
        end = None if part is None or place == 0 else as_scalar(part)
        if end is not None and kind_of(end) == number.kind and not _made_of(tracer, end, number, begin):
            found.append(place)
    return found


def _made_of(tracer: Tracer, end: Scalar, number: Symbol, begin: Scalar) -> bool:
    """Whether a number is what it was, or what it was before the loop, on all ways. NB: what an inner loop carries may
    be one of its own alternatives."""
    met: set[str] = set()
    work = [end]
    while work:
        one = work.pop()
        if one == number or (type(one) is type(begin) and repr(one) == repr(begin)):
            continue
        others = tracer.alternatives.get(one.name) if isinstance(one, Symbol) else None
        if not isinstance(one, Symbol) or not others:
            return False
        if one.name not in met:
            met.add(one.name)
            work += others
    return True


def learn_either(attempt: Attempt, path: Path, before: Value | None, after: Value) -> bool:
    """Note that a local holds one kind of value after some iterations and another after others, if so."""
    tracer = attempt.machine.tracer
    forms = forms_of(tracer, before, after, attempt.plan.unpeeled)
    if forms is None:
        return False
    parts = changing_parts(tracer, attempt.region.numbers.get(path), before, after)
    for plan in plans_for(attempt, path[0]):
        _note_either(plan, path, forms, parts)
    return True


def _note_either(plan: LoopPlan, path: Path, forms: tuple[Form, Form], parts: list[int]) -> None:
    plan.guessed_eithers.discard(path[0])
    plan.eithers[path[0]] = forms
    plan.steps.pop(path, None)
    plan.numbers.discard(path)
    plan.guessed.discard(path)
    plan.numbers.update((*path, part) for part in (0, *parts))
    items = forms[0] if isinstance(forms[0], tuple) else ()
    for place, form in enumerate(items):
        if form in ("int", "float", "bool") and len(plan.numbers) < MAX_NUMBERS:
            plan.numbers.add((*path, 1, place))


def learn_objects(attempt: Attempt, path: Path, before: Value | None, after: Value) -> bool:
    """Note that a local is one of a few objects, which data chooses, if so."""
    if before is None or not is_chosen_anew(attempt.machine.tracer, before, after):
        return False
    for plan in plans_for(attempt, path[0]):
        plan.chosen.setdefault(path[0], {}).update(sources_of(before) | sources_of(after))
        plan.steps.pop((*path, 0), None)
        plan.numbers.add((*path, 0))
    return True


def learn_seldom(machine: Machine, name: Name, after: Value | None) -> bool:
    """Note that a local holds another tuple of numbers, `after`, after some iterations only, if so: no iteration
    that is run before the innermost loop makes it one that all have, nor before the loops around that carry it."""
    tracer, own = machine.tracer, machine.attempts[-1]
    is_pair = isinstance(own.before.get(name), SequenceValue) and isinstance(after, SequenceValue)
    if not is_pair or own.plan.unpeeled or own.plan.peel:
        return False
    numbers = [as_scalar(realise(tracer, item)) for item in after.items]  # type: ignore[union-attr]
    if not any(isinstance(one, Symbol) and one.name in tracer.alternatives for one in numbers):
        return False
    for one in machine.attempts:
        if one.frame is own.frame and name in one.before:
            one.plan.unpeeled |= one.plan.peel == 0
    return True


__all__ = [
    *("MAX_NUMBERS", "doubt", "guess", "guess_differing", "guess_kinds", "is_carriable"),
    *("learn_either", "learn_objects", "learn_seldom", "plans_for"),
]

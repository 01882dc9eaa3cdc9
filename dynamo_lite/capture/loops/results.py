"""What a loop leaves: the values behind it, by the path at which the body had them.

Enters: an Attempt whose loop node is complete, and Behind, which knows that node's results. Leaves: arrays and numbers
of the graph around, and tuples of such. INVARIANT: what is one object behind the loop is one value here.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import TYPE_CHECKING, TypeAlias

from dynamo_lite.capture.branches.few_objects import widened
from dynamo_lite.capture.branches.sameness import reachable
from dynamo_lite.capture.calls.numpy_rules import read_result
from dynamo_lite.capture.lists.holdings import with_node
from dynamo_lite.capture.loops.eithers import put_together
from dynamo_lite.capture.loops.number_objects import AT, Behind, Left, Path, listed_under
from dynamo_lite.capture.numbers.complex_numbers import parted
from dynamo_lite.capture.numbers.numbers import as_scalar, steps_of, with_index
from dynamo_lite.capture.objects.aggregates import has_items, is_object, with_items
from dynamo_lite.capture.objects.few_attributes import look_at
from dynamo_lite.capture.objects.places import Place
from dynamo_lite.capture.state import Tracer
from dynamo_lite.capture.value import (
    ArrayValue,
    Carried,
    ComplexValue,
    ConstantValue,
    EitherValue,
    HeldNumber,
    ListedObject,
    NumberValue,
    OneOf,
    RecordValue,
    ResultValue,
    SequenceValue,
    Value,
)
from dynamo_lite.capture.wrap import realise
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.scalar import Scalar, kind_of, make, simplify, substitute

if TYPE_CHECKING:
    from dynamo_lite.capture.loops.loops import Attempt
    from dynamo_lite.capture.loops.surroundings import Name

MakeItem: TypeAlias = "Callable[[Attempt, Path, Value | None, Behind], Value]"


@dataclass(frozen=True, slots=True)
class CarriedTuple:
    """A tuple that a loop carries by its items: before the loop, at the begin of an iteration, and after it."""

    before: Value
    inside: Value
    after: Value


TYPES = {"int": int, "float": float, "bool": bool}


def as_entered(attempt: Attempt, name: Name, value: Value) -> Value:
    """What a loop goes on with of what a name or place holds: a number that a loop before has ended with is read, if
    nothing else has it."""
    machine = attempt.machine
    value = realise(machine.tracer, value)
    is_end = isinstance(name, Place) and isinstance(attempt.owners[name], SequenceValue)
    look_at(machine, value)
    if name in attempt.plan.chosen:
        value = widened(machine.tracer, value, attempt.plan.chosen[name])
    if isinstance(value, HeldNumber | EitherValue) and value.number is not None and not is_end:
        expr = as_scalar(read_result(machine, value.number))
        return value if expr is None else NumberValue(None, expr, value)
    if not isinstance(value, ResultValue) or is_end:
        return value
    attempt.assign(name, ConstantValue(None, None))
    is_held = value in reachable(machine.tracer)
    attempt.assign(name, value)
    return value if is_held else read_result(machine, value)


def trip(attempt: Attempt) -> Scalar:
    """The number of iterations, as len(range(start, stop, step)) has it."""
    away, count = steps_of(attempt.bounds, attempt.forward)
    return count if attempt.machine.tracer.graph.facts.decide(make("ge", away, 0)) else make("max", count, 0)


def value_behind(attempt: Attempt, path: Path, before: Value | None, behind: Behind) -> Value:
    """What is at `path` behind the loop, where `before` was before it."""
    if path in attempt.eithers:
        pieces = enumerate(attempt.eithers[path].before)
        return put_together([value_behind(attempt, (*path, k), part, behind) for k, part in pieces])
    if path in attempt.final:
        return _final_behind(attempt, path, attempt.final[path], behind)
    if path in attempt.next or path in attempt.counts:
        return _number_behind(attempt, path, behind)
    if path in attempt.leaves:
        return array_behind(attempt, path, behind)
    return items_behind(attempt, path, before, behind, value_behind)


def items_behind(attempt: Attempt, path: Path, before: Value | None, behind: Behind, make: MakeItem) -> Value:
    """The tuple, say, at `path`, of what `make` makes of its items; of one that several paths have comes one."""
    before = attempt.parted.get(path, before)
    assert before is not None
    if path in attempt.parted and isinstance(before, SequenceValue):
        if before not in behind.lists:
            behind.lists[before] = _of_items(attempt, path, before, behind, make)
        return behind.lists[before]
    if path not in attempt.tuples:
        is_made = has_items(before) and path not in attempt.region.kept
        return _of_items(attempt, path, before, behind, make) if is_made else before
    after = attempt.tuples[path].after
    if after not in behind.lists:
        kept = (one.before for at, one in attempt.tuples.items() if one.after is after and at in attempt.region.kept)
        behind.lists[after] = next(kept, None) or _of_items(attempt, path, before, behind, make)
    return behind.lists[after]


def _of_items(attempt: Attempt, path: Path, before: Value, behind: Behind, make: MakeItem) -> Value:
    return each_item(attempt.machine.tracer, before, path, lambda at, item: make(attempt, at, item, behind))


def each_item(tracer: Tracer, value: Value, path: Path, make: Callable[[Path, Value], Value]) -> Value:
    """A value like that one, of what `make` makes of each of its items and the path to it."""
    items = [realise(tracer, item) for item in value.items]  # type: ignore[attr-defined]
    return with_items(tracer, value, [make((*path, place), item) for place, item in enumerate(items)])


def note_kept(attempt: Attempt, path: Path, before: Value, after: Value) -> None:
    """Note whether an iteration leaves the very tuple that it found, so that behind the loop it is that from before."""
    if isinstance(before, SequenceValue | RecordValue) and not is_object(before) and before.items:
        attempt.tuples[path] = CarriedTuple(before, attempt.region.kept[path], after)
    if is_object(before) or (after is not before and after is not attempt.region.kept.get(path)):
        attempt.region.kept.pop(path, None)


def untold_tuple(attempt: Attempt) -> Path | None:
    """The path of a tuple of which nobody can tell which object it is behind the loop; None if there is none.

    Paths that have one tuple after an iteration have to have one before the first, too, and the other way round: then
    it does not matter how many there are. A tuple that moves from one path to another (``last = t``) is, after the
    first iteration, one from before the loop, which nothing else may have.
    """
    found = attempt.tuples
    for path, one in found.items():
        if any((one.before is other.before) != (one.after is other.after) for other in found.values()):
            return path
    moved = {one.inside: one.before for path, one in found.items() if path not in attempt.region.kept}
    taken = [path for path, one in found.items() if one.after in moved]
    held = set(reachable(attempt.machine.tracer)) if taken else set[Value]()
    return next((path for path in taken if moved[found[path].after] in held), None)


def made_inside(attempt: Attempt, value: Value) -> bool:
    """Whether `value` holds an array that the body computes, or anything whose parts are not known here."""
    if isinstance(value, ArrayValue):
        return value.node in attempt.region.graph.nodes
    if isinstance(value, SequenceValue) and value.taken is not None:
        return True
    if isinstance(value, SequenceValue | ComplexValue) or (
        isinstance(value, ListedObject | OneOf) and has_items(value)
    ):
        return any(made_inside(attempt, realise(attempt.machine.tracer, item)) for item in value.items)
    return not isinstance(value, NumberValue | ConstantValue) and value.source is None


def is_handed_out(attempt: Attempt, path: Path, after: ArrayValue) -> bool:
    """Whether what the body makes, and nothing like it was there before, is carried from a stand-in on; else the first
    iteration runs before the loop: that makes new places in the order of the stores."""
    is_single = after.node.array_type.scalar and not isinstance(path[0], Place)
    return made_inside(attempt, after) and (attempt.goes_on is not True or is_single)


def array_behind(attempt: Attempt, path: Path, behind: Behind) -> Value:
    """The array, or list, at `path`: what the loop yields, or what was there before it."""
    before, places = attempt.leaves[path][0], behind.places
    return with_node(before, behind.results[places[path]]) if path in places else before


def _final_behind(attempt: Attempt, path: Path, value: Value, behind: Behind) -> Value:
    value = realise(attempt.machine.tracer, value)
    if isinstance(value, SequenceValue):  # INVARIANT: of one object, which several names may have, comes one
        known = behind.lists.get(value)
        if known is None:
            held = [realise(attempt.machine.tracer, item) for item in value.items]
            items = [_final_behind(attempt, (*path, k), item, behind) for k, item in enumerate(held)]
            is_same = all(map(is_, items, held))
            known = behind.lists[value] = value if is_same else SequenceValue(value.source, value.kind, items)
        return known
    if not attempt.is_made(path, value):
        return value
    attempt.region.ends.setdefault(path, value)  # of an inner loop, where nobody has asked yet what it leaves
    return _number_behind(attempt, path, behind)


def _number_behind(attempt: Attempt, path: Path, behind: Behind) -> Value:
    """The number at `path`. Which object that is, the outermost loop says."""
    if not attempt.machine.tracer.regions:
        return behind.number(path)
    number = attempt.merged.get(attempt.first(path))
    if number is None:
        made = made_behind(attempt, path, behind)
        expr = as_scalar(made)
        assert expr is not None
        number = attempt.merged[attempt.first(path)] = NumberValue(None, expr, Carried(attempt.region, path, True))
    return number


def made_behind(attempt: Attempt, path: Path, behind: Behind) -> Value:
    """The number at `path`, as a new object."""
    tracer = attempt.machine.tracer
    if path in attempt.next and tracer.regions:
        loop = attempt.region.loop
        assert loop is not None
        symbol = loop.params["yields"][behind.places[path] - loop.params["carried"]]
        tracer.alternatives[symbol.name] = attempt.begins[path], attempt.next[path]
        return NumberValue(None, symbol)
    if path in attempt.next:
        return behind.result(path, TYPES[kind_of(attempt.next[path])])
    if path in attempt.counts:
        return tracer.number(attempt.counted(path, trip(attempt)))
    start, _, step = attempt.bounds
    last = make("add", start, make("mul", make("sub", trip(attempt), 1), step))
    expr = as_scalar(attempt.region.ends[path])
    assert expr is not None
    return tracer.number(with_index(expr, attempt.region.index, last))


def part_final(attempt: Attempt, live: frozenset[Name], leaves: bool) -> None:
    """Have what an iteration makes, a tuple or a short list, go by its items where the loop is to hand out some.
    leaves: as `Attempt.is_carried` has it."""
    tracer = attempt.machine.tracer
    work = [path for path in attempt.final if path[0] in live]
    for path in work:  # grows
        value = attempt.final[path]
        is_parted = _has_complex(tracer, value) or attempt.is_carried(value, leaves)
        if isinstance(value, SequenceValue) and _is_made_by_items(value) and is_parted:
            for place, item in enumerate(value.items):
                attempt.final[*path, place] = parted(tracer, realise(tracer, item))
                work.append((*path, place))
        elif isinstance(value, ComplexValue):
            attempt.final |= {(*path, place): item for place, item in enumerate(value.items)}
        else:
            continue
        attempt.parted[path] = attempt.final.pop(path)


def _has_complex(tracer: Tracer, value: Value) -> bool:
    """Whether a complex number that only the run knows is in a tuple or list: it is two numbers behind the loop."""
    if isinstance(value, SequenceValue) and _is_made_by_items(value):
        return any(_has_complex(tracer, realise(tracer, item)) for item in value.items)
    return isinstance(value, ComplexValue)


def _is_made_by_items(value: SequenceValue) -> bool:
    is_tuple = value.kind is tuple and value.source is None and value.filled is None and value.taken is None
    return is_tuple or is_object(value)


def closes(attempt: Attempt, path: Path, before: Value | None) -> bool:
    """Whether the number at `path` is also before the first iteration what its expression in the index says."""
    value, start, step = attempt.final[path], attempt.bounds[0], attempt.bounds[2]
    expr = as_scalar(value)
    known = None if before is None or len(path) > 1 else as_scalar(before)
    if expr is None or known is None or kind_of(expr) != "int" or kind_of(known) != "int":
        return False
    first = substitute(expr, {attempt.region.index.name: make("sub", start, step)})
    return bool(simplify(first) == simplify(known))


def final_numbers(attempt: Attempt, live: frozenset[Name]) -> list[tuple[Path, Value]]:
    """The numbers behind the loop that are known without the iterations before the last one, also those in tuples;
    not the ones that there were before the loop."""
    found: list[tuple[Path, Value]] = []
    work = [(path, value) for path, value in attempt.final.items() if path[0] in live]
    for path, value in work:  # grows
        if isinstance(value, SequenceValue):
            items = enumerate(value.items) if value.source is None and value.filled is None else ()
            work += [((*path, k), realise(attempt.machine.tracer, item)) for k, item in items]
        elif attempt.is_made(path, value):
            found.append((path, value))
    return found


def carry_positions(attempt: Attempt) -> None:
    """Hand out, too, where the items of lists stand that the loop hands out."""
    tracer = attempt.machine.tracer
    for path in [path for path in attempt.handed if attempt.first(path) == path]:
        for k, position in enumerate(listed_under(tracer, attempt.held[path])):
            under = (*path, AT, k)
            attempt.begins[under], attempt.next[under] = 0, position.expr
            tracer.carry_number(attempt.region, under, "int")


def numbers_left(attempt: Attempt, live: frozenset[Name]) -> dict[Path, Left]:
    """The numbers that the loop leaves; of those that are one object in any case, one."""
    region, found = attempt.region, dict[Path, Left]()
    for path, value in [*attempt.held.items(), *final_numbers(attempt, live)]:
        region.ends.setdefault(path, value)
        if path[0] in live and path[0] != attempt.at_name and attempt.first(path) == path:
            may_be_first = path in attempt.closed or (path not in attempt.handed and is_tagged(attempt))
            found[path] = Left(region.ends[path], region.begins.get(path) if may_be_first else None)
    for path in attempt.counts.keys() - attempt.held.keys():
        if path[0] in live:
            found[path] = Left(region.ends[path], region.begins.get(path), attempt.plan.steps[path] != 0)
    return found


def is_tagged(attempt: Attempt) -> bool:
    """Whether tags (number_objects.py) tell if there was an iteration: in a loop around, and where no segment can tell
    before."""
    tracer = attempt.machine.tracer
    return len(tracer.regions) > 1 or tracer.varies(attempt.more)

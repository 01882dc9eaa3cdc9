"""Lists and tuples of numbers from outside that a loop reads by number: `w[k]`, `g[i][j]`, `for u, v in edges`.

Enters a NumberedValue with an index that only the run knows. The guards make an array of the numbers at one path
through all items, a *column* (csrc/guards/columns.c), which is an input of the graph: of `[[1, 2], [], [3]]` the column
"lli" is [1, 2, 3], and "lnl", where each inner list begins, [0, 2, 2, 3]. Leaves the item: a number that the program
reads out of a column, or a NestedValue, of which it knows where it lies. INVARIANT: a list that becomes columns is not
stored to in the same program; who asks for all of its items has it known by these in the next attempt.
"""

from __future__ import annotations

import operator
from typing import Any

from dynamo_lite.capture.branches.choices import is_none
from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.lists import listed_objects, listed_scalars
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbers.complex_numbers import of_parts
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.segments.restraints import WHOLE
from dynamo_lite.capture.source import Source
from dynamo_lite.capture.state import ALWAYS_UNROLLED, ENDLESS, Region, Retry, Tracer
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    CallValue,
    ConstantValue,
    IteratorValue,
    LazyValue,
    NestedValue,
    NumberedValue,
    NumberValue,
    SequenceValue,
    SliceValue,
    Value,
)
from dynamo_lite.capture.wrap import NUMBERS, NUMPY_SCALARS, column, is_ordinary, layout_of, present
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.opdef import OpKind
from dynamo_lite.graph.scalar import Scalar, is_symbolic, kind_of, make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.registry import REGISTRY

Indexed = NumberedValue | NestedValue

_LETTERS = {"c": "r"}  # which column says how many items there are
_READ_OFTEN = 64  # a column of at most so many numbers for each iteration is worth being made
_UNROLLED = 128  # iterations of a loop over whole arrays that is unrolled rather
_UNROLLED_ARRAYS = 8  # the same where the lists are of arrays
_SHORT = 4096  # and one of so many where nobody knows how many iterations there are


def open_columns(tracer: Tracer, value: Value) -> None:
    """Have a list or tuple from outside known by columns from the next attempt on, if it holds nothing but numbers."""
    known = tracer.numbered
    if not isinstance(value, SequenceValue) or value.source is None or known is None:
        return
    if value.source in known and (known[value.source] is not None or not _changes_length(tracer, value.source)):
        return
    if not all(isinstance(one, LazyValue) for one in value.known):  # a table of constants, or one that is stored to
        return
    concrete = next((obj for obj, one in tracer.wrapped.values() if one is value), None)
    if concrete is not None and value not in tracer.stored and layout_of(concrete) is not None:
        known[value.source] = True
        raise Retry


def open_long(tracer: Tracer, value: Value) -> None:
    """The same, if it is long, for what goes over it in a loop."""
    if isinstance(value, SequenceValue) and len(value.known) > ALWAYS_UNROLLED and tracer.native_loops:
        open_columns(tracer, value)


def holds_objects(tracer: Tracer, value: SequenceValue) -> bool:
    """Whether a list or tuple from outside holds objects of a class of the user's."""
    concrete = next((obj for obj, one in tracer.wrapped.values() if one is value), None)
    return bool(concrete) and is_ordinary(type(concrete[0]))  # type: ignore[index]


def foresee_columns(tracer: Tracer, value: Value) -> bool:
    """Have a list or tuple from outside, of which nothing has been looked at, known by columns from the first attempt
    on: items by the ten thousand would be too much work. False where that has been given up."""
    known = tracer.numbered
    if not isinstance(value, LazyValue) or type(value.concrete) not in (list, tuple) or known is None:
        return True
    if value.known is None and value.source not in known and value.source is not None:
        known[value.source] = layout_of(value.concrete) is not None
    return bool(known.get(value.source))  # type: ignore[arg-type]


def close_columns(tracer: Tracer) -> None:
    """Have lists known by their items again, since a loop is refused: unrolled it needs their lengths."""
    if tracer.numbered is not None:
        tracer.numbered.update(dict.fromkeys((value.source for value in _read_by_number(tracer)), False))


def _read_by_number(tracer: Tracer) -> list[Any]:
    """The lists known by columns of which a loop has read items, not only NumPy all of them."""
    known = tracer.numbered or {}
    lists = [one for _, one in tracer.wrapped.values() if isinstance(one, NumberedValue) and one.columns]
    return [one for one in lists if one.is_paid or (one.source is not None and known.get(one.source) is not WHOLE)]


def unroll_rather(tracer: Tracer, region: Region, trip: Scalar, iterator: Value | None, place: Any) -> None:
    """Have a short loop over whole arrays unrolled, in which a kernel goes through them once; not one over lists whose
    lengths change from call to call, nor the rest of one, nor one with loops in it, or with branches for which it is to
    stay a loop, nor one over objects that have arrays. iterator: of a `for`; place: of its header."""
    has_loops = any(node.kind is NodeKind.LOOP for node in region.graph.nodes)
    is_rest = isinstance(iterator, IteratorValue) and iterator.is_rest
    if has_loops or is_rest or place in tracer.restraints.rolled or tracer.array_columns:
        return
    is_known = bool(tracer.restraints.objects) and not tracer.varies(trip)
    most = _UNROLLED_ARRAYS if tracer.restraints.arrays else _UNROLLED
    if is_known and any(map(_is_of_arrays, region.graph.nodes)) and tracer.hint(make("le", trip, most)):
        tracer.restraints.objects = tracer.restraints.arrays = False
        raise Retry
    lists = _read_by_number(tracer)
    sources = [one.source for one in lists if one.source is not None and not _changes_length(tracer, one.source)]
    if not sources or len(sources) < len(lists) or tracer.varies(trip):
        return
    is_short = tracer.hint(make("le", trip, _UNROLLED))
    if is_short and tracer.numbered is not None and any(map(_is_of_arrays, region.graph.nodes)):
        tracer.numbered.update(dict.fromkeys(sources))
        raise Retry


def _changes_length(tracer: Tracer, source: Source) -> bool:
    return tracer.lengths is not None and len(tracer.lengths.get(source, ())) > 1


def _is_of_arrays(node: Node) -> bool:
    if node.kind is not NodeKind.CALL or not isinstance(node.type, ArrayType):
        return False
    return REGISTRY[node.op].kind is OpKind.ELEMENTWISE and bool(node.type.shape)


def is_row(value: Value) -> bool:
    """Whether a loop may go over the items of `value` by their numbers."""
    return isinstance(value, NumberedValue) or (isinstance(value, NestedValue) and value.layout[0] != "p")


def length(tracer: Tracer, of: Indexed) -> Scalar:
    """len(of)."""
    if isinstance(of, NestedValue):
        return of.length
    path, layout = of.layout[0], of.layout[1]
    while layout[0] == "p":
        path, layout = f"{path}p{len(layout) - 1}0", layout[1]
    if layout[0] == "o":
        return listed_objects.count(tracer, of, path)
    is_number = layout[0] in NUMBERS
    rows = column(tracer, of, path + (_LETTERS.get(layout[0], layout[0]) if is_number else f"n{layout[0]}"))
    size: Scalar = rows.node.array_type.shape[0]
    return size if is_number else make("sub", size, 1)


def item(machine: Machine, of: Indexed, index: Value) -> Value | None:
    """of[index]; None where the items themselves have to be known for that."""
    tracer = machine.tracer
    number = _index(machine, index)
    if isinstance(of, NestedValue) and of.layout[0] == "p":
        return None if type(number) is not int else _part(machine, of, number, index)
    if number is None:
        return None
    is_number, is_object = of.layout[1][0] in NUMBERS, of.layout[1][0] == "o"
    if isinstance(of, NumberedValue) and not is_object and type(number) is int and (is_number or not tracer.peeling):
        return _known_item(tracer, of, number)
    if isinstance(of, NumberedValue) and not is_object and not tracer.varies(number) and not tracer.peeling:
        return None
    root = of.root if isinstance(of, NestedValue) else of
    _have_paid(machine, root)
    sub = of.layout[1]
    if isinstance(of, NumberedValue):
        position = number if is_number else _within(tracer, number, length(tracer, of))
        return _at(machine, root, sub, of.layout[0], position, of, index)
    position = make("add", of.start, _within(tracer, number, of.length))
    return _at(machine, root, sub, of.path + of.layout[0], position, of, index)


def part(machine: Machine, of: NumberedValue, index: SliceValue) -> Value | None:
    """of[start:stop], a list of the same objects; None of a list of numbers, or with a step.

    NB: which object a number of a list is, is known by where it stands in that list itself (number_objects.py)."""
    tracer, count = machine.tracer, length(machine.tracer, of)
    if of.layout[1][0] != "o" or of.layout[0] != "l" or not is_none(index.step):
        return None
    ends = (ConstantValue(None, 0) if is_none(index.start) else index.start, index.stop)
    begin, end = (count if is_none(one) else _end(tracer, _index(machine, one), count) for one in ends)
    made = NestedValue(None, operator.getitem, [of, index], of, of.layout, "", begin)
    is_forward = _holds(tracer, make("le", begin, end))
    made.length = make("sub", end, begin) if is_forward else make("max", 0, make("sub", end, begin))
    return made


def _end(tracer: Tracer, number: Scalar | None, count: Scalar) -> Scalar:
    """Where a slice begins or ends, which has that for a bound; the program declines where only the run knows whether
    that is counted from the end."""
    if number is None:
        raise Break("unsupported-operation", "a slice by what is no int")
    if tracer.graph.facts.decide(make("lt", number, 0)) is True:
        return make("max", 0, make("add", number, count))
    if not _holds(tracer, make("ge", number, 0)):
        _have(tracer, make("ge", number, 0))
    return number if _holds(tracer, make("le", number, count)) else make("min", number, count)


def parts(machine: Machine, of: NestedValue) -> list[Value]:
    """The items of a tuple that stands in a list, as many as all of these have."""
    found = [item(machine, of, ConstantValue(None, place)) for place in range(len(of.layout) - 1)]
    return [one for one in found if one is not None]


def _index(machine: Machine, index: Value) -> Scalar | None:
    """The int that an index is, maybe one that only the run knows."""
    if isinstance(index, ArrayValue) and index.node.array_type.scalar and index.node.array_type.dtype.kind in "iu":
        index = numpy_rules.read_number(machine, index) or index
    number = as_scalar(index)
    return number if number is not None and kind_of(number) == "int" else None


def _known_item(tracer: Tracer, of: NumberedValue, place: int) -> Value | None:
    """An item of which capture knows the place, as the object that it is."""
    if not -len(of.concrete) <= place < len(of.concrete):
        return None
    if place not in of.singles:
        assert of.source is not None
        of.singles[place] = present(tracer, of.source.item(place), of.concrete[place])
    return of.singles[place]


def _part(machine: Machine, of: NestedValue, place: int, index: Value) -> Value | None:
    count = len(of.layout) - 1
    if not -count <= place < count:
        raise Break("python-exception", "IndexError")
    place %= count
    return _at(machine, of.root, of.layout[1 + place], f"{of.path}p{count}{place}", of.start, of, index)


def _within(tracer: Tracer, number: Scalar, count: Scalar) -> Scalar:
    """An index as one of range(count), from whose end a negative one counts; the program declines where it is none."""
    if not _holds(tracer, make("ge", number, 0)):
        is_negative = make("min", 1, make("max", 0, make("neg", number)))
        number = make("add", number, make("mul", count, is_negative))
        _have(tracer, make("ge", number, 0))
    _have(tracer, make("lt", number, count))
    return number


def _holds(tracer: Tracer, condition: Scalar) -> bool:
    return tracer.graph.facts.decide(condition) is True


def _have(tracer: Tracer, condition: Scalar) -> None:
    """See that a condition holds, at the call or when the program gets there."""
    known = tracer.graph.facts.decide(condition)
    if known is None and tracer.varies(condition):
        tracer.require(condition)
    elif known is False or (known is None and not tracer.relate(condition)):
        raise Break("python-exception", "IndexError")


def _at(
    machine: Machine, root: NumberedValue, layout: Any, path: str, position: Scalar, of: Indexed, index: Value
) -> Value:
    """What stands at a position of all that `path` leads to: of[index]."""
    tracer = machine.tracer
    if layout[0] in NUMBERS:
        return _number(machine, root, path + layout[0], position, of, index)
    if layout[0] == "o":
        return listed_objects.find(machine.tracer, root, layout[1], path, position, [of, index])
    made = NestedValue(None, operator.getitem, [of, index], root, layout, path, position)
    if layout[0] != "p":
        offsets = column(tracer, root, f"{path}n{layout[0]}")
        begin, end = (_read(machine, offsets, place) for place in (position, make("add", position, 1)))
        made.start, made.length = begin, make("sub", end, begin)
        for number in (begin, made.length):
            _have(tracer, make("ge", number, 0))
    return made


def _number(machine: Machine, root: NumberedValue, path: str, position: Scalar, of: Indexed, index: Value) -> Value:
    """A number in a list, which is an object that there is already."""
    tracer = machine.tracer
    if path[-1] in NUMPY_SCALARS:
        return listed_scalars.read(machine, root, column(tracer, root, path), position)
    if path[-1] == "c":
        return _complex(machine, root, path[:-1], position, CallValue(None, operator.getitem, [of, index]))
    expr = _read(machine, column(tracer, root, path), position)
    if not is_symbolic(expr):
        return tracer.number(expr)
    key = (tracer.graph, expr)
    if key not in root.numbers:
        tracer.alternatives.pop(expr.name, None)  # type: ignore[union-attr]
        root.numbers[key] = NumberValue(None, expr, CallValue(None, operator.getitem, [of, index]))
    return root.numbers[key]


def _complex(machine: Machine, root: NumberedValue, path: str, position: Scalar, item: CallValue) -> Value:
    """A complex number in a list, by its parts; the real one says which object it is (complex_numbers.py)."""
    tracer = machine.tracer
    re, im = (_read(machine, column(tracer, root, path + letter), position) for letter in "rj")
    if not is_symbolic(re) or not is_symbolic(im):
        raise Break("data-dependent-number", "an item of a list")
    key = (tracer.graph, re)
    if key not in root.numbers:
        for part in (re, im):
            tracer.alternatives.pop(part.name, None)  # type: ignore[union-attr]
        root.numbers[key] = NumberValue(None, re, item)
        root.numbers[tracer.graph, im] = NumberValue(None, im)
    return of_parts(tracer, root.numbers[key], root.numbers[tracer.graph, im])


def _read(machine: Machine, numbers: ArrayValue, position: Scalar) -> Scalar:
    element = numpy_rules.get_item(machine, numbers, machine.tracer.number(position))
    read = numpy_rules.read_number(machine, element)
    expr = None if read is None else as_scalar(read)
    if expr is None:
        raise Break("data-dependent-number", "an item of a list")
    node = machine.tracer.graph.nodes[-1]
    if expr in node.params.get("yields", ()):
        node.params["listed"] = True  # plainly it costs nothing but the instruction
    return expr


def _have_paid(machine: Machine, root: NumberedValue) -> None:
    """See that making the columns costs little beside the loops that read them."""
    tracer = machine.tracer
    if root.is_paid:
        return
    root.is_paid = True
    is_flat = root.layout[1][0] in NUMBERS
    stored = [one for one in tracer.stored if isinstance(one, SequenceValue) and not isinstance(one, NumberedValue)]
    tracer.note_reading()
    if (tracer.grown and not is_flat) or stored:
        root.give_up()
    trips: list[Scalar] = []
    loops = (region for region in tracer.regions if region.index.name)
    around = [loop.bounds for loop in loops if loop.bounds[1] != ENDLESS]
    for start, stop, step in [*around, *([tracer.ahead] if tracer.ahead else [])]:
        if not any(map(tracer.varies, (start, stop, step))) and type(step) is int:
            trips.append(make("floordiv", make("sub", stop, start), step))
    rounds: Scalar = _READ_OFTEN if trips else _SHORT
    for trip in trips:
        rounds = make("mul", rounds, trip)
    enough = make("le", length(tracer, root), rounds)
    if not tracer.relate(enough):
        root.give_up()


__all__ = [
    *("close_columns", "foresee_columns", "holds_objects", "is_row", "item", "length", "open_columns", "open_long"),
    *("part", "parts", "unroll_rather"),
]

"""Tuples, lists, dicts and slices: building, unpacking, indexing and changing those made in this segment."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

from dynamo_lite import ops
from dynamo_lite.capture.branches.choices import choose, either_way, is_none, split, split_each
from dynamo_lite.capture.branches.conditions import not_none
from dynamo_lite.capture.branches.sameness import reachable, types_agree
from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.calls.folding import check_items, python_result
from dynamo_lite.capture.handlers.stack import constant_value
from dynamo_lite.capture.iteration.iterators import drain
from dynamo_lite.capture.kinds import a_kind, kind_name
from dynamo_lite.capture.lists import cells, columns, lists, object_lists, outside_items, rows
from dynamo_lite.capture.machine import Machine, as_constant, handles
from dynamo_lite.capture.numbers.numbers import as_operand, as_scalar, holds
from dynamo_lite.capture.numbers.words import source_text
from dynamo_lite.capture.objects import places
from dynamo_lite.capture.state import Frame, Raised, Tracer
from dynamo_lite.capture.texts import formatted, item_of, joined, length_of_text
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    CellRow,
    ConstantValue,
    DictValue,
    DictViewValue,
    EitherValue,
    InstanceValue,
    IteratorValue,
    LazyValue,
    ListValue,
    NestedValue,
    NumberedValue,
    NumberValue,
    ObjectValue,
    RangeValue,
    RecordValue,
    SequenceValue,
    SliceValue,
    TextValue,
    Value,
    computed_number,
)
from dynamo_lite.capture.wrap import is_changed_unread, layout_of, realise
from dynamo_lite.graph.scalar import Scalar, ScalarOp, is_symbolic, kind_of, make
from dynamo_lite.pycode import Instr


@handles("BUILD_TUPLE")
def build_tuple(machine: Machine, frame: Frame, instr: Instr) -> None:
    frame.push(SequenceValue(None, tuple, frame.popn(instr.arg)))


@handles("BUILD_LIST")
def build_list(machine: Machine, frame: Frame, instr: Instr) -> None:
    frame.push(SequenceValue(None, list, frame.popn(instr.arg)))


@handles("BUILD_MAP")
def build_map(machine: Machine, frame: Frame, instr: Instr) -> None:
    flat = frame.popn(2 * instr.arg)
    items = {dict_key(machine, key): value for key, value in zip(flat[::2], flat[1::2], strict=True)}
    frame.push(DictValue(None, items))


@handles("BUILD_CONST_KEY_MAP")
def build_const_key_map(machine: Machine, frame: Frame, instr: Instr) -> None:
    keys = as_constant_tuple(machine, frame.stack.pop())
    frame.push(DictValue(None, dict(zip(keys, frame.popn(instr.arg), strict=True))))


@handles("BUILD_SLICE")
def build_slice(machine: Machine, frame: Frame, instr: Instr) -> None:
    parts = machine.popn(frame, instr.arg)
    if len(parts) == 2:
        parts.append(ConstantValue(None, None))
    frame.push(SliceValue(None, parts[0], parts[1], parts[2]))


@handles("BUILD_STRING", "FORMAT_VALUE", "CONVERT_VALUE", "BUILD_INTERPOLATION", "BUILD_TEMPLATE")
def build_string(machine: Machine, frame: Frame, instr: Instr) -> None:
    tracer, has_spec = machine.tracer, instr.op == "FORMAT_VALUE" and instr.arg[1]
    count = {"FORMAT_VALUE": 1 + has_spec, "CONVERT_VALUE": 1, "BUILD_STRING": instr.arg}.get(instr.op)
    if count is None or not (tracer.regions or tracer.peeling):
        raise Break("format-string", source_text(frame))
    parts = machine.popn(frame, count)
    if instr.op == "BUILD_STRING":
        made = joined(parts)
    else:
        made = formatted(*parts, instr.arg[0] if instr.op == "FORMAT_VALUE" else instr.arg)
    if made is None:
        raise Break("format-string", source_text(frame))
    frame.push(made)


@handles("BUILD_SET", "SET_ADD", "SET_UPDATE", "DICT_MERGE")
def build_set(machine: Machine, frame: Frame, instr: Instr) -> None:
    if instr.op == "DICT_MERGE":
        update = machine.pop(frame)
        target = realise(machine.tracer, frame.stack[-instr.arg])
        if isinstance(update, DictValue) and isinstance(target, DictValue) and target.source is None:
            if set(update.items) & set(target.items):
                raise Break("python-exception", "TypeError: multiple values for keyword argument")
            target.items.update(update.items)
            return
    raise Break("unsupported-operation", "a dict merged into another" if instr.op == "DICT_MERGE" else "a set")


def dict_key(machine: Machine, value: Value) -> object:
    key = as_constant(machine, value)
    if type(key) not in (str, int, bool, type(None), float, bytes):
        raise Break("unsupported-value", f"dict key of type {type(key).__name__}")
    if key != key:
        raise Break("unsupported-value", "a nan as dict key")  # found by which object it is
    return key


def as_constant_tuple(machine: Machine, value: Value) -> tuple[object, ...]:
    value = realise(machine.tracer, value)
    if isinstance(value, SequenceValue):
        return tuple(as_constant(machine, item) for item in value.items)
    constant = as_constant(machine, value)
    assert isinstance(constant, tuple)
    return constant


def _own_list(machine: Machine, value: Value) -> SequenceValue:
    value = realise(machine.tracer, value)
    if isinstance(value, SequenceValue) and value.kind is list and value.source is None:
        return value
    raise Break("side-effect-container", "a list display")


@handles("LIST_APPEND")
def list_append(machine: Machine, frame: Frame, instr: Instr) -> None:
    item = frame.stack.pop()
    outside = frame.stack[-instr.arg]
    if isinstance(outside, LazyValue) and type(outside.concrete) is list:  # of a comprehension that was entered
        lists.append_outside(machine, outside, item)
        return
    target = realise(machine.tracer, outside)
    if isinstance(target, ListValue):
        object_lists.put(machine, target, None, item)
        return
    lists.append(machine, _own_list(machine, target), item)


@handles("LIST_EXTEND")
def list_extend(machine: Machine, frame: Frame, instr: Instr) -> None:
    items = drain(machine, machine.pop(frame))
    own = _own_list(machine, frame.stack[-instr.arg])
    check_items(len(own.items) + len(items))
    own.items.extend(items)


@handles("MAP_ADD")
def map_add(machine: Machine, frame: Frame, instr: Instr) -> None:
    key, item = frame.popn(2)
    outside = frame.stack[-instr.arg]
    if isinstance(outside, LazyValue) and lists.put_outside(machine, outside, key, item):
        return
    target = realise(machine.tracer, outside)
    if not isinstance(target, DictValue) or target.source is not None:
        raise Break("side-effect-container", "a dict display")
    if not lists.put(machine, target, realise(machine.tracer, key), item):
        target.items[dict_key(machine, key)] = item


@handles("DICT_UPDATE")
def dict_update(machine: Machine, frame: Frame, instr: Instr) -> None:
    update = machine.pop(frame)
    target = realise(machine.tracer, frame.stack[-instr.arg])
    if not isinstance(target, DictValue) or target.source is not None or not isinstance(update, DictValue):
        raise Break("side-effect-container", "a dict display")
    target.items.update(update.items)


@handles("LIST_TO_TUPLE")
def list_to_tuple(machine: Machine, frame: Frame, instr: Instr) -> None:
    value = _own_list(machine, frame.stack.pop())
    frame.push(SequenceValue(None, tuple, list(value.items)))


@handles("UNPACK_SEQUENCE")
def unpack_sequence(machine: Machine, frame: Frame, instr: Instr) -> None:
    value = machine.pop(frame)
    value = _by_parts(machine, value) or value
    if isinstance(value, ListValue):
        items = object_lists.unpack(machine, value, instr.arg)
    elif isinstance(value, ArrayValue):
        items = numpy_rules.unpack(machine, value, instr.arg)
    else:
        items = drain(machine, value)
    if len(items) != instr.arg:
        raise Break("unpack", f"{len(items)} items into {instr.arg} names")
    frame.stack.extend(reversed(items))


@handles("UNPACK_EX")
def unpack_ex(machine: Machine, frame: Frame, instr: Instr) -> None:
    before, after = instr.arg
    items = drain(machine, machine.pop(frame))
    if len(items) < before + after:
        raise Break("unpack", f"{len(items)} items into {before + after} names")
    split = len(items) - after
    middle: Value = SequenceValue(None, list, items[before:split])
    frame.stack.extend(reversed([*items[:before], middle, *items[split:]]))


# -- indexing ------------------------------------------------------------------------------------


@handles("BINARY_SUBSCR")
def binary_subscr(machine: Machine, frame: Frame, instr: Instr) -> None:
    index = machine.realised(frame.stack[-1])
    found = outside_items.in_list(machine.tracer, frame.stack[-2], index)
    container, index = machine.popn(frame, 2) if found is None else frame.popn(2)
    frame.push(get_item(machine, container, index) if found is None else found)


@handles("STORE_SUBSCR")
def store_subscr(machine: Machine, frame: Frame, instr: Instr) -> None:
    item, target, key = frame.stack[-3:]
    if isinstance(target, LazyValue) and lists.put_outside(machine, target, key, item):
        del frame.stack[-3:]
        return
    if not _replaces(machine, frame.stack[-2], frame.stack[-1]) and is_changed_unread(machine.tracer, frame.stack[-2]):
        raise Break("side-effect-container", f"item assignment to {a_kind(frame.stack[-2])}")
    value, container, index = machine.popn(frame, 3)
    set_item(machine, container, index, value)


def _replaces(machine: Machine, container: Value, index: Value) -> bool:
    """Whether a loop replaces an item of a list or dict from outside by another one, so that its length stays.

    (Outside of loops the store breaks the graph: the length may be another one at each call.)"""
    tracer = machine.tracer
    concrete: Any = container.concrete if isinstance(container, LazyValue) else None
    if type(concrete) not in (list, dict) or not tracer.defers or not (tracer.in_loop or tracer.peeling):
        return False
    key = realise(machine.tracer, index)
    if not isinstance(key, ConstantValue) or isinstance(key, TextValue) or type(key.value) not in (int, str):
        return False
    return bool(key.value in concrete if isinstance(concrete, dict) else 0 <= key.value < len(concrete))


@handles("DELETE_SUBSCR")
def delete_subscr(machine: Machine, frame: Frame, instr: Instr) -> None:
    raise Break("side-effect-container", "del")


_BY_PARTS = RangeValue | IteratorValue | ListValue | NumberedValue | NestedValue | SequenceValue


def _of_range(machine: Machine, container: RangeValue, index: Value) -> Value:
    """An item of a range, or another range of some of its items: ``[::-1]`` of one over sizes, others of known ones."""
    is_slice = isinstance(index, SliceValue)
    if is_slice and container.step == 1 and constant_index(machine, index) == slice(None, None, -1):
        before, last = make("sub", container.start, 1), make("sub", container.stop, 1)
        has_items = machine.tracer.relate(make("lt", container.start, container.stop))
        return RangeValue(None, last if has_items else before, before, -1)
    if not is_slice and (found := _item_of_range(machine, container, index)) is not None:
        return found
    bounds = (container.start, container.stop, container.step)
    numbers = range(*(as_constant(machine, NumberValue(None, bound)) for bound in bounds))
    if not is_slice:
        return python_result(numbers.__getitem__, as_constant(machine, index))
    try:
        part: Any = numbers[constant_index(machine, index)]
    except (TypeError, ValueError) as error:
        raise Break("python-exception", type(error).__name__) from None
    return RangeValue(None, part.start, part.stop, part.step)


def _item_of_range(machine: Machine, container: RangeValue, index: Value) -> NumberValue | None:
    """An item of a range over sizes, or under a number that a loop changes; None where all of it is known."""
    tracer, step = machine.tracer, container.step
    place = as_scalar(numpy_rules.read_int(machine, index) if tracer.in_loop else index)
    if place is None or kind_of(place) != "int" or type(step) is not int:
        return None
    if not any(map(is_symbolic, (place, container.start, container.stop))):
        return None
    way = make("sub", container.stop, container.start)
    count = way if step == 1 else make("floordiv", make("add", way, make("sub", step, 1 if step > 0 else -1)), step)
    for bound in (make("lt", place, count), make("ge", make("add", place, count), 0)):
        if not (holds(tracer, bound) if is_symbolic(bound) else bound):
            raise Break("python-exception", "IndexError")
    if not tracer.graph.facts.decide(make("ge", place, 0)):
        is_negative = make("min", 1, make("max", 0, make("neg", place)))
        place = make("add", place, make("mul", count, is_negative))
    return NumberValue(None, make("add", container.start, make("mul", place, step)))


def _of_flat(machine: Machine, flat: IteratorValue, index: Value) -> Value:
    """``x.flat[k]`` or ``x.flat[a:b]``: of the elements in order, in an array of their own.

    An iterator that somebody has would begin anew."""
    (array,) = flat.items
    if flat in reachable(machine.tracer, by_callers=True):
        raise Break("unsupported-operation", "indexing of a flat iterator that is kept")
    number = as_scalar(index)
    if not isinstance(index, SliceValue) and (number is None or kind_of(number) != "int"):
        raise Break("unsupported-operation", f"indexing of a flat iterator by {a_kind(index)}")
    assert isinstance(array, ArrayValue)
    found = get_item(machine, numpy_rules.call_method(machine, array, "ravel", [], {}), index)
    if not isinstance(index, SliceValue):
        return found
    assert isinstance(found, ArrayValue)
    return numpy_rules.call_method(machine, found, "copy", [], {})


def get_item(machine: Machine, container: Value, index: Value) -> Value:
    """container[index]."""
    if type(index) is ConstantValue and isinstance(container, _BY_PARTS) and type(index.value) is slice:
        known = index.value  # from 3.14 a slice of constants is a constant, which other containers may keep
        index = SliceValue(None, *(ConstantValue(None, part) for part in (known.start, known.stop, known.step)))
    container = not_none(machine, container)
    match container:
        case ArrayValue():
            return numpy_rules.get_item(machine, container, _as_index(machine, index))
        case _ if isinstance(index, EitherValue):
            return split(machine, index, lambda one: get_item(machine, container, one))
        case EitherValue():
            return split(machine, container, lambda one: get_item(machine, one, index))
        case ListValue() if isinstance(index, SliceValue) and is_none(index.step):
            ends = (None if is_none(end) else end for end in (index.start, index.stop))
            return object_lists.copy(machine, container, *ends)
        case ListValue() if not isinstance(index, SliceValue):
            return object_lists.get(machine, container, index)
        case NumberedValue() | NestedValue() if (found := columns.item(machine, container, index)) is not None:
            return found
        case NumberedValue() if isinstance(index, SliceValue) and (found := columns.part(machine, container, index)):
            return found
        case NumberedValue() if not isinstance(index, SliceValue):
            place = ConstantValue(None, constant_index(machine, index))
            if isinstance(place.value, int) and (found := columns.item(machine, container, place)) is not None:
                return found
            raise Break("python-exception", "IndexError")
        case SequenceValue():
            if container.cells is not None and not isinstance(index, SliceValue):
                return cells.get(machine, container, index)
            if machine.tracer.in_loop and not isinstance(index, SliceValue):
                index = numpy_rules.read_int(machine, index)
            if machine.tracer.in_loop and isinstance(index, NumberValue) and machine.tracer.varies(index.expr):
                back = lists.from_end(machine.tracer, container, index.expr)
                item = None if back is None else lists.latest(machine.tracer, container, back)
                if item is not None:
                    return item
                is_open = container.is_grown or container.times is not None or _has_columns(machine, container)
                one = None if is_open else _one_of(machine, container.known, index.expr)
                if one is not None:
                    return one
                columns.open_columns(machine.tracer, container)
                cells.want(machine.tracer, container)
            key = constant_index(machine, index)
            if isinstance(key, int) and (item := lists.latest(machine.tracer, container, -key)) is not None:
                return item
            try:
                if not isinstance(key, slice):
                    return container.items[key]
                if container.kind is tuple and key.indices(len(container.items)) == (0, len(container.items), 1):
                    return container  # as CPython gives a whole tuple
                return SequenceValue(None, container.kind, container.items[key])
            except (IndexError, TypeError, ValueError) as error:  # a slice of floats, one with step 0
                raise Break("python-exception", type(error).__name__) from None
        case CellRow() if not isinstance(index, SliceValue):
            return cells.get_of_row(machine, container, index)
        case RecordValue():
            return get_item(machine, SequenceValue(None, tuple, container.items), index)
        case DictValue() if (found := outside_items.in_dict(machine.tracer, container, index)) is not None:
            return found
        case DictValue() if (array := lists.take(machine, container, index)) is not None:
            return array
        case DictValue() if (chosen := _under_one_of(machine, container, index)) is not None:
            return chosen
        case DictValue():
            name = dict_key(machine, index)
            if name not in container.items:
                raise Break("python-exception", "KeyError")
            return container.items[name]
        case RangeValue():
            return _of_range(machine, container, index)
        case IteratorValue() if container.kind == "flat" and not container.taken:
            return _of_flat(machine, container, index)
        case ObjectValue() if (spelling := ops.subscript(container.concrete)) is not None:
            assert container.source is not None
            machine.tracer.facts.state("is", container.source, container.concrete)
            items = index.items if isinstance(index, SequenceValue) and index.kind is tuple else [index]
            return numpy_rules.bind(machine, spelling, items, {})
        case ObjectValue() | InstanceValue():
            return machine.call_special(container, "__getitem__", [index])
        case TextValue() if (item := item_of(machine, container, index)) is not None:
            return item
        case ConstantValue() if isinstance(container.value, tuple) and _is_open(machine, index):
            among: list[Value] = [ConstantValue(None, item) for item in container.value]
            whole = numpy_rules.read_int(machine, index)
            assert isinstance(whole, NumberValue)
            one = _one_of(machine, among, whole.expr)
            return one if one is not None else get_item(machine, SequenceValue(None, tuple, among), whole)
        case ConstantValue() if isinstance(container.value, str | bytes | tuple):
            found = python_result(operator.getitem, container.value, constant_index(machine, index))
            if type(found) is ConstantValue and isinstance(found.value, tuple):
                return constant_value(found.value)
            return as_operand(found, (container, container))
    raise Break("unsupported-operation", f"indexing {a_kind(container)}")


_FEW = 8  # numbers of a list made here among which a loop chooses by an index that only the run knows


def _is_open(machine: Machine, index: Value) -> bool:
    """Whether a loop gives an index that only the run knows."""
    whole = numpy_rules.read_int(machine, index) if machine.tracer.in_loop else index
    return isinstance(whole, NumberValue) and machine.tracer.in_loop and machine.tracer.varies(whole.expr)


def _has_columns(machine: Machine, container: SequenceValue) -> bool:
    """Whether a short list from outside is one that columns (columns.py) stand for, whatever its length."""
    if container.source is None or len(container.known) > _FEW:
        return False
    found = (obj for obj, one in machine.tracer.wrapped.values() if one is container)
    return layout_of(next(found, ())) is not None


def _one_of(machine: Machine, items: list[Value], index: Scalar) -> Value | None:
    """The item with that number, from the end where it is negative, of a few numbers of one kind, strings, arrays of
    one type, or lists or tuples of numbers; None for other items. An index that is none of theirs declines."""
    tracer = machine.tracer

    def tests() -> list[Scalar] | None:
        bounds = make("ge", index, -len(items)), make("lt", index, len(items))
        if not all(holds(tracer, bound) for bound in bounds if is_symbolic(bound)):
            return None
        is_positive = tracer.graph.facts.decide(make("ge", index, 0))
        place = index if is_positive else make("mod", index, len(items))
        return [make("eq", place, number) for number in range(len(items))]

    return _chosen(machine, items, tests)


def _under_one_of(machine: Machine, container: DictValue, index: Value) -> Value | None:
    """The same of a dict with few ints as keys. An index that is none of them declines."""
    tracer = machine.tracer
    number = as_scalar(numpy_rules.read_int(machine, index)) if tracer.in_loop and container.filled is None else None
    if number is None or kind_of(number) != "int" or not tracer.varies(number):
        return None
    if any(type(key) is not int for key in container.items):
        return None

    def tests() -> list[Scalar] | None:
        found = [make("eq", number, key) for key in container.items]
        return found if holds(tracer, reduce(partial(make, "or"), found)) else None

    return _chosen(machine, list(container.items.values()), tests)


def _chosen(machine: Machine, items: list[Value], tests: Callable[[], list[Scalar] | None]) -> Value | None:
    """The item whose test holds; None where they cannot be chosen among, or there are no tests. A tuple that is taken
    apart at once is chosen by its parts."""
    tracer = machine.tracer
    if not 0 < len(items) <= _FEW:
        return None
    items = [realise(tracer, item) for item in items]
    rows = [_parts_of(item) for item in items]
    lengths = {-1 if row is None else len(row) for row in rows}
    by_parts = len(lengths) == 1 and -1 not in lengths and _is_taken_apart(machine)
    groups = list(zip(*rows, strict=True)) if by_parts else [items]
    among = [[realise(tracer, item) for item in group] for group in groups]
    if not all(_are_alike(tracer, group) for group in among):
        return None
    conditions = tests()
    if conditions is None:
        return None
    parts = []
    for group in among:
        found = group[-1]
        for condition, item in list(zip(conditions, group, strict=True))[-2::-1]:
            if isinstance(item, ArrayValue):  # of one type by the guards, not in name
                found = either_way(machine, condition, *(partial(_itself, value) for value in (item, found)))
            else:
                found = choose(machine, condition, item, found)
        parts.append(found)
    return SequenceValue(None, tuple, parts) if by_parts else parts[0]


def _itself(value: Value) -> Value:
    return value


def _are_alike(tracer: Tracer, items: list[Value]) -> bool:
    """Whether items are numbers of one kind, strings, arrays of one type, or lists or tuples of numbers."""
    if all(isinstance(item, ConstantValue) and type(item.value) is str for item in items):
        return True
    numbers = [as_scalar(item) for item in items]
    kinds = {None if number is None else kind_of(number) for number in numbers}
    if len(kinds) == 1 and kinds <= {"bool", "int", "float"}:
        return True
    arrays = [item for item in items if isinstance(item, ArrayValue) and item.number is None]
    if len(arrays) == len(items):
        return all(types_agree(tracer, arrays[0].node.array_type, one.node.array_type) for one in arrays[1:])
    return all(isinstance(item, SequenceValue) and _holds_numbers(tracer, item) for item in items)


def _holds_numbers(tracer: Tracer, sequence: SequenceValue) -> bool:
    if sequence.is_grown or sequence.ends or sequence.cells is not None or sequence.times is not None:
        return False
    return all(as_scalar(realise(tracer, item)) is not None for item in sequence.known)


def _parts_of(item: Value) -> list[Value] | None:
    """The items of a tuple made here, or of one of the code's constants."""
    if isinstance(item, SequenceValue) and item.kind is tuple and not item.is_grown:
        return item.known or None
    if type(item) is ConstantValue and type(item.value) is tuple:
        return [ConstantValue(None, one) for one in item.value] or None
    return None


def _by_parts(machine: Machine, value: Value) -> SequenceValue | None:
    """One tuple of numbers or another, where nobody asks which object it is, as one of numbers that are one or another;
    None for other values."""
    if not isinstance(value, EitherValue) or isinstance(value.condition, Value):
        return None
    sides = []
    for one in (value.first, value.second):
        one = realise(machine.tracer, one)
        found = _by_parts(machine, one) if isinstance(one, EitherValue) else one
        parts = None if found is None else _parts_of(found)
        if parts is None or not all(_is_number(realise(machine.tracer, part)) for part in parts):
            return None
        sides.append(parts)
    if len(sides[0]) != len(sides[1]):
        return None
    return SequenceValue(None, tuple, [choose(machine, value.condition, *pair) for pair in zip(*sides, strict=True)])


def _is_number(part: Value) -> bool:
    return isinstance(part, EitherValue) or as_scalar(part) is not None


def _is_taken_apart(machine: Machine) -> bool:
    """Whether what the instruction at hand yields is unpacked by the next one, here or where inlined calls return to,
    so that nobody can tell which tuple it was."""
    for frame in reversed(machine.tracer.frames):
        op = frame.code.instrs[frame.index].op
        if op != "RETURN_VALUE":
            return op == "UNPACK_SEQUENCE"
    return False


def constant_index(machine: Machine, index: Value) -> int | slice:
    """An index into a Python sequence, known now."""
    if isinstance(index, SliceValue):
        return slice(*(_constant_int(machine, part) for part in (index.start, index.stop, index.step)))
    key = _constant_int(machine, index)
    if not isinstance(key, int | slice):  # from 3.14 a slice of constants is a constant
        raise Break("unsupported-operation", f"an index of type {kind_name(key)}")
    return key


def _constant_int(machine: Machine, value: Value) -> Any:
    """An index, or a part of one, as the constant it is in this call. An integer of NumPy's, which a list takes as the
    int that it holds, is known as that if it comes from outside."""
    return as_constant(machine, numpy_rules.read_int(machine, value))


def _as_index(machine: Machine, index: Value) -> Value:
    """An index of an array, in which an integer that is Python's or NumPy's, `min(k, n)` say, is the number it is."""
    index = _by_parts(machine, index) or index
    if isinstance(index, EitherValue):
        graph = machine.tracer.graph
        if index.whole is None or index.whole[0] is not graph:  # `x[i:j] *= 2` asks twice
            index.whole = graph, split(machine, index, lambda one: _whole(machine, one))
        return index.whole[1]
    if isinstance(index, SliceValue) and any(isinstance(one, EitherValue) for one in (index.start, index.stop)):
        return SliceValue(None, _as_index(machine, index.start), _as_index(machine, index.stop), index.step)
    if isinstance(index, SequenceValue) and index.kind is tuple and index.source is None:
        found = [_as_index(machine, machine.realised(item)) for item in index.items]
        same = all(one is machine.realised(item) for one, item in zip(found, index.items, strict=True))
        return index if same else SequenceValue(None, tuple, found)
    return index


def _whole(machine: Machine, value: Value) -> Value:
    """An integer of Python's or NumPy's as a number."""
    if isinstance(value, ArrayValue) and value.node.array_type.scalar and value.node.array_type.dtype.kind in "iu":
        value = numpy_rules.read_number(machine, value, asked=True) or value
    number = as_scalar(value)
    if number is None or kind_of(number) != "int":
        raise Break("op-without-rule", "an index that is no integer in some iterations")
    return value


def _set_each(machine: Machine, container: ArrayValue, index: Value, value: Value) -> bool:
    """``container[index] = [a, b, c]`` where some are either Python's or NumPy's numbers: each is stored alone."""
    if not isinstance(value, SequenceValue) or value.filled is not None or value.cells is not None:
        return False
    items = [realise(machine.tracer, item) for item in value.known]
    if not any(isinstance(item, EitherValue) for item in items):
        return False
    row = numpy_rules.get_item(machine, container, _as_index(machine, index))
    type_ = row.node.array_type if isinstance(row, ArrayValue) and row.node.op == "basic_index" else None
    if type_ is None or type_.ndim != 1 or not machine.tracer.relate(make("eq", type_.shape[0], len(items))):
        return False
    for place, item in enumerate(items):
        set_item(machine, row, ConstantValue(None, place), item)
    return True


def set_item(machine: Machine, container: Value, index: Value, value: Value) -> None:
    """container[index] = value."""
    if isinstance(value, EitherValue) and isinstance(container, ArrayValue):
        split_each(machine, value, lambda one: set_item(machine, container, index, one))
        return
    if isinstance(container, ArrayValue) and _set_each(machine, container, index, value):
        return
    reason = "side-effect-container", f"item assignment to {a_kind(container)}"
    match container:
        case ArrayValue():
            numpy_rules.set_item(machine, container, _as_index(machine, index), value)
            return
        case CellRow():
            cells.put_in_row(machine, container, index, value)
            return
        case ListValue() if not isinstance(index, SliceValue):
            object_lists.put(machine, container, index, value)
            return
        case SequenceValue() | DictValue() if lists.put(machine, container, index, value):
            return
        case SequenceValue() if container.kind is list and (container.source is None or is_known(machine, index)):
            key = constant_index(machine, index)
            length = len(container.items)
            if isinstance(key, int) and -length <= key < length:
                places.store(machine.tracer, container, key % length, value, *reason)
                return
        case DictValue() if container.source is None or is_known(machine, index):
            places.store(machine.tracer, container, dict_key(machine, index), value, *reason)
            return
    raise Break(*reason)


def is_known(machine: Machine, index: Value) -> bool:
    """Whether an index is a constant, without asking a guard."""
    return isinstance(index, ConstantValue) and not isinstance(index, TextValue)


def length(machine: Machine, value: Value) -> Value:
    """len(value)."""
    match value:
        case NumberedValue():
            return machine.tracer.number(columns.length(machine.tracer, value))
        case RecordValue():
            return computed_number(len(value.items))
        case ListValue():
            return object_lists.length(machine, value)
        case CellRow():
            return machine.tracer.number(cells.columns_of(value))
        case SequenceValue() if (count := rows.length_of_filled(machine.tracer, value)) is not None and not (
            value.ends or lists.grows_here(machine.tracer, value)
        ):
            value.looks.append("length")  # of a list to which a loop may append behind this
            return machine.tracer.number(count)
        case NestedValue():
            count = len(value.layout) - 1 if value.layout[0] == "p" else value.length
            return machine.tracer.number(count)
        case SequenceValue() if (grown := places.grown_length(machine.tracer, value)) is not None:
            return cells.size(grown)
        case SequenceValue() if lists.has_ends(machine.tracer, value):
            known = lists.look(machine.tracer, value, "length")
            return computed_number(len(value.items)) if known is None else known
        case SequenceValue() | DictValue():
            return computed_number(len(value.items))
        case DictViewValue():
            return computed_number(len(value.of.items))
        case ArrayValue() if not value.node.array_type.scalar and value.node.array_type.ndim >= 1:
            return machine.tracer.number(value.node.array_type.shape[0])
        case RangeValue() if value.step == 1:
            size = ScalarOp("sub", "int", (value.stop, value.start))
            if not any(map(is_symbolic, (value.start, value.stop))):
                return python_result(len, range(value.start, value.stop))  # type: ignore[arg-type]
            return NumberValue(None, ScalarOp("max", "int", (size, 0)))
        case TextValue():
            return length_of_text(machine, value)
        case ConstantValue() if isinstance(value.value, str | bytes | tuple):
            return computed_number(len(value.value))
        case NumberValue() | ConstantValue(value=bool() | int() | float() | None):
            raise Raised(TypeError, "a number has no len()")
        case SliceValue() | ConstantValue(value=slice()):
            raise Raised(TypeError, "a slice has no len()")
        case ArrayValue() if value.node.array_type.ndim == 0:
            raise Raised(TypeError, "len() of what has no axes")
    raise Break("unsupported-operation", f"len of {a_kind(value)}")

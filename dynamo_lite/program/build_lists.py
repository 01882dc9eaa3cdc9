"""Makes the nodes of what loops do with lists: take their items as numbers or as objects, put others there, make some.

What is taken of a list, and each list that is made, is kept in a place of its own until the same step runs again, so
that it lives though the list gets another item there, unless it is not used any more then; what a loop carries has a
place, too (csrc/machine_lists.c). An item of which nobody wants more than the number is read at once. INVARIANT: a list
is changed by functions that note that in the journal, but for appends to one of which it knows already (List.noted).
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamo_lite._C import abi
from dynamo_lite.dataclass import replace
from dynamo_lite.program.build_arrays import OBJECT, PYTHON_TYPES
from dynamo_lite.program.build_functions import FunctionBuilder
from dynamo_lite.program.build_numbers import FLOAT64, INT64, NotCompiled, Number
from dynamo_lite.program.build_steps import Frame, Item, List
from dynamo_lite.program.ir import Value
from dynamo_lite.schedule.blocks import registers_used
from dynamo_lite.schedule.steps import Cond, Loop, New, Put, Read, Reg, Schedule, Take

_LIMITS = {abi.READ_BOOL: (0, 1), abi.READ_IS_FLOAT: (0, 1), abi.READ_LENGTH: (0, (1 << 63) - 1)}


class ListBuilder(FunctionBuilder):
    """Lists beside arrays. kept: how many objects are kept."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.kept = 0

    def keep_place(self) -> Value:
        self.kept += 1
        if self.kept > abi.MOST_KEPT:
            raise NotCompiled("more objects than are kept")
        return self.constant(INT64, self.kept - 1)

    def list_in(self, register: int, frame: Frame) -> List:
        found = frame.registers.get(register)
        if not isinstance(found, List):
            raise NotCompiled("no list")
        return found

    def take(self, step: Take, frame: Frame) -> None:
        """An item, which may be taken off, or a copy."""
        target = self.list_in(step.list, frame)
        if step.kind == abi.TAKE_JOINED:
            (other,) = step.places
            words = [self.keep_place(), target.value, self.list_in(other.index, frame).value]  # type: ignore[union-attr]
            frame.registers[step.dst] = List(self.computed("list_join", words, OBJECT, abi.RETURNED_FAILED))
            return
        places = [self.number(place, frame) for place in step.places]
        if any(place.kind != "int" for place in places):
            raise NotCompiled("a place that is no int")
        if step.kind == abi.TAKE_ITEM and step.dst in frame.read_only:
            frame.registers[step.dst] = Item(target.value, places[0].value)
            return
        name = {abi.TAKE_ITEM: "list_item", abi.TAKE_OUT: "list_pop", abi.TAKE_COPY: "list_copy"}.get(
            step.kind, "tuple_item"
        )
        words = [place.value for place in places]
        if step.kind == abi.TAKE_COPY and not words:
            words = [self.constant(INT64, 0), self.constant(INT64, (1 << 63) - 1)]
        is_held = step.kind == abi.TAKE_ITEM and step.dst in frame.held
        place = self.constant(INT64, -1) if is_held else self.keep_place()
        made = self.computed(name, (place, target.value, *words), OBJECT, abi.RETURNED_INDEX)
        frame.registers[step.dst] = List(made, step.kind == abi.TAKE_COPY)

    def read_object(self, step: Read, frame: Frame) -> Number:
        """The number that an object is, or the length of a list."""
        source = frame.registers.get(step.src)
        if step.of == abi.READ_TAG:
            words = [self.list_in(step.table, frame).value, self.list_in(step.src, frame).value]
            return Number("int", self.computed("object_tag", words, INT64, abi.RETURNED_FAILED))
        is_float = step.of in (abi.READ_FLOAT, abi.READ_FLOAT_ELSE)
        kind, what = ("float" if is_float else "int"), self.constant(INT64, step.of)
        dtype = FLOAT64 if kind == "float" else INT64
        if isinstance(source, Item):
            words, name = [source.of, source.index, what], "list_number"
        else:
            words, name = [self.list_in(step.src, frame).value, what], "object_number"
        value = self.computed(name, words, dtype, abi.RETURNED_NUMBER)
        return replace(Number(kind, value, *_LIMITS.get(step.of, ())), read=True)

    def put(self, step: Put, frame: Frame) -> None:
        """An item under an index, or at the end of a list that somebody else may have."""
        target = self.list_in(step.list, frame)
        if step.key is None:
            if not target.noted:
                self.helper("list_touch", (target.value,), failure=abi.RETURNED_FAILED)
            self.append(step, frame)
            return
        key = self.number(step.key, frame)
        if step.packed is not None or key.kind != "int" or not step.of_list:
            raise NotCompiled("what is packed, a place that is no int, or maybe a dict")
        (value,), tags = step.values, step.tags[1:]
        words = [target.value, key.value]
        if isinstance(value, Reg):
            item = self.list_in(value.index, frame)
            self.helper("list_put", (*words, item.value), failure=abi.RETURNED_INDEX)
            return
        number = self.number(value, frame)
        if number.kind == "float":  # C and Python need not keep the same NaN
            self.decline_if(self.is_nan(number.value), abi.RETURNED_NUMBER)
        name, kind = "list_put_number", self.constant(INT64, PYTHON_TYPES[number.kind])
        words.append(kind)
        if tags and tags[0] != 0:
            name = "list_put_tagged"
            words += [self.list_in(step.table, frame).value, self.number(tags[0], frame).value]
        self.helper(name, (*words, number.value), failure=abi.RETURNED_INDEX)

    def new_list(self, step: New, frame: Frame) -> None:
        """A list that an iteration makes."""
        if step.is_dict or step.is_table:
            raise NotCompiled("a dict, or a table")
        if step.value is None:
            super().new_list(step, frame)
            return
        count = self.number(step.count, frame)
        if not isinstance(step.value, Reg) or count.kind != "int":
            raise NotCompiled("a list of a number that is computed")
        words = (self.keep_place(), self.list_in(step.value.index, frame).value, count.value)
        frame.registers[step.dst] = List(self.computed("list_repeated", words, OBJECT, abi.RETURNED_FAILED), True)

    def keep_carried(self, places: Sequence[Value], lists: Sequence[List]) -> None:
        """Keep what an iteration hands on, where it may be what another name had before."""
        if len(lists) > 1:
            for one in lists:
                self.helper("keep", (self.keep_place(), one.value), failure=abi.RETURNED_FAILED)
        for place, one in zip(places, lists, strict=True):
            self.helper("keep", (place, one.value), failure=abi.RETURNED_FAILED)


def only_read(schedule: Schedule) -> frozenset[int]:
    """The registers with items of lists of which nobody wants more than the number."""
    items = {step.dst for step in schedule.steps if isinstance(step, Take) and step.kind == abi.TAKE_ITEM}
    if not items:
        return frozenset()
    for step in schedule.steps:
        if not isinstance(step, Read) or step.of in (abi.READ_LENGTH, abi.READ_TAG):
            items -= registers_used(step)
    return frozenset(items - {output.index for output in schedule.outputs if isinstance(output, Reg)})


def still_held(schedule: Schedule) -> frozenset[int]:
    """The registers with items of lists that are not used any more once something has changed a list: until then that
    list has them."""
    found: set[int] = set()
    waiting: set[int] = set()  # those taken before the latest change
    for step in schedule.steps:
        found -= waiting & registers_used(step)
        if isinstance(step, Put | Loop | Cond) or (isinstance(step, Take) and step.kind == abi.TAKE_OUT):
            waiting |= found
        if isinstance(step, Loop | Cond):
            found -= registers_used(step)
        if isinstance(step, Take) and step.kind == abi.TAKE_ITEM:
            found.add(step.dst)
    return frozenset(found - {output.index for output in schedule.outputs if isinstance(output, Reg)})


def as_others(one: List) -> List:
    """A list as one that somebody else may have."""
    return replace(one, noted=False) if one.noted else one


__all__ = ["ListBuilder", "as_others", "only_read", "still_held"]

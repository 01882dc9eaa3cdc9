"""Makes the nodes of what loops do with lists: take their items as numbers or as objects, put others there, make some.

What is taken of a list, and each list that is made, is kept in a place of its own until the same step runs again, so
that it lives though the list gets another item there, unless it is not used any more then; what a loop carries has a
place, too (csrc/program/machine_lists.c). An item of which nobody wants more than the number is read at once. A NumPy
scalar that is taken of a list, or put into one, is kept as well: its origin is minus its address. So is an array that
is put into one; of one that is taken the elements are copied into a room.

INVARIANT: a list is changed by functions that note that in the journal, but for appends to one of which it knows
already (List.noted).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dynamo_lite._C import abi
from dynamo_lite.dataclass import replace
from dynamo_lite.ops.lists import DTYPES_BY_NUMBER
from dynamo_lite.program.build_arrays import OBJECT, PYTHON_TYPES, Handed, origin_of
from dynamo_lite.program.build_functions import FunctionBuilder
from dynamo_lite.program.build_numbers import FLOAT64, INT64, NotCompiled, Number
from dynamo_lite.program.build_steps import Array, Frame, Item, List, NumpyScalar
from dynamo_lite.program.ir import Memref, Value
from dynamo_lite.schedule.blocks import registers_used
from dynamo_lite.schedule.steps import (
    Alloc,
    Call,
    Cond,
    Loop,
    Map,
    New,
    Put,
    Read,
    Reduce,
    Reg,
    Require,
    Schedule,
    Take,
)

_TAKES = {
    **{abi.TAKE_ITEM: "list_item", abi.TAKE_KEY: "dict_item", abi.TAKE_OUT: "list_pop"},
    abi.TAKE_COPY: "list_copy",
}
_LIMITS = {abi.READ_BOOL: (0, 1), abi.READ_IS_FLOAT: (0, 1), abi.READ_LENGTH: (0, (1 << 63) - 1)}


class ListBuilder(FunctionBuilder):
    """Lists beside arrays. kept: how many objects are kept. keeps_objects: whether NumPy scalars or arrays are among
    them."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.kept = 0
        self.keeps_objects = False
        self.made_of: dict[int, Callable[[Take, Frame], NumpyScalar | Array]] = {
            **{abi.TAKE_SCALAR: self.scalar_of, abi.TAKE_ARRAY: self.array_taken},
            abi.TAKE_NUMBERS: self.array_of_numbers,
        }

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
        """An item, which may be taken off, or a copy; or the NumPy scalar that an object is."""
        if (make := self.made_of.get(step.kind)) is not None:
            frame.registers[step.dst] = make(step, frame)
            return
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
        name = _TAKES.get(step.kind, "tuple_item")
        words = [place.value for place in places]
        if step.kind == abi.TAKE_COPY and not words:
            words = [self.constant(INT64, 0), self.constant(INT64, (1 << 63) - 1)]
        is_held = step.kind in (abi.TAKE_ITEM, abi.TAKE_KEY) and step.dst in frame.held
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

    def scalar_of(self, step: Take, frame: Frame) -> NumpyScalar:
        """The NumPy scalar that an object is; of an item that is only read nobody wants to know which one."""
        source, (number,) = frame.registers.get(step.list), step.places
        if not isinstance(number, int) or number not in DTYPES_BY_NUMBER:
            raise NotCompiled("no NumPy scalar of 64 bits")
        dtype, what = DTYPES_BY_NUMBER[number], self.constant(INT64, number)
        if isinstance(source, Item):
            words = [source.of, source.index, what]
            return NumpyScalar(self.computed("list_scalar", words, dtype, abi.RETURNED_NUMBER), None)
        one = self.list_in(step.list, frame).value
        value = self.computed("object_scalar", [one, what], dtype, abi.RETURNED_NUMBER)
        self.keeps_objects = True
        return NumpyScalar(value, self.computed("object_origin", [one], INT64))

    def array_taken(self, step: Take, frame: Frame) -> Array:
        """The array that an object is, a copy: nobody writes to its memory while the program runs."""
        number, *shape = step.places
        if not isinstance(number, int) or number not in DTYPES_BY_NUMBER or len(shape) > abi.MOST_TAKEN:
            raise NotCompiled("an array of another dtype, or of more axes")
        one = self.list_in(step.list, frame).value
        array = self.room(DTYPES_BY_NUMBER[number], *self.extents(shape, frame))  # type: ignore[arg-type]
        what: list[Value | Memref] = [one, self.constant(INT64, number), self.begin(array)]
        words = [*what, *self.as_words(array.sizes)]
        self.helper("object_array", words, failure=abi.RETURNED_NUMBER)
        return replace(array, held=None, room=None)  # NB: this copy is not the object

    def array_of_numbers(self, step: Take, frame: Frame) -> Array:
        """The array that NumPy makes of a list of numbers."""
        number, size = step.places
        if not isinstance(number, int) or number not in DTYPES_BY_NUMBER:
            raise NotCompiled("an array of another dtype")
        one = self.list_in(step.list, frame).value
        array = self.room(DTYPES_BY_NUMBER[number], *self.extents((size,), frame))  # type: ignore[arg-type]
        what: list[Value | Memref] = [one, self.constant(INT64, number), self.begin(array), array.sizes[0].value]
        self.helper("list_numbers", what, failure=abi.RETURNED_NUMBER)
        return array

    def as_object(self, value: Reg, frame: Frame) -> List:
        """A NumPy scalar or array as the object that it is, or a new one, which it is from now on."""
        if isinstance(array := self.register(value.index, frame), Array):
            return self.array_object(value, array, frame)
        single, origin = self.scalar(value, frame).value, origin_of(self.register(value.index, frame))
        if origin is None or single.dtype.kind not in "biuf" or single.dtype.itemsize > INT64.itemsize:
            raise NotCompiled("nobody can tell which object it is, or it has more than 64 bits")
        words = [self.keep_place(), self.constant(INT64, int(single.dtype.num)), origin, single]
        one = self.computed("scalar_object", words, OBJECT, abi.RETURNED_FAILED)
        if origin.number is None or origin.number == 0:
            self.set_origin(value.index, self.computed("object_origin", [one], INT64), frame)
        self.keeps_objects = True
        return List(one)

    def array_object(self, value: Reg, array: Array, frame: Frame) -> List:
        """The same of an array."""
        origin = origin_of(array)
        if origin is None or array.dtype.kind not in "biuf" or array.ordered is None:
            raise NotCompiled("nobody can tell which object it is, or it lies elsewhere")
        self.copied.add(array.base)
        what: list[Value | Memref] = [self.keep_place(), self.constant(INT64, int(array.dtype.num))]
        what += [origin, self.begin(array)]
        one = self.computed("array_object", (*what, *self.as_words(array.sizes)), OBJECT, abi.RETURNED_FAILED)
        if origin.number is None or origin.number == 0:
            self.set_origin(value.index, self.computed("object_origin", [one], INT64), frame)
        self.keeps_objects = True
        return List(one)

    def with_objects(self, step: Put, frame: Frame) -> Put:
        """A store into a list that may lose what it gets, with NumPy scalars and arrays as objects, which are kept."""
        values = list(step.values)
        for place, value in enumerate(values):
            if isinstance(value, Reg) and isinstance(frame.registers.get(value.index), NumpyScalar | Array):
                values[place] = Reg(-1 - place)
                frame.registers[-1 - place] = self.as_object(value, frame)
        return replace(step, values=tuple(values))

    def put(self, step: Put, frame: Frame) -> None:
        """An item under an index, or at the end of a list that somebody else may have."""
        if step.of_list or (step.key is not None and step.packed is None):
            step = self.with_objects(step, frame)
        target = self.list_in(step.list, frame)
        if step.key is None:
            if not target.noted:
                self.helper("list_touch", (target.value,), failure=abi.RETURNED_FAILED)
            self.append(step, frame)
            return
        key = self.number(step.key, frame)
        if step.packed is not None or key.kind != "int":
            raise NotCompiled("what is packed, or a place that is no int")
        (value,), tags = step.values, step.tags[1:]
        words = [target.value, key.value]
        if not step.of_list and (not isinstance(value, Reg) or any(tag != 0 for tag in step.tags)):
            raise NotCompiled("a number, or under one, which something else may hold, maybe in a dict")
        if isinstance(value, Reg):
            item, name = self.list_in(value.index, frame), "list_put" if step.of_list else "container_put"
            self.helper(name, (*words, item.value), failure=abi.RETURNED_INDEX)
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

    def keep_carried(self, places: Sequence[Value], finals: Sequence[Handed], before: Sequence[Handed | None]) -> None:
        """Keep what an iteration hands on, where it may be what another name had before. places: of lists; before: what
        the iteration began with."""
        lists = [final for final in finals if isinstance(final, List)]
        if len(lists) > 1:
            for one in lists:
                self.helper("keep", (self.keep_place(), one.value), failure=abi.RETURNED_FAILED)
        for place, one in zip(places, lists, strict=True):
            self.helper("keep", (place, one.value), failure=abi.RETURNED_FAILED)
        if not self.keeps_objects:
            return
        origins = [
            origin
            for final, first in zip(finals, before, strict=True)
            if isinstance(final, NumpyScalar | Array) and (origin := origin_of(final)) is not None
            if origin.number is None and (not isinstance(first, NumpyScalar | Array) or origin is not origin_of(first))
        ]
        for _ in range(2 if len(origins) > 1 else 1):
            for origin in origins:
                self.helper("keep_origin", (self.keep_place(), origin))


_COMPUTES = (Map, Reduce, Read, Require, Call, Alloc)  # steps that take the numbers of NumPy scalars, not the objects


def _is_handed_on(schedule: Schedule, register: int, outputs: set[int]) -> bool:
    """Whether somebody may want the object that a NumPy scalar is."""
    return register in outputs or any(
        not isinstance(step, _COMPUTES) and register in registers_used(step) for step in schedule.steps
    )


def only_read(schedule: Schedule) -> frozenset[int]:
    """The registers with items of lists of which nobody wants more than the number."""
    items = {step.dst for step in schedule.steps if isinstance(step, Take) and step.kind == abi.TAKE_ITEM}
    outputs = {output.index for output in schedule.outputs if isinstance(output, Reg)}
    if not items:
        return frozenset()
    for step in schedule.steps:
        if isinstance(step, Take) and step.kind == abi.TAKE_SCALAR and not _is_handed_on(schedule, step.dst, outputs):
            continue
        if not isinstance(step, Read) or step.of in (abi.READ_LENGTH, abi.READ_TAG):
            items -= registers_used(step)
    return frozenset(items - outputs)


def still_held(schedule: Schedule) -> frozenset[int]:
    """The registers with items of lists that are not used any more once something has changed a list: until then that
    list has them."""
    found: set[int] = set()
    waiting: set[int] = set()  # those taken before the latest change
    scalars: dict[int, int] = {}  # the items that NumPy scalars are
    outputs = {output.index for output in schedule.outputs if isinstance(output, Reg)}
    for step in schedule.steps:
        used = registers_used(step)
        used |= {item for scalar, item in scalars.items() if scalar in used}
        found -= waiting & used
        if isinstance(step, Put | Loop | Cond) or (isinstance(step, Take) and step.kind == abi.TAKE_OUT):
            waiting |= found
        if isinstance(step, Loop | Cond):
            found -= used
        if isinstance(step, Take) and step.kind in (abi.TAKE_ITEM, abi.TAKE_KEY):
            found.add(step.dst)
        if isinstance(step, Take) and step.kind == abi.TAKE_SCALAR:
            scalars[step.dst] = step.list
    return frozenset(found - outputs - {item for scalar, item in scalars.items() if scalar in outputs})


def as_others(one: List) -> List:
    """A list as one that somebody else may have."""
    return replace(one, noted=False) if one.noted else one


__all__ = ["ListBuilder", "as_others", "only_read", "still_held"]

"""Deep comparison of what two runs left behind: bits, types, layout, identity and sharing.

Enters: pairs of values, one from plain Python and one from the compiled run. Leaves: a list of Differences, each with
its kind, where it is, and both sides as text. Nothing is compared with ``==`` on floating values: the bits decide.
INVARIANT: one Walk sees both runs' arguments and results, so that "the result is the second argument" and "two
results share memory" are facts of the comparison.
"""

from __future__ import annotations

import struct
import types
from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from tests.copies import Array, owner_of

_NO_IDENTITY = (bool, int, str, bytes, type(None), type(...), range, slice)
_ONE_WAY_IDENTITY = (float, complex, tuple, frozenset)  # constants of plain Python may be shared or not
_BY_REFERENCE = (type, types.ModuleType, types.BuiltinFunctionType, np.ufunc)
# By their bits: to ask for WRITEABLE makes NumPy warn where WARN_ON_WRITE is set.
_FLAGS = {
    **{"C_CONTIGUOUS": 0x1, "F_CONTIGUOUS": 0x2, "ALIGNED": 0x100, "WRITEABLE": 0x400, "WRITEBACKIFCOPY": 0x2000},
    "WARN_ON_WRITE": 1 << 31,
}
_LIMIT = 20


@dataclass(frozen=True, slots=True)
class Difference:
    """One fact that differs. kind: a word of the table in docs of the oracle ("value", "strides", "warning" ...)."""

    kind: str
    where: str
    plain: str
    compiled: str

    def __str__(self) -> str:
        return f"{self.where}: {self.kind} differs\n    plain    {self.plain}\n    compiled {self.compiled}"


# The module of a program that is executed once for each run, and so makes two classes of one text.
EXECUTED_TWICE = "random_program"


def _same_class(plain: type, compiled: type) -> bool:
    if plain is compiled:
        return True
    return plain.__module__ == compiled.__module__ == EXECUTED_TWICE and plain.__qualname__ == compiled.__qualname__


class Walk:
    """Compares pairs of values and remembers who stands for whom."""

    def __init__(self) -> None:
        self.differences: list[Difference] = []
        self._partner: dict[int, Any] = {}
        self._reverse: dict[int, Any] = {}
        self._alive: list[Any] = []
        self.arrays: list[tuple[str, Array, Array]] = []
        self._bases: list[tuple[str, Any, Any]] = []

    def differ(self, kind: str, where: str, plain: Any, compiled: Any) -> None:
        """Note a difference."""
        if len(self.differences) < _LIMIT:
            self.differences.append(Difference(kind, where, _short(plain), _short(compiled)))

    def pair(self, where: str, plain: Any, compiled: Any) -> None:
        """Compare two values, and everything reachable from them."""
        if not _same_class(type(plain), type(compiled)):
            self.differ("type", where, f"{type(plain)} {_short(plain)}", f"{type(compiled)} {_short(compiled)}")
            return
        if isinstance(plain, _NO_IDENTITY):
            self._atom(where, plain, compiled)
            return
        if not self._first_meeting(where, plain, compiled):
            return
        for kinds, compare in _COMPARE:
            if isinstance(plain, kinds):
                compare(self, where, plain, compiled)
                return

    def _first_meeting(self, where: str, plain: Any, compiled: Any) -> bool:
        one_way = isinstance(plain, _ONE_WAY_IDENTITY)
        if id(plain) in self._partner:
            if self._partner[id(plain)] is compiled:
                return False
            self.differ("identity", where, "an object seen before", "another object")
            return one_way
        if not one_way and id(compiled) in self._reverse:
            self.differ("identity", where, "a new object", "an object seen before")
            return False
        self._partner[id(plain)] = compiled
        self._reverse.setdefault(id(compiled), plain)
        self._alive.append((plain, compiled))
        return True

    def _atom(self, where: str, plain: Any, compiled: Any) -> None:
        if plain != compiled:
            self.differ("value", where, repr(plain), repr(compiled))

    def based(self, where: str, plain: Any, compiled: Any) -> None:
        """Note the bases of two arrays, to be compared when everything has been met."""
        self._bases.append((where, plain, compiled))

    def sharing(self) -> None:
        """Compare which of the arrays met so far share memory, at what distance, and whose views they are.

        What nobody else can reach, say the array behind np.tile's result, need only be there.
        """
        for where, plain, compiled in self._bases:
            if (plain is None) != (compiled is None):
                self.differ("base", where, type(plain), type(compiled))
            elif id(plain) in self._partner and self._partner[id(plain)] is not compiled:
                self.differ("base", where, "an object seen before", "another object")
            elif id(plain) not in self._partner and id(compiled) in self._reverse and plain is not compiled:
                self.differ("base", where, "another object", "an object seen before")
        for second in range(len(self.arrays)):
            for first in range(second):
                self._sharing(self.arrays[first], self.arrays[second])

    def _sharing(self, first: tuple[str, Array, Array], second: tuple[str, Array, Array]) -> None:
        near = np.may_share_memory(first[1], second[1]), np.may_share_memory(first[2], second[2])
        if not any(near):
            return
        gaps = address(first[1]) - address(second[1]), address(first[2]) - address(second[2])
        if all(near) and gaps[0] == gaps[1]:
            return
        shares = _shares(first[1], second[1]), _shares(first[2], second[2])
        where = f"{first[0]} and {second[0]}"
        if shares[0] != shares[1]:
            self.differ("sharing", where, f"shares_memory {shares[0]}", f"shares_memory {shares[1]}")
        elif shares[0] and gaps[0] != gaps[1]:
            self.differ("sharing", where, f"{gaps[0]} bytes apart", f"{gaps[1]} bytes apart")


def address(array: Array) -> int:
    """Where the first element of `array` lies."""
    return int(array.__array_interface__["data"][0])


def _shares(first: Array, second: Array) -> bool:
    try:
        return bool(np.shares_memory(first, second, max_work=cast(Any, 10**6)))
    except np.exceptions.TooHardError:
        return True


def _float(walk: Walk, where: str, plain: float, compiled: float) -> None:
    _bits(walk, where, plain, compiled, struct.pack("<d", plain), struct.pack("<d", compiled), np.dtype(float))


def _complex(walk: Walk, where: str, plain: complex, compiled: complex) -> None:
    sides = [struct.pack("<dd", z.real, z.imag) for z in (plain, compiled)]
    _bits(walk, where, plain, compiled, sides[0], sides[1], np.dtype(complex))


def _sequence(walk: Walk, where: str, plain: Any, compiled: Any) -> None:
    if len(plain) != len(compiled):
        walk.differ("length", where, len(plain), len(compiled))
        return
    for index, (left, right) in enumerate(zip(plain, compiled, strict=True)):
        walk.pair(f"{where}[{index}]", left, right)


def _mapping(walk: Walk, where: str, plain: Any, compiled: Any) -> None:
    if list(map(repr, plain)) != list(map(repr, compiled)):
        walk.differ("keys", where, list(plain), list(compiled))
        return
    for left, right in zip(plain, compiled, strict=True):
        walk.pair(f"key {left!r} of {where}", left, right)
        walk.pair(f"{where}[{left!r}]", plain[left], compiled[right])


def _set(walk: Walk, where: str, plain: Any, compiled: Any) -> None:
    if sorted(map(repr, plain)) != sorted(map(repr, compiled)):
        walk.differ("value", where, plain, compiled)


def _array(walk: Walk, where: str, plain: Array, compiled: Array) -> None:
    walk.arrays.append((where, plain.view(np.ndarray), compiled.view(np.ndarray)))
    _dtype(walk, where, plain.dtype, compiled.dtype)
    if plain.shape != compiled.shape:
        walk.differ("shape", where, plain.shape, compiled.shape)
        return
    if plain.strides != compiled.strides:
        walk.differ("strides", where, plain.strides, compiled.strides)
    for flag, bit in _FLAGS.items():
        if (plain.flags.num ^ compiled.flags.num) & bit:
            walk.differ("flags", where, f"{flag} {plain.flags.num & bit}", f"{flag} {compiled.flags.num & bit}")
    walk.based(where, plain.base, compiled.base)
    if plain.flags.owndata != compiled.flags.owndata:
        walk.differ("owndata", where, plain.flags.owndata, compiled.flags.owndata)
    if plain.dtype == compiled.dtype:
        _contents(walk, where, plain, compiled)
    if type(plain) is not np.ndarray and hasattr(plain, "__dict__"):
        _attributes(walk, where, plain, compiled)


def _contents(walk: Walk, where: str, plain: Array, compiled: Array) -> None:
    left, right = plain.view(np.ndarray), compiled.view(np.ndarray)
    if plain.dtype.hasobject:
        for index in np.ndindex(*plain.shape):
            walk.pair(f"{where}{list(index)}", left[index], right[index])
        return
    _bits(walk, where, left, right, _meaningful_bytes(left), _meaningful_bytes(right), plain.dtype)


def buffers(walk: Walk, where: str, plain: Array, compiled: Array) -> None:
    """Compare the whole memory that an argument is a view of, so that a write outside the view is seen."""
    left, right = owner_of(plain), owner_of(compiled)
    if left is plain or left is right or left.dtype.hasobject or left.shape != right.shape:
        return
    sides = _bytes_around(left, plain), _bytes_around(right, compiled)
    _bits(walk, f"the memory around {where}", left, right, *sides, left.dtype)


def _bytes_around(owner: Array, array: Array) -> bytes:
    """The bytes of `owner`, which `array` is a view of, but for the padding of 80-bit floats."""
    if array.dtype.char not in "gG" or owner.dtype != np.uint8 or not owner.flags.c_contiguous:
        return _meaningful_bytes(owner)
    memory = np.frombuffer(owner.tobytes(), np.uint8).copy()
    width, offset = np.dtype(np.longdouble).itemsize, address(array) - address(owner)
    shape, strides = (*array.shape, array.itemsize // width, width), (*array.strides, width, 1)
    np.ndarray(shape, np.uint8, memory.data, offset, strides)[..., 10:] = 0
    return memory.tobytes()


def _meaningful_bytes(array: Array) -> bytes:
    if array.dtype.char in "gG":  # 80-bit floats: the padding is not part of the value
        flat = np.ascontiguousarray(array).reshape(-1)
        width = np.dtype(np.longdouble).itemsize
        return flat.view(np.uint8).reshape(-1, width)[:, :10].tobytes() if width == 16 else flat.tobytes()
    return array.tobytes()


def _scalar(walk: Walk, where: str, plain: np.generic, compiled: np.generic) -> None:
    _dtype(walk, where, plain.dtype, compiled.dtype)
    if plain.dtype == compiled.dtype:
        _contents(walk, where, np.asarray(plain), np.asarray(compiled))


def _dtype(walk: Walk, where: str, plain: np.dtype[Any], compiled: np.dtype[Any]) -> None:
    if plain is compiled:
        return
    sides = [f"{d!r} char {d.char} metadata {d.metadata}" for d in (plain, compiled)]
    if sides[0] != sides[1]:
        walk.differ("dtype", where, sides[0], sides[1])


def _bits(walk: Walk, where: str, plain: Any, compiled: Any, left: bytes, right: bytes, dtype: np.dtype[Any]) -> None:
    if left == right:
        return
    plain, compiled = np.asarray(plain), np.asarray(compiled)
    if dtype.kind not in "fciub?" or plain.shape != compiled.shape:
        walk.differ("value", where, plain, compiled)
        return
    width = len(left) // plain.size
    rows = [np.frombuffer(side, np.uint8).reshape(-1, width) for side in (left, right)]
    places = np.flatnonzero((rows[0] != rows[1]).any(axis=1))
    with np.errstate(all="ignore"):
        ours, theirs = plain.reshape(-1)[places], compiled.reshape(-1)[places]
        if dtype.kind in "fc" and np.isnan(ours).all() and np.isnan(theirs).all():
            kind = "nan bits"
        elif (ours == theirs).all():
            kind = "zero sign"
        else:
            kind = "value"
    texts = [f"{side[0]!r} bits {rows[n][places[0]].tobytes()[::-1].hex()}" for n, side in enumerate((ours, theirs))]
    note = ""
    if plain.ndim:
        first = [int(index) for index in np.unravel_index(places[0], plain.shape)]
        note = f" at {first} and {len(places) - 1} more of {plain.size}"
    walk.differ(kind, where + note, texts[0], texts[1])


def _attributes(walk: Walk, where: str, plain: Any, compiled: Any) -> None:
    names = sorted(vars(plain)), sorted(vars(compiled))
    if names[0] != names[1]:
        walk.differ("attributes", where, names[0], names[1])
        return
    for name in names[0]:
        walk.pair(f"{where}.{name}", vars(plain)[name], vars(compiled)[name])


def _reference(walk: Walk, where: str, plain: Any, compiled: Any) -> None:
    if plain is not compiled and not (isinstance(plain, types.BuiltinFunctionType) and plain == compiled):
        walk.differ("identity", where, plain, compiled)


def _function(walk: Walk, where: str, plain: types.FunctionType, compiled: types.FunctionType) -> None:
    if plain is compiled:
        return
    left, right = plain.__code__, compiled.__code__
    if (left.co_name, left.co_filename, left.co_firstlineno) != (
        right.co_name,
        right.co_filename,
        right.co_firstlineno,
    ):
        walk.differ("value", where, left, right)
    walk.pair(f"closure of {where}", _cells(plain), _cells(compiled))
    walk.pair(f"defaults of {where}", plain.__defaults__, compiled.__defaults__)
    walk.pair(f"kwdefaults of {where}", plain.__kwdefaults__, compiled.__kwdefaults__)


def _cells(function: types.FunctionType) -> tuple[Any, ...]:
    values = []
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:
            values.append("<an empty cell>")
    return tuple(values)


def _bit_generator(walk: Walk, where: str, plain: Any, compiled: Any) -> None:
    left, right = getattr(plain, "bit_generator", plain), getattr(compiled, "bit_generator", compiled)
    walk.pair(f"state of {where}", left.state, right.state)


def _method(walk: Walk, where: str, plain: types.MethodType, compiled: types.MethodType) -> None:
    walk.pair(f"{where}.__func__", plain.__func__, compiled.__func__)
    walk.pair(f"{where}.__self__", plain.__self__, compiled.__self__)


def _generator(walk: Walk, where: str, plain: Any, compiled: Any) -> None:
    for index in range(1000):
        left, right = next(plain, StopIteration), next(compiled, StopIteration)
        walk.pair(f"item {index} of {where}", left, right)
        if left is StopIteration:
            return


def _view(walk: Walk, where: str, plain: Any, compiled: Any) -> None:
    walk.pair(f"list({where})", list(plain), list(compiled))


def _exception(walk: Walk, where: str, plain: BaseException, compiled: BaseException) -> None:
    walk.pair(f"{where}.args", plain.args, compiled.args)
    walk.pair(f"notes of {where}", getattr(plain, "__notes__", None), getattr(compiled, "__notes__", None))


def _object(walk: Walk, where: str, plain: Any, compiled: Any) -> None:
    if plain is compiled:
        return
    if hasattr(plain, "__dict__"):
        _attributes(walk, where, plain, compiled)
    slots = [name for kind in type(plain).__mro__ for name in getattr(kind, "__slots__", ())]
    for name in slots:
        walk.pair(f"{where}.{name}", getattr(plain, name, "<unset>"), getattr(compiled, name, "<unset>"))
    comparison: Any = type(plain).__eq__
    if not slots and not hasattr(plain, "__dict__") and comparison is not object.__eq__ and plain != compiled:
        walk.differ("value", where, plain, compiled)


_COMPARE: tuple[tuple[Any, Callable[[Walk, str, Any, Any], None]], ...] = (
    (np.ndarray, _array),
    (np.generic, _scalar),
    (float, _float),
    (complex, _complex),
    ((tuple, list), _sequence),
    (dict, _mapping),
    ((set, frozenset), _set),
    (np.dtype, _dtype),
    (_BY_REFERENCE, _reference),
    (types.FunctionType, _function),
    (types.MethodType, _method),
    (Iterator, _generator),
    ((KeysView, ValuesView, ItemsView), _view),
    ((np.random.Generator, np.random.BitGenerator), _bit_generator),
    (BaseException, _exception),
    (object, _object),
)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 400 else f"{text[:300]} ... ({len(text)} characters)"

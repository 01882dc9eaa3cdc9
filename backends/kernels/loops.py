"""Decides whether a NumPy inner loop may run on tiles: its result at an element must not depend on where that lies.

Enters a ufunc and dtypes; leaves a Grade, found out once per process by running the loop itself on about a thousand
awkward values: all at once, in pieces of odd lengths, strided, reversed, with one operand of stride zero, in place, and
through the ufunc. A loop that fails is called through its ufunc on whole arrays instead. NB: which of two NaN operands
gives the payload does depend on the position in NumPy, so any NaN equals any other here.

A sample may miss that the last bits of few values depend on where arrays lie, so such functions are also listed
(dynamo_lite/ops/vector_math.py).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from enum import IntEnum
from itertools import combinations, pairwise
from typing import Any, cast

import numpy as np

from dynamo_lite._C import abi, run_pieces
from dynamo_lite.ops import vector_math
from dynamo_lite.ops.samples import Samples
from dynamo_lite.schedule.steps import DType

Array = np.ndarray[Any, Any]

PIECES = (1, 2, 3, 4, 5, 7, 8, 9, 11, 15, 16, 17, 31, 33, 63, 65, 127, 129)


class CallInfo(ctypes.Structure):
    """What the capsule of ``ufunc._resolve_dtypes_and_context`` holds after ``_get_strided_loop``."""

    _fields_ = (
        ("strided_loop", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("auxdata", ctypes.c_void_p),
        ("requires_pyapi", ctypes.c_bool),
        ("no_floatingpoint_errors", ctypes.c_bool),
    )


_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class StridedLoop:
    """One inner loop, callable from Python."""

    def __init__(self, ufunc: np.ufunc, dtypes: tuple[DType, ...]) -> None:
        resolved, self._capsule = ufunc._resolve_dtypes_and_context(dtypes, casting="no")  # type: ignore[attr-defined]
        if tuple(resolved) != dtypes:
            raise TypeError(f"{ufunc.__name__} has no loop {dtypes}")
        ufunc._get_strided_loop(self._capsule)  # type: ignore[attr-defined]
        self.info = CallInfo.from_address(_get_pointer(self._capsule, abi.UFUNC_CALL_INFO.encode()))
        self._words = self.info.strided_loop, self.info.context or 0, self.info.auxdata or 0

    def __call__(self, arrays: list[Array], strides: list[int] | None = None) -> bool:
        """Run over 1-d arrays (a stride of 0 may be given for operands); False on failure."""
        given = strides or [array.strides[0] for array in arrays]
        return self.pieces(arrays, given, [(0, arrays[-1].shape[0])])

    def pieces(self, arrays: list[Array], strides: list[int], bounds: Iterable[tuple[int, int]]) -> bool:
        """Run over elements begin to end of 1-d arrays, as if they were `strides` bytes apart from `begin` on, for each
        (begin, end) in turn; False on the first failure."""
        return run_pieces(*self._words, arrays, strides, list(bounds))


def awkward_values(dtype: DType) -> Array:
    """About 60 values of dtype: limits, signed zeros, NaN, subnormals, halves, powers of two, large arguments."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        limits: Any = np.iinfo(cast(Any, dtype))
        near = [0, 1, 2, 3, 5, 7, 8, 10, 31, 32, 63, 64, 100, limits.max, limits.max - 1, limits.max // 2, limits.min]
        signed = near if dtype.kind == "u" else near + [-value for value in near[1:14]] + [limits.min + 1]
        return np.array([value for value in signed if limits.min <= value <= limits.max], dtype)
    if dtype.kind == "f":
        limits_f: Any = np.finfo(cast(Any, dtype))
        tiny, largest = float(limits_f.smallest_subnormal), float(limits_f.max)
        positive = [0.0, tiny, 3 * tiny, float(limits_f.smallest_normal), 1e-5, 0.1, 0.25, 0.3, 0.5, 0.7, 0.9, 1.0]
        positive += [
            1.0 + float(limits_f.eps),
            1.5,
            2.0,
            2.5,
            3.0,
            np.pi,
            np.pi / 2,
            10.0,
            11.5,
            20.0,
            60.0,
            88.9,
            100.0,
        ]
        positive += [709.8, 1000.5, 65000.0, largest / 2, largest, np.inf, np.nan]
        with np.errstate(all="ignore"):
            values: Array = np.array(positive, np.float64).astype(dtype)
        return np.concatenate([values, np.negative(values)])
    real = awkward_values(np.dtype(f"f{dtype.itemsize // 2}"))[::3]
    grid = np.empty((len(real), len(real)), dtype)
    grid.real, grid.imag = real[:, None], real[None, :]
    return grid.ravel()


def sample_operands(dtypes: tuple[DType, ...]) -> list[Array]:
    """Operand arrays of one length, about a thousand: awkward values in combination, then random ones."""
    samples = Samples(20240531)
    awkward = [awkward_values(dtype) for dtype in dtypes]
    if len(dtypes) > 1 and any(dtype.kind == "c" for dtype in dtypes):
        awkward = [values[:: max(1, len(values) // 25)] for values in awkward]
    while np.prod([len(values) for values in awkward]) > 5000:
        awkward = [values[::2] for values in awkward]
    crossed = [grid.ravel() for grid in np.meshgrid(*awkward, indexing="ij")]
    pairs = zip(crossed, dtypes, strict=True)
    return [np.concatenate([values, _random(samples, dtype, 301)]) for values, dtype in pairs]


def _random(samples: Samples, dtype: DType, count: int) -> Array:
    if dtype.kind == "b":
        return samples.below(2, count).astype(bool)
    if dtype.kind in "iu":
        of_all = samples.words(count).astype(dtype)
        return np.where(samples.uniform(count) < 0.5, of_all, samples.below(20, count)).astype(dtype)
    if dtype.kind == "f":
        scale = 4.0 if dtype.itemsize == 2 else 30.0
        exponents = scale * (2.0 * samples.uniform(count) - 1.0) * (samples.uniform(count) < 0.3)
        values = samples.normal(count) * np.exp(exponents)
        with np.errstate(all="ignore"):
            return values.astype(dtype)
    parts = np.dtype(f"f{dtype.itemsize // 2}")
    result = np.empty(count, dtype)
    result.real, result.imag = _random(samples, parts, count), _random(samples, parts, count)
    return result


def same_values(left: Array, right: Array) -> bool:
    """Equal bit for bit, any NaN equal to any NaN."""
    if left.dtype.kind == "c":
        part = f"f{left.dtype.itemsize // 2}"
        left, right = (np.ascontiguousarray(array).view(part) for array in (left, right))
    bits = f"u{left.dtype.itemsize}"
    equal = left.view(bits) == right.view(bits)
    if equal.all():
        return True
    return left.dtype.kind == "f" and bool((equal | (np.isnan(left) & np.isnan(right))).all())


class Grade(IntEnum):
    """Where a loop may run on tiles."""

    NOWHERE = 0
    FORWARD = 1  # where no operand is reversed, and the result is packed and memory of its own
    ANYWHERE = 2


_KNOWN: dict[tuple[np.ufunc, tuple[DType, ...], tuple[bool, ...]], Grade] = {}


def _highest_grade(ufunc: np.ufunc, dtypes: tuple[DType, ...]) -> Grade:
    """The most that a loop may have, whatever a sample shows."""
    if not any(vector_math.looks_at_strides(ufunc.__name__, dtype) for dtype in dtypes):
        return Grade.ANYWHERE
    return Grade.NOWHERE if np.dtype(np.float16) in dtypes else Grade.FORWARD


def loop_is_elementwise(ufunc: np.ufunc, dtypes: tuple[DType, ...], zero_dimensional: tuple[bool, ...]) -> bool:
    """Whether the loop of `ufunc` for exactly these operand and result dtypes may run on tiles.

    zero_dimensional tells which operands have no axes: their stride is zero in every call, ours and NumPy's, and some
    loops (power) compute otherwise then.
    """
    return any(_grade(ufunc, dtypes, mask) for mask in dict.fromkeys(((False,) * ufunc.nin, zero_dimensional)))


def loop_fits_numbers(ufunc: np.ufunc, dtypes: tuple[DType, ...], zero_dimensional: tuple[bool, ...]) -> bool:
    """Whether the loop may run on one element. Operands that all have no axes are given no stride then, unlike what a
    kernel has computed on a tile: also a loop fits that looks at strides (power), if it agrees with calls of numbers.
    """
    if loop_is_elementwise(ufunc, dtypes, zero_dimensional):
        return True
    key = (ufunc, dtypes)
    if all(zero_dimensional) and key not in _OF_NUMBERS:
        _OF_NUMBERS[key] = _agrees_with_numbers(ufunc, dtypes)
    return all(zero_dimensional) and _OF_NUMBERS[key]


_OF_NUMBERS: dict[tuple[np.ufunc, tuple[DType, ...]], bool] = {}
_MOST_CALLS = 1000  # of a microsecond each


def _agrees_with_numbers(ufunc: np.ufunc, dtypes: tuple[DType, ...]) -> bool:
    """Whether the loop of an element, its operands without strides, gives what the ufunc gives of numbers."""
    if ufunc.signature is not None or any(dtype.kind not in "biuf" or not dtype.isnative for dtype in dtypes):
        return False
    try:
        loop = StridedLoop(ufunc, dtypes)
    except TypeError:
        return False
    if loop.info.requires_pyapi or ufunc.nout != 1:
        return False
    operands = sample_operands(dtypes[: ufunc.nin])
    operands = [np.ascontiguousarray(operand[:: len(operand) // _MOST_CALLS + 1]) for operand in operands]
    result = np.empty(len(operands[0]), dtypes[-1])
    strides = [0] * ufunc.nin + [result.itemsize]
    with np.errstate(all="ignore"):
        try:
            expected = np.array([ufunc(*numbers, sig=dtypes) for numbers in zip(*operands, strict=True)], dtypes[-1])
        except (ValueError, ArithmeticError):
            return False
        done = loop.pieces([*operands, result], strides, ((at, at + 1) for at in range(len(result))))
    return done and same_values(result, expected)


def loop_is_forward(ufunc: np.ufunc, dtypes: tuple[DType, ...]) -> bool:
    """Whether a loop that is elementwise is so only where no operand is reversed, and the result apart and packed."""
    grades = [grade for (known, of, _), grade in list(_KNOWN.items()) if (known, of) == (ufunc, dtypes)]
    return Grade.FORWARD in grades


def _grade(ufunc: np.ufunc, dtypes: tuple[DType, ...], zero_dimensional: tuple[bool, ...]) -> Grade:
    key = (ufunc, dtypes, zero_dimensional)
    if key not in _KNOWN:
        highest = _highest_grade(ufunc, dtypes)
        _KNOWN[key] = min(highest, _probe(ufunc, dtypes, zero_dimensional)) if highest else highest
    return _KNOWN[key]  # the same in every thread


def _probe(ufunc: np.ufunc, dtypes: tuple[DType, ...], zero_dimensional: tuple[bool, ...]) -> Grade:
    if ufunc.signature is not None or any(dtype.kind not in "biufc" or not dtype.isnative for dtype in dtypes):
        return Grade.NOWHERE
    try:
        loop = StridedLoop(ufunc, dtypes)
    except TypeError:
        return Grade.NOWHERE
    if loop.info.requires_pyapi or all(zero_dimensional):
        return Grade.NOWHERE
    samples = [sample_operands(dtypes[: ufunc.nin])]
    if any(zero_dimensional):
        samples = _broadcast_samples(dtypes[: ufunc.nin], zero_dimensional)
    with np.errstate(all="ignore"):
        try:
            return min(_compare(ufunc, loop, dtypes, operands) for operands in samples)
        except (ValueError, ArithmeticError):  # it raises for some values (integers to negative powers)
            return Grade.NOWHERE


def _broadcast_samples(dtypes: tuple[DType, ...], zero_dimensional: tuple[bool, ...]) -> list[list[Array]]:
    """Operands as for `sample_operands`, those without axes repeated by a stride of zero, in turn each value."""
    arrays = [dtype for dtype, single in zip(dtypes, zero_dimensional, strict=True) if not single]
    singles = [awkward_values(dtype) for dtype, single in zip(dtypes, zero_dimensional, strict=True) if single]
    singles = [values[:: len(values) // 50 + 1] for values in singles]
    samples = sample_operands(tuple(arrays))
    samples = [operand[:: len(operand) // 200] for operand in samples]
    result = []
    for turn in range(max(map(len, singles))):
        full = iter(samples)
        values = iter(singles)
        operands = []
        for position, single in enumerate(zero_dimensional):
            if single:
                choices = next(values)
                operands.append(np.broadcast_to(choices[(turn + position) % len(choices)], samples[0].shape))
            else:
                operands.append(next(full))
        result.append(operands)
    return result


def _compare(ufunc: np.ufunc, loop: StridedLoop, dtypes: tuple[DType, ...], operands: list[Array]) -> Grade:
    """Where the loop agrees with itself on these operands."""
    n = len(operands[0])
    out_dtypes = dtypes[ufunc.nin :]
    single = [operand.strides == (0,) for operand in operands]
    whole = (operand[0] if is_single else operand for operand, is_single in zip(operands, single, strict=True))
    expected = ufunc(*whole, sig=dtypes)
    expected = expected if isinstance(expected, tuple) else (expected,)

    def fresh() -> list[Array]:
        return [np.empty(n, dtype) for dtype in out_dtypes]

    def right(results: list[Array]) -> bool:
        return all(same_values(a, b) for a, b in zip(results, expected, strict=True))

    def agree_at(step: int, among: range) -> bool:
        """With each of those operands and results that many elements apart, alone and all together."""
        for which in [among, *([position] for position in among)]:
            arrays = [
                _spread(array, step) if position in which and array.strides != (0,) else array
                for position, array in enumerate([*operands, *fresh()])
            ]
            if not loop(arrays) or not right(arrays[ufunc.nin :]):
                return False
        return True

    def agree_in_place() -> bool:
        """Where the result has an operand's dtype."""
        for source, dtype in enumerate(dtypes[: ufunc.nin]):
            if dtype == out_dtypes[0] and not single[source]:
                arrays = [*operands, *fresh()]
                arrays[source] = operands[source].copy()
                arrays[ufunc.nin] = arrays[source]
                if not loop(arrays) or not right(arrays[ufunc.nin :]):
                    return False
        return True

    results = fresh()
    if not loop([*operands, *results]) or not right(results):
        return Grade.NOWHERE

    # In pieces, which also move through every alignment.
    results = fresh()
    bounds = [0]
    while bounds[-1] < n:
        bounds.append(min(n, bounds[-1] + PIECES[len(bounds) % len(PIECES)]))
    arrays = [*operands, *results]
    if not loop.pieces(arrays, [array.strides[0] for array in arrays], pairwise(bounds)) or not right(results):
        return Grade.NOWHERE

    only_operands, everything = range(ufunc.nin), range(len(dtypes))
    if not (agree_at(2, only_operands) and agree_at(3, only_operands)):
        return Grade.NOWHERE
    repeatable = [position for position in range(ufunc.nin) if not single[position]]
    if not all(
        _same_when_broadcast(loop, operands, positions, out_dtypes)
        for count in range(1, len(repeatable) + (ufunc.nin == 1))
        for positions in combinations(repeatable, count)
    ):
        return Grade.NOWHERE
    anywhere = agree_in_place() and all(agree_at(step, everything) for step in (2, 3, -1))
    return Grade.ANYWHERE if anywhere else Grade.FORWARD


def _distinct(values: Array) -> Array:
    """The values sorted, each but NaN once. NB: np.unique imports numpy.ma, which takes 10 ms of a first call."""
    ordered = np.sort(values)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))]


def _same_when_broadcast(
    loop: StridedLoop, operands: list[Array], positions: tuple[int, ...], out_dtypes: tuple[DType, ...]
) -> bool:
    """Whether operands of stride zero at `positions` give what the same values repeated give."""
    others = operands
    if len(operands) > 1:
        others = [array if array.strides == (0,) else np.ascontiguousarray(array[::7]) for array in operands]
    n = min(map(len, others)) if len(operands) > 1 else 3
    choices = [_distinct(operands[position][:: max(1, len(operands[position]) // 150)]) for position in positions]
    turns = max(map(len, choices))
    filled = [array if array.strides == (0,) else np.tile(array[:n], turns) for array in others]
    for place, (position, values) in enumerate(zip(positions, choices, strict=True)):
        filled[position] = np.repeat(values[np.arange(turns) * (1 + 6 * place) % len(values)], n)
    plain, broadcast = ([np.empty(n * turns, dtype) for dtype in out_dtypes] for _ in range(2))
    strides = [array.strides[0] for array in (*filled, *plain)]
    single = [0 if position in positions else stride for position, stride in enumerate(strides)]
    bounds = [(n * turn, n * turn + n) for turn in range(turns)]
    if not loop.pieces([*filled, *plain], strides, bounds) or not loop.pieces([*filled, *broadcast], single, bounds):
        return False
    return all(same_values(a, b) for a, b in zip(plain, broadcast, strict=True))


def _spread(array: Array, step: int) -> Array:
    memory = np.zeros(len(array) * abs(step), array.dtype)
    view = memory[::step][: len(array)]
    view[...] = array
    return view

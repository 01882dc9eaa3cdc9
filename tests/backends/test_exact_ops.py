"""Every row of the exact-operation table against NumPy: bits on awkward values, layouts, and floating-point flags."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels.loops import StridedLoop, awkward_values, same_values, sample_operands

from dynamo_lite.program import element_ops
from dynamo_lite.schedule.steps import Kernel, KernelOp
from tests.backends.kernel_call import one_op, run_kernel

Array = np.ndarray[Any, Any]

CHARS = "?bhilBHILfd"


def rows() -> list[tuple[str, str, str]]:
    """(op, operand dtypes, result dtype) of every loop of NumPy that the table claims."""
    found = []
    for name in sorted({name for (name, _), row in element_ops.ROWS.items() if row.offered}):
        ufunc = getattr(np, name)
        for signature in ufunc.types:
            operands, result = signature.split("->")
            if all(char in CHARS for char in operands + result) and element_ops.is_exact(
                name, tuple(map(np.dtype, operands)), tuple(map(np.dtype, result))
            ):
                found.append((name, operands, result))
    return found


ROWS = rows()
IDS = [f"{name}-{operands}" for name, operands, _ in ROWS]


def same_bits(left: Array, right: Array) -> bool:
    return left.dtype == right.dtype and same_values(left, right)


def spread(array: Array, step: int) -> Array:
    memory = np.zeros(len(array) * abs(step), array.dtype)
    view = memory[::step][: len(array)]
    view[...] = array
    return view


def test_the_table_is_not_vacuous() -> None:
    assert len(ROWS) > 250
    assert {name for name, _, _ in ROWS} == {name for (name, _), row in element_ops.ROWS.items() if row.offered}


@pytest.mark.parametrize(("name", "operands", "result"), ROWS, ids=IDS)
def test_bits(name: str, operands: str, result: str) -> None:
    ufunc = getattr(np, name)
    arrays = sample_operands(tuple(map(np.dtype, operands)))
    with np.errstate(all="ignore"):
        expected = ufunc(*arrays)
    kernel = one_op(name, tuple(operands), result)
    for step in (1, 2, -1):
        out = spread(np.zeros(len(expected), result), step)
        run_kernel(kernel, [spread(array, step) for array in arrays], [out])
        assert same_bits(out, expected), step
    if len(operands) == 2:
        for position in (0, 1):
            single: list[Array] = list(arrays)
            single[position] = np.array(arrays[position][7])
            with np.errstate(all="ignore"):
                expected = ufunc(*single)
            out = np.zeros(len(expected), result)
            run_kernel(kernel, single, [out])
            assert same_bits(out, expected)


def reported(call: Any) -> set[str]:
    """The floating-point errors NumPy reports for call()."""
    words = {"divide by zero": "divide", "overflow": "over", "underflow": "under", "invalid value": "invalid"}
    seen: set[str] = set()
    with np.errstate(all="call", call=lambda kind, _: seen.add(words[kind])):
        call()
    return seen


@pytest.mark.parametrize(("name", "operands", "result"), [row for row in ROWS if row[1][0] in "fd"])
def test_flags_are_numpys(name: str, operands: str, result: str) -> None:
    """A pair of values sets a flag exactly when NumPy reports it: in vectors, and in the scalar rest."""
    ufunc = getattr(np, name)
    kernel = one_op(name, tuple(operands), result)
    values = awkward_values(np.dtype(operands[0]))[::3]
    grids = [grid.ravel() for grid in np.meshgrid(*[values] * len(operands), indexing="ij")]
    raises = element_ops.may_raise(name, tuple(map(np.dtype, operands)), (np.dtype(result),))
    for index in range(len(grids[0])):
        single = [np.full(19, grid[index]) for grid in grids]
        flags = run_kernel(kernel, single, [np.zeros(19, result)])
        assert flags == reported(lambda single=single: ufunc(*single)), [array[0] for array in single]
        assert raises or not flags


CASTS = [
    (source, target) for source in CHARS for target in CHARS if source != target and source + target not in ("fI", "dI")
]


@pytest.mark.parametrize(("source", "target"), CASTS)
def test_casts(source: str, target: str) -> None:
    dtype = np.dtype(source)
    assert element_ops.exact_cast(dtype, np.dtype(target))
    (values,) = sample_operands((dtype,))
    if source in "fd":
        limits = np.array([2.0**k + d for k in (7, 8, 15, 16, 31, 32, 63, 64) for d in (-1, -0.5, 0, 0.5, 1)], dtype)
        values = np.concatenate([values, limits, -limits, np.arange(-300, 300, 7, dtype=dtype)])
    kernel = one_op("cast", (source,), target)
    raises = element_ops.may_raise("cast", (dtype,), (np.dtype(target),))
    with np.errstate(all="ignore"):
        expected = values.astype(target)
    for step in (1, -2):
        out = spread(np.zeros(len(values), target), step)
        run_kernel(kernel, [spread(values, step)], [out])
        if source in "fd" and target not in "?fd":
            quiet = np.array([not reported(lambda v=v: v.astype(target)) for v in values])
            assert same_bits(np.ascontiguousarray(out[quiet]), expected[quiet])
        else:
            assert same_bits(out, expected)
    if source in "fd":
        for value in values:
            single = np.full(19, value)
            flags = run_kernel(kernel, [single], [np.zeros(19, target)])
            assert flags == reported(lambda single=single: single.astype(target)), value
            assert raises or not flags


@pytest.mark.parametrize("char", "?bhilBHILfd")
def test_where(char: str) -> None:
    dtype = np.dtype(char)
    kernel = Kernel(
        (np.dtype("?"), dtype, dtype),
        (KernelOp("where", (0, 1, 2), (np.dtype("?"), dtype, dtype), (dtype,)),),
        (3,),
    )
    left, right = (array[:999] for array in sample_operands((np.dtype("h"), dtype))[1:] + sample_operands((dtype,)))
    n = min(len(left), len(right))
    left, right = left[:n], right[:n]
    mask = np.arange(n) % 3 == 0
    for step in (1, 2):
        out = spread(np.zeros(n, dtype), step)
        flags = run_kernel(kernel, [spread(mask, step), left, right], [out])
        assert out.tobytes() == np.where(mask, left, right).tobytes()
        assert not flags


def test_nan_sign_survives_negation_before_addition() -> None:
    """LLVM folds a + (-b) to a - b, which would keep the sign of a NaN."""
    f8 = np.dtype(np.float64)
    kernel = Kernel(
        (f8, f8),
        (KernelOp("negative", (1,), (f8,), (f8,)), KernelOp("add", (0, 2), (f8, f8), (f8,))),
        (3,),
    )
    a, b, out = np.ones(9), np.full(9, np.nan), np.zeros(9)
    run_kernel(kernel, [a, b], [out])
    assert np.signbit(out).all() and np.signbit(a + (-b)).all()


@pytest.mark.parametrize("target", "bhilBHL?")
@pytest.mark.parametrize("source", "fd")
def test_casts_of_floats_that_fit_no_integer(source: str, target: str) -> None:
    """What the hardware makes of them; of NaN, too, which is in no range."""
    limits = [2.0**bits for bits in (7, 8, 15, 16, 31, 32, 63, 64)]
    values = [np.nan, -np.nan, np.inf, -np.inf, 1e30, -1e30, 0.5, -0.5, -1.0, *limits, *(-limit for limit in limits)]
    kernel = one_op("cast", (source,), target)
    for n in (1, 2, 3, 4, 8, 33):
        for first in range(len(values)):
            x = np.array([values[(first + i) % len(values)] for i in range(n)], source)
            out = np.zeros(n, target)
            run_kernel(kernel, [x], [out])
            with np.errstate(all="ignore"):
                assert out.tobytes() == x.astype(target).tobytes(), (x, out)


@pytest.mark.parametrize("target", "bhilBHL")
@pytest.mark.parametrize("source", "ilIL")
def test_an_integer_that_was_a_float_is_out_of_range(source: str, target: str) -> None:
    """LLVM would leave out the float between them, and with it what NumPy reports."""
    limits = np.iinfo(source)
    values = np.array([limits.min, limits.max, 0, 1, limits.max // 2 + 1] * 3, source)
    for between in "fd":
        integer, real, back = map(np.dtype, (source, between, target))
        casts = (KernelOp("cast", (0,), (integer,), (real,)), KernelOp("cast", (1,), (real,), (back,)))
        for value in values[:5]:
            x, out = np.full(19, value), np.zeros(19, target)
            flags = run_kernel(Kernel((integer,), casts, (2,)), [x], [out])
            assert flags == reported(lambda x=x, f=between: x.astype(f).astype(target)), (between, value)
            with np.errstate(all="ignore"):
                assert out.tobytes() == x.astype(between).astype(target).tobytes(), (between, value)


def test_pieces_are_run_where_they_lie() -> None:
    loop = StridedLoop(np.add, (np.dtype("d"),) * 3)
    x, out = np.arange(20.0), np.zeros(20)
    assert loop.pieces([x[::2], x, out], [16, 0, 8], [(0, 3), (5, 9)])
    assert out.tolist() == [0.0, 2.0, 4.0, 0.0, 0.0, 15.0, 17.0, 19.0, 21.0, *[0.0] * 11]
    for arrays, strides, bounds in (
        ([x, x], [8], [(0, 1)]),
        ([x, x, x[None]], [8] * 3, [(0, 1)]),
        ([x, x, 1.0], [8] * 3, [(0, 1)]),
        ([x, x, x], [8, 8, "8"], [(0, 1)]),
        ([x, x, x], [8] * 3, [(0,)]),
    ):
        with pytest.raises((TypeError, ValueError)):
            loop.pieces(arrays, strides, bounds)

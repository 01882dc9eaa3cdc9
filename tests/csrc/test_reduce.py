"""Reductions give NumPy's bits and NumPy's layout, whatever the order of axes, the sizes and the dtype."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels.functions import folds
from dynamo_lite.backends.numba.compile import compile_kernel

from dynamo_lite import _C
from dynamo_lite._C import Declined, Program
from dynamo_lite.graph.scalar import Symbol
from dynamo_lite.schedule.steps import Kernel, KernelOp, Reduce, Reg, Schedule

F8 = np.dtype("f8")


def plain(dtype: Any) -> Kernel:
    """A kernel that only reads its operand."""
    return Kernel((np.dtype(dtype),), (), (0,))


def add(dtype: Any) -> Kernel:
    """A kernel of two operands."""
    d = np.dtype(dtype)
    op = KernelOp("loop", (0, 1), (d, d), (d,), np.add) if d.kind == "c" else KernelOp("add", (0, 1), (d, d), (d,))
    return Kernel((d, d), (op,), (2,))


def reduction(
    kernel: Kernel, shape: tuple[Any, ...], ufunc: np.ufunc, axes: tuple[int, ...], keepdims: bool, dtype: Any
) -> Program:
    n = len(kernel.operand_dtypes)
    kernel = replace(kernel, fold=ufunc) if folds(kernel, ufunc) else kernel
    scalar = len(axes) == len(shape) and not keepdims
    step = Reduce(kernel, tuple(map(Reg, range(n))), shape, ufunc, axes, keepdims, n, np.dtype(dtype), scalar)
    return Program(Schedule(n, n + 1, (), (), (step,), (Reg(n),), ()), compile_kernel)


def check(got: Any, expected: Any) -> None:
    assert type(got) is type(expected)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    assert got.strides == expected.strides
    assert got.tobytes() == expected.tobytes()


def values(rng: np.random.Generator, n: int, dtype: Any) -> Any:
    """Numbers of many magnitudes, so that every order of additions shows."""
    d = np.dtype(dtype)
    if d.kind == "f":
        return (rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4, n)).astype(d)
    if d.kind == "c":
        return (values(rng, n, "f8") + 1j * values(rng, n, "f8")).astype(d)
    if d.kind == "b":
        return rng.random(n) < 0.5
    info = np.iinfo(d)
    return rng.integers(info.min, info.max, n, d, endpoint=True)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_pairwise_sums_of_every_length(dtype: str) -> None:
    """Lengths 1..3000 and large ones, in memory, strided, and computed by a kernel tile by tile."""
    rng = np.random.default_rng(0)
    size = Symbol("s0", "int", 0, 0)
    direct = reduction(plain(dtype), (size,), np.add, (0,), False, dtype)
    fused = reduction(add(dtype), (size,), np.add, (0,), False, dtype)
    long = [2**k + d for k in range(12, 18) for d in (-9, -1, 0, 1, 7, 8)] + [8192 * 3, 100_003, 250_000]
    step = 1 if dtype == "f8" else 3
    x, y, wide = (values(rng, n, dtype) for n in (250_000, 250_000, 500_000))
    for n in itertools.chain(range(1, 3000, step), long):
        check(direct(x[:n])[0], np.add.reduce(x[:n]))
        check(fused(x[:n], y[-n:])[0], np.add.reduce(x[:n] + y[-n:]))
        check(direct(wide[: 2 * n : 2])[0], np.add.reduce(wide[: 2 * n : 2]))
        check(direct(x[n - 1 :: -1])[0], np.add.reduce(x[n - 1 :: -1]))


def layouts(rng: random.Random, array: Any) -> Any:
    """The same elements, packed in another order of axes, or not packed."""
    kind = rng.random()
    if kind < 0.4:
        return array
    order = rng.sample(range(array.ndim), array.ndim)
    array = np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))
    if kind < 0.8:
        return array
    return array[tuple(slice(None, None, rng.choice((1, 1, 2, -1))) for _ in array.shape)]


def random_case(rng: random.Random) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    nd = rng.randrange(1, 5)
    sizes = (1, 2, 3, 4, 5, 7, 8, 9, 13, 17)
    shape = [rng.choice(sizes) for _ in range(nd)]
    if rng.random() < 0.3:
        shape[rng.randrange(nd)] = rng.choice((130, 300, 1030, 5000))
    axes = tuple(axis for axis in range(nd) if rng.random() < 0.55)
    return tuple(shape), axes, rng.random() < 0.3


def dtypes_of(ufunc: np.ufunc) -> list[str]:
    if ufunc in (np.logical_or, np.logical_and):
        return ["?"]
    integers = ["i8", "u8"] if ufunc in (np.add, np.multiply) else ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
    return ["f8", "f4", "f2", "c16", "c8", *integers]


@pytest.mark.parametrize(
    "ufunc", [np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.logical_or, np.logical_and]
)
def test_axes_and_layouts(ufunc: np.ufunc) -> None:
    """Random shapes with 1s, packed and strided operands, any axes, keepdims; alone and under a kernel."""
    rng, numbers = random.Random(ufunc.__name__), np.random.default_rng(1)
    for _ in range(1500):
        shape, axes, keepdims = random_case(rng)
        dtype = rng.choice(dtypes_of(ufunc))
        count = int(np.prod(shape))
        if count > 60_000:
            continue
        x = layouts(rng, values(numbers, count, dtype).reshape(shape))
        if rng.random() < 0.5:
            x = np.asarray(x)
        with np.errstate(all="ignore"):
            program = reduction(plain(dtype), x.shape, ufunc, axes, keepdims, dtype)
            check(program(x)[0], ufunc.reduce(x, axis=axes, keepdims=keepdims))
            if dtype in ("?", "f2"):
                continue
            y = rng.choice((values(numbers, count, dtype).reshape(shape), x, x.copy("F")))
            y = y[tuple(slice(0, size) for size in x.shape)]
            if rng.random() < 0.3:
                y = y[tuple(slice(0, 1) if rng.random() < 0.5 else slice(None) for _ in y.shape)]
            program = reduction(add(dtype), x.shape, ufunc, axes, keepdims, dtype)
            check(program(x, y)[0], ufunc.reduce(x + y, axis=axes, keepdims=keepdims))


@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.minimum, np.fmin])
def test_views_whose_elements_overlap(ufunc: np.ufunc) -> None:
    """Windows, and strides that are alike or in no order of axes."""
    rng, numbers = random.Random(7), np.random.default_rng(7)
    for _ in range(600):
        shape, axes, keepdims = random_case(rng)
        dtype = np.dtype(rng.choice(("f8", "f4", "i8", "u8")))
        strides = tuple(dtype.itemsize * rng.choice((1, 1, 2, 3, 5, 8, 40)) for _ in shape)
        size = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True)) // dtype.itemsize
        if np.prod(shape) > 60_000:
            continue
        x = np.lib.stride_tricks.as_strided(values(numbers, size, dtype), shape, strides)
        with np.errstate(all="ignore"):
            program = reduction(plain(dtype), shape, ufunc, axes, keepdims, dtype)
            check(program(x)[0], ufunc.reduce(x, axis=axes, keepdims=keepdims))


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8"])
def test_operands_that_broadcast(dtype: str) -> None:
    """Differences of all pairs: reduced runs of 1..40 elements across which the kernel runs, and every other axis."""
    numbers, rng = np.random.default_rng(4), random.Random(4)
    for n in range(1, 41):
        for outer, inner in ((5, 7), (3, 300), (300, 3), (1, 50), (50, 1), (2, 2500)):
            x, y = (values(numbers, k * n, dtype).reshape(k, n) for k in (outer, inner))
            a, b = x[:, None, :], y[None, :, :]
            shape = (outer, inner, n)
            axes = rng.choice(((2,), (2,), (2,), (0,), (1,), (1, 2), (0, 2), (0, 1, 2)))
            keepdims = rng.random() < 0.3
            ufunc = np.add if np.dtype(dtype).kind == "c" else rng.choice((np.add, np.maximum))
            with np.errstate(all="ignore"):
                program = reduction(add(dtype), shape, ufunc, axes, keepdims, dtype)
                check(program(a, b)[0], ufunc.reduce(a + b, axis=axes, keepdims=keepdims))
                check(program(a, b[:, ::-1])[0], ufunc.reduce(a + b[:, ::-1], axis=axes, keepdims=keepdims))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u4", "i8", "u8", "f4", "f8", "?"])
def test_extremes_at_every_place(dtype: str) -> None:
    """The extreme, or the value that settles any and all, anywhere in runs of every length."""
    d = np.dtype(dtype)
    for n in [*range(1, 140), 255, 256, 257, 511, 513, 700]:
        for place in {0, n // 3, n // 2, n - 1, max(0, n - 2)}:
            for least in (False, True):
                x = np.full((3, n), 7, d) if d.kind != "b" else np.full((3, n), least)
                x[1, place] = (3 if least else 9) if d.kind != "b" else not least
                ufunc = (np.minimum if least else np.maximum) if d.kind != "b" else np.logical_or
                ufunc = np.logical_and if d.kind == "b" and least else ufunc
                for axes in ((1,), (0, 1)):
                    check(reduction(plain(d), (3, n), ufunc, axes, False, d)(x)[0], ufunc.reduce(x, axis=axes))


def test_bytes_of_bools() -> None:
    """Any byte that is not 0 is true, also where memory was written as numbers."""
    for n in (1, 7, 300, 700):
        for byte in (1, 2, 128, 255):
            x = np.zeros(n, "u1")
            x[n // 2] = byte
            for array in (x.view("?"), (x ^ byte).view("?")):
                for ufunc in (np.logical_or, np.logical_and):
                    check(reduction(plain("?"), (n,), ufunc, (0,), False, "?")(array)[0], ufunc.reduce(array))


def test_big_reductions_without_the_gil() -> None:
    """Above the threshold, tiles and runs of many sizes."""
    rng = np.random.default_rng(2)
    for shape in ((300_000,), (3, 100_000), (100_000, 3), (600, 500), (20, 500, 30), (2, 3, 50_000), (7, 9000, 2)):
        x, y = rng.standard_normal(shape), rng.standard_normal(shape)
        for count in range(1, len(shape) + 1):
            for axes in itertools.combinations(range(len(shape)), count):
                check(reduction(plain(F8), shape, np.add, axes, False, F8)(x)[0], np.add.reduce(x, axis=axes))
                check(reduction(add(F8), shape, np.add, axes, False, F8)(x, y)[0], np.add.reduce(x + y, axis=axes))
                check(
                    reduction(add(F8), shape, np.maximum, axes, False, F8)(x, y)[0], np.maximum.reduce(x + y, axis=axes)
                )


@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.minimum, np.fmax, np.fmin])
def test_special_values(ufunc: np.ufunc) -> None:
    """NaN (with its payload), infinities and zeros of both signs."""
    rng = random.Random(3)
    payload = np.frombuffer(np.array([0x7FF8000000000ABC], "u8").tobytes(), "f8")[0]
    pool = [0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), payload, -0.0, 0.0]
    for _ in range(2000):
        shape = (rng.randrange(1, 5), rng.choice((1, 2, 7, 8, 9, 17, 40)))
        chosen = rng.sample(pool, rng.randrange(1, 4))
        x = np.array([rng.choice(chosen) for _ in range(shape[0] * shape[1])]).reshape(shape)
        axes = rng.choice(((0,), (1,), (0, 1)))
        with np.errstate(all="ignore"):
            check(reduction(plain(F8), shape, ufunc, axes, False, F8)(x)[0], ufunc.reduce(x, axis=axes))
            check(met(reduction(add(F8), shape, ufunc, axes, False, F8), x, x)[0], ufunc.reduce(x + x, axis=axes))


@pytest.mark.parametrize("ufunc", [np.fmax, np.fmin])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_extremes_that_leave_nans_out(ufunc: np.ufunc, dtype: str) -> None:
    """Runs of every length in which some, or all, are NaN; NumPy is asked where nothing else is there."""
    assert _C.find_fold(ufunc, np.dtype(dtype)) >= 0
    rng = np.random.default_rng(6)
    for n in [*range(1, 70), 129, 700]:
        for share in (0.0, 0.5, 0.9, 1.0):
            x = values(rng, 3 * n, dtype).reshape(3, n)
            x[rng.random((3, n)) < share] = np.nan
            x[2] = np.where(np.isnan(x[2]), np.nan, np.inf if ufunc is np.fmin else -np.inf)
            for axis in (0, 1):
                program = reduction(plain(dtype), x.shape, ufunc, (axis,), False, dtype)
                for _ in range(5):
                    check(program(x)[0], ufunc.reduce(x, axis=axis))


@pytest.mark.parametrize("ufunc", [np.maximum, np.fmax])
def test_reductions_in_doubt_again_and_again(ufunc: np.ufunc) -> None:
    """NumPy does some calls for what is in doubt; what is not comes out right before and after."""
    payload = np.frombuffer(np.array([0x7FF8000000000ABC], "u8").tobytes(), "f8")[0]
    doubtful, clear = np.full((3, 40), np.nan), np.arange(120.0).reshape(3, 40)
    doubtful[1, ::2] = payload
    for x in (clear, doubtful):
        program = reduction(add(F8), x.shape, ufunc, (0,), False, F8)
        with np.errstate(all="ignore"):
            for number in range(300):
                y = (x, clear, doubtful)[number % 7 % 3]
                check(met(program, y, clear)[0], ufunc.reduce(y + clear, axis=0))


def met(program: Program, *inputs: Any) -> tuple[Any, ...]:
    """What the program gives, or gives when it is called again: from then on it asks whether NaNs that go in differ.
    And once more where these differ from those that arise, for then it asks which meet."""
    for _ in range(2):
        try:
            return program(*inputs)
        except Declined as declined:
            assert "NaN" in str(declined)
    return program(*inputs)


def test_reported_errors_decline() -> None:
    """inf - inf and overflow report as in NumPy; a NaN that is only compared does not."""
    inf, big = np.array([np.inf, -np.inf]), np.full(4, 1e308)
    total = reduction(plain(F8), (Symbol("s0", "int", 0, 0),), np.add, (0,), False, F8)
    for x in (inf, big):
        with pytest.raises(Declined):
            total(x)
        with np.errstate(all="ignore"):
            check(total(x)[0], np.add.reduce(x))
    with np.errstate(all="raise"):
        for ufunc in (np.maximum, np.minimum, np.fmax, np.fmin):
            x = np.array([1.0, np.nan, 2.0])
            check(reduction(plain(F8), (3,), ufunc, (0,), False, F8)(x)[0], ufunc.reduce(x))
            check(met(reduction(add(F8), (3,), ufunc, (0,), False, F8), x, x)[0], ufunc.reduce(x + x))


def test_empty_and_numpys_own() -> None:
    """Empty arrays, no axes, ufuncs without a rule, other accumulators: NumPy does it, or declines for its error."""
    for shape, axes in (((0,), (0,)), ((0, 3), (0,)), ((0, 3), (1,)), ((3, 0), (0, 1)), ((2, 3), ())):
        x = np.ones(shape)
        check(reduction(plain(F8), shape, np.add, axes, False, F8)(x)[0], np.add.reduce(x, axis=axes))
        check(
            reduction(add(F8), shape, np.add, axes, True, F8)(x, x)[0], np.add.reduce(x + x, axis=axes, keepdims=True)
        )
    with pytest.raises(Declined, match="raised"):
        reduction(plain(F8), (0,), np.maximum, (0,), False, F8)(np.ones(0))
    x = np.random.default_rng(0).random((5, 4))
    for ufunc in (np.hypot, np.logaddexp):
        check(reduction(plain(F8), (5, 4), ufunc, (1,), False, F8)(x)[0], ufunc.reduce(x, axis=1))
    narrow = (x * 100).astype("i2")
    check(reduction(plain("i2"), (5, 4), np.add, (0, 1), False, "i8")(narrow)[0], narrow.sum())
    check(
        reduction(plain("f4"), (5, 4), np.add, (0,), False, "f8")(x.astype("f4"))[0], x.astype("f4").sum(0, dtype="f8")
    )

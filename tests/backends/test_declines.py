"""A program that cannot finish as NumPy would declines, and leaves every array as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.numba import compile_graph

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.config import config
from tests.schedule.tracing import trace


def program(function: Any, *arguments: Any) -> Any:
    with config.patch(cost_model=False):
        return compile_graph(trace(function, *arguments), arguments)


def declines(run: Any, *arguments: Any) -> bool:
    """Whether it declines; if so, every array is unchanged."""
    before = [np.array(argument) for argument in arguments]
    try:
        run(*arguments)
    except _C.Declined:
        for argument, copy in zip(arguments, before, strict=True):
            assert np.array(argument).tobytes() == copy.tobytes()
        return True
    return False


ONES = np.ones(2000)
ZEROS = np.where(np.arange(2000) == 1500, 0.0, 1.0)


@pytest.mark.parametrize(
    ("function", "clean", "bad"),
    [
        (lambda x: 1 / x + 1, ONES, ZEROS),
        (lambda x: np.log(x) * 2, ONES, ZEROS),
        (lambda x: np.sqrt(x - 1), ONES, ZEROS),
        (lambda x: np.exp(x * 1000 - 999.5) + x, ONES, ONES * 3),
        (lambda x: (x * 1e300).sum(), ONES, ONES * 1e7),
        (lambda x: x.astype("f") + 1, ONES, ONES * 1e300),
        (lambda x: x.astype("l") + 1, ONES, ZEROS / ZEROS.sum() + np.nan),
        (lambda x: (x > 0).astype("d") / x, ONES, ZEROS),
    ],
)
def test_floating_point_errors(function: Any, clean: Any, bad: Any) -> None:
    run = program(function, clean)
    assert not declines(run, clean)
    assert declines(run, bad)
    with np.errstate(all="ignore"):
        assert not declines(run, bad)


def test_an_unused_result_may_report() -> None:
    def function(x: Any) -> Any:
        1 / x
        np.log(x)
        return x + 1

    assert declines(program(function, ONES), ZEROS)
    assert not declines(program(function, ONES), ONES.copy())


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.where(1 / x > 1, x, x),
        lambda x: np.where(1 / x > 1, x, +x),
        lambda x: np.where((1 / x > 1) & ~(1 / x > 1), x, 2.0),
        lambda x: np.where((x > 0) ^ (x > 0), 1 / x, x),
        lambda x: np.where(x > x, 1 / x, x),
        lambda x: np.signbit(abs(1 / x)),
        lambda x: (lambda q: q > q)(1 / x),
        lambda x: (lambda q: q ^ q)((x / x).astype("l")),
        lambda x: np.where((1 / x > 1) ^ (1 / x > 1), 1.0, 2.0).sum(),
        lambda x: (x < x).astype("d") / (x > 0),
        lambda x: np.logical_xor(x, x) / (x > 0),
        lambda x: (lambda i: (i - i) / (x > 0))(x.astype("l")),
        lambda x: (lambda i: (1 - i - (1 - i)) / i)(x.astype("l")),
        lambda x: (lambda i: (i - i) / (1 + i))((x - 1).astype("l")),
        lambda x: np.sqrt(np.sign(x - 0.5)),
        lambda x: np.sqrt(np.where((1 / x > 1) ^ (1 / x > 1), 1.0, 2.0)),
    ],
)
def test_an_optimiser_drops_no_flag(function: Any) -> None:
    assert not declines(program(function, ONES), ONES)
    assert declines(program(function, ONES), ZEROS)


def test_nan_passes_silently_where_numpy_is_silent() -> None:
    def function(x: Any) -> Any:
        return np.where(x < 2, x, 2.0), x >= x, np.isnan(x), np.maximum(x, 1), -x, abs(x), x + 1

    nan = ONES.copy()
    nan[::3] = np.nan
    assert not declines(program(function, ONES), nan)


def test_an_input_is_restored() -> None:
    def function(x: Any, y: Any) -> Any:
        x += 1
        x[3:] = 7
        y[1:-1] = x[:-2] * 2
        return np.log(y)

    run = program(function, ONES.copy(), ONES.copy())
    assert not declines(run, ONES.copy(), ONES.copy())
    assert declines(run, ONES.copy(), -ONES)


def test_a_store_is_undone_when_its_own_kernel_reports() -> None:
    def function(x: Any) -> None:
        x[...] = 2 / x

    run = program(function, ONES.copy())
    assert declines(run, ZEROS.copy())
    strided = np.repeat(ZEROS, 2)[::2]
    assert declines(run, strided)


def test_integers_are_silent() -> None:
    def function(x: Any) -> Any:
        x *= 3
        return x << 2, x * x, -x, x.sum()

    limits = np.full(1500, np.iinfo("l").max)
    assert not declines(program(function, limits.copy()), limits.copy())


def test_integer_division_by_zero_is_reported() -> None:
    run = program(lambda x, y: (x // y, x % y), np.ones(9, "l"), np.ones(9, "l"))
    assert not declines(run, np.ones(9, "l"), np.ones(9, "l"))
    assert declines(run, np.ones(9, "l"), np.zeros(9, "l"))


def test_a_call_that_raises_declines() -> None:
    run = program(lambda m: np.linalg.inv(m * 2) + 1, np.eye(3))
    assert not declines(run, np.eye(3))
    assert declines(run, np.zeros((3, 3)))


def test_an_index_out_of_range_declines() -> None:
    def function(x: Any) -> Any:
        x += 1
        return x[4] * 2

    run = program(function, ONES.copy())
    assert declines(run, np.ones(3))


def test_overlapping_arguments_decline_when_one_is_written() -> None:
    def function(x: Any, y: Any) -> None:
        x[1:] = y[:-1]

    run = program(function, ONES.copy(), ONES.copy())
    memory = np.arange(3000.0)
    assert declines(run, memory[:2000], memory[10:2010])
    assert not declines(run, memory[:1400], memory[1500:2900])


def test_a_scalar_out_of_an_integer_arrays_range_declines() -> None:
    def function(x: Any, y: Any) -> None:
        x[1:3] = y[0] * 2.0

    run = program(function, np.zeros(4, "b"), np.ones(3, "f"))
    assert not declines(run, np.zeros(4, "b"), np.ones(3, "f"))
    assert declines(run, np.zeros(4, "b"), np.full(3, 300, "f"))
    assert declines(run, np.zeros(4, "b"), np.full(3, np.nan, "f"))


def test_an_unused_integer_reciprocal_may_report() -> None:
    def function(x: Any) -> Any:
        np.reciprocal(x)
        return x + 1

    assert declines(program(function, np.ones(3, "l")), np.zeros(3, "l"))


def test_two_nans_decline_where_numpy_keeps_either() -> None:
    """From the first NaN on the program looks at each pair of operands; equal NaNs are no question."""
    run = program(lambda x, y: (x + y) * 2.0, ONES, ONES)
    nan = np.where(np.arange(2000) % 7 == 0, np.nan, 1.0)
    assert not declines(run, ONES, ONES)
    assert declines(run, nan, ONES)
    assert not declines(run, nan, ONES)
    assert not declines(run, nan, nan)
    assert not declines(run, nan, nan[::-1].copy())
    assert declines(run, nan, -nan)
    assert not declines(run, ONES, ONES)
    strided = np.repeat(nan, 2)[::2]
    assert declines(run, strided, -nan)
    assert not declines(run, strided, nan)


def test_a_map_of_known_geometry_asks_about_nans_too() -> None:
    run = program(lambda x, y: (x + y) * 2.0, ONES, ONES)
    twice = np.repeat(ONES, 2)[::2]
    nan = np.where(np.arange(4000) % 7 == 0, np.nan, 1.0)[::2]
    assert not declines(run, twice, ONES)
    assert not declines(run, twice, ONES)
    assert declines(run, nan, ONES)
    assert not declines(run, nan, ONES)
    assert declines(run, nan, -nan)
    assert not declines(run, twice, ONES)


def test_a_nan_and_a_number_are_no_question() -> None:
    run = program(lambda x, y: (x * y + 1.5) / y, ONES, 2.0)
    nan = np.where(np.arange(2000) % 7 == 0, np.nan, 1.0)
    assert not declines(run, -nan, 2.0)
    assert declines(run, -nan, float("nan"))


@pytest.mark.parametrize("dtype", ("?", "b", "L", "d", "m8[s]"))
@pytest.mark.parametrize("axis", (None, 0, 1, (0, 1)))
@pytest.mark.parametrize("name", ("max", "min"))
def test_an_extreme_of_nothing_behind_a_write(name: str, axis: Any, dtype: str) -> None:
    """It has no identity, so that a reduction of no elements raises, whatever the dtype."""

    def function(y: Any) -> Any:
        y[:, 1:] = 1
        return getattr(y, name)(axis=axis)

    fast = dynamo_lite.compile(function, options={"cost_model": False, "check": 1})
    for shape in ((3, 4), (3, 4), (0, 4), (3, 0), (0, 0), (3, 4)):
        plain, compiled = (np.zeros(shape, dtype) for _ in range(2))
        try:
            expected = function(plain)
        except ValueError as error:
            with pytest.raises(ValueError, match=str(error)):
                fast(compiled)
        else:
            assert np.asarray(fast(compiled)).tobytes() == np.asarray(expected).tobytes()
        assert compiled.tobytes() == plain.tobytes()

"""Cumulative sums and products of whole arrays: NumPy's bits, strides and warnings, and who computes them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.oracle import require_equal

EXTREMES = {
    **{"maximum": _C.maximum_accumulate, "minimum": _C.minimum_accumulate},
    **{"fmax": _C.fmax_accumulate, "fmin": _C.fmin_accumulate},
}
FUNCTIONS = {"add": _C.add_accumulate, "multiply": _C.multiply_accumulate, **EXTREMES}
SHAPES = [(1,), (2,), (9,), (1000,), (4, 5), (7, 3), (5, 100), (3, 4, 5), (9, 2, 3), (2, 3, 4, 5)]


def refuse(*_: object) -> None:
    raise AssertionError("NumPy was asked")


def values(shape: tuple[int, ...], dtype: str) -> Any:
    random = np.random.default_rng(len(shape))
    return random.integers(-9, 9, shape).astype(dtype) if dtype == "l" else random.normal(1.0, 0.1, shape).astype(dtype)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["d", "f", "l"])
@pytest.mark.parametrize("shape", SHAPES)
def test_packed_arrays(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    x = values(shape, dtype)
    for axis in range(len(shape)):
        wanted = getattr(np, name).accumulate(x, axis)
        found = FUNCTIONS[name](refuse, x, axis)
        assert found.dtype == wanted.dtype and found.strides == wanted.strides
        assert found.tobytes() == wanted.tobytes() and found.flags.owndata


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "x",
    [
        np.broadcast_to(values((4, 5), "d"), (3, 4, 5)),
        np.lib.stride_tricks.as_strided(values((9,), "d"), (3, 3), (8, 8)),
        values((4, 5), "d")[:, None][::-1],
        values((1, 5), "d"),
        values((5, 1, 2), "d"),
        values((0, 3), "d"),
        values((4, 3), "i"),
        values((4, 3), "d").astype(">f8"),
        np.array([[1.0, np.nan, 2.0], [-np.nan, np.nan, 1.0]]),
        np.array([[np.inf, 1.0], [2.0, 1.0]]),
        np.ma.masked_array(values((4, 3), "d")),
    ],
)
def test_numpy_is_asked_about_others(name: str, x: Any) -> None:
    for axis in range(x.ndim):
        wanted = getattr(np, name).accumulate(x, axis)
        found = FUNCTIONS[name](getattr(np, name).accumulate, x, axis)
        assert type(found) is type(wanted) and found.strides == wanted.strides and found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["d", "f", "l"])
@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[::-1],
        lambda x: x[:, ::-1, ::-1],
        lambda x: x[::2, ::3, ::-2],
        lambda x: x.T,
        lambda x: x.transpose(1, 0, 2)[::-1],
        lambda x: x[0, 0, ::-1],
        lambda x: x[:, 1, 1],
        lambda x: x[:, 1],
    ],
)
def test_arrays_that_lie_otherwise(name: str, dtype: str, view: Any) -> None:
    x = view(values((5, 6, 7), dtype))
    for axis in range(x.ndim):
        wanted = getattr(np, name).accumulate(x, axis)
        found = FUNCTIONS[name](refuse, x, axis)
        assert found.dtype == wanted.dtype and found.strides == wanted.strides and found.flags.owndata
        assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nans_of_arrays_that_lie_otherwise(name: str) -> None:
    """Where all are alike NumPy need not be asked."""
    x = values((6, 7), "d")[::-1]
    x[[1, 2, 2], [3, 3, 4]] = np.nan
    asked = np_of(name) if name.startswith("m") and name != "multiply" else refuse
    for axis in range(2):
        assert FUNCTIONS[name](asked, x, axis).tobytes() == np_of(name)(x, axis).tobytes()
        y = np.where(np.isnan(x), -x, x)[:, ::-1]
        y[3, 3] = np.nan
        assert FUNCTIONS[name](np_of(name), y, axis).tobytes() == np_of(name)(y, axis).tobytes()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_numpy_warns_of(name: str) -> None:
    for x in ([1e308, 1e308, 1e308, 2.0], [np.inf, -np.inf, 0.0, 0.0], [1e-200, 1e-200, 3.0, 1.0]):
        found = []
        for function in (getattr(np, name).accumulate, lambda x, axis: FUNCTIONS[name](np_of(name), x, axis)):
            with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
                warnings.simplefilter("always")
                found.append((function(np.array(x), 0).tobytes(), [str(one.message) for one in caught]))
        assert found[0] == found[1]


def np_of(name: str) -> Any:
    return getattr(np, name).accumulate


def test_errors_are_numpys() -> None:
    with pytest.raises(np.exceptions.AxisError):
        _C.add_accumulate(np.add.accumulate, np.zeros(3), 1)
    with pytest.raises(TypeError):
        _C.add_accumulate(np.add.accumulate, np.zeros(3))  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        _C.add_accumulate(np.add.accumulate, np.zeros(3), "x")  # type: ignore[arg-type]


def test_in_programs() -> None:
    def fn(x: Any) -> Any:
        return np.cumsum(x * 2.0, axis=1) + 1.0, np.cumprod(x, axis=0), x.cumsum()

    for x in (values((6, 40), "d"), values((6, 40), "d")[:, ::2], values((6, 40), "d").T):
        require_equal(fn, lambda x=x: (x.copy(order="K"),), compile=dynamo_lite.compile)


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_extremes_so_far(name: str, dtype: str) -> None:
    """Of zeros, infinities and NaNs at every place NumPy's bits; np.fmax and np.fmin skip NaNs without asking NumPy."""
    special = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0], dtype)
    random = np.random.default_rng(3)
    ufunc = getattr(np, name)
    for _ in range(200):
        rare, often = random.choice(special, (5, 9)), random.normal(size=(5, 9)).astype(dtype)
        x = np.where(random.random((5, 9)) < 0.2, rare, often)
        for one in (x, x[0]):
            for axis in range(one.ndim):
                found = EXTREMES[name](ufunc.accumulate, one, axis)
                assert found.tobytes() == ufunc.accumulate(one, axis).tobytes()
    x = random.normal(size=300).astype(dtype)
    x[[0, 7, 8, 299]] = np.nan
    if name.startswith("f"):
        assert EXTREMES[name](refuse, x, 0).tobytes() == ufunc.accumulate(x).tobytes()


@pytest.mark.parametrize("name", EXTREMES)
def test_compiled_functions_call_these(name: str) -> None:
    ufunc = getattr(np, name)

    def program(x: Any) -> Any:
        return ufunc.accumulate(x) - x, ufunc.accumulate(x.reshape(20, -1), axis=1)[1] * 2.0

    x = np.cumsum(np.random.default_rng(5).normal(size=2000))
    fast = dynamo_lite.compile(program, options={"cost_model": False, "check": 1})
    for given in (x, x[::-1].copy(), np.where(x > 3, np.nan, x)):
        for _ in range(2):
            assert [one.tobytes() for one in fast(given)] == [one.tobytes() for one in program(given)]
    assert fast.stats()["declines"] == 0

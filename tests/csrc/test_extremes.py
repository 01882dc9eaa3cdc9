"""Where extremes of short rows and along earlier axes lie: NumPy's positions, strides and flags, and who finds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.oracle import require_equal

FUNCTIONS = {"argmax": _C.argmax, "argmin": _C.argmin}
SHAPES = [(1, 1), (2, 3), (7, 24), (7, 25), (130, 3), (3, 130), (128, 2), (257, 5), (4, 3, 5), (5, 1, 2), (2, 3, 4, 5)]
SHAPES += [(24, 1), (5000, 1), (3, 5000, 1), (2, 30, 1, 1)]  # whose columns are rows, long ones among them
SPECIAL = (0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, 3.0)


class Asked(np.ndarray[Any, Any]):
    pass


def values(shape: tuple[int, ...], dtype: str) -> Any:
    random = np.random.default_rng(len(shape))
    if dtype == "l":
        return random.choice([-(2**62), -1, 0, 5, 2**62 + 1, 2**62], shape)
    return random.choice(SPECIAL, shape).astype(dtype)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["d", "f", "l"])
@pytest.mark.parametrize("shape", SHAPES)
def test_packed_arrays(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    x = values(shape, dtype)
    for axis in range(len(shape)):
        for keepdims in (False, True):
            wanted = getattr(x, name)(axis, keepdims=keepdims)
            found = FUNCTIONS[name](x, axis, keepdims)
            assert found.dtype == wanted.dtype and found.strides == wanted.strides and found.shape == wanted.shape
            assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_nans(name: str, dtype: str) -> None:
    random = np.random.default_rng(2)
    for shape in ((9, 3), (300, 4), (4, 300)):
        x = random.choice([*SPECIAL, np.nan, -np.nan], shape).astype(dtype)
        x[-1, -1] = np.nan
        for axis in (0, 1):
            assert FUNCTIONS[name](x, axis, False).tobytes() == getattr(x, name)(axis).tobytes()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "x",
    [
        np.asfortranarray(values((4, 5), "d")),
        values((8, 5), "d")[::2],
        values((4, 6), "d")[:, ::-2],
        values((4, 3), "d").astype(">f8"),
        values((4, 3), "d").astype("f2"),
        values((4, 3), "l").astype("u1"),
        values((4, 3), "d").astype(complex),
        values((4, 3), "d").view(Asked),
        np.zeros((0, 3)).reshape(3, 0),
    ],
)
def test_numpy_is_asked_about_others(name: str, x: Any) -> None:
    for axis in range(x.ndim):
        try:
            wanted = getattr(x, name)(axis)
        except ValueError as error:
            with pytest.raises(ValueError, match=str(error)):
                FUNCTIONS[name](x, axis, False)
            continue
        found = FUNCTIONS[name](x, axis, False)
        assert type(found) is type(wanted) and found.strides == wanted.strides and found.tobytes() == wanted.tobytes()


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="an array, an axis and a flag"):
        _C.argmax(np.zeros((3, 3)), 1)  # type: ignore[call-arg]
    for axis in (2, -3, 2**80):
        with pytest.raises((np.exceptions.AxisError, OverflowError, TypeError)):
            _C.argmin(np.zeros((3, 3)), axis, False)
    assert _C.argmax(np.eye(3), -1, False).tolist() == [0, 1, 2]


def program(x: Any) -> Any:
    d = x * x - 1.0
    return d.argmin(axis=1), np.argmax(d, axis=0), d.argmax(axis=-1, keepdims=True), d.argmax()


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2"])
def test_in_programs(dtype: str) -> None:
    for rows in (1, 9, 300):
        for specials in ((1, 2, 3), (0, np.nan, 2)):
            if dtype[0] == "i" and specials[1] != 2:
                continue
            x = np.random.default_rng(rows).choice(specials, (rows, 4)).astype(dtype)
            require_equal(
                program,
                lambda x=x: (x.copy(),),
                compile=dynamo_lite.compile,
                compile_options={"options": {"cost_model": False}},
            )


def test_they_pay_by_themselves() -> None:
    fast = dynamo_lite.compile(lambda x: x.argmax(axis=1))
    x = np.random.default_rng(1).normal(size=(50_000, 6))
    assert fast(x).tobytes() == x.argmax(axis=1).tobytes() and fast.stats()["native_calls"] == 1

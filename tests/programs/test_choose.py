"""np.choose of arrays: one choice after the other, where every number has one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import rng


def hues(h: Any, s: Any, v: Any) -> Any:
    i = (h * 6.0).astype(int)
    f = h * 6.0 - i
    p, q, t = v * (1 - s), v * (1 - s * f), v * (1 - s * (1 - f))
    out = np.empty((*h.shape, 3), h.dtype)
    k = i % 6
    out[..., 0] = np.choose(k, [v, q, p, p, t, v])
    out[..., 1] = np.choose(k, (t, v, v, q, p, p))
    out[..., 2] = np.choose(k, np.stack([p, p, t, v, v, q]))
    return out


def image(dtype: str, count: int = 2000) -> Any:
    return tuple(part.astype(dtype) for part in rng(count).random((3, count // 50, 50)))


@pytest.mark.parametrize("dtype", "fd")
def test_hues_are_one_graph(dtype: str) -> None:
    fast = dynamo_lite.compile(hues, fullgraph=True, options={"cost_model": False})
    for _ in range(2):
        assert fast(*image(dtype)).tobytes() == hues(*image(dtype)).tobytes()
    assert fast.stats()["native_calls"] == 2


def chosen(k: Any, x: Any, y: Any, z: Any) -> Any:
    return np.choose(k, [x, y, z]), np.choose(a=k.T, choices=(x.T, y.T)) if k.max() < 2 else None


def clipped(k: Any, x: Any, y: Any, z: Any) -> Any:
    wrapped = np.choose(k, (x, y), mode="wrap"), np.choose(k - 7, [z, x], mode="wrap")
    return np.choose(k, [x, y, z], mode="clip"), *wrapped


@pytest.mark.parametrize("function", [clipped, lambda k, x, y, z: np.choose(k, [x, y, z], mode="raise")])
def test_modes_are_one_graph(function: Any) -> None:
    fast = dynamo_lite.compile(function, fullgraph=True, options={"cost_model": False})
    x, y, z = rng(3).normal(size=(3, 20, 30))
    for least in (0, -9):
        k = rng(1).integers(least, 3 - 2 * least, (20, 30)) if function is clipped else rng(1).integers(0, 3, (20, 30))
        expected, found = function(k, x, y, z), fast(k, x, y, z)
        assert all(map(np.array_equal, expected, found))


CASES = {
    "bytes": lambda k, x: (k.astype("u1"), x, x * 2, x - 1),
    "bools": lambda k, x: (k > 1, x, x * 2, x - 1),
    "other types": lambda k, x: (k, x.astype("f"), (x * 9).astype("h"), x > 0.5),
    "large numbers": lambda k, x: (k, (x * 9).astype("l") + 2**53, (x * 9).astype("L"), x),
    "complex": lambda k, x: (k, x, x * 1j, x > 0.5),
    "rows": lambda k, x: (k, x[0], x[:, :1], x),
    "fortran": lambda k, x: (np.asfortranarray(k), np.asfortranarray(x), x, x[::-1]),
    "transposed": lambda k, x: (k.T, x.T, x.T, x.T),
    "none": lambda k, x: (k[:0], x[:0], x[:0], x[:0]),
    "out of range": lambda k, x: (k + 1, x, x, x),
    "negative": lambda k, x: (k - 1, x, x, x),
    "unsigned": lambda k, x: (k.astype("L"), x, x, x),
    "other shapes": lambda k, x: (k, x[:3], x, x),
    "more choices": lambda k, x: (k[0], x, x, x),
    "numbers": lambda k, x: (k, 1, 2.5, x),
    "scalars": lambda k, x: (k, np.float32(1), x[0, 0], x.astype("f")),
    "zeros and nans": lambda k, x: (k, np.full(x.shape, -0.0), np.full(x.shape, np.nan), x),
    "a number": lambda k, x: (2, x, x * 2, x),
    "a scalar": lambda k, x: (k[0, 0], x, x * 2, x),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_chosen(case: str) -> None:
    def arguments() -> Any:
        return CASES[case](rng(1).integers(0, 3, (20, 30)), rng(2).normal(size=(20, 30)))

    two, three = lambda k, x, y, z: np.choose(k, [x, y]), lambda k, x, y, z: np.choose(k, [x, y, z])
    for function in (chosen, clipped, three, two):
        require_equal(
            function, arguments, compile=dynamo_lite.compile, compile_options={"options": {"cost_model": False}}
        )


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_other_forms(mode: Any) -> None:
    def program(k: Any, x: Any) -> Any:
        out = np.zeros_like(x)
        return np.choose(k, [x, -x, x * 2], out, mode), np.choose(k, [x, -x, x], mode=mode), np.choose(k, x), out

    def arguments() -> Any:
        return rng(1).integers(0, 3, 30), rng(2).normal(size=30)

    require_equal(program, arguments, compile=dynamo_lite.compile)

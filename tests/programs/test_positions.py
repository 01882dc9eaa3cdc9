"""np.argmax and np.argmin in loops: machine code has them, over all layouts, of equals and NaNs, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels.functions import routine_of

import dynamo_lite
from dynamo_lite.program.ir import Helper, walk
from tests.oracle import require_equal
from tests.program.routines import collected


def greatest(x: Any, n: int) -> Any:
    k = 0
    for i in range(n):
        k = k * 3 + np.argmax(x) + x.argmin() + int(np.argmin(x * 0.5 - i))
    return k


def of_rows(x: Any, n: int) -> Any:
    s = np.zeros(x.shape[0])
    for _ in range(n):
        s = s * 0.5 + x.argmax(axis=1) - np.argmin(x, axis=-1)
    return s


def of_columns(x: Any, n: int) -> Any:
    s = np.zeros(x.shape[1])
    for i in range(n):
        s = s * 0.5 + np.argmax(x + i, axis=0) + x.argmin(0)
    return s


def of_all(x: Any, n: int) -> Any:
    s = 0
    for i in range(n):
        s = s * 2 + np.argmax(x * i) + np.argmin(x - 1)
    return s


def best_choice(q: Any, n: int) -> Any:
    s = 0
    for _ in range(n):
        a = int(np.argmax(q[s]))
        q[s, a] += 0.1 * (np.max(q[(s + a) % len(q)]) - q[s, a])
        s = (s + a) % len(q)
    return q


def require_same(function: Callable[..., Any], make: Callable[[], Any], n: int) -> None:
    options = {"options": {"cost_model": False}}
    require_equal(function, lambda: (make(), n), compile=dynamo_lite.compile, compile_options=options)


def values(dtype: Any, shape: tuple[int, ...]) -> Any:
    rng = np.random.default_rng(len(shape))
    x = rng.integers(0, 4, shape).astype(dtype)
    if x.dtype.kind == "f" and x.size > 3:
        x.flat[:: max(x.size // 3, 1)] = [np.nan, -0.0, np.inf, -np.inf][: len(x.flat[:: max(x.size // 3, 1)])]
    return x


LAYOUTS: tuple[Callable[[Any], Any], ...] = (
    *(lambda x: x, np.asfortranarray, lambda x: x[::-1], lambda x: np.repeat(x, 2, axis=-1)[..., ::2]),
    lambda x: x[..., ::-1],
)


@pytest.mark.parametrize("function", [of_rows, of_columns, of_all])
@pytest.mark.parametrize("dtype", [float, np.float32, int, np.uint8, bool])
def test_of_matrices(function: Callable[..., Any], dtype: Any) -> None:
    if dtype is bool and function is of_all:
        return  # x - 1 of bools raises
    for shape in ((3, 4), (1, 5), (5, 1), (2, 40)):
        for layout in LAYOUTS:
            require_same(function, lambda layout=layout, shape=shape: layout(values(dtype, shape)), 4)  # type: ignore[misc]


@pytest.mark.parametrize("dtype", [float, np.float32, np.float16, int, np.int16])
def test_of_vectors(dtype: Any) -> None:
    for size in (1, 2, 7, 33, 600):
        for layout in LAYOUTS:
            require_same(greatest, lambda layout=layout, size=size: layout(values(dtype, (size,))), 4)


def test_of_nothing() -> None:
    require_same(greatest, lambda: np.zeros(0), 3)
    require_same(of_rows, lambda: np.zeros((3, 0)), 3)
    require_same(of_rows, lambda: np.zeros((0, 3)), 3)


def test_a_choice_that_is_stored_to() -> None:
    require_same(best_choice, lambda: np.arange(12.0).reshape(4, 3), 50)


@pytest.mark.parametrize("function", [greatest, of_rows, of_columns, of_all, best_choice])
def test_it_is_machine_code(function: Callable[..., Any]) -> None:
    x = np.linspace(0.1, 0.9, 12)
    machines = collected(function, x if function is greatest else x.reshape(3, 4), 9)
    found = [node for machine, classes in machines for node in walk(routine_of(machine, classes).body)]
    assert any(isinstance(node, Helper) and node.name == "positions" for node in found)


def greatest_and_least(q: Any, n: int) -> Any:
    out = np.zeros(2 * n)
    for i in range(n):
        out[2 * i] = max(q[i % len(q)])
        out[2 * i + 1] = min(q[i % len(q)])
    return out


@pytest.mark.parametrize("dtype", [float, np.float32, int])
def test_the_first_of_equal_zeros_is_pythons_greatest(dtype: Any) -> None:
    q = np.array([[0.0, -0.0, -1.0], [-0.0, 0.0, -0.0], [-0.0, -0.0, 0.0], [2.0, 0.0, 1.0]]).astype(dtype)
    fast = dynamo_lite.compile(greatest_and_least, options={"check": 1, "cost_model": False})
    for given in (q, q[::-1], q[:2, ::-1], q * np.nan if dtype is float else q * 3):
        assert fast(given, 9).tobytes() == greatest_and_least(given, 9).tobytes()
        if given is q:
            assert fast.stats()["declines"] == 0
    with pytest.raises(ValueError, match="empty"):
        fast(q[:, :0], 2)

"""NumPy scalars of which capture knows the number, or that are constants: sizes, bounds and operands like any other."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import require_equal

OPTIONS = {"options": {"cost_model": False}}
X = np.arange(20.0)


def whole(function: Any, *args: Any) -> None:
    """The calls give what they give plainly, and nothing breaks the graph."""
    report = require_equal(function, copies_of(*args), compile=dynamo_lite.compile, compile_options=OPTIONS, calls=2)
    assert not report.compiled.explain().breaks


def rounded(x: Any, k: Any) -> Any:
    n = np.round(k * 1.5).astype(int)
    return x[n:], np.zeros(n), np.round(k), np.rint(k), int(np.around(k / 3.0))


@pytest.mark.parametrize("k", [0.0, 0.2, 0.5, 1.5, 2.5, 3.5, 2.4999999, 3.0, 4.75])
def test_rounded_numbers_are_sizes(k: float) -> None:
    whole(rounded, X, k)


@pytest.mark.parametrize("k", [-0.5, -2.5, 1e300, float("nan"), 7])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_others_are_as_ever(k: float) -> None:
    require_equal(rounded, copies_of(X, k), compile=dynamo_lite.compile, compile_options=OPTIONS, calls=2)


def frames(x: Any, rate: int) -> Any:
    step = np.round(rate * 20 / 1000).astype(int)
    n = int((len(x) - 4) / step) + 1
    out = np.zeros((n, 4))
    for i in range(n):
        out[i] = x[i * step : i * step + 4]
    return out, step / 3


def test_numbers_computed_of_such() -> None:
    whole(frames, X, 100)
    whole(frames, X, 200)


CONSTANTS = [
    *(np.float64(3.5), np.float32(2.5), np.float16(1.5), np.float64("nan"), np.int64(3), np.int8(100), np.uint8(7)),
    *(np.bool_(True), np.int64(2**62), np.uint64(5), np.float64(0.0)),
]


@pytest.mark.parametrize("constant", CONSTANTS, ids=repr)
@pytest.mark.parametrize("k", [2, -1, 300, 2.5, True, 2**40])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_constant_scalars_operate_with_numbers(constant: Any, k: Any) -> None:
    def operators(x: Any, k: Any) -> Any:
        return k + constant, constant - k, k * constant, k < constant, constant == k, x * (constant * 2 + k)

    require_equal(operators, copies_of(X, k), compile=dynamo_lite.compile, compile_options=OPTIONS, calls=2)


def test_eps_of_a_dtype() -> None:
    def limited(x: Any) -> Any:
        limit = 1.5 - np.finfo(x.dtype).eps
        return np.where(x > limit, x, limit)

    whole(limited, X)


class Equal(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


def compared(a: Any, b: Any) -> Any:
    return a == b, a != b, a in (b,), [a] == b


@pytest.mark.parametrize("a", ["same", (1, 2), [1], None, 3, 2.5, {"k": 1}, b"s", "", Equal("x")], ids=repr)
@pytest.mark.parametrize("b", ["same", (1, 2), [1], None, 3, 2.5, {"k": 1}, b"s", (), Equal("x")], ids=repr)
def test_objects_of_unlike_builtin_types(a: Any, b: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast = dynamo_lite.compile(compared, **OPTIONS)  # type: ignore[call-overload]
        assert fast(a, b) == compared(a, b) == fast(a, b)


def test_a_tuple_is_no_text() -> None:
    def padded(x: Any, pad: Any) -> Any:
        if pad == "same":
            return x
        return x * 2.0 + pad[0]

    whole(padded, X, (1, 2))


def grids(n: int, c: int) -> Any:
    x, y = np.mgrid[0 - c : n - c, 0 - c : n - c]
    i, j = np.ogrid[:n, 0:1:3j]
    line = np.mgrid[0:n]
    return np.exp(-(x**2 + y**2) / 2.0), i * j, line * 1.5


def test_grids() -> None:
    whole(grids, 5, 2)
    whole(grids, 1, 0)


def lists(x: Any, n: int) -> Any:
    made = [x]
    same = made
    made += [x * 2.0, n]
    made += (n + 1,)
    made += range(2)
    made += made
    return made, made is same


def test_a_list_is_extended_in_place() -> None:
    whole(lists, X, 3)
    require_equal(
        lambda x, outside: (outside.__iadd__([x]), outside),
        copies_of(X, [1]),
        compile=dynamo_lite.compile,
        compile_options=OPTIONS,
    )


def folded(x: Any, shape: Any) -> Any:
    n = np.prod(x.shape)
    flat = x.reshape(n) * 2.0
    high = shape[0] + np.sum(shape)
    empty = np.zeros((high - shape[1], 3))
    return flat, empty, np.prod(shape), n, np.sum([len(x), 1, 2]), np.ones(np.prod(x.shape[1:])), int(np.prod(x.shape))


def test_sums_and_products_of_sizes_are_sizes() -> None:
    whole(folded, np.arange(12.0).reshape(3, 4), (2, 3))
    whole(folded, np.arange(12.0).reshape(3, 2, 2), (1, 5))


def wrapped(x: Any, a: int, b: int) -> Any:
    n = np.prod((a, b))
    return x[: n + 3], n, np.zeros(n % 5), np.sum((a, a, b))


@pytest.mark.parametrize(("a", "b"), [(2**32, 2**32), (2**62, 2), (2**31, 2**32), (-3, 2), (0, 2**62)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_products_wrap_around_as_those_of_numpy(a: int, b: int) -> None:
    require_equal(wrapped, copies_of(X, a, b), compile=dynamo_lite.compile, compile_options=OPTIONS, calls=2)

    def constants(x: Any) -> Any:
        n = np.prod((2**32, 2**32))
        return x[:n], np.zeros(np.prod((2**33, 2**31)) + 2)

    require_equal(constants, copies_of(X), compile=dynamo_lite.compile, compile_options=OPTIONS, calls=2)


def other_folds(x: Any) -> Any:
    nested = np.sum([[1], [2]])
    return np.prod((2.0, 3)), np.sum((True, 2)), np.prod(x), np.sum(()), np.prod((2, 3), dtype=float), nested


def test_other_folds_are_as_ever() -> None:
    require_equal(other_folds, copies_of(X), compile=dynamo_lite.compile, compile_options=OPTIONS, calls=2)

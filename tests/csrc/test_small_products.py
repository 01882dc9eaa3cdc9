"""Products of many small matrices, and of a long and a small one: NumPy's bits, and who multiplies."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.ops.products import COLUMNS, ROWS, STACK, way_of_product
from tests.copies import copies_of
from tests.oracle import Conditions, require_equal

SPECIAL = (0.0, -0.0, 1.5, np.inf, -np.inf, np.nan, -np.nan, 1e308, 5e-324, 1e-200)
MANY = 37


ELSEWHERE = """
import itertools
import numpy as np
from dynamo_lite._C import products_by
from dynamo_lite.ops.products import STACK, way_of_product

random = np.random.default_rng(0)
for p, k, q in itertools.product((1, 3), (2, 3, 4), (1, 3)):
    way = way_of_product(False, STACK, False, False, p, k, q)
    for first, second in itertools.product(range(4), repeat=2):
        a = random.normal(size=99 * p * k + 4)[first:][: 99 * p * k].reshape(99, p, k)
        b = random.normal(size=99 * k * q + 4)[second:][: 99 * k * q].reshape(99, k, q)
        found = products_by(way, False, a, b) if way >= 0 else None
        assert found is None or found.tobytes() == (a @ b).tobytes(), (p, k, q, first, second)
"""
DEEP = """
import sys
import numpy as np
import dynamo_lite
from dynamo_lite._C import small_products_tried_after

def deep(n, function, *args):
    return function(*args) if n == 0 else deep(n - 1, function, *args)

def plain(a, b):
    return a @ b

small_products_tried_after(0)
compiled = dynamo_lite.compile(plain, options={"cost_model": False})
a = np.ones((40, 3, 3))
for few in (a[:5], a[:6], a[:7]):
    compiled(few, few)  # too few to ask for a way
depth = sys.getrecursionlimit()
while True:
    try:
        deep(depth, plain, a, a)
        break
    except RecursionError:
        depth -= 1
assert (deep(depth - 1, compiled, a, a) == 3.0).all()
assert compiled.stats()["plain_calls"] == 0
"""


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    before = _C.small_products_tried_after(0)
    yield
    _C.small_products_tried_after(before)


def numbers(*shape: int) -> Any:
    random = np.random.default_rng(sum(shape))
    return random.normal(size=shape) * 4.0 ** random.integers(-9, 9, shape)


def lying(order: str, *shape: int) -> Any:
    """Matrices of which each lies packed in this order."""
    return numbers(*shape) if order == "C" else numbers(*shape[:-2], shape[-1], shape[-2]).swapaxes(-1, -2)


def product(a: Any, b: Any) -> Any:
    return a @ b, np.matmul(a, b) + 1.0


def dot(a: Any, b: Any) -> Any:
    return a.dot(b), np.dot(a, b) * 2.0


def same(function: Callable[..., Any], *arrays: Any) -> None:
    for conditions in (Conditions(), Conditions({"all": "ignore"}), Conditions({"all": "raise"})):
        require_equal(
            function,
            copies_of(*arrays),
            compile=dynamo_lite.compile,
            compile_options={"options": {"cost_model": False}},
            conditions=conditions,
            calls=3,
        )


@pytest.mark.parametrize(("p", "k", "q"), list(itertools.product((1, 2, 3, 4, 5), (1, 2, 3, 4), (1, 3, 4))))
def test_stacks(p: int, k: int, q: int) -> None:
    for first, second in ("CC", "CF", "FC", "FF"):
        a, b = lying(first, MANY, p, k), lying(second, MANY, k, q)
        same(product, a, b)
        same(product, a[0], b)
        same(product, a, b[0])
        same(product, a[::2], b[::-2])


@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("count", [15, 16, 100, 1003])
def test_long_matrices(size: int, count: int) -> None:
    for order, width in itertools.product("CF", (1, 2, 3, 4, 5)):
        same(product, numbers(count, size), lying(order, size, width))
        same(dot, numbers(count, size), lying(order, size, width))
        same(product, numbers(width, size), lying(order, size, count))
        same(dot, numbers(size, width).T, lying(order, width, count).T.copy().T)


@pytest.mark.parametrize("width", [4, 5, 15, 16, 40])
def test_images_and_matrices(width: int) -> None:
    for order, size in itertools.product("CF", (1, 3, 4, 5)):
        image = numbers(9, width, 3)
        same(product, image, lying(order, 3, size))
        same(dot, image, lying(order, 3, size))
        same(product, image[::2], lying(order, 3, size))
        same(product, image[:, ::-1], lying(order, 3, size))
        same(product, image[:1], lying(order, 3, size))


@pytest.mark.parametrize("special", SPECIAL)
def test_special_numbers(special: float) -> None:
    for number in (special, -special):
        a, b = numbers(MANY, 3, 3), numbers(MANY, 3, 3)
        a[3, 1], b[5, :, 2] = special, number
        same(product, a, b)
        same(product, a, b[:, :, :1].copy())
        same(dot, a.reshape(-1, 3), b[5])
        a[...] = special
        same(product, a, b)


def test_products_with_transposes_of_one_array() -> None:
    x = numbers(MANY, 3, 3)
    same(lambda x: (x @ x, x @ x.transpose(0, 2, 1), x.transpose(0, 2, 1) @ x), x)
    same(lambda x: (x[0].T @ x[0], x[0] @ x[0].T), x)


def test_some_of_a_stack_meet_their_transposes() -> None:
    """Of those NumPy lets BLAS compute one half, in an order that the others need not have."""
    x = numbers(MANY, 3, 4)
    same(lambda x: (x @ x[::-1].transpose(0, 2, 1), x @ x[5].T, x[5] @ x.transpose(0, 2, 1)), x)
    way = way_of_product(False, STACK, False, True, 3, 4, 3)
    assert _C.products_by(way, False, x, x[::-1].transpose(0, 2, 1)) is None
    assert _C.products_by(way, False, x, x[5].T) is None
    assert _C.products_by(way, False, x[5], x.transpose(0, 2, 1)) is None
    y = x[1:]
    assert way < 0 or _C.products_by(way, False, x[:-2], x[-1].T) is not None
    assert way < 0 or _C.products_by(way, False, x[:-1], y.transpose(0, 2, 1)) is not None


def run(program: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("core", ["Prescott", "Nehalem", "Sandybridge", "Haswell", "SkylakeX"])
def test_other_processors(core: str) -> None:
    """Vectors that lie elsewhere in a cache line: older kernels of BLAS begin with one element there."""
    environment = {**os.environ, "OPENBLAS_CORETYPE": core}
    done = run(ELSEWHERE, environment)
    if done.returncode == -signal.SIGILL:
        pytest.skip("not this processor's")
    assert done.returncode == 0, done.stderr


def test_a_form_is_tried_out_once_much_was_asked_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[int, ...]] = []

    def way_of_nothing(*form: int) -> int:
        tried.append(form)
        return -1

    monkeypatch.setattr("dynamo_lite.ops.products.way_of_product", way_of_nothing)
    _C.small_products_tried_after(150)
    compiled = dynamo_lite.compile(lambda a, b: a @ b, options={"cost_model": False})
    a, b = numbers(100, 3, 2), numbers(100, 2, 2)  # a form that no other test asks for
    for known in (0, 0, 1, 1):
        assert compiled(a, b).tobytes() == (a @ b).tobytes()
        assert len(tried) == known


def test_a_way_is_found_near_the_recursion_limit() -> None:
    done = run(DEEP)
    assert done.returncode == 0, done.stderr


def test_others_stay_with_numpy() -> None:
    x = numbers(MANY, 4, 4)
    same(product, x[:, :3, :3], x[:, 1:, 1:])
    same(product, x[:, ::2], x[:, :, ::2])
    same(product, x.astype("f4"), x.astype("f4"))
    same(product, x.astype(int), x.astype(int))
    same(product, x + 1j, x - 1j)
    same(product, x.reshape(MANY, 1, 4, 4), x[:3])
    same(product, x[:1], x)


def test_ways_are_those_of_numpy() -> None:
    for shape, p, k, q in ((STACK, 3, 3, 3), (STACK, 3, 3, 1), (STACK, 4, 4, 1), (ROWS, 1, 3, 3), (COLUMNS, 3, 3, 1)):
        way = way_of_product(False, shape, False, False, p, k, q)
        sizes = {STACK: ((50, p, k), (50, k, q)), ROWS: ((50, k), (k, q)), COLUMNS: ((p, k), (k, 50))}[shape]
        a, b = (numbers(*one) for one in sizes)
        found = _C.products_by(way, False, a, b) if way >= 0 else None
        assert found is None or found.tobytes() == np.matmul(a, b).tobytes()


def test_products_by_refuses() -> None:
    a, b = numbers(50, 3, 3), numbers(50, 3, 3)
    assert _C.products_by(0, True, a, b) is None
    assert _C.products_by(0, False, a, b[:, :2]) is None
    assert _C.products_by(0, False, a, b[:49]) is None
    assert _C.products_by(0, False, a.astype("f4"), b.astype("f4")) is None
    assert _C.products_by(0, False, a[:, ::2], b) is None
    assert _C.products_by(0, False, numbers(3, 3), numbers(3, 3)) is None
    a[7] = np.nan
    assert _C.products_by(0, False, a, b) is None
    with pytest.raises(TypeError):
        _C.products_by(0, False, [1.0], b)

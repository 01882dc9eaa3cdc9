"""What is written as machine code does what the program says: each function by evaluate and by LLVM, bits and flags."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels.loops import same_values
from dynamo_lite.backends.numba.compile import compile_kernel
from dynamo_lite.backends.numba.functions import function_of

from dynamo_lite._C import abi
from dynamo_lite.config import config
from dynamo_lite.program.build import build
from dynamo_lite.program.evaluate import evaluate
from dynamo_lite.schedule.steps import Kernel
from tests.backends.kernel_call import run_compiled
from tests.program.kernels import KernelMaker, array_of, dtypes_of, random_classes, random_kernel

Array = np.ndarray[Any, Any]
WORDS = {"divide by zero": "divide", "overflow": "over", "underflow": "under", "invalid value": "invalid"}


def check(kernel: Kernel, classes: str, arrays: list[Array], **extents: int) -> None:
    """The plainest function of the kernel, that with all passes, and its machine code give the same."""
    with config.patch(check=1):
        function = function_of(kernel, classes)
    split = len(kernel.operand_dtypes)

    def run(by: Any) -> tuple[list[Array], int, set[str]]:
        copies = [copy_of(array) for array in arrays]
        status, flags = by(copies)
        return copies[split:], status, flags

    def evaluated(function: Any) -> Any:
        def by(copies: list[Array]) -> tuple[int, set[str]]:
            outcome = evaluate(function, copies[:split], copies[split:], **extents)
            return outcome.status, {WORDS[flag] for flag in outcome.flags}

        return by

    plain, _, plain_flags = run(evaluated(build(kernel, classes.rstrip("r!"), "r" in classes)))
    meant, status, flags = run(evaluated(function))
    rows = [extents["rows"], *(array.strides[0] if array.ndim else 0 for array in arrays)] if "rows" in extents else []
    for asks in ("", abi.ASKS_LASTING):
        code = compile_kernel(kernel, classes + asks)
        found = run(lambda copies, code=code: run_compiled(code, copies, n=extents["n"], behind=rows))
        for one, other, machine in zip(plain, meant, found[0], strict=True):
            assert same_values(one, other), "by the passes"
            assert same_values(other, machine), "by the machine code"
        assert found[1:] == (status, flags) and flags == plain_flags


def copy_of(array: Array) -> Array:
    """A copy with the same strides."""
    if not array.ndim or array.flags.c_contiguous:
        return array.copy()
    base = np.zeros((*array.shape[:-1], 3 * array.shape[-1]), array.dtype)
    base[..., ::3] = array
    return base[..., ::3]


@pytest.mark.parametrize("seed", range(100))
def test_of_elements(seed: int) -> None:
    rng = random.Random(seed)
    kernel = random_kernel(rng, loops=seed % 3 == 0)
    classes = random_classes(rng, kernel, False)
    n = rng.choice((300, 513)) if any(op.op == "loop" for op in kernel.ops) else rng.choice((1, 3, 8, 9, 17, 40))
    shapes = [array_of(rng, dtype, (n,), c, seed % 2 == 0) for dtype, c in zip(dtypes_of(kernel), classes, strict=True)]
    check(kernel, classes + "!" * (seed % 5 == 0), shapes, n=n)


@pytest.mark.parametrize("seed", range(100))
def test_of_rows(seed: int) -> None:
    rng = random.Random(1000 + seed)
    kernel = random_kernel(rng, loops=seed % 3 == 0)
    classes = random_classes(rng, kernel, True)
    loops = any(op.op == "loop" for op in kernel.ops)
    shape = rng.choice(((3, 7), (2, 300), (40, 13))) if loops else rng.choice(((1, 1), (4, 3), (3, 9), (2, 26)))
    shapes = [
        array_of(rng, dtype, shape, c, seed % 2 == 0) for dtype, c in zip(dtypes_of(kernel), classes, strict=True)
    ]
    check(kernel, classes + "r" + "!" * (seed % 5 == 0), shapes, n=shape[1], rows=shape[0])


@pytest.mark.parametrize("n", (1, 4, 5, 31, 32, 70))
@pytest.mark.parametrize("loop", (False, True))
def test_of_iterations(n: int, loop: bool) -> None:
    """x = x * a[k] + y, whose results are the last x and the one before."""
    rng = random.Random(n)
    maker = KernelMaker(rng, "ddd")
    scaled = maker.add("multiply", maker.add("sin", 0) if loop else 0, 1)
    moved = maker.add("add", scaled, 2)
    kernel = Kernel(tuple(maker.dtypes[:3]), tuple(maker.ops), (moved,), next=(moved, 1, 2))
    x, y, out = (array_of(rng, np.dtype("d"), (n,), "c", True) for _ in range(3))
    numbers = array_of(rng, np.dtype("d"), (5,), "c", True)
    if loop:
        out = x  # what is carried lies in memory
    arrays = [x, numbers, y, out]
    expected = x
    for number in numbers:
        expected = (np.sin(expected) if loop else expected) * number + y
    function = function_of(kernel, "cicc")
    copies = [array.copy() for array in arrays]
    if loop:
        copies[3] = copies[0]
    assert evaluate(function, copies[:3], copies[3:], n=n, iterations=5).status == 0
    assert same_values(copies[3], expected)
    again = [array.copy() for array in arrays]
    if loop:
        again[3] = again[0]
    assert run_compiled(compile_kernel(kernel, "cicc"), again, n=n, behind=(5, 8))[0] == 0
    assert same_values(again[3], expected)


@pytest.mark.parametrize("n", (1, 3, 8, 31, 70))
@pytest.mark.parametrize(("fold", "dtype"), [(np.add, "d"), (np.add, "i"), (np.maximum, "d"), (np.minimum, "l")])
@pytest.mark.parametrize("letter", "cs")
def test_of_folds(n: int, fold: np.ufunc, dtype: str, letter: str) -> None:
    """A product folded along two axes; of an extreme the status tells of a NaN and of -0.0."""
    rng = random.Random(n)
    maker = KernelMaker(rng, 2 * dtype)
    product = maker.add("multiply", 0, 1)
    kernel = Kernel(tuple(maker.dtypes[:2]), tuple(maker.ops), (product,), fold=fold)
    x = array_of(rng, np.dtype(dtype), (3, 5, n), letter, plain=True)
    y = array_of(rng, np.dtype(dtype), (3, 5), "c", plain=True)
    for number in (1, 0, np.nan) if dtype == "d" else (1,):
        x[1, 2, 0], y[1, 2] = number, -1
        out = array_of(rng, np.dtype(dtype), (n,), "c", plain=True)
        meant, found = out.copy(), out.copy()
        classes = f"{letter}0i"
        with config.patch(check=1):
            outcome = evaluate(function_of(kernel, classes), [x, y], [meant], n=n, **{"outer.n": 3, "inner.n": 5})
        steps = [array.strides[axis] for axis in (1, 0) for array in (x, y)]
        compiled = compile_kernel(kernel, classes + abi.ASKS_LASTING * (n % 2))
        status, _ = run_compiled(compiled, [x, y, found], n=n, behind=(5, 3, *steps))
        expected = out.copy()
        with np.errstate(all="ignore"):
            for products in (x * y[:, :, None]).reshape(15, n):
                expected = fold(expected, products)
        assert status == outcome.status == (abi.RETURNED_MET_NAN if fold is np.maximum and not number else status)
        assert same_values(found, meant)
        assert status or same_values(meant, expected)

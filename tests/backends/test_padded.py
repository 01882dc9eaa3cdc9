"""Loops of many operations, whose last elements go through the same code by way of a buffer.

Every length beside those of vectors, every way that arrays can lie, every class of dtypes; nothing beside the elements
is read or written, and what the lanes behind the last element do must not show, in floating-point flags least of all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels.loops import same_values
from dynamo_lite.backends.numba.functions import function_of

import dynamo_lite
from dynamo_lite.program import ir
from dynamo_lite.program.vectorise import MANY_OPS
from dynamo_lite.schedule.steps import Kernel, KernelOp
from tests.backends.kernel_call import classes_of, run_kernel
from tests.backends.test_kernels import Builder, by_numpy
from tests.backends.test_rows import FLAGGED, layouts, same

Array = np.ndarray[Any, Any]
LENGTHS = (*range(1, 41), 63, 64, 65, 255, 256, 257)
DTYPES = ("f8", "f4", "i1", "u2", "i4", "i8", "u8", "?", "F", "D")
ROUNDS = MANY_OPS // 2 + 2
LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "packed": lambda array: array[5 : 5 + len(array) // 3],
    "every second": lambda array: array[5 : 5 + 2 * (len(array) // 3) : 2],
    "reversed": lambda array: array[4 + len(array) // 3 : 4 : -1],
}


def numbers(n: int, dtype: str, seed: int) -> Array:
    """Of floats none whose sums and products soon overflow."""
    rng = np.random.default_rng(seed)
    if dtype == "?":
        return rng.random(n) < 0.5
    if dtype in "FD":
        return (rng.uniform(0.5, 0.9, n) + 1j * rng.uniform(0.1, 0.3, n)).astype(dtype)
    return (rng.integers(0, 100, n) if dtype[0] in "iu" else rng.uniform(0.5, 0.9, n)).astype(dtype)


def chain(dtype: str, operands: int = 3) -> Kernel:
    """Many operations on operands of one dtype; two results."""
    b = Builder(*[dtype] * operands)
    first, second = ("logical_xor", "logical_or") if dtype == "?" else ("add", "multiply")
    add = b.add if dtype not in "FD" else lambda name, *of: as_pairs(b, name, *of)
    value, other = 0, 1
    for number in range(ROUNDS):
        value, other = add(first, add(second, value, number % operands), other), value
    return b.kernel(value, add(first, value, other))


def as_pairs(b: Builder, name: str, *operands: int) -> int:
    """An operation on complex numbers that is compiled."""
    dtypes = tuple(b.dtypes[value] for value in operands)
    b.ops.append(KernelOp(name, operands, dtypes, dtypes[:1]))
    b.dtypes.append(dtypes[0])
    return len(b.dtypes) - 1


def mixed() -> Kernel:
    """Elements of one to eight bytes in one loop."""
    b = Builder("f8", "f4", "i1", "?", "i8")
    wide = b.add("cast", 1, to="f8")
    for _ in range(ROUNDS):
        wide = b.add("add", b.add("multiply", wide, 0), 0)
    small = b.add("bitwise_and", b.add("add", 2, 2), 2)
    chosen = b.add("where", 3, wide, 0)
    return b.kernel(chosen, small, b.add("cast", chosen, to="f4"), b.add("less", chosen, wide), b.add("add", 4, 4))


def is_padded(kernel: Kernel, classes: str) -> bool:
    nodes = ir.walk(function_of(kernel, classes).body)
    return any(isinstance(node, ir.For) and node.tail == "padded" for node in nodes)


def place(values: Array, layout: str, fill: int) -> tuple[Array, Array]:
    """The values laid out in a larger array of others; both."""
    whole = np.full(3 * len(values) + 15, fill).astype(values.dtype)
    part = LAYOUTS[layout](whole[: 3 * len(values) + 12])[: len(values)]
    part[...] = values
    return part, whole


def check(kernel: Kernel, operands: list[Array], layout: str, of_results: str) -> None:
    """Run the kernel and compare with NumPy, and all that lies beside its arrays with what it was."""
    with np.errstate(all="ignore"):
        expected = by_numpy(kernel, operands)
    n = len(expected[0])
    placed = [place(array, layout, 1) if array.ndim else (array, array) for array in operands]
    results = [place(np.zeros(n, array.dtype), of_results, 77) for array in expected]
    before = [whole.copy() for _, whole in placed]
    flags = run_kernel(kernel, [part for part, _ in placed], [part for part, _ in results])
    assert not flags & {"invalid", "divide", "over"}
    for (part, whole), wanted in zip(results, expected, strict=True):
        assert same_values(part.copy(), wanted)
        part[...] = np.array(77).astype(part.dtype)
        assert (whole == np.array(77).astype(part.dtype)).all()
    for (_, whole), copy in zip(placed, before, strict=True):
        assert whole.tobytes() == copy.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_lengths(dtype: str, layout: str) -> None:
    kernel = chain(dtype)
    for n in LENGTHS:
        operands = [numbers(n, dtype, seed) for seed in range(2)] + [numbers(1, dtype, 2).reshape(())]
        check(kernel, operands, layout, "packed")
        check(kernel, operands, "packed", layout)
    assert is_padded(kernel, classes_of(kernel, [*operands, *operands[:2]]))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_elements_of_all_sizes(layout: str) -> None:
    kernel = mixed()
    for n in LENGTHS:
        operands = [numbers(n, dtype, 3) for dtype in ("f8", "f4", "i1", "?", "i8")]
        check(kernel, operands, layout, "packed")
        check(kernel, operands, layout, layout)
    assert is_padded(kernel, "c" * 10)


@pytest.mark.parametrize("operands", (2, 7, 9, 16))
def test_few_and_many_arrays(operands: int) -> None:
    """Few addresses stay in registers, many are read where they are needed."""
    kernel = chain("f8", operands)
    for n in LENGTHS:
        check(kernel, [numbers(n, "f8", seed) for seed in range(operands)], "packed", "packed")
    assert is_padded(kernel, "c" * (operands + 2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_in_place(dtype: str, layout: str) -> None:
    """Results that lie where operands do."""
    kernel = chain(dtype, 2)
    for n in LENGTHS:
        operands = [numbers(n, dtype, seed) for seed in range(2)]
        with np.errstate(all="ignore"):
            expected = by_numpy(kernel, operands)
        parts = [place(array, layout, 1)[0] for array in operands]
        run_kernel(kernel, parts, parts)
        for part, wanted in zip(parts, expected, strict=True):
            assert same_values(part.copy(), wanted)


def quotients(dtype: str) -> Kernel:
    """What overflows, divides by zero or is invalid by what its operands hold."""
    b = Builder(dtype, dtype, dtype)
    value = b.add("subtract", b.add("divide", 0, 1), b.add("multiply", 2, 2))
    for _ in range(ROUNDS):
        value = b.add("multiply", b.add("negative", value), 1)
    return b.kernel(value)


def flags_by_numpy(kernel: Kernel, operands: list[Array]) -> set[str]:
    names = {"divide by zero": "divide", "overflow": "over", "underflow": "under", "invalid value": "invalid"}
    found: set[str] = set()
    with np.errstate(all="call", call=lambda kind, _: found.add(names[kind])):
        by_numpy(kernel, operands)
    return found


@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize("n", (1, 2, 3, 5, 7, 11, 16, 19))
def test_flags_are_those_of_elements(dtype: str, n: int) -> None:
    """One element that reports something, at each place; and none."""
    kernel = quotients(dtype)
    assert is_padded(kernel, "cccc")
    one = np.ones(n, dtype)
    largest = np.finfo(dtype).max
    cases: dict[str, tuple[Any, ...]] = {"divide": (1, 0, 1), "invalid": (0, 0, 1), "over": (1, 1, largest)}
    cases |= {"none": (1, 1, 1), "nan": (np.nan, 1, 1)}
    for case, values in cases.items():
        for at in range(n):
            operands = [one.copy(), one.copy(), one.copy()]
            for array, value in zip(operands, values, strict=True):
                array[at] = value
            expected = flags_by_numpy(kernel, operands)
            assert (case in expected) == (case not in ("none", "nan"))
            for layout in LAYOUTS:
                placed = [place(array, layout, 0)[0] for array in operands]
                assert run_kernel(kernel, placed, [np.empty(n, dtype)]) - {"under"} == expected - {"under"}


def long_arithmetic(x: Array, y: Array) -> Array:
    z = x
    for _ in range(14):
        z = z * y + x
        z = z - y * 0.25
    return z


def long_choice(x: Array, y: Array) -> tuple[Array, Array]:
    z = w = x
    for _ in range(8):
        z = np.where(z > y, z - y, z + x)
        w = np.minimum(w, z) * 0.5
    return z, w


def long_with_calls(x: Array, y: Array) -> Array:
    """NumPy's loops on tiles before and behind."""
    z = np.exp(x * 0.125)
    for _ in range(14):
        z = z * y * 0.25 + x
    return np.sin(z) + z


@pytest.mark.parametrize("n", (1, 2, 3, 4, 5, 7, 8, 9, 17, 26, 33, 257, 1030))
@pytest.mark.parametrize("fn", (long_arithmetic, long_choice, long_with_calls))
def test_rows(fn: Callable[..., Any], n: int) -> None:
    """Rows of n elements, each pair of layouts, no flag reported."""
    arrays = layouts(5, n, "f8")
    first = arrays.pop("gaps")
    for other in arrays.values():
        report = same(fn, (first, other), (other, first), errors=FLAGGED if fn is not long_choice else None)
        assert report.stats["declines"] == 0


def long_in_place(x: Array, y: Array) -> Array:
    for _ in range(14):
        x *= y
        x += 0.125
    return x


@pytest.mark.parametrize("dtype", ("f8", "f4", "c16"))
@pytest.mark.parametrize("n", (3, 10, 26, 70))
def test_rows_in_place(dtype: str, n: int) -> None:
    arrays = layouts(6, n, dtype)
    for target in ("gaps", "every second", "reversed", "columns"):
        same(long_in_place, *((arrays[target].copy(), other) for other in arrays.values()))


def test_two_such_kernels_in_a_loop_compiled_whole() -> None:
    def steps(x: Array, y: Array, n: int) -> tuple[Array, Array]:
        for i in range(n):
            x = x * x[i] + 0.5 - x / (x + 2.0) + x * 0.75 - x * 0.25
            x = x / (x * x + 1.0) + x * 0.125 - x * x * x * 0.5 + x * 0.0625 - 0.25
            x = x / (x * x + 2.0) + x * 0.375 - x * x * x * 0.5 + x * 0.0625 + 0.25
            y = y * y[i] - 0.5 + y / (y + 3.0) - y * 0.75 + y * 0.25
            y = y / (y * y + 3.0) - y * 0.125 - y * y * y * 0.5 + y * 0.0625 - 0.25
            y = y / (y * y + 4.0) - y * 0.375 - y * y * y * 0.5 + y * 0.0625 + 0.25
        return x, y

    compiled = dynamo_lite.compile(steps)
    for n in (3, 8, 21, 40):
        x, y = numbers(n, "f8", 0), numbers(n + 2, "f8", 1)
        wanted = steps(x, y, 3)
        for _ in range(3):
            found = compiled(x, y, 3)
            assert all(one.tobytes() == other.tobytes() for one, other in zip(found, wanted, strict=True))

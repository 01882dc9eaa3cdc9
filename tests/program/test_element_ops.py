"""Each row of the table of operations: its LLVM text does what it means, in vectors and number by number."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels.loops import same_values, sample_operands
from dynamo_lite.backends.kernels.quotients import inverse_of
from dynamo_lite.backends.numba.emit import emit

from dynamo_lite.program.element_ops import EXTREMES, ROWS, results_of
from dynamo_lite.program.evaluate import evaluate
from dynamo_lite.program.ir import INDEX, PACKED, Element, For, Function, Load, Memref, Store, Value
from dynamo_lite.program.nans import FUSED
from dynamo_lite.program.pairs import pairs
from dynamo_lite.program.verify import verify
from tests.backends.kernel_call import run_emitted

DTYPES = {"f": "fd", "i": "bhil", "u": "BHIL", "b": "?", "c": "FD"}
UNARY = ("nan_or_minus_zero", "odd_nan", "no_arisen_nan", "real", "imag", "huge")
QUOTIENTS = ("floor_divide", "remainder")
N = 61


def base_of(name: str) -> str:
    """What NumPy calls an operation that may be in doubt."""
    return name.removeprefix("plain_").removesuffix("_or_doubt").removesuffix("_or_nan")


def arity(name: str) -> int:
    """How many operands an operation has."""
    base = base_of(name).removesuffix("_or_overflow")
    if name in FUSED:
        return 3
    if name == "quotient":
        return 4
    ufunc = EXTREMES.get(base) or getattr(np, base, None)
    return 1 if name in UNARY else ufunc.nin if isinstance(ufunc, np.ufunc) else 2


def function_of_row(name: str, dtype: np.dtype[Any], lanes: int) -> Function:
    """A function that does the operation on each element."""
    n, i = Value("n", INDEX), Value("i", INDEX)
    operands = tuple(Value(f"a{place}", dtype) for place in range(arity(name)))
    dtypes = results_of(name, tuple(value.dtype for value in operands))
    assert dtypes is not None
    results = tuple(Value(f"b{place}", of) for place, of in enumerate(dtypes))
    memrefs = [
        Memref(f"{space[0]}{place}", value.dtype, (PACKED,), (n,), space, place)
        for space, values in (("operand", operands), ("result", results))
        for place, value in enumerate(values)
    ]
    loads = [Load(value, memref, (i,)) for value, memref in zip(operands, memrefs, strict=False)]
    stores = [Store(memref, (i,), value) for value, memref in zip(results, memrefs[len(operands) :], strict=True)]
    nest = For(
        i, n, (*loads, Element(name, operands, results), *stores), lanes=lanes, tail="numbers" if lanes > 1 else ""
    )
    return Function(tuple(memrefs[: len(operands)]), tuple(memrefs[len(operands) :]), n, (nest,), scratch_bytes=64)


@pytest.mark.parametrize("lanes", (1, 4))
@pytest.mark.parametrize(("name", "letter"), ROWS)
def test_row(name: str, letter: str, lanes: int) -> None:
    for char in DTYPES[letter]:
        function = function_of_row(name, np.dtype(char), lanes)
        verify(function)
        if letter == "c" and name not in ("real", "imag"):
            function = pairs(function, lambda name, dtype: True, strict=False)
            verify(function)
        samples = sample_operands((np.dtype(char),) * arity(name))
        if name == "quotient":
            parts = inverse_of(5.0, np.dtype(char)) or pytest.skip("quotients are divided")
            x = samples[0][(samples[0] == 0) | ~(np.abs(samples[0]) < 1e-20)]  # what is smaller sets a flag
            samples = [x, *(np.full_like(x, number) for number in (5.0, *parts))]
        if name in QUOTIENTS and letter in "iu":  # whose divisor is not 0, and whose quotient fits
            divides = samples[1] != 0
            if letter == "i":
                divides &= (samples[0] != np.iinfo(char).min) | (samples[1] != -1)
            samples = [sample[divides] for sample in samples]
        if base_of(name) in QUOTIENTS and name not in QUOTIENTS:  # what is in doubt sets flags
            _, doubt = ROWS[name, letter].meaning(*samples)
            if letter == "i":
                doubt = doubt | ((samples[0] == np.iinfo(char).min) & (samples[1] == -1))
            samples = [sample[~doubt] for sample in samples]
        picked = random.Random(1).sample(range(len(samples[0])), min(N, len(samples[0])))
        operands = [np.ascontiguousarray(sample[picked]) for sample in samples]
        meant, found = ([np.zeros(len(picked), result.dtype) for result in function.results] for _ in range(2))
        outcome = evaluate(function, operands, meant, n=len(picked))
        assert outcome.status == 0 or name == "divide"  # by 0
        status, _ = run_emitted(emit(function, "row"), "row", [*operands, *found], n=len(picked))
        assert status == outcome.status
        for one, other in zip(meant, found, strict=True):
            assert same_values(one, other), (name, char)

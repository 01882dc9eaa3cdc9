"""Arithmetic of complex numbers: whether it is compiled, and which products are added at once.

NumPy's vectorised loops of products take a fused multiply-add where the processor has one; others do not. Which, is
tried out: NumPy's loop runs over awkward numbers, and what it gives is compared with what the compiled operations mean.
Where neither form fits, NumPy's loop stays. That a loop does the same wherever its arrays lie is asked before
(loops.py), so one run tells.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from dynamo_lite.backends.kernels.loops import StridedLoop, same_values, sample_operands

from dynamo_lite._C import abi
from dynamo_lite.program.build import build
from dynamo_lite.program.element_ops import ROWS, class_of, is_exact, meaning_of, results_of
from dynamo_lite.program.ir import Element, Load, Note, Store, Value, walk
from dynamo_lite.program.pairs import COMPUTED, pairs
from dynamo_lite.schedule.steps import DType, Kernel, KernelOp

Array = np.ndarray[Any, Any]


def is_compiled(name: str, in_dtypes: tuple[DType, ...], dtypes: tuple[DType, ...]) -> bool:
    """Whether a kernel may compile this operation: `is_exact`, or of complex numbers with a form that is known."""
    if name not in COMPUTED or not in_dtypes or class_of(in_dtypes[0]) != "c":
        return is_exact(name, in_dtypes, dtypes)
    return dtypes == results_of(name, in_dtypes) and len(set(in_dtypes)) == 1 and _form(name, in_dtypes[0]) is not None


def is_fused(name: str, dtype: DType) -> bool:
    """Whether NumPy's function adds to a product at once."""
    return bool(_form(name, dtype))


@functools.cache
def _form(name: str, dtype: DType) -> bool | None:
    """Whether products are fused with the additions behind them; None if NumPy's loop does neither."""
    ufunc: np.ufunc = getattr(np, name)
    in_dtypes = (dtype,) * ufunc.nin
    dtypes = results_of(name, in_dtypes)
    assert dtypes is not None and (name, "c") in ROWS
    operands = [np.concatenate([one[:-301:13], one[-120:]]) for one in sample_operands(in_dtypes)]
    expected = np.empty(len(operands[0]), dtypes[0])
    with np.errstate(all="ignore"):
        if not StridedLoop(ufunc, (*in_dtypes, *dtypes))([*operands, expected]):
            return None
        kernel = Kernel(in_dtypes, (KernelOp(name, tuple(range(ufunc.nin)), in_dtypes, dtypes),), (ufunc.nin,))
        for fused in (True, False):
            found, noted = _computed(kernel, operands, fused)
            if same_values(found[~noted], expected[~noted]):
                return fused
    return None


def _computed(kernel: Kernel, operands: list[Array], fused: bool) -> tuple[Array, Array]:
    """What the operations on parts make of whole arrays, and where they note something."""
    function = build(kernel, abi.CLASS_PACKED * (len(operands) + 1))
    values: dict[Value, Any] = {}
    noted = np.zeros(len(operands[0]), bool)
    for node in walk(pairs(function, lambda name, dtype: fused, strict=False).body):
        match node:
            case Load(result, memref):
                of_memory = memref.space == "operand"
                values[result] = operands[memref.index] if of_memory else memref.dtype.type(memref.number)
            case Element(name, of, results):
                values[results[0]] = meaning_of(name, results[0].dtype)(*(values[value] for value in of))
            case Note(condition):
                noted |= values[condition]
            case Store(_, _, value):
                made: Array = values[value]
    return made, noted

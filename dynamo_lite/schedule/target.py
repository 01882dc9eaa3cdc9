"""What a backend can compile: the questions the scheduler asks, so that it knows no backend.

Each backend that runs Schedules hands one Target to ``schedule``. A backend of plain NumPy loops alone would answer
``exact`` with False throughout.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dynamo_lite.dataclass import dataclass
from dynamo_lite.schedule.steps import DType, Kernel, Loop, Machine


@dataclass(frozen=True, slots=True)
class Target:
    """exact(op, in_dtypes, dtypes): the op ("cast", "where", "copy" or a ufunc's name) is compiled, with NumPy's bits.

    reports(op, in_dtypes, dtypes): the compiled op may set a floating-point flag. loop(ufunc, dtypes,
    zero_dimensional): NumPy's own inner loop for these operand and result dtypes may run on tiles. forward(ufunc,
    dtypes): but not on an array that is reversed. folds(ufunc, dtype): a Reduce needs no call of NumPy's reduce, most
    of the time. folding(kernel, ufunc): the kernel can be compiled to fold its values itself, along other axes than the
    innermost. machine(loop): the loop compiled whole, if it can be. inverse(number, dtype): the parts of the number's
    inverse, if a quotient by it can be computed from them. max_ops and max_operands (results counted too)
    bound a kernel.
    """

    exact: Callable[[str, tuple[DType, ...], tuple[DType, ...]], bool]
    reports: Callable[[str, tuple[DType, ...], tuple[DType, ...]], bool]
    loop: Callable[[np.ufunc, tuple[DType, ...], tuple[bool, ...]], bool]
    forward: Callable[[np.ufunc, tuple[DType, ...]], bool]
    folds: Callable[[np.ufunc, DType], bool]
    folding: Callable[[Kernel, np.ufunc], bool] = lambda kernel, ufunc: False
    machine: Callable[[Loop], Machine | None] = lambda loop: None
    inverse: Callable[[float, DType], tuple[float, float] | None] = lambda number, dtype: None
    max_ops: int = 1500
    max_operands: int = 220

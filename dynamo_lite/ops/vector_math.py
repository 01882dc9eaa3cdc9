"""Functions whose last bits depend on where arrays lie.

Where the processor has AVX-512, NumPy computes some functions with Intel's SVML, but with the C library where an array
is reversed, or where the operand's memory reaches into the result's
(numpy/_core/src/umath/loops_umath_fp.dispatch.c.src, loops_exponent_log.dispatch.c.src): the last bit differs for a few
values in a thousand. Of float16 only packed arrays go to SVML, and of more functions.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from dynamo_lite.ops.parameters import (
    DType,
)

NAMES = frozenset(
    {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tan", "arcsin", "arccos", "arctan", "arctan2", "sinh"}
    | {"cosh", "arcsinh", "arccosh", "arctanh", "cbrt", "power", "float_power"}
)
NAMES_OF_HALF = NAMES | {"sin", "cos", "tanh"}
# Of complex numbers these are fixed: no fused multiply-add, and of two NaNs the first one, wherever the arrays lie.
EXACT_COMPLEX = frozenset({"subtract", "negative", "positive", "conjugate"})


@cache
def looks_at_strides(name: str, dtype: DType) -> bool:
    """Whether NumPy's ufunc of that name computes otherwise for some layouts, on this processor."""
    features: dict[str, bool] = getattr(_multiarray_umath, "__cpu_features__", {})
    names = NAMES_OF_HALF if dtype == np.float16 else NAMES
    # A NumPy that does not tell its features may have it.
    return dtype.kind == "f" and name in names and features.get("AVX512_SKX", not features)

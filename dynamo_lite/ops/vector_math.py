"""Functions whose last bits depend on where arrays lie.

Where the processor has AVX-512, NumPy computes some functions with Intel's SVML, but with the C library where an array
is reversed, or where the operand's memory reaches into the result's
(numpy/_core/src/umath/loops_umath_fp.dispatch.c.src, loops_exponent_log.dispatch.c.src): the last bit differs for a few
values in a thousand. Of float16 only packed arrays go to SVML.
"""

from __future__ import annotations

from functools import cache

from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

NAMES = frozenset(
    {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan"}
    | {"arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "power", "float_power"}
)


@cache
def looks_at_strides(name: str) -> bool:
    """Whether NumPy's ufunc of that name computes otherwise for some layouts, on this processor."""
    features: dict[str, bool] = getattr(_multiarray_umath, "__cpu_features__", {})
    return name in NAMES and features.get("AVX512_SKX", not features)  # a NumPy that does not say so may have it

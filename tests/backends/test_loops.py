"""Which NumPy loops may run on tiles."""

from __future__ import annotations

import numpy as np
import pytest
from dynamo_lite.backends.kernels.loops import loop_is_elementwise

POWER_SQUARES = np.lib.NumpyVersion(np.__version__) >= "2.3.0"


@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "arctan2", "hypot", "maximum", "floor_divide"])
def test_common_loops_are_elementwise(name: str) -> None:
    ufunc = getattr(np, name)
    dtypes = (np.dtype(np.float64),) * (ufunc.nin + 1)
    assert loop_is_elementwise(ufunc, dtypes, (False,) * ufunc.nin)


def test_power_looks_at_a_single_exponent() -> None:
    """NumPy's power loop squares when the exponent has stride zero and is 2 (since NumPy 2.3): only one that always has
    may be tiled."""
    dtypes = (np.dtype(np.float64),) * 3
    assert loop_is_elementwise(np.power, dtypes, (False, False)) == (not POWER_SQUARES)
    assert loop_is_elementwise(np.power, dtypes, (False, True))


def test_refused() -> None:
    f8, i8 = np.dtype(np.float64), np.dtype(np.int64)
    assert not loop_is_elementwise(np.power, (i8, i8, i8), (False, False))  # raises for negative exponents
    assert not loop_is_elementwise(np.matmul, (f8, f8, f8), (False, False))
    assert not loop_is_elementwise(np.add, (np.dtype(object),) * 3, (False, False))
    assert not loop_is_elementwise(np.add, (f8, i8, f8), (False, False))
    assert loop_is_elementwise(np.power, (f8, f8, f8), (True, True)) == (not POWER_SQUARES)

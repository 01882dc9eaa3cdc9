"""Python ints of all sizes beside arrays of all dtypes, for each ufunc of two operands: as NumPy has it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.ops.elementwise import UFUNCS

BINARY = sorted(name for name, ufunc in UFUNCS.items() if ufunc.nin == 2)
INTS = (2**70, -(2**70), 2**64 - 1, 2**63, -(2**63), 2**31, 300, -1, 0)


def outcome(function: Any, array: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function(array.copy())
        except Exception as error:
            found = type(error), error.args
        else:
            results = found if isinstance(found, tuple) else (found,)
            found = [(each.dtype, each.shape, each.strides, each.tobytes()) for each in results]
    return found, [str(warning.message) for warning in caught]


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("name", BINARY)
def test_a_python_int_beside_an_array(name: str) -> None:
    ran = 0
    for number in INTS:
        names: dict[str, Any] = {"u": UFUNCS[name]}
        exec(f"def right(a): return u(a, {number})\ndef left(a): return u({number}, a)", names)
        for char in "?bBhHilLQefdFD":
            array = np.array([1, 0, 2, 3]).astype(char)
            for side in ("right", "left"):
                function = names[side]
                fast = dynamo_lite.compile(function)
                assert repr(outcome(fast, array)) == repr(outcome(function, array)), (number, char, side)
                ran += fast.stats()["native_calls"] > 0
    assert ran, "none of them ran natively"

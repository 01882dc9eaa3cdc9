"""Python floats that vanish on the way into an array: nobody reports that, so the program that stores them goes on."""

import math
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import Conditions, require_equal


def decay(x: Any, i: int) -> Any:
    x[i] = math.exp(-abs(x[i]))
    return x


def decayed(x: Any, i: int) -> Any:
    found = math.exp(-abs(x[i]))
    x[i] = found
    return found


def each(x: Any, i: int) -> Any:
    for i in range(len(x)):
        print(end="")
        x[i] = math.exp(-abs(x[i]))
    return x


@pytest.mark.parametrize("function", [decay, decayed, each])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("number", [15.0, 95.0, 120.0, 800.0])  # of which e^-number is too small for some of these
@pytest.mark.parametrize("errors", ["warn", "raise"])
def test_a_number_is_stored_once_where_it_vanishes(function: Any, dtype: Any, number: float, errors: str) -> None:
    def arguments(value: float) -> tuple[Any, ...]:
        x = np.full(9, 0.5, dtype)
        x[3] = value
        return x, 3

    require_equal(
        function,
        lambda: arguments(0.25),
        compile=dynamo_lite.compile,
        compile_options={"options": {"cost_model": False}},
        variants=[lambda: arguments(number)],
        conditions=Conditions(errstate={"all": errors}),
    )

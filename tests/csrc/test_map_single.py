"""Programs of one map over small packed arrays run the short way: with NumPy's bits and geometry, whatever comes in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dynamo_lite._C import Declined, Program
from dynamo_lite.schedule.steps import Kernel, KernelOp, Map, Reg
from tests.csrc.test_program import (
    DIVIDE,
    F8,
    S0,
    S1,
    SCALE,
    fresh,
    leaks,
    program,
    program_of_sizes,
)

X = np.arange(6.0).reshape(2, 3) + 0.5
GEOMETRIES: dict[str, Callable[[Any], Any]] = {
    "packed": lambda x: x,
    "Fortran": np.asfortranarray,
    "reversed": lambda x: x[::-1],
    "every second": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "one row": lambda x: x[:1],
    "one column": lambda x: x[:, :1],
    "empty": lambda x: x[:0],
    "large": lambda x: np.tile(x, (50, 40)),
    "read-only": lambda x: np.frombuffer(x.tobytes()).reshape(x.shape),
}
BOTH = Kernel(
    (F8, F8),
    (KernelOp("multiply", (0, 1), (F8, F8), (F8,)), KernelOp("add", (0, 1), (F8, F8), (F8,))),
    (3, 2),
)


@pytest.fixture
def affine() -> Program:
    """x * 2.0 + 1.0, which has run the short way."""
    run = program_of_sizes([fresh(SCALE, (Reg(0), 2.0, 1.0), (S0, S1), 3)], (Reg(3),))
    for _ in range(3):
        run(X)
    return run


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_every_geometry_behind_packed_arrays(affine: Program, geometry: str) -> None:
    x = GEOMETRIES[geometry](X)
    for given in (x, X, x):
        (result,) = affine(given)
        expected = given * 2.0 + 1.0
        assert result.tobytes() == expected.tobytes() and result.strides == expected.strides
        assert result.flags.owndata and result.flags.writeable


@pytest.mark.parametrize("other", [X.astype("f4"), X.astype(">f8"), X[0], X.view(np.ma.MaskedArray), X.tolist()])
def test_other_inputs_behind_packed_arrays_decline(affine: Program, other: Any) -> None:
    """Guards keep them away; a program looks, too."""
    with pytest.raises(Declined):
        affine(other)
    assert affine(X)[0].tobytes() == (X * 2.0 + 1.0).tobytes()


def test_inputs_of_unlike_shapes() -> None:
    """What would be broadcast, or does not fit, is none of the short way's."""
    run = program([fresh(DIVIDE, (Reg(0), Reg(1)), (S0, S1), 2)], (Reg(2),), n_inputs=2)
    run(X, X)
    assert run(X, X + 1.0)[0].tobytes() == (X / (X + 1.0)).tobytes()
    for one, other in ((X, X[:1]), (X[:1], X), (X, X.T.copy()), (X, X[:, :1])):
        try:
            (result,) = run(one, other)
        except Declined:
            continue
        assert result.tobytes() == (one / other).tobytes()


def test_a_fixed_size_that_is_another() -> None:
    run = program([fresh(SCALE, (Reg(0), 2.0, 1.0), (S0, 3), 3)], (Reg(3),))
    run(X)
    assert run(X + 1.0)[0].shape == (2, 3)
    with pytest.raises(Declined):
        run(np.ones((2, 4)))


def test_flags_of_the_short_way_are_reported_each_time() -> None:
    run = program([fresh(DIVIDE, (Reg(0), Reg(1)), (S0, S1), 2)], (Reg(2),), n_inputs=2)
    zeros = np.zeros_like(X)
    for divisor in (X, X, zeros, X, zeros, X):
        with np.errstate(divide="ignore"):
            assert run(X, divisor)[0].tobytes() == (X / divisor).tobytes()
        if divisor is zeros:
            with pytest.raises(Declined, match="floating-point"):
                run(X, divisor)


def test_two_results_in_their_order() -> None:
    run = program(
        [Map(BOTH, (Reg(0), Reg(1)), (S0, S1), (3, 2), (False, False), (False, False))], (Reg(3), Reg(2)), n_inputs=2
    )
    for _ in range(3):
        added, multiplied = run(X, X + 1.0)
        assert added.tobytes() == (X + (X + 1.0)).tobytes()
        assert multiplied.tobytes() == (X * (X + 1.0)).tobytes()


@pytest.mark.usefixtures("no_mode")
def test_the_short_way_leaks_nothing(affine: Program) -> None:
    small = X.T.copy()
    assert leaks(lambda: (affine(X), affine(small))) < 20

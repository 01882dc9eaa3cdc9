"""Which steps programs become: the shapes of fusion, stores and protection that matter, as text."""

from __future__ import annotations

from typing import Any

import numpy as np
from dynamo_lite.backends.numba import TARGET

from dynamo_lite.lower import lower
from dynamo_lite.schedule import schedule
from dynamo_lite.schedule.text import to_text
from tests.schedule.programs import PROGRAMS
from tests.schedule.tracing import trace

X = np.arange(6.0) + 1
M = np.arange(12.0).reshape(3, 4) + 1


def steps(function: Any, *arguments: Any) -> str:
    """The schedule's text without the insides of kernels."""
    text = to_text(schedule(lower(trace(function, *arguments)), TARGET))
    return "\n".join(line for line in text.splitlines() if not line.startswith("    "))


def test_the_docstring() -> None:
    def program(x: Any, y: Any) -> None:
        m = x * x
        y[...] = m + 1

    assert to_text(schedule(lower(trace(program, X, X)), TARGET)) == (
        "schedule(2 inputs, 2 registers) writes r1\n"
        "  save r1\n"
        "  r1[...] = map[s1](r0, 1)\n"
        "    v0: float64, v1: float64\n"
        "    v2: float64 = multiply(v0, v0)\n"
        "    v3: float64 = add(v2, v1)\n"
        "    -> v3\n"
        "  return "
    )


def test_black_scholes_is_one_kernel() -> None:
    function, arguments = PROGRAMS["black_scholes"]
    assert steps(function, *arguments).count("map") == 1


def test_softmax_keeps_the_exponentials() -> None:
    function, arguments = PROGRAMS["softmax"]
    assert steps(function, *arguments) == (
        "schedule(1 inputs, 5 registers)\n"
        "  r1 = maximum.reduce[s0, s1](r0) axes=(1,) keepdims=True\n"
        "  r2 = map[s0, s1](r0, r1)\n"
        "  r3 = add.reduce[s0, s1](r2) axes=(1,) keepdims=True\n"
        "  r4 = map[s0, s1](r2, r3)\n"
        "  by rows[s0]: 4 steps from 0\n"
        "  return r4"
    )


def test_cheap_values_are_computed_again() -> None:
    def program(x: Any, y: Any) -> Any:
        d = x - 1
        return (d * d).sum(), d * y

    assert steps(program, X, X).count("map") == 1
    assert "r2 = add.reduce[s0](r0, 1)" in steps(program, X, X)


def test_a_stencil_into_another_array_is_written_directly() -> None:
    def program(a: Any, b: Any) -> None:
        b[1:-1] = a[:-2] + a[2:]

    assert steps(program, X, X) == (
        "schedule(2 inputs, 5 registers) writes r1\n"
        "  r2 = basic_index(r0, ((None, -2, None)))\n"
        "  r3 = basic_index(r0, ((2, None, None)))\n"
        "  r4 = basic_index(r1, ((1, -1, None)))\n"
        "  save r4\n"
        "  r4[...] = map[sub(s1, 2)](r2, r3)\n"
        "  return "
    )


def test_an_overlapping_stencil_needs_a_temporary() -> None:
    function, arguments = PROGRAMS["overlapping_store"]
    text = steps(function, *arguments)
    assert "r4 = map[sub(s0, 2)](r1, r2, 0.5)\n  r3[...] = map[sub(s0, 2)](r4)" in text
    assert "save" not in text  # the copy cannot decline, and nothing comes after it


def test_a_row_of_the_target_is_set_aside() -> None:
    def program(a: Any) -> None:
        a[:] = a - a[0]

    assert "  r2 = map[s1](r1)\n  save r0\n  r0[...] = map[s0, s1](r0, r2)\n" in steps(program, M)


def test_another_row_of_the_target_needs_no_copy() -> None:
    def program(a: Any) -> None:
        a[1] = a[0] * 2.0 - a[2]

    def maybe_the_same(a: Any) -> None:
        a[1] = a[-1] * 2.0

    assert steps(program, M).count("map") == 1
    assert steps(maybe_the_same, M).count("map") == 2


def test_a_shifted_copy_needs_a_temporary() -> None:
    def program(a: Any) -> None:
        a[1:] = a[:-1]

    assert "map[sub(s0, 1), s1](r1)\n  r2[...] = map" in steps(program, M).replace("r3 = ", "")
    assert steps(program, X).count("map") == 1  # for a vector the launcher decides, by its strides


def test_integer_stores_need_no_copy_to_undo() -> None:
    def program(a: Any) -> None:
        a *= 3

    assert "save" not in steps(program, np.arange(5))
    assert "save" in steps(program, X)


def test_a_value_that_reads_old_memory_is_computed_before_the_store() -> None:
    def program(x: Any) -> Any:
        y = x + 1
        x[1:] = 0
        return y * 2

    text = steps(program, np.arange(5)).splitlines()
    assert "r1 = map[s0](r0, 1, 2)" in text[1]
    assert "r2[...] = map[sub(s0, 1)](0)" in text[3]


def test_a_store_in_the_same_positions_is_the_same_kernel() -> None:
    def program(x: Any) -> Any:
        y = x + 1
        x[...] = 0
        return y * 2

    assert steps(program, np.arange(5)).splitlines()[1:] == ["  r0[...], r1 = map[s0](r0, 1, 0, 2)", "  return r1"]


def test_fresh_arrays_need_no_copy_to_undo() -> None:
    def program(x: Any) -> Any:
        y = np.zeros_like(x)
        y[1:] = x[:-1] / 3
        return y

    assert "save" not in steps(program, X)


def test_one_copy_protects_a_whole_loop() -> None:
    function, arguments = PROGRAMS["jacobi"]
    assert steps(function, *arguments).count("save") == 2


def test_matmul_calls_numpy() -> None:
    text = steps(lambda a, b: (a * 2) @ b + 1, M, M.T)
    assert "call matmul(r2, r1)" in text and text.count("map") == 2


def test_float_sums_with_a_cast_stay_numpys() -> None:
    assert "call reduce" in steps(lambda x: x.sum(dtype=np.float64), X.astype("f"))
    assert "add.reduce" in steps(lambda x: (x > 2).sum(), X)


def test_equal_views_are_one() -> None:
    def program(x: Any) -> Any:
        return x[1:] * x[1:] + x[:-1] + x[1:]

    assert steps(program, X).count("basic_index") == 2


def test_views_that_are_returned_stay_apart() -> None:
    assert steps(lambda x: (x[1:], x[1:]), X).count("basic_index") == 2


def test_reshapes() -> None:
    def program(x: Any) -> Any:
        return x.reshape(1, 6), (x * 2).reshape(2, 3), x[::2].reshape(3, 1)

    text = steps(program, X)
    assert text.count("= reshape") == 3 and "call" not in text
    assert "call reshape" in steps(lambda m: m.reshape(12), M)

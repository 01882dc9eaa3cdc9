"""The guess whether a program pays."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.numba import TARGET

from dynamo_lite.graph.interpret import symbol_values
from dynamo_lite.graph.scalar import evaluate
from dynamo_lite.lower import lower
from dynamo_lite.schedule import DoesNotPay, estimate, paying_iterations, paying_sizes, schedule
from tests.schedule.programs import PROGRAMS
from tests.schedule.tracing import for_range, trace


def sizes(function: Any, *arguments: Any) -> tuple[int, int] | None:
    graph = lower(trace(function, *arguments))
    try:
        return paying_sizes(estimate(graph, schedule(graph, TARGET), arguments, TARGET))
    except DoesNotPay as error:
        assert "compiled against" in str(error)
        return None


def pays(function: Any, *arguments: Any) -> bool:
    """Whether the example's own size pays."""
    found = sizes(function, *arguments)
    return found is not None and found[0] <= max(map(np.size, arguments)) <= found[1]


BIG = np.ones(1_000_000)


def test_one_operation_on_big_data_does_not() -> None:
    assert not pays(lambda x: x + 1, BIG)
    assert not pays(lambda x: np.exp(x), BIG)


def test_one_function_of_csrc_does() -> None:
    keys, index = np.linspace(0.0, 1.0, 9), np.zeros(1_000_000, np.uint8)
    assert pays(np.cumsum, BIG) and pays(lambda x: x.cumsum(axis=0), BIG.reshape(1000, 1000))
    assert pays(np.searchsorted, keys, BIG) and pays(np.interp, BIG, keys, keys)
    assert pays(lambda x, i: x[i], BIG, index) and pays(lambda x, i: x[i], np.ones((9, 3)), index)
    assert pays(lambda x: x.argmin(axis=1), BIG.reshape(-1, 5))
    assert pays(lambda x: x.argmax(axis=0), BIG.reshape(100, -1))
    assert not pays(lambda x: x.argmax(axis=1), BIG.reshape(100, -1))
    assert not pays(lambda x, i: x[i], BIG, index.astype(int))


def test_what_numpy_writes_in_python_does() -> None:
    points = BIG[:300_000].reshape(-1, 3)
    assert pays(np.cross, points, points) and pays(np.isclose, BIG, BIG)


def test_what_numpy_goes_through_with_an_iterator_does() -> None:
    index, x = np.zeros(100_000, int), np.ones((300, 300))
    assert pays(lambda x, i: x[i, i], x, index) and pays(lambda x, i: x[:, i], x, index)
    assert pays(lambda x, m: np.divide(x, x, out=np.zeros_like(x), where=m), x, x > 0)


def test_one_operation_on_small_data_does() -> None:
    assert pays(lambda x: x + 1, np.ones(6))


def test_the_range_of_sizes_does_not_depend_on_the_example() -> None:
    for count in (6, 1000, 10**6):
        low, high = sizes(lambda x: x + 1, np.ones(count)) or (0, 0)
        assert low == 0 and 3e3 < high < 3e5
        assert sizes(lambda x: (x * 2 + 1) * x - 3, np.ones(count)) == (0, sys.maxsize)
    low, high = sizes(lambda x: x + 1, np.ones((1000, 1000))) or (0, 0)
    assert low == 0 and 3e3 < high < 3e5


def test_saving_what_is_overwritten_costs() -> None:
    def program(x: Any) -> Any:
        x *= 0.5

    low, high = sizes(program, np.ones(6)) or (0, 0)
    assert low == 0 and high < 1e5
    assert not pays(program, BIG)


def test_a_bare_product_does_not() -> None:
    matrix = np.ones((200, 200))
    assert not pays(lambda a, b: a @ b, matrix, matrix)


@pytest.mark.parametrize("name", ["gauss", "chain", "black_scholes", "layer_norm", "softmax", "jacobi"])
def test_real_programs_do(name: str) -> None:
    function, arguments = PROGRAMS[name]
    assert pays(function, *arguments)


def test_a_chain_on_big_data_does() -> None:
    assert pays(lambda x: (x * 2 + 1) * x - 3, BIG)


def loop_of(body: Any) -> Any:
    return lambda n, x: for_range((0, n, 1), (x,), lambda i, x: (body(x),))


@pytest.mark.parametrize("size", [6, 1_000, 1_000_000])
def test_a_loop_that_fuses_does(size: int) -> None:
    assert pays(loop_of(lambda x: x * 0.5 + 1.0), 10, np.ones(size))


def test_a_loop_of_single_operations_does_on_small_data_only() -> None:
    assert pays(loop_of(lambda x: x[::-1] + 1.0), 10, np.ones(6))
    assert not pays(loop_of(lambda x: x[::-1] + 1.0), 10, BIG)
    assert not pays(loop_of(lambda x: np.sort(x)), 10, BIG)


@pytest.mark.parametrize("size", [6, 1_000, 1_000_000])
def test_a_loop_that_one_kernel_runs_does(size: int) -> None:
    assert pays(loop_of(lambda x: x + 1.0), 10, np.ones(size))


def test_a_loop_of_open_length_is_not_judged_by_a_call_without_iterations() -> None:
    assert pays(loop_of(lambda x: x * 0.5 + 1.0), 0, np.ones(6))
    assert not pays(loop_of(lambda x: np.sort(x)), 0, BIG)


@pytest.mark.parametrize("size", [30, 300, 1000])
def test_a_loop_over_layers_does(size: int) -> None:
    """NumPy fetches a cache line for each element, the program once for several layers."""

    def of_layers(n: Any, x: Any) -> Any:
        def body(k: Any) -> Any:
            x[:, :, k] = np.roll(x[:, :, k], 1, axis=0)
            return ()

        for_range((0, n, 1), (), body)
        return x

    def of_rows(n: Any, x: Any) -> Any:
        def body(k: Any) -> Any:
            x[k] = np.roll(x[k], 1, axis=0)
            return ()

        for_range((0, n, 1), (), body)
        return x

    assert pays(of_layers, 9, np.ones((size, size, 9)))
    assert pays(of_rows, 9, np.ones((9, size, size))) == (size < 300)


def test_a_loop_over_layers_that_stay_in_the_cache_does_not() -> None:
    def copied(n: Any, x: Any, y: Any) -> Any:
        def body(k: Any) -> Any:
            y[:, :, k] = np.roll(x[:, :, k], 1, axis=0)
            return ()

        for_range((0, n, 1), (), body)
        return y

    for size, expected in ((250, False), (300, True)):
        assert pays(copied, 3, np.ones((size, size, 3)), np.ones((size, size, 3))) == expected


def test_loops_in_loops_do() -> None:
    def table(n: Any, x: Any) -> Any:
        def outer(i: Any) -> Any:
            def inner(j: Any) -> Any:
                x[i, j] = x[i, j] * 0.5 + x[j, i]
                return ()

            for_range((0, n, 1), (), inner)
            return ()

        for_range((0, n, 1), (), outer)
        return x

    assert pays(table, 5, np.ones((6, 6)))


def store_sums(n: Any, m: Any, x: Any) -> Any:
    """Single elements, n * m times, stored into an array that has to be copied first."""

    def outer(i: Any) -> Any:
        def inner(j: Any, s: Any) -> Any:
            return (s + x[j] * 0.5,)

        x[i] = for_range((0, m, 1), (x[i],), inner)[0]
        return ()

    for_range((0, n, 1), (), outer)
    return x


def enough(function: Any, *arguments: Any) -> Any:
    """Whether another call's iterations are enough for its array, by what the example says; and how the sizes do."""
    graph = lower(trace(function, *arguments))
    found = paying_iterations(graph, schedule(graph, TARGET), arguments, TARGET)
    assert found is not None
    rest, condition = found
    assert paying_sizes(estimate(graph, rest, arguments, TARGET)) == (0, sys.maxsize)
    return lambda *others: evaluate(condition, symbol_values(graph, others))


@pytest.mark.parametrize("n", [2, 3000])
@pytest.mark.parametrize("size", [6000, 1_000_000])
def test_copies_of_what_a_loop_writes_are_weighed_with_the_iterations_of_the_call(n: int, size: int) -> None:
    pays_for = enough(store_sums, n, 20, np.ones(size))
    assert not pays_for(2, 20, BIG)
    assert pays_for(3000, 20, BIG) and pays_for(20, 3000, BIG)
    assert pays_for(20, 20, np.ones(1000))
    assert not pays_for(0, 0, BIG)


def test_iterations_that_are_known_or_are_sizes_need_no_condition() -> None:
    for bounds in ((0, 10, 1), None):

        def program(x: Any, bounds: Any = bounds) -> Any:
            def body(i: Any) -> Any:
                x[i] = x[i] * 0.5
                return ()

            for_range(bounds or (0, x.shape[0], 1), (), body)
            return x

        graph = lower(trace(program, BIG))
        assert paying_iterations(graph, schedule(graph, TARGET), [BIG], TARGET) is None


def test_a_product_whose_size_depends_on_the_iteration_does() -> None:
    def covariance(n: Any, x: Any) -> Any:
        def body(i: Any) -> Any:
            x[i, i:] = x[:, i] @ x[:, i:]
            return ()

        for_range((0, n, 1), (), body)
        return x

    assert pays(covariance, 5, np.ones((6, 6)))

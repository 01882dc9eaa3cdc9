"""Loops of numbers: of these the policy expects that compiling them gains (dynamo_lite/watch/watching.py)."""

from __future__ import annotations

import gc
import math
import random
from collections.abc import Callable
from random import random as drawn
from random import randrange
from typing import Any

import numpy as np
import pytest
from numpy import array, zeros
from numpy.random import rand

from dynamo_lite.pycode import loops
from dynamo_lite.pycode.decode import decode
from dynamo_lite.watch.loop_kinds import OF_ARRAYS, OF_ELEMENTS, OF_NUMBERS, kind_of, shared


def of_elements(x: Any, n: int) -> Any:
    for i in range(1, n):
        for j in range(1, n):
            x[i, j] = abs(x[i - 1, j]) * 0.5 + np.sin(x[i, j - 1])
    return x


def of_products(x: Any, a: Any, n: int) -> Any:
    for i in range(n):
        x = a @ x
        x[i] = 1.0
    return x


def of_appended(n: int) -> Any:
    found = []
    x = 0.5
    for _ in range(n):
        x = x + random.uniform(-0.1, 0.1)
        if x < 0.0:
            x = -x
        found.append(x * 2)
    return found


def hits(n: int) -> int:
    found = 0
    for _ in range(n):
        if random.random() ** 2 + random.random() ** 2 < 1.0:
            found += 1
    return found


def of_calls(n: int) -> float:
    total = 0.0
    for _ in range(n):
        total += (4.0 * hits(100) / 100 - math.pi) ** 2
    return total


def of_joined(x: Any, n: int) -> Any:
    found = []
    for i in range(n):
        found += [x[i] * 2]
    return found


def of_objects(x: Any, n: int) -> Any:
    found = []
    for i in range(n):
        found.insert(0, x[i] * 2)
    return found


def described(x: Any) -> str:
    return f"{x * 2}"


def of_texts(x: Any, n: int) -> Any:
    for i in range(n):
        print(f"{x[i] * 2}")


def of_texts_of_others(x: Any, n: int) -> Any:
    for i in range(n):
        print(described(x[i] * 2))


def slope(x: Any, t: float) -> Any:
    return np.array([x[1] - t, -x[0]])


def of_small_arrays(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        out.append(x[0])
        k = 0.1 * slope(x, i * 0.1)
        x = x + 0.1 * slope(x + 0.5 * k, i * 0.1 + 0.05).copy()
    return x, out


def of_small_matrices(x: Any, n: int) -> Any:
    for _ in range(n):
        x = np.linalg.solve(x @ x.T + np.eye(2), x)
    return x


def of_other_modules(x: Any, n: int) -> Any:
    for _ in range(n):
        x = np.exp(x) + gc.callbacks.copy()
    return x


def of_printed(x: Any, n: int) -> Any:
    for i in range(n):
        x = x + 0.1 * slope(x, i * 0.1)
        print(x)
    return x


def of_others(x: Any, n: int) -> Any:
    total = 0
    for i in range(n):
        total += len(gc.get_objects()) + x[i] * 2
    return total


def of_prints_now_and_then(x: Any, n: int) -> Any:
    for i in range(n):
        x = np.exp(-x).dot(x) + x
        if i % 100 == 0:
            print(i, x.tolist())
        if not (i + 1) % n:
            print(f"{x.sum()}")
    return x


def of_frequent_prints(x: Any, n: int) -> Any:
    for i in range(n):
        x = np.exp(-x).dot(x) + x
        if i % 2 == 0:
            print(i)
    return x


def of_remainders(x: Any, n: int) -> Any:
    for i in range(n):
        x = np.exp(-x) + i % 100
        print(x)
    return x


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        *[(of_elements, OF_NUMBERS), (of_appended, OF_ELEMENTS), (of_calls, OF_ELEMENTS), (of_products, OF_NUMBERS)],
        *[(of_small_arrays, OF_ARRAYS), (of_printed, 0), (of_small_matrices, OF_ARRAYS), (of_other_modules, 0)],
        *[(of_prints_now_and_then, OF_ARRAYS), (of_frequent_prints, 0), (of_remainders, 0)],
        *[(of_joined, OF_ELEMENTS), (of_objects, 0), (of_texts, 0), (of_texts_of_others, 0), (of_others, 0)],
    ],
)
def test_what_a_loop_of_numbers_is(function: Callable[..., Any], expected: int) -> None:
    code = decode(function.__code__)
    assert kind_of(code, loops(code)[-1], {**globals(), "np": np}).kind == expected


def of_names_from_numpy(x: Any, n: int) -> Any:
    for i in range(n):
        x = x + 0.1 * array([x[1] - i, -x[0]], float) + zeros(2) * rand()
    return x


def of_names_from_random(n: int) -> float:
    x = 0.0
    for _ in range(n):
        if drawn() < 0.5:
            x = x + randrange(1, 5) * 0.25
    return x


@pytest.mark.parametrize(
    ("function", "expected"), [(of_names_from_numpy, OF_ARRAYS), (of_names_from_random, OF_ELEMENTS)]
)
def test_functions_are_known_by_where_they_come_from_whatever_they_are_named(
    function: Callable[..., Any], expected: int
) -> None:
    """`from numpy import array` and `from random import random`: functions in C, and methods of a generator."""
    code = decode(function.__code__)
    loop = loops(code)[-1]
    assert kind_of(code, loop, globals()).kind == expected
    for other in gc.collect, [].append:  # of another module, and a list's
        assert kind_of(code, loop, {**globals(), "array": other, "drawn": other}).kind == 0


def test_functions_of_matrices_take_as_long_as_some_operations() -> None:
    code = decode(of_small_matrices.__code__)
    assert kind_of(code, loops(code)[-1], {"np": np}).operations == 9  # @, +, two calls and what solve takes besides


def of_locals(x: Any, n: int) -> Any:
    for i in range(n):
        x = 4.0 * x * (1.0 - x) + i
    return x


@pytest.mark.parametrize(
    ("x", "expected"),
    [(0.5, OF_ELEMENTS), (np.float64(0.5), OF_ELEMENTS), (0.5j, OF_ELEMENTS), (np.ones(3), 0), ("text", 0), (gc, 0)],
)
def test_what_variables_hold_tells_numbers_from_arrays(x: Any, expected: int) -> None:
    code = decode(of_locals.__code__)
    assert kind_of(code, loops(code)[-1], globals()).kind == 0
    assert kind_of(code, loops(code)[-1], globals(), {"x": x, "n": 9, "i": 3}).kind == expected


def of_ufuncs(v: list[Any], n: int) -> None:
    for i in range(n):
        v.append(v[i] - np.sin(v[i] * np.pi) * 0.01)


@pytest.mark.parametrize(
    ("v", "expected"), [([0.5], OF_ELEMENTS), ([np.float64(0.5)], OF_ELEMENTS), ([np.ones(3)], OF_NUMBERS)]
)
def test_ufuncs_of_numbers_make_no_arrays(v: list[Any], expected: int) -> None:
    code = decode(of_ufuncs.__code__)
    assert kind_of(code, loops(code)[-1], {"np": np}, {"v": v, "n": 3, "i": 0}).kind == expected


def of_globals() -> None:
    for i in range(1, 9):
        GRID[i] = GRID[i] * 0.5 + GRID[i - 1]


GRID = np.ones(9)


def test_an_array_of_the_module_is_no_call_of_numpys() -> None:
    code = decode(of_globals.__code__)
    assert kind_of(code, loops(code)[-1], globals()).kind == OF_ELEMENTS


def of_comparisons(x: Any, xs: list[Any]) -> bool:
    free = True
    for one in xs:
        if one == x:
            free = False
    return free


@pytest.mark.parametrize(("x", "expected"), [(3, OF_ELEMENTS), (np.float64(0.5), OF_ELEMENTS), ("text", 0), ([3], 0)])
def test_a_loop_that_only_compares_is_one_of_numbers_where_its_variables_are(x: Any, expected: int) -> None:
    code = decode(of_comparisons.__code__)
    assert kind_of(code, loops(code)[-1], globals()).kind == 0
    assert kind_of(code, loops(code)[-1], globals(), {"x": x, "one": x, "free": True}).kind == expected


def of_conjugates(z: Any, c: Any) -> int:
    n = 0
    while (z * z.conjugate()).real < 4.0:
        z = z * z + c
        n += 1
    return n


def test_conjugates_are_numbers() -> None:
    code = decode(of_conjugates.__code__)
    assert kind_of(code, loops(code)[-1], globals()).kind == OF_ELEMENTS


MODULUS = 2**64


def of_long_ints(x: int, n: int) -> float:
    total = 0.0
    for _ in range(n):
        x = (6364136223846793005 * x + 1442695040888963407) % MODULUS
        total += x / MODULUS
    return total


@pytest.mark.parametrize(("modulus", "x", "expected"), [(2**64, 1, 0), (2**31, 1, OF_ELEMENTS), (2**31, 2**70, 0)])
def test_a_loop_of_ints_that_fit_no_register_wins_nothing(modulus: int, x: int, expected: int) -> None:
    code, values = decode(of_long_ints.__code__), {"x": x, "n": 9, "total": 0.5, "_": 3}
    assert kind_of(code, loops(code)[-1], {**globals(), "MODULUS": modulus}, values).kind == expected


def test_variables_that_functions_share_are_like_any_others() -> None:
    def fills(x: Any, n: int) -> Callable[[], Any]:
        for i in range(1, n):
            x[i] = x[i - 1] * 0.5 + i
        return lambda: x[n]

    def make(x: Any) -> Callable[[int], None]:
        def fills_shared(n: int) -> None:
            for i in range(1, n):
                x[i] = x[i - 1] * 0.5 + i

        return fills_shared

    code = decode(fills.__code__)
    assert kind_of(code, loops(code)[-1], globals()).kind == OF_ELEMENTS
    function = make(np.ones(9))
    code = decode(function.__code__)
    assert kind_of(code, loops(code)[-1], globals()).kind == 0
    assert kind_of(code, loops(code)[-1], globals(), shared(function)).kind == OF_ELEMENTS


def test_a_function_that_is_an_argument_is_no_value() -> None:
    def steps(f: Callable[[float], float], y: float, n: int) -> float:
        for _ in range(n):
            y = y + 0.01 * f(y)
        return y

    def of_numbers(y: float) -> float:
        return -y * y

    code = decode(steps.__code__)
    (loop,) = loops(code)
    for f, expected in ((of_numbers, OF_ELEMENTS), (math.sin, OF_ELEMENTS), ([], 0)):
        assert kind_of(code, loop, globals(), {"f": f, "y": 0.5, "n": 9}).kind == expected
    assert kind_of(code, loop, globals(), {"f": lambda y: [y][0], "y": 0.5, "n": 9}).kind == 0

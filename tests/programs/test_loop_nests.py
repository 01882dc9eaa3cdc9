"""Loops inside loops, functions inlined into loops, and loops that fall back (see loop_cases.py)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.programs.loop_cases import BACKENDS, check, registry, relaxed, rng, two, vector

CASES, case = registry()


# -- nested, inlined -------------------------------------------------------------------------------


@case(vector, loops=2)
def nested(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        for j in range(i):
            x = x * 0.5 + j
        x = x + i
    return x


@case(lambda count, size: (rng(size).random((size, size)), count), loops=2)
def nested_over_sizes(a, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        for i in range(a.shape[0]):
            a[i] = a[i] * 0.5 + a[:, i]
    return a


@case(two, loops=2)
def nested_swap(a, b, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        for _ in range(n):
            a, b = b, a
            a[0] += 1.0
        b = b * 2.0
    return a, b


@case(two, loops=2)
def one_after_the_other(a, b, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        a = a + b * i
    for i in range(n):
        b = b + a * i
    return a, b


@case(vector)
def inlined(x, n):  # type: ignore[no-untyped-def]
    return relaxed(x, n) * 2.0


@case(vector, loops=2)
def inlined_in_a_loop(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = relaxed(x, n) - 1.0
    return x


@case(vector)
def calls_inside(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = np.mean(np.stack([x, x * 2.0]), axis=0) / np.linalg.norm(x)
    return x


@case(vector)
def closures_inside(x, n):  # type: ignore[no-untyped-def]
    def f(y):  # type: ignore[no-untyped-def]
        return y * h

    h = 0.5
    for _ in range(n):
        x = f(x) + (lambda y: y + 1.0)(x)
    return x


@case(vector)
def lists_inside(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        parts = [x * k for k in range(3)]
        parts.append(x + i)
        x = sum(parts) * 0.1
    return x


@case(lambda count, size: (two(count, size)[0], [two(count, size)[1], 0.5], count))
def list_of_outside(x, weights, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = x * weights[0] + weights[1]
    return x


WEIGHTS = np.linspace(0.0, 1.0, 4)


@case(lambda count, size: vector(count, 4))
def globals_inside(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = x * WEIGHTS + WEIGHTS[::-1]
    return x


@case(lambda count, size: (lambda x: (x, x, count))(rng(size).random(size)), overlaps=True)
def the_same_array_twice(a, b, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        a = b * 0.5 + a
        b[0] = a[1]
    return a, b


@case(lambda count, size: (lambda x: (x[1:], x[:-1], count))(rng(size).random(size + 1)), overlaps=True)
def overlapping_arrays(a, b, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        a[...] = b * 0.5 + i
        a, b = b, a
    return a, b


@case(lambda count, size: (rng(size).random((size, size))[:, ::-1].T, count))
def odd_layout(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = x * 0.5 + 1.0
    return x


@case(lambda count, size: (rng(size).random((1, size)), rng(1).random((size, 1)), count))
def broadcast(a, b, n):  # type: ignore[no-untyped-def]
    c = a + b
    for _ in range(n):
        c = c * a + b
    return c


@case(vector)
def nothing_happens(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        pass
    return x + 1.0


@case(vector)
def only_reads(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x * i
    return x


@case(lambda count, size: (rng(size).random(size) * 1e200, count))
def overflow_warns_in_plain_python_only(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = x * 0.5
    return x


@case(vector, versions=2)
def broken_off_after(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = x * 0.5 + i
    print(n)
    return x * 2.0


@case(vector, versions=2)
def broken_off_before(x, n):  # type: ignore[no-untyped-def]
    x = x + 1.0
    print(n)
    for i in range(n):
        x = x * 0.5 + i
    return x


@case(vector)
def else_clause(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = x * 0.5 + i
    else:
        x = x + 100.0
    return x


@case(vector)
def branch_on_an_argument(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        if x.shape[0] > 100:
            continue
        x = x * 0.5 + i
    return x


# -- what falls back -------------------------------------------------------------------------------


@case(vector, plain=True)
def prints(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = x * 0.5 + i
        print(i)
    return x


@case(vector)
def data_dependent(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        if x[0] > 0.5:
            x = x * 0.5
        x = x + i
    return x


@case(vector)
def breaks(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = x * 0.5 + 1.0
        if i == 4:
            break
    return x


@case(vector, plain=True)
def returns(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = x * 0.5 + i
        return x
    return x - 1.0


@case(vector)
def appends(x, n):  # type: ignore[no-untyped-def]
    seen = []
    for i in range(n):
        x = x * 0.5 + i
        seen.append(x)
    return seen


@case(vector, versions=2)
def fills_a_dict(x, n):  # type: ignore[no-untyped-def]
    seen = {}
    for i in range(n):
        x = x * 0.5 + i
        seen["last"] = x
    return seen


@case(vector)
def changes_a_cell(x, n):  # type: ignore[no-untyped-def]
    def f():  # type: ignore[no-untyped-def]
        return x + 1.0

    for i in range(n):
        x = x * 0.5 + i
    return f()


@case(vector, plain=True)
def takes_from_an_iterator(x, n):  # type: ignore[no-untyped-def]
    others = iter((1.0, 2.0, 3.0))
    for i in range(n):
        for other in others:
            x = x + other
        x = x * 0.5 + i
    return x


@case(vector)
def grows(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = np.concatenate([x, x[:2]])
    return x


@case(vector, plain=True)
def alternates_types(x, n):  # type: ignore[no-untyped-def]
    y = x.astype("f4")
    for _ in range(n):
        x, y = y, x
    return x, y


@case(vector)
def parity(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = x + 1.0 if i % 2 else x * 0.5
    return x


@case(vector)
def tried(x, n):  # type: ignore[no-untyped-def]
    try:
        for i in range(n):
            x = x * 0.5 + i
    except ValueError:
        x = x + 1.0
    return x


@case(vector, plain=True)
def compares_identity(x, n):  # type: ignore[no-untyped-def]
    y = x
    for _ in range(n):
        if y is x:
            x = x + 1.0
    return x


@case(vector, plain=True, counts=(3, 5, 40))  # of one iteration more is known
def squeezed(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        if x[: i % 2 + 1].squeeze().ndim:
            x = x + 1.0
    return x


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_program(name: str, backend: str) -> None:
    check(CASES[name], backend)

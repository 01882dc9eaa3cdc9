"""Lists that loops append to: what is in them, which objects these are, and the programs that stay segments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, check, loops_in, loops_left, matrix, registry, rng, two, vector

CASES, case = registry()


# -- arrays ------------------------------------------------------------------------------------------


@case(vector)
def history(x: Any, n: int) -> Any:
    out = []
    for _ in range(n):
        x = x * 0.5 + 1.0
        out.append(x)
    return out, x


@case(vector)
def copies(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        x[:] = x * 0.5 + i
        out.append(x.copy())
    return out


@case(vector)
def one_array_again_and_again(x: Any, n: int) -> Any:
    out = []
    y = x + 1.0
    for _ in range(n):
        y += 1.0
        out.append(y)
    return out, y


@case(vector)
def argument_again_and_again(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        x += i
        out.append(x)
    return out


@case(vector)
def filled_before_and_behind(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        row = np.zeros(x.shape[0])
        row[0] = i
        out.append(row)
        row[1:] = x[1:] * i
    return out


@case(matrix)
def rows(x: Any, n: int) -> Any:
    out = []
    for i in range(x.shape[0]):
        out.append(x[i])
    return out


@case(matrix)
def the_same_row(x: Any, n: int) -> Any:
    out = []
    for _ in range(n):
        out.append(x[1])
    return out


@case(matrix)
def row_and_what_it_becomes(x: Any, n: int) -> Any:
    out = []
    for i in range(x.shape[0]):
        row = x[i]
        out.append(row)
        row += 1.0
        out.append(row * 2)
    return out, x


@case(matrix)
def fortran_order(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        out.append(x.T * i)
        out.append((x + x.T)[::-1])
    return out


@case(two)
def two_lists(x: Any, y: Any, n: int) -> Any:
    xs, ys = [], []
    for _ in range(n):
        x, y = y * 0.5, x + y
        xs.append(x)
        ys.append(y)
        xs.append(y)
    return xs, ys, x, y


@case(vector)
def one_array_twice(x: Any, n: int) -> Any:
    out, other = [], []
    for i in range(n):
        y = x + i
        out.append(y)
        other.append(y)
        out.append(x + i)
    return out, other


@case(vector)
def begun_before(x: Any, n: int) -> Any:
    out = [x, None, "text", 3]
    for _ in range(n):
        x = x * 0.5
        out.append(x)
    return out


@case(vector, versions=3)
def arrays_are_an_array_afterwards(x: Any, n: int) -> Any:
    out = [x]
    for _ in range(n):
        x = x * 0.5 + 1.0
        out.append(x)
    return np.array(out).sum(axis=0) * 2


@case(vector, loops=2)
def two_loops(x: Any, n: int) -> Any:
    out = []
    for _ in range(n):
        x = x * 0.5
        out.append(x)
    for i in range(n):
        x = x + i
        out.append(x)
    return out


@case(vector)
def appended_behind(x: Any, n: int) -> Any:
    out = []
    for _ in range(n):
        x = x * 0.5
        out.append(x)
    out.append(x)
    out.append(x + 1.0)
    return out


@case(matrix, loops=2)
def from_the_inner_loop(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        for j in range(x.shape[0]):
            out.append(x[j] * i)
        out.append(x[0])
    return out


@case(matrix, loops=2)
def lists_of_lists(x: Any, n: int) -> Any:
    table = []
    for i in range(x.shape[0]):
        row = []
        for j in range(x.shape[1]):
            row.append(x[i, j] * n)
        table.append(row)
    return table


def stepped(x: Any, out: list[Any]) -> Any:
    x = x * 0.5
    out.append(x)
    return x


@case(vector)
def by_a_function(x: Any, n: int) -> Any:
    out: list[Any] = []
    for _ in range(n):
        x = stepped(x, out)
    return out


@case(vector)
def in_a_dict(x: Any, n: int) -> Any:
    found: dict[str, list[Any]] = {"x": [], "sum": []}
    for _ in range(n):
        x = x * 0.5
        found["x"].append(x)
        found["sum"].append(x.sum())
    return found


@case(vector)
def under_two_names(x: Any, n: int) -> Any:
    out: list[Any] = []
    other = out
    for _ in range(n):
        x = x * 0.5
        out.append(x)
        other.append(x)
    return out, other, out is other


@case(vector)
def only_sometimes(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        x = x * 0.5 + i
        if i % 3 == 1:
            out.append(x)
    return out


@case(vector)
def where_data_says(x: Any, n: int) -> Any:
    out, low = [], []
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            out.append(x[i])
        else:
            low.append(x[i])
    return out, low


@case(vector, declines=True)  # where no iteration is entered
def until(x: Any, n: int) -> Any:
    out = []
    while x.sum() > 0.1 * n:
        x = x * 0.5
        out.append(x)
    return out


@case(vector)
def left_early(x: Any, n: int) -> Any:
    out = []
    for _ in range(n):
        x = x * 0.5
        if x.sum() < 0.3:
            break
        out.append(x)
    return out, x


# -- lists from outside ------------------------------------------------------------------------------


@case(lambda count, size: (rng(size).random(size), count, [1, "text"]))
def an_argument(x: Any, n: int, out: list[Any]) -> Any:
    for _ in range(n):
        x = x * 0.5
        out.append(x)
    return x


@case(lambda count, size: (rng(size).random(size), count, [1, "text"]))
def an_argument_returned(x: Any, n: int, out: list[Any]) -> Any:
    for i in range(n):
        out.append(x * i)
        out.append(i / 7)
    return out


@case(lambda count, size: (rng(size).random(size), count, [], []))
def two_arguments(x: Any, n: int, xs: list[Any], ys: list[Any]) -> Any:
    for i in range(n):
        x = x * 0.5
        xs.append(x)
        if i % 2:
            ys.append(x)
    return x, xs, ys


@case(lambda count, size: (rng(size).random(size), count, {"x": [0.0]}))
def in_a_dict_from_outside(x: Any, n: int, found: dict[str, list[Any]]) -> Any:
    for _ in range(n):
        x = x * 0.5
        found["x"].append(x)
    return found


@case(lambda count, size: (rng(size).random(size), count, []), loops=2)
def argument_in_two_loops(x: Any, n: int, out: list[Any]) -> Any:
    append = out.append
    for i in range(n):
        append(x)
        for j in range(n):
            append(x * (i + j))
    return 3


class Model:
    def __init__(self, x: Any) -> None:
        self.x = x
        self.history: list[Any] = []


@case(lambda count, size: (Model(rng(size).random(size)), count))
def attribute(model: Any, n: int) -> Any:
    x = model.x
    for _ in range(n):
        x = x * 0.5
        model.history.append(x)
    return x.sum()


@case(lambda count, size: (rng(size).random(size), count, [1.0, 2.0]), plain=True)
def argument_that_is_read(x: Any, n: int, out: list[Any]) -> Any:
    x = x + len(out)
    for _ in range(n):
        x = x * 0.5
        out.append(x)
    return x


# -- numbers -----------------------------------------------------------------------------------------


@case(lambda count, size: (rng(size).random((count + 2, size)),))
def sums(x: Any) -> Any:
    out = []
    for i in range(x.shape[0]):
        out.append(x[i].sum())
    return out


@case(lambda count, size: (rng(size).random(count + 2),))
def elements(x: Any) -> Any:
    out = []
    for i in range(x.shape[0]):
        out.append(x[i] * 2)
        out.append(x[i])
    return out


@case(lambda count, size: (rng(size).random(count + 2),))
def running_sum(x: Any) -> Any:
    out = []
    total = np.float64(0.0)
    for i in range(x.shape[0]):
        total = total + x[i]
        out.append(total)
    return out, total


@case(lambda count, size: (rng(size).random(count + 2),))
def running_sum_that_begins(x: Any) -> Any:
    total = np.float64(0.0)
    out = [total]
    for i in range(x.shape[0]):
        out.append(total)
        total = total + x[i]
    return out, total


@case(lambda count, size: (rng(size).random(count + 2),))
def only_the_largest(x: Any) -> Any:
    out = []
    best = np.float64(0.0)
    for i in range(x.shape[0]):
        if x[i] > best:
            best = x[i]
        out.append(best)
    return out, best


@case(vector)
def python_numbers(x: Any, n: int) -> Any:
    ints, floats, bools = [], [], []
    for i in range(n):
        ints.append(i * i * 1000)
        floats.append(i / 3)
        bools.append(i % 2 == 0)
        x = x + i
    return ints, floats, bools, x


@case(vector)
def constants(x: Any, n: int) -> Any:
    out = []
    for _ in range(n):
        x = x * 0.5
        out.append(0.25)
        out.append(1 << 20)
        out.append(True)
    return out, x


@case(vector)
def indices(x: Any, n: int) -> Any:
    out = []
    for i in range(1000, 1000 + n):
        out.append(i)
        x = x + i
    return out, x


@case(vector)
def time_steps(x: Any, n: int) -> Any:
    t = 0.0
    out = []
    for _ in range(n):
        out.append(t)
        x = x + t
        t += 0.1
    return out, x


@case(vector)
def time_steps_behind(x: Any, n: int) -> Any:
    t = 0.0
    out = []
    for _ in range(n):
        t += 0.1
        out.append(t)
        x = x + t
    return out, x


@case(lambda count, size: (rng(size).random(count + 2), 12.5))
def numbers_and_data(x: Any, limit: float) -> Any:
    out = []
    total = 0.0
    for i in range(x.shape[0]):
        total += float(x[i])
        if total > limit:
            total = total - limit
        out.append(total / 2)
    return out


# -- the last item and the length --------------------------------------------------------------------


@case(vector)
def last_item(x: Any, n: int) -> Any:
    out = [x]
    for _ in range(n):
        out.append(out[-1] * 0.5)
    return out


@case(vector)
def its_length(x: Any, n: int) -> Any:
    out: list[Any] = []
    for _ in range(n):
        x = x + len(out)
        out.append(x)
    return out


@case(vector)
def last_item_under_another_name(x: Any, n: int) -> Any:
    out = [x]
    other = {"list": out}
    for _ in range(n):
        x = out[-1] * 0.5
        other["list"].append(x)
        x = other["list"][-1] + len(out)
        out.append(x)
    return out, x


@case(vector)
def last_item_of_two_lists(x: Any, n: int) -> Any:
    xs, ys = [x], [x + 1.0]
    for _ in range(n):
        xs.append(ys[-1])
        ys.append(xs[-1] + xs[-2 + 1] * 0.5)
    return xs, ys


@case(vector)
def last_item_written(x: Any, n: int) -> Any:
    out = [x]
    for i in range(n):
        out.append(out[-1] * 0.5)
        out[-1][0] = i
    return out


@case(vector)
def last_item_written_in_the_next_iteration(x: Any, n: int) -> Any:
    out = [x]
    for i in range(n):
        out[-1][1:] = i
        out.append(out[-1] + 1.0)
    return out, x


@case(vector)
def last_item_is_the_same_again(x: Any, n: int) -> Any:
    out = [x]
    for _ in range(n):
        y = out[-1]
        y += 1.0
        out.append(y)
    return out


def extended(out: list[Any], by: float) -> Any:
    out.append(out[-1] * by)
    return out[-1]


@case(vector)
def last_item_by_a_function(x: Any, n: int) -> Any:
    out = [x]
    for i in range(n):
        x = extended(out, 0.5) + i
        extended(out, 0.25)
    return out, x


@case(vector, loops=2, counts=(3, 1, 2, 5, 40))
def last_item_in_the_inner_loop(x: Any, n: int) -> Any:
    out = [x]
    for i in range(n):
        for j in range(n):
            out.append(out[-1] * 0.5 + j)
        out.append(out[-1] + len(out))
        x = x + i
    return out, x


@case(vector, versions=2)
def last_item_only_sometimes(x: Any, n: int) -> Any:
    out = [x]
    for i in range(n):
        if i % 3 == 1:
            out.append(out[-1] + len(out))
        x = x + out[-1]
    return out, x


@case(vector)
def last_scalar_where_data_says(x: Any, n: int) -> Any:
    out = [x[0]]
    for i in range(x.shape[0]):
        if x[i] > out[-1]:
            out.append(x[i] * n)
    return out


@case(vector, versions=2)
def until_there_are_enough(x: Any, n: int) -> Any:
    out = [x]
    while len(out) <= n:
        out.append(out[-1] * 0.5)
    return out


@case(vector, versions=2)
def until_it_is_long(x: Any, n: int) -> Any:
    out: list[Any] = []
    for i in range(n):
        x = x * 0.5 + i
        if len(out) > 3:
            break
        out.append(x)
    return out, x


@case(vector)
def last_number(x: Any, n: int) -> Any:
    times, counts = [0.0], [1000]
    for _ in range(n):
        times.append(times[-1] + 0.1)
        counts.append(counts[-1] + 1000)
        x = x + times[-1] * counts[-1]
    return times, counts, x


@case(vector, versions=2)
def last_number_that_lives_on(x: Any, n: int) -> Any:
    times, t = [1.5], 0.0
    for _ in range(n):
        t = times[-1]
        times.append(t * 1.5)
        x = x + t
    return times, t, x


@case(vector)
def last_number_twice(x: Any, n: int) -> Any:
    times, others = [1.5], [2.5]
    for _ in range(n):
        others.append(times[-1])
        times.append(times[-1] * 1.5)
        x = x + times[-1]
    return times, others, x


@case(vector, plain=True)
def last_item_and_others(x: Any, n: int) -> Any:
    out = [x]
    for _ in range(n):
        out.append(out[-1] + out[0])
    return out


@case(vector, plain=True)
def last_item_of_another_kind(x: Any, n: int) -> Any:
    out: list[Any] = [x]
    for i in range(n):
        x = x + len(out[-1])
        out.append((i, x))
    return out


@case(vector, plain=True)
def last_item_taken_off(x: Any, n: int) -> Any:
    out = [x]
    for _ in range(n):
        out.append(out[-1] * 0.5)
        out.append(out[-1] + 1.0)
        x = out.pop()
    return out, x


class Noted(list):  # type: ignore[type-arg]
    """A list that looks at what it gets."""

    def append(self, item: Any) -> None:
        super().append(item + 1.0)

    def __len__(self) -> int:
        return super().__len__() * 2


@case(lambda count, size: (rng(size).random(size), count, Noted), plain=True)
def last_item_of_a_subclass(x: Any, n: int, kind: Any) -> Any:
    out = kind([x])
    for _ in range(n):
        out.append(out[-1] * len(out))
    return list(out)


def comprehension(x: Any, n: int) -> Any:
    return [x * i for i in range(n)]


# -- numbers that something else holds, too ---------------------------------------------------------


@case(vector)
def a_number_in_two_lists(x: Any, n: int) -> Any:
    out, other = [], []
    for i in range(n):
        number = i * 1000.5
        out.append(number)
        other.append(number)
        x = x + number
    return out, other, x


@case(vector)
def a_number_of_the_iteration_before(x: Any, n: int) -> Any:
    out, other = [], []
    number = last = 0.5
    for i in range(n):
        other.append(last)
        last = number
        number = number + i
        out.append(number)
        x = x + number
    return out, other, x


@case(vector)
def a_number_that_is_one_from_before(x: Any, n: int) -> Any:
    out = []
    number, other = 0.75, 2.0
    for i in range(n):
        out.append(number)
        number = number * 0.5 if i % 2 else other
        x = x + number
    return out, x


@case(vector, versions=2)
def a_number_that_lives_on(x: Any, n: int) -> Any:
    out: list[Any] = []
    number = 0.0
    for i in range(n):
        number = number + i
        out.append(number)
        x = x + number
    return out, number, x


@case(lambda count, size: (rng(size).random(size), count, 1234.5))
def a_number_from_outside(x: Any, n: int, t: float) -> Any:
    out = []
    for _ in range(n):
        out.append(t)
        t = t + 1.0
        x = x + t
    return out, x


# -- what stays segments, and why --------------------------------------------------------------------


@case(vector, plain=True)
def through_an_iterator(x: Any, n: int) -> Any:
    out = [x]
    items = iter(out)
    for _ in range(n):
        x = next(items) * 0.5
        out.append(x)
    return out


@case(vector, plain=True)
def an_item_changes(x: Any, n: int) -> Any:
    out = [x]
    for _ in range(n):
        x = x * 0.5
        out[0] = x
        out.append(x)
    return out


@case(vector)
def tuples(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        x = x * 0.5
        out.append((i * 1000, x, 0.25))
        out.append([x[1:], x.sum()])
        out.append([])
    return out, x


@case(vector, plain=True)
def a_tuple_that_lives_on(x: Any, n: int) -> Any:
    out, pair = [], None
    for _ in range(n):
        x = x * 0.5
        pair = (x, x + 1.0)
        out.append(pair)
    return out, x, pair


@case(vector)
def a_tuple_under_a_name_that_nobody_reads(x: Any, n: int) -> Any:
    out = []
    for _ in range(n):
        x = x * 0.5
        pair = (x, x + 1.0)
        out.append(pair)
    return out, x


@case(vector, plain=True)
def a_tuple_in_two_lists(x: Any, n: int) -> Any:
    out, other = [], []
    for _ in range(n):
        x = x * 0.5
        pair = [x, x + 1.0]
        out.append(pair)
        other.append(pair)
    return out, other


@case(vector, versions=2)
def a_constant_beside_a_number_of_two_kinds(x: Any, n: int) -> Any:
    total, t, out = 0.0, 0.0, []
    for i in range(n):
        out.append(t)
        for j in range(3):
            t = 0.5
            if x[0] * j > 0.4:
                total += np.sqrt(abs(x[-1]) + i)
    return total, t, out


@case(vector, plain=True)
def nested_tuples(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        x = x * 0.5
        out.append((i, (x, "text")))
    return out


@case(vector, plain=True)
def itself(x: Any, n: int) -> Any:
    out: list[Any] = []
    for i in range(n):
        x = x * i
        out.append(out)
    return out, x


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_program(name: str, backend: str) -> None:
    check(CASES[name], backend)


# -- which objects -----------------------------------------------------------------------------------


def objects(value: Any) -> list[Any]:
    """All objects in a result, in order."""
    if isinstance(value, list | tuple):
        return [value, *(item for part in value if part is not value for item in objects(part))]
    return objects(list(value.values())) if isinstance(value, dict) else [value]


def require_same_objects(plain: Any, compiled: Any) -> None:
    """Of each object which one before it is the same; of arrays, which one is the base. Numbers that capture knows may
    be one object where plain Python computes them several times."""
    places: tuple[dict[int, int], dict[int, int]] = {}, {}
    for place, pair in enumerate(zip(objects(plain), objects(compiled), strict=True)):
        bases = [one.base for one in pair if isinstance(one, np.ndarray)]
        first, second = (known.setdefault(id(one), place) for known, one in zip(places, pair, strict=True))
        known = type(pair[0]) in (int, float) and first == place
        assert first == second or known, f"object {place} of {pair}: {first} in plain Python, {second} compiled"
        assert len(bases) != 1 and (not bases or (bases[0] is None) == (bases[1] is None)), f"{place}: {pair}"
        if bases and bases[0] is not None:
            shown = [known.setdefault(id(base), place) for known, base in zip(places, bases, strict=True)]
            assert shown[0] == shown[1], f"base of object {place} of {pair}: {shown}"


# Plain loops that look into a list in each iteration: a version for each length, until there are too many.
LOOK_INSIDE = {
    *("last_item_and_others", "last_item_of_another_kind", "last_item_taken_off"),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", [name for name in CASES if name not in LOOK_INSIDE])
def test_the_objects_are_those_of_plain_python(name: str, backend: str) -> None:
    one = CASES[name]
    fast = dynamo_lite.compile(one.fn, backend=backend, options=OPTIONS)
    for count in (3, 5, 1, 40, 0):
        args = one.args(count, 6)
        plain, expected = one.fn(*one.args(count, 6)), fast(*args)
        del args
        require_same_objects(plain, expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_list_comprehension(backend: str) -> None:
    require_equal(
        comprehension,
        lambda: vector(3, 6),
        variants=[lambda n=n: vector(n, 4) for n in (0, 1, 2, 50)],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )


def read_behind(x: Any, n: int, out: list[Any], other: list[Any]) -> Any:
    for _ in range(n):
        x = x * 0.5
        out.append(x)
    return x * len(out), len(other), other


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [read_behind, two_arguments])
def test_one_list_as_two_arguments(fn: Any, backend: str) -> None:
    """The first call is with two lists, later ones with one; and the other way round."""

    def apart() -> list[Any]:
        return [np.arange(4.0), 3, [1, 2], [3]]

    def together() -> list[Any]:
        both = [1, 2]
        return [np.arange(4.0), 3, both, both]

    for first, second in ((apart, together), (together, apart)):
        require_equal(
            fn,
            first,
            variants=[second, first],
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": OPTIONS},
        )


def gathered(x: Any, n: int) -> Any:
    out: list[Any] = []
    for i in range(n):
        x = x * 2.0 + x[i]
        out.append(x)
    return out


def gathered_outside(x: Any, n: int, out: list[Any]) -> Any:
    for i in range(n):
        x = x * 2.0 + x[i]
        out.append(x)
    return x


def gathered_from_the_last(x: Any, n: int) -> Any:
    out, sums = [x], [0.0]
    for i in range(n):
        out.append(out[-1] * 2.0 + x[i])
        sums.append(sums[-1] + len(out))
    return out, sums


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("fn", "lists"), [(gathered, 0), (gathered_outside, 1), (gathered_from_the_last, 0)])
def test_an_error_half_way(fn: Any, lists: int, backend: str) -> None:
    """The index is out of range at the seventh iteration, or the sum overflows."""
    big = np.array([1.0, 1e308, 2.0, 3.0, 4.0, 5.0, 6.0])
    calls = [(np.arange(7.0), 5), (np.arange(7.0), 9), (big, 6), (big, 12)]
    first, *rest = [lambda x=x, n=n: [x.copy(), n, *([] for _ in range(lists))] for x, n in calls]  # type: ignore[misc]
    require_equal(
        fn,
        first,
        variants=rest,
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )


LEFT = ("last_item", "last_item_written_in_the_next_iteration", "last_item_only_sometimes", "last_number", "its_length")


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("name", LEFT)
def test_a_list_of_known_ends_is_left_half_way(name: str, every: int) -> None:
    fn = CASES[name].fn
    fast = dynamo_lite.compile(fn, options={**OPTIONS, "recompile_limit": 100})
    with loops_left(every):
        for n in (7, 12, 7):
            plain, compiled = fn(np.arange(4.0), n), fast(np.arange(4.0), n)
            require_same_objects(plain, compiled)
            assert repr(plain) == repr(compiled)
    assert fast.stats()["leaves"]


def test_the_list_is_of_the_graph() -> None:
    fast = dynamo_lite.compile(history, options=OPTIONS)
    fast(np.arange(4.0), 9)
    (segment,) = fast._compilation.segments  # type: ignore[attr-defined]
    text = str(segment.capture.graph)
    assert loops_in(segment.capture.graph) == 1 and "new_container(kind=list)" in text and "append(" in text


def sets_again_what_it_appended(x: Any, z: Any, n: int) -> Any:
    kept = [z]
    for _ in range(n):
        kept.append(z)
        for j in range(30):
            kept[-1] = x[::-1] if n % 2 else x * j
    return kept


@pytest.mark.parametrize("n", [1, 2, 5, 50])
def test_a_list_that_had_more_items_in_an_earlier_attempt(n: int) -> None:
    require_equal(
        sets_again_what_it_appended,
        lambda: (np.arange(3.0), np.ones(3), n),
        compile=dynamo_lite.compile,
        compile_options={"options": {"check": 1, "cost_model": False}},
    )

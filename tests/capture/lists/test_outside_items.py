"""Items of lists, tuples and dicts from outside under numbers of the call: one entry for all of them."""

from __future__ import annotations

import contextlib
import copy
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite

OPTIONS = {"cost_model": False}


class Layer:
    def __init__(self, n: int, seed: int) -> None:
        self.weights = np.random.default_rng(seed).standard_normal((n, n))

    def forward(self, x: Any) -> Any:
        return np.tanh(self.weights @ x)


def arrays(n: int, size: int = 6) -> list[Any]:
    return [np.random.default_rng(seed).standard_normal(size) for seed in range(n)]


def one(items: Any, k: int) -> Any:
    return items[k] * 2.0 + 1.0


def neighbours(items: Any, k: int) -> Any:
    return items[k - 1] * 2.0 + items[k + 1], items[1 + k]


def parts(pairs: Any, k: int) -> Any:
    x, (y, factor) = pairs[k]
    return x * factor + y


def attribute(layers: Any, k: int) -> Any:
    return layers[k].forward(layers[0].weights[0]) * 2.0


def of_arrays(rows: Any, k: int) -> Any:
    return rows[k][0] + rows[k - 2][1] * 0.5


def kept(items: Any, k: int) -> Any:
    taken = items[k]
    items[k] = taken * 2.0
    items.append(items.pop(0))
    k += 1
    return taken + items[k]


def stored(items: Any, k: int) -> Any:
    items[k][:] = items[k - 1] * 0.5 + items[k]
    items[k - 1] += 1.0
    return items[k] + items[k - 1]


def printed(items: Any, k: int) -> Any:
    x = items[k] * 2.0
    print(end="")
    return x + items[k], items[k - 1]


def backwards(items: Any, n: int) -> Any:
    total = items[0] * 0.0
    for k in reversed(range(n)):
        total = np.tanh(total + items[k + 1]) * items[k]
        print(end="")
    return total


def grown(items: Any, n: int) -> Any:
    for k in range(n):
        items.append(np.tanh(items[k] * 0.5 + items[k // 2]))
        print(end="")
    return items


CASES: list[tuple[Callable[..., Any], Any, list[int]]] = [
    (one, arrays(12), [3, 4, 0, -1, 11, -12]),
    (one, tuple(arrays(12)), [3, 4, 0, -1, 11, -12]),
    (one, dict(enumerate(arrays(12))), [3, 4, 0, 11]),
    (neighbours, arrays(12), [3, 4, 1, 0, -2]),
    (neighbours, dict(enumerate(arrays(12))), [3, 4, 1, 10]),
    (parts, [(x, (x + 1.0, 0.5)) for x in arrays(12)], [3, 4, 1, 0, -2]),
    (attribute, [Layer(4, seed) for seed in range(12)], [3, 4, 1, 0, -2]),
    (of_arrays, [arrays(2) for _ in range(12)], [3, 4, 1, 0, -2]),
    (kept, arrays(12), [3, 4, 1, 0]),
    (stored, arrays(12), [3, 4, 1, 0, -2]),
    (printed, arrays(12), [3, 4, 1, 0, -2]),
    (backwards, arrays(12), [9, 10, 5]),
]


def text(value: Any) -> str:
    with np.printoptions(precision=17):
        return repr(value)


def assert_same(fn: Any, fast: Any, items: Any, k: int) -> None:
    theirs, ours = copy.deepcopy(items), copy.deepcopy(items)
    assert text(fast(ours, k)) == text(fn(theirs, k))
    assert fn is attribute or text(ours) == text(theirs)


@pytest.mark.parametrize("fn, items, numbers", CASES)
def test_one_entry_serves_all_items(fn: Any, items: Any, numbers: list[int]) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    for k in (*numbers, *numbers):
        assert_same(fn, fast, items, k)
    # NB: where two names are one object in some calls, as items[-1] is the item after items[10], these have their own.
    assert fast.stats()["recompiles"] <= 2
    assert fast.stats()["native_calls"] >= len(numbers)


def test_a_list_that_grows() -> None:
    fast = dynamo_lite.compile(grown, options=OPTIONS)
    for n in (3, 30):
        assert_same(grown, fast, arrays(4), n)


def test_items_of_other_kinds_have_entries_of_their_own() -> None:
    fast = dynamo_lite.compile(one, options=OPTIONS)
    other = [np.float32(2), 3.0, 2, True, np.arange(6.0).reshape(2, 3), 1j]
    items = [np.arange(4.0), np.arange(4), *other, np.arange(5.0)]
    for k in (0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 8):
        assert_same(one, fast, items, k)
    with pytest.raises(IndexError):
        fast(items, 9)
    with pytest.raises(TypeError):
        fast([*items, "a"], 9)
    assert_same(one, fast, [np.ma.masked_array([1.0, 2.0], [True, False])] * 3, 1)


def test_an_item_that_is_stored_to_by_another_name() -> None:
    def both(items: Any, x: Any, k: int) -> Any:
        x[:] = x + 1.0
        return items[k] * 2.0

    fast = dynamo_lite.compile(both, options=OPTIONS)
    for k in (1, 2, 3, 3, 1):
        theirs, ours = arrays(5), arrays(5)
        assert fast(ours, ours[3], k).tobytes() == both(theirs, theirs[3], k).tobytes()
        assert repr(ours) == repr(theirs)


def under_length(items: Any, numbers: Any, k: int) -> Any:
    x = items[len(numbers)]
    for i in range(k):
        numbers.append(numbers[i] + 1)
        numbers[0] = 5
    return x, x * 2.0, items[len(numbers) - 2 * k]


def under_an_item(items: Any, numbers: Any, k: int) -> Any:
    x = items[numbers[0]]
    for i in range(k):
        numbers.append(numbers[i] + 1)
        numbers[0] = 5
    return x, x * 2.0, items[numbers[1]]


@pytest.mark.parametrize("fn", [under_length, under_an_item])
def test_numbers_of_lists_that_the_program_changes(fn: Any) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    for numbers in ([1, 2, 3, 4], [2, 1, 1, 1, 4], [1, 2, 3]):
        assert text(fast(arrays(9), list(numbers), 3)) == text(fn(arrays(9), list(numbers), 3))
    assert fast.stats()["plain_calls"] == 0


def replaced(items: Any, key: Any, n: int) -> Any:
    x, total = items[key], 0.0
    for _ in range(n):
        items[0] = items[1] * 2.0
        total = total + items[key]
    return x, total, items[key], items[0]


def replaced_after(items: Any, key: Any, n: int) -> Any:
    total = 0.0
    for _ in range(n):
        total = total + items[key]
        items[0] = items[1]
    return total, items[key]


def exchanged(items: Any, key: Any, n: int) -> Any:
    total = 0.0
    for _ in range(n):
        items[0], items[1] = items[1], items[0]
        total = total + items[key] * 0.5
    return total, items[key]


@pytest.mark.parametrize("fn", [replaced, replaced_after, exchanged])
@pytest.mark.parametrize("make", [list, tuple, lambda held: dict(enumerate(held))])
def test_items_that_a_loop_replaces(fn: Any, make: Any) -> None:
    def observed(call: Any, key: int) -> Any:
        items = make(arrays(5))
        try:
            found = call(items, key, 3)
        except TypeError as error:
            return str(error)
        return text(found), [any(one is other for other in dict(enumerate(items)).values()) for one in found]

    fast = dynamo_lite.compile(fn, options=OPTIONS)
    for key in (2, 3, 1, 0, 2):
        assert observed(fast, key) == observed(fn, key)


def replaced_by_text(items: Any, key: str) -> Any:
    for _ in range(3):
        items["a"] = items["b"] * 2.0
    return items[key] * 1.0


def test_a_key_under_which_something_is_stored() -> None:
    fast = dynamo_lite.compile(replaced_by_text, options=OPTIONS)
    for key in "cdabc":
        theirs, ours = (dict(zip("abcd", arrays(4), strict=True)) for _ in range(2))
        assert text(fast(ours, key)) == text(replaced_by_text(theirs, key))


def filled(items: Any, others: Any, k: int) -> Any:
    x, i = items[k], 0
    while i < 4:
        others[i] = x * i
        i += 1
    return items[k], x, items[i - 1] * 2.0


def scaled(items: Any, others: Any, k: int) -> Any:
    x = items[k] * 1.0
    for i in range(len(others)):
        others[i] = others[i] * x
    return items[k], x


def numbered(items: Any, others: Any, k: int) -> Any:
    x = items[k]
    for i in range(1, k + 1):
        others[i] = others[i - 1] * 0.5
    return x, x * 2.0, others[0]


def longer(items: Any, others: Any, k: int) -> Any:
    x = items[k - 6]
    for i in range(k):
        others.append(others[i % 2] * 0.5)
    return x, x * 2.0, others[0]


def numbered_beside(items: Any, others: Any, k: int) -> Any:
    x = items[4]
    for i in range(1, k + 1):
        others[i] = others[i - 1] * 0.5
    return x, x * 2.0, others[0]


def summed(items: Any, others: Any, k: int) -> Any:
    total = others[1]
    for _ in range(k):
        items[0] = total + 1.0
        total += sum(others)
    return total, items[4]


@pytest.mark.parametrize("fn", [filled, scaled, numbered, longer, numbered_beside, summed])
def test_two_names_of_one_list(fn: Any) -> None:
    def observed(call: Any, k: int, is_one: bool) -> Any:
        numbers: list[Any] = [0.5 + i for i in range(6)]
        held: Any = arrays(6) if fn in (filled, scaled) else [*numbers[:4], *arrays(2)]
        others: Any = arrays(6) if fn in (filled, scaled) else numbers
        if is_one:
            held = others = numbers if fn is summed else held
        found = call(held, others, k)
        return text(found), text(held), text(others), [any(one is item for item in held) for one in found]

    fast = dynamo_lite.compile(fn, options=OPTIONS)
    for is_one in (False, True, False):
        for k in (4, 5, 3, 2):
            assert observed(fast, k, is_one) == observed(fn, k, is_one)


def test_numbers_that_are_no_python_ints() -> None:
    fast = dynamo_lite.compile(neighbours, options=OPTIONS)
    for k in (np.int64(3), True, 2**70, np.int32(4), 3):
        try:
            wanted: Any = neighbours(arrays(8), k)  # type: ignore[arg-type]
        except Exception as error:
            wanted = error
        if isinstance(wanted, Exception):
            with pytest.raises(type(wanted)):
                fast(arrays(8), k)
        else:
            assert repr(fast(arrays(8), k)) == repr(wanted)


def test_explain_names_the_item() -> None:
    found = str(dynamo_lite.explain(neighbours, options=OPTIONS)(arrays(12), 3))
    assert "items[k - 1] is an aligned float64 array" in found
    assert "items[k + 1] is an aligned float64 array" in found
    assert "k == " not in found


def test_a_list_that_grows_is_compiled_for_once() -> None:
    def grows(x: Any, n: int, out: Any) -> Any:
        made = [x]
        for t in range(n):
            made.append(np.tanh(made[t] * 0.5))
            out.write("")  # a break in each iteration, whose resume functions have the list from outside
        return made

    class Out:
        write = staticmethod(print)

    with contextlib.redirect_stdout(io.StringIO()):
        fast = dynamo_lite.compile(grows, options=OPTIONS)
        for n in (1, 5, 9):
            found, expected = fast(np.ones(6), n, Out), grows(np.ones(6), n, Out)
            assert [one.tobytes() for one in found] == [one.tobytes() for one in expected]
    assert not [one.reason for one in fast.explain().compiles if "length" in one.reason]


def number(x: Any, items: Any, k: int) -> Any:
    return x * items[k] + 1.0


def place(x: Any, items: Any, k: int) -> Any:
    y = np.copy(x)
    y[items[k]] -= 1.0
    return y * 2.0 + x[items[k - 1]]


def pair(x: Any, items: Any, k: int) -> Any:
    factor, addend = items[k]
    return x * factor + addend


def size(x: Any, items: Any, k: int) -> Any:
    return np.zeros(items[k]) + x[0], len(items)


def changed(x: Any, items: Any, k: int) -> Any:
    before = items[k]
    items[k] = before + 1
    return x * before + items[k] + items[k - 1]


NUMBERS: list[tuple[Callable[..., Any], Callable[[], Any]]] = [
    (number, lambda: [0.5 * k for k in range(9)]),
    (number, lambda: tuple(range(9))),
    (number, lambda: list(np.arange(9) * 0.5)),
    (place, lambda: [k * 7 % 9 for k in range(9)]),
    (pair, lambda: [(k * 0.5, k) for k in range(9)]),
    (size, lambda: [2 + k for k in range(9)]),
]


@pytest.mark.parametrize(("function", "make"), NUMBERS)
def test_one_entry_serves_all_numbers(function: Callable[..., Any], make: Callable[[], Any]) -> None:
    fast = dynamo_lite.compile(function, options=OPTIONS)
    x = np.arange(9.0)
    for k in (3, 1, 8, -2, 0, 5):
        found, expected = fast(x, make(), k), function(x, make(), k)
        assert repr(found) == repr(expected)
    assert fast.stats()["compiles"] <= 2, fast.explain()  # one more where an item is 1, or a list has another length


def test_numbers_that_are_stored_to_are_read_again() -> None:
    fast = dynamo_lite.compile(changed, options=OPTIONS)
    x = np.arange(9.0)
    for k in (3, 1, 0, 5):
        one, other = list(range(4, 13)), list(range(4, 13))
        assert repr(fast(x, one, k)) == repr(changed(x, other, k))
        assert one == other

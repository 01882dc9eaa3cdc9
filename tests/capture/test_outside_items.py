"""Items of lists, tuples and dicts from outside under numbers of the call: one entry for all of them."""

from __future__ import annotations

import copy
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

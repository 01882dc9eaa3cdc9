"""Loops over lists and dicts of arrays by numbers that only the run knows (lists/object_lists.py, kept_arrays.py)."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.programs.loop_cases import BACKENDS, OPTIONS, table
from tests.programs.random_array_lists import outcome

PROGRAMS, program = table()


def arrays(n: int, size: Any = 4, seed: int = 0) -> list[Any]:
    generator = np.random.default_rng(seed)
    return [generator.normal(size=size) for _ in range(n)]


def both(n: int) -> tuple[Any, ...]:
    return arrays(n), arrays(1, seed=1)[0]


@program(both)
def reads(ws, x):
    s = x * 0.0
    for t in range(1, len(ws)):
        s = s + (ws[t] - ws[t - 1]) * x
    return s


@program(both)
def pairs(ws, x):
    s = 0.0
    for i in range(len(ws)):
        for j in range(i + 1, len(ws)):
            d = ws[i] - ws[j]
            s += np.sqrt((d * d).sum())
    return s


@program(both)
def takes_some_before_they_move(ws, x):
    first, second, q = ws[0], ws[1], x * 0.5
    for i in range(len(ws)):
        ws[i], ws[0] = ws[0], ws[i]
        q = q + ws[i]
    ws[0] = x
    return first, second, first * 2.0 + q


@program(both)
def nearest(ws, x):
    least, place = np.inf, -1
    for t, w in enumerate(ws):
        d = w - x
        s = np.sqrt(d @ d)
        if s < least:
            least, place = s, t
    return least, place


# From 3.14 on CPython's compiler writes any() of a generator expression out, as a loop over the generator.
BROKEN = {"some_are_near"} if sys.version_info >= (3, 14) else set[str]()


@program(both)
def some_are_near(ws, x):
    return any(np.linalg.norm(w - x) < 0.1 for w in ws), min(np.linalg.norm(w - x) for w in ws)


@program(both)
def until_one_is_near(ws, x):
    s = x * 0.0
    for w in ws:
        if np.linalg.norm(w - x) < 0.5:
            break
        s = s + w
    return s


@program(both)
def stores(ws, x):
    for t in range(1, len(ws)):
        ws[t] = ws[t - 1] * 0.5 + x
    return ws[-1], ws


@program(both)
def moves(ws, x):
    for t in range(len(ws) - 1):
        ws[t], ws[t + 1] = ws[t + 1], ws[t]
    return ws


@program(both)
def hands_on_the_very_arrays(ws, x):
    out = [x]
    for t in range(len(ws)):
        out.append(ws[t])
        out.append(ws[t] * x)
    return out


@program(both)
def keeps_the_greatest(ws, x):
    best = ws[0]
    for t in range(1, len(ws)):
        if ws[t].sum() > best.sum():
            best = ws[t]
    return best


@program(both)
def forward_and_backward(ws, x):
    hs = [x]
    for t in range(len(ws)):
        hs.append(np.tanh(ws[t] + hs[-1] * 0.5))
    d = x * 0.0
    for t in reversed(range(len(ws))):
        d = (1.0 - hs[t + 1] * hs[t + 1]) * d + hs[t]
    return d, hs


@program(both)
def a_dict(ws, x):
    hs = {}
    hs[-1] = x.copy()
    for t in range(len(ws)):
        hs[t] = np.tanh(ws[t] + hs[t - 1] * 0.5)
    d = x * 0.0
    for t in reversed(range(len(ws))):
        d = (1.0 - hs[t] * hs[t]) * d + hs[t - 1]
    return d, hs


@program(both)
def carries_what_it_has_put_elsewhere(ws, x):
    d = {0: x}
    last, before = x * 2.0, x * 3.0
    for t in range(len(ws)):
        new = last * 0.5 + before
        d[t % 2] = new  # which the next iterations take out again, and go on with
        ws[t % 3] = before
        before, last = last, new
    for t in range(len(ws)):
        ws[t] = ws[t - 1] + last
    return d, last, before, ws


@program(lambda n: (n, arrays(1)[0]))
def made_by_a_comprehension(n, x):
    vs = [np.zeros(4) for _ in range(n)]
    for i in range(1, n):
        vs[i] = vs[i - 1] * 0.9 + x[:4]
    return vs


@program(lambda n: (n, arrays(1)[0]))
def made_of_none(n, x):
    vs = [None] * n
    vs[0] = x
    for i in range(1, n):
        vs[i] = vs[i - 1] * 0.9 + x
    return vs


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_native(name: str, backend: str) -> None:
    fn, make = PROGRAMS[name]
    fast = dynamo_lite.compile(fn, backend=backend, options=OPTIONS)
    for n in (30, 40, 30, 90):
        assert outcome(fn, make(n)) == outcome(fast, make(n))
    assert fast.stats()["native_calls"] and not fast.stats()["declines"]
    found = dynamo_lite.explain(fn, backend=backend, options=OPTIONS)(*make(30))
    assert {loop.outcome for loop in found.loops} == {"native"} and bool(found.breaks) == (name in BROKEN), found
    assert "object_array" in str(found)


def _shared(n: int) -> tuple[Any, ...]:
    whole = np.random.default_rng(3).normal(size=(n, 4))
    return [whole[i] for i in range(n)], whole[1]


def _with(odd: Any, n: int) -> tuple[Any, ...]:
    ws, x = both(n)
    ws[n // 2] = odd
    return ws, x


ODD = {
    "the first of them": lambda n: (lambda ws: (ws, ws[0]))(arrays(n)),
    "one of them": lambda n: (lambda ws: (ws, ws[7]))(arrays(n)),
    "parts of one array": _shared,
    "two names": lambda n: (lambda ws: ([*ws[:9], ws[4], *ws[9:]], ws[2]))(arrays(n)),
    "with a stride": lambda n: _with(np.arange(8.0)[::2], n),
    "another type": lambda n: _with(np.ones(4, np.float32), n),
    "another shape": lambda n: _with(np.ones(1), n),
    "two axes": lambda n: _with(np.ones((1, 4)), n),
    "a subclass": lambda n: _with(np.ma.masked_array(np.ones(4)), n),
    "the other byte order": lambda n: _with(np.ones(4, ">f8"), n),
    "a list": lambda n: _with([1.0, 2.0, 3.0, 4.0], n),
    "None": lambda n: _with(None, n),
    "read-only": lambda n: (lambda ws: (ws[3].setflags(write=False), (ws, ws[3]))[1])(arrays(n)),
    "few": lambda n: both(3),
    "none": lambda n: ([], np.ones(4)),
}


def writes_what_goes_in(ws, x):
    s = x * 0.0
    for t in range(len(ws)):
        s = s + ws[t]
        x[t % 3] += 1.0
    return s


def writes_what_it_has_put_there(ws, x):
    h = x * 2.0
    hs = [h]
    s = x * 0.0
    for t in range(len(ws)):
        hs.append(h)
        h[0] += 1.0
        s = s + hs[t]
    return hs, s


def writes_it_in_the_next_iteration(ws, x):
    hs = [x * 1.0]
    h = x * 2.0
    for t in range(len(ws)):
        hs.append(h)
        g = h * 0.5
        s = hs[t] * 1.0
        h += s
        h = g
    return hs, h


def writes_what_it_takes(ws, x):
    for t in range(len(ws)):
        ws[t] += x
        ws[t][1:] = 2.0
    return ws


def writes_what_a_branch_has_taken(ws, x):
    s, n = x * 0.5, 0
    for w in ws:
        if n > 1:
            np.sqrt(w[0])  # warns, behind stores that a decline has to take back
        s += w
        if w[1] > 0.0:
            s, n = w, n + 1
    return s


def stores_where_it_has_taken(ws, x):
    q = ws[0]
    for i in range(len(ws)):
        np.sqrt(x[0] - i)  # warns, behind a store; the loop goes on behind that
        ws[i] = x
    return q, q * 2.0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_what_was_taken_is_known_where_a_loop_goes_on_plainly(backend: str) -> None:
    fast = dynamo_lite.compile(stores_where_it_has_taken, backend=backend, options=OPTIONS)
    for first in (100.0, 1.5, 0.5, 100.0):
        ws = arrays(9)
        taken = ws[0]
        assert fast(ws, np.full(4, first))[0] is taken


_STRANGE = (reads, stores, moves, hands_on_the_very_arrays, keeps_the_greatest, a_dict, writes_what_goes_in)
_WRITES = (
    *(writes_what_it_has_put_there, writes_it_in_the_next_iteration, writes_what_it_takes),
    writes_what_a_branch_has_taken,
)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("fn", [*_STRANGE, *_WRITES], ids=lambda fn: fn.__name__)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_arrays_that_lie_otherwise_or_are_none(fn: Callable[..., Any], odd: str, backend: str) -> None:
    fast = dynamo_lite.compile(fn, backend=backend, options={**OPTIONS, "recompile_limit": 100})
    for make in (both, ODD[odd], both, ODD[odd]):
        assert outcome(fn, make(24)) == outcome(fast, make(24))


def adds(ws, x):
    s = x * 0.0
    for t in range(1, len(ws)):
        y = ws[t] * 2.0
        s = s + ws[t - 1]
    return y, s, ws[t] + ws[t - 1]


ODD_STRIDES = {  # of the axis of size 1, which results show
    "a new axis": lambda: [one[None, :] for one in arrays(24)],
    "a long step": lambda: [np.ndarray((1, 4), float, np.arange(400.0), 0, (800, 8)) for _ in range(24)],
    "a single one": lambda: [*arrays(23, (1, 4)), np.arange(4.0)[None, :]],
    "columns": lambda: [one[:, None] for one in arrays(24)],
    "empty": lambda: arrays(24, (0, 4)),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("odd", ODD_STRIDES)
@pytest.mark.parametrize("fn", [adds, stores], ids=lambda fn: fn.__name__)
def test_strides_along_axes_of_size_one(fn: Callable[..., Any], odd: str, backend: str) -> None:
    fast = dynamo_lite.compile(fn, backend=backend, options={**OPTIONS, "recompile_limit": 100})
    for make in (lambda: arrays(24, (1, 4)), ODD_STRIDES[odd]) * 2:
        first = make()[0]
        made = [outcome(one, (make(), np.ones(first.shape))) for one in (fn, fast)]
        assert made[0] == made[1]


def test_a_store_into_an_array_of_a_list_says_why_it_breaks() -> None:
    def last_of_them(ws, x):
        s = x * 0.0
        for t in range(len(ws)):
            h = ws[t]
            s = s + h
        h += 1.0
        return s

    found = dynamo_lite.explain(last_of_them, options=OPTIONS)(*both(24))
    assert [one.id for one in found.breaks] == ["listed-array"], found
    made = [outcome(one, both(24)) for one in (last_of_them, dynamo_lite.compile(last_of_them, options=OPTIONS))]
    assert made[0] == made[1]


def which_is(ws, x):
    found = 0
    for t in range(len(ws)):
        if ws[t] is x:
            found += 1
    return found, ws[3] is x


def test_which_array_an_item_is() -> None:
    fast = dynamo_lite.compile(which_is, options=OPTIONS)
    for make in (both, ODD["one of them"], both):
        ws, x = make(24)
        assert fast(ws, x) == which_is(ws, x)
    ws = arrays(24)
    assert fast(ws, ws[3]) == (1, True)


def test_a_dict_that_lacks_a_key_raises_what_plain_python_raises() -> None:
    def lacks(ws, x):
        hs = {0: x}
        for t in range(len(ws)):
            hs[t + 1] = hs[t + t // 20] + ws[t]
        return hs

    fast = dynamo_lite.compile(lacks, options={**OPTIONS, "recompile_limit": 100})
    for _ in range(3):
        made = [outcome(fn, copy.deepcopy(both(24))) for fn in (lacks, fast)]
        assert made[0] == made[1]

"""Iterations in which a program declines run plainly, the others natively: the state is plain Python's all the way.

Declining is forced in some iterations for whole collections of programs; and it is caused by what causes it for users:
a warning in the first iteration, or in one that nobody knows of before.
"""

from __future__ import annotations

import contextlib
import warnings
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C, resumes
from dynamo_lite.pycode import UnsupportedResume
from tests import watched
from tests.conftest import budget
from tests.oracle import require_equal
from tests.programs import random_effects
from tests.programs.loop_cases import OPTIONS, Case
from tests.programs.test_loop_leaving import CASES, RAISED

MANY = {**OPTIONS, "recompile_limit": 100}


@pytest.fixture
def decline() -> Iterator[Callable[[int], None]]:
    """Have programs decline in one of so many iterations."""
    yield _C.decline_loops
    _C.decline_loops(0)


@pytest.mark.parametrize("name", CASES)
def test_every_program(name: str, decline: Callable[[int], None]) -> None:
    case: Case = CASES[name]
    decline(1 + sum(name.encode()) % 3)
    require_equal(
        case.fn,
        lambda: case.args(7, case.sizes[0]),
        variants=[lambda count=count: case.args(count, case.sizes[0]) for count in (0, 1, 4, 7)],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"backend": "numba", "options": MANY},
    )


def test_many_go_on(decline: Callable[[int], None]) -> None:
    decline(3)
    before = _C.counters(None)["plain_rounds"]
    cases = list(CASES.values())[::5]
    for case in cases:
        fast = dynamo_lite.compile(case.fn, backend="numba", options=MANY)
        with contextlib.suppress(*RAISED):  # test_every_program compares that
            fast(*case.args(7, case.sizes[0]))
    assert _C.counters(None)["plain_rounds"] - before > len(cases)


def relaxed(p: Any, b: Any, most: int) -> Any:
    diff, n = 1.0, 0
    while diff > 1e-9 and n < most:
        pn = p.copy()
        p[1:-1] = (pn[2:] + pn[:-2] - b[1:-1]) / 2
        diff = np.sum(np.abs(p - pn)) / np.sum(np.abs(pn))  # 0 / 0, or x / 0, in the first iteration
        n += 1
    return p, n, diff


def warned_once(x: Any, most: int, at: int) -> Any:
    total = 0.0
    for i in range(most):
        x = x * 0.99 + 0.01 / (x[0] * (i - at))
        total += x[1]
    return x, total


def nested(x: Any, most: int, at: int) -> Any:
    for i in range(most):
        for j in range(5):
            x = x * 0.99 + 0.01 / (x[0] * (i * 5 + j - at))
    return x


def raising(x: Any, out: list[Any], most: int) -> Any:
    for i in range(most):
        x = x * 0.5 + 1.0
        out.append(x[i])
    return x


def observed(fn: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """What a call gives, warns of, raises, and leaves in its arguments."""
    args = make()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            result: Any = fn(*args)
        except IndexError as error:
            result = str(error)
    return result, [(str(one.message), one.lineno) for one in found], args


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, str | int):
        return bool(one == other)
    return type(one) is type(other) and np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True)


@pytest.mark.parametrize(
    ("fn", "make"),
    [
        (relaxed, lambda: (np.zeros(60), np.full(60, 1e-3), 500)),
        *((warned_once, lambda at=at: (np.ones(40), 500, at)) for at in (0, 1, 77, 499)),
        *((nested, lambda at=at: (np.ones(40), 100, at)) for at in (0, 3, 260, 499)),
        *((raising, lambda size=size: (np.ones(size), [], 500)) for size in (2, 40, 260)),
    ],
)
def test_a_warning_does_not_end_it(fn: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    for _ in range(4):
        assert equal(observed(fast, make), observed(fn, make))
    stats = fast.stats()
    assert stats["plain_rounds"] >= 4
    assert stats["retired"] == 0
    assert stats["native_calls"] > 4


class Box:
    value: Any = None


def keeps_one_of_two_kinds(box: Box, x: Any, taken: Any, other: Any) -> Any:
    i = 0
    while i < 9:
        x[i] = 2.0 / x[i]
        box.value = taken if i > 2 else other
        last = box.value if i % 2 else i
        i += 1
    return box.value, last


@pytest.mark.parametrize("kinds", [(2.0, 1), (2, 1.5), (np.float64(2), 1.0), (2.0, None), (True, 1)])
def test_what_is_of_one_kind_or_another_is_there_when_the_loop_is_left(kinds: tuple[Any, Any]) -> None:
    for x in ([1.0, 2, 3, 4, 5], [1.0, 2], np.arange(9.0)[::-1], np.arange(-3.0, 6.0)):
        require_equal(
            keeps_one_of_two_kinds,
            lambda x=x: (Box(), np.array(x), *kinds),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"options": MANY},
        )


def test_warnings_in_all_iterations_leave_the_loop_plain() -> None:
    def f(x: Any, most: int) -> Any:
        for _ in range(most):
            x = x * 0.5 + np.sqrt(-x[0] - 1.0)
        return x

    fast = dynamo_lite.compile(f, options=OPTIONS)
    make = lambda: (np.ones(30), 200)  # noqa: E731
    for _ in range(3):
        assert equal(observed(fast, make), observed(f, make))
    assert fast.stats()["plain_rounds"] <= 12


@pytest.mark.parametrize("start", range(0, budget("ROUND_FUZZ", 24), 8))
def test_random_effects(start: int, decline: Callable[[int], None]) -> None:
    for seed in range(start, start + 8):
        plain = random_effects.function(random_effects.text_of(seed))
        fast = dynamo_lite.compile(plain, backend="numba", options=MANY)
        for call, n in enumerate((7, 7, 3)):
            wanted = random_effects.run(plain, plain, seed * 7 + call, n)
            decline(1 + seed % 3)
            got = random_effects.run(plain, fast, seed * 7 + call, n)
            decline(0)
            assert got == wanted, seed


def test_the_compiled_function_dies() -> None:
    """What entries ask keeps nothing alive."""
    import gc

    def f(x: Any, most: int) -> Any:
        for i in range(most):
            x = x + 1.0 / (x[0] * i)
        return x

    fast = dynamo_lite.compile(f, options=OPTIONS)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        fast(np.ones(4), 20)
    assert fast.stats()["plain_rounds"] == 1
    gone = weakref.ref(fast)
    del fast
    gc.collect()
    assert gone() is None


def test_an_int_that_outgrows_64_bits_leaves_the_rest_plain() -> None:
    """Otherwise each larger one would be a constant to a segment of its own."""

    def f(x: Any, most: int) -> Any:
        k = 1
        for _ in range(most):
            k = k * 2 + 1
            x = x + 1.0
        return x, k

    fast = dynamo_lite.compile(f, options=OPTIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of recompiling
        for most in (20, 200, 90):
            assert equal(fast(np.ones(30), most), f(np.ones(30), most))
    stats = fast.stats()
    assert stats["plain_rounds"] == 2
    assert stats["compiles"] == 2


class Float(np.float64):
    """A number whose death is noticed."""

    log: list[Any]

    def __del__(self) -> None:
        self.log.append("dead")


def watched_number(log: list[Any]) -> Any:
    value = Float(3.0)
    value.log = log
    return value


def watched_part(log: list[Any]) -> Any:
    whole = np.ones(4)
    weakref.finalize(whole, log.append, "dead")
    return whole[1:]


@pytest.mark.parametrize("make", [watched_number, watched_part])
def test_locals_whose_death_is_noticed_are_kept(make: Callable[[list[Any]], Any]) -> None:
    def f(x: Any, most: int, log: list[Any]) -> Any:
        kept = make(log)  # noqa: F841
        for i in range(most):
            x = x * 0.9 + 1.0 / (x[0] * i)
            log.append(i)
        return x

    fast = dynamo_lite.compile(f, options=OPTIONS)
    for _ in range(3):
        assert equal(observed(fast, lambda: (np.ones(4), 9, [])), observed(f, lambda: (np.ones(4), 9, [])))
    assert fast.stats()["plain_rounds"]


def test_many_warnings_make_plain_rounds_longer() -> None:
    """Each costs as much as many iterations of a small loop."""

    def f(x: Any, z: Any) -> Any:
        s = 0.0
        for i in range(len(z)):
            s = s * 0.5 + x[0] / z[i]
        return s

    z = np.ones(30000)
    z[::3] = 0
    fast = dynamo_lite.compile(f, options=OPTIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            assert equal(fast(np.ones(9), z), f(np.ones(9), z))
    assert fast.stats()["plain_rounds"] < 60  # of 30000


def test_a_warning_in_the_first_iteration_of_each_call() -> None:
    """The entry that begins calls is retired; they are begun plainly and go on natively, however many they are."""
    fast = dynamo_lite.compile(warned_once, options=OPTIONS)
    make = lambda: (np.ones(40), 300, 0)  # noqa: E731
    for _ in range(40):
        assert equal(observed(fast, make), observed(warned_once, make))
    before = fast.stats()["native_calls"]
    assert equal(observed(fast, make), observed(warned_once, make))
    assert fast.stats()["native_calls"] > before


@pytest.mark.parametrize("name", list(CASES)[::4])
def test_programs_that_are_watched(name: str, decline: Callable[[int], None]) -> None:
    """Under ``run`` the polls that are there bring the loop back."""
    case: Case = CASES[name]
    decline(1 + sum(name.encode()) % 3)
    try:
        require_equal(
            case.fn,
            lambda: case.args(7, case.sizes[0]),
            variants=[lambda: case.args(4, case.sizes[0])],
            compile=watched.compile_loops,
            compile_options={"backend": "numba"},
        )
    finally:
        _C.watch(None, None, None)


def test_a_watched_loop_goes_on_behind_a_warning() -> None:
    make = lambda: (np.ones(40), 300, 77)  # noqa: E731
    fast: Any = watched.compile_loops(warned_once, backend="numba")
    try:
        for _ in range(3):
            assert equal(observed(fast, make), observed(warned_once, make))
        stats = fast.stats()
    finally:
        _C.watch(None, None, None)
    assert stats["plain_rounds"] >= 3 and stats["native_calls"] > stats["declines"] > 0


def test_what_cannot_begin_anew_runs_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own code would bind the arguments, which are bound already, once more."""

    def f(*xs: Any, most: int) -> Any:
        x = xs[0]
        for i in range(most):
            x = x + 1.0 / (x[0] * i)
        return x

    def refuses(code: Any, index: int, stack: Any, bound: Any, cells: Any = ()) -> Any:
        if bound == ("most", "xs"):
            raise UnsupportedResume("not there")
        return resume_code(code, index, stack, bound, cells)

    resume_code = resumes.resume_code
    monkeypatch.setattr(resumes, "resume_code", refuses)
    fast = dynamo_lite.compile(f, options=OPTIONS)
    make = lambda: (np.ones(4),)  # noqa: E731
    for _ in range(3):
        assert equal(observed(partial(fast, most=20), make), observed(partial(f, most=20), make))
    assert fast.stats()["declines"] > 0 and fast.stats()["plain_rounds"] == 0

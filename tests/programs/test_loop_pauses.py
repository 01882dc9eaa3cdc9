"""Loops that print, or break the graph otherwise, in some iterations: they run natively in between.

Everything observable is compared with plain Python by the oracle, the printed text in its order too. NATIVE are
programs whose loops have to stay such; of OTHERS they may fall back.
"""

# ruff: noqa: SIM102, SIM108

from __future__ import annotations

import random
import signal
import threading
import time
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.conftest import budget
from tests.oracle import require_equal
from tests.programs.loop_cases import OPTIONS

Options = {**OPTIONS, "recompile_limit": 40}


def every(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.99 + 0.01
        if i % 5 == 0:
            print(i, x[0])
    return x


def every_last_of_five(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.99 + i
        if i % 5 == 4:
            print("at", i)
    return x, i


def first_thing(x: Any, n: int) -> Any:
    for i in range(n):
        if not i % 7:
            print("at", i, x.sum())
        x = x * 0.99 + i
    return x


def in_the_middle(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        y = x * 0.5
        if i % 6 == 3:
            print("at", i, y.sum(), total)
        x = y + i
        total += x[0]
    return x, total, y


def at_the_end(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.99 + i
        if i == n - 1:
            print("last", x)
    return x


def at_the_beginning(x: Any, n: int) -> Any:
    for i in range(n):
        if i == 0:
            print("first", x)
        x = x * 0.99 + i
    return x, i


def all_later_ones(x: Any, n: int) -> Any:
    for i in range(n):
        x = x + i
        if i > 10:
            print(i, end=" ")
    return x


def all_earlier_ones(x: Any, n: int) -> Any:
    for i in range(n):
        x = x + i
        if i < 4:
            print(i, end=" ")
    return x


def between(x: Any, n: int) -> Any:
    for i in range(n):
        x = x + i
        if 6 < i < 9:
            print(i, x)
    return x


def nested_ifs(x: Any, n: int) -> Any:
    for i in range(n):
        x = x + i
        if i > 8:
            x = x * 0.5
            if i % 4 == 0:
                print(i, x)
            else:
                x = x - 1.0
    return x


def both_conditions(x: Any, n: int) -> Any:
    for i in range(n):
        x = x + i
        if i > 8 and i % 4 == 0:
            print(i, x)
    return x


def one_of_two(x: Any, n: int) -> Any:
    for i in range(n):
        x = x + i
        if i == 3 or i % 7 == 0:
            print(i, x)
    return x


def several(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.9
        if i % 5 == 0:
            print("five", i)
        x = x + i
        if i % 8 == 0:
            print("eight", i)
        elif i % 8 == 3:
            print("eleven", i, x)
    return x


def otherwise(x: Any, n: int) -> Any:
    for i in range(n):
        if i % 6:
            x = x * 0.9
        else:
            print("not", i)
            x = x + 1.0
    return x


def every_k(x: Any, n: int) -> Any:
    k = x.shape[0] - 1
    for i in range(n):
        x = x * 0.99 + i
        if (i + 1) % k == 0:
            print(i, k)
    return x


def backwards(x: Any, n: int) -> Any:
    for i in range(n, 0, -2):
        x = x * 0.99 + i
        if i % 6 == 0:
            print(i, x[1])
    return x


def bounds(x: Any, n: int) -> Any:
    for i in range(n - 3, 3 * n, 3):
        x = x * 0.99 + i
        if i % 5 == 0:
            print(i, x[1])
    return x, n


def counts(x: Any, n: int) -> Any:
    it = 0
    while it < n:
        x = x * 0.99 + it
        it += 1
        if it % 5 == 0:
            print(it, x[0])
    return x, it


def counts_down(x: Any, n: int) -> Any:
    while n > 0:
        if n % 4 == 0:
            print(n, x[0])
        x = x * 0.99 + n
        n -= 1
    return x, n


def converges(x: Any, n: int) -> Any:
    it, error = 0, 1.0
    while error > 1e-3 and it < 10 * n:
        y = x * 0.5
        error = np.abs(y - x).max()
        x = y
        if it % 4 == 0:
            print(it, float(error))
        it += 1
    return x, it, error


def breaks_out(x: Any, n: int) -> Any:
    for i in range(10 * n):
        x = x * 1.1 + i
        if i % 6 == 5:
            print(i)
        if x[0] > 300.0:
            break
    return x, i


def continues(x: Any, n: int) -> Any:
    for i in range(n):
        if i % 3 == 1:
            continue
        x = x * 1.01 + i
        if i % 6 == 5:
            print(i, x)
    return x, i


def has_an_else(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 1.01
        if i % 6 == 5:
            print(i)
    else:
        x = x + 1.0
        print("else")
    return x, i


def prints_behind(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 1.01
        if i % 6 == 5:
            print(i)
    print("done")
    y = x * 2.0
    print("really")
    return x + y, i


def two_loops(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 1.01
        if i % 6 == 5:
            print(i)
    for j in range(n):
        x = x + j
        if j % 4 == 1:
            print("j", j, i)
    return x


def only_prints(x: Any, n: int) -> Any:
    for i in range(n):
        if i % 6 == 5:
            print(i)
    return x * 2.0


def choices(x: Any, n: int) -> Any:
    for i in range(n):
        if x.sum() > 20.0:
            x = x * 0.5
        else:
            x = x + 1.0
        if i % 4 == 2:
            print(i, x[0])
    return x


def choices_around(x: Any, n: int) -> Any:
    for i in range(n):
        x = x + 0.3
        if x[0] > 3.0:
            x = x * 0.5
            if i % 4 == 2:
                print(i, x[0])
    return x


def log(i: int, x: Any, every: int) -> None:
    if i % every == 0:
        print("log", i, x.mean())


def logs_in_a_callee(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.9 + i
        log(i, x, 6)
    return x


def elements(x: Any, n: int) -> Any:
    y = np.zeros(8 * n + 2)
    for i in range(1, 8 * n + 1):
        y[i] = 0.5 * y[i - 1] + x[i % x.shape[0]]
        if i % 20 == 0:
            print(i, y[i])
    return y


def elements_nested(x: Any, n: int) -> Any:
    y = np.zeros((n + 1, x.shape[0]))
    for i in range(n):
        for j in range(x.shape[0]):
            y[i + 1, j] = 0.5 * y[i, j] + x[j] * j
        if i % 4 == 1:
            print(i, y[i].sum())
    return y


def old_and_new(x: Any, n: int) -> Any:
    last = None
    for i in range(n):
        x = x * 0.9 + i
        if i % 5 == 0:
            print(i, last is None or (last - x).sum())
            last = x
    return x, last


def in_place(x: Any, n: int) -> Any:
    view = x[1:]
    for i in range(n):
        x += 0.5
        view *= 0.9
        if i % 5 == 2:
            print(i, view.base is x, x)
    return view


def starts_as_a_number(x: Any, n: int) -> Any:
    total, count = 0.0, 0
    for i in range(n):
        total = total + x.sum()
        count += 2
        x = x * 0.9
        if i % 5 == 0:
            print(i, total, count)
    return total, count


def raises(x: Any, n: int) -> Any:
    for i in range(n):
        x[0] += 1.0
        if i == 7:
            raise ValueError(f"no {i}")
    return x


def divides(x: Any, n: int) -> Any:
    k = n - 9
    for i in range(n):
        x = x + 1.0
        if i % k == 3:
            print(i)
    return x


def timed(x: Any, n: int) -> Any:
    now = 0.0
    for i in range(n):
        x = x + 1.0
        if i % 5 == 1:
            now = time.time()
    return x, now > 0.0


def appended(x: Any, n: int) -> Any:
    found: list[Any] = []
    for i in range(n):
        x = x + 1.0
        if i % 5 == 1:
            keep(found, x)
    return x, found


def appended_here(x: Any, n: int) -> Any:
    found = [x]
    for i in range(n):
        x = x + 1.0
        if i % 5 == 1:
            found.append(x)
            found.append(i)
    return x, found


def counted_in_a_dict(x: Any, n: int) -> Any:
    found = {"last": -1, "sum": 0.0}
    for i in range(n):
        x = x + 1.0
        if i % 5 == 0:
            found["last"] = i
            found["sum"] = x.sum()
    return x, found


def floats(x: Any, n: int) -> Any:
    for i in range(n):
        x = x + 1.0
        if i * 0.25 > 2.1:
            if i * 0.25 < 3.1:
                print(i)
    return x


def keep(where: list[Any], x: Any) -> None:
    where.append(x)
    print("kept", len(where))


def returns(x: Any, n: int) -> Any:
    for i in range(n):
        x = x + 1.0
        if i == 9:
            return x, "early"
        x = x * 0.5
    return x, "late"


def kept_from_the_first(x: Any, n: int) -> Any:
    i = 0
    while i < n:
        x = x * 0.5
        if i == 0:
            first = x.sum()
        else:
            x = x - first
        i += 1
    return x


def kept_from_some(x: Any, n: int) -> Any:
    i = 0
    while i < n:
        x = x * 0.5
        if i % 3 == 0:
            kept = x + 1.0
        else:
            x = x - kept[::-1]
        i += 1
    return x, kept


def kept_in_a_loop_with_a_break(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.5
        if i % 3 == 0:
            kept = x.sum()
        else:
            x = x - kept
        if x[0] > 1e6:
            break
    return x


def until_little_changes(x: Any, n: int) -> Any:
    i = 0
    while i < n:
        x = x * 0.5 + 0.1
        total = x.sum()
        if i == 0:
            begin = before = total
        else:
            if np.abs(before - total) < 1e-4 * begin:
                break
            else:
                before = total
        i += 1
    return x, total


NATIVE = (
    every, every_last_of_five, first_thing, in_the_middle, at_the_end, at_the_beginning, between, nested_ifs,
    both_conditions, one_of_two, several, otherwise, every_k, backwards, bounds, counts, counts_down, converges,
    breaks_out, continues, has_an_else, prints_behind, two_loops, only_prints, choices, choices_around,
    logs_in_a_callee, elements, elements_nested, old_and_new, in_place, starts_as_a_number, timed, appended,
    floats,
)  # fmt: skip
NEEDS_NO_PAUSE = (raises, appended_here, returns, counted_in_a_dict)
OTHERS = (
    all_later_ones, all_earlier_ones, divides, kept_from_the_first, kept_from_some, kept_in_a_loop_with_a_break,
    until_little_changes, *NEEDS_NO_PAUSE,
)  # fmt: skip


@pytest.fixture(params=[0, 1, 3], ids=["", "left each time", "left"])
def leave(request: pytest.FixtureRequest) -> Iterator[int]:
    """Whether loops are left all the time besides, as for a signal."""
    _C.leave_loops(request.param)
    yield request.param
    _C.leave_loops(0)


@pytest.mark.parametrize("fn", NATIVE + OTHERS, ids=lambda fn: str(fn.__name__))
def test_everything_is_plain_pythons(fn: Callable[..., Any], leave: int) -> None:
    def arguments(n: int) -> Any:
        return lambda: (np.arange(1.0, 7.0), n)

    report = require_equal(
        fn, arguments(30), variants=[arguments(n) for n in (31, 1, 0, 2, 6, 12)],
        compile=dynamo_lite.compile, compile_options={"backend": "numba", "options": Options}, calls=1,
    )  # fmt: skip
    if _C.get_stress() or leave:
        return
    explanation = report.compiled.explain()
    if fn in NATIVE + NEEDS_NO_PAUSE:
        assert {loop.outcome for loop in explanation.loops} <= {"native", "unrolled"}, explanation
        pauses = any(segment.capture.pauses for segment in report.compiled._compilation.segments)
        assert pauses is (fn in NATIVE), explanation


@pytest.mark.parametrize("fn", NATIVE + OTHERS, ids=lambda fn: str(fn.__name__))
def test_a_backend_in_python(fn: Callable[..., Any]) -> None:
    require_equal(
        fn, lambda: (np.arange(1.0, 7.0), 14), compile=dynamo_lite.compile,
        compile_options={"backend": "reference", "options": Options}, calls=1,
    )  # fmt: skip


# -- it is native, and stays so --------------------------------------------------------------------


def compiled(fn: Callable[..., Any]) -> Any:
    return dynamo_lite.compile(fn, backend="numba", options=OPTIONS)


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("fn", [every, counts, elements, old_and_new, several], ids=lambda fn: str(fn.__name__))
def test_nothing_is_compiled_again(fn: Callable[..., Any]) -> None:
    fast = compiled(fn)
    fast(np.arange(1.0, 7.0), 100)
    before = fast.stats()
    assert before["compiles"] <= (12 if fn is several else 5), fast.explain()
    fast(np.arange(1.0, 9.0), 221)
    after = fast.stats()
    assert after["compiles"] == before["compiles"], fast.explain()
    assert not after["declines"] and after["plain_calls"] <= (fn is counts), fast.explain()


@pytest.mark.usefixtures("no_mode")
def test_many_prints_make_few_segments() -> None:
    def prints(x, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            x = x * 0.9
            if i % 5 == 0:
                print("five", i, x[0])
            if i % 7 == 0:
                print("seven", i, x[0])
            x = x + i
            if i % 4 == 1:
                print("four", i, x[0])
            if i % 6 == 5:
                print("six", i, x[0])
            if i % 3 == 1:
                print("three", i, x[0])
        return x

    report = require_equal(
        prints, lambda: (np.arange(1.0, 7.0), 900), compile=dynamo_lite.compile, compile_options={"options": OPTIONS}
    )
    stats, explanation = report.compiled.stats(), report.compiled.explain()
    assert not stats["declines"] and not stats["plain_calls"], explanation  # the recompile_limit is not met
    assert [loop.outcome for loop in explanation.loops] == ["native"], explanation


def test_many_prints_of_an_endless_loop() -> None:
    def prints(x, n):  # type: ignore[no-untyped-def]
        while True:
            print("begins", n) if n % 3 == 0 else None
            n -= 1
            x = x * 0.9
            if n % 5 == 0:
                print("five", n, x[0])
            if n % 7 == 0:
                print("seven", n, x[0])
            if n % 2 == 0:
                print("two", n)
            if x[0] < 1e-3:
                break
        return x

    require_equal(
        prints, lambda: (np.arange(1.0, 7.0), 100), compile=dynamo_lite.compile, compile_options={"options": Options}
    )


@pytest.mark.usefixtures("no_mode")
def test_left_as_often_as_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    fast = compiled(every)
    for _ in range(2):
        fast(np.arange(1.0, 7.0), 1000)
    before = fast.stats()["leaves"]
    capsys.readouterr()
    fast(np.arange(1.0, 7.0), 1000)
    assert len(capsys.readouterr().out.splitlines()) == 200
    assert fast.stats()["leaves"] - before == 199  # the first iteration comes before the loop
    (loop,) = fast.explain().loops
    assert loop.outcome == "native" and "line " + str(every.__code__.co_firstlineno + 4) in loop.message, loop
    assert "print writes output" in loop.message and loop.message in str(fast.explain())


@pytest.mark.usefixtures("no_mode")
def test_looks_ahead_in_parts() -> None:
    def far(x, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            x[i % 3] += 1.0
            if i // 1_000_000 > 0:
                print("there")
        return x

    fast = compiled(far)
    for n in (10, 1_000_002, 1_000_002):
        assert fast(np.zeros(3), n).sum() == n
    assert fast.stats()["leaves"] >= 6 and not fast.stats()["declines"], fast.stats()


@pytest.mark.usefixtures("no_mode")
def test_inner_loops_of_a_loop_that_prints() -> None:
    def epochs(x, n):  # type: ignore[no-untyped-def]
        for e in range(3):
            for i in range(n):
                x = x * 0.99 + 0.01
                if i % 10 == 0:
                    print(e, i)
            print("epoch", e, x[0])
        return x

    report = require_equal(
        epochs, lambda: (np.arange(1.0, 7.0), 55), compile=dynamo_lite.compile, compile_options={"options": Options}
    )
    inner = next(loop for loop in report.compiled.explain().loops if loop.line == epochs.__code__.co_firstlineno + 2)
    assert inner.outcome == "native", report.compiled.explain()


def test_a_condition_of_the_loop_around() -> None:
    def rows(x, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            for j in range(i + 9):
                x = x * 0.99 + j
                if i % 5 == 2:
                    print(i, j)
        return x

    require_equal(
        rows, lambda: (np.arange(1.0, 4.0), 12), compile=dynamo_lite.compile, compile_options={"options": Options}
    )


@pytest.mark.usefixtures("no_mode")
def test_not_one_graph() -> None:
    def later(x, n):  # type: ignore[no-untyped-def]
        for i in range(1, n):
            x = x * 0.99
            if i % 10 == 0:
                print(i)
        return x

    fast = dynamo_lite.compile(later, fullgraph=True, options=OPTIONS)
    with pytest.raises(dynamo_lite.GraphBreakError, match="print writes output"):
        fast(np.ones(5), 40)


def conditions(seed: int) -> str:
    """A condition on i, n and k."""
    rng = random.Random(seed)
    line = rng.choice(["i", "i + 3", "n - i", "i - k", "5 - i", "i + i", "3 * i", "k * i - n", "(i - k) * -2"])
    order = rng.choice(["<", "<=", ">", ">="])
    one = rng.choice(
        [f"({line}) % {rng.randint(2, 9)} == {rng.randint(-1, 5)}", f"({line}) % k == {rng.randint(0, 2)}",
         f"{line} == {rng.randint(-9, 20)}", f"{line} == n - {rng.randint(0, 9)}", f"not i % {rng.randint(3, 9)}",
         f"{line} > n - {rng.randint(1, 5)}", f"i // 7 == {rng.randint(0, 3)}", f"i * 0.5 == {rng.randint(0, 12)}",
         f"{line} {order} {rng.randint(-60, 90)}", f"{line} {order} n - k * {rng.randint(-3, 3)}",
         f"i * i {order} 3 * n", f"i + {2**63 - 30} {order} {2**62}", f"i & {rng.choice([3, 7])} == 2",
         f"(i - 40) % -{rng.randint(2, 9)} == -1"]
    )  # fmt: skip
    return one if rng.random() < 0.5 else f"{one} {rng.choice(['and', 'or'])} {conditions(seed + 1000)}"


@pytest.mark.parametrize("seed", range(budget("PAUSE_FUZZ", 40)))
def test_any_condition(seed: int) -> None:
    step = random.Random(seed).choice([(0, 1), (2, 1), (1, 2), (1, 3)])
    backwards = f"range(n, {-step[0]}, -{step[1]})"
    numbers = backwards if seed % 3 == 0 else f"range({step[0]}, n, {step[1]})"
    text = f"def steps(x, n, k):\n  for i in {numbers}:\n    x = x * 0.75 + i\n    if {conditions(seed)}:\n"
    text += "      print(i, x[0])\n  return x\n"
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    try:
        require_equal(
            namespace["steps"], lambda: (np.arange(1.0, 4.0), 50, 4),
            variants=[lambda n=n, k=k: (np.arange(1.0, 4.0), n, k) for n, k in ((51, 7), (0, 2), (9, 3), (50, 1))],
            compile=dynamo_lite.compile, compile_options={"backend": "numba", "options": Options}, calls=1,
        )  # fmt: skip
    except BaseException as error:
        error.add_note(text)
        raise


@pytest.mark.usefixtures("no_mode")
def test_a_loop_of_known_length_is_unrolled_where_that_needs_no_break() -> None:
    def collects(x):  # type: ignore[no-untyped-def]
        found = []
        for i in range(20):
            x = x * 0.9
            if i % 5 == 0:
                found.append(x)
            if i == 17:
                return x, found
        return found

    fast = dynamo_lite.compile(collects, fullgraph=True, options=OPTIONS)
    x, found = fast(np.arange(5.0))
    assert len(found) == 4 and x.tolist() == collects(np.arange(5.0))[0].tolist()


# -- what runs in between --------------------------------------------------------------------------


class Watcher:
    """Called from loops: sees, keeps and changes what it is given."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.kept: list[Any] = []
        self.factor = 0.5

    def look(self, x: Any) -> float:
        self.seen.append(x.tolist())
        self.kept.append(x)
        return float(len(self.seen))

    def change(self, x: Any) -> None:
        self.look(x)
        x[0] = -1.0
        self.factor *= 1.5

    def fail(self, x: Any) -> None:
        if len(self.seen) == 3:
            raise KeyError("three are enough")
        self.look(x)


FACTOR = 1.0


def change_global(x: Any) -> None:
    global FACTOR
    FACTOR += 0.25


def callback_gives_an_element(x: Any, n: int, w: Watcher) -> Any:
    for i in range(n):
        x = x * 0.9 + i
        if i % 6 == 0:
            x[0] = w.look(x)
    return x, w.seen, w.kept


def callback_changes(x: Any, n: int, w: Watcher) -> Any:
    for i in range(n):
        x *= w.factor
        if i % 6 == 0:
            w.change(x)
    return x, w.seen, [one is x for one in w.kept]


def callback_of_a_view(x: Any, n: int, w: Watcher) -> Any:
    y = x[::2]
    for i in range(n):
        x += 1.0
        if i % 6 == 0:
            w.change(y)
        y += 0.5
    return x, y, w.seen


def callback_raises(x: Any, n: int, w: Watcher) -> Any:
    for i in range(n):
        x += 1.0
        if i % 6 == 0:
            w.fail(x)
    return x


def changes_a_global(x: Any, n: int, w: Watcher) -> Any:
    change_global.__globals__["FACTOR"] = 1.0
    for i in range(n):
        x = x * FACTOR
        if i % 6 == 2:
            change_global(x)
    return x


def held_iterator(x: Any, n: int, w: Watcher) -> Any:
    numbers = iter(range(n))
    for i in numbers:
        x = x + i
        if i % 6 == 2:
            w.look(x)
            x = x + next(numbers)
    return x, list(numbers)


def held_range(x: Any, n: int, w: Watcher) -> Any:
    numbers = range(n)
    for i in numbers:
        x = x + i
        if i % 6 == 2:
            w.kept.append(numbers)
            w.look(x)
    return x, all(one is numbers for one in w.kept[::2]), len(w.kept)


def changes_the_bounds(x: Any, n: int, w: Watcher) -> Any:
    for i in range(n):
        x = x + i
        if i % 6 == 2:
            n = int(w.look(x))
            i = 100
    return x, n, i


def sees_numbers(x: Any, n: int, w: Watcher) -> Any:
    last, total, k = -1, 0.0, 2
    for i in range(n):
        x = x + i
        total += 0.5
        k = k * 3 % 1001
        if i % 6 == 2:
            w.seen.append((i, last, total, k))
            last = i
    return x, w.seen, last, total, k


def in_a_generator(x: Any, n: int, w: Watcher) -> Any:
    def steps() -> Iterator[Any]:
        y = x
        for i in range(n):
            y = y + i
            if i % 6 == 2:
                w.look(y)
            yield y

    return sum(steps()), w.seen


def has_a_closure(x: Any, n: int, w: Watcher) -> Any:
    total = x

    def add(i: int) -> None:
        nonlocal total
        total = total + i

    for i in range(n):
        add(i)
        if i % 6 == 2:
            w.look(total)
    return total, w.seen


def in_a_try(x: Any, n: int, w: Watcher) -> Any:
    try:
        for i in range(n):
            x += 1.0
            if i % 6 == 2:
                w.fail(x)
    except KeyError:
        x -= 100.0
    return x, i


def tries_inside(x: Any, n: int, w: Watcher) -> Any:
    for i in range(n):
        x += 1.0
        if i % 6 == 2:
            try:
                w.fail(x)
            except KeyError:
                x -= 100.0
    return x, w.seen


def asks_for_locals(x: Any, n: int, w: Watcher) -> Any:
    for i in range(n):
        x = x + 1.0
        if i % 6 == 2:
            w.seen.append(sorted(locals()))
    return x, w.seen


def deep_stack(x: Any, n: int, w: Watcher) -> Any:
    found = [x, (n, [x.sum() for k in range(3)])]
    for a in (1, 2):
        for i in range(n):
            x = x + i * a
            if i % 6 == 2:
                w.look(x)
    return found, x


HOSTILE = (
    callback_gives_an_element, callback_changes, callback_of_a_view, callback_raises, changes_a_global, held_iterator,
    held_range, changes_the_bounds, sees_numbers, in_a_generator, has_a_closure, in_a_try, tries_inside,
    asks_for_locals, deep_stack,
)  # fmt: skip


@pytest.mark.parametrize("fn", HOSTILE, ids=lambda fn: str(fn.__name__))
def test_what_runs_in_between(fn: Callable[..., Any], leave: int) -> None:
    require_equal(
        fn, lambda: (np.arange(1.0, 7.0), 33, Watcher()), variants=[lambda: (np.arange(1.0, 4.0), 8, Watcher())],
        compile=dynamo_lite.compile, compile_options={"backend": "numba", "options": Options}, calls=2,
    )  # fmt: skip


def test_an_interrupt_in_between() -> None:
    class Interrupts:
        count = 0

        def __call__(self, x: Any) -> None:
            self.count += 1
            if self.count == 3:
                raise KeyboardInterrupt

    def steps(x, n, call):  # type: ignore[no-untyped-def]
        for i in range(n):
            x += 1.0
            if i % 10 == 9:
                call(x)
        return x

    fast = compiled(steps)
    for _ in range(3):
        x = np.zeros(4)
        with pytest.raises(KeyboardInterrupt) as raised:
            fast(x, 100, Interrupts())
        assert x.tolist() == [30.0] * 4
        assert [entry.name for entry in raised.traceback][1:] == ["steps", "__call__"]


@pytest.mark.usefixtures("no_mode")
def test_what_is_kept_dies_with_its_keeper() -> None:
    def steps(x, n, keep):  # type: ignore[no-untyped-def]
        for i in range(n):
            x = x + 1.0
            if i % 10 == 9:
                keep(x)
        return x

    kept: list[Any] = []
    alive: list[list[bool]] = []

    def note(x: Any) -> None:
        alive.append([one() is not None for one in kept])
        kept.append(weakref.ref(x))

    for fn in (steps, compiled(steps), compiled(steps)):
        kept.clear()
        alive.clear()
        fn(np.zeros(4), 50, note)
        assert alive == [[False] * k for k in range(5)]


@pytest.mark.usefixtures("no_mode")
def test_a_signal_in_between() -> None:
    """The loop is left for a signal, and for a print, and goes on behind each."""

    def steps(x, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            x = x * 0.5 + 1.0
            if i % 1_000_000 == 999_999:
                print(i)
        return x, i

    count = 0

    def handler(number: int, frame: types.FrameType | None) -> None:
        nonlocal count
        count += 1

    fast = compiled(steps)
    fast(np.ones(4), 10)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        x, i = fast(np.ones(4), 20_000_000)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert x.tolist() == [2.0] * 4 and i == 19_999_999 and count
    assert fast.stats()["leaves"] >= 20 and not fast.stats()["declines"], fast.explain()


@pytest.mark.usefixtures("no_mode")
def test_threads_in_between(capsys: pytest.CaptureFixture[str]) -> None:
    def steps(x, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            x = x * 0.5 + 1.0
            if i % 300_000 == 7:
                print(i)
        return x, i

    fast = compiled(steps)
    fast(np.ones(4), 100)
    stop, turns = threading.Event(), 0

    def work() -> None:
        nonlocal turns
        while not stop.is_set():
            turns += 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        x, i = fast(np.ones(4), 3_000_000)
    finally:
        stop.set()
        thread.join()
    assert x.tolist() == [2.0] * 4 and i == 2_999_999 and turns
    assert capsys.readouterr().out.split() == [str(k) for k in (7, *range(7, 3_000_000, 300_000))]
    assert not fast.stats()["declines"], fast.explain()

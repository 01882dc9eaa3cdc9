"""Loops in `try` and `with` blocks, whose iterations break the graph there and go on natively at the next back edge."""

from __future__ import annotations

import contextlib
import gc
import itertools
import signal
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests import watched
from tests.programs.managers import LOG, Block

OPTIONS = {"cost_model": False}


class Dies:
    def __init__(self, name: Any) -> None:
        self.name = name

    def __del__(self) -> None:
        LOG.append(("dies", self.name))


def fails(i: int) -> None:
    LOG.append((i, sys.exc_info()[0]))
    raise ValueError(i)


def seen(error: BaseException) -> Any:
    """What a handler finds out of an exception."""
    around = error.__context__
    lines = [(at.name, at.lineno) for at in traceback.extract_tb(error.__traceback__)]
    return repr(error), lines, sys.exc_info()[1] is error, None if around is None else seen_around(around)


def seen_around(error: BaseException) -> Any:
    return repr(error), [(at.name, at.lineno) for at in traceback.extract_tb(error.__traceback__)]


def in_try(x: Any, n: int) -> Any:
    try:
        for i in range(n):
            x = np.sqrt(x * x + 1.0) - x * 0.25
            if i % 3 == 0:
                LOG.append((i, str(x[0])))
    except KeyError:
        LOG.append("no")
    return x


def in_try_with_finally(x: Any, n: int) -> Any:
    try:
        for i in range(n):
            x = np.sqrt(x * x + 1.0) - x * 0.25
            if i == 9:
                fails(i)
            LOG.append(i)
    finally:
        LOG.append(("finally", sys.exc_info()[0], float(x[0])))
    return x


def in_with(x: Any, n: int) -> Any:
    with Block() as block:
        for i in range(n):
            x = np.sqrt(x * x + 1.0) - x * 0.25
            if i % 3 == 0:
                LOG.append((i, type(block).__name__))
            if i == 10:
                fails(i)
    return x


def in_two_that_swallow(x: Any, n: int) -> Any:
    with Block(True), Block():
        i = 0
        while i < n:
            x = np.sqrt(x * x + 1.0) - x * 0.25
            i += 1
            LOG.append(i)
            if i == 8:
                fails(i)
    return x, i


def in_the_loop(x: Any, n: int) -> Any:
    last = None
    for i in range(n):
        x = np.sqrt(x * x + 1.0) - x * 0.25
        try:
            x = x * 0.5 + i
            if i % 3 == 1:
                fails(i)
        except ValueError as error:
            LOG.append(seen(error))
            last = str(error)
        else:
            LOG.append("else")
        finally:
            LOG.append(("finally", i, sys.exc_info()))
    return x, last


def one_in_another(x: Any, n: int) -> Any:
    for i in range(n):
        try:
            for j in range(4):
                x = np.sqrt(x * x + 1.0) - x * 0.25 * j
                try:
                    if (i + j) % 3 == 0:
                        fails(i)
                    x = x + 0.125
                except KeyError:
                    LOG.append("no")
                finally:
                    LOG.append(j)
        except ValueError as error:
            LOG.append(seen(error))
    return x, j


def raises_another(x: Any, n: int) -> Any:
    for i in range(n):
        x = np.sqrt(x * x + 1.0) - x * 0.25
        try:
            LOG.append(i)
            if i == 7:
                fails(i)
        except ValueError as error:
            raise KeyError(i) from error
        x = x * 0.75
    return x


def leaves_by_return(x: Any, n: int) -> Any:
    for i in range(n):
        with Block():
            x = np.sqrt(x * x + 1.0) - x * 0.25
            LOG.append(i)
            if i == 8:
                return x, i
            x = x * 0.75
    return x


def leaves_by_break_and_continue(x: Any, n: int) -> Any:
    for i in range(n):
        try:
            x = np.sqrt(x * x + 1.0) - x * 0.25
            if i % 3 == 1:
                LOG.append(("continue", i))
                continue
            if i == 9:
                LOG.append(("break", i))
                break
            x = x * 0.75
        finally:
            LOG.append(("finally", i))
    else:
        LOG.append("else")
    return x, i


def index_out_of_range(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        x = np.sqrt(x * x + 1.0) - x * 0.25
        try:
            total += x[i]
            LOG.append(i)
        except IndexError as error:
            LOG.append(seen(error))
            total -= 1.0
    return x, total


def of_floating_point(x: Any, n: int) -> Any:
    with np.errstate(divide="raise"):
        for i in range(n):
            try:
                x = x * 0.5 + 1.0 / (x - x + (i - 6))
                LOG.append(i)
            except FloatingPointError as error:
                LOG.append(seen(error))
    return x


def of_groups(x: Any, n: int) -> Any:
    for i in range(n):
        x = np.sqrt(x * x + 1.0) - x * 0.25
        try:
            LOG.append(i)
            if i % 4 == 2:
                raise ExceptionGroup("some", [ValueError(i), KeyError(i)])
        except* ValueError as group:
            LOG.append([repr(error) for error in group.exceptions])
        except* KeyError:
            LOG.append("key")
    return x


def in_a_handler(x: Any, n: int) -> Any:
    try:
        fails(n)
    except ValueError:
        for i in range(n):
            x = np.sqrt(x * x + 1.0) - x * 0.25
            LOG.append((i, sys.exc_info()[0]))
    return x, sys.exc_info()


def objects_die(x: Any, n: int) -> Any:
    kept = None
    try:
        for i in range(n):
            x = np.sqrt(x * x + 1.0) - x * 0.25
            kept = Dies(i)
            LOG.append(("made", i))
            if i == 7:
                del kept
                fails(i)
    except ValueError as error:
        LOG.append(seen(error))
    LOG.append("end")
    return x


def over_a_generator(x: Any, n: int) -> Any:
    def numbers() -> Iterator[int]:
        try:
            yield from range(n)
        finally:
            LOG.append("closed")

    with contextlib.suppress(ValueError):
        for i in numbers():
            x = np.sqrt(x * x + 1.0) - x * 0.25
            LOG.append(i)
            if i == 8:
                fails(i)
    return x


def shared_by_inner_functions(x: Any, n: int) -> Any:
    count = 0

    def counts() -> None:
        nonlocal count
        count += 1
        if count % 4 == 0:
            raise ValueError(count)

    for i in range(n):
        x = np.sqrt(x * x + 1.0) - x * 0.25 * i
        try:
            counts()
        except ValueError as error:
            LOG.append(seen(error))
    return x, count


def asks_for_locals(x: Any, n: int) -> Any:
    for i in range(n):
        try:
            x = np.sqrt(x * x + 1.0) - x * 0.25 * i
            LOG.append(sorted(locals()))
            if i == 3:
                fails(i)
        except ValueError:
            late = i
    return x, late


PROGRAMS: list[Callable[..., Any]] = [
    in_try,
    in_try_with_finally,
    in_with,
    in_two_that_swallow,
    in_the_loop,
    one_in_another,
    raises_another,
    leaves_by_return,
    leaves_by_break_and_continue,
    index_out_of_range,
    of_floating_point,
    of_groups,
    in_a_handler,
    objects_die,
    over_a_generator,
    shared_by_inner_functions,
    asks_for_locals,
]


def observed(function: Callable[..., Any], n: int) -> tuple[Any, ...]:
    """What a call gives or raises, where, what is logged, and what becomes of the argument."""
    LOG.clear()
    x = np.linspace(0.25, 2.0, 8)
    try:
        result = repr(function(x, n))
    except Exception as error:
        lines = [(at.name, at.lineno) for at in traceback.extract_tb(error.__traceback__)[1:]]
        result = f"{error!r} {lines} {error.__context__!r} {error.__cause__!r}"
        del error
    return result, tuple(LOG), x.tobytes(), sys.exc_info()


@pytest.mark.parametrize("backend", ["numba", "reference"])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: str(function.__name__))
def test_loops_in_handlers_are_those_of_plain_python(function: Callable[..., Any], backend: str) -> None:
    for options in ({}, OPTIONS, {**OPTIONS, "native_loops": False}, {**OPTIONS, "check": 1}):
        fast = dynamo_lite.compile(function, backend=backend, options=options)
        for n in (12, 3, 0, 12, 20, 12):
            assert observed(fast, n) == observed(function, n), (options, n)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: str(function.__name__))
def test_the_same_where_running_loops_are_entered(function: Callable[..., Any]) -> None:
    for compile_ in (watched.compile, watched.compile_loops):
        fast = compile_(function, backend="numba")
        for n in (12, 3, 0, 12, 20, 12):
            assert observed(fast, n) == observed(function, n), (compile_.__name__, n)
        assert not fast.stats()["failed"]  # type: ignore[attr-defined]


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("function", [in_try, in_the_loop, one_in_another, shared_by_inner_functions])
def test_a_segment_goes_on_at_each_back_edge(function: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(function, options=OPTIONS)
    observed(fast, 40)
    natively = fast.stats()["native_calls"]
    for _ in range(3):
        observed(fast, 40)
    assert fast.stats()["native_calls"] - natively > 30


@pytest.mark.parametrize("function", [in_try, in_the_loop, one_in_another, shared_by_inner_functions])
def test_each_round_goes_on_in_the_same_code(function: Callable[..., Any]) -> None:
    for compile_ in (watched.compile, watched.compile_loops):
        fast = compile_(function, backend="numba")
        observed(fast, 10)
        few = fast.stats().get("compiles", 0)  # type: ignore[attr-defined]
        observed(fast, 60)
        assert fast.stats().get("compiles", 0) <= few + 4  # type: ignore[attr-defined]


@pytest.mark.usefixtures("no_mode")
def test_loops_that_come_back_in_vain_are_plain_soon() -> None:
    fast = dynamo_lite.compile(shared_by_inner_functions)
    for _ in range(40):
        observed(fast, 200)
    natively = fast.stats()["native_calls"]
    for _ in range(10):
        observed(fast, 200)
    assert fast.stats()["native_calls"] - natively < 200


def in_with_a_signal(x: Any, n: int) -> Any:
    with Block(True):
        for i in range(n):
            if i % 16 == 0:
                LOG.append(i)
            x = np.sqrt(x * x + 1.0) - x * 0.25  # NB: from 3.13 on no handler covers a jump back behind an `if`
    return x


@pytest.mark.parametrize("delay", [0.002, 0.01, 0.02, 0.03, 0.05, 0.08])
def test_the_handlers_around_a_loop_see_what_a_signal_raises(delay: float) -> None:
    fast = dynamo_lite.compile(in_with_a_signal, options=OPTIONS)
    for warm in (0, 64):
        fast(np.ones(8), warm)
        LOG.clear()
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            fast(np.ones(8), 10**9)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)
        assert LOG[0] == "enter" and LOG[-1][:2] == ("exit", KeyboardInterrupt)
        numbers = LOG[1:-1]
        assert numbers == list(range(0, 16 * len(numbers), 16))  # nothing is done twice, or not at all


class Plain:
    """What a `with` enters and leaves, which capture can go through."""

    def __enter__(self) -> Plain:
        self.entered = True
        return self

    def __exit__(self, *error: Any) -> bool:
        self.entered = False
        LOG.append(("exit", error[0]))
        return True


def long_loop(x: Any, n: int) -> Any:
    for _ in range(n):
        x = np.sqrt(x * x + 1.0) - x * 0.25
    return x


def inlined_in_try(x: Any, n: int) -> Any:
    try:
        x = long_loop(x, n)
    except KeyboardInterrupt:
        LOG.append(("exit", KeyboardInterrupt))
    return x


def inlined_with_its_try(x: Any, n: int) -> Any:
    return inlined_in_try(x, n), n


def inlined_in_finally(x: Any, n: int) -> Any:
    try:
        return long_loop(x, n)
    finally:
        LOG.append(("exit", sys.exc_info()[0]))


def in_a_manager_made_here(x: Any, n: int) -> Any:
    with Plain():
        for _ in range(n):
            x = np.sqrt(x * x + 1.0) - x * 0.25
    return x


def inlined_in_a_manager(x: Any, n: int) -> Any:
    with np.errstate(all="ignore"), Plain():
        x = long_loop(x, n)
    return x


def beside_a_generator(x: Any, n: int) -> Any:
    numbers = (k * 2 for k in range(3))
    try:
        for _ in range(n):
            x = np.sqrt(x * x + 1.0) - x * 0.25
    except KeyboardInterrupt:
        LOG.append(("exit", KeyboardInterrupt))
    return x, list(numbers)


AROUND = [inlined_in_try, inlined_with_its_try, inlined_in_finally, in_a_manager_made_here]
AROUND += [inlined_in_a_manager, beside_a_generator]


@pytest.mark.parametrize("function", AROUND)
def test_what_a_signal_raises_in_a_loop_is_handled_around_it(function: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(function, options=OPTIONS)
    for _ in range(2):
        assert repr(fast(np.ones(8), 300)) == repr(function(np.ones(8), 300))
    assert "native" in {loop.outcome for loop in fast.explain().loops}
    for delay in (0.02, 0.04):
        LOG.clear()
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            with contextlib.suppress(KeyboardInterrupt):
                fast(np.ones(8), 10**9)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)
        assert [("exit", KeyboardInterrupt)] == LOG


def nest_in_try(x: Any, n: int, m: int) -> Any:
    try:
        for i in range(m):
            total = 0.0
            for k in range(n):
                total += x[k % 8] * 0.5
            x[i % 8] = total / n
    finally:
        LOG.append(("exit", sys.exc_info()[0]))
    return x


def test_a_signal_waits_for_the_end_of_an_iteration_where_it_is_handled() -> None:
    """Others wait 50 ms, and an iteration of this takes longer."""
    fast = dynamo_lite.compile(nest_in_try, options=OPTIONS)
    for _ in range(2):
        assert repr(fast(np.ones(8), 30, 5)) == repr(nest_in_try(np.ones(8), 30, 5))
    LOG.clear()
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            fast(np.ones(8), 2 * 10**7, 10**6)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert [("exit", KeyboardInterrupt)] == LOG


@pytest.mark.parametrize("form", ["comprehension", "sum", "product"])
def test_loops_that_could_be_left_nowhere_stay_in_the_graph(form: str) -> None:
    def in_a_try(n: int) -> Any:
        try:
            if form == "comprehension":
                return np.array([k * 0.5 for k in range(n)]) * 2.0
            if form == "sum":
                return sum(k * 0.5 for k in range(n))
            total = 0.0
            for a, b in itertools.product(range(n), range(3)):
                total = total * 0.5 + a - b
            return total
        except KeyError:
            return None

    fast = dynamo_lite.compile(in_a_try, options=OPTIONS)
    for n in (500, 600):
        assert repr(fast(n)) == repr(in_a_try(n))
    assert {loop.outcome for loop in fast.explain().loops} == {"native"}


def test_a_short_loop_in_a_try_stays_in_the_graph() -> None:
    def short(x: Any) -> Any:
        numbers = (k * 2 for k in range(3))
        try:
            for _ in range(40):
                x = np.sqrt(x * x + 1.0) - x * 0.25
            return x, list(numbers)
        except ValueError:
            return None

    fast = dynamo_lite.compile(short, fullgraph=True, options=OPTIONS)
    assert repr(fast(np.ones(8))) == repr(short(np.ones(8)))


@pytest.mark.parametrize("function", [in_try, in_the_loop, one_in_another, in_with])
def test_nothing_is_held_on_to(function: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(function, options=OPTIONS)
    for _ in range(4):
        observed(fast, 12)
    x = np.ones(8)
    count, died = sys.getrefcount(x), []
    for _ in range(3):
        with contextlib.suppress(ValueError):
            weakref.finalize(fast(x, 9)[0] if isinstance(fast(x, 9), tuple) else fast(x, 9), died.append, 1)
    LOG.clear()
    gc.collect()
    assert sys.getrefcount(x) == count and len(died) == 3


def caught_at_once(n: int, x: Any) -> Any:
    caught = 0
    for i in range(n):
        x = x + 1.0
        if i == 9:
            continue
        try:
            raise ValueError(i)
        except ValueError:
            caught += 1
    return caught, x


def caught_in_a_nest(n: int, x: Any) -> Any:
    pairs, caught = [(k * 0.5, k) for k in range(5)], 0
    for _, (t, k) in enumerate(pairs):
        x = x + t
        for i in range(n):
            if i == 9:
                continue
            try:
                raise ValueError(i)
            except ValueError:
                caught += k
    return caught, x


@pytest.mark.parametrize("backend", ["numba", "reference"])
@pytest.mark.parametrize("compiler", [dynamo_lite.compile, watched.compile_loops])
@pytest.mark.parametrize("plain", [caught_at_once, caught_in_a_nest])
def test_what_each_iteration_raises_and_handles_goes_round_in_the_loop(plain: Any, compiler: Any, backend: str) -> None:
    fast = compiler(plain, backend=backend, options=OPTIONS)
    for n in (7, 8, 9, 10, 12) * 4:
        assert repr(fast(n, np.ones(3))) == repr(plain(n, np.ones(3)))

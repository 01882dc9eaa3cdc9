"""What an inlined function catches, of exceptions that are certain to come, does not break the graph."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.copies import copies_of
from tests.oracle import require_equal

OPTIONS = {"options": {"check": 1, "cost_model": False}}


def size_of(v: Any) -> Any:
    try:
        return len(v)
    except TypeError:
        return 1


def axes_of(v: Any) -> Any:
    try:
        return v.ndim
    except (KeyError, AttributeError):
        return np.asarray(v).ndim


def through_frames(v: Any) -> Any:
    try:
        return 10 * measured(v)
    except Exception as error:
        return 5 if error is not None else 6


def measured(v: Any) -> Any:
    try:
        return len(v)
    except KeyError:
        return 7
    finally:
        v = 3


def used(v: Any) -> Any:
    try:
        return len(v)
    except TypeError as error:
        return len(str(error))


def uncaught(v: Any) -> Any:
    try:
        return len(v)
    except ValueError:
        return 2


def in_loop(v: Any) -> Any:
    total = 0
    for _ in range(3):
        total += size_of(v)
    return total


CAUGHT = [size_of, axes_of, through_frames, in_loop]


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("number", [3, 2.5, True, np.float64(1.5)], ids=repr)
@pytest.mark.parametrize("helper", CAUGHT)
def test_a_caught_exception(compiler: Callable[..., Any], helper: Callable[[Any], Any], number: Any) -> None:
    def both(x: Any, n: Any) -> Any:
        return x * helper(n) + helper(x)

    report = require_equal(
        both, copies_of(np.linspace(0, 1, 50), number), compile=compiler, compile_options=OPTIONS, calls=2
    )
    assert report.stats["native_calls"] >= 1
    assert not report.compiled.explain().breaks


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("helper", [used, uncaught])
def test_what_is_looked_at_or_not_caught_is_plain_pythons(
    compiler: Callable[..., Any], helper: Callable[[Any], Any]
) -> None:
    def both(x: Any, n: Any) -> Any:
        return x * helper(n) + helper(x)

    require_equal(both, copies_of(np.linspace(0, 1, 50), 3), compile=compiler, compile_options=OPTIONS, calls=2)


def test_numpys_own_functions_that_try(compiler: Callable[..., Any]) -> None:
    def slopes(x: Any) -> Any:
        return np.gradient(x) + np.gradient(x, 0.5), np.ndim(2.0), np.size(3)

    report = require_equal(
        slopes, copies_of(np.linspace(0, 1, 50) ** 2), compile=compiler, compile_options=OPTIONS, calls=2
    )
    assert not report.compiled.explain().breaks


def own_truth(x: Any) -> Any:
    root = np.sqrt(x)
    zero = root == 0.0
    try:
        if zero:
            return 0.0
    except ValueError:
        pass
    with np.errstate(invalid="ignore", divide="ignore"):
        part = x / root
    if np.any(zero):
        part[zero] = 0.0
    return part


def own_length(x: Any) -> Any:
    try:
        n = len(x)
    except (KeyError, TypeError):
        n = 7
    return x * n


def own_returns(x: Any) -> Any:
    try:
        return x * len(x)
    except TypeError:
        return x + 1.0


def own_nested(x: Any) -> Any:
    try:
        try:
            n = len(x)
        except AttributeError:
            n = 1
        finally:
            y = x * 2.0
    except TypeError:
        n, y = 3, x
    total = y * n
    for k in range(3):
        try:
            total = total + len(x) * k
        except TypeError:
            total = total - k
    return total


def own_prints(x: Any) -> Any:
    y = x * 2.0
    try:
        n = len(x)
    except TypeError as error:
        print("no length", error)
        n = 1
    return y * n


def own_looks(x: Any) -> Any:
    y = x * 2.0
    try:
        n = len(x)
    except TypeError:
        n = len(str(sys.exc_info()[1]))
    return y + n


def own_raises(x: Any) -> Any:
    try:
        return bool(x > 2.0)
    except ValueError as error:
        raise KeyError("several") from error


def own_uncaught(x: Any) -> Any:
    y = x + 1.0
    try:
        if y > 3.0:
            return y
    except TypeError:
        return 1
    finally:
        y = y * 2.0
    return y


def own_goes_on(x: Any) -> Any:
    try:
        n = len(x)
    except TypeError:
        n = 2
    print(n)
    y = x * n
    print("on")
    return y + 1.0


OWN = [own_truth, own_length, own_returns, own_nested, own_prints, own_looks, own_raises, own_uncaught, own_goes_on]
GIVEN = [3.0, np.float64(2.5), np.linspace(0, 1, 50), np.ones(1), np.zeros(1), np.arange(6.0).reshape(2, 3)]


@pytest.mark.parametrize("function", OWN)
def test_exceptions_in_the_own_frame(compiler: Callable[..., Any], function: Callable[[Any], Any]) -> None:
    first, *rest = (copies_of(one) for one in GIVEN)
    options = {"options": {**OPTIONS["options"], "recompile_limit": 100}}
    require_equal(function, first, variants=rest, compile=compiler, compile_options=options, calls=2)


@pytest.mark.usefixtures("no_mode")
def test_what_the_own_frame_catches_breaks_nothing(compiler: Callable[..., Any]) -> None:
    for function, given in ((own_length, GIVEN[1]), (own_returns, GIVEN[1]), (own_nested, GIVEN[1])):
        report = require_equal(function, copies_of(given), compile=compiler, compile_options=OPTIONS, calls=2)
        assert not report.compiled.explain().breaks, function
    report = require_equal(own_truth, copies_of(GIVEN[2]), compile=compiler, compile_options=OPTIONS, calls=2)
    assert not report.compiled.explain().breaks


class Notes:
    """Notes what is being handled where it is written to."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __setitem__(self, key: Any, value: Any) -> None:
        self.seen.append(sys.exc_info()[0])

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "seen":
            self.seen.append(sys.exc_info()[0])
        object.__setattr__(self, name, value)


def stores_last(x: Any, notes: Any) -> Any:
    y = np.sin(x)
    try:
        y = y * len(x)
    except TypeError:
        notes[0] = y
    return y


def stores_last_by_name(x: Any, notes: Any) -> Any:
    y = np.sin(x)
    try:
        y = y * len(x)
    except TypeError as error:  # noqa: F841
        notes[1] = y
    return y


def sets_last(x: Any, notes: Any) -> Any:
    y = np.sin(x)
    try:
        y = y * len(x)
    except TypeError:
        notes.last = y
    return y


def tries_in_a_handler(x: Any, notes: Any) -> Any:
    y = np.sin(x)
    try:
        y = y * len(x)
    except TypeError:
        try:
            notes[0] = y
            y = y * 2.0
        except KeyError:
            y = y * 3.0
    return y


def tries_in_a_handler_by_name(x: Any, notes: Any) -> Any:
    y = np.sin(x)
    try:
        y = y * len(x)
    except TypeError as error:  # noqa: F841
        for k in range(2):
            with np.errstate(all="ignore"):
                try:
                    notes[k] = y
                finally:
                    y = y * 2.0
    return y


def tries_in_the_end(x: Any, notes: Any) -> Any:
    y = np.sin(x)
    try:
        try:
            y = y * len(x)
        finally:
            try:
                notes[1] = y
                y = y * 2.0
            except KeyError:
                y = y * 3.0
    except TypeError:
        y = y * 4.0
    return y


BREAKS = [stores_last, stores_last_by_name, sets_last, tries_in_a_handler, tries_in_a_handler_by_name, tries_in_the_end]


@pytest.mark.parametrize("function", BREAKS)
def test_what_breaks_the_graph_in_a_handler_sees_the_exception(
    compiler: Callable[..., Any], function: Callable[[Any, Any], Any]
) -> None:
    fast = compiler(function, **OPTIONS)
    for x in (0.5, 0.25, np.ones(3), 2.0):
        wanted, got = Notes(), Notes()
        assert repr(fast(x, got)) == repr(function(x, wanted))
        assert got.seen == wanted.seen

"""Objects die in compiled functions when they die in plain Python: at a rebinding, a `del`, the end of a call.

Each function logs what it does, and the deaths of what it made; both logs have to be equal, call after call. The log
is written by list.append, which is a graph break, so nearly all of these objects are passed on by resume functions.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C, stress
from dynamo_lite.config import config

LOG: list[str] = []


class Thing:
    """Says when it dies."""

    def __init__(self, name: str = "thing") -> None:
        self.name = name

    def __del__(self) -> None:
        LOG.append(f"{self.name} died")


def watch(value: Any, name: str) -> Any:
    """Have the death of `value` logged; the caller must keep what this returns."""
    return weakref.ref(value, lambda ref: LOG.append(f"{name} died"))


def rebinding(x: Any) -> Any:
    thing = Thing()
    y = x * 2.0
    LOG.append("a")
    thing = None
    LOG.append("b")
    return y, thing


def deleting(x: Any) -> Any:
    thing = Thing()
    y = x * 2.0
    LOG.append("a")
    del thing
    LOG.append("b")
    return y + 1.0


def deleting_before_array_code(x: Any) -> Any:
    thing = Writer(x)
    LOG.append("a")
    del thing
    y = x * 2.0
    LOG.append("b")
    return y


class Writer:
    """Changes an array when it dies."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __del__(self) -> None:
        self.array[0] = 99.0


def arrays(x: Any) -> Any:
    y = x * 2.0
    kept = watch(y, "y")
    LOG.append("a")
    y = y + 1.0
    LOG.append("b")
    z = y * y
    kept = kept, watch(y, "second y")
    LOG.append("c")
    del y
    LOG.append("d")
    return z.sum()


def temporaries(x: Any) -> Any:
    kept = watch(x * 2.0, "temporary")
    LOG.append("a")
    kept = kept, watch([x + 1.0][0], "item")
    LOG.append("b")
    return len(kept)


def on_the_stack(x: Any) -> Any:
    return (Thing("first"), LOG.append("between"), x * 2.0)[2] + (LOG.append("behind") or 1.0)


def in_a_loop(x: Any) -> Any:
    for i in range(3):
        thing = Thing(f"thing {i}")
        x = x * 2.0
        LOG.append(thing.name)
    LOG.append("end")
    return x


def deleting_in_a_loop(x: Any) -> Any:
    for i in range(3):
        thing = Thing(f"thing {i}")
        x = x + 1.0
        LOG.append("made")
        del thing
        LOG.append("deleted")
    return x


def raising(x: Any) -> Any:
    thing = Thing()
    y = x * 2.0
    LOG.append("a")
    raise ValueError(thing.name, y.shape)


def catching(x: Any) -> Any:
    try:
        raising(x)
    except ValueError as error:
        LOG.append(str(error.args))
        del error
        LOG.append("error deleted")
    LOG.append("behind")
    return x + 1.0


def many(x: Any) -> Any:
    a = b = c = d = e = f = g = h = i = j = k = m = n = x
    o = p = q = r = s = t = u = v = w = z = aa = bb = cc = dd = Thing()
    y = x * 2.0
    LOG.append("a")
    del o, p, q, r, s, t, u, v, w, z, aa, bb, cc
    LOG.append("b")
    del dd
    LOG.append("c")
    return y, (a, b, c, d, e, f, g, h, i, j, k, m, n)[3]


def passing_on(x: Any) -> Any:
    thing = Thing()
    LOG.append("a")
    taken = takes(thing, x)
    LOG.append("b")
    thing = takes(None, taken)
    LOG.append("c")
    return thing


def takes(thing: Any, x: Any) -> Any:
    LOG.append("taken")
    del thing
    LOG.append("let go")
    return x * 2.0


def unbound(x: Any) -> Any:
    thing = Thing()
    LOG.append("a")
    del thing
    y = x * 2.0
    LOG.append("b")
    return y, thing  # noqa: F821


FUNCTIONS: list[Callable[..., Any]] = [
    rebinding,
    deleting,
    deleting_before_array_code,
    arrays,
    temporaries,
    on_the_stack,
    in_a_loop,
    deleting_in_a_loop,
    raising,
    catching,
    many,
    passing_on,
    unbound,
]


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    """What dies only when garbage is collected is no match for what dies at once."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def observed(function: Callable[..., Any]) -> tuple[Any, ...]:
    """What a call returns or raises, and what it logs."""
    LOG.clear()
    x = np.arange(4.0)
    try:
        result = function(x)
        text = repr(result)
        del result
    except Exception as error:
        text = repr(error)
    return text, tuple(LOG), x.tolist()


@pytest.mark.parametrize("stress", ["", "break"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: str(function.__name__))
def test_deaths_are_those_of_plain_python(
    function: Callable[..., Any], stress: str, request: pytest.FixtureRequest
) -> None:
    if function is catching:
        request.getfixturevalue("no_mode")  # it breaks in a callee, which the hook captures
    fast: Any = dynamo_lite.compile(function, options={"cost_model": False, "stress": stress})
    plain = observed(function)
    for _ in range(3):
        assert observed(fast) == plain
    assert fast.stats()["breaks"] > 0


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: str(function.__name__))
def test_deaths_under_the_hook(function: Callable[..., Any]) -> None:
    _C.hook_enable(None)
    plain = observed(function)  # CPython's calls hold arguments longer when there is any evaluator but its own
    _C.hook_disable()
    for mode in ("compile", "break"):
        with config.patch(stress=mode):
            stress.enable()
            try:
                found = [observed(function) for _ in range(3)]
            finally:
                stress.disable()
        assert found == [plain] * 3, mode


@pytest.mark.usefixtures("no_mode")
def test_no_reference_is_lost_or_left() -> None:
    """Handing over counts references down and up again, also of objects that live for ever."""
    x, thing, number = np.arange(4.0), Thing("marker"), 12345.678
    held = [x, thing, number, None, 1, "", ()]

    @dynamo_lite.compile(options={"cost_model": False})
    def fast(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, fail: Any) -> Any:
        y = a * 2.0
        LOG.append("a")
        LOG.append("b")
        if fail:
            raise KeyError(b, c, d, e, f, g)
        return y, b, c, d, e, f, g

    for number_of_call in range(1010):
        if number_of_call == 10:
            before = [sys.getrefcount(value) for value in held]
        with contextlib.suppress(KeyError):
            fast(*held, number_of_call % 2)
        LOG.clear()
    after = [sys.getrefcount(value) for value in held]
    assert all(abs(a - b) < 100 for a, b in zip(after, before, strict=True)), (before, after)
    assert after[:3] == before[:3]


def counted_down(a: Any) -> Any:
    """A function that calls itself is in a cell that it refers to, until that is emptied; the print breaks before."""

    def down(n):  # type: ignore[no-untyped-def]
        if n == 0:
            print(end="")
            return a * 0.5
        return down(n - 1)

    result = down(2)
    down = None
    return result


@pytest.mark.parametrize(
    "function",
    [lambda x: counted_down(x) + 1.0, lambda x: (x * 2.0 + counted_down(x), x + 1.0)[0], counted_down],
)
def test_a_capture_lets_go_of_arguments(function: Callable[..., Any], backend: str) -> None:
    fast = dynamo_lite.compile(function, backend=backend, options={"stress": "compile"})
    for call in (function, fast):
        x = np.arange(4.0)
        watch = weakref.ref(x)
        result = call(x)
        del x
        assert watch() is None
        assert result.tobytes() == function(np.arange(4.0)).tobytes()

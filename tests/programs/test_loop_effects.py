"""Loops that change what others can see: attributes, keys, items, globals, and what is printed on the way."""

# ruff: noqa: B007 (globals are what is tested)

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import budget
from tests.programs import random_effects
from tests.programs.loop_cases import OPTIONS, loops_left

SETTINGS = {**OPTIONS, "recompile_limit": 100}
SHOWN: list[Any] = []
LAST: Any = None


class Thing:
    """What loops change."""

    def __init__(self) -> None:
        self.u = np.linspace(0.0, 1.0, 40)
        self.t = 0.5
        self.n = 0
        self.best: Any = 1e9
        self.last: Any = None


class Slotted:
    __slots__ = ("n", "u")

    def __init__(self) -> None:
        self.u, self.n = np.ones(9), 3


class Checked(Thing):
    """Nothing may be deferred here."""

    def __setattr__(self, name: str, value: Any) -> None:
        SHOWN.append(name)
        super().__setattr__(name, value)


class Derived(Thing):
    @property
    def half(self) -> Any:
        return self.u * 0.5

    @half.setter
    def half(self, value: Any) -> None:
        SHOWN.append("half")
        self.u = value * 2.0


def show(*what: Any) -> None:
    SHOWN.append(what)


def attributes(o: Any, n: int) -> Any:
    for i in range(n):
        o.u = o.u * 0.5 + 1.0
        o.t += 0.25
        o.n = i
    return o.u


def own_object(o: Any, n: int) -> Any:
    state = {"u": o.u, "k": 0}
    for i in range(n):
        state["u"] = state["u"] * 0.5
        state["k"] += 2
    return state


def global_last(o: Any, n: int) -> Any:
    global LAST
    x = o.u
    for i in range(n):
        x = x * 0.5
        LAST = i
    return x


def takes_and_puts_back(o: Any, n: int) -> Any:
    stack = [o.u]
    for i in range(n):
        stack.append(stack.pop() * 0.5)
    return stack


def under_choices(o: Any, n: int) -> Any:
    for i in range(n):
        o.u = o.u * 0.9
        if o.u.sum() < 3.0:
            o.last = o.u
            o.t = o.t + 1.0
        else:
            o.n += 1
    return o


def prints_on_data(o: Any, n: int) -> Any:
    x = o.u
    for i in range(n):
        x = x + 0.125
        if x[0] > 1.0:
            show(i, float(x[0]))
            x = x * 0.0
    return x


def prints_on_a_counter(o: Any, n: int) -> Any:
    x, k = o.u, 0
    for i in range(n):
        x, k = x * 0.5, k * 3 % 7 + 1
        if k == 2:
            show(i)
    return x, k


def while_prints(o: Any, n: int) -> Any:
    x, k = o.u, 0
    while k < n:
        x = x + 0.25
        k += 1
        if x[0] > 2.0:
            show(k)
            x = x - 2.0
    return x, k


def notes_progress(o: Any, n: int) -> Any:
    for i in range(n):
        o.u = o.u * 0.5 + 0.25
        o.n = i
        if o.u[0] > 0.49 and i % 5 == 3:
            show(o.n, o.t)
            o.t += 1.0
    return o.n


def returns_from_within(o: Any, n: int) -> Any:
    x = o.u
    for i in range(n):
        for j in range(5):
            x = x * 0.5
            if x.sum() < 1e-3:
                return i, j, x
    return x


NATIVE = [
    *(attributes, own_object, global_last, takes_and_puts_back, prints_on_data, prints_on_a_counter, while_prints),
    *(notes_progress, returns_from_within),
]


def seen(function: Callable[..., Any], called: Callable[..., Any], make: Callable[[], Any], n: int) -> Any:
    """What can be seen after a call."""
    SHOWN.clear()
    thing = make()
    result = called(thing, n)
    held = {name: getattr(thing, name) for name in ("u", "t", "n", "last") if hasattr(thing, name)}
    one = [name for name, value in held.items() if value is result]
    return repr((result if result is not thing else "itself", held, one, SHOWN, LAST))


@pytest.mark.parametrize("leave", [0, 2])
@pytest.mark.parametrize("function", [*NATIVE, under_choices])
def test_what_is_seen(function: Callable[..., Any], leave: int) -> None:
    fast = dynamo_lite.compile(function, options=SETTINGS)
    for n in (30, 31, 0, 1, 40):
        wanted = seen(function, function, Thing, n)
        with loops_left(leave):
            got = seen(function, fast, Thing, n)
        assert got == wanted
    if function in NATIVE and not leave:
        assert "native" in {loop.outcome for loop in fast.explain().loops}


@pytest.mark.parametrize("cls", [Slotted, Checked, Derived])
def test_unusual_classes(cls: type) -> None:
    def function(o: Any, n: int) -> Any:
        for i in range(n):
            o.u = o.u * 0.5
            o.n = o.n + 1
        if hasattr(o, "half"):
            o.half = o.u
        return o.u

    fast = dynamo_lite.compile(function, options=SETTINGS)
    for n in (30, 31, 2):
        assert seen(function, fast, cls, n) == seen(function, function, cls, n)


def test_one_object_under_two_names() -> None:
    def function(a: Any, b: Any, n: int) -> Any:
        for i in range(n):
            a.u = a.u * 0.5
            b.u = b.u + 1.0
        return a.u

    fast = dynamo_lite.compile(function, options=SETTINGS)
    for same in (False, True, False, True):
        found = []
        for called in (function, fast):
            a = Thing()
            b = a if same else Thing()
            called(a, b, 20)
            found.append((a.u.tolist(), b.u.tolist()))
        assert found[0] == found[1]


def test_what_dies_is_seen_to_die() -> None:
    class Loud:
        def __del__(self) -> None:
            SHOWN.append("died")

    def function(o: Any, n: int) -> Any:
        x = o.u
        for i in range(n):
            x = x * 0.5
            o.last = x
        return x

    fast = dynamo_lite.compile(function, options=SETTINGS)
    for called in (function, fast, fast):
        thing = Thing()
        thing.last = Loud()
        SHOWN.clear()
        called(thing, 20)
        assert SHOWN == ["died"]


def test_often_left_loops_are_not_left_any_more() -> None:
    def function(x: Any, n: int) -> Any:
        for i in range(n):
            x = x + 1.0
            if x[0] > 0.0:
                show(repr(i))
        return x

    fast = dynamo_lite.compile(function, options=SETTINGS)
    SHOWN.clear()
    for _ in range(4):
        fast(np.ones(40), 60)
    assert len(SHOWN) == 240
    assert {loop.outcome for loop in fast.explain().loops} == {"segments"}


@pytest.mark.skipif(sys.platform == "win32", reason="no timers")
@pytest.mark.parametrize("inner", [1, 2_000_000])
def test_an_interrupt_finds_what_has_been_stored(inner: int) -> None:
    def function(o: Any, u: Any, n: int, m: int) -> None:
        for i in range(n):
            o.n = o.n + 1
            for j in range(m):
                u += 1.0
                o.t = o.t + 1.0

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    fast = dynamo_lite.compile(function, options=SETTINGS)
    fast(Thing(), np.zeros(4), 20, inner % 1000 + 1)
    fast(Thing(), np.zeros(4), 20, inner % 1000 + 1)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for delay in (0.05, 0.12):
            thing, u = Thing(), np.zeros(4)
            thing.t = 0.0
            signal.setitimer(signal.ITIMER_REAL, delay)
            with pytest.raises(KeyboardInterrupt):
                fast(thing, u, 10**9, inner)
            assert abs(u[0] - thing.t) <= 1.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("prints", [False, True])
@pytest.mark.parametrize("start", range(0, budget("EFFECT_FUZZ", 20), 10))
def test_random_effects(start: int, prints: bool) -> None:
    for seed in range(start, start + 10):
        text = random_effects.text_of(seed, prints)
        plain = random_effects.function(text)
        fast = dynamo_lite.compile(plain, options=SETTINGS)
        for call, (n, leave) in enumerate(((9, 0), (12, 0), (12, 3), (3, 1), (0, 0), (17, 2))):
            wanted = random_effects.run(plain, plain, seed * 7 + call, n)
            with loops_left(leave):
                got = random_effects.run(plain, fast, seed * 7 + call, n)
            assert got == wanted, f"seed {seed}, call {call}\n{text}"


class Holder:
    """An object whose __dict__ goes by another name, too."""

    x: Any


def stores_beside_its_variables(holder: Any, variables: Any, x: Any) -> Any:
    variables["x"] = x * 2.0
    y = holder.x + 1.0
    holder.x = y
    return variables["x"], y


def loops_beside_its_variables(holder: Any, variables: Any, x: Any) -> Any:
    for _ in range(7):
        holder.x = holder.x * 0.5 + x
        variables["x"] = variables["x"] + 1.0
    return holder.x, variables["x"]


COUNT = 0.0


def stores_beside_the_globals(variables: Any, x: Any) -> Any:
    global COUNT
    COUNT = x * 3.0
    variables["COUNT"] = x + 1.0
    return COUNT, variables["COUNT"]


@pytest.mark.parametrize("function", [stores_beside_its_variables, loops_beside_its_variables])
@pytest.mark.parametrize("order", [(False, True, False), (True, False)])
def test_an_object_and_its_dict_are_one_place(function: Any, order: tuple[bool, ...]) -> None:
    x = np.arange(5.0)
    fast = dynamo_lite.compile(function)
    for own in order:
        results = []
        for call in (function, fast):
            holder = Holder()
            holder.x = x * 7.0
            variables = holder.__dict__ if own else {"x": x + 2.0}
            results.append((call(holder, variables, x), holder.x, variables["x"]))
        assert repr(results[0]) == repr(results[1])


def test_a_module_and_its_dict_are_one_place() -> None:
    x = np.arange(5.0)
    fast = dynamo_lite.compile(stores_beside_the_globals)
    for variables in (globals(), {"COUNT": 1}, globals()):
        assert repr(fast(variables, x)) == repr(stores_beside_the_globals(variables, x))

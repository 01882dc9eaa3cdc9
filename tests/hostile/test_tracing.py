"""Tracers, profilers and sys.monitoring see what they see of the plain function."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks import programs
from tests import watched

Compile = Callable[..., Any]


def traced(fn: Any, install: Any, x: Any) -> list[Any]:
    """The events a tracer sees in this file's functions."""
    log: list[Any] = []

    def tracer(frame: types.FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename == programs.__file__ and event in ("call", "line", "return"):
            log.append((event, frame.f_code.co_name, frame.f_lineno))
        return tracer

    old = sys.gettrace() if install is sys.settrace else sys.getprofile()
    install(tracer)
    try:
        fn(x)
    finally:
        install(old)
    return log


@pytest.mark.parametrize("install", [sys.settrace, sys.setprofile], ids=["trace", "profile"])
@pytest.mark.parametrize("name", ["five_squares", "softmax", "branch_on_sum", "runge_kutta"])
def test_tracers_see_every_line(name: str, install: Any, backend: str, compiler: Compile) -> None:
    program = programs.PROGRAMS[name]
    plain = functools.partial(_call, program.fn, program)
    fast = compiler(program.fn, backend=backend)
    for _ in range(3):
        fast(*program.make_args(size=24))
    expected = traced(plain, install, None)
    assert expected
    assert traced(functools.partial(_call, fast, program), install, None) == expected
    assert traced(functools.partial(_call, compiler(program.fn, backend=backend), program), install, None) == expected
    assert fast(*program.make_args(size=24)) is not None


def _call(fn: Any, program: Any, _: Any) -> Any:
    return fn(*program.make_args(size=24))


def test_monitoring_sees_every_line(compiler: Compile) -> None:
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        pytest.skip("sys.monitoring came with Python 3.12")
    program = programs.PROGRAMS["five_squares"]
    fast = compiler(program.fn)
    logs = []
    for fn in (program.fn, fast, fast):
        log: list[Any] = []
        monitoring.use_tool_id(2, "dynamo_lite tests")
        try:
            monitoring.register_callback(
                2, monitoring.events.LINE, lambda code, line, log=log: log.append((code.co_name, line))
            )
            monitoring.set_events(2, monitoring.events.LINE)
            fn(*program.make_args(size=24))
        finally:
            monitoring.set_events(2, 0)
            monitoring.free_tool_id(2)
        logs.append([entry for entry in log if entry[0] == "five_squares"])
    assert logs[0]
    assert logs[0] == logs[1] == logs[2]


def begins_in_the_middle(x: Any, tracer: Any) -> Any:
    for i in range(6):
        x = x * 0.5 + i
        if i == 2:
            sys.settrace(tracer)
        if i == 4:
            sys.settrace(None)
    return x


@pytest.mark.parametrize("watches", [False, True])
def test_what_a_function_installs_sees_no_frame_but_those_of_its_callees(watches: bool, compiler: Compile) -> None:
    log: list[Any] = []

    def tracer(frame: types.FrameType, event: str, _: Any) -> Any:
        log.append((event, frame.f_code.co_name))
        return tracer

    fast = watched.compile_loops(begins_in_the_middle) if watches else compiler(begins_in_the_middle)
    before = sys.gettrace()
    try:
        for _ in range(3):
            results = [of(np.ones(5), tracer).tobytes() for of in (fast, begins_in_the_middle)]
            assert results[0] == results[1]
    finally:
        sys.settrace(before)
    assert log == []

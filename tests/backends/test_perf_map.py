"""The names that Linux's perf finds compiled code by (option perf_map)."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.numba.compile import _STATE

import dynamo_lite
from dynamo_lite.config import config


def curve(x: Any) -> Any:
    return np.sqrt(x * 0.5) + x * x - 0.25 * x


def running(x: Any) -> float:
    total = 0.0
    for i in range(1, len(x)):
        x[i] = x[i] * 0.5 + x[i - 1]
        total += x[i]
    return total


@pytest.mark.parametrize(("function", "kind"), [(curve, "kernel"), (running, "machine")])
def test_compiled_code_has_a_name(function: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(f"/tmp/perf-{os.getpid()}.map")
    monkeypatch.setattr(_STATE, "made", {})  # what other tests have compiled
    monkeypatch.setattr(_STATE, "latest", type(_STATE.latest)())
    path.unlink(missing_ok=True)
    try:
        with config.patch(perf_map=True):
            dynamo_lite.compile(function, options={"cost_model": False})(np.linspace(0.1, 2.0, 300))
        rows = [line.split(" ", 2) for line in path.read_text().splitlines()]
    finally:
        path.unlink(missing_ok=True)
    known = {kernel.address for kernel in _STATE.made.values()}
    line = function.__code__.co_firstlineno
    assert rows and {int(begin, 16) for begin, _, _ in rows} <= known
    for _, size, name in rows:
        where, place = name.split(" ", 1)
        file, _, rest = place.partition(":")
        number, _, called = rest.partition(" ")
        assert 0 < int(size, 16) < 1 << 20 and where.startswith("dynamo_lite:")
        assert (file, called) == (Path(__file__).name, function.__name__) and line < int(number) < line + 6
    assert any(name.startswith(f"dynamo_lite:{kind}") for _, _, name in rows)


def test_nothing_is_written_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_STATE, "made", {})
    monkeypatch.setattr(_STATE, "latest", type(_STATE.latest)())
    path = Path(f"/tmp/perf-{os.getpid()}.map")
    path.unlink(missing_ok=True)
    dynamo_lite.compile(curve, options={"cost_model": False})(np.linspace(0.1, 2.0, 301))
    assert not path.exists()

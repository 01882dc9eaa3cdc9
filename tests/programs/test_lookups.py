"""Dicts of arrays, indexed by an argument: one version serves all keys whose values are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal

OPTIONS = {"cost_model": False, "check": 1}


def column(table: dict[Any, Any], name: Any, scale: float = 1.0) -> Any:
    values = table[name]
    return np.sqrt(values * values + 1.0) * scale


def pair(table: dict[Any, Any], first: Any, second: Any) -> Any:
    table[first] += table[second]
    return table[first] * 2.0, table["c0"] - 1.0


def broken(table: dict[Any, Any], name: Any) -> Any:
    values = table[name] * 2.0
    print(name, values[0])
    return values + table[name]


def nested(table: dict[Any, Any], name: Any, place: int) -> Any:
    return [inner[place] + 1.0 for inner in (table[name], table[name])]


def columns(count: int = 12, keys: str = "c{}") -> dict[Any, Any]:
    made = {keys.format(place): np.linspace(0.0, place, 50) for place in range(count)}
    return {int(key) if key.isdigit() else key: value for key, value in made.items()}


@pytest.mark.parametrize("keys", ["c{}", "{}"])
def test_one_version_serves_all_keys(keys: str, backend: str) -> None:
    fast = dynamo_lite.compile(column, backend=backend, options=OPTIONS)
    table = columns(keys=keys)
    for key, values in table.items():
        assert np.array_equal(fast(table, key), column({key: values}, key))
    assert fast.stats()["compiles"] == 1 and fast.stats()["native_calls"] == len(table)
    assert "name equals" not in str(fast.explain()) and "table[name] is an aligned" in str(fast.explain())
    for missing in ("none", 99, True, 1.0, None, ("c1",)):
        with pytest.raises(KeyError) if missing not in table else np.errstate():
            fast(table, missing)
    table["c3"] = table["c3" if keys == "c{}" else 3].astype(np.float32)  # the keys change as well
    assert fast(table, "c3").dtype == np.float32
    table["c4"] = 2.0
    assert fast(table, "c4") == column(table, "c4")


@pytest.mark.parametrize("function", [column, pair, broken])
def test_keys_that_meet(function: Any, backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same key twice, and one that the code names itself."""
    names = [("c1", "c2"), ("c1", "c1"), ("c0", "c2"), ("c2", "c0"), ("c0", "c0"), ("c3", "c4")]
    cases = [lambda pair=pair: (columns(), *pair) for pair in names]
    if function is not pair:
        cases = [lambda pair=pair: (columns(), pair[0]) for pair in names]
    report = require_equal(
        function,
        cases[0],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        variants=cases[1:],
    )
    assert report.stats["native_calls"] >= report.calls, report.compiled.explain()


def test_a_key_in_two_places(backend: str) -> None:
    fast = dynamo_lite.compile(nested, backend=backend, options=OPTIONS)
    table = {name: {place: np.full(4, float(place)) for place in range(6)} for name in "abcdef"}
    for name in "abcdef":
        for place in range(6):
            assert all(np.array_equal(one, np.full(4, place + 1.0)) for one in fast(table, name, place))
    assert fast.stats()["compiles"] == 1

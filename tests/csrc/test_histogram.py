"""np.histogram in C has NumPy's bits, edges, warnings and exceptions."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.schedule.call import _HISTOGRAM, counts_alike
from tests.copies import copies_of
from tests.oracle import Conditions, require_equal

KINDS = ("normal", "grid", "edges", "bytes", "signed", "long", "huge", "tiny", "special", "zeros")


def numbers(kind: str, n: int, rng: np.random.Generator) -> Any:
    made: dict[str, Any] = {
        "normal": rng.normal(size=n),
        "grid": np.round(rng.normal(size=n), 1),
        "edges": rng.choice(np.nextafter(np.linspace(-1.5, 2.0, 8), rng.choice([-9.0, 9.0])), n),
        "bytes": rng.integers(0, 256, n).astype(np.uint8),
        "signed": rng.integers(-128, 128, n).astype(np.int8),
        "long": rng.integers(-(2**60), 2**60, n),
        "huge": rng.choice([-1.7e308, 1.7e308, 0.0], n),
        "tiny": rng.normal(size=n) * 1e-310,
        "special": rng.choice([0.0, -0.0, 1.0, np.nan, np.inf, 0.1], n, p=[0.2, 0.2, 0.29, 0.01, 0.01, 0.29]),
        "zeros": rng.choice([-0.0, 0.0, -1.0], n),
    }
    return made[kind]


def outcome(function: Any, *args: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            counts, edges = function(*args)
        except (ValueError, IndexError) as error:
            return str(error)
    owns = counts.flags.owndata, edges.flags.owndata
    return counts.tobytes(), counts.dtype, edges.tobytes(), edges.dtype, owns, [str(one.message) for one in caught]


@pytest.mark.parametrize("kind", KINDS)
def test_random_histograms(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    limits = (None, (-1.5, 2.0), (0, 1), (-10, 300), (0.1, 0.1), (2.0, 1.0), (0.0, np.inf), (-3, 0))
    for n in (1, 2, 511, 513, 3000, 65_536 + 700):
        x = numbers(kind, n, rng)
        weights = rng.normal(size=n)
        for bins in (1, 7, 64):
            for given in limits:
                for weight in (None, weights):
                    wanted = outcome(_HISTOGRAM, x, bins, given, None, weight)
                    assert outcome(_C.histogram, _HISTOGRAM, x, bins, given, weight) == wanted, (n, bins, given)


def test_what_is_left_to_numpy() -> None:
    asked: list[Any] = []

    def numpy(*args: Any) -> Any:
        asked.append(args)
        return _HISTOGRAM(*args)

    x = np.arange(1.0, 50.0)
    assert counts_alike()
    _C.histogram(numpy, x, 5, None, None)
    _C.histogram(numpy, x.astype(np.int16), 5, (0, 10), x)
    assert not asked
    others = (x[::2], None), (x.astype("f"), None), (x, x.astype("f")), (1.0 - x, None)
    for values, weights in others:
        _C.histogram(numpy, values, 5, None, weights)
        assert asked.pop()[0] is values
    with pytest.raises(TypeError):
        _C.histogram(numpy, x)  # type: ignore[call-arg]


def test_flags_stay_as_they_are() -> None:
    with np.errstate(all="raise"):
        x = np.array([1.0, np.nan, 2.0])
        assert _C.histogram(_HISTOGRAM, x, 4, (0.0, 3.0), None)[0].sum() == 2
        assert np.multiply(np.ones(5), 2.0)[0] == 2.0


def program(x: Any, w: Any) -> Any:
    counts, edges = np.histogram(x, 20)
    heavy = np.histogram(x, bins=20, weights=w)[0]
    density = np.histogram(x, 10, density=True)[0]
    return heavy / counts, 0.5 * (edges[1:] + edges[:-1]), density


def test_in_programs() -> None:
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(2, 700))
    for args in ((x, w), (x.reshape(7, 100), w.reshape(7, 100)), (np.append(x[1:], np.nan), w)):
        for conditions in (Conditions(), Conditions({"all": "ignore"})):
            require_equal(program, copies_of(*args), compile=dynamo_lite.compile, conditions=conditions)


def test_it_pays() -> None:
    fast = dynamo_lite.compile(lambda x: np.histogram(x, 50)[0])
    fast(np.random.default_rng(2).normal(size=5000))
    assert fast.stats()["native_calls"] + fast.stats()["compiles"] and "does-not-pay" not in str(fast.explain())


def test_another_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    call = sys.modules["dynamo_lite.schedule.call"]
    monkeypatch.setattr(call, "_HISTOGRAM", lambda x, *args: _HISTOGRAM(x + 0.01, *args))
    assert not counts_alike.__wrapped__()

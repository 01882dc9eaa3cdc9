"""csrc/arrays/search.c against NumPy: searches of many keys, and interpolation, in vectors of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.schedule.call import _INTERP
from tests.oracle import require_equal
from tests.programs.loop_cases import OPTIONS, rng

NAN, INF = float("nan"), float("inf")


def vectors(dtype: str) -> list[Any]:
    made = [
        *(np.sort(rng(n).integers(-30, 30, n)).astype(dtype) for n in (1, 2, 3, 5, 8, 31, 257, 600)),
        *(rng(n).integers(-30, 30, n).astype(dtype) for n in (2, 9, 300)),
        *(np.zeros(40, dtype), np.zeros(0, dtype), np.arange(80).astype(dtype)[::2], np.arange(30).astype(dtype)[::-1]),
    ]
    if np.dtype(dtype).kind == "f":
        plain = np.linspace(-2.0, 2.0, 300).astype(dtype)
        for place in (0, 150, 255, 256, 299):
            made.append(np.where(np.arange(300) == place, NAN, plain).astype(dtype))
        made.append(np.array([-INF, -1.0, -0.0, 0.0, 0.0, 2.0, INF, INF], dtype))
        made.append(np.array([-INF, 0.5, NAN, NAN], dtype))
        made.append(np.where(np.arange(300) == 255, 5.0, plain).astype(dtype))
        made.append(np.where(np.arange(300) == 256, -5.0, plain).astype(dtype))
    return made


def keys(dtype: str) -> list[Any]:
    some = rng(7).integers(-35, 35, 500).astype(dtype)
    made = [some, some[:16], some[:17], some[:15], some[::3], np.sort(some), some[:0], some[:480].reshape(4, 120)]
    made += [np.asfortranarray(some[:480].reshape(4, 120)), some[:1].reshape(()), some[0]]
    if np.dtype(dtype).kind == "f":
        made.append(np.where(np.arange(500) % 90 == 3, NAN, some * 0.1).astype(dtype))
        made.append(np.array([-INF, INF, -0.0, 0.0] * 10, dtype))
    return made


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["d", "f", "l", "i", "h", "?", "D", ">f8"])
def test_searches(dtype: str, side: str) -> None:
    for vector in vectors(dtype):
        for key in (*keys(dtype), *keys("d")[:2]):
            wanted, found = vector.searchsorted(key, side), _C.searchsorted(vector, key, side)
            assert type(found) is type(wanted)
            np.testing.assert_array_equal(found, wanted)
            assert found.strides == wanted.strides and found.dtype == wanted.dtype


def test_what_is_no_search() -> None:
    x, plane = np.zeros(20), np.zeros((3, 3))
    for args in ((), (x, x), (x, x, 1), (plane, x, "left")):
        with pytest.raises((TypeError, ValueError)):
            _C.searchsorted(*args)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="side"):
        _C.searchsorted(np.zeros(3), np.zeros(2), "middle")


def same_bits(one: Any, other: Any) -> None:
    assert type(one) is type(other) and one.shape == other.shape and one.strides == other.strides
    np.testing.assert_array_equal(one.view(np.int64), other.view(np.int64))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_interpolation() -> None:
    for xp in vectors("d"):
        for fp in (rng(len(xp)).normal(size=len(xp)), np.ones(len(xp)), np.full(len(xp), INF), -np.zeros(len(xp))):
            for x in [np.asarray(key) for key in keys("d")] + [rng(3).normal(size=400) * 20.0]:
                if len(xp):
                    same_bits(_C.interp(_INTERP, x, xp, fp), _INTERP(x, xp, fp))
        fp = np.where(np.arange(len(xp)) % 7 == 3, NAN, 1.0)
        if len(xp):
            x = rng(3).normal(size=400) * 20.0
            same_bits(_C.interp(_INTERP, x, xp, fp), _INTERP(x, xp, fp))


def test_what_is_no_interpolation() -> None:
    x, xp = rng(1).normal(size=50), np.arange(20.0)
    for fp in (np.arange(19.0), np.arange(20.0).reshape(4, 5), np.arange(20.0) * 1j):
        try:
            wanted: Any = _INTERP(x, xp, fp)
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                _C.interp(_INTERP, x, xp, fp)
        else:
            same_bits(_C.interp(_INTERP, x, xp, fp), wanted)
    with pytest.raises(TypeError):
        _C.interp(_INTERP, x)  # type: ignore[call-arg]


def looked_up(x: Any, bins: Any, values: Any) -> Any:
    places = np.searchsorted(bins, x)
    places = np.where(places == len(bins), len(bins) - 1, places)
    return bins[places] * 2.0 - x, np.interp(x, bins, values) + 1.0, np.digitize(x, bins), bins.searchsorted(x, "right")


def test_in_programs() -> None:
    def made(n: int, grows: bool = True) -> Any:
        bins = rng(n).normal(size=60)
        return rng(3).normal(size=n) * 2.0, np.sort(bins) if grows else bins, rng(4).normal(size=60)

    require_equal(
        looked_up,
        lambda: made(300),
        variants=[lambda: made(5), lambda: made(0), lambda: made(300, False), lambda: made(20_000)],
        compile=dynamo_lite.compile,
        compile_options={"options": {**OPTIONS, "recompile_limit": 100}},
        calls=2,
    )

"""Loops over lists and tuples of NumPy scalars and complex numbers: values, types, objects and warnings are plain.

LISTED_FUZZ sets how many random functions there are."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.errors import RecompileLimitWarning
from tests.conftest import budget
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_left

N = 40
MAKERS: dict[str, Callable[[random.Random], Any]] = {
    "float64": lambda pick: np.float64(pick.choice((pick.uniform(-2, 2), 0.0, -0.0, 1e300, np.nan, np.inf, 1.5))),
    "tame": lambda pick: np.float64(pick.uniform(0.5, 2)),
    "int64": lambda pick: np.int64(pick.choice((pick.randrange(-5, 6), pick.randrange(1, 4), 2**62))),
    "complex128": lambda pick: np.complex128(pick.uniform(-2, 2), pick.choice((0.0, -0.0, pick.uniform(-2, 2)))),
    "complex": lambda pick: complex(pick.uniform(-2, 2), pick.choice((0.0, -0.0, pick.uniform(-2, 2)))),
    "float": lambda pick: pick.uniform(-2, 2),
    "int": lambda pick: pick.randrange(-5, 6),
}


def sums(ys: Any, zs: Any, a: Any) -> Any:
    c = np.zeros(4, complex)
    for n in range(len(ys)):
        c[n % 4] += ys[n] * (n + 0.5)
    return c


def over(ys: Any, zs: Any, a: Any) -> Any:
    t = 0.0
    for i, (v, w) in enumerate(zip(ys, zs, strict=True)):
        t = t + v * w / (i + 1)
    return t


def stored(ys: Any, zs: Any, a: Any) -> Any:
    for i in range(len(ys)):
        a[i] = abs(ys[i] + zs[-1 - i])
    return a


def last(ys: Any, zs: Any, a: Any) -> Any:
    t = 0.0
    for v in ys:
        t = t + abs(v)
    return t, v


def gathered(ys: Any, zs: Any, a: Any) -> Any:
    out = []
    for i in range(len(ys)):
        out.append(ys[i])
        out.append(ys[i] * 2)
    return out


def greatest(ys: Any, zs: Any, a: Any) -> Any:
    m, k = ys[0], 0
    for i in range(1, len(ys)):
        if abs(ys[i]) > abs(m):
            m, k = ys[i], i
    return m, k


def put(ys: Any, zs: Any, a: Any) -> Any:
    out = [0.0] * len(ys)
    for i in range(len(ys)):
        out[i] = ys[i]
    return out


def returned(ys: Any, zs: Any, a: Any) -> Any:
    for i in range(len(ys)):
        if abs(ys[i]) > 1.2:
            return ys[i], i
    return None


def same(ys: Any, zs: Any, a: Any) -> Any:
    k = 0
    for i in range(len(ys)):
        k += ys[i] is zs[i]
        k += ys[i] is ys[i - 1]
    return k


def whole(ys: Any, zs: Any, a: Any) -> Any:
    return np.array(ys), sum(ys), np.mean(ys), np.sum(zs), np.asarray(ys) * 2


FUNCTIONS = [sums, over, stored, last, gathered, greatest, put, returned, same, whole]

_TERMS = ("v", "w", "t", "ys[i]", "zs[j]", "zs[-1 - i]", "2", "0.5", "i", "a[i]", "abs(v)", "v.real", "float(abs(w))")
_STATEMENTS = (
    *("t = t + {x}", "t = {x} * {y} - t", "t += {x} / {y}", "v = {x}", "w = {x} + {y}", "a[i] = abs({x})", "s = {x}"),
    *("out.append({x})", "j = (j + 1) % n", "u = v", "u = ys[j]", "v = zs[i] if i % 3 else v", "out[-1] = {x}"),
    *("a[j] += abs(t)", "b = b or ys[i] is zs[i]", "p = (v, w)", "r[i] = {x}", "t = -v", "t = v ** 2", "c += v == w"),
    *("t = max(abs(v), abs(w))", "c += (v,) == (w,)", "c += v in (w, 1)", "t = np.sqrt(v * v)", "t = np.exp(-v * v)"),
)
_CONDITIONS = ("abs({x}) > 1", "{x} == {y}", "i % 2", "{x} != {y}", "v is w", "t == t")
_HEADS = (
    "for i in range(n):\n    v = ys[i]; w = zs[j]",
    "for i, v in enumerate(ys):\n    w = zs[i]",
    "for i in range(1, n):\n    v = ys[i - 1]; w = ys[i]",
    "for v, w in zip(ys, zs):\n    i = (i + 1) % n",
    "for i in range(n):\n  for j in range(i % 3):\n    v = ys[j]; w = zs[i]",
    "for v, w in pairs:\n    i = (i + 1) % n",
)
_RESULTS = ("t, c", "t, c, a", "t, v, w", "out, t", "u, t", "s, t, c", "r, c", "p, b", "t, i, j", "out, u, v, r, b")


def source(seed: int) -> str:
    """The text of f(ys, zs, pairs, a)."""
    pick = random.Random(seed)
    chosen = pick.sample(_STATEMENTS, pick.randrange(2, 7))

    def fill(text: str) -> str:
        return text.format(x=pick.choice(_TERMS), y=pick.choice(_TERMS))

    lines = ["def f(ys, zs, pairs, a):", "    n = len(ys); t = 0.0; s = u = p = None; v = w = ys[0]; i = j = c = 0"]
    lines.append("    b = False; out = [0.0]; r = [0] * n")
    for _ in range(pick.choice((1, 1, 2))):
        head = pick.choice(_HEADS).split("\n")
        lines += ["    " + part for part in head]
        for _ in range(pick.randrange(1, 6)):
            indent = "        "
            if pick.random() < 0.3:
                lines.append(f"{indent}if {fill(pick.choice(_CONDITIONS))}:")
                indent += "    "
            lines.append(indent + fill(pick.choice(chosen)))
    return "\n".join([*lines, f"    return {pick.choice(_RESULTS)}"]) + "\n"


def arguments(seed: int, first: str) -> tuple[Any, ...]:
    """Lists of one kind of numbers, which share objects, or not; of several kinds sometimes."""
    pick = random.Random(seed)
    other = first if pick.random() < 0.6 else pick.choice(list(MAKERS))
    ys = [MAKERS[first](pick) for _ in range(N)]
    zs = [MAKERS[other](pick) for _ in range(N)]
    zs[5:9] = ys[5:9] if other == first else zs[5:9]
    if pick.random() < 0.1:
        ys[-1] = 0.25
    pairs: list[Any] = list(zip(ys, zs, strict=True))
    if pick.random() < 0.2:
        pairs = [pick.choice((tuple, tuple, list))(pair) for pair in pairs]
    return (ys if pick.random() < 0.8 else tuple(ys)), zs, pairs, np.linspace(0, 1, N)


def flat(value: Any) -> list[Any]:
    """A value with all that it holds."""
    return [value, *(part for one in value for part in flat(one))] if isinstance(value, list | tuple) else [value]


def told(of: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
    """All that can be told of a call: each object by its first place among all that there are."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, raised = of(*args), None
        except Exception as error:
            result, raised = None, (type(error), str(error))
    shown = [(w.category, str(w.message)) for w in caught if w.category is not RecompileLimitWarning]
    held = [one for one in flat(list(args[:-1])) if not isinstance(one, list | tuple)]
    values = [one for one in flat(result) if not isinstance(one, list | tuple)]
    places: dict[int, int] = {}
    for place, one in enumerate((*held, *values)):
        places.setdefault(id(one), place)
    seen = [(type(one), one.tobytes() if isinstance(one, np.ndarray) else repr(one), places[id(one)]) for one in values]
    return [seen, raised, shown, args[-1].tobytes()]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", list(MAKERS))
@pytest.mark.parametrize("plain", FUNCTIONS)
def test_functions(plain: Any, kind: str, backend: str) -> None:
    fast: Any = dynamo_lite.compile(plain, backend=backend, options=OPTIONS)
    for seed in range(6):
        args = arguments(seed, kind)
        assert told(fast, (*args[:2], args[3])) == told(plain, (*args[:2], arguments(seed, kind)[3]))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["float64", "tame", "int64", "complex128", "complex"])
def test_random_functions(kind: str, backend: str) -> None:
    count = budget("LISTED_FUZZ", 12)
    native = 0
    for seed in range(count):
        text = source(seed * 7 + len(kind))
        namespace: dict[str, Any] = {"np": np}
        exec(text, namespace)
        plain = namespace["f"]
        fast: Any = dynamo_lite.compile(plain, backend=backend, options={**OPTIONS, "recompile_limit": 100})
        for call in range(4):
            args = arguments(4 * seed + call, kind)
            with loops_left(call == 3):
                found = told(fast, (*args[:-1], args[-1].copy()))
            assert found == told(plain, args), f"{kind} {seed}, call {call}:\n{text}"
        native += any(loop.outcome == "native" for loop in fast.explain().loops)
    assert native or _C.get_stress()


# -- tuples of complex numbers ---------------------------------------------------------------------


def pair_of_computed(n: int) -> Any:
    z, p = 0j, None
    for i in range(1, n):
        z = z * 0.5 + complex(i, 1)
        p = (z + 1, z)
    return p, z


def pair_of_one(n: int) -> Any:
    p, t = None, 0.0
    for i in range(1, n):
        z = complex(i * 0.5, 1.0)
        p = (z, z)
        t += i * 0.5
    return p, t


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("plain", [pair_of_computed, pair_of_one])
def test_a_loop_leaves_a_tuple_of_complex_numbers(plain: Any, backend: str) -> None:
    fast: Any = dynamo_lite.compile(plain, backend=backend, options=OPTIONS)
    for n in (30, 31, 30):
        (found, expected) = fast(n), plain(n)
        assert repr(found) == repr(expected)
        assert (found[0][0] is found[0][1]) == (expected[0][0] is expected[0][1])
        assert (found[0][1] is found[1]) == (expected[0][1] is expected[1])
    is_native = all(loop.outcome == "native" for loop in fast.explain().loops)
    assert is_native or _C.get_stress()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["float64", "tame", "int64", "complex128", "complex"])
def test_sums_are_native(kind: str, backend: str) -> None:
    for plain in (sums, over):
        fast: Any = dynamo_lite.compile(plain, backend=backend, options=OPTIONS)
        args = [MAKERS[kind](random.Random(seed)) for seed in range(N)]
        for ys in (args, tuple(args), args[:-1]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert repr(fast(ys, args[: len(ys)], None)) == repr(plain(ys, args[: len(ys)], None))
        is_native = all(loop.outcome == "native" for loop in fast.explain().loops)
        assert is_native or _C.get_stress()


# -- whole lists -----------------------------------------------------------------------------------


def converted(ys: Any, a: Any) -> Any:
    return np.array(ys), np.mean(ys), np.sum(ys), a * ys, np.asarray(ys, complex), np.array(ys)[::2].copy()


def narrowed(ys: Any, a: Any) -> Any:
    return np.array(ys, np.float32)


def taken(ys: Any, a: Any) -> Any:
    return a[ys], np.array(ys, np.int8)


def grown(ys: Any, a: Any) -> Any:
    b = np.array(ys)
    for i in range(len(a)):
        a.append(ys[i])
    return b, np.array(ys)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["float64", "int64", "complex128", "complex"])
@pytest.mark.parametrize("plain", [converted, narrowed, taken])
def test_whole_lists(plain: Any, kind: str, backend: str) -> None:
    fast: Any = dynamo_lite.compile(plain, backend=backend, options=OPTIONS)
    for count in (N, N + 1, N, 3, 0):
        ys = [MAKERS[kind](random.Random(seed)) for seed in range(count)]
        args = (ys, np.linspace(0, 1, count))
        assert told(fast, args) == told(plain, args)
        args = ([*ys, 0.5, 2], np.linspace(0, 1, count + 2))
        assert told(fast, args) == told(plain, args)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["float64", "int64", "complex128", "complex"])
def test_a_list_that_grows_under_another_name(kind: str, backend: str) -> None:
    fast: Any = dynamo_lite.compile(grown, backend=backend, options=OPTIONS)
    for shared in (False, True, False):
        results = []
        for of in (fast, grown):
            ys = [MAKERS[kind](random.Random(seed)) for seed in range(N)]
            a = ys if shared else ys[:5]
            results.append((*(part.tobytes() for part in of(ys, a)), len(ys), len(a)))
            assert all(one is other for one, other in zip(ys[N:], ys, strict=False))
        assert results[0] == results[1]

"""Values computed again at shifted positions: the same bits, strides, warnings and errors, and fewer kernels."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.graph.node import NodeKind
from dynamo_lite.graph.verify import verify
from dynamo_lite.lower import lower
from tests.oracle import Conditions, require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, rng

ERRORS = [{}, {"all": "raise"}, {"all": "ignore"}]


def burgers(u: Any, h: Any) -> Any:
    f = 0.5 * u * u
    flux = 0.5 * (f[1:] + f[:-1]) - 0.5 * np.abs(u[1:]) * (u[1:] - u[:-1])
    return u[1:-1] - h * (flux[1:] - flux[:-1])


def laplacian(u: Any, h: Any) -> Any:
    gx = u[1:, :] - u[:-1, :]
    gy = u[:, 1:] - u[:, :-1]
    out = u.copy()
    out[1:-1, 1:-1] += h * (gx[1:, 1:-1] - gx[:-1, 1:-1] + gy[1:-1, 1:] - gy[1:-1, :-1])
    return out


def written_between(u: Any, h: Any) -> Any:
    twice = u * 2.0
    u[1:] = h
    f = twice + u
    u[...] = 7.0
    return f[1:] * f[:-1], u


def seen(u: Any, h: Any) -> Any:
    f = u * h
    return f[1:] - f[:-1], f


def stored(u: Any, h: Any) -> Any:
    f = u + h
    v = np.zeros(u.shape[0] - 1)
    v[...] = f[1:]
    v *= f[:-1]
    return v


def reduced(u: Any, h: Any) -> Any:
    f = u + h
    return f[1:].sum() + f[:-1].max(), np.exp(f[1:] * f[:-1])


def gap(u: Any, h: Any) -> Any:
    f = u * h
    return f[3:] - f[:-3], f[4:6] - f[1:3]


def gaps(u: Any, h: Any) -> Any:
    f = u * h
    return f[:2] - f[-2:]


def stepped(u: Any, h: Any) -> Any:
    f = u * h
    return f[1::2] - f[:-1:2], f[::-1][1:] * h


def vectors() -> dict[str, Any]:
    return {
        "C": lambda: (rng(1).normal(size=37), 0.25),
        "stepped": lambda: (rng(2).normal(size=74)[::2], 0.25),
        "reversed": lambda: (rng(3).normal(size=37)[::-1], 0.25),
        "float32": lambda: (rng(4).normal(size=300).astype("f"), np.float32(0.25)),
        "ints": lambda: (np.arange(37), 3),
        "short": lambda: (rng(5).normal(size=7), 0.25),
        "at the first": lambda: (np.r_[1e308, np.ones(40)], 1e10),
        "at the last": lambda: (np.r_[np.ones(40), -1e308], 1e10),
        "inside": lambda: (np.r_[np.ones(20), 1e308, -1e308, np.ones(20)], 10.0),
        "not finite": lambda: (np.r_[np.inf, np.nan, -np.inf, np.ones(30), np.inf, np.inf], 10.0),
    }


@pytest.mark.parametrize("errors", ERRORS, ids=["warn", "raise", "ignore"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [burgers, written_between, seen, stored, reduced, gap, gaps, stepped])
def test_vectors(fn: Any, backend: str, errors: dict[str, str]) -> None:
    first, *others = vectors().values()
    require_equal(
        fn,
        first,
        variants=others,
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
        conditions=Conditions(errstate=errors),
        calls=2,
    )


@pytest.mark.parametrize("errors", ERRORS, ids=["warn", "raise", "ignore"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_planes(backend: str, errors: dict[str, str]) -> None:
    u = rng(6).normal(size=(13, 18))

    def at(row: int, column: int) -> Any:
        changed = np.ones((13, 18))
        changed[row, column] = 1.7e308
        changed[row - 1, column] = -1.7e308
        return lambda: (changed.copy(), 0.25)

    require_equal(
        laplacian,
        lambda: (u.copy(), 0.25),
        variants=[
            lambda: (np.asfortranarray(u), 0.25),
            lambda: (u.T, 0.25),
            lambda: (np.repeat(u, 2, axis=1)[::-1, ::2], 0.25),
            lambda: (u[:3, :3].copy(), 0.25),
            lambda: (u[:2, :4].copy(), 0.25),
            *(at(row, column) for row in (1, 6, 12) for column in (0, 9, 17)),
        ],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
        conditions=Conditions(errstate=errors),
        calls=2,
    )


def remainders(a: Any, b: Any) -> Any:
    f = np.fmod(a, b)
    g = np.reciprocal(b)
    return f[2:] - f[1:-1], g[2:] + g[1:-1]


@pytest.mark.parametrize("errors", ERRORS, ids=["warn", "raise", "ignore"])
@pytest.mark.parametrize("dtype", ["i8", "i4", "u2"])
def test_integers_report_divisions_by_zero_that_nobody_reads(dtype: str, errors: dict[str, str]) -> None:
    def at(place: int | None) -> Any:
        divisors = np.array([divisor if n != place else 0 for n, divisor in enumerate(range(1, 10))], dtype)
        return lambda: (np.arange(9).astype(dtype), divisors.copy())

    require_equal(
        remainders,
        at(None),
        variants=[at(0), at(4), at(8)],
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
        conditions=Conditions(errstate=errors),
        calls=2,
    )


def kept(fn: Any, *args: Any) -> int:
    """How many values of the lowered graph are kept in memory for views that show them."""
    graph = lower(dynamo_lite.compile(fn).graph_for(*args), args)
    verify(graph)
    shown = {node.args[0] for node in graph.nodes if node.op == "basic_index"}
    return sum(node.kind is NodeKind.CALL and node.op != "basic_index" for node in shown)  # type: ignore[union-attr]


def test_what_is_computed_again_is_not_kept() -> None:
    assert kept(burgers, rng(1).normal(size=37), 0.25) == 0
    assert kept(stored, rng(1).normal(size=37), 0.25) == 0


def test_what_would_take_longer_is_kept() -> None:
    def slow(u: Any, h: Any) -> Any:
        f = u / h / 3.0
        return f[1:] - f[:-1]

    def often(u: Any, h: Any) -> Any:
        f = (u * h + 1.0) * u - h
        return f[3:] - f[2:-1] + f[1:-2] * f[:-3]

    assert kept(slow, rng(1).normal(size=37), 0.25) == 1
    assert kept(often, rng(1).normal(size=37), 0.25) == 1


def source(seed: int) -> str:
    """A random program of values, shifted parts of them, stores between and a few outputs, over a plane."""
    draw = random.Random(seed)
    names, lines = ["a", "b"], []
    shapes = {"a": (0, 0), "b": (0, 0)}  # how much smaller each is
    slices = (("1:", "1"), (":-1", "1"), ("1:-1", "2"), (":", "0"), ("2:", "2"), (":-2", "2"))

    def part(name: str, least: tuple[int, int]) -> str:
        index = []
        for axis in range(2):
            want = least[axis] - shapes[name][axis]
            index.append(draw.choice([text for text, less in slices if int(less) == want] or [f"{want}:"]))
        return f"{name}[{', '.join(index)}]"

    for number in range(draw.randrange(3, 9)):
        operands = [*draw.sample(names, 2), draw.choice(names)]
        least = tuple(max(shapes[one][axis] for one in operands) for axis in range(2))
        least = tuple(min(4, size + draw.choice((0, 0, 1))) for size in least)
        x, y, z = (part(one, least) for one in operands)  # type: ignore[arg-type]
        forms = f"{x} + {y} * {z}", f"np.where({x} > {y}, {z}, {x})", f"np.abs({x}) - {y}", f"{x} * h", f"{x} / 3.0"
        lines.append(f"v{number} = {draw.choice(forms)}")
        names.append(f"v{number}")
        shapes[f"v{number}"] = least  # type: ignore[assignment]
        if draw.random() < 0.2:
            lines.append(f"{draw.choice(('a', 'b'))}[{draw.choice(('1:', ':-1', ':, 2:', '0'))}] *= h")
    outputs = [names[-1], *draw.sample(names, 2)]
    return "def program(a, b, h):\n" + "".join(f"    {line}\n" for line in lines) + f"    return {', '.join(outputs)}\n"


@pytest.mark.parametrize("start", range(0, 120, 10))
def test_random_parts(start: int) -> None:
    for seed in range(start, start + 10):
        space: dict[str, Any] = {"np": np}
        exec(source(seed), space)
        a, b = rng(seed).normal(size=(9, 11)), rng(seed + 1).normal(size=(9, 11))
        big = a.copy()
        big[seed % 9, seed % 11] = 1.7e308
        require_equal(
            space["program"],
            lambda a=a, b=b: (a.copy(), b.copy(), 0.5),
            variants=[
                lambda a=a, b=b: (np.asfortranarray(a), np.asfortranarray(b), 0.5),
                lambda a=a, b=b: (a.copy(), np.asfortranarray(b), 0.5),
                lambda big=big, b=b: (big.copy(), b.copy(), 30.0),
            ],
            compile=dynamo_lite.compile,
            compile_options={"backend": "numba", "options": {**OPTIONS, "recompile_limit": 100}},
            calls=2,
        )

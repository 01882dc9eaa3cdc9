"""Programs that index by masks, whose sizes only the run knows: alone, in loops, hostile ones, random ones."""

from __future__ import annotations

import random
import textwrap
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import budget
from tests.oracle import Conditions, require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, check, registry, rng

CASES, case = registry()


def plane(count: int, size: int) -> tuple[Any, ...]:
    return rng(size).normal(size=(size, size + 1)), rng(size + 1).normal(size=(size, size + 1)), count


def complex_plane(count: int, size: int) -> tuple[Any, ...]:
    real, imag, _ = plane(count, size)
    return real + 1j * imag, imag - 0.5j * real, count


@case(complex_plane)
def mandelbrot(z: Any, c: Any, n: int) -> Any:
    count = np.zeros(z.shape, np.int64)
    for i in range(n):
        inside = np.less(abs(z), 2.0)
        count[inside] = i
        z[inside] = z[inside] ** 2 + c[inside]
    return z, count


@case(plane)
def attracted(x: Any, v: Any, n: int) -> Any:
    for _ in range(n):
        r = x * x + 0.25
        r[r > 0.5] = r[r > 0.5] ** (-1.5)
        v = v - 0.01 * x * r
        x = x + 0.01 * v
    return x, v


@case(plane, versions=2)
def summed(x: Any, y: Any, n: int) -> Any:
    total = np.zeros(n + 1)
    for i in range(n):
        chosen = x[y > i * 0.1 - 1.0]
        total[i] = (chosen * chosen).sum()
    return total


@case(plane, versions=2)
def averaged(x: Any, y: Any, n: int) -> Any:
    out = np.zeros(n + 1)
    for i in range(n):
        out[i] = x[np.logical_and(y >= -5.0, y < 3.0 + i)].mean() + x[y > -9.0].std()
    return out


@case(lambda count, size: (rng(size).random((40, size)), rng(size).integers(0, 3, 40), count))
def averages_of_rows(points: Any, labels: Any, n: int) -> Any:
    out = np.zeros((4, points.shape[1]))
    for i in range(n):
        chosen = points[labels == i % 4]
        if len(chosen) > 0:
            out[i % 4] = chosen.mean(axis=0) + i
    return out


@case(plane)
def counted_again(x: Any, y: Any, n: int) -> Any:
    for _ in range(n):
        m = x > 0.0
        x[m] = x[m] - y[m]
        m[0] = False
        y[m] = y[m] * 0.5
    return x, y


@case(lambda count, size: (rng(size).normal(size=(size, 5, 3)), rng(size).normal(size=(size, 5)) > 0, count))
def rows_kept(x: Any, m: Any, n: int) -> Any:
    for _ in range(n):
        kept = x[m, :]
        kept = kept[:, [2, 0, 1]]
        x = x * 0.5 + 1.0
        x[m, :] = kept
    return x


@case(plane)
def strided(x: Any, y: Any, n: int) -> Any:
    a, b = x[::-1, ::2], y[:, ::-2]
    for i in range(n):
        m = b[:, : a.shape[1]] > a
        a[m] = b[:, : a.shape[1]][m][::-1] - i
    return x, y


@case(plane)
def older_mask(x: Any, y: Any, n: int) -> Any:
    m = x > 0.0
    x += 0.5
    for _ in range(n):
        chosen = x[x > 0.0]
        if len(chosen) == len(x[m]):
            x[m] = chosen * 0.5
    return x


@case(plane, overlaps=True)
def two_names(x: Any, y: Any, n: int) -> Any:
    z = x
    for _ in range(n):
        chosen = z[z > 0.0]
        x[0] -= 0.75
        z[z > 0.0] = z[z > 0.0] * 0.5 + chosen.sum()
        z, y = y, z
    return x, y, z


@case(plane, declines=True)
def older_mask_of_other_size(x: Any, y: Any, n: int) -> Any:
    m = x > 0.0
    x -= 0.5
    for _ in range(n):
        chosen = x[x > 0.0]
        x[m] = chosen * 0.5
    return x


@case(plane, loops=2)
def nested(x: Any, y: Any, n: int) -> Any:
    for _ in range(n):
        m = x > y
        for _ in range(n):
            x[m] = x[m] * 0.5
        y[m] += 0.125
    return x, y


@case(plane)
def chosen_in_a_branch(x: Any, y: Any, n: int) -> Any:
    for i in range(n):
        if x[0, 0] > y[0, 0]:
            m = y < 0.0
            y[m] = np.abs(y[m])
        else:
            x[0, 0] += i
    return x, y


@case(plane)
def shrinks(x: Any, y: Any, n: int) -> Any:
    z = x.ravel()
    for _ in range(n):
        z = z[z > -1.0] - 0.25
    return z


@case(plane, versions=2)
def counts(x: Any, y: Any, n: int) -> Any:
    total = 0
    for _ in range(n):
        total += len(x[x > 0.0])
        x = x - 0.1
    return total


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", sorted(CASES))
def test_loops(name: str, backend: str) -> None:
    check(CASES[name], backend)


# -- alone, and hostile -------------------------------------------------------------------------------


def inverted(x: Any, m: Any) -> Any:
    x[m] = 1.0 / x[m]
    return x


def root_of_some(x: Any, m: Any) -> Any:
    y = x + 0.0
    y[y > 0.0] = np.sqrt(y[y > 0.0])
    return y, x[m]


def widened(x: Any, m: Any) -> Any:
    y = np.zeros(x.shape, np.complex128)
    y[m] = x[m] * 2.0
    return y, y[m].sum(), x[m] > 0.0


def swapped(x: Any, m: Any) -> Any:
    x[m], x[~m] = x[m] + 1.0, x[~m] * 2.0
    return x


def other_mask(x: Any, m: Any) -> Any:
    x[~m] = x[m]
    return x


def counts_them(x: Any, m: Any) -> Any:
    y = x[m]
    return len(y), y.shape, y.size * 2, np.zeros(len(y))


def branches(x: Any, m: Any) -> Any:
    y = x[m]
    return y.mean() if len(y) else np.float64(-1.0)


def mask_of_itself(x: Any, m: Any) -> Any:
    m[m] = ~m[m]
    x[m] = x[m] - 1.0
    return x, m


def mask_changes(x: Any, m: Any) -> Any:
    y = x[m]
    m[...] = ~m
    x[m] = y
    return x, m


def means(x: Any, m: Any) -> Any:
    return x[m].mean(), x[m].sum(), (x[m] * 2.0).mean(keepdims=True)


def deviations(x: Any, m: Any) -> Any:
    return x[m].var(), np.std(x[m]), x[m].any()


def rows(x: Any, m: Any) -> Any:
    some = m[..., 0] if m.ndim > 1 else m
    return x[some], x[some].mean(axis=0), x[~some].sum(axis=-1)


def whole_axes(x: Any, m: Any) -> Any:
    return x[m, :], x[m, ...], x[m, ..., :], x[..., m], x[m, None]


def rows_put(x: Any, m: Any) -> Any:
    some = m[..., 0] if m.ndim > 1 else m
    kept = x[some, :]
    x *= 0.5
    x[some, :] = kept[:, ::-1] - x[some]
    x[~some] = np.sqrt(np.abs(x[~some, ...]))
    return x, kept


def rows_of_others(x: Any, m: Any) -> Any:
    some = m[..., 0] if m.ndim > 1 else m
    kept = x[some]
    x += 1.0
    some[0] = ~some[0]
    x[some] = kept
    return x, m


def means_in_a_loop(x: Any, m: Any) -> Any:
    out = np.zeros(20)
    for i in range(20):
        out[i] = x[m & (x != i)].mean()
        x[m] = x[m] + 1.0
    return out, x


FUNCTIONS = (
    means,
    deviations,
    rows,
    whole_axes,
    rows_put,
    rows_of_others,
    means_in_a_loop,
    inverted,
    root_of_some,
    widened,
    swapped,
    other_mask,
    counts_them,
    branches,
    mask_of_itself,
    mask_changes,
)


class Sub(np.ndarray):  # type: ignore[type-arg]
    """An array of another class."""


def values() -> Any:
    x = np.array([1.0, -2.0, 0.0, np.nan, np.inf, -0.0, 4.0, 1e-320, 3.0, -1.0, 0.5, 8.0])
    return x.reshape(3, 4)


def masks() -> dict[str, Any]:
    some = np.array([1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1], bool).reshape(3, 4)
    return {
        "some": lambda: (values(), some.copy()),
        "half": lambda: (values(), np.arange(12).reshape(3, 4) % 2 == 0),
        "none": lambda: (values(), np.zeros((3, 4), bool)),
        "all": lambda: (values(), np.ones((3, 4), bool)),
        "one": lambda: (values(), np.arange(12).reshape(3, 4) == 6),
        "empty": lambda: (np.zeros((0, 4)), np.zeros((0, 4), bool)),
        "fortran": lambda: (np.asfortranarray(values()), some.copy()),
        "fortran mask": lambda: (values(), np.asfortranarray(some)),
        "reversed": lambda: (values()[::-1, ::-1], some[:, ::-1].copy()[:, ::-1]),
        "stepped": lambda: (np.repeat(values(), 2, 1)[:, ::2], some.copy()),
        "one axis": lambda: (values().ravel(), some.ravel().copy()),
        "rows": lambda: (values(), np.array([True, False, True])),
        "0-d": lambda: (np.array(2.0), np.array(True)),
        "scalar mask": lambda: (values(), np.True_),
        "python bool": lambda: (values(), True),
        "list": lambda: (values().ravel(), some.ravel().tolist()),
        "ints": lambda: (values().ravel(), some.ravel().astype(np.int64)),
        "bytes": lambda: (values().ravel(), some.ravel().astype(np.uint8)),
        "wrong shape": lambda: (values(), np.ones((4, 3), bool)),
        "read-only": lambda: (np.broadcast_to(np.float64(3.0), (3, 4)), some.copy()),
        "subclass": lambda: (values().view(Sub), some.copy()),
        "mask subclass": lambda: (values(), some.copy().view(Sub)),
        "float32": lambda: (values().astype(np.float32), some.copy()),
        "bools": lambda: (some.copy(), some.copy()),
        "same array": lambda: (some.copy(),) * 2,
        "complex": lambda: (values() * (1 + 2j), some.copy()),
        "swapped bytes": lambda: (values().astype(">f8"), some.copy()),
        "overlapping": lambda: (lambda base: (base.view(np.float64)[:12], base.view(bool)[84:96]))(
            np.ones(96, np.uint8)
        ),
    }


@pytest.mark.parametrize("errors", [{}, {"all": "raise"}, {"all": "ignore"}], ids=["warn", "raise", "ignore"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_hostile_masks(fn: Any, backend: str, errors: dict[str, str]) -> None:
    first, *rest = masks().values()
    require_equal(
        fn,
        first,
        variants=rest,
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
        conditions=Conditions(errstate=errors),
        calls=2,
    )


@pytest.mark.parametrize("code", ["?", "b", "h", "i", "l", "B", "e", "f", "d", "F", "D"])
def test_every_size_of_element(code: str) -> None:
    def moved(x: Any, y: Any, m: Any) -> Any:
        x[m] = y[m] + y[m]
        return x, y[m]

    def args(size: int, share: float) -> tuple[Any, ...]:
        one = rng(size).integers(0, 50, (2, size)).astype(code)
        return one, one[:, ::-1].copy(), rng(size + 1).random((2, size)) < share

    sizes = [(size, share) for size in (1, 7, 8, 9, 64, 1000) for share in (0.0, 0.02, 0.5, 0.98, 1.0)]
    variants = [lambda one=one: args(*one) for one in sizes]  # type: ignore[misc]
    require_equal(
        moved,
        variants[0],
        variants=variants,
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
        calls=1,
    )


def test_flags_of_the_unselected_are_not_raised() -> None:
    fast = dynamo_lite.compile(inverted, options=OPTIONS)
    for x in (values(), values() * 2.0):
        with np.errstate(all="raise"):
            fast(x, np.abs(x) > 0.25)
    stats = fast.stats()
    assert stats["native_calls"] == 2 and not stats["declines"]


# -- random -----------------------------------------------------------------------------------------


def rows_kept_and_put(x: Any, m: Any) -> Any:
    kept = x[m]
    x = x * 2.0
    x[m] = kept[:, ::-1]
    y = np.empty_like(x)
    y[...] = 1.0
    y[m, :] = kept
    return kept, x, y


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.98, 1.0])
@pytest.mark.parametrize("lies", ["C", "F", "swapped axes", "stepped rows", "reversed", "stepped items", "thin", "one"])
def test_rows_lie_as_numpy_puts_them(lies: str, share: float) -> None:
    def args(dtype: str = "d") -> tuple[Any, ...]:
        size = {"thin": (9, 150, 1), "one": (1, 150, 3)}.get(lies, (9, 150, 3))
        x = rng(1).normal(size=size).astype(dtype)
        m = rng(2).random(size[:2]) < share
        match lies:
            case "F":
                return np.asfortranarray(x), m
            case "swapped axes":
                return x.transpose(1, 0, 2), m.T
            case "stepped rows":
                return np.repeat(x, 2, axis=1)[:, ::2], m
            case "reversed":
                return x[::-1, ::-1], m
            case "stepped items":
                return np.repeat(x, 2, axis=2)[..., ::2], m
        return x, m

    require_equal(
        rows_kept_and_put,
        args,
        variants=[lambda: args("f"), lambda: (args()[0], ~args()[1])],
        compile=dynamo_lite.compile,
        compile_options={"options": {**OPTIONS, "recompile_limit": 100}},
        calls=2,
    )


def source(seed: int) -> str:
    """A random program of masked reads and writes in a loop."""
    draw = random.Random(seed)
    arrays = ["a", "b", "c"]
    lines: list[str] = []

    def mask() -> str:
        kind = draw.randrange(4)
        if kind == 0:
            return "m"
        one, other = draw.choice(arrays), draw.choice([*arrays, "0.0", "0.5", "-0.75"])
        test = f"{one} {draw.choice(['<', '>', '>=', '!='])} {other}"
        return f"~({test})" if kind == 1 else test

    def expression(key: str, depth: int) -> str:
        kind = draw.randrange(6 if depth else 2)
        if kind == 0:
            return draw.choice(["0.5", "2.0", "i", "x"])
        if kind == 1:
            return f"{draw.choice(arrays)}[{key}]"
        if kind == 2:
            return f"np.{draw.choice(['abs', 'sqrt', 'tanh', 'floor'])}({draw.choice(arrays)}[{key}])"
        if kind == 3:
            return f"np.where({draw.choice(arrays)}[{key}] > 0.0, {expression(key, depth - 1)}, 1.0)"
        return f"({expression(key, depth - 1)} {draw.choice('+-*/')} {expression(key, depth - 1)})"

    for _ in range(draw.randrange(2, 6)):
        kind, key = draw.randrange(8), mask()
        array = draw.choice(arrays)
        if kind < 4:
            lines.append(f"{array}[{key}] = {expression(key, 2)}")
        elif kind == 4:
            lines.append(f"{array}[{key}] {draw.choice('+-*')}= {expression(key, 1)}")
        elif kind == 5:
            lines.append(f"m = {key}")
        elif kind == 6:
            lines.append(f"{array} = {array} * 0.5 + {draw.choice(arrays)}[::-1]")
        else:
            lines.append(f"x = x + {array}[{key}].{draw.choice(['sum', 'sum', 'mean'])}() * 0.125")
    body = textwrap.indent("\n".join(lines), "        ")
    return (
        "def program(a, b, c, n):\n    m = a > b\n    x = np.float64(0.0)\n"
        f"    for i in range(n):\n{body}\n    return a, b, c, m, x\n"
    )


def function(seed: int) -> Any:
    text = source(seed)
    namespace: dict[str, Any] = {"np": np}
    exec(compile(text, f"<masks {seed}>", "exec"), namespace)
    return namespace["program"]


def arguments(seed: int, count: int, size: int = 4) -> tuple[Any, ...]:
    generator = rng(seed)
    arrays = [generator.normal(size=(size, 5)) for _ in range(3)]
    if seed % 3 == 0:
        arrays[1] = np.asfortranarray(arrays[1])
    if seed % 5 == 0:
        arrays[2] = arrays[2][::-1, ::-1]
    if seed % 7 == 0:
        arrays[0][generator.random((size, 5)) < 0.2] = np.nan
    return *arrays, count


BATCH = 10


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("MASK_FUZZ", 60), BATCH))
def test_random_masks(start: int, backend: str) -> None:
    for seed in range(start, start + BATCH):
        variants = [lambda n=n, s=seed: arguments(s, n) for n in (0, 1, 2, 7)]  # type: ignore[misc]
        variants.append(lambda s=seed: arguments(s, 4, 9))  # type: ignore[misc]
        try:
            require_equal(
                function(seed),
                lambda s=seed: arguments(s, 3),  # type: ignore[misc]
                variants=variants,
                compile=dynamo_lite.compile,
                compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
                calls=1,
            )
        except BaseException as error:
            error.add_note(f"seed {seed}:\n{source(seed)}")
            raise


def selections(x: Any, bounds: Any) -> Any:
    """Big arrays of many sizes, of which the last ones leave the loop."""
    total = 0.0
    last = x[x < 2.0] * 0.0
    other = np.zeros(1)
    for i in range(bounds.shape[0]):
        m = x < bounds[i]
        last = x[m] * 2.0
        small = x.astype(np.float32)[m] + np.float32(1.0)
        x[m] = last - x[m] * 1.5
        total += small[0] + last[-1]
        other = last
    return total, other, x


@pytest.mark.parametrize("backend", BACKENDS)
def test_big_selections(backend: str) -> None:
    """Their memory is used again, though the next one is of another size."""
    generator = rng(3)

    def arguments() -> tuple[Any, ...]:
        falling = 1.0 - np.arange(12) / 14
        return rng(4).random(60_000), np.concatenate([falling, generator.permutation(falling)])

    options = {"backend": backend, "options": OPTIONS}
    first = arguments()
    report = require_equal(
        selections, lambda: (first[0].copy(), first[1].copy()), compile=dynamo_lite.compile, compile_options=options
    )
    _, last, _ = report.compiled(first[0].copy(), first[1].copy())
    assert last.base is None and last.nbytes == last.size * 8
    last.resize(5)
    last.resize(200_000)
    assert not last[5:].any()
    if backend != "reference":
        assert report.stats["native_calls"], report.compiled.explain()


def switched(x: Any) -> Any:
    """Bools stored by a mask, the mask itself among them, and integers into bools."""
    m = np.ones(len(x), bool)
    m[x > 0.5] = False
    m[m] = False
    n = x < 0.25
    n[x > 0.75] = True
    n[x > 0.9] = 7
    counted = np.arange(len(x))
    counted[n] = True
    return m, n, counted


def test_bools_by_a_mask() -> None:
    compiled = dynamo_lite.compile(switched, options={"cost_model": False})
    for size in (0, 1, 7, 500):
        x = np.random.default_rng(size).random(size)
        for ours, plain in zip(compiled(x), switched(x), strict=True):
            np.testing.assert_array_equal(ours, plain)
            assert ours.dtype == plain.dtype
    assert not compiled.explain().breaks


def below(x: Any, low: Any, g: Any) -> Any:
    """Values stored by a mask into bools: ones made here, the mask's own, and others'."""
    m = x < low
    made = np.zeros_like(x, dtype=bool)
    made[m] = x[m] < low[m] * 2.0
    made[~m] = x[~m] > 0.5
    of_outside = np.ones(len(x), bool)
    of_outside[g] = x[g] > low[g]
    g[m] = x[m] < -0.5
    g[g] = x[g] > 0.0
    m[m] = x[m] < -0.75
    return m, made, of_outside, g


@pytest.mark.parametrize("backend", BACKENDS)
def test_values_of_bools_by_a_mask(backend: str) -> None:
    def made(size: int, same: bool = False) -> Any:
        x, low, g = rng(size).normal(size=(3, size))
        flags = g > 0.3
        return x, low * 0.1, flags[::-1] if same else flags

    require_equal(
        below,
        lambda: made(40),
        variants=[lambda: made(1), lambda: made(0), lambda: made(2000), lambda: made(9, True)],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
        calls=2,
    )


def store_into_bools(rest: Any, found: Any, value: bool) -> Any:
    rest[found] = value
    return rest, rest.sum()


@pytest.mark.parametrize("backend", BACKENDS)
def test_bools_from_outside_by_a_mask_from_outside(backend: str) -> None:
    """Which may be one array, or share memory: then the program declines."""

    def made(apart: int, flags: Any) -> Any:
        return flags[apart : apart + 100], flags[:100], False

    flags = rng(0).random(300) < 0.5
    report = require_equal(
        store_into_bools,
        lambda: made(100, flags.copy()),
        variants=[lambda: made(0, flags.copy()), lambda: (*made(150, flags.copy())[:2], True)],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        calls=2,
    )
    stats = report.compiled.stats()
    assert stats["breaks"] == 0 and stats["native_calls"]


def masked_loop(x: Any, n: int) -> Any:
    seen = np.zeros(x.shape, bool)
    for i in range(n):
        m = x > i * 0.2
        seen[m] = x[m] < i * 0.3
    return seen


def test_values_of_bools_by_a_mask_in_a_loop() -> None:
    report = require_equal(
        masked_loop,
        lambda: (rng(3).normal(size=50), 4),
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
        calls=2,
    )
    assert not report.compiled.explain().breaks


def _after(mask: Any) -> Any:
    mask[1:][mask[:-1]] = True
    return mask


def _mirrored(mask: Any) -> Any:
    mask[mask[::-1]] = False
    return mask


def _by_itself(mask: Any) -> Any:
    mask[mask] = False
    return mask


def _two(mask: Any, other: Any) -> Any:
    mask[other] = True
    return mask


def _copied(mask: Any) -> Any:
    np.copyto(mask[1:], True, where=mask[:-1])
    return mask


def _copied_by_two(mask: Any, other: Any) -> Any:
    np.copyto(mask, np.logical_not(other), where=other)
    return mask


def _in_a_loop(mask: Any) -> Any:
    for _ in range(3):
        mask[1:][mask[:-1]] = True
        np.copyto(mask[:-2], False, where=mask[2:])
    return mask


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [_after, _mirrored, _by_itself, _two, _copied, _copied_by_two, _in_a_loop])
def test_a_number_stored_into_the_mask_changes_what_it_selects(fn: Any, backend: str) -> None:
    def arguments() -> tuple[Any, ...]:
        memory = np.random.default_rng(1).random(40) > 0.7
        return (memory[1:], memory[:-1]) if fn in (_two, _copied_by_two) else (memory,)

    require_equal(fn, arguments, compile=dynamo_lite.compile, compile_options={"backend": backend}, calls=2)


def _all_of_five(x: Any, h: Any) -> Any:
    if len(x) == 5:
        x[h > 0] *= h
    return np.zeros(0)[x[:0] > 0] * (x[:0] - 1), x


@pytest.mark.parametrize("h", [[1, 2, 3, 4, 5], [0, 2, 3, 4, 5], [0, 2, 0, 0, 0]])
def test_a_selection_beside_as_many_as_are_known(h: Any) -> None:
    """NumPy refuses other numbers of elements, so that the program declines where there are others."""
    require_equal(
        _all_of_five,
        lambda: (np.arange(5.0), np.array(h)),
        compile=dynamo_lite.compile,
        compile_options={"options": {"check": 1, "cost_model": False}},
    )

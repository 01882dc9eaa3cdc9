"""Arrays with short rows become columns: the lines of the docstring, and that bits, strides and flags stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.lower import lower
from tests.copies import copies_of
from tests.oracle import Conditions, require_equal

SPECIAL = (0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, -np.nan, 3.0)


def lowered(function: Callable[..., Any], *arguments: Any) -> str:
    return str(lower(dynamo_lite.compile(function).graph_for(*arguments)))


def check(function: Callable[..., Any], *arrays: Any) -> None:
    """Under every way to handle errors, on copies that lie as the arrays do."""

    def arguments() -> tuple[Any, ...]:
        return tuple(_like(array) if isinstance(array, np.ndarray) else array for array in arrays)

    for conditions in (Conditions(), Conditions({"all": "ignore"})):
        require_equal(
            function,
            arguments,
            compile=dynamo_lite.compile,
            compile_options={"options": {"cost_model": False}},
            conditions=conditions,
        )


def _like(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.base is None:
        return array.copy("K")
    memory = np.zeros(array.size * 4 + 64, array.dtype)
    where = memory[32 + 2 * array.size :] if min(array.strides, default=0) < 0 else memory[32:]
    made = np.lib.stride_tricks.as_strided(where, array.shape, array.strides)
    made[...] = array
    return made


def points(rows: int, width: int = 3, dtype: str = "f8", seed: int = 1) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(seed)
    if dtype[0] == "f":
        return random.normal(size=(rows, width)).astype(dtype)
    return random.integers(0, 100, (rows, width)).astype(dtype)


def normalised(x: Any) -> Any:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def turned(q: Any, v: Any) -> Any:
    q = q / np.sqrt(np.sum(q * q, axis=-1, keepdims=True))
    w, u = q[:, 0:1], q[:, 1:]
    t = 2.0 * np.cross(u, v)
    return v + w * t + np.cross(u, t)


def coordinates(p: Any, a: Any, b: Any, c: Any) -> Any:
    v0, v1, v2 = b - a, c - a, p - a
    d00, d01, d11 = (v0 * v0).sum(axis=1), (v0 * v1).sum(axis=1), (v1 * v1).sum(axis=1)
    d20, d21 = (v2 * v0).sum(axis=1), (v2 * v1).sum(axis=1)
    under = d00 * d11 - d01 * d01
    v, w = (d11 * d20 - d01 * d21) / under, (d00 * d21 - d01 * d20) / under
    return np.stack((1.0 - v - w, v, w), axis=1)


def normals(triangles: Any) -> Any:
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    n = np.cross(b - a, c - a)
    area = 0.5 * np.linalg.norm(n, axis=-1)
    return n / (2.0 * area[:, None]), area


def pushed(x: Any, v: Any, dt: float) -> Any:
    field = np.empty_like(x)
    field[:, 0], field[:, 1], field[:, 2] = 0.0, 0.1 * x[:, 2], 1.0
    t = 0.5 * dt * field
    s = 2.0 * t / (1.0 + np.sum(t * t, axis=1, keepdims=True))
    v = v + np.cross(v + np.cross(v, t), s)
    x += dt * v
    return x, v


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "normalised": (normalised, lambda n: (points(n),)),
    "turned": (turned, lambda n: (points(n, 4), points(n))),
    "coordinates": (coordinates, lambda n: tuple(points(n, seed=k) for k in range(4))),
    "normals": (normals, lambda n: (np.random.default_rng(3).normal(size=(n, 3, 3)),)),
    "pushed": (pushed, lambda n: (points(n), points(n, seed=2), 0.25)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_kernel(name: str) -> None:
    program, build = PROGRAMS[name]
    text = lowered(program, *build(40))
    assert "reduce" not in text and " cross(" not in text, text
    for rows in (0, 1, 2, 8, 9, 200):
        with np.errstate(all="ignore"):
            check(program, *build(rows))


@pytest.mark.parametrize("lies", ["C", "F", "wide", "every other", "backwards", "both", "one for all"])
def test_memory_order(lies: str) -> None:
    def program(x: Any, y: Any) -> Any:
        m = x * y
        return m, m + np.sum(m, axis=1, keepdims=True), (x - 1.0) / np.sqrt((x * x).sum(1))[:, None], np.cross(x, y) + y

    def lying(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        match lies:
            case "F" | "both":
                return np.asfortranarray(x)
            case "wide":
                return np.repeat(x, 2, axis=1)[:, :3]
            case "every other":
                return np.repeat(x, 2, axis=0)[::2]
            case "backwards":
                return np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]
            case "one for all":
                return np.broadcast_to(x[:1], x.shape)
        return x

    for rows in (1, 2, 5, 50):
        x, y = points(rows), points(rows, seed=7)
        check(program, lying(x), y if lies == "both" else lying(y))
        check(program, y, lying(x))


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.minimum, np.maximum, np.logical_and, np.logical_or])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "u1", "?"])
def test_bits_of_a_reduction(ufunc: np.ufunc, dtype: str) -> None:
    def program(x: Any, y: Any) -> Any:
        m = np.where(x > y, x, y)
        return ufunc.reduce(m, axis=1), ufunc.reduce(x, axis=-1, keepdims=True)

    for width in (1, 2, 3, 4, 7, 8):
        random = np.random.default_rng(width)
        values = SPECIAL if dtype[0] == "f" else (0, 1, 2, 200)
        for rows in (9, 64):
            x, y = (random.choice(values, (rows, width)).astype(dtype) for _ in "xy")
            check(program, x, y)
            check(program, np.asfortranarray(x), np.asfortranarray(y))
            check(program, np.full_like(x, -0.0 if dtype[0] == "f" else 0), y)


def test_sums_of_large_integers() -> None:
    rows = np.random.default_rng(3).integers(-(2**62), 2**62, (40, 3)) | 1
    check(lambda x: ((x ^ 5).sum(axis=1), np.multiply.reduce(x, axis=-1), np.max(x, axis=1)), rows)
    check(lambda x: (x + x).sum(axis=1), rows.astype("u8"))
    assert "add(0.0" not in lowered(lambda x: (x + x).sum(axis=1), rows)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_cross_products(dtype: str) -> None:
    def program(x: Any, y: Any) -> Any:
        n = np.cross(x, y)
        return n, np.cross(n, x[0]) + 1, np.cross(y[0], n)[:, 1], np.cross(x[:1], y)

    for rows in (2, 9, 40):
        check(program, points(rows, 3, dtype), points(rows, 3, dtype, 4))
    assert " cross(" not in lowered(program, points(9), points(9))


@pytest.mark.parametrize("rows", [3, 400])
def test_products_of_what_does_not_lie_in_c_order(rows: int) -> None:
    """What np.cross gives does, and so what is made of it, reduced or not."""

    def gathered(x: Any, y: Any, k: Any) -> Any:
        a = np.diff(x[:, k], axis=2)[:, :, 0]
        c = np.cross(a, a[::-1])
        return (c * c).sum(-1), c[:, :, 1] * 2.0, np.maximum(c, c + 1.0).max(axis=2), np.cross(c, a)

    def given(x: Any, y: Any, k: Any) -> Any:
        c = np.cross(x, y)
        first = (c * x).sum(-1), c * y, (x * 2.0) * c, (c - x * y).sum(axis=-1) * 0.5
        return *first, np.arctan2((c * y).sum(-1), (c * c).sum(-1)), (y * c)[:, :, 2] + 1.0

    x, y = np.random.default_rng(3).standard_normal((2, rows, 90, 3))
    k = np.random.default_rng(4).integers(0, 90, (25, 2))
    for function in (gathered, given):
        for lay in (np.copy, np.asfortranarray, lambda x: x.transpose(1, 0, 2).copy().transpose(1, 0, 2)):
            check(function, lay(x), lay(y), k)
            check(function, lay(x), y, k)
            check(function, y, lay(x), k)


@pytest.mark.parametrize("frames", [3, 300])
def test_points_that_are_gathered_run_natively(frames: int) -> None:
    """NumPy puts the axes of an index array in front: what is computed of that lies as it does."""

    def angles(x: Any, k: Any) -> Any:
        a, b, c = (np.diff(x[:, k[:, [i, i + 1]]], axis=2)[:, :, 0] for i in range(3))
        p, q = np.cross(b, c), np.cross(a, b)
        sines = (a * p).sum(-1)
        sines *= (b * b).sum(-1) ** 0.5
        return np.arctan2(sines, (p * q).sum(-1)), (b * b).sum(-1), a * b, a + p

    x = np.random.default_rng(3).standard_normal((frames, 90, 3))
    k = np.random.default_rng(4).integers(0, 90, (25, 4))
    check(angles, x, k)
    fast = dynamo_lite.compile(angles, options={"cost_model": False})
    for _ in range(3):
        for one, other in zip(fast(x, k), angles(x, k), strict=True):
            assert one.tobytes() == other.tobytes() and one.strides == other.strides
    assert fast.stats()["native_calls"] == 3 and fast.stats()["declines"] == 0


def test_a_product_that_is_seen_is_a_view() -> None:
    def program(x: Any, y: Any) -> Any:
        return np.cross(x, y)

    ours, theirs = dynamo_lite.compile(program)(points(9), points(9, seed=2)), program(points(9), points(9, seed=2))
    assert ours.flags.owndata == theirs.flags.owndata and (ours.base is None) == (theirs.base is None)


def test_what_is_stored_meanwhile() -> None:
    def program(x: Any, y: Any) -> Any:
        m = x * 2.0
        x[:, 1] = 7.0
        s = np.sum(m + x, axis=1, keepdims=True)
        x[...] = x / s
        y -= x * np.sum(y, axis=1, keepdims=True)
        x[::2] += np.cross(y, x)[::2]
        return m, s

    for rows in (2, 8, 41):
        check(program, points(rows), points(rows, seed=5))


def test_rows_that_overlap() -> None:
    def program(x: Any) -> Any:
        x[1:] = x[:-1] / np.sum(x[1:] * x[:-1], axis=1)[:, None]
        return x

    check(program, points(30))


def test_long_rows_and_few_rows_are_left() -> None:
    assert "reduce" in lowered(normalised, points(40, 8))
    assert "reduce" in lowered(normalised, points(3, 3))


def hue(rgb: Any) -> Any:
    most, least = rgb.max(axis=-1), rgb.min(axis=-1)
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    spread = np.where(most == least, 1.0, most - least)
    h = np.where(most == r, (g - b) / spread, np.where(most == g, 2.0 + (b - r) / spread, 4.0 + (r - g) / spread))
    grey = rgb.mean(axis=-1, keepdims=True)
    return h, rgb / (1.0 + rgb.sum(axis=2, keepdims=True)), (rgb - grey) * (h * h)[:, :, None]


def stacked(u: Any, w: Any) -> Any:
    v = u * w + 1.0
    length = np.sqrt((v**2).sum(axis=0))
    u -= v / length
    return v / np.max(np.abs(v), axis=0)[None], length, v[1] - length, np.sum(u * w[0], axis=0, keepdims=True) + v


def images(rows: int, columns: int, width: int = 3, seed: int = 1) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=(rows, columns, width))


SIZES = ((8, 9), (1, 9), (9, 1), (0, 9), (33, 40), (9, 3))


@pytest.mark.parametrize("lies", ["C", "F", "planes", "wide", "every other", "turned", "both", "one for all"])
@pytest.mark.parametrize("size", SIZES)
def test_three_axes(lies: str, size: tuple[int, int]) -> None:
    def lying(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        match lies:
            case "F" | "both":
                return np.asfortranarray(x)
            case "planes":
                return np.ascontiguousarray(x.transpose(2, 0, 1)).transpose(1, 2, 0)
            case "wide":
                return np.repeat(x, 2, axis=2)[:, :, :3]
            case "every other":
                return np.repeat(x, 2, axis=1)[:, ::2]
            case "turned":
                return np.ascontiguousarray(x.swapaxes(0, 1)).swapaxes(0, 1)
            case "one for all":
                return np.broadcast_to(x[:1], x.shape)
        return x

    x, y = images(*size), images(*size, seed=2)
    check(hue, lying(x))
    planes = [np.ascontiguousarray(one.transpose(2, 0, 1)) for one in (x, y)]
    if lies != "one for all":
        check(stacked, lying(planes[0]) if lies != "wide" else planes[0], planes[1])
        check(stacked, planes[0].copy(), lying(planes[1]) if lies != "wide" else planes[1])
    check(lambda x, y: (x * y).sum(axis=-1) + x[:, :, 1], lying(x), y if lies == "both" else lying(y))


def test_three_axes_in_one_kernel() -> None:
    assert "reduce" not in lowered(hue, images(9, 9))
    assert "reduce" not in lowered(stacked, images(3, 9, 9), images(3, 9, 9))


@pytest.mark.parametrize("shape", [(100, 3, 3), (64, 2, 2), (90, 4, 3), (3, 90, 3), (1, 70, 3), (70, 1, 3)])
def test_many_small_matrices(shape: tuple[int, ...]) -> None:
    """Products of matrices and vectors that are written out, and what is seen of each row."""

    def program(m: Any, v: Any) -> Any:
        rows = (m * v).sum(axis=-1)
        return rows, m / np.sqrt((m * m).sum(axis=2, keepdims=True)), np.max(m, axis=2) - rows

    x = np.random.default_rng(4).normal(size=shape)
    v = x[:, :1].copy()
    assert 1 in shape or "reduce" not in lowered(program, x, v)
    for lying in (x, np.asfortranarray(x), x.swapaxes(0, 1).copy().swapaxes(0, 1), x[::-1]):
        check(program, lying, v)


def test_distances() -> None:
    def program(x: Any, y: Any) -> Any:
        apart = x[:, None, :] - y[None, :, :]
        apart -= np.rint(apart)
        return apart, np.sqrt((apart**2).sum(axis=-1)), (apart / (1.0 + np.sum(apart * apart, 2))[:, :, None])[0]

    for rows, others in ((8, 8), (2, 9), (1, 9), (30, 41)):
        check(program, points(rows), points(others, seed=3))
        check(program, np.asfortranarray(points(rows)), points(others, seed=3))


@pytest.mark.parametrize("ufunc", [np.minimum, np.maximum])
def test_nans_that_meet(ufunc: np.ufunc) -> None:
    def program(x: Any) -> Any:
        return ufunc.reduce(x * 1.0, axis=1), ufunc.reduce(x, axis=-1)

    random = np.random.default_rng(5)
    for dtype in ("f8", "f4"):
        values = np.array([*SPECIAL, np.nan], dtype)
        values.view(f"u{values.itemsize}")[-1] |= 5
        for lie in (np.ascontiguousarray, np.asfortranarray):
            fast = dynamo_lite.compile(program)
            for _ in range(40):
                x = lie(random.choice(values, (9, 3)))
                for ours, theirs in zip(fast(x), program(x), strict=True):
                    assert ours.tobytes() == theirs.tobytes()


def test_stacks_of_planes() -> None:
    def program(b: Any, c: Any) -> Any:
        j = np.stack([b[2] - np.roll(b[2], 1, 0), b[1] * c, b[0] + c])
        f = np.array([j[1] * b[2] - j[2] * b[1], j[2] * b[0], j[0] * b[1] - j[1] * b[0]])
        return f / (1.0 + c), np.stack((c, c + 1.0), axis=-1), np.stack([b[0], c], axis=1) * 2.0, j[0] + c

    assert " stack(" not in lowered(program, images(3, 9, 9), images(1, 9, 9)[0])
    for size in SIZES:
        b, c = images(3, *size), images(1, *size)[0]
        check(program, b, c)
        check(program, np.asfortranarray(b), np.asfortranarray(c))
        check(program, b, np.asfortranarray(c))
        check(program, np.repeat(b, 2, axis=2)[:, :, ::2], np.ascontiguousarray(c[::-1])[::-1])
        check(program, b, np.broadcast_to(c[:1], c.shape))


def conserved(u: Any, c: Any) -> Any:
    h, hu, hv = u
    f, g = np.stack([hu, hu * hu / h, hu * hv / h]), np.array([hv, hu * hv / h, hv * hv / h + c])
    f = 0.5 * (f + np.roll(f, -1, axis=1)) - np.roll(u, -1, axis=1) + u
    g = 0.5 * (g + np.roll(g, -2, axis=2)) - np.roll(u, (-1, 1), axis=(1, 2)) + u
    return u - f + np.roll(f, 1, axis=1) - g + np.roll(g, 1, axis=2), np.roll(g, 1, axis=-1), np.roll(f, 1, axis=0)


def test_rolls_of_stacked_planes() -> None:
    text = lowered(conserved, images(3, 9, 9), images(1, 9, 9)[0])
    assert "= roll(" not in text and "[3, add(" not in text, text  # planes with borders, not the stack
    for size in SIZES:
        u, c = images(3, *size) + 9.0, images(1, *size)[0]
        with np.errstate(all="ignore"):
            check(conserved, u, c)
            check(conserved, np.asfortranarray(u), np.asfortranarray(c))
            check(conserved, u, np.asfortranarray(c))
            check(conserved, np.repeat(u, 2, axis=2)[:, :, ::2], c)
            check(conserved, np.ascontiguousarray(u.transpose(1, 2, 0)).transpose(2, 0, 1), c)


def test_rolls_of_stacked_vectors() -> None:
    def program(x: Any, shift: int) -> Any:
        f = np.stack((x[:, 0] * x[:, 1], x[:, 1] + 1.0, x[:, 2]), axis=1)
        length = np.sqrt((np.roll(f, shift, axis=0) ** 2).sum(axis=1, keepdims=True))
        return f - np.roll(f, 1, axis=0) * length, np.roll(x, -1, axis=0).sum(axis=1)

    assert "= roll(" not in lowered(program, points(9), 1)
    for rows in (0, 1, 2, 3, 9, 70):
        for shift in (0, 1, -3, 40):
            check(program, points(rows), shift)
        check(program, np.asfortranarray(points(rows)), 2)


def test_planes_in_place() -> None:
    def program(u: Any, w: Any) -> Any:
        v = np.empty_like(u)
        v[0], v[1], v[2] = u[1] * w[0], u[2], u[0] - 1.0
        u -= v * np.sum(v * w, axis=0)
        v[1] += 2.0
        return v, v * w - np.sqrt(np.sum(v**2, axis=0))

    for size in SIZES:
        u, w = images(3, *size), images(3, *size, seed=4)
        with np.errstate(all="ignore"):
            check(program, u, w)
            check(program, np.asfortranarray(u), w)
            check(program, np.asfortranarray(u), np.asfortranarray(w))


def test_what_lies_otherwise_now_is_left() -> None:
    def program(x: Any, y: Any) -> Any:
        apart = x[:, None, :] - y[None, :, :]
        return np.sum(apart * apart, axis=2), np.stack([apart[0], x])

    fast = dynamo_lite.compile(program)
    for _ in range(2):
        for lie in (np.asfortranarray, np.ascontiguousarray):
            x, y = lie(points(9)), lie(points(9, seed=2))
            for ours, theirs in zip(fast(x, y), program(x, y), strict=True):
                assert ours.tobytes() == theirs.tobytes() and ours.strides == theirs.strides
    assert not dict(fast.explain().stats)["declines"]


def deflected(position: Any, observer: Any) -> Any:
    both = position + observer
    lengths = [np.sqrt((one * one).sum(axis=0)) for one in (position, both, observer)]
    p, q, e = (
        one / np.where(length, length, 1.0)
        for one, length in zip((position, both, observer), lengths, strict=True)
    )
    across = (e * p).sum(axis=0)
    turned = ((p * q).sum(axis=0) * e - across * q) / (2.0 + (q * e).sum(axis=0))
    return (np.abs(across) < 0.99) * turned * lengths[0], q[0] * e.max(axis=0) - p.min(axis=0)


@pytest.mark.parametrize("lies", ["C", "F", "wide", "every other", "backwards", "both", "one for all"])
@pytest.mark.parametrize("columns", (0, 1, 2, 9, 70))
def test_vectors_by_their_first_axis(lies: str, columns: int) -> None:
    def lying(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        match lies:
            case "F" | "both":
                return np.asfortranarray(x)
            case "wide":
                return np.repeat(x, 2, axis=0)[:3]
            case "every other":
                return np.repeat(x, 2, axis=1)[:, ::2]
            case "backwards":
                return np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]
            case "one for all":
                return np.broadcast_to(x[:, :1], x.shape)
        return x

    x, y = (np.ascontiguousarray(points(columns, seed=seed).T) for seed in (1, 7))
    check(deflected, lying(x), y if lies == "both" else lying(y))
    check(deflected, y, lying(x))
    special = np.random.default_rng(3).choice(SPECIAL, (2, 3, columns))
    check(deflected, lying(special[0]), y if lies == "both" else lying(special[1]))


def test_vectors_by_their_first_axis_in_one_kernel() -> None:
    text = lowered(deflected, np.ones((3, 70)), np.ones((3, 70)))
    assert "reduce" not in text and "[3, s" in text, text
    for shape in ((8, 70), (3, 3), (4, 20)):
        assert "reduce" in lowered(deflected, np.ones(shape), np.ones(shape))


@pytest.mark.parametrize("function", [np.any, np.all, np.max, np.sum])
@pytest.mark.parametrize("axis", (0, 1))
def test_one_row_or_column_is_copied(function: Any, axis: int) -> None:
    shape = (1, 9) if axis == 0 else (9, 1)
    for array in (np.ones(shape, bool), np.broadcast_to(np.True_, shape), np.ones(shape)):
        check(lambda x: (function(x, axis=axis), x), array)


def test_vectors_that_become_few() -> None:
    """What was compiled for many vectors serves few of them as well: NumPy reduces a single one otherwise."""

    def of(columns: int, order: str = "C") -> Any:
        special = np.random.default_rng(columns).choice(SPECIAL, (2, 3, columns))
        return tuple(np.array(one, order=order).copy(order) for one in special)

    variants = [of(columns, order) for columns in (0, 1, 2, 3, 9, 64) for order in ("CF" if columns > 1 else "C")]
    for conditions in (Conditions(), Conditions({"all": "ignore"})):
        require_equal(
            deflected,
            copies_of(*of(70)),
            compile=dynamo_lite.compile,
            compile_options={"options": {"cost_model": False}},
            conditions=conditions,
            variants=[copies_of(*one) for one in variants],
        )


def test_what_is_gathered_behind_an_axis_lies_otherwise() -> None:
    """x[:, k] has the axis of k in front in memory: no program is made that needs it in C order, and would decline."""

    def bones(x: Any, parents: Any) -> Any:
        d = x[:, 1:] - x[:, parents[1:]]
        return x[:, 1:] + np.cross(d, x[:, parents[1:]]) + np.cross(d, x[:, 1:]) * d

    x, parents = np.random.default_rng(2).normal(size=(40, 17, 3)), np.arange(17) // 2
    check(bones, x, parents)
    check(bones, np.asfortranarray(x), parents)
    fast = dynamo_lite.compile(bones, options={"cost_model": False})
    for _ in range(3):
        fast(x, parents)
    assert fast.stats()["declines"] == 0 and fast.stats()["native_calls"] == 3


@pytest.mark.parametrize("shape", [(20, 1, 3), (1, 20, 3), (2, 1, 3), (3, 1, 20), (3, 20, 1), (1, 1, 3), (20, 1)])
def test_axes_of_one_element_beside_short_ones(shape: tuple[int, ...]) -> None:
    def turned(x: Any, y: Any) -> Any:
        return x + np.cross(x, y) * 2.0, np.cross(x * 2.0, y)

    def lengths(x: Any, y: Any) -> Any:
        return x / np.sqrt(np.sum(x * x, axis=-1, keepdims=True)), (x * y).sum(-1), (x * y).sum(axis=0)

    random = np.random.default_rng(1)
    x, y = random.normal(size=(2, *shape))
    wide = random.normal(size=(2 * shape[0], *shape[1:]))[::2]
    backwards = random.normal(size=shape[::-1]).transpose()
    for first in (x, np.asfortranarray(x), wide, backwards):
        for second in (y, np.asfortranarray(y), y[:1]):
            check(lengths, first, second)
            if shape[-1] == 3:
                check(turned, first, second)
    if shape == (20, 1, 3):
        assert "cross" not in lowered(turned, x, y)


def test_columns_that_are_joined_as_arrays() -> None:
    """x[..., 1:2] * y[..., 2:3] beside others in np.concatenate, as quaternions are multiplied."""

    def across(a: Any, b: Any) -> Any:
        return np.concatenate(
            [
                a[..., 1:2] * b[..., 2:3] - a[..., 2:3] * b[..., 1:2],
                a[..., 2:3] * b[..., 0:1] - a[..., 0:1] * b[..., 2:3],
                a[..., 0:1] * b[..., 1:2] - a[..., 1:2] * b[..., 0:1],
            ],
            axis=-1,
        )

    def turned(q: Any, x: Any) -> Any:
        t = 2.0 * across(q[..., 1:], x)
        return x + q[..., :1] * t + across(q[..., 1:], t), t

    random = np.random.default_rng(4)
    for shape in ((30,), (30, 1), (1, 30), (30, 2), (2, 30), (1,), (0,)):
        q, x = random.normal(size=(*shape, 4)), random.normal(size=(*shape, 3)).astype("f4")
        q.reshape(-1)[:1] = np.nan
        for lie in (np.ascontiguousarray, np.asfortranarray):
            check(turned, lie(q), x)
            check(turned, lie(q), lie(x).astype("f8"))
            check(turned, q[::-1], lie(x)[::-1])
    q, x = random.normal(size=(300, 4)), random.normal(size=(300, 3))
    assert "[s0, 3] = multiply" not in lowered(lambda q, x: turned(q, x)[0], q, x)


@pytest.mark.parametrize("shape", [(100, 1, 3), (1, 100, 3), (3, 1, 100), (3, 100, 1)])
def test_reductions_that_keep_an_axis_of_one_element_lie_as_numpy_has_them(shape: tuple[int, ...]) -> None:
    """Of rows that lie in another order than C, NumPy gives that axis another stride."""

    def reduced(x: Any) -> Any:
        return x.max(-1), (x * 2.0).sum(-1), (x * x).sum(axis=0), x.min(axis=0) + 1.0

    x = np.random.default_rng(1).normal(size=shape)
    for first in (np.asfortranarray(x), np.moveaxis(np.moveaxis(x, -1, 0).copy(), 0, -1), x):
        check(reduced, first)

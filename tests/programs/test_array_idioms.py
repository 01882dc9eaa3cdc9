"""Idioms of array code that are Python inside NumPy, or no function at all: np.select, bool masks, parts of complex."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import Conditions, require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, rng


def arrays(shape: tuple[int, ...], order: str = "C") -> Any:
    return np.asarray(rng(len(shape)).normal(size=shape), order=order)  # type: ignore[call-overload]


def selects(x: Any) -> Any:
    low, high = x < -0.5, x > 0.5
    return (
        np.select([low, high], [x * 2.0, x - 1.0], default=0.0),
        np.select([low, high], [1, x], x * x),
        np.select([low, high, low], [1, 2, 3]),
        np.select([high], [x.astype(np.float32)], default=np.nan),
        np.select(condlist=[low[:1], high], choicelist=[x, x[:1]]),
        np.select([low, x == x], [np.sqrt(x), 1j], 2),
        np.select([low, True, high], [x, -1, x * x]),
        np.select([False, low, high], [np.float64(1), [x, x + 1], [[0.5]]], np.float32(2)),
        np.select([high, False], [[x, np.tile(2, x.shape)], 7]),
    )


def wrong_selects(x: Any) -> Any:
    results = []
    for conditions, choices in (([x], [x]), ([x > 0], [x, x]), ([], []), ([x > 0], [np.zeros(7)])):
        try:
            results.append(np.select(conditions, choices))
        except (TypeError, ValueError) as error:
            results.append(str(error))
    return results


def grids(x: Any) -> Any:
    n, m = x.shape
    rows, columns = np.mgrid[0:n, 0:m]
    across, down = np.ogrid[: 2 * n : 2, -m:0]
    dense = np.mgrid[-1.0 : 1.0 : complex(0, n), 0:1:5j]
    return rows * x + columns, across * 0.5 + down, dense * 2.0, np.mgrid[0:n] * x[:, 0], np.ogrid[0:1:7j]


def grids_of_floats(x: Any) -> Any:
    n, m = x.shape
    step, width = 1.0 / n, x.shape[1] * 0.5
    rows, columns = np.mgrid[-width : width : (n + 1) * 1j, 0 : width : m * 1j]
    kind = np.result_type(step, x.shape[0], np.float32), np.result_type(n * 2, m), np.result_type(x, n, 1j)
    return rows * columns, np.mgrid[0:1:step, 0:2:0.5].transpose(1, 2, 0) % 1, np.ogrid[0:width:0.25], kind


def crossed(x: Any) -> Any:
    a, b = x[:3, :3], x[:3, 3:]
    axes = np.cross(a, b, axisa=0, axisb=0, axisc=1), np.cross(a, b, axis=0), np.cross(a, b, axisc=0)
    return *axes, np.cross(x[:3], x[0, :3], axisa=0), np.cross(b, a, 1, 0), np.cross(a, b, axis=-1).T


def near(x: Any) -> Any:
    determinant = x[0, 0] * x[1, 1] - x[0, 1] * x[1, 0]
    flags = np.isclose(determinant, 0.0), np.isclose(x[0, 0], x[0, 1]), np.isclose(np.abs(x).max(), 2, 1)
    return flags, x / determinant if not np.isclose(determinant, 0.0) else x, np.eye(3) * x[0, 0], np.identity(2, bool)


def rolled_parts(x: Any) -> Any:
    y, z = x.copy(), x[0].copy()
    for _ in range(3):
        y[:, ::2] = np.roll(y[:, ::2], 1, axis=0)
        z[1:] = np.roll(z[1:], -1)
    for step in range(x.shape[1]):
        y[1:] = np.roll(y[1:], 2, axis=1) - np.roll(y[1:], 1, axis=1) * step
        y[1:] += np.roll(y[1:], 2, axis=1)
    first = np.roll(x[::-1], 1, axis=0)
    x[0] = 5.0
    return y, z, first - np.roll(x[::-1], 1, axis=0)


def rolls(x: Any) -> Any:
    y, rows = x.copy(), []
    for shift, across in zip(np.array([0, 1, -1, 7, -1000001]), np.array([3, 0, -2, 10**15, 1]), strict=True):
        y[:, ::2] = np.roll(y[:, ::2], shift, axis=1)
        y[:, ::2] = np.roll(y[:, ::2], across, axis=0)
        y[...] = np.roll(np.roll(y, across, axis=1), (shift, across), axis=(0, -1))
        rows.append(np.roll(x, shift, axis=1))
        rows.append(np.roll(y[0], across))
    return y, rows


def extended_lists(x: Any) -> Any:
    rows, names = [x[0]], ["first"]
    same = rows
    rows += [x[0] * 2.0, x[1]]
    rows += rows
    rows.extend(rows)
    names += ("a", "b")
    names += {"c": 1, "d": 2}
    names += "ef"
    sums = []
    for row in x:
        sums += [row.sum(), row[0]]
    return rows, same is rows, names, sums


class Pair(NamedTuple):
    a: Any
    b: Any

    def __radd__(self, other: Any) -> Any:
        return "asked first", other


class Items(list[Any]):
    def __radd__(self, other: Any) -> Any:
        return "asked first", other


ITEMS, SCALAR = Items([1]), np.float64(2.0)


def extended_by_what_is_asked_first(x: Any) -> Any:
    rows, pairs, items, scalars = [x[0, 0]], [x[0, 0]], [x[0, 0]], [x[0, 0]]
    rows += x[0]  # type: ignore[arg-type]
    pairs += Pair(x[1], 2.0)
    items += ITEMS
    scalars += SCALAR  # type: ignore[arg-type]
    message, number = "", [x[0, 0]]
    try:
        number += 5  # type: ignore[arg-type]
    except TypeError as error:
        message = str(error)
    return rows, pairs, items, scalars, message, number


def seen_as_they_grow(x: Any) -> Any:
    lengths = [0]
    lengths += (len(lengths) for row in x)
    lengths.extend(len(lengths) for row in x)
    lengths += (row[0] + 1.0 for row in x[:2])
    return lengths, x * 2.0


def bool_masks(x: Any) -> Any:
    kept = np.ones(x.shape, bool)
    kept[x > 0.5] = False
    kept[np.abs(x) < 0.1] = True
    kept[x < -1.0] = 0
    return kept


def parts(x: Any) -> Any:
    z = np.empty(x.shape, np.complex64)
    z.real = x
    z.imag = 2
    w = z * z
    w.imag = w.real
    w[..., 1:].real = 0.5
    y = x.copy()
    y.real = 1.0
    return z, w, y


def wrong_parts(x: Any) -> Any:
    z = np.zeros(x.shape, complex)
    results: list[Any] = [z]
    for value in (np.zeros(7), "text", 1j * x):
        try:
            z.real = value
        except (TypeError, ValueError) as error:
            results.append(str(error))
    try:
        x.imag = 1.0
    except TypeError as error:
        results.append(str(error))
    return results


def scalar_types(x: Any) -> Any:
    whole = np.float64(x)
    whole[..., 0] = 7.0
    others = np.float32(x), np.int16(x), np.complex128(x[:, ::2]), np.bool_(x)
    return whole, others, np.float64(x.T), np.float64(x[0, 0])


class At:
    @staticmethod
    def __getitem__(key: Any) -> Any:
        return key


at = At()


def update(array: Any, key: Any, value: Any) -> Any:
    array[key] = value
    return array


def static_special(x: Any) -> Any:
    y = update(x * 2.0, at[1:-1, :], x[1:-1] + x[2:])
    return update(y, at[..., 0], 0.0)


FUNCTIONS = [
    grids,
    grids_of_floats,
    crossed,
    near,
    rolls,
    rolled_parts,
    extended_lists,
    extended_by_what_is_asked_first,
    seen_as_they_grow,
    selects,
    wrong_selects,
    bool_masks,
    parts,
    wrong_parts,
    scalar_types,
    static_special,
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_same_results(fn: Any, backend: str) -> None:
    require_equal(
        fn,
        lambda: (arrays((5, 6)),),
        variants=[lambda: (arrays((5, 6), "F"),), lambda: (arrays((40, 30))[::2, ::-1],)],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
        conditions=Conditions(errstate={"invalid": "ignore"}),
        calls=2,
    )


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (1, 5), (5, 1), (1, 1)])
def test_rolls_of_axes_with_few_elements(shape: tuple[int, int]) -> None:
    def rolled(x: Any) -> Any:
        for shift in np.array([0, 1, -2, 3]):
            x[...] = np.roll(np.roll(x, shift, axis=0), -shift, axis=1)
        return np.roll(x, np.array([2, 1])[0], axis=0)

    require_equal(
        rolled,
        lambda: (arrays(shape),),
        variants=[lambda: (arrays((4, 3)),), lambda: (arrays((3, 4)).T,)],
        compile=dynamo_lite.compile,
        compile_options={"options": {**OPTIONS, "recompile_limit": 100}},
        calls=2,
    )


ONE_PROGRAM = [grids, grids_of_floats, crossed, rolls, extended_lists, selects, bool_masks, parts, scalar_types]
ONE_PROGRAM += [static_special]


@pytest.mark.parametrize("fn", ONE_PROGRAM)
def test_one_program(fn: Any) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    with np.errstate(invalid="ignore"):
        fast(arrays((5, 6)))
    assert not fast.explain().breaks


def axes_of_one(x: Any) -> Any:
    both = np.roll(x, (1, 2), axis=(0, 1))
    x[...] = x * 2.0
    results = [np.roll(x, 1, axis=-1), x * 2.0, x + x, x.copy(), x.astype(np.float32)]
    x[...] = np.roll(x, 1, axis=0)
    return results, np.roll(x, -1, axis=0), both


@pytest.mark.parametrize("shape", [(4, 1, 2), (1, 4, 2), (3, 2, 1), (3, 1), (1, 3), (1, 1), (3, 4)], ids=str)
def test_strides_along_axes_of_one_element(shape: tuple[int, ...]) -> None:
    def part(order: Any, step: int) -> Any:
        whole = np.array(rng(1).normal(size=tuple(step * size + 1 for size in shape)), order=order)
        return lambda: (whole.copy("K")[tuple(slice(0, step * size, step) for size in shape)],)

    first, *others = (part(order, step) for order in "FC" for step in (1, 2))
    options = {"options": {**OPTIONS, "recompile_limit": 100}}
    require_equal(axes_of_one, first, variants=others, compile=dynamo_lite.compile, compile_options=options)


def chosen_by_a_number(x: Any, flag: Any) -> Any:
    y = x * 2.0
    return (
        *(np.where(flag, y, x), np.where(flag, y, 1), np.where(flag, 1, 2.5), np.where(not flag, x[:1], y)),
        *(np.where(True, y, np.inf), np.where(0.0, y, x.astype(np.float32)), np.where(np.bool_(False), 1j, x)),
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("flag", [True, False, 1, 0, 2.5, float("nan"), -0.0, np.bool_(True), np.float64(0.0), 2**63])
def test_where_by_a_number(backend: str, flag: Any) -> None:
    report = require_equal(
        chosen_by_a_number,
        lambda: (arrays((3, 4)), flag),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        calls=2,
    )
    assert (type(flag) is int and flag > 1) or not report.compiled.explain().breaks


def no_choice(x: Any, flag: Any) -> Any:
    try:
        return np.where(flag)
    except ValueError as error:
        return x, str(error)


def test_where_of_a_number_alone() -> None:
    require_equal(no_choice, lambda: (arrays((3,)), True), compile=dynamo_lite.compile, calls=2)


def averages(x: Any, w: Any) -> Any:
    cube = x[:, :, None] + np.arange(3.0)
    return (
        *(np.average(x, axis=0, weights=w), np.average(x, axis=-1, weights=x), np.average(x, weights=x)),
        *(np.average(x, axis=(0,), weights=w, keepdims=True), np.average(x, 0, w, returned=True)),
        *(np.average(cube, axis=(1, 0), weights=x.T), np.average(cube, axis=(2, 0), weights=cube[:, 0].T)),
        np.average((x - np.average(x, axis=0, weights=w)) ** 2, axis=0, weights=w),
    )


def turned(x: Any, w: Any) -> Any:
    order, fixed, sorted_ = np.array([1, 0]), np.arange(2), np.argsort((5, 3))
    first = x.transpose(order), np.transpose(x, fixed), x.transpose(sorted_), np.transpose(x, np.array([-1, 0]))
    order[:] = order[::-1].copy()
    sorted_[0], sorted_[1] = 0, 1
    return *first, x.transpose(order), x.transpose(sorted_), np.transpose(x, np.argsort(w[:2]))


def turned_by_parts(x: Any, w: Any) -> Any:
    """Axes that are put together."""
    order = np.concatenate([[x.ndim - 1], np.arange(0, x.ndim - 1)])
    first = np.transpose(x, order) + 1, x.transpose(np.roll(np.arange(2), 1)), x.transpose(1 - np.arange(2))
    back = np.arange(2)
    view = back[::-1]
    back[0] = 1
    back[1] = 0
    return *first, x.transpose(view), x.transpose(np.concatenate([view, order[:0]]))


def turned_in_loops(x: Any, w: Any) -> Any:
    order = np.argsort((5, 3))
    for _ in range(3):
        w = w + x.transpose(order).sum(axis=0)
        order[:] = order[::-1].copy()
    return w


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [averages, turned, turned_by_parts, turned_in_loops])
def test_axes_computed_of_constants(fn: Any, backend: str) -> None:
    report = require_equal(
        fn,
        lambda: (np.abs(arrays((5, 5))), np.abs(arrays((5,)))),
        variants=[lambda: (np.abs(arrays((40, 40), "F")), np.abs(arrays((40,))))],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
        calls=2,
    )
    assert fn is not averages or not report.compiled.explain().breaks


def laid_out(x: Any, w: Any) -> Any:
    """Arrays of sequences, in an order asked for; and paddings by other constants on one side than on the other."""
    made = np.array([x[0], x[1] * 2.0, w], order="F")
    pads = [np.pad(x, 1, constant_values=pair) for pair in ((1, 1.0), (0.0, -0.0), (2, 3), ((1, 1), (2, 2)))]
    return made.T, made * x[:3], np.array([x, x + 1], order="F"), np.array([1, 2.5], order="F"), *pads


@pytest.mark.parametrize("backend", BACKENDS)
def test_arrays_that_lie_as_asked_for(backend: str) -> None:
    require_equal(
        laid_out,
        lambda: (arrays((5, 5)), arrays((5,))),
        variants=[lambda: (arrays((40, 40), "F"), arrays((40,)))],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, w: np.array([w, w], order="F").T,
        lambda x, w: np.pad(x, 1, constant_values=(0,)),
        lambda x, w: np.transpose(x, np.concatenate([[1], np.arange(0, 1)])) * 2,
    ],
)
def test_forms_without_a_break(fn: Any) -> None:
    fast = dynamo_lite.compile(fn, fullgraph=True, options={"cost_model": False})
    x, w = arrays((5, 5)), arrays((5,))
    assert fast(x, w).tobytes() == fn(x, w).tobytes() and fast(x, w).strides == fn(x, w).strides


def wrong_axes(x: Any) -> Any:
    results = []
    for axes in ([0, 0], [2, 0], [0.0, 1.0]):
        try:
            results.append(x.transpose(np.array(axes)))
        except (TypeError, ValueError) as error:
            results.append(str(error))
    try:
        results.append(x.sum(axis=np.argsort((1, 0))))
    except TypeError as error:
        results.append(str(error))
    return results


def test_wrong_axes() -> None:
    require_equal(wrong_axes, lambda: (arrays((4, 5)),), compile=dynamo_lite.compile, calls=2)


def labelled(x: Any) -> Any:
    """An array takes no attributes, which is certain."""
    y = np.clip(x * 2.0, -1.0, 1.0)
    try:
        y.name = "projection"
    except AttributeError:
        y = y + 1.0
    return y


def unlabelled(x: Any) -> Any:
    y = x * 2.0 + 1.0
    y.name = "projection"
    return y


def sky_bins(x: Any) -> Any:
    return np.digitize(x, (0.0, 1.065, 1.23)) - 1, np.digitize(x * 2.0, [0.0, 1.0], right=True)


def distances(x: Any, box: Any) -> Any:
    counts, edges = np.histogram(x, bins=20, range=(0, box / 2))
    return counts / (edges[1:] ** 3 - edges[:-1] ** 3)


def confusion(y: Any, p: Any, k: Any) -> Any:
    table = np.bincount(y * k + p, minlength=k * k).reshape(k, k)
    return table, np.diag(table) / np.maximum(table.sum(axis=0), 1)


def pieces(x: Any) -> Any:
    return (
        np.piecewise(x, [x < 0.0, x >= 0.0], [lambda t: -t, lambda t: t * 2.0]),
        np.piecewise(x, [x < -1.0, x > 1.0], [0.0, np.exp, lambda t: t * t]),
        np.piecewise(x, x > 0.5, [lambda t, a: t - a, 3.0], 0.25),
    )


def rows_beside_numbers(x: Any) -> Any:
    y = np.zeros_like(x)
    rows = np.array([x < 0.0, x > 0.5])
    for mask, number in zip(rows, (1.0, x.sum()), strict=False):
        y[mask] = number
        rows[1] = ~rows[0]  # which the next item shows
    for number, (mask, other) in zip([0.5], enumerate(np.stack((x, y))), strict=False):
        y += number * mask + other
    return y


def real_parts(x: Any) -> Any:
    both = x.reshape(27, 37)
    real = np.isreal(x), np.isreal(both.T), np.isreal(both[:, ::2]), np.isreal(x + 1j * (x > 0)), np.isreal(x=x > 0)
    return *real, np.where(np.isreal(x) & (x < 0), -x, x)


def test_parts_of_rows_and_numbers() -> None:
    """Strides along axes of one element, and Python's own numbers, whose parts are no arrays."""
    wide = np.arange(85.0).reshape(1, 5, 17)
    for x in (wide.T, wide, np.arange(6.0).reshape(1, 2, 3).transpose(1, 0, 2), (wide > 2.0).T, (wide * 1j).T):
        require_equal(lambda x: np.isreal(x), copies_of(x), compile=dynamo_lite.compile)
    for number in (2.5, 2.5 + 0.0j, 1j, 3, True, np.float64(2.0)):
        require_equal(lambda x: (np.isreal(x), np.isreal(x * 1j)), copies_of(number), compile=dynamo_lite.compile)


@pytest.mark.parametrize("function", (labelled, sky_bins, pieces, rows_beside_numbers, real_parts))
def test_what_broke_the_graph(function: Any) -> None:
    report = require_equal(function, copies_of(np.linspace(-2.0, 2.0, 999)), compile=dynamo_lite.compile)
    assert not report.stats["breaks"]


def test_an_attribute_that_arrays_lack() -> None:
    require_equal(unlabelled, copies_of(np.linspace(-2.0, 2.0, 99)), compile=dynamo_lite.compile)


@pytest.mark.parametrize("box", (2.0, 3, 0, -1.0, np.nan, np.inf, True))
def test_the_range_of_a_histogram(box: Any) -> None:
    x = np.random.default_rng(1).random(2000)
    report = require_equal(distances, copies_of(x, box), compile=dynamo_lite.compile)
    assert not report.stats["breaks"] or report.raised


def test_a_table_of_counts() -> None:
    """Where a label is out of the table, NumPy raises, and the program declines."""
    rng = np.random.default_rng(2)
    arguments = [copies_of(*(rng.integers(0, k, 999) for _ in "yp"), k) for k in (3, 5, 9)]
    wrong = copies_of(np.array([1, 9]), np.array([0, 0]), 3)
    report = require_equal(confusion, arguments[0], compile=dynamo_lite.compile, variants=[*arguments[1:], wrong])
    assert not report.stats["breaks"] and report.raised


def beside_ranges(x: Any, n: int, step: int) -> Any:
    return x + range(n), range(n) * x / n, x < range(n), x * range(0, step * n, step), x - range(n - 1, -1, -1)


@pytest.mark.parametrize("backend", BACKENDS)
def test_ranges_as_operands(backend: str) -> None:
    """Of any length by one program; NumPy makes floats of an empty one."""
    report = require_equal(
        beside_ranges,
        lambda: (np.linspace(0.0, 3.0, 5), 5, 2),
        variants=[
            lambda n=n, step=step: (np.linspace(0.0, 3.0, n), n, step)  # type: ignore[misc]
            for n, step in ((7, 2), (11, 3), (4, -2), (30, -5), (0, 1), (1, 4), (6, 0))
        ],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {"cost_model": False}},
    )
    assert report.stats["compiles"] < 12


LINKS = [(0.0, 1.5, 0.3), (0.4, 0.0, 0.0), (0.3, 0.5, 0.1), (0.0, 1.0, 0.2)]


def chained(links: Any, q: Any) -> Any:
    t, found = np.eye(2), []
    for (a, b, c), angle in zip(links, q):  # noqa: B905
        t = t @ np.array([[np.cos(angle), -a], [b, np.sin(angle) + c]])
        found.append(t)
    return found


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_zip_of_a_short_array_and_what_has_known_items(backend: str) -> None:
    report = require_equal(
        chained,
        lambda: (LINKS, np.linspace(0.0, 1.0, 4)),
        variants=[lambda n=n, m=m: (LINKS[:n], np.linspace(0.0, 1.0, m)) for n, m in ((3, 3), (4, 2), (2, 7), (0, 3))],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )
    assert not report.stats["breaks"]

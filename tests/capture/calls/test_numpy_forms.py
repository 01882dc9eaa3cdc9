"""NumPy functions that capture writes in other words: one program without a break, and all that plain Python gives."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import Conditions, require_equal
from tests.programs.test_random_elements import machines_of

RNG = np.random.default_rng(0)
V = RNG.standard_normal(40)
W = RNG.uniform(0.1, 1.0, 40)
M = RNG.standard_normal((5, 8))
Q = RNG.standard_normal((6, 6))
CUBE = RNG.standard_normal((3, 4, 5))
INTS = RNG.integers(0, 9, 40)
EDGES = np.linspace(-2.0, 2.0, 9)
HOLED = np.where(M > 1.0, np.nan, M)
NOTHING = np.where(np.arange(8) == 2, np.nan, M)


def _changed_copies(m: Any) -> Any:
    first, second = copy.copy(m), copy.deepcopy(m)
    first += 1.0
    second[0] = first[1]
    return first, second, m * 2.0


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "tensordot": (lambda m, q: (np.tensordot(m, m, ([1], [1])), np.tensordot(q, q), np.tensordot(q, q, 1)), (M, Q)),
    "tensordot of cubes": (lambda c, m: (np.tensordot(c, c, ((0, 2), (0, 2))), np.tensordot(c, c, 0)), (CUBE, M)),
    "tensordot of all": (lambda c: np.tensordot(c, c, 3), (CUBE,)),
    "tensordot of ints": (lambda i: np.tensordot(i.reshape(5, 8), i[:8], axes=(1, 0)), (INTS,)),
    "copies": (lambda m, c: (copy.copy(m.T), copy.deepcopy(c[::2, ::-1]), copy.copy(m[0, 0:0])), (M, CUBE)),
    "copies that are changed": (_changed_copies, (M,)),
    "linspace of other dtypes": (
        lambda v: (np.linspace(0, 1, 7, dtype=np.float32) * v[0], np.linspace(9, -9, len(v), False, dtype="i4")),
        (V,),
    ),
    "limits of scalars": (
        lambda v, i: (np.finfo(v[0]).eps, np.finfo(v.ravel()[1]).tiny * v, np.iinfo(i[0]).max),
        (V, INTS),
    ),
    "on the only device": (
        lambda v, m: (
            np.zeros((3, len(v)), device="cpu"),
            np.full_like(m, 0.5, device="cpu"),
            np.astype(m, np.float32, device="cpu"),
            np.arange(len(v), device="cpu"),
            np.asarray(v, device="cpu"),
        ),
        (V, M),
    ),
    "rot90": (lambda m: tuple(np.rot90(m, k) for k in (-1, 0, 1, 2, 3, 4)), (M,)),
    "rot90 in axes": (lambda c: (np.rot90(c, 1, (1, 2)), np.rot90(c, k=3, axes=(2, 0))), (CUBE,)),
    "rollaxis": (
        lambda c: (np.rollaxis(c, 2), np.rollaxis(c, 0, 3), np.rollaxis(c, 1, 1), np.rollaxis(c, -1, -2)),
        (CUBE,),
    ),
    "reshape in F order": (
        lambda m, c: (m.reshape(8, 5, order="F"), np.reshape(c, (-1, 4), "F"), m.T.reshape(-1, order="F")),
        (M, CUBE),
    ),
    "ndmin": (
        lambda v: (np.array(v, ndmin=2), np.array(v, ndmin=3, copy=None), np.array(v[::2], copy=None, ndmin=2)),
        (V,),
    ),
    "cov": (lambda v, w: (np.cov(v, w), np.corrcoef(v, w), np.cov(v)), (V, W)),
    "tile of a number": (lambda v: (np.tile(np.inf, (3, 2)), np.tile(3, 4), v + np.tile(0.5, v.size)), (V,)),
    "histogram with weights": (lambda v, w: np.histogram(v, 7, weights=w), (V, W)),
    "histogram between edges": (lambda v, e: (np.histogram(v, e), np.histogram(v, bins=[-1, 0, 1])), (V, EDGES)),
    "histogram between edges that do not grow": (lambda v, e: np.histogram(v, e)[0], (V, EDGES.round())),
    "histogram density": (
        lambda v, e: (np.histogram(v, 5, density=True), np.histogram(v, e, density=True)),
        (V, EDGES),
    ),
    "histogram of ints": (lambda i: np.histogram(i, bins=np.arange(11)), (INTS,)),
    "broadcast_arrays": (lambda v, w: np.broadcast_arrays(v, w), (V, W)),
    "putmask": (lambda v, m: (np.putmask(v, v > 0, 0.0), np.place(m, m < 0, 1), v, m), (V, M)),
    "accumulate into": (lambda v: (np.multiply.accumulate(v, out=v), v), (V,)),
    "vander": (lambda v: np.vander(v, 4), (V,)),
    "isin": (
        lambda i, v: (np.isin(i, [1, 2]), np.isin(i, i[:3], invert=True), np.isin(v, v[:2]), np.isin(i, 3)),
        (INTS, V),
    ),
    "sets": (
        lambda i: (np.intersect1d(i, i[:4]), np.union1d(i, i + 3), np.setdiff1d(i, i[:4]), np.setxor1d(i, [1, 99])),
        (INTS,),
    ),
    "flat indices": (
        lambda i: (np.ravel_multi_index((i, i), (9, 9)), np.ravel_multi_index((i, 1), (9, 9), order="F")),
        (INTS,),
    ),
    "clipped flat indices": (lambda i: np.ravel_multi_index((i, i + 4), (9, 9), mode="clip"), (INTS,)),
    "the place of a maximum": (
        lambda m, c: (np.unravel_index(np.argmax(m), m.shape), np.unravel_index(c.argmin(), c.shape)),
        (M, CUBE),
    ),
    "lexsort": (lambda i, v: (np.lexsort((v, i)), np.lexsort((i, i % 3))), (INTS, V)),
    "reduceat": (
        lambda v, m: (np.add.reduceat(v, [0, 4, 9]), np.maximum.reduceat(m, np.array([0, 2]), axis=1)),
        (V, M),
    ),
    "means without NaN": (
        lambda h: (np.nanmean(h), np.nanmean(h, axis=1), np.nansum(h, 0), np.nanstd(h), np.nanvar(h, axis=0)),
        (HOLED,),
    ),
    "extremes without NaN": (lambda h: (np.nanmax(h), np.nanmin(h, axis=0), np.nanmax(h, 1)), (HOLED,)),
    "methods of strings": (lambda v, s: v * 2 if s.strip().lower().startswith("do") else v, (V, " Double ")),
    "lists": (lambda v: [names := [2, 3, 5], names.remove(3), names.insert(0, 7), v.sum() * names[0]], (V,)),
}


def whole(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return dynamo_lite.compile(function, options={"cost_model": False}, **options)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_form(name: str, layout: str) -> None:
    function, args = CASES[name]
    report = require_equal(function, copies_of(*(laid_out(one, layout) for one in args)), compile=whole, name=name)
    assert report.stats["breaks"] == 0
    assert report.stats["declines"] == 0


def laid_out(value: Any, layout: str) -> Any:
    if not isinstance(value, np.ndarray) or layout == "C":
        return value
    if layout == "F":
        return np.asfortranarray(value)
    room = np.zeros(tuple(2 * n for n in value.shape), value.dtype)
    part = tuple(slice(None, None, 2) for _ in value.shape)
    room[part] = value
    return room[part]


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda h: (np.nanmean(h, axis=0), np.nanmax(h, axis=0), np.nanvar(h, 0)), (NOTHING,)),
        (lambda v: np.nanmean(v[:0]), (V,)),
        (lambda v: np.nanmax(v * np.nan), (V,)),
        (lambda v, e: np.histogram(v, e), (V, EDGES[::-1])),
        (lambda v, e: np.histogram(v, e), (V, np.where(EDGES == 0, np.nan, EDGES))),
        (lambda v: np.histogram(v[:0], [0.0, 1.0], density=True), (V,)),
        (lambda i: np.ravel_multi_index((i, i), (5, 5)), (INTS,)),
        (lambda m: np.unravel_index(m.argmax() + 40, m.shape), (M,)),
        (lambda m: np.tensordot(m, m), (M,)),
        (lambda m: np.tensordot(m, m, ([0, 0], [0, 0])), (M,)),
        (lambda v: np.rot90(v), (V,)),
        (lambda m: np.rollaxis(m, 3), (M,)),
        (lambda m: np.rollaxis([m], 0), (M,)),
        (lambda v: np.add.reduceat(v, [0, 99]), (V,)),
        (lambda v: np.tile(1.0, -2), (V,)),
        (lambda v, w: np.broadcast_arrays(v, w[:, None]), (V, W)),
        (lambda v, s: s.index("x") and v, (V, "abc")),
        (lambda v: [1, 2].remove(3), (V,)),
        (lambda v, s: v * s.count(1), (V, "abc")),
    ],
)
def test_what_warns_or_raises(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    require_equal(function, copies_of(*args), compile=whole)


def test_a_warning_as_an_error() -> None:
    fast = whole(lambda h: np.nanmean(h, axis=0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fast(HOLED)
        with pytest.raises(RuntimeWarning, match="Mean of empty slice"):
            fast(NOTHING)
    with pytest.warns(RuntimeWarning, match="Mean of empty slice") as caught:
        fast(NOTHING)
    assert caught[0].filename == __file__


IMAGE = RNG.integers(0, 256, (6, 7, 3)).astype(np.uint8)
FIELD = RNG.standard_normal((6, 7, 3))
ROWS = RNG.standard_normal((5, 4))


def rows_by_label(x: Any, labels: Any, centres: Any) -> Any:
    for k in range(3):
        x[labels == k] = centres[k]
    return x


def put(x: Any, mask: Any, value: Any) -> Any:
    x[mask] = value
    return x


def own_row(x: Any) -> Any:
    x[x[:, 0] > 0] = x[1]
    return x


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda x: put(x, x[..., 0] > 100, 7), (IMAGE,)),
        (lambda x: put(x, x[..., 0] > 100, [1, 2, 3]), (IMAGE,)),
        (lambda x: put(x, x[..., 0] > 0, 0.5), (FIELD,)),
        (lambda x, r: put(x, x[..., 0] > 0, r), (FIELD, FIELD[0, 0])),
        (lambda x, r: put(x, x[:, 0, 0] > 0, r), (FIELD, FIELD[0])),
        (lambda x, r: put(x, x[:, 0, 0] > 0, r), (FIELD, FIELD[0, :, :1].copy())),
        (lambda x: put(x, x[:, 0] > 9, 1.0), (ROWS,)),
        (rows_by_label, (ROWS, np.array([0, 2, 1, 0, 5]), FIELD[0, :4].T.copy()[:3, :4])),
        (own_row, (ROWS,)),
    ],
)
def test_rows_that_a_mask_selects(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    report = require_equal(function, copies_of(*args), compile=whole)
    assert report.stats["breaks"] == report.stats["declines"] == 0


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda x: put(x, x[:, 0] > 0, [1, 2]), (ROWS,)),
        (lambda x: put(x, x[:2, 0] > 0, 0.0), (ROWS,)),
        (lambda x, y: put(x, x[:, 0] > 0, y), (ROWS, ROWS)),
        (lambda x, y: put(x, x[:, 0] > 0, y), (ROWS, ROWS[:1])),
        (lambda x, y: put(x, x[..., 0] > 9, y), (IMAGE, FIELD[0, 0])),
        (lambda x: put(x, x > 9, x[0]), (ROWS,)),
    ],
)
def test_other_values_that_a_mask_stores(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    require_equal(function, copies_of(*args), compile=whole)


def two_of_three(x: Any, y: Any) -> Any:
    one, other = x[0], y[0]
    greatest = max(one, other)
    return greatest, one, other, min(one, other, x[1])


def first_element(x: Any, y: Any) -> Any:
    greatest = max(x[0], y[0])
    return greatest, x[0] is greatest


def time_step(x: Any, y: Any) -> Any:
    step = 0.5 / max(np.abs(x).max(), np.abs(y).max())
    x += step * y
    return x, y * step, step


def python_floats(x: Any, y: Any) -> Any:
    one, other = float(x.sum()), float(y.sum())
    return max(one, other), one, other, x / max(one, 1e-9)


def into_a_list(x: Any, y: Any) -> Any:
    found = [max(x[0], y[0])]
    found.append(max(found[0], y[1]))
    return found


@pytest.mark.parametrize("function", [two_of_three, first_element, time_step, python_floats, into_a_list])
@pytest.mark.parametrize("dtype", ["d", "f", "i8"])
def test_the_greatest_of_numpy_scalars(function: Callable[..., Any], dtype: str) -> None:
    x, y = np.array([1.0, 2.0, -0.0, 3.0], dtype), np.array([2.0, 0.0, 1.0, -1.0], dtype)
    report = require_equal(
        function, copies_of(x, y), variants=[copies_of(y, x), copies_of(x, x)], compile=whole, calls=4
    )
    assert report.stats["breaks"] == 0


@pytest.mark.parametrize("value", [np.nan, -0.0, 0.0, np.inf])
def test_the_greatest_beside(value: float) -> None:
    x, y = np.array([0.0, 1.0]), np.array([value, 1.0])
    require_equal(two_of_three, copies_of(x, y), variants=[copies_of(y, x)], compile=whole)


def powers_of_an_index(x: Any, n: Any) -> Any:
    out, one, other = np.zeros(30, x.dtype), x[0], x[1]
    for i in range(30):
        out[i] = max(one ** (n - i) + other**i, 0)
    return out


def powers_of_arguments(x: Any, n: Any) -> Any:
    return x[0] ** n, x[1] ** (n + 1), x[0] ** -n


@pytest.mark.parametrize("function", [powers_of_an_index, powers_of_arguments])
@pytest.mark.parametrize("dtype", ["d", "f", "e", "i8"])
@pytest.mark.parametrize("n", [0, 1, 2, 20, -3])
def test_a_numpy_scalar_to_the_power_of_an_int(function: Callable[..., Any], dtype: str, n: int) -> None:
    x = np.array([1.25, -0.5, 2.0, 0.0]).astype(dtype)
    quiet = Conditions(errstate={"all": "ignore"})
    report = require_equal(
        function, copies_of(x, n), variants=[copies_of(x[::-1].copy(), n + 1)], compile=whole, conditions=quiet
    )
    assert dtype != "d" or report.stats["breaks"] == 0


def either_in_a_row(x: Any) -> Any:
    out = np.zeros((len(x), 3))
    for i in range(len(x)):
        low = 0 if x[i] < 0 else x[i] * 2
        high = x[i] + 1 if x[i] < 0.5 else 1.0
        out[i] = [low, high, i]
    return out


def test_a_row_of_numbers_that_are_of_either_kind() -> None:
    report = require_equal(either_in_a_row, copies_of(V), variants=[copies_of(W)], compile=whole)
    assert report.stats["breaks"] == 0


def filtered(x: Any) -> Any:
    kernel = [[1.0, 2.0, 1.0], [0.0, 0.0, 0.0], [-1.0, -2.0, -1.0]]
    out = np.zeros_like(x)
    for i in range(1, len(x) - 1):
        for j in range(1, x.shape[1] - 1):
            out[i, j] = np.sum(kernel * x[i - 1 : i + 2, j - 1 : j + 2])
    return out


def many_arrays(x: Any, *others: Any) -> Any:
    for i in range(len(x)):
        for j in range(2):
            x[i] = x[i] * 0.5 + others[0][i] + others[1][i] * others[2][i] + others[3][i] - others[4][i] * others[5][i]
            x[i] += others[6][i] - others[7][i] * others[8][i] + others[9][i] + others[10][i] * others[11][i] * j
            x[i] -= others[12][i] + others[13][i] * others[14][i] + others[15][i] - others[16][i] * others[17][i]
            x[i] += others[18][i] * others[19][i] + others[20][i] - others[21][i] * others[22][i] + others[23][i]
            x[i] += others[24][i] + others[25][i]
    return x


MANY = tuple(RNG.standard_normal(20) for _ in range(27))


@pytest.mark.parametrize(("function", "args"), [(filtered, (Q,)), (many_arrays, MANY)])
def test_loops_that_are_machine_code(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    report = require_equal(function, copies_of(*args), compile=whole)
    assert report.stats["breaks"] == report.stats["declines"] == 0
    assert machines_of(report.compiled) == 1


def test_a_string_that_a_method_gives_back_is_the_same_one() -> None:
    def stripped(x: Any, text: str) -> Any:
        same = text.strip("a")
        bare = text.strip
        return (x * 2 if same is text else x + 1), same is text, bare() == text

    texts = (" b ", "abc", "bcd", "a", "", "cbd")
    variants = [lambda text=text: (V.copy(), "".join(list(text))) for text in texts]  # type: ignore[misc]
    require_equal(stripped, variants[0], variants=variants[1:], compile=whole)


CALLS: dict[str, Callable[[Any], Any]] = {
    "digitize": lambda m: np.digitize(m[0], EDGES, bins=EDGES),
    "array_split": lambda m: np.array_split(m, 2, ary=m),
    "select": lambda m: np.select([m > 0], [m], condlist=[m > 1]),
    "histogram": lambda m: np.histogram(m, 10, bins=4),
    "choose": lambda m: np.choose((m > 0).astype(int), [m, m], choices=[m, -m]),
    "fill_diagonal": lambda m: np.fill_diagonal(m, 1.0, val=2.0),
    "fill_diagonal of an unknown name": lambda m: np.fill_diagonal(m, 1.0, wide=True),
    "fill_diagonal of four": lambda m: np.fill_diagonal(m, 1.0, False, None),
    "ascontiguousarray": lambda m: np.ascontiguousarray(m, a=m),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_argument_that_there_is_not_or_twice_is_an_error(name: str) -> None:
    report = require_equal(CALLS[name], copies_of(M), compile=whole)
    assert report.raised == ["TypeError"] * report.calls

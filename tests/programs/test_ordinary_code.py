"""Ordinary NumPy code, as scientists write it: sequences where arrays are wanted, counts that are computed, imports
inside of functions, padding, medians, stores by index arrays. Each is one graph, and gives plain Python's bits."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import Conditions, require_equal

QUIET = Conditions(errstate={"all": "ignore"})
OPTIONS = {"cost_model": False, "check": 1}


def vector(size: int = 60, dtype: str = "d") -> Any:
    return (np.random.default_rng(size).random(size) * 10 - 3).astype(dtype)


def matrix(rows: int = 12, columns: int = 9, dtype: str = "d") -> Any:
    return (np.random.default_rng(rows).random((rows, columns)) * 10 - 3).astype(dtype)


def waves(size: int = 60) -> Any:
    return vector(size) + 1j * vector(size + 1)[:size]


def places(size: int = 60) -> Any:
    return np.random.default_rng(size).permutation(size)


Function = Callable[..., Any]
CASES: dict[str, tuple[Function, tuple[Callable[[], Any], ...]]] = {}


def case(*makers: Callable[[], Any]) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        assert function.__name__ not in CASES
        CASES[function.__name__] = function, makers
        return function

    return register


def three() -> int:
    return 3


def lots() -> int:
    return 41


TABLE = [0.5 * number for number in range(60)]


# sequences


@case(vector)
def concatenate_a_list(v: Any) -> Any:
    return np.concatenate(([1], np.diff(v))), np.concatenate((v * 2, [0.5, 1])), np.concatenate([(), v])


@case(vector, three)
def concatenate_numbers(v: Any, n: Any) -> Any:
    return np.concatenate((v, [n])), np.concatenate(([v[0]], v * 2, [v[-1], n])), np.concatenate(([len(v)], v))


@case(lambda: vector(dtype="f"), three)
def a_list_is_not_weak(v: Any, n: Any) -> Any:
    return np.concatenate(([1], v)), v * [n], np.add(v[:3], (1, 2, 3)), np.hstack([0, v]), np.append(v, n)


@case(vector, lambda: vector(60, "f"))
def lists_of_arrays(x: Any, y: Any) -> Any:
    return np.sum([x, y], axis=0), np.max([x * 2, y, x], axis=0), np.array([x, y, x - y]), np.mean([x, y], axis=0)


@case(vector)
def nested_lists_of_arrays(x: Any) -> Any:
    return np.array([[x, x * 2], [x + 1, x > 1]]), np.asarray(([1, 2, 3], x[:3])), np.stack([x, x * 2], axis=1)


@case(matrix)
def lists_beside_operators(m: Any) -> Any:
    rows = m[:, :3] @ [0.2, 0.5, 0.3], m[:, :3] * (1, 2, 3) - [[1, 2, 3]]
    return rows, np.less([1], m), [0.5] ** abs(m), m[:2] % ([2], [3])


@case(lambda: matrix() > 0)
def bits_of_a_tuple(m: Any) -> Any:
    return np.bitwise_and(m[0, :3], (True, False, True)), m[:, :2] | [True, False], np.logical_not([True, False])


@case(vector)
def functions_of_lists(v: Any) -> Any:
    a, b = v[0], v[1]
    return np.cumsum([a, b, 1.0]), np.std([v.min(), v.max()]), np.interp(v, [0, 0.5, 1], [0, 10, 20]), np.sort([b, a])


@case(vector)
def stores_of_lists(v: Any) -> Any:
    i = np.zeros(6, dtype=np.int32)
    i[1:4] = [1.5, 2, 3]
    v[:3] = [1, v[5], 2.5]
    v[-2:] = (v[0], 7)
    return i, v


@case(vector)
def index_by_lists(v: Any) -> Any:
    return v[[0, 2, -1]] * 2, v[[len(v) - 1, 0]], np.take(v, [1, 2])


@case(vector)
def joined(v: Any) -> Any:
    sides = np.vstack([v, v * 2, range(60)]), np.column_stack([v, v > 0])
    return np.hstack([[0], np.cumsum(v)]), sides, np.hstack([v[0], 1])


@case(vector)
def a_table_of_constants(v: Any) -> Any:
    return np.array(TABLE)[:, None] * v[:5], np.polyval(TABLE[:4], v)


# counts and places that are computed


@case(vector, lots)
def parts_by_division(v: Any, n: Any) -> Any:
    k = int(len(v) * 0.8)
    low, high, up = math.floor(n / 3), math.ceil(n / 3), int(np.ceil(n / 5))
    return v[: int(n / 4)] * 2, v[:k].mean(), v[k:] + 1, v[:low] * 2, v[high:] + 1, v[:up] - 1


@case(vector, three)
def repeated(v: Any, n: Any) -> Any:
    return np.repeat(v, n), np.repeat(v * 2, len(v) // 20), np.tile(v, n), np.tile(v, (2, n)), np.roll(v, n)


@case(matrix, lambda: 1)
def an_axis_as_an_argument(m: Any, axis: Any) -> Any:
    both = np.stack([m, m], axis=axis).mean(axis=(0, axis))
    return m.sum(axis=axis), np.cumsum(m, axis), np.argmax(m, axis=axis), both


@case(vector, lambda: 0.8)
def a_computed_exponent(v: Any, g: Any) -> Any:
    return np.abs(v) ** (1 / g), np.abs(v) ** (g * 2.5)


@case(waves)
def complex_minima(a: Any) -> Any:
    return a - a.real.min() - 1j * a.imag.min(), 2j * a.real.max() + a


# statements


@case(vector)
def imports_inside(v: Any) -> Any:
    import numpy
    import numpy.linalg as la
    from numpy import exp, sqrt
    from numpy.linalg import norm

    return numpy.abs(v) * exp(v) + sqrt(v * v), la.norm(v), norm(v)


@case(vector)
def mapped(v: Any) -> Any:
    low, high = map(np.exp, (v[:20], v[20:]))
    return low, high, [x * 2 for x in map(np.add, (low, v), (low, high[0]))]


# functions of NumPy's Python


@case(lambda: vector(20), lambda: vector(30))
def grids(x: Any, y: Any) -> Any:
    a, b = np.meshgrid(x, y)
    c, d = np.meshgrid(x, y, indexing="ij")
    e, f = np.meshgrid(x, y * 2, sparse=True)
    return np.hypot(a, b), c - d, e * f, np.meshgrid(x), np.meshgrid(x, y, x[:2])[2]


@case(matrix, three)
def padded(m: Any, n: Any) -> Any:
    return (
        np.pad(m, 1) * 2,
        np.pad(m, ((1, 2), (0, n)), mode="edge"),
        np.pad(m, (2, 1), mode="reflect"),
        np.pad(m, n, constant_values=-1.5),
        np.pad(m[0], 2, "wrap"),
        np.pad(m.T, 1, mode="symmetric"),
    )


@case(vector, three)
def inserted_and_deleted(v: Any, n: Any) -> Any:
    return np.insert(v, 0, 0), np.insert(v, n, [1, 2]), np.delete(v, n), np.insert(v, -1, v[2]), np.delete(v, -1)


@case(matrix)
def medians(m: Any) -> Any:
    low, high = np.percentile(m, [5, 95])
    return (
        np.median(m),
        np.median(m, axis=0),
        np.median(m, axis=1, keepdims=True),
        np.clip(m, low, high),
        np.percentile(m, 75) - np.percentile(m, 25),
        np.quantile(m, (0.1, 0.5), axis=1),
        np.percentile(m, 40, axis=(0, 1), method="nearest"),
    )


@case(vector, lots)
def histograms(v: Any, n: Any) -> Any:
    counts, edges = np.histogram(v, bins=n)
    return counts, (edges[1:] + edges[:-1]) / 2, np.histogram(v * 2, 5, range=(0, 4))


@case(lambda: matrix(12, 3), lambda: matrix(12, 3) + 0.5)
def crossed(a: Any, b: Any) -> Any:
    return np.linalg.norm(np.cross(a, b), axis=1), np.cross(a, [0, 0, 1]), np.cross(a[0], b[1])


@case(vector)
def windowed(v: Any) -> Any:
    return v * np.hanning(len(v)), np.hamming(5), v[:7] * np.blackman(7), np.bartlett(len(v))


@case(matrix)
def covariances(m: Any) -> Any:
    return np.cov(m, rowvar=False), np.cov(m.T), np.average(m, axis=0)


@case(vector)
def grids_from_data(v: Any) -> Any:
    return np.linspace(v.min(), v.max(), 50), np.linspace(0, v.max(), 7)


@case(lambda: places(60), vector)
def ranked(order: Any, v: Any) -> Any:
    ranks = np.empty(len(v), dtype=int)
    ranks[order] = np.arange(len(v))
    v[order[:5]] = 0
    m = np.zeros((10, 60))
    m[np.arange(10), order[:10]] = 1
    m[order[:3] % 10] = v
    return ranks, v, m


@case(lambda: places(60), vector)
def counted(order: Any, v: Any) -> Any:
    m = np.zeros((5, 3))
    np.add.at(m, (order % 5, order % 3), v)
    n = np.zeros(7, dtype=int)
    np.add.at(n, order % 7, 1)
    np.maximum.at(v, order % 4, 2.5)
    return m, n, v


@case(vector, vector)
def safe_division(a: Any, b: Any) -> Any:
    out = np.divide(a, b, out=np.zeros_like(a), where=b > 0)
    kept = np.sqrt(a, out=b, where=a > 0)
    np.copyto(a, 0, where=a < 0)
    return out, kept, a


@pytest.mark.parametrize("name", CASES)
def test_it_is_one_graph_with_the_same_bits(name: str, backend: str, no_mode: None) -> None:
    function, makers = CASES[name]
    report = require_equal(
        function,
        lambda: tuple(make() for make in makers),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        conditions=QUIET,
    )
    stats = report.compiled.stats()
    assert stats["breaks"] == 0, report.compiled.explain()
    assert stats["native_calls"] == report.calls, report.compiled.explain()


@pytest.mark.parametrize("size", [2, 7, 33])
def test_other_sizes_keep_the_bits(size: int, backend: str) -> None:
    def sized(v: Any) -> Any:
        k = int(len(v) * 0.3)
        return (
            np.concatenate(([1], np.diff(v))),
            v[:k] * 2,
            np.pad(v, 1, mode="edge"),
            np.array([v, v * 2]),
            np.repeat(v, len(v) // 2),
            np.median(v),
            v * np.hanning(len(v)),
        )

    require_equal(
        sized,
        lambda: (vector(size),),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        variants=[lambda: (vector(1),), lambda: (vector(50),), lambda: (vector(0),)][: 2 if size == 2 else 3],
        conditions=QUIET,
    )


DTYPES = "?bhilBHILefdFD"


def joins(x: Any) -> Any:
    return (
        np.concatenate(([1], x)),
        np.concatenate((x, [True])),
        np.concatenate((x, [1.5, 2])),
        np.array([x, [1, 2, 3]]),
        np.stack([x, (1, 2, 3)]),
        x * [1, 2, 3],
        np.add([1.5, 2, 3], x),
        np.array([x[0], 2]),
        np.array([x, x > 0]),
    )


@pytest.mark.parametrize("char", DTYPES)
def test_sequences_promote_as_numpy_promotes_them(char: str, backend: str) -> None:
    report = require_equal(
        joins,
        lambda: (np.array([1, 0, 2]).astype(char),),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        conditions=QUIET,
    )
    assert report.compiled.stats()["native_calls"] == report.calls


def many_dtypes(a: Any, b: Any, c: Any) -> Any:
    return np.array([a, b, c]), np.array([[a, b], [c, a]]), np.sum([c, a, b], axis=0)


@pytest.mark.parametrize("chars", ["Bbe", "bBe", "HhF", "lLf", "?bB", "fld", "eHb", "qQF"])
def test_the_order_of_promotion_is_numpys(chars: str, backend: str) -> None:
    require_equal(
        many_dtypes,
        lambda: tuple(np.array([1, 0, 2]).astype(char) for char in chars),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )


ODD: list[Function] = [
    lambda x, s: np.concatenate(([1, [2]], x)),
    lambda x, s: np.concatenate((x, [None])),
    lambda x, s: np.concatenate((x, ["a"])),
    lambda x, s: np.concatenate((x, 1)),
    lambda x, s: np.concatenate(([2**63], [1])),
    lambda x, s: np.concatenate(([2**70], x)),
    lambda x, s: np.array([x, x[:2]]),
    lambda x, s: x - [1, 2],
    lambda x, s: np.add(x, 1, out=[1, 2, 3]),
    lambda x, s: np.ndarray.sum([1, 2]),
    lambda x, s: np.copyto([1, 2, 3], x),
    lambda x, s: s * [1, 2],
    lambda x, s: np.int64(2) * [1, 2],
    lambda x, s: np.int64(2) * (x[0], 1),
    lambda x, s: [1, 2] * np.int64(3),
    lambda x, s: np.repeat(x, -1),
    lambda x, s: np.pad(x, -1),
    lambda x, s: np.pad(x, 1.5),
    lambda x, s: np.insert(x, 9, 1),
    lambda x, s: np.delete(x, 9),
    lambda x, s: np.sum([x, x], axis=3),
    lambda x, s: x.sum(axis=int(s)),
    lambda x, s: np.median(x[:0]),
    lambda x, s: np.percentile(x, 101),
    lambda x, s: np.histogram(x, 0),
    lambda x, s: np.hanning(0),
    lambda x, s: np.meshgrid(x, x, indexing="yx"),
    lambda x, s: x[: int(s / 0.0)],
    lambda x, s: x[: int(float("nan"))],
    lambda x, s: x.__setitem__([0, 9], 1),
    lambda x, s: np.add.at(x, [0, 9], 1),
    lambda x, s: 1j * x.max(),
    lambda x, s: 1j * x.max() * x.min(),
    lambda x, s: x.astype("f") * (1j * x.max()),
    lambda x, s: np.divide(x, 0, out=x, where=[True, False, True]),
    lambda x, s: np.array([[], []]),
    lambda x, s: (x * 2, np.array([x.T, [s, s, s]]), np.asarray([x])),
    lambda x, s: np.astype([1, 2], float),
]


@pytest.mark.parametrize("number", range(len(ODD)))
def test_odd_calls_end_as_in_plain_python(number: int, backend: str) -> None:
    require_equal(
        ODD[number],
        lambda: (np.array([1.5, -2.0, 3.0]), 2.0),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )


def test_a_sequence_that_a_function_only_sees_is_made_anew() -> None:
    fast = dynamo_lite.compile(lambda x: (np.asarray([1, 2]), np.reshape([1, 2, 3, 4], (2, 2)), x * 2), options=OPTIONS)
    x = np.ones(3)
    one, other = fast(x), fast(x)
    one[0][0] = 7
    one[1][0, 0] = 7
    assert other[0].tolist() == [1, 2] and other[1].tolist() == [[1, 2], [3, 4]]
    assert fast(x)[0].tolist() == [1, 2] and fast(x)[1].tolist() == [[1, 2], [3, 4]]


# tables of constants

WEIGHTS = [0.25 * number for number in range(60)]
NESTED = tuple((float(number), number) for number in range(20))


def weighted(x: Any) -> Any:
    total = x * WEIGHTS[0]
    for weight in WEIGHTS:
        total = total + weight * x
    return total, [a * x[0] + b for a, b in NESTED]


def test_a_table_of_the_module_is_no_input(backend: str, no_mode: None) -> None:
    report = require_equal(
        weighted,
        lambda: (vector(),),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )
    (graph,) = report.compiled.explain().graphs
    assert len(graph.inputs) == 1 and report.compiled.stats()["native_calls"] == report.calls


def test_a_table_that_changes_is_seen_to_change(backend: str, monkeypatch: pytest.MonkeyPatch, no_mode: None) -> None:
    fast = dynamo_lite.compile(weighted, backend=backend, options=OPTIONS)
    x = vector()
    changes: list[Any] = [0.0, -0.0, 1, True, 2**70, 1.5, float("nan"), 2.5, 3.5, 4.5, 5.5, 6.5]
    mine = WEIGHTS[:]
    monkeypatch.setitem(globals(), "WEIGHTS", mine)
    for place, change in enumerate(changes):
        mine[place] = change
        for _ in range(2):
            assert fast(x)[0].tobytes() == weighted(x)[0].tobytes(), change
    monkeypatch.setitem(globals(), "WEIGHTS", tuple(mine))
    assert fast(x)[0].tobytes() == weighted(x)[0].tobytes()
    monkeypatch.setitem(globals(), "WEIGHTS", mine[:30])
    assert fast(x)[0].tobytes() == weighted(x)[0].tobytes()
    assert fast.stats()["native_calls"] > len(changes)


def test_a_list_that_holds_itself_is_no_table() -> None:
    WEIGHTS.append(WEIGHTS)  # type: ignore[arg-type]
    try:
        fast = dynamo_lite.compile(lambda x: x * WEIGHTS[1], options=OPTIONS)
        assert fast(vector()).tobytes() == (vector() * WEIGHTS[1]).tobytes()
    finally:
        WEIGHTS.pop()


# imports


def test_an_import_is_guarded(monkeypatch: pytest.MonkeyPatch, no_mode: None) -> None:
    import builtins
    import sys
    import types

    def f(x: Any) -> Any:
        import numpy as numbers

        return numbers.exp(x) * 2

    x = vector()
    fast = dynamo_lite.compile(f, options=OPTIONS)
    assert fast(x).tobytes() == f(x).tobytes() and fast.stats()["breaks"] == 0
    other = types.ModuleType("numpy")
    other.exp = lambda x: x + 1  # type: ignore[attr-defined]
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "numpy", other)
        assert fast(x).tobytes() == ((x + 1) * 2).tobytes()
    seen: list[str] = []
    original = builtins.__import__

    def importing(name: str, *args: Any, **kwargs: Any) -> Any:
        seen.append(name)
        return original(name, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "__import__", importing)
        assert fast(x).tobytes() == f(x).tobytes()
        assert seen.count("numpy") == 2
    assert fast(x).tobytes() == f(x).tobytes()


def test_an_import_of_what_is_not_there_yet_breaks(no_mode: None) -> None:
    def f(x: Any) -> Any:
        from numpy import no_such_name  # type: ignore[attr-defined]

        return no_such_name(x)

    for _ in range(2):
        with pytest.raises(ImportError, match="no_such_name"):
            dynamo_lite.compile(f, options=OPTIONS)(vector())


# functions with cell variables


def breaks_with_cells(x: Any, k: Any) -> Any:
    scale = k + 1
    total = sum(y * scale for y in (x, x * 2))
    if total.sum() > 0:
        scale += 1
    rows = [total[i : i + 2] * scale for i in range(3)]
    k = len(rows)
    return total * scale, rows, (lambda y: y + k)(total)


def keeps_a_function(x: Any, k: Any) -> Any:
    def shifted(y: Any) -> Any:
        return y + k

    if shifted(x).sum() > 0:
        k = k + 1
    return shifted(x * 2)


def gives_a_function(x: Any, k: Any) -> Any:
    y = x * 2
    if y.sum() > 0:
        k = 5
    f = lambda: k  # noqa: E731
    k = k + 1
    return f(), y * k


@pytest.mark.parametrize("native_branches", [True, False])
@pytest.mark.parametrize("function", [breaks_with_cells, keeps_a_function, gives_a_function])
def test_breaks_in_functions_with_cell_variables(function: Function, backend: str, native_branches: bool) -> None:
    require_equal(
        function,
        lambda: (vector(), 3),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {**OPTIONS, "native_branches": native_branches}},
        variants=[lambda: (-vector() - 20, 3)],
    )


def test_a_break_does_not_leave_a_function_with_cells_plain(no_mode: None) -> None:
    fast = dynamo_lite.compile(breaks_with_cells, options={**OPTIONS, "native_branches": False})
    fast(vector(), 3)
    fast(vector(), 3)
    assert len(fast.explain().breaks) == 1 and fast.stats()["native_calls"] == 4


# ufuncs of other packages


def other_ufuncs() -> dict[str, Function]:
    tests: Any = pytest.importorskip("numpy._core._umath_tests")
    found: dict[str, Function] = {
        "inner": lambda x, y: tests.inner1d(x, y * 2) + 1,
        "cross": lambda x, y: tests.cross1d(x + 1, y) * 2,
        "product": lambda x, y: tests.matrix_multiply(x.T, y) * 2,
        "error": lambda x, y: tests.always_error(x + 1, y),
        "wrong sizes": lambda x, y: tests.inner1d(x, y[:, :2]),
    }
    try:
        import scipy.special as special
    except ImportError:
        return found
    for name in ("erf", "gammaln", "expit"):
        found[name] = _applied(getattr(special, name))
    found["two"] = lambda x, y: (special.xlogy(x, y), special.jv(2, x), special.sici(x)[0] * y, special.erf(x, out=y))
    return found


def _applied(f: Any) -> Function:
    return lambda x, y: (f(x + 1) * y, f(x.astype("f")), f(x[0, 0]), f(0.5))


TRIED = ("inner", "cross", "product", "error", "wrong sizes", "erf", "gammaln", "expit", "two")


@pytest.mark.parametrize("name", TRIED)
def test_ufuncs_of_other_packages(name: str, backend: str) -> None:
    function = other_ufuncs().get(name)
    if function is None:
        pytest.skip("needs scipy")
    report = require_equal(
        function,
        lambda: (matrix(20, 3), matrix(20, 3) + 5),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        conditions=QUIET,
    )
    if name in ("inner", "cross", "product", "erf", "gammaln", "expit"):
        assert report.compiled.stats()["breaks"] == 0


# allow_in_graph


@dynamo_lite.allow_in_graph
def doubled(x: Any, k: Any = 1) -> Any:
    out = np.empty_like(x)
    for place in range(len(x)):
        out[place] = eval("x[place]") * 2 * k
    return out


@dynamo_lite.allow_in_graph
def several(x: Any, n: Any) -> Any:
    return x.sum(axis=0), np.zeros((len(x), n)), x[0, 0]


@dynamo_lite.allow_in_graph
def shared(x: Any) -> Any:
    return x.T


@dynamo_lite.allow_in_graph
def raises(x: Any) -> Any:
    raise ValueError("no")


@dynamo_lite.allow_in_graph
def lies(x: Any) -> Any:
    return x * 2 if x.ravel()[0] == 1 else (x * 2).astype("f")


ALLOWED: dict[str, tuple[Function, int | None]] = {
    "one": (lambda m: doubled(m[0] + 1, k=3) * 2, 0),
    "several": (lambda m: [part * 2 for part in several(m * 2, 3)], 0),
    "shared": (lambda m: shared(m * 2) + 1, None),
    "raises": (lambda m: raises(m * 2), None),
    "lies": (lambda m: lies(m * 2) + 1, None),
    "in a loop": (lambda m: [doubled(m[0]) for _ in range(3)], 0),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_functions_allowed_in_graphs(name: str, backend: str, no_mode: None) -> None:
    function, breaks = ALLOWED[name]
    report = require_equal(
        function,
        lambda: (matrix(),),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        variants=[lambda: (matrix(5, 4),), lambda: (matrix(9, 9),)],
    )
    if breaks is not None:
        stats = report.compiled.stats()
        assert stats["breaks"] == breaks and stats["native_calls"] == report.calls, report.compiled.explain()


def test_allow_in_graph_takes_functions() -> None:
    with pytest.raises(TypeError, match="takes a Python function, not builtin"):
        dynamo_lite.allow_in_graph(len)
    assert dynamo_lite.allow_in_graph(doubled) is doubled


def test_warnings_come_once_each_time(backend: str) -> None:
    fast = dynamo_lite.compile(
        lambda x: np.concatenate(([0.0], 1 / x)) + np.median(x), backend=backend, options=OPTIONS
    )
    for _ in range(3):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            fast(np.array([0.0, 1.0]))
        assert [str(one.message) for one in seen] == ["divide by zero encountered in divide"]


def listed(x: Any) -> Any:
    return x * 2.0, {"mean": float(x.mean()), "most": x.max().item(), "whole": int(x.sum()), "kind": x.size}


NUMBERS: dict[str, Function] = {
    "float": lambda x: float(x.sum()) * 2 + x,
    "item": lambda x: [x.max().item() / 3, x.min().item(), x[0].item()],
    "int": lambda x: (int(x.sum()) + 1) % 3,
    "round": lambda x: (round(x.sum()), round(x[0], None), -round(x[-1])),
    "places": lambda x: (round(x.sum(), 3), round(x[0], -1), round(x[-1], ndigits=1)),
    "unused": lambda x: (int(x.sum()), x)[1],
    "folded": lambda x: x[int(abs(x[0])) % len(x)],
    "nothing": lambda x: int(x.sum()) * 0,
    "several": listed,
    "again": lambda x: float(x.sum()) + float(x.sum()) - x,
}


@pytest.mark.parametrize("dtype", ["d", "f", "l", "B"])
@pytest.mark.parametrize("name", NUMBERS)
def test_python_numbers_out_of_arrays(name: str, dtype: str, backend: str) -> None:
    """float(), int(), item() and round() of what the graph computes: one graph, and plain Python's errors."""
    values = [[1.0, 2.5, -0.5], [0.5], [1.5], [-0.5], [1e18, 3.0], [1e19], [-1e-320], [np.inf], [np.nan], [0.0, -0.0]]
    with np.errstate(all="ignore"):
        arrays = [np.array(value).astype(dtype) for value in values]
    report = require_equal(
        NUMBERS[name],
        lambda: (arrays[0].copy(),),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        variants=[lambda array=array: (array.copy(),) for array in arrays[1:]],
        conditions=QUIET,
    )
    assert dtype != "d" or not report.compiled.explain().breaks, report.compiled.explain()
    assert report.stats["native_calls"] > 0

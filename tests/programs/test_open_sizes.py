"""Results of sizes that only the run knows, results that are tuples of NumPy's own, parts of arrays and what joins
them, roots of sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal

OPTIONS = {"cost_model": False, "check": 1}
RNG = np.random.default_rng(0)
X = RNG.normal(size=60)
M = RNG.normal(size=(8, 5))
LABELS = RNG.integers(0, 5, 60)
S = M.T @ M


def indices(x: Any) -> Any:
    (at,) = np.nonzero(x > 0)
    return x[at] * 2.0, at + 1, len(at), np.zeros(len(at)), np.where(x > 1e9), np.flatnonzero(x)


def indices_of_axes(m: Any) -> Any:
    rows, columns = np.nonzero(m > 0)
    return m[rows, columns] + rows, np.argwhere(m > 0), m[np.where(m < 0)].sum()


def selected(x: Any) -> Any:
    part = np.count_nonzero(x > 0) / len(x)
    return np.extract(x > 0, x), np.compress(x > 0, x), x.compress([True, False, True]), part


def stored(x: Any) -> Any:
    y = x.copy()
    y[np.nonzero(y < 0)[0]] = 0.0
    return y


def distinct(labels: Any) -> Any:
    values, counts = np.unique(labels, return_counts=True)
    _, first, inverse = np.unique(labels, True, True)
    return values[np.argmax(counts)], counts / len(labels), values[inverse] - labels, first, values[:, None] - values


def counted(labels: Any, x: Any) -> Any:
    return np.bincount(labels), np.bincount(labels, x, 9) * 2.0, np.bincount(labels, minlength=3).sum()


def repeated(labels: Any, x: Any) -> Any:
    return np.repeat(x, labels) + 1.0, x.repeat([2]), np.repeat(x[:3], [3, 0, 1]), np.repeat(x[None], labels, axis=1)


def groups(labels: Any, x: Any) -> Any:
    total, sizes = 0.0, np.zeros(5)
    for k in range(5):
        at = np.nonzero(labels == k)[0]
        total += x[at].sum()
        sizes[k] = np.count_nonzero(labels == k)
    return total, sizes


def factors(m: Any) -> Any:
    s = m.T @ m + np.eye(m.shape[1])
    values, vectors = np.linalg.eigh(s)
    u, d, v = np.linalg.svd(m, full_matrices=False)
    q, r = np.linalg.qr(m)
    sign, logdet = np.linalg.slogdet(s)
    return vectors * values, (u * d) @ v, q @ r, sign * np.exp(logdet), np.linalg.pinv(m), np.linalg.matrix_rank(m)


def factors_themselves(m: Any) -> Any:
    result = np.linalg.svd(m)
    return result, result, np.linalg.qr(m), np.linalg.svd(m, compute_uv=False), result.S * 2.0, np.linalg.qr(m, "r")


def fitted(m: Any) -> Any:
    return np.linalg.lstsq(m, m[:, 0], rcond=None)[0], np.linalg.lstsq(m, m[:, :2])


def factors_in_a_loop(m: Any) -> Any:
    result, t = np.linalg.qr(m), 0.0
    for k in range(4):
        q, r = np.linalg.qr(m + k)
        t += r[0, 0] * result.R[0, 0]
    return result, t, q


def parts(x: Any) -> Any:
    first, second = np.split(x, 2)
    several = np.array_split(x, 7), np.split(x, [3, 9]), np.hsplit(x[None, :], 2), np.array_split(x, 1)
    return first * 2.0 + second, several


def parts_of_matrices(m: Any) -> Any:
    return [part.sum() for part in np.array_split(m, 3, axis=1)], np.vsplit(m, 2), np.split(m, [1], axis=-1)


def joined(x: Any, i: Any, m: Any) -> Any:
    n = len(i)
    rows = np.r_[x, i], np.r_[i, 1.5], np.r_[0, x, x[1], n], np.r_[0:n, i], np.r_[[1, 2], i], np.r_[m, m]
    small = x.astype(np.float32)
    return rows, np.c_[x, i] * 2.0, np.c_[m, m], np.c_[np.ones(n), x, i], np.c_[1:4, 5:8], np.c_[small, x]


def square(x: Any) -> Any:
    n = int(np.sqrt(len(x)))
    return x[: n * n].reshape(n, n).sum(axis=0), x * float(np.sqrt(len(x))), x[: math.ceil(math.sqrt(len(x)))]


def shaped(x: Any, n: Any, m: Any) -> Any:
    return x.reshape(n, m) * 2.0, np.reshape(x, (n, m)) + 1.0, x.reshape((m, n)).sum(axis=0)


def roots(x: Any) -> Any:
    t = 0.0
    for i in range(len(x)):
        t += math.sqrt(i) + math.sqrt(abs(x[i]))
    return t, x / math.sqrt(len(x))


PROGRAMS: list[tuple[Any, list[tuple[Any, ...]]]] = [
    (indices, [(X,), (np.ones(3),), (-np.ones(3),), (X[::-2],), (np.array([0.0, np.nan, 2.0]),)]),
    (indices_of_axes, [(M,), (M.T,), (np.zeros((3, 2)),)]),
    (selected, [(X,), (-np.ones(5),)]),
    (stored, [(X,), (np.ones(4),)]),
    (distinct, [(LABELS,), (np.ones(3, int),), (np.arange(4.0)[::-1],), (np.array([np.nan, 1.0, np.nan]),)]),
    (counted, [(LABELS, X), (np.zeros(3, np.int8), X[:3])]),
    (repeated, [(LABELS, X), (np.zeros(4, int), X[:4])]),
    (groups, [(LABELS, X), (LABELS[:5], X[:5])]),
    (factors, [(M,), (M.T.copy(),), (M.astype(np.float32),)]),
    (factors_themselves, [(M,), (M.T,), (M + 1j,)]),
    (fitted, [(M,), (M[:3],), (np.ones((4, 3)),)]),
    (factors_in_a_loop, [(M,)]),
    (parts, [(X,), (X[:12],), (X[::2],)]),
    (parts_of_matrices, [(M,), (M.T[:4],), (M[:2, :3],)]),
    (joined, [(X, LABELS, M), (X[:3], LABELS[:3].astype(np.int8), M.T)]),
    (square, [(X,), (X[:49],), (X[:50],), (X[:2],)]),
    (roots, [(X,), (X[:7],)]),
]


@pytest.mark.parametrize(("function", "calls"), PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_equal_and_one_graph(function: Any, calls: list[tuple[Any, ...]], backend: str) -> None:
    for args in calls:
        report = require_equal(
            function,
            lambda args=args: [arg.copy() for arg in args],  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": OPTIONS},
        )
        assert not report.compiled.explain().breaks and not report.compiled.explain().skips
        assert report.stats["native_calls"] and not report.stats["plain_calls"]


def test_a_size_that_is_an_argument_may_be_minus_one(backend: str) -> None:
    fits, fits_not = [(2, 3), (-1, 1), (1, -1), (3, -1), (-1, 6), (6, 1)], [(-1, -1), (4, 3), (-2, 3)]
    options = {"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}}
    for sizes in (fits, fits + fits_not):
        first, *rest = [lambda n=n, m=m: (X[:6].copy(), n, m) for n, m in sizes]  # type: ignore[misc]
        report = require_equal(shaped, first, variants=rest, compile=dynamo_lite.compile, compile_options=options)
        assert not report.compiled.explain().breaks and bool(report.raised) == (sizes is not fits)


@pytest.mark.usefixtures("no_mode")
def test_one_program_for_all_sizes(backend: str) -> None:
    fast = dynamo_lite.compile(indices, backend=backend, options=OPTIONS)
    for x in (X, X[:50], -np.ones(40), np.ones(40)):
        assert [np.asarray(a).tobytes() for a in fast(x)] == [np.asarray(a).tobytes() for a in indices(x)]
    assert fast.stats()["compiles"] == 1 and fast.stats()["native_calls"] == 4


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda i: np.bincount(i) * 2, (np.array([1, -1]),)),
        (lambda i, w: np.bincount(i, w), (np.array([1, 1]), np.ones(3))),
        (lambda x, i: np.repeat(x, i) * 2, (np.ones(2), np.array([1, -1]))),
        (lambda x, i: np.repeat(x, i) * 2, (np.ones(2), np.array([1, 1, 1]))),
        (lambda c, x: np.compress(c, x) * 2, (np.ones(4, bool), np.ones(3))),
        (lambda m: np.linalg.eigh(m)[0] * 2, (np.full((2, 2), np.nan),)),
        (lambda m: np.linalg.svd(m)[1] * 2, (np.full((2, 2), np.nan),)),
        (lambda m: np.linalg.qr(m)[0] * 2, (np.ones(3),)),
        (lambda x: np.nonzero(x[0])[0] * 2, (np.ones(3),)),
        (lambda x: np.split(x, 2)[0] * 2, (np.ones(3),)),
        (lambda x: np.array_split(x, 0)[0] * 2, (np.ones(3),)),
        (lambda x: np.split(x, 2, axis=1)[0] * 2, (np.ones(4),)),
        (lambda x, n: x * math.sqrt(n), (np.ones(4), -3)),
        (lambda x: np.r_[x, 300] + x.sum(), (np.ones(4, np.uint8),)),
        (lambda x: np.r_["0,2", x, x] + x.sum(), (np.ones(4),)),
        (lambda x, m: np.r_[x, m] + x.sum(), (np.ones(4), M)),
        (lambda x, m: np.c_[x, m] + x.sum(), (np.ones(4), M)),
        (lambda x: np.r_[x, 0:1:5j] + x.sum(), (np.ones(4),)),
        (lambda x, n: x * int(np.sqrt(n)), (np.ones(4), -3)),
    ],
)
def test_errors_are_numpys_own(function: Any, args: tuple[Any, ...], backend: str) -> None:
    require_equal(
        function,
        lambda: [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )


def adds_where_it_fits(x: Any) -> None:
    values = np.unique(x)
    if values.sum() > 0 or values.size > 1:
        x[...] = x + values


def test_what_a_branch_needs_of_an_open_size() -> None:
    cases = [np.arange(24, dtype="u2").reshape(3, 8) % n for n in (8, 3, 1)] + [np.zeros((3, 8), "u2")]
    fast = dynamo_lite.compile(adds_where_it_fits, options=OPTIONS)
    for x in cases:
        require_equal(adds_where_it_fits, lambda x=x: [x.copy()], compile=lambda _: fast)  # type: ignore[misc]


@pytest.mark.parametrize("function", [np.isclose, np.allclose, np.array_equal, np.hypot, np.dot, np.inner, np.interp])
def test_functions_of_an_open_size_and_another(function: Any) -> None:
    def of_both(x: Any) -> Any:
        values = np.unique(x)
        return function(values, x) if function is not np.interp else function(x, values, x)

    require_equal(
        of_both,
        lambda: [np.arange(5.0)],
        variants=[lambda: [np.arange(3.0)], lambda: [np.ones(1)], lambda: [np.array([1.0, 1.0, 2.0])]],
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
    )


NUMBERS = (1.5, 1e-46, -1e-46, 1e300, 2.5e-320, 1e-40, 1e-6, 1e5, 0.0, -0.0, math.nan, math.inf, 1.1)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8"])
@pytest.mark.parametrize("text", ["np.where(x > 1, {}, x)", "(np.where(x > 1, {}, x), x)[1]"])
def test_numbers_that_where_makes_arrays_of(text: str, dtype: str) -> None:
    """It casts them, which may underflow."""
    x = np.array([0.5, 2, 3], dtype)
    for number in NUMBERS:
        for given in ("k", "k * 2", repr(number)):
            names: dict[str, Any] = {"np": np, "nan": math.nan, "inf": math.inf}
            exec(f"def f(x, k):\n    return {text.format(given)}\n", names)
            for mode in ("warn", "raise"):
                with np.errstate(all=mode):  # type: ignore[call-overload]
                    require_equal(names["f"], lambda: (x.copy(), number), compile=dynamo_lite.compile)  # noqa: B023

"""Every spelling of NumPy that ops know, recorded and interpreted: the same bits, types, layout, sharing and writes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dynamo_lite import ops
from dynamo_lite.ops.elementwise import TAKES_ELLIPSIS
from dynamo_lite.ops.table import ops_table
from tests.copies import copies_of
from tests.ops.record import record
from tests.oracle import Conditions, require_equal

QUIET = Conditions(errstate={"all": "ignore"})


def array(shape: tuple[int, ...], dtype: str = "d", seed: int = 0) -> Any:
    """Small numbers, negative ones too where the dtype has them."""
    values = np.random.default_rng(seed).integers(-4, 5, shape)
    return (values if np.dtype(dtype).kind in "if" else np.abs(values)).astype(dtype)


A = array((4, 3))
B = array((4, 3), seed=1) + 0.5
V = array((3,), seed=2)
INT = array((4, 3), "i8", 3)
U = array((4, 3), "u1", 4)
Z = array((4, 3), "D", 5) + 1j * array((4, 3), "D", 6)
S = array((3, 3), seed=7) + 5 * np.eye(3)
F32 = array((4, 3), "f", 8)
MASK = array((4, 3), seed=9) > 0
CUBE = array((2, 4, 3), seed=10)


def add_one(x: Any) -> Any:
    x += 1
    return x


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    # reductions
    "sum": (lambda x: (x.sum(), np.sum(x, 0), x.sum(axis=-1, keepdims=True), np.add.reduce(x, axis=None)), (A,)),
    "sum int": (lambda x: (x.sum(), x.sum(1, dtype="f4"), np.sum(x, axis=(0, 1))), (U,)),
    "prod": (lambda x: (x.prod(), np.prod(x, axis=0), np.multiply.reduce(x)), (INT,)),
    "max": (lambda x: (x.max(), np.max(x, 1), np.amin(x, axis=0, keepdims=True), x.min(-1)), (A,)),
    "any": (lambda x: (x.any(), np.all(x, axis=0), np.any(x, 1, keepdims=True), x.all()), (INT,)),
    "reduce of 0-d": (lambda x: (x[0, 0].sum(), x[0, 0, ...].max(), x[1, ...].sum()), (A,)),
    "reduce out": (lambda x, y: np.sum(x, axis=0, out=y), (A, V)),
    "reduce out of another dtype": (lambda x, y: (np.add.reduce(x, 0, None, y), y), (U, array((3,), "u2"))),
    "sum of empty": (lambda x: (x.sum(), x.prod(0), x.any(1)), (np.ones((0, 3)),)),
    "initial": (lambda x: (np.max(x, initial=3.0), np.sum(x, axis=1, initial=2)), (A,)),
    "cumsum": (lambda x: (x.cumsum(), np.cumsum(x, axis=1), np.cumprod(x, 0, "D"), np.add.accumulate(x)), (A,)),
    "argmax": (lambda x: (x.argmax(), np.argmin(x, 1), np.argmax(x, axis=0, keepdims=True)), (A,)),
    # elementwise
    "ufuncs": (lambda x, y: np.sqrt(np.abs(x)) * np.exp(y) - np.hypot(x, y), (A, B)),
    "ufunc out": (lambda x, y: np.add(x, 1, out=y), (A, B)),
    "ufunc out positional": (lambda x, y: (np.multiply(x, x, y), y), (A, B)),
    "ufunc out wider": (lambda v, y: np.negative(v, out=y), (V, B)),
    "ufunc out narrower": (lambda x, y: np.add(x, 0.1, out=y), (A, F32)),
    "ufunc dtype": (lambda x, y: np.add(x, y, dtype=np.complex128), (A, B)),
    "ufunc casting": (lambda x, y: np.true_divide(x, 2, out=y, casting="unsafe", subok=False), (A, INT)),
    "two results": (lambda x: (np.modf(x), np.frexp(x), np.divmod(x, 2)), (B,)),
    "where": (lambda m, x, y: (np.where(m, x, y), np.where(x > 0, x, 0), np.where(m, 1, 2)), (MASK, A, B)),
    "where f4": (lambda m, x: (np.where(m, x, 1.5), np.where(m, 2, x)), (MASK, F32)),
    "clip": (lambda x: (x.clip(-1, 2), np.clip(x, None, 1), np.clip(x, 0, None), np.clip(x, min=0, max=1)), (A,)),
    "clip u1": (lambda x: (x.clip(-5, 300), np.clip(x, 1, 1000), x.clip(max=3)), (U,)),
    "clip arrays": (lambda x, v: (np.clip(x, v, 2), np.clip(x, v, v + 1, out=x)), (A, V)),
    "clip symbols": (lambda x, lo, hi: x.clip(lo, hi), (INT, -2, 3)),
    "astype": (lambda x: (x.astype("f4"), x.astype(np.int64), x.astype(float, copy=False) is x), (A,)),
    "astype order": (lambda x: (x.astype("f4", "F"), x.astype(int, order="C"), x.T.astype(bool)), (A,)),
    "copies": (
        lambda x, *, np=np: (x.copy(), np.copy(x.T), x.T.copy(), x.copy("F"), np.array(x), x[0, 0].copy()),
        (A,),
    ),
    "asarray": (lambda x, *, np=np: (np.asarray(x), np.asanyarray(x, "f4"), np.array(x, copy=None)), (A,)),
    "round": (lambda x, z, i: (x.round(), np.round(x, 2), np.around(z), i.round(-1), i.round()), (B, Z, INT)),
    "scalar types": (lambda x, n, *, np=np: (np.float32(x[0, 0]), np.int64(n), np.float64(x[0, ...][0, ...])), (A, 7)),
    "words": (lambda v: (v * np.uint64(0x9E3779B97F4A7C15), np.uint64(2**64 - 1)), (np.arange(9, dtype="L"),)),
    "ceil": (lambda i, m: (np.ceil(i), np.floor(m), np.trunc(i)), (INT, MASK)),
    # views
    "reshape": (lambda x: (x.reshape(2, 6), x.reshape((3, -1)), np.reshape(x, -1), x.T.reshape(2, 6)), (A,)),
    "reshape sizes": (lambda x: (x.reshape(x.shape[1], x.shape[0]), x.reshape(-1, x.shape[1], 1)), (A,)),
    "transpose": (lambda x: (x.T, x.transpose(), x.transpose(2, 0, 1), np.transpose(x, (1, 0, 2)), x.mT), (CUBE,)),
    "swapaxes": (lambda x: (x.swapaxes(0, 2), np.swapaxes(x, -1, 0), np.moveaxis(x, 0, -1)), (CUBE,)),
    "moveaxis several": (lambda x: np.moveaxis(x, [0, 2], [1, 0]), (CUBE,)),
    "squeeze": (lambda x: (x.squeeze(), np.squeeze(x, 0), x.squeeze(axis=(0, 3))), (np.ones((1, 2, 3, 1)),)),
    "squeeze to 0-d": (lambda x: x.squeeze(), (np.ones((1, 1)),)),
    "expand_dims": (lambda x: (np.expand_dims(x, 0), np.expand_dims(x.T, (1, -1))), (A,)),
    "broadcast_to": (lambda v: (np.broadcast_to(v, (4, 3)), np.broadcast_to(v[:, None], (3, 2)) + 1), (V,)),
    "ravel": (lambda x: (x.ravel(), np.ravel(x.T), x.T.ravel("K"), x[:, 1:].ravel(), x[0].ravel()), (A,)),
    "flatten": (lambda x: (x.flatten(), x.T.flatten("F"), x.T.flatten()), (A,)),
    "real and imag": (lambda z, x: (z.real, z.imag, np.real(z), x.real is x), (Z, A)),
    # indexing
    "slices": (lambda x: (x[1:-1], x[:, 0], x[::-1, ::2], x[-1], x[1:], x[:-1], x[..., 1:]), (A,)),
    "newaxis": (lambda x: (x[None], x[:, None, 1], x[np.newaxis, ..., 0], x[...]), (A,)),
    "elements": (lambda x: (x[0, 0], x[-1, -2], x[1, 2, ...], x[0][1]), (A,)),
    "empty slices": (lambda x: (x[5:], x[3:1], x[:0], x[9:20:3]), (A,)),
    "slices by sizes": (lambda x, n: (x[n:], x[: x.shape[0] - n], x[x.shape[0] // 2 :, n - 1]), (A, 1)),
    "index arrays": (
        lambda x, i: (x[i], x[:, i], x[i, 0], x[i, i], x[i, None], np.take(x, i)),
        (A, np.array([2, 0, 1])),
    ),
    "take": (
        lambda x, i: (np.take(x, i, axis=1), x.take(i, 0, mode="clip"), np.take(x, 1, axis=-1), x.take(2)),
        (A, np.array([[2, 0], [1, 1]])),
    ),
    "element by argmax": (lambda v: v[v.argmax()], (V,)),
    # stores
    "store": (lambda x: x.__setitem__(0, 1.0), (A,)),
    "store a slice": (lambda x, y: x.__setitem__((slice(1, -1), Ellipsis), y[:-2] + y[2:]), (A, B)),
    "store a row everywhere": (lambda x, v: x.__setitem__(slice(None), v), (A, V)),
    "store overlapping": (lambda x: x.__setitem__(slice(1, None), x[:-1]), (A,)),
    "store leading ones": (lambda x, v: x.__setitem__(0, v[None, None]), (A, V)),
    "store an element": (lambda x, n: x.__setitem__((n, 1), x[0, 0]), (A, 2)),
    "store casts": (lambda i, x: i.__setitem__(1, x[0]), (INT, A)),
    "store by mask": (lambda x, m: (x.__setitem__(m, 0.0), x.__setitem__(x > 2, -1)), (A, MASK)),
    "store into int by mask": (lambda i, m: i.__setitem__(m, 3), (INT, MASK)),
    "copyto": (lambda x, v: (np.copyto(x, v), np.copyto(x[0], 2)), (A, V)),
    "fill": (lambda x: (x[1:].fill(3), x), (A,)),
    "sort in place": (lambda x: (x.sort(), x.sort(0)), (A,)),
    # creation
    "zeros": (
        lambda x, *, np=np: (np.zeros(x.shape), np.ones((2, 3), dtype="i4"), np.empty((0, 2)), np.zeros(3)),
        (A,),
    ),
    "full": (
        lambda n, x, *, np=np: (np.full((2, n), 1.5), np.full(3, n), np.full(2, x[0, 0]), np.full(2, 1, "F")),
        (3, F32),
    ),
    "like": (
        lambda x: (np.zeros_like(x.T), np.ones_like(x, dtype=int), np.full_like(x, 3), np.zeros_like(x, order="C")),
        (A,),
    ),
    "like a scalar": (lambda x: (np.zeros_like(x[0, 0]), np.ones_like(x[0, 0])), (A,)),
    "arange": (
        lambda n, *, np=np: (np.arange(n), np.arange(1, n), np.arange(n, 0, -2), np.arange(0.0, 1.0, 0.3)),
        (7,),
    ),
    "arange dtype": (lambda n, *, np=np: (np.arange(n, dtype=float), np.arange(3, dtype="f4"), np.arange(0)), (5,)),
    "eye": (lambda n, *, np=np: (np.eye(3), np.eye(n, 4, k=1), np.identity(2, "f4"), np.tri(n)), (3,)),
    "array of": (
        lambda n, x, *, np=np: (np.array([1, 2, n]), np.array([[n, 2.5], [1, x[0, 0]]]), np.asarray(n)),
        (4, A),
    ),
    # calls
    "matmul": (lambda x, y, v: (x @ y.T, np.matmul(x, v), v @ v, np.dot(x, v), x.dot(2), x.T.dot(y)), (A, B, V)),
    "products": (
        lambda v, x: (np.inner(x, v), np.vdot(x, x), np.multiply.outer(v, x), np.einsum("ij,j->i", x, v)),
        (V, A),
    ),
    "einsum": (lambda x, y: (np.einsum("ij,kj", x, y), np.einsum("ij->", x), np.einsum("ij,ij->j", x, y)), (A, B)),
    "joins": (
        lambda x, y, v: (
            np.concatenate([x, y]),
            np.concatenate((x, y), 1),
            np.stack([x, y], -1),
            np.vstack([v, v]),
            np.hstack([v, v]),
            np.hstack([x, y]),
            np.vstack([x, y]),
        ),
        (A, B, V),
    ),
    "join dtypes": (lambda x, i: np.concatenate([x, i]), (F32, INT)),
    "sorts": (
        lambda x: (np.sort(x), np.sort(x, 0), x.argsort(kind="stable"), np.argsort(x, axis=0, stable=True)),
        (A,),
    ),
    "searchsorted": (lambda v, x: (np.searchsorted(v, x), v.searchsorted(1.5, side="right")), (np.arange(3.0), A)),
    "open sizes": (
        lambda x, m, i: (np.nonzero(x), m.nonzero(), np.where(m), np.unique(i, return_counts=True), np.unique(x)),
        (A, MASK, INT),
    ),
    "counts": (lambda i, v: (np.bincount(i), np.bincount(i, v, 9), np.repeat(v, i)), (np.array([1, 3, 2]), V)),
    "compress": (lambda x: (np.compress([True, False, True], x, 1), x.compress(x[0] > 0.5, 1)), (A,)),
    "repeat": (lambda x: (x.repeat(2), np.repeat(x, 3, axis=1)), (A,)),
    "trace": (lambda x: (np.trace(x), x.trace(1)), (A,)),
    "triangles": (lambda x: (np.tril(x), np.triu(x, 1)), (S,)),
    "interp": (lambda x, v: np.interp(x, np.sort(v), v), (A, V)),
    "convolve": (lambda v, w: (np.convolve(v, w), np.convolve(v, w, "same"), np.correlate(w, v)), (V, array((5,)))),
    "linalg": (lambda s, b: (np.linalg.inv(s), np.linalg.solve(s, b), np.linalg.det(s)), (S, array((3, 2)))),
    "linalg stacks": (
        lambda c, v: (np.linalg.inv(c), np.linalg.solve(c, v), np.linalg.det(c)),
        (np.stack([S, S + 1]), V),
    ),
    "cholesky": (lambda s: (np.linalg.cholesky(s @ s.T), np.linalg.eigvalsh(s)), (S,)),
    "fft": (lambda x: (np.fft.fft(x), np.fft.ifft(x, axis=0), np.fft.rfft(x, 8), np.fft.irfft(x, norm="ortho")), (A,)),
    "conj": (lambda z, x: (z.conj(), x.conj(), x.conjugate() is x, np.conj(x)), (Z, A)),
    "view": (lambda x: (x.view(), x[1:].view(float)), (A,)),
    "isclose": (lambda x, y: (np.isclose(x, y), np.isclose(x, 1.0), np.isclose(x[0, 0], 1, atol=0.5)), (A, B)),
    "isclose by whole margins": (lambda x, y: (np.isclose(x, y, rtol=0, atol=1), np.isclose(x, 1.0, 1, 0)), (A, B)),
    "nan_to_num": (lambda x: (np.nan_to_num(x / 0), np.nan_to_num(x, nan=1.0)), (A,)),
    "partition": (lambda x: (np.partition(x, 1), np.argpartition(x, 2, axis=0)), (A,)),
    "diag": (lambda v: (np.diag(v), np.diag(v, k=1)), (V,)),
    "roll and tile": (lambda x: (np.roll(x, 1), np.roll(x, -1, axis=1), np.tile(x, 2), np.tile(x, (2, 1, 1))), (A,)),
    "roll along axes": (
        lambda x: (
            np.roll(x, (1, 2), (0, 1)),
            np.roll(x, 1, axis=(0, 0)),
            np.roll(x, [-1, 1], 1),
            np.roll(x, (3,), -1),
        ),
        (A,),
    ),
    "linspace": (lambda a, *, np=np: (np.linspace(0, a, 7), np.linspace(a, 1.0, 4, endpoint=False)), (2.5,)),
    # operators
    "arithmetic": (lambda x, y: (x + y, x - 1, 2 * x, x / y, x // 2.0, x % y, -x, +x, abs(x), divmod(x, 2)), (A, B)),
    "integers": (
        lambda i, j: (i + 1, i // 3, i % 3, i & 3, i | j, i ^ 1, i << 1, i >> 1, ~i, -i, 7 - i),
        (INT, INT[::-1]),
    ),
    "integer division": (lambda i, u: (i / 2, 1 / u, i / i, u // 2, i + u), (INT, U)),
    "comparisons": (lambda x, y: (x < y, x <= 1, x == y, x != 0, x < 1, x >= y), (A, B)),
    "weak numbers": (lambda f, u: (f * 2.5, f + 1, u + 1, u * 1.5, f * 1j, u / 2), (F32, U)),
    "numbers as arguments": (lambda f, u, a, b: (f * a, u + b, a - f, f**a), (F32, U, 2.5, 3)),
    "bool arrays": (lambda m: (m & True, m | m, ~m, m + 1, m * m, m ^ m), (MASK,)),
    "matrix power": (lambda x, y: x @ y, (CUBE, array((3, 2)))),
    "in place": (lambda x, y: (x.__iadd__(y), x.__imul__(2), x.__isub__(x[0])), (A, B)),
    "in place casts": (lambda f, x: (f.__iadd__(x), f.__itruediv__(3)), (F32, A)),
    "in place on a view": (lambda x: x[1:, 0].__iadd__(10.0), (A,)),
    "in place on 0-d": (lambda x: (x.__iadd__(1), x), (np.array(2.0),)),
    "in place on a scalar": (lambda x: (add_one(x[0, 0]), x[0]), (A,)),
    "in place matmul": (lambda x: x.__imatmul__(x), (S,)),
    "scalar operators": (
        lambda x: (x[0, 0] + x[1, 1], x[0, 0] * 2, 3 - x[0, 0], -x[0, 0], abs(x[0, 1]), x[0, 0] < 1),
        (A,),
    ),
    "int scalar operators": (lambda i: (i[0, 0] // 2, i[0, 1] % 3, i[0, 0] << 2, ~i[0, 0], divmod(i[0, 0], 3)), (INT,)),
    "scalar and array": (lambda x: (x[0, 0] * x, x / x[0, 0], x[0, 0] ** x), (B,)),
    "0-d arrays": (lambda x: (x + 1, x * x, -x, x[()], x**2, np.sqrt(x), x < 3), (np.array(2.0),)),
}
if TAKES_ELLIPSIS:
    CASES["ufunc out=..."] = (lambda x, *, np=np: (np.add(x[0, 0], 1, out=...), np.add(x[0, 0], 1)), (A,))
POWERS = (2, 3, 1, 0, -1, -2, 0.5, 2.0, -1.0, 1.0, True, 1.5, 2j)


@pytest.mark.parametrize("name", CASES)
def test_spelling(name: str) -> None:
    function, args = CASES[name]
    require_equal(function, copies_of(*args), compile=record, conditions=QUIET)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("layout", ["F", "strided", "reversed"])
def test_spelling_of_other_layouts(name: str, layout: str) -> None:
    function, args = CASES[name]
    require_equal(function, copies_of(*(laid_out(one, layout) for one in args)), compile=record, conditions=QUIET)


def laid_out(value: Any, layout: str) -> Any:
    """The same elements in another memory layout."""
    if not isinstance(value, np.ndarray) or not value.ndim:
        return value
    if layout == "F":
        return np.asfortranarray(value)
    if layout == "strided":
        room = np.zeros(tuple(2 * n for n in value.shape), value.dtype)
        room[tuple(slice(None, None, 2) for _ in value.shape)] = value
        return room[tuple(slice(None, None, 2) for _ in value.shape)]
    back = tuple(slice(None, None, -1) for _ in value.shape)
    return value[back].copy()[back]


@pytest.mark.parametrize("dtype", ["d", "f", "e", "D", "i8", "u1", "?"])
@pytest.mark.parametrize("exponent", POWERS)
def test_power(dtype: str, exponent: Any) -> None:
    x = np.abs(array((4, 3), dtype)) + np.ones((), dtype)

    def function(x: Any, y: Any) -> Any:
        y **= exponent
        return x**exponent, y

    with np.errstate(all="ignore"):
        try:
            function(x, x.copy())
        except (TypeError, ValueError, OverflowError) as error:
            with pytest.raises((ops.OpError, type(error))):
                record(function)(x, x.copy())
        else:
            require_equal(function, copies_of(x, x.copy()), compile=record, conditions=QUIET)


@pytest.mark.parametrize("exponent", POWERS)
def test_reflected_and_symbolic_power(exponent: Any) -> None:
    require_equal(lambda x: exponent**x, copies_of(np.abs(A)), compile=record, conditions=QUIET)
    if type(exponent) in (int, float):
        compiled = record(lambda x, n: x**n)
        for value in (exponent, 2, 0.5, 3):
            if type(value) is type(exponent):
                expected = np.abs(B) ** value
                assert compiled(np.abs(B), value).tobytes() == expected.tobytes()


def refusal(function: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(ops.OpError) as caught:
        record(function)(*args)
    return str(caught.value)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda u: u + 300, (U,)),
        (lambda u, n: u + n, (U, 300)),
        (lambda u: u[0, 0] + 300, (U,)),
        (lambda m: m - m, (MASK,)),
        (lambda m: -m, (MASK,)),
        (lambda x, v: x + v, (A, array((4,)))),
        (lambda x: x[0, 0, 0], (A,)),
        (lambda x, m: x[m], (A, MASK)),
        (lambda x: x.reshape(5, 2), (A,)),
        (lambda x: x.reshape(5, -1), (A,)),
        (lambda x, m: np.sum(x, where=m), (A, MASK)),
        (lambda x, m: np.add(x, 1, where=m), (A, MASK)),
        (lambda i: np.add(i, 0.5, out=i), (INT,)),
        (lambda i: i.__iadd__(0.5), (INT,)),
        (lambda v, x: np.add(x, 1, out=v), (V, A)),
        (lambda f: f * 1e300, (F32,)),
        (lambda z: z.astype(float), (Z,)),
        (lambda x, z: x.__setitem__(0, z[0]), (A, Z)),
        (lambda u: u.__setitem__(0, -1), (U,)),
        (lambda i: i.__setitem__(0, float("nan")), (INT,)),
        (lambda x: np.sum(x, axis=2), (A,)),
        (lambda x: x.imag, (A,)),
        (lambda x: x @ 2, (A,)),
        (lambda x: np.einsum("iji->ij", x), (array((2, 3, 2)),)),
        (lambda x: np.einsum("ij- >ji", x), (A,)),
        (lambda x: np.einsum(". . .i->...i", x), (A,)),
        (lambda x: np.einsum("i\u00e9->\u00e9i", x), (A,)),
        (lambda x: np.einsum("iii->i", x), (array((2, 2, 2)),)),
        (lambda x: x.sum(axis=0, bogus=1), (A,)),
        (lambda x: np.unique(x, axis=0), (A,)),
        (lambda i, *, np=np: np.asarray(i, "q"), (INT,)),  # a view: the dtype is equal to its own, but another
        (lambda x, y: np.sum(x, axis=0, out=y), (A, np.ones((2, 3)))),
        (lambda x, y: np.sum(x, axis=0, keepdims=True, out=y), (A, V)),
    ],
)
def test_no_rule(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert refusal(function, *args)


def test_maximum_of_no_elements_raises_at_run_time() -> None:
    compiled = record(lambda x: x[:, 0].max())
    compiled(A)
    with pytest.raises(ValueError, match="zero-size"):
        compiled(np.ones((0, 3)))


def test_the_table_has_a_row_for_every_op() -> None:
    rows = ops_table()
    assert len(rows) == len(ops.REGISTRY) + 2
    assert any(row.startswith("| `reduce` | reduction | ") and "`np.sum`" in row and "`x.sum`" in row for row in rows)


def test_lookup_is_by_identity() -> None:
    class Odd:
        def __hash__(self) -> int:
            raise AssertionError("hashed")

    assert ops.lookup(Odd()) is None
    assert ops.lookup(lambda x: x) is None
    assert ops.lookup(np.random.rand) is None
    assert ops.lookup(np.add.reduce) is not None
    assert ops.lookup(np.ndarray.sum) is None  # which a NumPy scalar is no argument of: capture asks ops.method
    assert ops.lookup(np.add.reduceat) is not None
    assert ops.lookup(np.add.resolve_dtypes) is None
    assert ops.method("tobytes") is None and ops.attribute("flat") is None


def test_recording_leaves_the_memory_of_warnings_alone() -> None:
    """catch_warnings anywhere in the rules would let "once" filters speak again."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        registry: dict[str, Any] = {}
        for _ in range(2):
            warnings.warn_explicit("said before", UserWarning, "somewhere.py", 1, registry=registry)
            for function, args in CASES.values():
                if function is not CASES["linspace"][0]:
                    record(function)(*args_copy(args))
    assert [str(one.message) for one in caught if one.category is UserWarning] == ["said before"]


def args_copy(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return copies_of(*args)()

"""Opaque ops of np.linalg and np.fft, typed by a shape rule and a trial (see calls.py).

The functions of np.linalg are called as a whole, not their gufuncs: they turn a flag of the gufunc into LinAlgError.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamo_lite.graph.scalar import make
from dynamo_lite.ops.calls import Shape, ShapeRule, equal, opaque, several
from dynamo_lite.ops.parameters import (
    ArrayArg,
    Flag,
    Int,
    IntOrNone,
    Norm,
    QRMode,
    Unmodelled,
    axis_of,
)
from dynamo_lite.ops.registry import (
    Bound,
    OpError,
    Relate,
    Sample,
    spell,
)
from dynamo_lite.ops.shapes import broadcast

_LAPACK = ("fdFD",)

# linear algebra: the functions of np.linalg as a whole, since they turn a flag of the gufunc into LinAlgError


def _square(shape: Shape, ask: Relate) -> None:
    if len(shape) < 2:
        raise OpError("a matrix has two axes")
    equal(shape[-2], shape[-1], ask)


def _inverse_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    _square(shapes[0], ask)
    return shapes[0]


def _det_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    _square(shapes[0], ask)
    return shapes[0][:-2]


def _eigenvalues_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    _square(shapes[0], ask)
    return shapes[0][:-1]


def _solve_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    left, right = shapes
    _square(left, ask)
    if len(right) == 1:
        equal(left[-1], right[0], ask)
        return (*left[:-2], left[-1])
    equal(left[-1], right[-2], ask)
    return broadcast([left[:-2], right[:-2]], ask) + right[-2:]


_SQUARE_SAMPLES = (Sample(((3, 3),), {}, _LAPACK), Sample(((2, 3, 3),), {}, _LAPACK))


def _define_linalg(name: str, function: Any, shape: ShapeRule, summary: str) -> None:
    opaque(f"linalg_{name}", function, shape, summary, _SQUARE_SAMPLES)

    def bind(ask: Relate, a: ArrayArg) -> Bound:
        return Bound(f"linalg_{name}", (a,))

    spell(f"linalg_{name}", f"np.linalg.{name}", function)(bind)


_define_linalg("inv", np.linalg.inv, _inverse_shape, "Inverse matrices.")
_define_linalg("det", np.linalg.det, _det_shape, "Determinants.")
opaque("linalg_cholesky", np.linalg.cholesky, _inverse_shape, "Cholesky factors.", _SQUARE_SAMPLES)
opaque("linalg_eigvalsh", np.linalg.eigvalsh, _eigenvalues_shape, "Eigenvalues of Hermitian matrices.", _SQUARE_SAMPLES)


@spell("linalg_cholesky", "np.linalg.cholesky", np.linalg.cholesky)
def _bind_cholesky(ask: Relate, a: ArrayArg, /, *, upper: Unmodelled = False) -> Bound:
    return Bound("linalg_cholesky", (a,))


@spell("linalg_eigvalsh", "np.linalg.eigvalsh", np.linalg.eigvalsh)
def _bind_eigvalsh(ask: Relate, a: ArrayArg, UPLO: Unmodelled = "L") -> Bound:
    return Bound("linalg_eigvalsh", (a,))


opaque(
    "linalg_solve",
    np.linalg.solve,
    _solve_shape,
    "Solutions of linear systems.",
    (
        Sample(((3, 3), (3,)), {}, _LAPACK * 2),
        Sample(((3, 3), (3, 2)), {}, _LAPACK * 2),
        Sample(((2, 3, 3), (3, 2)), {}, _LAPACK * 2),
        Sample(((2, 3, 3), (3,)), {}, _LAPACK * 2),
    ),
)


@spell("linalg_solve", "np.linalg.solve", np.linalg.solve)
def _bind_solve(ask: Relate, a: ArrayArg, b: ArrayArg) -> Bound:
    return Bound("linalg_solve", (a, b))


# factors: named tuples of NumPy's own

_RESULTS = np.linalg._linalg
_FACTOR_SAMPLES = (Sample(((3, 3),), {}, _LAPACK), Sample(((2, 4, 3),), {}, _LAPACK), Sample(((2, 3),), {}, _LAPACK))


def _short(shape: Shape) -> Any:
    return make("min", shape[-2], shape[-1])


def _matrix(shape: Shape) -> None:
    if len(shape) < 2:
        raise OpError("a matrix has two axes")


def _eigh_shapes(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> tuple[Shape, ...]:
    return _eigenvalues_shape(shapes, params, ask), shapes[0]


def _slogdet_shapes(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> tuple[Shape, ...]:
    return (_det_shape(shapes, params, ask),) * 2


def _svd_shapes(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> tuple[Shape, ...]:
    (shape,) = shapes
    _matrix(shape)
    rows, columns, short = shape[-2], shape[-1], _short(shape)
    values = (*shape[:-2], short)
    if not params["compute_uv"]:
        return (values,)
    full = params["full_matrices"]
    left = (*shape[:-1], rows if full else short)
    return left, values, (*shape[:-2], columns if full else short, columns)


def _qr_shapes(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> tuple[Shape, ...]:
    (shape,) = shapes
    _matrix(shape)
    short = _short(shape)
    upper = (*shape[:-2], short, shape[-1])
    return (upper,) if params["mode"] == "r" else ((*shape[:-1], short), upper)


def _with(samples: tuple[Sample, ...], *choices: dict[str, Any]) -> tuple[Sample, ...]:
    return tuple(Sample(one.operands, params, one.dtypes) for one in samples for params in choices)


several("linalg_eigh", np.linalg.eigh, _eigh_shapes, "Eigenvalues and -vectors of Hermitian matrices.", _SQUARE_SAMPLES)
several("linalg_slogdet", np.linalg.slogdet, _slogdet_shapes, "Signs and logarithms of determinants.", _SQUARE_SAMPLES)
several(
    "linalg_svd",
    np.linalg.svd,
    _svd_shapes,
    "Singular values, and the vectors.",
    _with(
        _FACTOR_SAMPLES,
        {"full_matrices": True, "compute_uv": True},
        {"full_matrices": False, "compute_uv": True},
        {"full_matrices": True, "compute_uv": False},
    ),
)
several(
    "linalg_qr", np.linalg.qr, _qr_shapes, "QR factors.", _with(_FACTOR_SAMPLES, {"mode": "reduced"}, {"mode": "r"})
)


@spell("linalg_eigh", "np.linalg.eigh", np.linalg.eigh)
def _bind_eigh(ask: Relate, a: ArrayArg, UPLO: Unmodelled = "L") -> Bound:
    return Bound("linalg_eigh", (a,), record=_RESULTS.EighResult)


@spell("linalg_slogdet", "np.linalg.slogdet", np.linalg.slogdet)
def _bind_slogdet(ask: Relate, a: ArrayArg) -> Bound:
    return Bound("linalg_slogdet", (a,), record=_RESULTS.SlogdetResult)


@spell("linalg_svd", "np.linalg.svd", np.linalg.svd)
def _bind_svd(
    ask: Relate, a: ArrayArg, full_matrices: Flag = True, compute_uv: Flag = True, hermitian: Unmodelled = False
) -> Bound:
    params = {"full_matrices": full_matrices, "compute_uv": compute_uv}
    return Bound("linalg_svd", (a,), params, record=_RESULTS.SVDResult if compute_uv else None)


@spell("linalg_qr", "np.linalg.qr", np.linalg.qr)
def _bind_qr(ask: Relate, a: ArrayArg, mode: QRMode = "reduced") -> Bound:
    return Bound("linalg_qr", (a,), {"mode": mode}, record=_RESULTS.QRResult if mode == "reduced" else None)


def _pinv_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    (shape,) = shapes
    _matrix(shape)
    return (*shape[:-2], shape[-1], shape[-2])


def _rank_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    _matrix(shapes[0])
    return shapes[0][:-2]


opaque("linalg_pinv", np.linalg.pinv, _pinv_shape, "Pseudo-inverses.", _FACTOR_SAMPLES)
opaque("linalg_matrix_rank", np.linalg.matrix_rank, _rank_shape, "Ranks of matrices.", _FACTOR_SAMPLES)


@spell("linalg_pinv", "np.linalg.pinv", np.linalg.pinv)
def _bind_pinv(
    ask: Relate,
    a: ArrayArg,
    rcond: Unmodelled = None,
    hermitian: Unmodelled = False,
    *,
    rtol: Unmodelled = np._NoValue,
) -> Bound:
    return Bound("linalg_pinv", (a,))


@spell("linalg_matrix_rank", "np.linalg.matrix_rank", np.linalg.matrix_rank)
def _bind_matrix_rank(
    ask: Relate, A: ArrayArg, tol: Unmodelled = None, hermitian: Unmodelled = False, *, rtol: Unmodelled = None
) -> Bound:
    return Bound("linalg_matrix_rank", (A,))


def _lstsq(a: Any, b: Any) -> Any:
    return np.linalg.lstsq(a, b, rcond=None)


def _lstsq_shapes(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> tuple[Shape, ...]:
    """What is left over has no elements for some matrices."""
    left, right = shapes
    if len(left) != 2 or not 1 <= len(right) <= 2:
        raise OpError("lstsq of more axes")
    equal(left[0], right[0], ask)
    return (left[1], *right[1:]), params["yields"], (), (_short(left),)


several(
    "linalg_lstsq",
    _lstsq,
    _lstsq_shapes,
    "Least squares: the solution, what is left over, the rank, the singular values.",
    (Sample(((4, 2), (4,)), {}, _LAPACK * 2), Sample(((2, 4), (2, 3)), {}, _LAPACK * 2)),
    open_size=True,
)


@spell("linalg_lstsq", "np.linalg.lstsq", np.linalg.lstsq)
def _bind_lstsq(ask: Relate, a: ArrayArg, b: ArrayArg, rcond: Unmodelled = None) -> Bound:
    return Bound("linalg_lstsq", (a, b))


# Fourier transforms


def _fft_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    shape: list[Any] = list(shapes[0])
    axis = params["axis"]
    length = shape[axis] if params["n"] is None else params["n"]
    if not ask(make("ge", length, 1)):
        raise OpError("a transform of no elements raises")
    shape[axis] = length
    return tuple(shape)


def _rfft_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    shape: list[Any] = list(_fft_shape(shapes, params, ask))
    shape[params["axis"]] = make("add", make("floordiv", shape[params["axis"]], 2), 1)
    return tuple(shape)


def _irfft_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    shape: list[Any] = list(_fft_shape(shapes, params, ask))
    if params["n"] is None:
        length = make("mul", make("sub", shape[params["axis"]], 1), 2)
        if not ask(make("ge", length, 1)):
            raise OpError("a transform of no elements raises")
        shape[params["axis"]] = length
    return tuple(shape)


def _spell_fft(name: str, function: Any) -> None:
    def bind(
        ask: Relate,
        a: ArrayArg,
        n: IntOrNone = None,
        axis: Int = -1,
        norm: Norm = None,
        out: Unmodelled = None,
    ) -> Bound:
        return Bound(f"fft_{name}", (a,), {"n": n, "axis": axis_of(axis, a.array_type.ndim), "norm": norm})

    spell(f"fft_{name}", f"np.fft.{name}", function)(bind)


for _name, _function, _rule in (
    ("fft", np.fft.fft, _fft_shape),
    ("ifft", np.fft.ifft, _fft_shape),
    ("rfft", np.fft.rfft, _rfft_shape),
    ("irfft", np.fft.irfft, _irfft_shape),
):
    opaque(
        f"fft_{_name}",
        _function,
        _rule,
        f"np.fft.{_name} along params[axis]; params n (None: all), norm.",
        tuple(
            Sample((shape,), {"n": n, "axis": axis, "norm": norm}, ("?bLefd" + "FD" * (_name != "rfft"),))
            for shape, n, axis, norm in (((8,), None, 0, None), ((3, 5), 4, 1, "ortho"), ((6, 2), None, 0, "forward"))
        ),
    )
    _spell_fft(_name, _function)

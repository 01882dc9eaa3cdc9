"""Opaque ops of np.linalg and np.fft, typed by a shape rule and a trial (see calls.py).

The functions of np.linalg are called as a whole, not their gufuncs: they turn a flag of the gufunc into LinAlgError.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamo_lite.graph.scalar import make
from dynamo_lite.ops.calls import Shape, ShapeRule, equal, opaque
from dynamo_lite.ops.parameters import (
    ArrayArg,
    Int,
    IntOrNone,
    Norm,
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

"""NumPy functions whose answer depends on dtypes and constants alone: np.finfo, np.result_type, np.dtype and the like.

Capture answers them and guards what the answer rests on. INVARIANT: what a binder accepts raises no warning, since a
warning would come while capturing and not in each call; everything else is left to the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.opdef import OpError
from dynamo_lite.ops.parameters import (
    REFUSALS,
    AxesOrList,
    Casting,
    Flag,
    Int,
    Kind,
    Parameters,
    TextOrNone,
    Unmodelled,
    array,
    dtype_named,
    operand,
    parameters_of,
    static_dtype,
)
from dynamo_lite.ops.registry import Relate


def _typed(value: Any) -> Any:
    """A dtype, or what NumPy takes the dtype of; an empty array stands for one of the graph."""
    if isinstance(value, Node):
        type_ = array(value).array_type
        return np.empty((0,) * max(type_.ndim, 1), type_.dtype)
    if isinstance(value, np.generic) or type(value) in (bool, int, float, complex):
        return operand(value)
    return dtype_named(value)


def _scalar_type(value: Any) -> Any:
    """A dtype or a scalar type, which may be abstract (np.floating)."""
    if isinstance(value, type) and issubclass(value, np.generic) and value.__module__ == "numpy":
        return value
    return dtype_named(value)


def _dtype_of_scalar(value: Any) -> Any:
    """A dtype, or that of a NumPy scalar, which has it as an attribute."""
    if isinstance(value, np.generic):
        return static_dtype(value.dtype)
    if isinstance(value, Node) and value.array_type.scalar:
        return dtype_named(value.array_type.dtype)
    return dtype_named(value)


AnyDType = Annotated[np.dtype[Any], Kind("a dtype", dtype_named)]
DTypeOrScalar = Annotated[np.dtype[Any], Kind("a dtype or a NumPy scalar", _dtype_of_scalar)]
Typed = Annotated[Any, Kind("a dtype, an array or a number", _typed)]
ScalarType = Annotated[Any, Kind("a dtype or scalar type", _scalar_type)]


@dataclass(frozen=True, slots=True)
class Folded:
    """A function that capture answers. binder: whose parameters are its own. evaluate takes arrays of the graph as
    Nodes."""

    function: Callable[..., Any]
    binder: Callable[..., Any]

    @property
    def parameters(self) -> Parameters:
        """Those of the binder."""
        return parameters_of(self.binder)

    def evaluate(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The answer; OpError where it is left to the call, which may raise or warn."""
        bound = self.parameters.bind(args, kwargs)
        try:
            return self.function(*bound.args, **bound.kwargs)
        except REFUSALS as error:
            raise OpError(f"{self.function.__name__}: {error}") from None


_FOLDED: list[Folded] = []


def fold(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the parameters of the decorated function, which has no body, are those of `function`."""

    def register(binder: Callable[..., Any]) -> Callable[..., Any]:
        _FOLDED.append(Folded(function, binder))
        return binder

    return register


def lookup_folded(target: object) -> Folded | None:
    """The row of a callable, by its identity; runs no code of the object's type."""
    return next((row for row in _FOLDED if row.function is target), None)


def rows() -> tuple[Folded, ...]:
    """Every row."""
    return tuple(_FOLDED)


@fold(np.finfo)
def _finfo(ask: Relate, dtype: DTypeOrScalar) -> None: ...


@fold(np.iinfo)
def _iinfo(ask: Relate, int_type: DTypeOrScalar) -> None: ...


@fold(np.result_type)
def _result_type(ask: Relate, *arrays_and_dtypes: Typed) -> None: ...


@fold(np.can_cast)
def _can_cast(ask: Relate, from_: AnyDType, to: AnyDType, casting: Casting = "safe") -> None: ...


@fold(np.promote_types)
def _promote_types(ask: Relate, type1: AnyDType, type2: AnyDType, /) -> None: ...


@fold(np.issubdtype)
def _issubdtype(ask: Relate, arg1: ScalarType, arg2: ScalarType) -> None: ...


@fold(np.iscomplexobj)
def _iscomplexobj(ask: Relate, x: Typed) -> None: ...


@fold(normalize_axis_index)
def _normalize_axis_index(ask: Relate, axis: Int, ndim: Int, msg_prefix: Unmodelled = None) -> None: ...


@fold(normalize_axis_tuple)
def _normalize_axis_tuple(
    ask: Relate, axis: AxesOrList, ndim: Int, argname: TextOrNone = None, allow_duplicate: Flag = False
) -> None: ...


@fold(np.dtype)
def _dtype(ask: Relate, dtype: AnyDType, align: Unmodelled = False, copy: Unmodelled = False) -> None: ...

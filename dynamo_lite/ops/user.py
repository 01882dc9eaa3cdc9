"""The op of a function that the user allows in graphs (``dynamo_lite.allow_in_graph``): an opaque call.

The user says that it is a function of its arguments alone, without effects, and that its results are fresh arrays. What
it yields is known from calls on made-up arrays (``learn``); a result of another type, or one that shares memory with an
argument, makes the program decline, so that the code runs plainly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dynamo_lite.graph.node import Argument
from dynamo_lite.graph.opdef import OpDef, OpError, OpKind, Relate, ResultType, define
from dynamo_lite.graph.scalar import Dim
from dynamo_lite.graph.types import ArrayType


class SharedResultError(Exception):
    """The function has returned memory of an argument."""


def call_user(*operands: Any, function: Callable[..., Any], template: tuple[Any, ...], keywords: Any) -> Any:
    """function(*args, **keywords); args are the operands, but for constants that `template` holds in 1-tuples."""
    rest = iter(operands)
    args = [slot[0] if isinstance(slot, tuple) else next(rest) for slot in template]
    result = function(*args, **dict(keywords))
    for one in result if type(result) is tuple else (result,):
        if isinstance(one, np.ndarray) and any(
            np.may_share_memory(one, arg) for arg in operands if isinstance(arg, np.ndarray)
        ):
            raise SharedResultError(f"{function.__qualname__} returns memory of its arguments")
    return result


def _infer_user_call(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ResultType:
    result: ResultType = params["result"]
    return result


def _evaluate_user_call(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    return call_user(*args, **{key: value for key, value in params.items() if key != "result"})


define(
    OpDef(
        "user_call",
        OpKind.CALL,
        _infer_user_call,
        _evaluate_user_call,
        "params[function] of the operands, a function marked with allow_in_graph; params template, keywords, result.",
    )
)


def learn(tries: Sequence[Any], sizes: Sequence[dict[Dim, int]]) -> ResultType:
    """The type of what two calls gave, on arrays of other sizes; `sizes`: what each size of the arguments was.

    A size of the result is one of the arguments', or the same in both calls; OpError otherwise.
    """
    first, second = tries
    if type(first) is tuple and type(second) is tuple and len(first) == len(second):
        return tuple(_learn_one(pair, sizes) for pair in zip(first, second, strict=True))
    return _learn_one((first, second), sizes)


def _learn_one(pair: tuple[Any, Any], sizes: Sequence[dict[Dim, int]]) -> ArrayType:
    first, second = pair
    for one in pair:
        if type(one) is not np.ndarray and not isinstance(one, np.generic):
            raise OpError(f"a result of type {type(one).__name__}")
    if type(first) is not type(second) or first.dtype != second.dtype or first.ndim != second.ndim:
        raise OpError("a result whose type depends on sizes")
    dims = []
    for small, large in zip(first.shape, second.shape, strict=True):
        found = [dim for dim in sizes[0] if (sizes[0][dim], sizes[1][dim]) == (small, large)]
        if small != large and not found:
            raise OpError("a result whose size is none of its arguments'")
        dims.append(small if small == large else found[0])
    return ArrayType(first.dtype, tuple(dims), isinstance(first, np.generic))

"""What an operation is: its kind, its type rule and its meaning, one row an op.

``dynamo_lite.ops`` fills ``REGISTRY`` when imported; the verifier and the interpreter of this package, capture and
lowering read it. INVARIANT: `infer` asks NumPy (dtype resolution, or the function itself on a small sample) and its
answer holds for every value of the operands; `evaluate` is NumPy's own function, so that it defines the op.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, TypeAlias

import numpy as np

from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.scalar import Scalar
from dynamo_lite.graph.types import ArrayType


class OpKind(Enum):
    """How an op may be compiled.

    ELEMENTWISE: one index at a time, operands broadcast. VIEW: the result is, or may be, a view of the first operand.
    REDUCTION: a ufunc's reduce over axes. CREATION: a fresh array. CALL: opaque, NumPy does it, results are fresh.
    """

    ELEMENTWISE = "elementwise"
    VIEW = "view"
    REDUCTION = "reduction"
    CREATION = "creation"
    CALL = "call"


class OpError(Exception):
    """An op has no rule for these arguments; plain NumPy has to run (and may well raise). The text is the reason."""


class UnknownShape(OpError):
    """The shape of the result depends on what an array holds. The text names the operation."""


class NotConstant(OpError):
    """`value`, a number that depends on arguments, has to be known: whoever asks may fix it and ask again. may_vary: or
    hand it over as an OpenNumber."""

    def __init__(self, value: Scalar, text: str, may_vary: bool = False) -> None:
        super().__init__(text)
        self.value, self.may_vary = value, may_vary


@dataclass(frozen=True, slots=True)
class OpenNumber:
    """An int that changes from call to call, or from one iteration to the next: it will not be fixed."""

    value: Scalar


class NotRead(OpError):
    """`node`, a NumPy scalar, stands where a Python int is wanted, or an array where a tuple of ints is.

    is_open: it need not be known before the run.
    """

    def __init__(self, node: Node, is_open: bool) -> None:
        super().__init__("a number out of an array" if is_open else "an array, or a number out of one")
        self.node, self.is_open = node, is_open


class DoesNotBroadcast(OpError):
    """NumPy raises a ValueError, since these sizes do not fit. The text says which."""

    def __init__(self, text: str, sizes: tuple[Scalar, ...]) -> None:
        super().__init__(text)
        self.sizes = sizes


class Undecided(OpError):
    """`condition` may hold in some iterations of a loop and not in others. promising: another attempt may guard that it
    holds in all of them. require: lets the program decline where it does not hold, for rules of what NumPy refuses.
    of_elements: it is on numbers that the loop has read out of arrays."""

    def __init__(
        self,
        condition: Scalar,
        promising: bool = False,
        require: Callable[[Scalar], None] | None = None,
        of_elements: bool = False,
    ) -> None:
        super().__init__(f"whether {condition} holds may change from one iteration to the next")
        self.condition = condition
        self.promising = promising
        self.require = require
        self.of_elements = of_elements


Relate: TypeAlias = Callable[[Scalar], bool]


def demand(ask: Relate, condition: Scalar) -> bool:
    """Whether `condition` holds, without which NumPy raises. Where it may change from one iteration to the next, and no
    guard can say that it holds in all of them, the program declines in the first one in which it does not."""
    try:
        return ask(condition)
    except Undecided as reason:
        if reason.promising or reason.require is None:
            raise
        reason.require(condition)
        return True


ResultType: TypeAlias = ArrayType | tuple[ArrayType, ...]
Infer: TypeAlias = Callable[[tuple[Argument, ...], dict[str, Any], Relate], ResultType]
Evaluate: TypeAlias = Callable[[tuple[Any, ...], dict[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """Operands and params to try an op with: an operand is the shape of an array, or a Python number.

    dtypes: the dtype of each array operand where not every dtype will do ("" for any).
    """

    operands: tuple[tuple[int, ...] | int | float | complex, ...]
    params: dict[str, Any]
    dtypes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpDef:
    """One op.

    infer(args, params, relate): the result's type, or a tuple of types; raises OpError. args are Nodes and Scalars.
    evaluate(args, params): the op on concrete values, by NumPy itself.
    exact_view: a VIEW whose result always shares the operand's memory (a reshape may copy). exact_axes: one whose
    result does so where the operand is an array of at most so many axes.
    may_report: even with an unused result the op may warn or raise (a flag, an index out of range).
    guesses: what type the result has is a guess, for which the program declines where it is wrong.
    ufunc: the ufunc that the op is a call of, gufuncs included. function: NumPy's function of which it is a call with
    the operands, and the params as keywords.
    open_size: the results have a size that only the run knows, the Symbol params["yields"][0].
    in_place: the result is the first operand with other contents, which a store right behind it puts there;
    scheduling makes one step of both.
    """

    name: str
    kind: OpKind
    infer: Infer
    evaluate: Evaluate
    doc: str
    samples: tuple[Sample, ...] = ()
    exact_view: bool = False
    exact_axes: int = -1
    may_report: bool = True
    guesses: bool = False
    ufunc: np.ufunc | None = None
    in_place: bool = False
    open_size: bool = False
    function: Callable[..., Any] | None = None


REGISTRY: dict[str, OpDef] = {}


def define(op: OpDef) -> OpDef:
    """Add a row to the registry."""
    if op.name in REGISTRY:
        raise ValueError(f"op {op.name} is defined twice")
    REGISTRY[op.name] = op
    return op


def is_exact_view(node: Node) -> bool:
    """Whether a CALL node of a VIEW op always shares its operand's memory."""
    op, base = REGISTRY[node.op], node.args[0]
    if op.exact_view or not isinstance(base, Node):
        return op.exact_view
    return not base.array_type.scalar and base.array_type.ndim <= op.exact_axes


def place_of_size(node: Node) -> tuple[int, int] | None:
    """Of a CALL node whose results have an open size: a result, and its axis, that is as long; None of another node."""
    if not REGISTRY[node.op].open_size:
        return None
    (symbol,) = node.params["yields"]
    types = node.type if isinstance(node.type, tuple) else (node.array_type,)
    return next((place, type_.shape.index(symbol)) for place, type_ in enumerate(types) if symbol in type_.shape)


def elementwise_of(node: Node) -> OpDef:
    """The op that decides how long a CALL node takes: its own, or the ufunc's where its `outer` is of two arrays.

    Such an `outer` broadcasts; of scalars it is opaque, since they would be operands of rules of their own.
    """
    if node.op == "outer" and all(isinstance(arg, Node) and arg.array_type.ndim for arg in node.args):
        op = REGISTRY.get(node.params["ufunc"].__name__)
        if op is not None and op.ufunc is node.params["ufunc"] and op.kind is OpKind.ELEMENTWISE:
            return op
    return REGISTRY[node.op]

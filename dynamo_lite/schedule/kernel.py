"""Turns elementwise nodes into one Kernel: the ops in order, their casts, and where each operand comes from.

Enters nodes of one shape in program order; leaves a Kernel and its operands (Nodes in memory, Scalars). Equal
operations and equal operands become one value. Casts that NumPy makes while it reads an operand are "cast" ops; an
explicit astype or copy is a "copy" op, whose param is the memory order. INVARIANT: constants are operands, so kernels
that differ in numbers only are one kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dynamo_lite.dataclass import dataclass, replace
from dynamo_lite.graph.alias import place
from dynamo_lite.graph.facts import Facts
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpError, OpKind
from dynamo_lite.graph.scalar import Scalar, kind_of, make
from dynamo_lite.graph.types import identity_of
from dynamo_lite.ops.elementwise import loop_dtypes
from dynamo_lite.schedule.steps import DType, Kernel, KernelOp
from dynamo_lite.schedule.target import Target

BOOL = np.dtype(np.bool_)


@dataclass(frozen=True, slots=True)
class Form:
    """How one elementwise node becomes kernel ops: operands cast to in_dtypes, then `op`.

    order: of a copy, or None. forward: see KernelOp. number: the Scalar that a NumPy scalar is made of; any kernel that
    reads it takes the number instead. inverse: of a division by a number, the two parts of the number's inverse.
    """

    op: str
    in_dtypes: tuple[DType, ...]
    dtypes: tuple[DType, ...]
    ufunc: np.ufunc | None = None
    order: str | None = None
    number: Scalar | None = None
    forward: bool = False
    inverse: tuple[float, float] | None = None


def result_dtypes(node: Node) -> tuple[DType, ...]:
    """The dtype of each result of a call."""
    types = node.type if isinstance(node.type, tuple) else (node.type,)
    return tuple(type_.dtype for type_ in types if type_ is not None)


def form_of(node: Node, target: Target, facts: Facts) -> Form | None:
    """The node's form in a kernel, None if it cannot be part of one."""
    if node.kind is not NodeKind.CALL:
        return None
    if REGISTRY[node.op].kind is OpKind.ELEMENTWISE:
        form = _form(node, target, facts)
    else:
        form = _scalar_form(node, target, facts)
    if form is None:
        return None
    for arg, dtype in zip(node.args, form.in_dtypes, strict=True):
        source = arg.array_type.dtype if isinstance(arg, Node) else dtype
        if source != dtype and not target.exact("cast", (source,), (dtype,)):
            return None
    return form


def _form(node: Node, target: Target, facts: Facts) -> Form | None:
    dtypes = result_dtypes(node)
    if node.op == "where":
        form = Form("where", (BOOL, dtypes[0], dtypes[0]), dtypes)
        return form if target.exact("where", form.in_dtypes, form.dtypes) else None
    if node.op in ("least", "greatest"):
        return Form(node.op, dtypes * 2, dtypes) if dtypes[0].char in "fd" else None
    if node.op in ("astype", "copy"):
        (x,) = node.args
        if not isinstance(x, Node) or not target.exact("copy", dtypes, dtypes):
            return None
        return Form("copy", dtypes, dtypes, order=node.params.get("order", "K"))
    ufunc = REGISTRY[node.op].ufunc
    if ufunc is None:
        return None
    try:
        loop = loop_dtypes(ufunc, node.args, node.params, lambda condition: bool(facts.decide(condition)))
    except OpError:
        return None
    in_dtypes, out_dtypes = loop[: ufunc.nin], loop[ufunc.nin :]
    is_complex = any(dtype.kind == "c" for dtype in in_dtypes)
    if not is_complex and target.exact(ufunc.__name__, in_dtypes, out_dtypes):
        divisor = node.args[1] if ufunc is np.divide else None
        if isinstance(divisor, int | float):
            return Form(ufunc.__name__, in_dtypes, out_dtypes, inverse=target.inverse(divisor, in_dtypes[1]))
        return Form(ufunc.__name__, in_dtypes, out_dtypes)
    single = tuple(not isinstance(arg, Node) or not arg.array_type.shape for arg in node.args)
    if any(
        one and isinstance(arg, Node) and arg.array_type.dtype != dtype
        for one, arg, dtype in zip(single, node.args, in_dtypes, strict=True)
    ):
        single = (False,) * ufunc.nin  # the kernel casts it, which gives it a place on the tile, and a stride
    if target.loop(ufunc, loop, single) and not _may_be_lone(node, facts):
        forward = target.forward(ufunc, loop)
        if is_complex and all(single) and forward:
            return None  # numbers have no stride, by which NumPy's loop chooses how it computes
        if is_complex and not all(single) and target.exact(ufunc.__name__, in_dtypes, out_dtypes):
            return Form(ufunc.__name__, in_dtypes, out_dtypes, forward=forward)
        return Form("loop", in_dtypes, out_dtypes, ufunc, forward=forward)
    return None


def _may_be_lone(node: Node, facts: Facts) -> bool:
    """Whether complex arrays may be broadcast to one of a single element.

    To NumPy's iterator axes of length 1 have no stride, to its way around the iterator they have; loops of complex
    numbers with AVX-512 multiply and add at once in the one case and not in the other.
    """
    arrays = [arg.array_type for arg in node.args if isinstance(arg, Node) and arg.array_type.shape]
    if len({len(array.shape) for array in arrays}) < 2 or all(array.dtype.kind != "c" for array in arrays):
        return False
    return all(facts.decide(make("eq", dim, 1)) is not False for array in arrays for dim in array.shape)


# Operators between NumPy scalars that compute as the ufunc does; on integers some warn of overflow, and no flag shows.
_FLOAT_ONLY = frozenset({"add", "subtract", "multiply", "divide", "negative", "absolute"})
_ANY_DTYPE = frozenset(
    {"positive", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
    | {"bitwise_and", "bitwise_or", "bitwise_xor", "invert"}
)


def _scalar_form(node: Node, target: Target, facts: Facts) -> Form | None:
    """The form of an operator between NumPy scalars, or of a type called with one that loses nothing, or rounds."""
    dtypes = result_dtypes(node)
    if node.op == "scalar_cast":
        (x,) = node.args
        if not isinstance(x, Node):
            return _number_form(x, dtypes, target)
        source, dtype = x.array_type.dtype, dtypes[0]
        is_whole = source.kind in "biu" and dtype.kind in "biu" and np.can_cast(source, dtype, "safe")
        fits = (source.kind in "biuf" and dtype.kind == "f") or is_whole
        return Form("copy", dtypes, dtypes, order="K") if fits and target.exact("copy", dtypes, dtypes) else None
    name = node.op.removeprefix("scalar_")
    if name == node.op or name not in _FLOAT_ONLY | _ANY_DTYPE:
        return None
    try:
        ufunc: np.ufunc = getattr(np, name)
        loop = loop_dtypes(ufunc, node.args, {}, lambda condition: bool(facts.decide(condition)))
    except OpError:
        return None
    in_dtypes, out_dtypes = loop[: ufunc.nin], loop[ufunc.nin :]
    if out_dtypes != dtypes or in_dtypes[0].kind == "c" or (name in _FLOAT_ONLY and in_dtypes[0].kind != "f"):
        return None
    return Form(name, in_dtypes, out_dtypes) if target.exact(name, in_dtypes, out_dtypes) else None


def _number_form(number: Scalar, dtypes: tuple[DType, ...], target: Target) -> Form | None:
    """The form of a NumPy scalar made of a Scalar; numbers that do not fit decline at the call."""
    kinds = {"int": "iuf", "float": "f"}.get(kind_of(number), "")
    if dtypes[0].kind not in kinds or not target.exact("copy", dtypes, dtypes):
        return None
    return Form("copy", dtypes, dtypes, order="K", number=number)


class KernelBuilder:
    """Adds nodes to a kernel under construction; ``operands`` are what its operand values read, in order.

    instead: arrays in memory, and which others are read in their place by what is added next.
    """

    def __init__(self, forms: dict[Node, Form]) -> None:
        self.forms = forms
        self.instead: Mapping[Node, Node] = {}
        self.operands: list[Argument] = []
        self.operand_dtypes: list[DType] = []
        self._of_operand: dict[Any, int] = {}
        self._ops: list[KernelOp] = []
        self._first: list[int] = []  # of each op, counted from the operands' end
        self._of_op: dict[KernelOp, int] = {}
        self._of_node: dict[Node, int] = {}
        self._stored: dict[Any, int] = {}  # what the kernel has written, by the places
        self._count = 0

    # Values of ops are numbered -1, -2 ... until the number of operands is known.

    def add(self, node: Node) -> None:
        """Add an elementwise node, unless it is there, whose operands are in memory, numbers, or added before."""
        if node in self._of_node:
            return
        if node.op == "tuple_get":
            parent = node.args[0]
            assert isinstance(parent, Node)
            self._of_node[node] = self._of_node[parent] - node.params["index"]
            return
        form = self.forms[node]
        values = [self.value(arg, dtype) for arg, dtype in zip(node.args, form.in_dtypes, strict=True)]
        op = KernelOp(form.op, tuple(values), form.in_dtypes, form.dtypes, form.ufunc or form.order, form.forward)
        if form.inverse is not None:
            consts = [KernelOp("const", (), (), form.dtypes, part) for part in form.inverse]
            values += [self._op(const) for const in consts]
            op = KernelOp("quotient", tuple(values), form.dtypes * 4, form.dtypes)
        self._of_node[node] = self._op(op)

    def value(self, arg: Argument, dtype: DType) -> int:
        """The value of an operand, cast to dtype."""
        if isinstance(arg, Node):
            arg = self.instead.get(arg, arg)
            source = arg.array_type.dtype
            form = self.forms.get(arg)
            if arg in self._of_node:
                value = self._of_node[arg]
            elif self._stored and (key := place(arg)) in self._stored:
                value = self._stored[key]
            elif form is not None and form.number is not None:
                value = self.value(form.number, source)
            else:
                value = self._operand(arg, arg, source)
            return value if source == dtype else self.cast(value, source, dtype)
        return self._operand(arg, (identity_of(arg), dtype), dtype)

    def cast(self, value: int, source: DType, dtype: DType) -> int:
        """The value as dtype."""
        return self._op(KernelOp("cast", (value,), (source,), (dtype,)))

    def store(self, target: Node, value: int) -> None:
        """Note that `target`, an array in memory, now holds this value."""
        self._stored[place(target)] = value

    def result(self, node: Node) -> int:
        """The value of a node that the kernel computes."""
        return self._of_node[node]

    def _operand(self, arg: Node | Scalar, key: Any, dtype: DType) -> int:
        if key not in self._of_operand:
            self._of_operand[key] = len(self.operands)
            self.operands.append(arg)
            self.operand_dtypes.append(dtype)
        return self._of_operand[key]

    def _op(self, op: KernelOp) -> int:
        """Add an operation whose results have no other number yet; the first one's."""
        if op not in self._of_op:
            self._of_op[op] = -1 - self._count
            self._count += len(op.dtypes)
            self._ops.append(op)
        return self._of_op[op]

    def kernel(self, results: list[int]) -> Kernel:
        """The finished kernel with these values as results."""
        n = len(self.operands)

        def number(value: int) -> int:
            return value if value >= 0 else n - 1 - value

        ops = tuple(replace(op, operands=tuple(map(number, op.operands))) for op in self._ops)
        return Kernel(tuple(self.operand_dtypes), ops, tuple(map(number, results)))


def kernel_reports(kernel: Kernel, target: Target) -> bool:
    """Whether running the kernel may set a floating-point flag."""
    return any(target.reports(op.op, op.in_dtypes, op.dtypes) for op in kernel.ops)

"""Rules for shapes that several op families share: broadcasting, sizes that may be 1, slices of an axis.

Enters: Dims and `ask`, which decides a relation between sizes now and guards it. Leaves: Dims in normal form.
INVARIANT: a Dim that leaves here is the constant 1 if it is 1 (``settle``), as ArrayType demands; only a size that
changes in a loop may be 1 in some iterations and not in others. Nothing then rests on which it is (``ask`` raises).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from dynamo_lite.graph.extremes import MAX_QUESTIONS, parts_of
from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.opdef import DoesNotBroadcast, OpError, Relate, Undecided, demand
from dynamo_lite.graph.scalar import Dim, Scalar, ScalarOp, Symbol, is_symbolic, make, product, terms_of

SliceEntry: TypeAlias = tuple[Scalar | None, Scalar | None, Scalar | None]


def broadcast(shapes: Sequence[tuple[Dim, ...]], ask: Relate) -> tuple[Dim, ...]:
    """The common shape; asks whether sizes with different expressions are equal, OpError if not.

    Of two that only the run knows or that change in a loop, or of one and another, NumPy refuses what differs, but for
    a size of 1, of which the program declines.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Dim] = [1] * rank
    for shape in shapes:
        for axis, dim in enumerate(shape, rank - len(shape)):
            if dim == 1 or dim == result[axis]:
                continue
            if result[axis] == 1:
                result[axis] = dim
            elif not _agree(result[axis], dim, ask):
                text = f"operands of sizes {result[axis]} and {dim} do not broadcast"
                raise DoesNotBroadcast(text, (result[axis], dim))
            elif isinstance(dim, int):
                result[axis] = dim
    return tuple(result)


def is_open(dim: Scalar) -> bool:
    """Whether it is a size that only the run knows."""
    return isinstance(dim, Symbol) and dim.input < 0


def _agree(left: Dim, right: Dim, ask: Relate) -> bool:
    return demand(ask, make("eq", left, right))


def shape_of(arg: Argument) -> tuple[Dim, ...]:
    """The shape of an operand; a Python number has ()."""
    return arg.array_type.shape if isinstance(arg, Node) else ()


def settle(dim: Scalar, ask: Relate) -> Dim:
    """`dim` as a size: the constant 1 if it is 1, and not negative (OpError)."""
    if not ask(make("ge", dim, 0)):
        raise OpError("a negative size")
    if any(is_open(part) for term in terms_of(dim) for part in (term, *term.operands)) or is_open(dim):
        return dim  # type: ignore[return-value]
    try:
        return 1 if ask(make("eq", dim, 1)) else dim  # type: ignore[return-value]
    except Undecided:
        return dim  # type: ignore[return-value]  # a size that changes in a loop: see ArrayType


def element_count(shape: Sequence[Dim], ask: Relate) -> Dim:
    """The number of elements."""
    return settle(product(shape), ask)


def slice_length(entry: SliceEntry, dim: Dim, ask: Relate) -> Dim:
    """The length of ``x[start:stop:step]`` along an axis of `dim` elements, by the rules of PySlice_AdjustIndices.

    The ordinary case, where start and stop lie inside and at least two elements are chosen, costs one question.
    """
    start, stop, step = entry
    step = 1 if step is None else step
    if ask(make("eq", step, 0)):
        raise OpError("slice step 0")
    if start is None and stop is None and step in (1, -1):
        return dim
    if not any(map(is_symbolic, (start, stop, step, dim))):
        return len(range(*slice(start, stop, step).indices(dim)))  # type: ignore[arg-type]
    forward = ask(make("ge", step, 1))
    low: Scalar = 0 if forward else -1
    high: Scalar = dim if forward else make("sub", dim, 1)
    begin = (low if forward else high) if start is None else _from_end(start, dim, ask)
    end = (high if forward else low) if stop is None else _from_end(stop, dim, ask)
    stride = step if forward else make("neg", step)

    def distance() -> Scalar:
        return make("sub", end, begin) if forward else make("sub", begin, end)

    def several() -> bool | None:
        """Whether at least two elements are chosen; None where that changes in a loop."""
        try:
            return ask(make("ge", distance(), make("add", stride, 1)))
        except Undecided:
            return None

    several()  # the strongest question comes first
    inside = is_symbolic(distance())  # NB: a window of so many elements may be cut off at the end
    begin, end = _clamp(begin, low, high, ask, inside), _clamp(end, low, high, ask, inside)
    chosen = several()
    if chosen is False:
        try:
            return 1 if ask(make("ge", distance(), 1)) else 0
        except Undecided as reason:
            if reason.promising:
                raise
    if chosen or _holds(make("ge", distance(), 0), ask):
        length = make("floordiv", make("sub", make("add", distance(), stride), 1), stride)
        if chosen and is_symbolic(stride):
            ask(make("ge", length, 2))  # follows, but no other fact tells it
        return length  # type: ignore[return-value]
    return 1 if ask(make("ge", distance(), 1)) else 0


def _from_end(bound: Scalar, dim: Dim, ask: Relate) -> Scalar:
    """Where a bound lies. One that a loop reads out of an array, as in `x[peak - 3 : peak + 4]`, is taken not to count
    from the end."""
    condition = make("ge", bound, 0)
    try:
        return bound if _holds(condition, ask) else make("add", bound, dim)
    except Undecided as error:
        if not _is_required(error, condition):
            raise
        return bound


def _is_required(reason: Undecided, condition: Scalar) -> bool:
    """Whether the program declines where `condition` does not hold, which is on numbers that a loop reads out of
    arrays."""
    if not reason.of_elements or reason.require is None:
        return False
    reason.require(condition)
    return True


def _holds(condition: Scalar, ask: Relate, asked: dict[Scalar, bool | None] | None = None) -> bool:
    """Whether a comparison holds; of a min or max by what it is the least or greatest of. asked: what was asked for
    that, with the answers."""
    asked = {} if asked is None else asked
    known = asked.get(condition)
    if known is None:
        asked[condition] = None
        known = asked[condition] = _holds_now(condition, ask, asked)
    return known


def _holds_now(condition: Scalar, ask: Relate, asked: dict[Scalar, bool | None]) -> bool:
    parts = parts_of(condition) if isinstance(condition, ScalarOp) and len(asked) <= MAX_QUESTIONS else None
    if parts is None:
        return ask(condition)
    either, conditions = parts
    undecided: Scalar | None = None
    for one in conditions:
        try:
            if _holds(one, ask, asked) == either:
                return either
        except Undecided:
            undecided = one
    # NB: to keep the exception would keep the frames that it came through, and what they hold.
    return not either if undecided is None else _holds(undecided, ask, asked)


def _clamp(bound: Scalar, low: Scalar, high: Scalar, ask: Relate, inside: bool) -> Scalar:
    """`bound` between `low` and `high`; where that changes in a loop, as an expression. inside: it is taken to lie
    there if the loop reads it out of an array."""
    try:
        if not _holds(make("ge", bound, low), ask):
            return low
    except Undecided as error:
        if error.promising:
            raise
        bound = make("max", bound, low)
    condition = make("le", bound, high)
    try:
        return bound if _holds(condition, ask) else high
    except Undecided as error:
        if error.promising:
            raise
        return bound if inside and _is_required(error, condition) else make("min", bound, high)

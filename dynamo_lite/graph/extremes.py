"""The min or max of two numbers in a comparison, as comparisons on each of the two.

Enters: a condition. Leaves: two conditions of which one, or both, have to hold. Each may hold another min or max, so
that there may be twice as many with each: who asks about them asks MAX_QUESTIONS at most, and then no more for parts.
"""

from __future__ import annotations

from dynamo_lite.graph.scalar import (
    COMPARISONS,
    Scalar,
    ScalarExpr,
    ScalarOp,
    normal_comparison,
    rebuilt,
    simplify,
    terms_of,
)

MAX_QUESTIONS = 12


def parts_of(value: ScalarExpr) -> tuple[bool, list[Scalar]] | None:
    """An integer comparison with the min or max of two numbers in it, as comparisons on each of the two: whether it is
    enough that one of them holds, and these; None for others.

    max(a, b) >= k holds where a >= k or b >= k does. NB: one that stands in another term, too, cannot be taken apart:
    m in m + min(1, -m).
    """
    normal = normal_comparison(value) if isinstance(value, ScalarOp) and value.op in COMPARISONS else None
    if normal is None or normal[0] not in ("ge", "le"):
        return None
    for monomial, coefficient in normal[1]:
        extreme = monomial[0]
        if len(monomial) == 1 and isinstance(extreme, ScalarOp) and extreme.op in ("min", "max"):
            others = (factor for other, _ in normal[1] if other is not monomial for factor in other)
            if any(extreme in terms_of(factor) for factor in others):
                continue
            either = ((extreme.op == "max") == (normal[0] == "ge")) == (coefficient > 0)
            return either, [_with(value, extreme, operand) for operand in extreme.operands]
    return None


def _with(value: Scalar, old: ScalarExpr, new: Scalar) -> Scalar:
    """`value` with a number replaced by another one, simplified."""

    def change(term: ScalarOp, operands: tuple[Scalar, ...]) -> Scalar:
        return new if term is old else simplify(ScalarOp(term.op, term.kind, operands))

    return rebuilt(value, lambda symbol: new if symbol is old else symbol, change)


__all__ = ["MAX_QUESTIONS", "parts_of"]

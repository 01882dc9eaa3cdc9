"""What a graph takes for granted about its sizes: the relations asked at capture and guarded since.

Enters: conditions with their truth (``learn``), as capture's ``relate`` answered them. Leaves: ``decide``, the truth of
a condition that follows from these and from what every size obeys (never negative, never 1), or None. The verifier
re-infers types from the facts alone, and capture asks nothing twice. INVARIANT: every learned fact is a guard of
the capture, so `decide` may be built upon.
"""

from __future__ import annotations

import math

from dynamo_lite.graph.scalar import (
    COMPARISONS,
    LinearKey,
    Monomial,
    Scalar,
    ScalarExpr,
    ScalarOp,
    Symbol,
    kind_of,
    negate,
    normal_comparison,
    simplify,
    to_polynomial,
)


class Facts:
    """Relations known to hold; ``learned`` lists them in the order they came, as conditions that are true."""

    def __init__(self) -> None:
        self.learned: list[Scalar] = []
        self._range: dict[LinearKey, tuple[float, float]] = {}
        self._unequal: dict[LinearKey, set[int]] = {}
        self._opaque: dict[str, bool] = {}

    def copy(self) -> Facts:
        """The same facts, to be extended apart."""
        other = Facts()
        for condition in self.learned:
            other.learn(condition, True)
        return other

    def learn(self, condition: Scalar, truth: bool) -> None:
        """Note that `condition` is true (or false), unless that is known."""
        condition = simplify(condition if truth else negate(condition))
        if not isinstance(condition, Symbol | ScalarOp) or self.decide(condition):
            return
        self.learned.append(condition)
        normal = _normal(condition)
        if normal is None:
            self._opaque[str(condition)] = True
            self._opaque[str(negate(condition))] = False
            return
        relation, terms, bound = normal
        low, high = self._range.get(terms, (-math.inf, math.inf))
        if relation == "ne":
            self._unequal.setdefault(terms, set()).add(bound)
        if relation in ("ge", "eq"):
            low = max(low, bound)
        if relation in ("le", "eq"):
            high = min(high, bound)
        self._range[terms] = (low, high)

    def decide(self, condition: Scalar) -> bool | None:
        """Whether `condition` holds at every call that passes the guards; None when the facts do not tell."""
        condition = simplify(condition)
        if not isinstance(condition, Symbol | ScalarOp):
            return bool(condition)
        normal = _normal(condition)
        if normal is None:
            return self._opaque.get(str(condition))
        relation, terms, bound = normal
        low, high = self._bounds(terms)
        if relation == "ge":
            return True if low >= bound else False if high < bound else None
        if relation == "le":
            return True if high <= bound else False if low > bound else None
        outside = bound < low or bound > high or bound in self._excluded(terms)
        equal = False if outside else True if low == high == bound else None
        return equal if relation == "eq" or equal is None else not equal

    def _bounds(self, terms: LinearKey) -> tuple[float, float]:
        """The interval of a linear form: what was learned of it, and what its terms add up to."""
        low, high = self._range.get(terms, (-math.inf, math.inf))
        if len(terms) == 1 and terms[0][1] == 1:
            term_low, term_high = self._monomial_bounds(terms[0][0])
            return max(low, term_low), min(high, term_high)
        total_low = total_high = 0.0
        for monomial, coefficient in terms:
            term_low, term_high = self._bounds(((monomial, 1),))
            ends = [term_low * coefficient, term_high * coefficient]
            total_low += min(ends)
            total_high += max(ends)
        return max(low, total_low), min(high, total_high)

    def _monomial_bounds(self, monomial: Monomial) -> tuple[float, float]:
        if len(monomial) == 1:
            return self._factor_bounds(monomial[0])
        low = 1.0
        for factor in monomial:
            factor_low, _ = self._bounds((((factor,), 1),))
            if factor_low < 0:
                return -math.inf, math.inf
            low *= factor_low
        return low, math.inf

    def _factor_bounds(self, factor: ScalarExpr) -> tuple[float, float]:
        if isinstance(factor, Symbol):
            return (0 if factor.axis is not None else -math.inf), math.inf
        if factor.op in ("floordiv", "mod") and kind_of(factor) == "int":
            divisor = factor.operands[1]
            if isinstance(divisor, int) and divisor > 0:
                low, high = self._expression_bounds(factor.operands[0])
                if factor.op == "mod":
                    return (low % divisor, low % divisor) if low == high else (0, divisor - 1)
                return low // divisor if math.isfinite(low) else low, high // divisor if math.isfinite(high) else high
        return -math.inf, math.inf

    def _expression_bounds(self, value: Scalar) -> tuple[float, float]:
        poly = to_polynomial(value)
        constant = poly.pop((), 0)
        if not poly:
            return constant, constant
        normal = normal_comparison(ScalarOp("ge", "bool", (value, 0)))
        assert normal is not None
        leading = normal[1][0]
        factor = poly[leading[0]] // leading[1]  # value == factor * L + constant
        ends = [bound * factor + constant for bound in self._bounds(normal[1])]
        return min(ends), max(ends)

    def _excluded(self, terms: LinearKey) -> set[int]:
        unequal = set(self._unequal.get(terms, ()))
        if len(terms) == 1:
            (monomial, coefficient) = terms[0]
            if coefficient == 1 and all(isinstance(factor, Symbol) and factor.axis is not None for factor in monomial):
                unequal.add(1)  # a size is not 1, nor is a product of sizes
        return unequal


def _normal(condition: ScalarExpr) -> tuple[str, LinearKey, int] | None:
    if isinstance(condition, ScalarOp) and condition.op in COMPARISONS:
        return normal_comparison(condition)
    return None

"""What a graph takes for granted about its sizes: the relations asked at capture and guarded since.

Enters: conditions with their truth (``learn``), as capture's ``relate`` answered them. Leaves: ``decide``, the truth of
a condition that follows from these and from what every size obeys (never negative, never 1), or None. The verifier
re-infers types from the facts alone, and capture asks nothing twice. INVARIANT: every learned fact is a guard of
the capture, so `decide` may be built upon.
"""

from __future__ import annotations

import math
from collections import Counter

from dynamo_lite.budget import spend
from dynamo_lite.graph.equalities import Equalities
from dynamo_lite.graph.extremes import MAX_QUESTIONS, parts_of
from dynamo_lite.graph.scalar import (
    COMPARISONS,
    LinearKey,
    Monomial,
    Scalar,
    ScalarExpr,
    ScalarOp,
    Symbol,
    divide_exactly,
    kind_of,
    make,
    negate,
    normal_comparison,
    simplify,
    substitute,
    symbols_of,
    terms_of,
    to_polynomial,
)

DEEP = 20  # operations in each other


class Facts:
    """Relations known to hold; ``learned`` lists them in the order they came, as conditions that are true."""

    def __init__(self) -> None:
        self.learned: list[Scalar] = []
        self._range: dict[LinearKey, tuple[float, float]] = {}
        self._unequal: dict[LinearKey, set[int]] = {}
        self._opaque: dict[str, bool] = {}
        self._decided: dict[ScalarExpr, bool] = {}  # what is learned later changes no answer
        self._undecided: set[ScalarExpr] = set()  # by what is known so far, and so is
        self._known_bounds: dict[LinearKey, tuple[float, float]] = {}
        self._questions = 0  # that `_decide` may still ask of the two sides of a min or max
        self._is_inside = False  # `_bound_from_inside` runs
        self.equalities = Equalities()

    def copy(self) -> Facts:
        """The same facts, to be extended apart."""
        other = Facts()
        other.learned = self.learned.copy()
        other._range = self._range.copy()
        other._unequal = {terms: numbers.copy() for terms, numbers in self._unequal.items()}
        other._opaque = self._opaque.copy()
        other._decided = self._decided.copy()
        other._undecided = self._undecided.copy()
        other._known_bounds = self._known_bounds.copy()
        other.equalities = self.equalities.copy()
        return other

    def learn(self, condition: Scalar, truth: bool) -> None:
        """Note that `condition` is true (or false), as it is written and with every number called by the name of its
        class."""
        condition = simplify(condition if truth else negate(condition))
        self._note(condition)
        named = self.equalities.canonical(condition)
        if named is not condition:
            self._note(named)

    def _note(self, condition: Scalar) -> None:
        if not isinstance(condition, Symbol | ScalarOp) or self._decide(condition):
            return
        self.learned.append(condition)
        self._decided[condition] = True
        self._undecided.clear()
        normal = _normal(condition)
        if normal is None:
            self._opaque[str(condition)] = True
            self._opaque[str(negate(condition))] = False
            return
        relation, terms, bound = normal
        if relation == "ne":
            self._unequal.setdefault(terms, set()).add(bound)
        ends = bound if relation in ("ge", "eq") else -math.inf, bound if relation in ("le", "eq") else math.inf
        self._narrow(terms, *ends)
        if relation == "eq":
            self._unite(*condition.operands)  # type: ignore[union-attr]

    def _narrow(self, terms: LinearKey, least: float, most: float) -> None:
        low, high = self._range.get(terms, (-math.inf, math.inf))
        self._range[terms] = max(low, least), min(high, most)
        self._known_bounds.clear()

    def _unite(self, one: Scalar, other: Scalar) -> None:
        """Call two numbers by one name, and note what is known of them under that."""
        atom = self.equalities.unite(one, other)
        if atom is None:
            return
        bounds = self._bounds((((atom,), 1),))
        self._undecided.clear()
        names = symbols_of(atom)
        if isinstance(atom, Symbol) and atom.axis is not None:  # its name obeys what every size obeys
            self._note(make("ge", self.equalities.canonical(atom), 0))
            self._note(make("ne", self.equalities.canonical(atom), 1))
        elif isinstance(atom, ScalarOp):  # and so does what a term's operands tell of it, which nobody has to be told
            for relation, end in zip(("ge", "le"), bounds, strict=True):
                named = make(relation, self.equalities.canonical(atom), int(end)) if math.isfinite(end) else True
                if not isinstance(named, ScalarOp) or self._decide(named):
                    continue
                normal = _normal(named)
                if normal is not None:
                    _, terms, bound = normal
                    self._decided[named] = True
                    self._narrow(terms, *((bound, math.inf) if normal[0] == "ge" else (-math.inf, bound)))
        for known in list(self.learned):
            if names & symbols_of(known):
                self._note(self.equalities.canonical(known))
                # NB: a term that has another name already hides the new one in it: n // 2 is m // 2, and n is k now.
                if isinstance(atom, Symbol) and isinstance(known, ScalarOp) and known.op == "eq":
                    self._note(substitute(known, {atom.name: self.equalities.canonical(atom)}))

    def decide(self, condition: Scalar) -> bool | None:
        """Whether `condition` holds at every call that passes the guards; None when the facts do not tell."""
        if not isinstance(condition, Symbol | ScalarOp):
            return bool(condition)
        known = self._decided.get(condition)
        if known is not None:
            return known
        condition = simplify(condition)
        if not isinstance(condition, Symbol | ScalarOp):
            return bool(condition)
        known = self._decided.get(condition)
        if known is None and condition not in self._undecided:
            spend()
            known = self._decide(condition)
            if known is None and self.equalities:
                named = self.equalities.canonical(condition)
                known = None if named is condition else self._decide(named)
            if known is None:
                self._undecided.add(condition)
            else:
                self._decided[condition] = known
        return known

    def _decide(self, condition: Scalar) -> bool | None:
        """The same, of a condition as it is written."""
        self._questions = MAX_QUESTIONS
        return self._decide_now(condition)

    def _decide_now(self, condition: Scalar) -> bool | None:
        if not isinstance(condition, Symbol | ScalarOp):
            return bool(condition)
        normal = _normal(condition)
        if normal is None:
            return self._opaque.get(str(condition))
        relation, terms, bound = normal
        low, high = self._bounds(terms)
        if relation in ("ge", "le"):
            is_sure = low >= bound if relation == "ge" else high <= bound
            never = high < bound if relation == "ge" else low > bound
            return True if is_sure else False if never else self._decide_parts(condition)
        outside = bound < low or bound > high or self._is_excluded(terms, bound)
        equal = False if outside else True if low == high == bound else self._equal_by_parts(condition)
        return equal if relation == "eq" or equal is None else not equal

    def _equal_by_parts(self, condition: ScalarExpr) -> bool | None:
        """Whether two sides with a min or max of two numbers in them are equal: neither is less than the other."""
        sides = _bounding(condition)
        if not any(map(parts_of, sides)):
            return None
        known = [self._decide_now(one) for one in sides]
        return False if False in known else None if None in known else True

    def _decide_parts(self, condition: ScalarExpr) -> bool | None:
        """The same where a term is the min or max of two numbers: by the condition on each."""
        parts = parts_of(condition) if self._questions > 0 else None
        if parts is None:
            return None
        either, conditions = parts
        self._questions -= len(conditions)
        known = [self._decide_now(one) for one in conditions]
        return either if either in known else None if None in known else not either

    def _bounds(self, terms: LinearKey) -> tuple[float, float]:
        """The interval of a linear form: what was learned of it, and what its terms add up to; an end that it is known
        not to be is none."""
        known = self._known_bounds.get(terms)
        if known is None:
            self._bound_from_inside(terms)
            low, high = self._wide_bounds(terms)
            unequal = self._unequal.get(terms, ())
            while low in unequal:
                low += 1
            while high in unequal:
                high -= 1
            known = self._known_bounds[terms] = low, high
        return known

    def _bound_from_inside(self, terms: LinearKey) -> None:
        """Bound the numbers that a deep one is made of, lest it takes as many calls in each other as it is deep."""
        factors = [factor for monomial, _ in terms for factor in monomial]
        deep = [factor for factor in factors if isinstance(factor, ScalarOp) and factor.depth > DEEP]
        if not deep or self._is_inside:
            return
        self._is_inside = True
        try:
            for factor in deep:
                for term in terms_of(factor):
                    if term.is_factor and term is not factor:
                        self._bounds((((term,), 1),))
        finally:
            self._is_inside = False

    def _wide_bounds(self, terms: LinearKey) -> tuple[float, float]:
        spend()
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
        for factor, power in Counter(monomial).items():
            factor_low, _ = self._bounds((((factor,), 1),))
            if factor_low < 0 and power % 2:
                return -math.inf, math.inf
            low *= max(factor_low, 0) ** power
        return low, math.inf

    def _factor_bounds(self, factor: ScalarExpr) -> tuple[float, float]:
        if isinstance(factor, Symbol):
            return (0 if factor.axis is not None else -math.inf), math.inf
        if factor.op in ("min", "max") and kind_of(factor) == "int":
            choose = min if factor.op == "min" else max
            lows, highs = zip(*map(self.interval, factor.operands), strict=True)
            return choose(lows), choose(highs)
        if factor.op == "mul" and kind_of(factor) == "int":  # of many terms
            (low, _), (other_low, _) = map(self.interval, factor.operands)
            return (low * other_low if low >= 0 and other_low >= 0 else -math.inf), math.inf
        if factor.op in ("floordiv", "mod") and kind_of(factor) == "int":
            divisor = factor.operands[1]
            if isinstance(divisor, int) and divisor > 0:
                low, high = self.interval(factor.operands[0])
                if factor.op == "mod":
                    return (low % divisor, low % divisor) if low == high else (0, divisor - 1)
                return low // divisor if math.isfinite(low) else low, high // divisor if math.isfinite(high) else high
            least, most = self.interval(divisor)
            if least >= 1:
                if factor.op == "mod":
                    return 0, most - 1
                low, high = self.interval(factor.operands[0])
                return (0 if low >= 0 else -math.inf), (high if high >= 0 else math.inf)
        return -math.inf, math.inf

    def may_equal(self, one: Symbol, other: Symbol) -> bool:
        """Whether `decide` has to be asked if two numbers are equal; False where it would not say so."""
        if any(self.equalities.canonical(number) is not number for number in (one, other)):
            return True
        normal = _normal(ScalarOp("eq", "bool", (one, other)))
        if normal is None or normal[1] in self._range:
            return True
        low, high = self._bounds((((one,), 1),))
        return low == high and self._bounds((((other,), 1),)) == (low, low)

    def interval(self, value: Scalar) -> tuple[float, float]:
        """The least and the greatest number that an int may be, as far as is known."""
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

    def _is_excluded(self, terms: LinearKey, number: int) -> bool:
        """Whether a linear form is known not to be `number`; one of which a size is a factor is neither 1 nor -1, since
        a size is not 1."""
        if number in self._unequal.get(terms, ()):
            return True
        if number not in (1, -1):
            return False
        common = set.intersection(*(set(monomial) for monomial, _ in terms))
        return any(map(self._like_a_size, common))

    def _like_a_size(self, factor: ScalarExpr) -> bool:
        """Whether a number is never negative and never 1."""
        if isinstance(factor, Symbol) and factor.axis is not None:
            return True
        terms: LinearKey = (((factor,), 1),)
        return self._bounds(terms)[0] >= 0 and 1 in self._unequal.get(terms, ())


def _bounding(condition: ScalarExpr) -> tuple[ScalarExpr, ...]:
    """A comparison as those that bound a number from one side, which all hold where it does; of ne, that its sides are
    equal."""
    if not isinstance(condition, ScalarOp) or condition.op not in ("eq", "ne"):
        return (condition,)
    sides = (simplify(ScalarOp(relation, "bool", condition.operands)) for relation in ("ge", "le"))
    return tuple(one for one in sides if isinstance(one, ScalarOp))


def at_worst(
    facts: Facts, condition: Scalar, index: Symbol, start: Scalar, stop: Scalar, step: Scalar
) -> Scalar | None:
    """What makes `condition` hold in every iteration of a loop: the condition at the index where it is hardest to meet.

    None for other than comparisons of ints in which the index moves one side steadily: add(i0, 1) <= s0 is s1 <= s0
    for i0 in range(s1). What is a place along an axis, floordiv(i0, s1) or mod(i0, s1), is taken at its own worst.
    """
    normal = _normal(condition) if isinstance(condition, ScalarOp) else None
    if normal is None or normal[0] not in ("ge", "le"):
        return None
    forward = facts.decide(make("ge", step, 1))
    if not forward and not facts.decide(make("le", step, -1)):
        return None
    rises: set[bool] = set()
    ends: dict[ScalarExpr, Scalar] = {}
    for monomial, coefficient in normal[1]:
        moving = [factor for factor in monomial if index.name in symbols_of(factor)]
        if not moving:
            continue
        others = [factor for factor in monomial if factor not in moving]
        if len(moving) > 1 or not all(facts.interval(factor)[0] >= 0 for factor in others):
            return None
        hardest_at_least = (coefficient > 0) == (normal[0] == "ge")
        if moving == [index]:
            rises.add(hardest_at_least)
            continue
        end = _end_of(facts, moving[0], index, (start, stop) if forward else None, hardest_at_least)
        if end is None:
            return None
        ends[moving[0]] = end
    if len(rises) > 1 or not (rises or ends):
        return None
    if rises == {True}:  # hardest at the least index
        worst = start if forward else make("add", stop, 1)
    else:
        worst = make("sub", stop, 1) if forward else start
    if not ends:
        return substitute(condition, {index.name: worst})
    total: Scalar = 0
    for monomial, coefficient in normal[1]:
        term: Scalar = coefficient
        for factor in monomial:
            term = make("mul", term, worst if factor == index else ends.get(factor, factor))
        total = make("add", total, term)
    return make(normal[0], total, normal[2])


def _end_of(
    facts: Facts, value: Scalar, index: Symbol, bounds: tuple[Scalar, Scalar] | None, least: bool
) -> Scalar | None:
    """The least or the greatest that a place along an axis may be which is computed from the index of a loop over
    range(*bounds): floordiv(i0, s1) is at most s0 - 1 where i0 is below mul(s0, s1). None where that is not known."""
    if value == index and bounds is not None:
        return bounds[0] if least else make("sub", bounds[1], 1)
    if not isinstance(value, ScalarOp) or value.op not in ("floordiv", "mod") or kind_of(value) != "int":
        return None
    number, size = value.operands
    if index.name in symbols_of(size) or not facts.decide(make("ge", size, 1)):
        return None
    if value.op == "mod":
        return 0 if least else make("sub", size, 1)
    end = _end_of(facts, number, index, bounds, least)
    if end is None or end == 0:
        return end
    after = None if least else divide_exactly(make("add", end, 1), size)
    return make("floordiv", end, size) if after is None else make("sub", after, 1)


def learn_index(facts: Facts, index: Scalar, start: Scalar, stop: Scalar, step: Scalar) -> None:
    """Note what holds of the index of a loop in every iteration; nothing where the sign of the step is not known."""
    if facts.decide(make("ge", step, 1)):
        low, high = start, make("sub", stop, 1)
    elif facts.decide(make("le", step, -1)):
        low, high = make("add", stop, 1), start
    else:
        return
    facts.learn(make("ge", index, low), True)
    facts.learn(make("le", index, high), True)
    # Bounds known as numbers are learned too: decide() does not combine facts about other numbers.
    for relation, bound in (("ge", facts.interval(low)[0]), ("le", facts.interval(high)[1])):
        if math.isfinite(bound):
            facts.learn(make(relation, index, int(bound)), True)


def _normal(condition: ScalarExpr) -> tuple[str, LinearKey, int] | None:
    if isinstance(condition, ScalarOp) and condition.op in COMPARISONS:
        return normal_comparison(condition)
    return None

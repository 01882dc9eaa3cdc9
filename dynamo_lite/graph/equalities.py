"""Equalities: which ints are one number, and the name that all of them go by.

Enters: pairs of ints that are known to be equal (``unite``). Leaves: ``canonical``, an expression with every number in
it called by the name of its class, so that equal sizes compare equal. It is a union-find whose members are the atoms of
integer polynomials (symbols, and terms that a polynomial cannot look into, like ``floordiv(s0, 2)``), solved for one
atom at each union:

    s1 == add(s0, 1), s2 == s1            ->   s1 is add(s0, 1), s2 is add(s0, 1)
    s0 == mul(floordiv(s0, 2), 2)         ->   s0 is mul(floordiv(s0, 2), 2)

The second one says that s0 is even. It fails the occurs check: put into itself it would never end. There the term that
holds the atom (here the quotient) becomes fixed, a number with a name of its own, and is not looked into again:
``sub(s0, floordiv(s0, 2))`` is ``floordiv(s0, 2)``. INVARIANT: what an atom is replaced by contains no replaced atom
outside of fixed terms, so that one walk over an expression, which follows nothing twice, gives the name.
"""

from __future__ import annotations

from collections.abc import Set
from operator import is_

from dynamo_lite.graph.scalar import (
    Polynomial,
    Scalar,
    ScalarExpr,
    ScalarOp,
    Symbol,
    from_polynomial,
    is_symbolic,
    kind_of,
    make,
    simplify,
    substitute,
    symbols_of,
    terms_of,
    to_polynomial,
)


class Equalities:
    """Classes of equal ints. The keys of its tables are texts: 1, True and 1.0 are one key, their texts are not."""

    def __init__(self) -> None:
        self._names: dict[str, Scalar] = {}  # an atom -> what it is replaced by
        self._fixed: set[str] = set()
        self._known: dict[ScalarExpr, Scalar] = {}  # what canonical has answered since the last union

    def __bool__(self) -> bool:
        """Whether there is anything to rename."""
        return bool(self._names)

    def copy(self) -> Equalities:
        """The same classes, to be extended apart."""
        other = Equalities()
        other._names, other._fixed, other._known = dict(self._names), set(self._fixed), dict(self._known)
        return other

    def canonical(self, value: Scalar) -> Scalar:
        """`value` with every number in it called by the name of its class."""
        if not self._names or not is_symbolic(value):
            return value
        known = self._known.get(value)  # type: ignore[arg-type]
        if known is None:
            work = [value]
            while work:  # so that none has to ask for what its operands are called
                part = work[-1]
                unknown = [one for one in getattr(part, "operands", ()) if self._is_unknown(one)]
                work += unknown
                if not unknown:
                    known = self._known[part] = self._name(part)  # type: ignore[arg-type,index]
                    work.pop()
            assert known is not None
        return known

    def _is_unknown(self, value: Scalar) -> bool:
        return isinstance(value, Symbol | ScalarOp) and value not in self._known

    def with_names(self, value: Scalar) -> Scalar:
        """`value` with every symbol in it called by the name of its class, but no longer term: what is known of terms
        stays a statement."""
        return substitute(value, self._names) if self._names else value

    def named_by(self, symbols: Set[str]) -> set[str]:
        """The atoms, as texts, whose names have no symbols in them but these."""
        return {atom for atom, name in self._names.items() if symbols_of(name) <= symbols}

    def _name(self, value: ScalarExpr) -> Scalar:
        key = str(value)
        if key in self._names:
            return self._names[key]
        if isinstance(value, Symbol) or key in self._fixed:
            return value
        operands = tuple(map(self.canonical, value.operands))
        is_same = all(map(is_, operands, value.operands))
        renamed = simplify(value if is_same else ScalarOp(value.op, value.kind, operands))
        return self._names.get(str(renamed), renamed)

    def unite(self, one: Scalar, other: Scalar) -> ScalarExpr | None:
        """Note that two ints are equal. Returns the atom that is called otherwise from now on; None where that is
        known, or where there is no atom to solve for (a product that equals another one)."""
        if kind_of(one) != "int" or kind_of(other) != "int":
            return None
        one, other = self.canonical(one), self.canonical(other)
        difference = to_polynomial(make("sub", one, other))
        atom = _atom_to_solve_for(difference, (other, one))
        if atom is None:
            return None
        sign = difference.pop((atom,))
        found = from_polynomial({monomial: -sign * coefficient for monomial, coefficient in difference.items()})
        self._fixed |= {str(factor) for monomial in difference for factor in monomial if _contains(factor, atom)}
        self._names[str(atom)] = found
        self._known.clear()
        self._names = {key: self.canonical(name) for key, name in self._names.items()}
        self._known.clear()
        return atom


def _atom_to_solve_for(difference: Polynomial, preferred: tuple[Scalar, ...]) -> ScalarExpr | None:
    """An atom of `difference` that the equation ``difference == 0`` gives an integer for. Those that no other term
    contains come first, then `preferred`, then symbols, the latest first."""
    factors = [factor for monomial in difference for factor in monomial]
    atoms = [
        monomial[0]
        for monomial, coefficient in reversed(difference.items())
        if len(monomial) == 1 and coefficient in (1, -1) and factors.count(monomial[0]) == 1
    ]
    if not atoms:
        return None

    def rank(atom: ScalarExpr) -> tuple[bool, bool, int]:
        occurs = any(_contains(factor, atom) for factor in factors)
        place = preferred.index(atom) if atom in preferred else len(preferred)
        return occurs, not isinstance(atom, Symbol), place

    return min(atoms, key=rank)


def _contains(value: Scalar, atom: ScalarExpr) -> bool:
    """Whether `atom` is a part of `value`, but not `value` itself."""
    return any(atom in term.operands for term in terms_of(value))

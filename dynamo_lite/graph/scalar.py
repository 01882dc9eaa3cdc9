"""Symbolic Python numbers: sizes of arrays, and ints, floats and bools that enter a graph as arguments.

A ``ScalarExpr`` is a frozen expression over ``Symbol`` leaves, in which a part that occurs twice is one object (who
goes through one takes each part once: `terms_of`); a constant is a plain Python int, float, bool or complex. Capture
computes with these in place of Python numbers (``make``), guards state relations between them, the native program
evaluates them (``csrc/numbers/scalar.c``). INVARIANT: integer operations are exact in 64 bits, or the call declines to
plain Python; a float operation is the IEEE double operation that Python's float performs.

``simplify`` gives integer expressions one normal form, a polynomial over symbols and opaque terms, so that equal sizes
compare equal: ``add(sub(s0, 1), 1)`` is ``s0``; a product that would be long is a term. Floats are never
reassociated, only folded when all is constant.
NB: 1 == True == 1.0 and 0.0 == -0.0 in Python. Expressions that differ in such numbers are not equal; the numbers
themselves are: do not key a table that has both by ``==``.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, Self, TypeAlias, final
from weakref import ref

from dynamo_lite._C import forget_term

Number: TypeAlias = int | float | bool | complex


class _Shared:
    """Equal terms are one object, so that ``==`` is identity and tables find them by their address: sizes are compared
    and looked up hundreds of thousands of times. A term goes when nobody has it any more."""

    __slots__ = ("__weakref__",)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


_TERMS: dict[tuple[Any, ...], ref[Any]] = {}
_MAKING = threading.RLock()  # a term: a signal's handler, too, may make one meanwhile
os.register_at_fork(after_in_child=_MAKING._at_fork_reinit)  # type: ignore[attr-defined]


def _known(key: tuple[Any, ...]) -> Any:
    """The term with that key; None if there is none."""
    found = _TERMS.get(key)
    return None if found is None else found()


def _remember(key: tuple[Any, ...], term: Any) -> None:
    # NB: the callback is made of C functions alone: an interrupt that arrives in one of Python's would be lost.
    _TERMS[key] = ref(term, partial(forget_term, _TERMS, key))


@final
class Symbol(_Shared):
    """A number known only at the call: ``axis`` of graph input ``input``, or (axis None) that input's own value, as a
    Python number or an int64 NumPy scalar has one.

    A size (axis given) is never negative and never 1: an axis of size 1 is the constant 1 (see ArrayType). One with a
    negative input, and no axis, is a number that a node of the graph yields (``yields`` of a LOOP, a COND, a
    count_true or a scalar_number); no other number of the graph has that input. As a size it may be 1.
    """

    __slots__ = ("_names", "axis", "input", "kind", "name")

    name: str
    kind: str  # "int", "float" or "bool"
    input: int
    axis: int | None
    _names: frozenset[str]

    def __new__(cls, name: str, kind: str, input: int, axis: int | None = None) -> Symbol:
        key = name, kind, input, axis
        found: Symbol | None = _known(key)
        if found is not None:
            return found
        with _MAKING:
            found = _known(key)
            if found is None:
                found = object.__new__(cls)
                found.name, found.kind, found.input, found.axis = key
                found._names = frozenset((name,))
                _remember(key, found)
            return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Symbol, (self.name, self.kind, self.input, self.axis)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Symbol(name={self.name!r}, kind={self.kind!r}, input={self.input!r}, axis={self.axis!r})"


@final
class ScalarOp(_Shared):
    """``op`` applied to operands. Ops: add sub mul floordiv mod neg min max truediv pow sqrt bitand bitor bitxor trunc
    lt le eq ne gt ge and or not, and those of FUNCTIONS.

    Meaning: Python's own operators on ints, floats and bools; "and", "or" and "not" work on bools, "bitand", "bitor"
    and "bitxor" on ints. An operand of "pow" is a float, and so is the result; "trunc" is int() of a float,
    "sqrt" math.sqrt of a number that is not negative. FUNCTIONS are math's and "cabs", of finite numbers but for
    "fabs". depth: how many operations are in each other at most. normal: `simplify` would not change it. is_factor: as
    a polynomial it is itself. The text is kept, since sizes are put in order by it again and again, and so are the
    names of the symbols in it, the polynomial that it is, and what it compares, where it was made of that. INVARIANT:
    none of these holds the term itself, which goes when nobody has it any more.
    """

    __slots__ = (
        *("_compared", "_names", "_polynomial", "_text"),
        *("depth", "is_factor", "kind", "normal", "op", "operands"),
    )

    op: str
    kind: str  # "int", "float" or "bool"
    operands: tuple[Scalar, ...]
    depth: int
    normal: bool
    is_factor: bool
    _text: str
    _names: frozenset[str] | None
    _polynomial: Polynomial | None
    _compared: tuple[str, LinearKey, int] | None

    def __new__(cls, op: str, kind: str, operands: tuple[Scalar, ...], normal: bool = False) -> ScalarOp:
        types = tuple(map(type, operands))  # 1, True and 1.0 are equal
        key: tuple[Any, ...] = op, kind, operands, types
        if float in types:  # and so are 0.0 and -0.0
            key += tuple(math.copysign(1.0, operand) for operand in operands if type(operand) is float)
        found: ScalarOp | None = _known(key)
        if found is None:
            with _MAKING:
                found = _known(key)
                if found is None:
                    found = object.__new__(cls)
                    found.op, found.kind, found.operands, found.normal = op, kind, operands, normal
                    found.depth = 1 + max([operand.depth for operand in operands if type(operand) is cls], default=0)
                    found._text, found._names, found._polynomial, found._compared = "", None, None, None
                    found.is_factor = False
                    _remember(key, found)
        if normal:
            found.normal = True
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return ScalarOp, (self.op, self.kind, self.operands)

    def __str__(self) -> str:
        """As a call of its operands; where that gets long, a number of the same length stands for them."""
        if not self._text:
            for term in terms_of(self):
                if not term._text:
                    text = ", ".join(map(str, term.operands))
                    if len(text) > MAX_TEXT:
                        text = f"{int.from_bytes(text.encode()) % _PRIME:x}"
                    term._text = f"{term.op}({text})"
        return self._text

    def __repr__(self) -> str:
        return f"ScalarOp({self})"


MAX_TEXT = 2000  # characters of a term's operands
_PRIME = 2**127 - 1

ScalarExpr: TypeAlias = Symbol | ScalarOp
Scalar: TypeAlias = Symbol | ScalarOp | Number
Dim: TypeAlias = Symbol | ScalarOp | int


def is_symbolic(value: object) -> bool:
    """True for a ScalarExpr, False for a plain number."""
    return isinstance(value, Symbol | ScalarOp)


def is_scalar(value: object) -> bool:
    """True for a ScalarExpr and for a plain Python number (not for a NumPy scalar, though np.float64 is a float)."""
    return isinstance(value, Symbol | ScalarOp) or type(value) in (bool, int, float, complex)


def kind_of(value: Scalar) -> str:
    """The Python type a scalar has: "bool", "int", "float" or "complex"."""
    if isinstance(value, Symbol | ScalarOp):
        return value.kind
    return type(value).__name__


def evaluate(value: Scalar, env: Mapping[str, Number], ints: range | None = None) -> Number:
    """The number that `value` is when each symbol has the number `env` gives for its name. OverflowError where an
    operation yields an int that is none of `ints`."""
    if not isinstance(value, ScalarOp):
        return env[value.name] if isinstance(value, Symbol) else value
    known: dict[ScalarOp, Number] = {}
    for term in terms_of(value):
        args = [known[one] if type(one) is ScalarOp else evaluate(one, env) for one in term.operands]
        known[term] = number = _EVALUATE[term.op](*args)  # type: ignore[operator]
        if ints is not None and type(number) is int and number not in ints:
            raise OverflowError(f"{term} is {number}")
    return known[value]


def terms_of(value: Scalar, enters: Callable[[ScalarOp], bool] | None = None) -> list[ScalarOp]:
    """The operations in a number, each once, behind those of its operands; enters: which of the operands to go into."""
    found: list[ScalarOp] = []
    if not isinstance(value, ScalarOp):
        return found
    if value.depth == 1:
        return [value]
    seen, work = set(), [(value, False)]
    while work:
        term, is_done = work.pop()
        if is_done:
            found.append(term)
        elif term not in seen:
            seen.add(term)
            work.append((term, True))
            operands = [operand for operand in term.operands if type(operand) is ScalarOp]
            work += [(operand, False) for operand in operands if enters is None or enters(operand)]
    return found


def rebuilt(
    value: Scalar, leaf: Callable[[Symbol], Scalar], op: Callable[[ScalarOp, tuple[Scalar, ...]], Scalar]
) -> Scalar:
    """A number with its symbols replaced by what `leaf` says, each operation by what `op` makes of it and of what its
    operands have become."""
    if type(value) is not ScalarOp:
        return leaf(value) if type(value) is Symbol else value
    known: dict[ScalarOp, Scalar] = {}

    def become(one: Scalar) -> Scalar:
        if type(one) is ScalarOp:
            return known[one]
        return leaf(one) if type(one) is Symbol else one

    for term in terms_of(value):
        known[term] = op(term, tuple([become(operand) for operand in term.operands]))
    return known[value]


def substitute(value: Scalar, mapping: Mapping[str, Scalar]) -> Scalar:
    """`value` with each symbol that `mapping` has a name for replaced, simplified."""

    def change(term: ScalarOp, operands: tuple[Scalar, ...]) -> Scalar:
        return simplify(ScalarOp(term.op, term.kind, operands))

    return rebuilt(value, lambda symbol: mapping.get(symbol.name, symbol), change)


MAX_WRITTEN = 100  # operations and operands of a number that is shown to a user

INFIX = {  # operations that Python writes between their operands
    "add": "+",
    "sub": "-",
    "mul": "*",
    "floordiv": "//",
    "bitand": "&",
    "bitor": "|",
    "bitxor": "^",
    "truediv": "/",
    "pow": "**",
    "mod": "%",
    "lt": "<",
    "le": "<=",
    "eq": "==",
    "ne": "!=",
    "gt": ">",
    "ge": ">=",
    "and": "and",
    "or": "or",
}


def as_python(value: Scalar, name_of: Callable[[Symbol], str]) -> str:
    """`value` as a user would write it, with the names that `name_of` gives: ``x.shape[0] // 2``; of a long one the
    number of its operations."""
    if isinstance(value, Symbol):
        return name_of(value)
    if not isinstance(value, ScalarOp):
        return repr(value)
    if is_larger(value, MAX_WRITTEN):
        return f"<{len(terms_of(value))} operations>"
    parts = [as_python(operand, name_of) for operand in value.operands]
    nested = [
        f"({part})" if isinstance(operand, ScalarOp) and operand.op in INFIX else part
        for part, operand in zip(parts, value.operands, strict=True)
    ]
    if value.op in INFIX:
        return f" {INFIX[value.op]} ".join(nested)
    if value.op == "neg":
        return f"-{nested[0]}"
    if value.op == "not":
        return f"not {nested[0]}"
    return f"{'int' if value.op == 'trunc' else value.op}({', '.join(parts)})"


def symbols_of(value: object) -> frozenset[str]:
    """The names of the symbols in a scalar."""
    if isinstance(value, Symbol | ScalarOp):
        if value._names is None:
            for term in terms_of(value):
                if term._names is None:
                    term._names = frozenset().union(*map(symbols_of, term.operands))
        return value._names  # type: ignore[return-value]
    return frozenset()


def is_larger(value: Scalar, parts: int) -> bool:
    """Whether `value` written out has more operations and operands than `parts`."""
    work = [value]
    while work and parts >= 0:
        part = work.pop()
        parts -= 1
        if isinstance(part, ScalarOp):
            work += part.operands
    return parts < 0


def renamed(value: Scalar, symbols: Mapping[str, Symbol]) -> Scalar:
    """`value` with other Symbols under the same names, otherwise as it is written."""

    def change(term: ScalarOp, operands: tuple[Scalar, ...]) -> Scalar:
        return ScalarOp(term.op, term.kind, operands, term.normal)

    return rebuilt(value, lambda symbol: symbols[symbol.name], change)


def _power(a: float, b: float) -> float:
    result: float | complex = a**b
    if isinstance(result, complex):
        raise ArithmeticError("a fractional power of a negative number is complex")
    return result


def _truncate(a: float) -> int:
    if a != a:
        raise ArithmeticError("int() of a NaN")
    return int(a)


def _root(a: float) -> float:
    if not a >= 0:
        raise ArithmeticError("the square root of a negative number or NaN")
    return math.sqrt(a)


def _rounded(number: float, digits: float) -> float:
    if digits not in range(MOST_DIGITS + 1):
        raise ValueError("round to so many digits has no rule")
    return round(float(number), int(digits))


def _finite(function: Callable[..., float]) -> Callable[..., float]:
    """`function` of math, where neither an operand nor the result is infinite or NaN."""

    def call(*operands: float) -> float:
        try:
            result = function(*operands)
        except ValueError as error:
            raise ArithmeticError(str(error)) from None
        if not all(map(math.isfinite, (*operands, result))):
            raise ArithmeticError("a number that is not finite")
        return result

    return call


# Functions of math that the program evaluates as Python does, by name: their number of operands.
FUNCTIONS = {
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"), 1),
    **dict.fromkeys(("asinh", "acosh", "atanh", "exp", "exp2", "expm1"), 1),
    **dict.fromkeys(("log", "log2", "log10", "log1p", "cbrt", "erf", "erfc", "fabs"), 1),
    **dict.fromkeys(("atan2", "hypot", "fmod", "copysign"), 2),
}

FUNCTIONS_OF_MATH = tuple(FUNCTIONS)
FUNCTIONS["cabs"] = 2  # abs() of a complex number, of its parts
FUNCTIONS["round"] = 2  # round(x, n) of a float, n a number from 0 to MOST_DIGITS
MOST_DIGITS = 22  # powers of ten up to that are floats

HYPOT = math.hypot  # which csrc/numbers/functions.c calls

_EVALUATE = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "truediv": lambda a, b: a / b,
    "mod": lambda a, b: a % b,
    "pow": _power,
    "neg": lambda a: -a,
    "min": min,
    "max": max,
    "bitand": lambda a, b: a & b,
    "bitor": lambda a, b: a | b,
    "bitxor": lambda a, b: a ^ b,
    "trunc": _truncate,
    "sqrt": _root,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
    **{name: _finite(getattr(math, name)) for name in FUNCTIONS_OF_MATH},
    "fabs": math.fabs,
    "cabs": _finite(lambda re, im: abs(complex(re, im))),
    "round": _finite(_rounded),
}

COMPARISONS = frozenset({"lt", "le", "eq", "ne", "gt", "ge"})
_LOGIC = frozenset({"and", "or", "not"})
_KEPT = 1 << 15  # results that are kept: a function asks for the same few hundred sizes thousands of times
_OPPOSITE = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}


def make(op: str, *operands: Scalar) -> Scalar:
    """`op` applied to `operands`, simplified; of plain numbers it is Python's own result, its exceptions included.

    Raises TypeError for complex operands beside symbolic ones.
    """
    for operand in operands:
        if isinstance(operand, float):  # 0.0 and -0.0 are equal
            return _make(op, *operands)
    return _made(op, *operands)


def _make(op: str, *operands: Scalar) -> Scalar:
    if not any(map(is_symbolic, operands)):
        return _EVALUATE[op](*operands)  # type: ignore[no-any-return, operator]
    kinds = {kind_of(operand) for operand in operands}
    rule = _POLYNOMIAL_RULES.get(op)
    if rule is not None and kinds <= _INTEGERS:  # as `simplify` would, without a term of what is to be simplified
        left, right = (simplify(operand) for operand in operands)
        return from_polynomial(rule(op, _polynomial(left), _polynomial(right)))
    if "complex" in kinds:
        raise TypeError("complex numbers have no symbolic arithmetic")
    if op in COMPARISONS or op in _LOGIC:
        kind = "bool"
    elif op in ("truediv", "sqrt") or op in FUNCTIONS or ("float" in kinds and op != "trunc"):
        kind = "float"
    else:
        kind = "int"
    return simplify(ScalarOp(op, kind, operands))


_made = lru_cache(_KEPT, typed=True)(_make)


def total(values: Iterable[Scalar]) -> Scalar:
    """The sum of integer scalars."""
    result: Scalar = 0
    for value in values:
        result = make("add", result, value)
    return result


def product(values: Iterable[Scalar]) -> Scalar:
    """The product of integer scalars: the number of elements of a shape."""
    result: Scalar = 1
    for value in values:
        result = make("mul", result, value)
    return result


def negate(condition: Scalar) -> Scalar:
    """The condition that is true where `condition` is false."""
    if isinstance(condition, ScalarOp) and condition.op in _OPPOSITE and _integral(condition):
        return ScalarOp(_OPPOSITE[condition.op], "bool", condition.operands)
    if isinstance(condition, ScalarOp) and condition.op == "not":
        return condition.operands[0]
    return make("not", condition)


# Integer normal form: {monomial: coefficient}, a monomial being the sorted tuple of its factors (() for the constant).

Monomial: TypeAlias = tuple[ScalarExpr, ...]
Polynomial: TypeAlias = dict[Monomial, int]
LinearKey: TypeAlias = tuple[tuple[Monomial, int], ...]


def simplify(value: Scalar) -> Scalar:
    """The normal form of `value`; equal integer polynomials have equal normal forms."""
    if not isinstance(value, ScalarOp) or value.normal:
        return value
    known: dict[ScalarOp, Scalar] = {}
    for term in terms_of(value, _is_open) if any(map(_is_open, value.operands)) else (value,):
        operands = [known.get(one, one) if type(one) is ScalarOp else one for one in term.operands]
        result = known[term] = _simplify(term, tuple(operands))
        if isinstance(result, ScalarOp):
            result.normal = True
    return known[value]


def _is_open(value: Scalar) -> bool:
    return type(value) is ScalarOp and not value.normal


def _simplify(value: ScalarOp, operands: tuple[Scalar, ...]) -> Scalar:
    """The same, of simplified operands."""
    if not any(map(is_symbolic, operands)):
        try:
            return _EVALUATE[value.op](*operands)  # type: ignore[no-any-return, operator]
        except ArithmeticError:
            return ScalarOp(value.op, value.kind, operands)  # raises where it is evaluated
    value = ScalarOp(value.op, value.kind, operands)
    if value.op in COMPARISONS:
        return _simplify_comparison(value)
    if value.op in _LOGIC:
        return _simplify_logic(value)
    return from_polynomial(to_polynomial(value)) if value.kind == "int" else value


def to_polynomial(value: Scalar) -> Polynomial:
    """The integer expression `value` (operands simplified) as a polynomial over symbols and opaque terms."""
    return dict(_polynomial(value))


def _polynomial(value: Scalar) -> Polynomial:
    """The same, to be read alone."""
    if isinstance(value, Symbol):
        return {(value,): 1}
    if not isinstance(value, ScalarOp):
        return {(): int(value)} if value else {}  # type: ignore[arg-type]
    if value._polynomial is not None:
        return value._polynomial
    made: Polynomial = {(value,): 1}
    if _is_composed(value):
        for term in terms_of(value, _is_composed):
            made = _compose(term)
            if not term.is_factor:
                term._polynomial = made
    return made


def _is_composed(value: ScalarOp) -> bool:
    """Whether the polynomial that it is has to be made of those of its operands."""
    return value._polynomial is None and value.kind == "int" and value.op in _COMPOSED and not value.is_factor


def _compose(value: ScalarOp) -> Polynomial:
    if value.op == "neg":
        return _scale(_polynomial(value.operands[0]), -1)
    left, right = map(_polynomial, value.operands)
    return _POLYNOMIAL_RULES[value.op](value.op, left, right)


def _scale(poly: Polynomial, factor: int) -> Polynomial:
    return {monomial: coefficient * factor for monomial, coefficient in poly.items()} if factor else {}


def _add(op: str, left: Polynomial, right: Polynomial) -> Polynomial:
    result = dict(left)
    for monomial, coefficient in right.items():
        result[monomial] = result.get(monomial, 0) + coefficient
    return {monomial: coefficient for monomial, coefficient in result.items() if coefficient}


def _sub(op: str, left: Polynomial, right: Polynomial) -> Polynomial:
    return _add(op, left, _scale(right, -1))


def _mul(op: str, left: Polynomial, right: Polynomial) -> Polynomial:
    """The product, multiplied out where that is short: (a + b) * (c + d) * ... would have twice the terms with each."""
    if min(len(left), len(right)) > 1 and len(left) * len(right) > MAX_TERMS:
        return {(_canonical(op, *_in_order(left, right)),): 1}
    if left and right and max(map(len, left)) + max(map(len, right)) > MAX_FACTORS:
        return {(_canonical(op, *_in_order(left, right)),): 1}
    return _product(left, right)


def _in_order(left: Polynomial, right: Polynomial) -> list[Polynomial]:
    return sorted((left, right), key=lambda polynomial: str(from_polynomial(polynomial)))


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for left_factors, left_coefficient in left.items():
        for right_factors, right_coefficient in right.items():
            factors = tuple(sorted(left_factors + right_factors, key=_factor_order))
            result[factors] = result.get(factors, 0) + left_coefficient * right_coefficient
    return {monomial: coefficient for monomial, coefficient in result.items() if coefficient}


def _floordiv(op: str, left: Polynomial, right: Polynomial) -> Polynomial:
    divisor = right.get((), 0) if set(right) <= {()} else 0
    if divisor and all(coefficient % divisor == 0 for monomial, coefficient in left.items() if monomial):
        # Terms that the divisor divides leave the floor: (c*d + r) // d == c + r // d.
        return _add(op, {m: c // divisor for m, c in left.items() if m}, _constant(left.get((), 0) // divisor))
    return {(_canonical(op, left, right),): 1}


def _mod(op: str, left: Polynomial, right: Polynomial) -> Polynomial:
    divisor = right.get((), 0) if set(right) <= {()} else 0
    if divisor and all(coefficient % divisor == 0 for monomial, coefficient in left.items() if monomial):
        return _constant(left.get((), 0) % divisor)
    return {(_canonical(op, left, right),): 1}


def _extreme(op: str, left: Polynomial, right: Polynomial) -> Polynomial:
    """min or max: decided where one operand is never the greater one, else opaque with sorted operands."""
    least, most = _ends(_sub(op, left, right))
    if most <= 0 or least >= 0:
        return left if (most <= 0) == (op == "min") else right
    return {(_canonical(op, *_in_order(left, right)),): 1}


def _ends(polynomial: Polynomial) -> tuple[float, float]:
    """Between which numbers an int lies, as far as constants and symbols, which are numbers of 64 bits, tell."""
    least = most = polynomial.get((), 0)
    for monomial, coefficient in polynomial.items():
        if monomial and not (len(monomial) == 1 and isinstance(monomial[0], Symbol)):
            return -math.inf, math.inf
        ends = [coefficient * -(1 << 63), coefficient * ((1 << 63) - 1)] if monomial else [0]
        least, most = least + min(ends), most + max(ends)
    return least, most


def _constant(number: int) -> Polynomial:
    return {(): number} if number else {}


def _canonical(op: str, *operands: Polynomial) -> ScalarOp:
    made = ScalarOp(op, "int", tuple(map(from_polynomial, operands)), True)
    made.is_factor = True
    return made


_POLYNOMIAL_RULES = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "floordiv": _floordiv,
    "mod": _mod,
    "min": _extreme,
    "max": _extreme,
}
_COMPOSED = frozenset({"neg", *_POLYNOMIAL_RULES})
MAX_TERMS = 64  # products of terms that are multiplied out
MAX_FACTORS = 24  # of one term
_INTEGERS = frozenset({"int", "bool"})


def _factor_order(factor: ScalarExpr) -> tuple[bool, int, str]:
    text = str(factor)
    return isinstance(factor, ScalarOp), len(text), text


def _monomial_order(monomial: Monomial) -> tuple[object, ...]:
    """Higher degree first, then by name; the constant comes last."""
    return -len(monomial), *map(_factor_order, monomial)


def from_polynomial(poly: Polynomial) -> Scalar:
    """The expression of a polynomial: positive terms added up in order, then the negative ones subtracted."""
    if len(poly) == 1:
        ((monomial, coefficient),) = poly.items()
        return _term(monomial, coefficient)
    ordered = sorted(poly.items(), key=lambda item: _monomial_order(item[0]))
    positive = [(m, c) for m, c in ordered if c > 0]
    negative = [(m, -c) for m, c in ordered if c < 0]
    if not positive:
        if not negative:
            return 0
        (monomial, coefficient), *rest = negative
        result = -coefficient if not monomial else _term(monomial, -coefficient)
        negative = rest
    else:
        result = _term(*positive[0])
        for monomial, coefficient in positive[1:]:
            result = ScalarOp("add", "int", (result, _term(monomial, coefficient)), True)
    for monomial, coefficient in negative:
        result = ScalarOp("sub", "int", (result, _term(monomial, coefficient)), True)
    return result


def _term(monomial: Monomial, coefficient: int) -> Scalar:
    if not monomial:
        return coefficient
    result: Scalar = monomial[0]
    for factor in monomial[1:]:
        result = ScalarOp("mul", "int", (result, factor), True)
    if coefficient == -1:
        return ScalarOp("neg", "int", (result,), True)
    return result if coefficient == 1 else ScalarOp("mul", "int", (result, coefficient), True)


def divide_exactly(value: Scalar, divisor: Scalar) -> Scalar | None:
    """`value` / `divisor` as a polynomial when `divisor` divides `value`, else None.

    Holds only where the divisor is not zero.
    """
    denominator, rest = to_polynomial(simplify(divisor)), to_polynomial(simplify(value))
    if not denominator:
        return None
    leading = max(denominator, key=_rank)
    result: Polynomial = {}
    while rest:
        highest = max(rest, key=_rank)
        factors = list(highest)
        for factor in leading:
            if factor not in factors:
                return None
            factors.remove(factor)
        if rest[highest] % denominator[leading]:
            return None
        term = {tuple(factors): rest[highest] // denominator[leading]}
        result |= term
        for monomial, coefficient in _product(term, denominator).items():
            rest[monomial] = rest.get(monomial, 0) - coefficient
            if not rest[monomial]:
                del rest[monomial]
    return from_polynomial(result)


def _rank(monomial: Monomial) -> tuple[int, list[tuple[bool, int, str]]]:
    """An order of monomials that a common factor does not change."""
    return len(monomial), sorted(map(_factor_order, monomial), reverse=True)


def _integral(comparison: ScalarOp) -> bool:
    return all(kind_of(operand) in ("int", "bool") for operand in comparison.operands)


@lru_cache(_KEPT)
def normal_comparison(value: ScalarOp) -> tuple[str, LinearKey, int] | None:
    """An integer comparison as (relation, L, k), meaning ``L relation k``; None for a comparison of floats.

    relation: "ge", "le", "eq" or "ne". L: terms (monomial, coefficient) in order, no constant, the first coefficient
    positive, no common divisor; empty when the comparison is of constants. Expects simplified operands.
    """
    if value._compared is not None:
        return value._compared
    if not _integral(value):
        return None
    left, right = map(_polynomial, value.operands)
    difference = _sub(value.op, left, right)
    bound = -difference.pop((), 0)
    relation = value.op
    terms = sorted(difference.items(), key=lambda item: _monomial_order(item[0]))
    if terms and terms[0][1] < 0:
        terms = [(monomial, -coefficient) for monomial, coefficient in terms]
        bound = -bound
        relation = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.get(relation, relation)
    if relation == "lt":
        relation, bound = "le", bound - 1
    elif relation == "gt":
        relation, bound = "ge", bound + 1
    divisor = math.gcd(*(coefficient for _, coefficient in terms)) or 1
    if divisor > 1:
        if relation in ("eq", "ne") and bound % divisor:
            return relation, (), 1  # never equal: 0 relation 1
        bound = -(-bound // divisor) if relation == "ge" else bound // divisor
        terms = [(monomial, coefficient // divisor) for monomial, coefficient in terms]
    return relation, tuple(terms), bound


def _simplify_comparison(value: ScalarOp) -> Scalar:
    normal = normal_comparison(value)
    if normal is None:
        return value
    relation, terms, bound = normal
    if not terms:
        return _EVALUATE[relation](0, bound)  # type: ignore[no-any-return, operator]
    left = {monomial: coefficient for monomial, coefficient in terms if coefficient > 0}
    right = {monomial: -coefficient for monomial, coefficient in terms if coefficient < 0}
    if bound < 0 and right:
        left[()] = -bound  # s0 >= s1 - 2 reads add(s0, 2) >= s1
    elif bound:
        right[()] = bound
    made = ScalarOp(relation, "bool", (from_polynomial(left), from_polynomial(right)))
    made._compared = normal
    return made


def _simplify_logic(value: ScalarOp) -> Scalar:
    if value.op == "not":
        (operand,) = value.operands
        if isinstance(operand, ScalarOp) and operand.op in _OPPOSITE and _integral(operand):
            return _simplify_comparison(ScalarOp(_OPPOSITE[operand.op], "bool", operand.operands))
        return operand.operands[0] if isinstance(operand, ScalarOp) and operand.op == "not" else value
    if any(kind_of(operand) != "bool" for operand in value.operands):
        return value
    left, right = value.operands
    absorbing = value.op == "or"  # "or" with True is True, "and" with False is False
    for one, other in ((left, right), (right, left)):
        if not is_symbolic(one):
            return absorbing if bool(one) is absorbing else other
    return value

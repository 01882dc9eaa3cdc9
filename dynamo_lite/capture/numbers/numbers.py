"""Arithmetic and comparison of Python numbers while capturing.

Known numbers are computed by Python itself; a symbolic number gives an expression where the native program can
evaluate it exactly (int + - * // %, float + - * / **), and is otherwise fixed to its value by a guard.
"""

from __future__ import annotations

import functools
import math
import operator
import sys

from dynamo_lite.capture.calls.folding import python_result
from dynamo_lite.capture.state import Tracer
from dynamo_lite.capture.value import (
    Break,
    CallValue,
    ConstantValue,
    EitherValue,
    NumberValue,
    TextValue,
    Value,
    is_single,
)
from dynamo_lite.graph.opdef import Undecided
from dynamo_lite.graph.scalar import INFIX, Scalar, ScalarOp, Symbol, is_symbolic, kind_of, make, rebuilt, simplify
from dynamo_lite.ops.operators import BINARY, UNARY

PYTHON_OPERATORS = {symbol: function for symbol, (_, _, function) in BINARY.items()}
SCALAR_OPS = {symbol: op for op, symbol in INFIX.items()}


def as_scalar(value: Value) -> Scalar | None:
    """The Scalar a Python number is, None for anything else."""
    if isinstance(value, NumberValue):
        return value.expr
    if isinstance(value, TextValue):
        return None
    if isinstance(value, ConstantValue) and type(value.value) in (int, float, bool, complex):
        number: Scalar = value.value
        return number
    return None


MAX_DEPTH = 1000  # operations of one number in each other


def length_of(bounds: tuple[Scalar, ...]) -> int:
    """The length of the range with these bounds, all known; NB: len() raises where it does not fit 64 bits."""
    numbers = range(*(int(bound) for bound in bounds))  # type: ignore[arg-type]
    return (numbers[-1] - numbers[0]) // numbers.step + 1 if numbers else 0


def steps_of(bounds: tuple[Scalar, Scalar, Scalar], forward: bool) -> tuple[Scalar, Scalar]:
    """How far it is in a range from start to stop, negative where it goes the other way, and how many steps that is."""
    start, stop, step = bounds
    distance = make("sub", stop, start)
    if not forward:
        distance, step = make("neg", distance), make("neg", step)
    return distance, make("floordiv", make("sub", make("add", distance, step), 1), step)


def number_binary(tracer: Tracer, op: str, lhs: Value, rhs: Value) -> Value:
    """lhs op rhs for two Python numbers; breaks where the expression would get too long."""
    return not_too_long(_number_binary(tracer, op, lhs, rhs))


def not_too_long(result: Value) -> Value:
    """`result`; breaks where it is a number of too many operations in each other."""
    if isinstance(result, NumberValue) and isinstance(result.expr, ScalarOp) and result.expr.depth > MAX_DEPTH:
        raise Break("number-too-long", f"{MAX_DEPTH} operations in each other")
    return result


def _number_binary(tracer: Tracer, op: str, lhs: Value, rhs: Value) -> Value:
    a, b = as_scalar(lhs), as_scalar(rhs)
    assert a is not None and b is not None
    if {kind_of(a), kind_of(b)} in ({"bool", "int"}, {"bool", "float"}):
        a, b = (int(one) if isinstance(one, bool) else one for one in (a, b))  # as Python takes it beside a number
    kinds = {kind_of(a), kind_of(b)}
    if (is_symbolic(a) or is_symbolic(b)) and not (_too_wide(a) or _too_wide(b)):
        if op in ("+", "-", "*", "//", "%") and kinds == {"int"}:
            if op in ("//", "%") and not holds(tracer, ScalarOp("ne", "bool", (b, 0))):
                raise Break("python-exception", "ZeroDivisionError")
            result = tracer.number(make(SCALAR_OPS[op], a, b))
            if op == "%" and isinstance(result, NumberValue) and not _is_one_digit(tracer, b):
                result.origin = CallValue(None, operator.mod, [lhs, rhs])  # NB: a % b is a where b has more digits
            return result
        if op == "**" and kinds == {"int"} and type(a) is int and a == -1 and (sign := _sign(tracer, b)) is not None:
            return sign
        if kinds == {"int"} and (tracer.varies(a) or tracer.varies(b) or (op == "**" and b in (2, 3))):
            whole = _whole_power(tracer, a, b) if op == "**" else _bits(tracer, op, a, b)
            if whole is not None:
                return tracer.number(whole)
        if kinds == {"bool"} and op in ("&", "|", "^"):
            return _of_bools(tracer, op, a, b)
        if "float" in kinds and kinds <= {"int", "float"} and op in ("+", "-", "*"):
            return NumberValue(None, ScalarOp(SCALAR_OPS[op], "float", (a, b)))
        if op == "**" and ("float" in kinds or _is_inverse(tracer, a, b)) and kinds <= {"int", "float"}:
            raised = ScalarOp("pow", "float", (a if "float" in kinds else make("add", a, 0.0), b))
            _require_power(tracer, raised)
            return NumberValue(None, raised)
        if kinds <= {"int", "float"} and (op == "/" or (op in ("//", "%") and "float" in kinds)):
            divides = ScalarOp("ne", "bool", (b, 0.0 if kind_of(b) == "float" else 0))
            if kind_of(b) == "float" and tracer.varies(b):
                tracer.require(divides)
            elif not holds(tracer, divides):
                raise Break("python-exception", "ZeroDivisionError")
            if "float" in kinds or all(_exact_as_float(tracer, operand) for operand in (a, b)):
                return NumberValue(None, ScalarOp(SCALAR_OPS[op], "float", (a, b)))
    one, other = tracer.specialise(lhs), tracer.specialise(rhs)
    assert isinstance(one, ConstantValue) and isinstance(other, ConstantValue)
    return as_operand(python_result(PYTHON_OPERATORS[op], one.value, other.value), (lhs, one))


def _of_bools(tracer: Tracer, op: str, a: Scalar, b: Scalar) -> Value:
    """a & b, a | b or a ^ b: a bool of two bools, both of which are there already."""
    if op == "^":
        result = make("or", make("and", a, make("not", b)), make("and", make("not", a), b))
    else:
        result = make("and" if op == "&" else "or", a, b)
    return tracer.number(result)


def _sign(tracer: Tracer, exponent: Scalar) -> Value | None:
    """(-1) ** exponent: an int, or where that is negative a float; None outside of loops if nobody can tell which."""
    twice = make("mul", 2, make("mod", exponent, 2))
    whole, inverse = tracer.number(make("sub", 1, twice)), NumberValue(None, ScalarOp("sub", "float", (1.0, twice)))
    is_whole = make("ge", exponent, 0)
    if not tracer.varies(is_whole):
        return whole if tracer.relate(is_whole) else inverse
    known = tracer.graph.facts.decide(is_whole)
    if known is not None:
        return whole if known else inverse
    return EitherValue(None, is_whole, whole, inverse) if tracer.regions else None


def _is_one_digit(tracer: Tracer, value: Scalar) -> bool:
    """Whether CPython holds an int in one digit, in which case it computes with others of one digit by themselves; in a
    loop, where nobody else can tell, this is guarded."""
    conditions = make("lt", value, 2**30), make("gt", value, -(2**30))
    if tracer.regions and not tracer.varies(value):
        return all(map(tracer.relate, conditions))
    return all(tracer.graph.facts.decide(condition) for condition in conditions)


def as_operand(result: Value, *operands: tuple[Value, Value]) -> Value:
    """What Python computes of constants; where that is the object of an operand, that operand. operands: what each is,
    and the constant that it is in this call."""
    assert isinstance(result, ConstantValue)
    for operand, known in operands:
        if isinstance(known, ConstantValue) and result.value is known.value and not is_single(result.value):
            return operand
    return result


def _whole_power(tracer: Tracer, base: Scalar, exponent: Scalar) -> Scalar | None:
    """base ** exponent of ints: a product, or the power of the floats, which is exact below 2**53, and of powers of two
    wherever 64 bits hold it; beyond that the program declines. None where the exponent is negative, or the like."""
    if type(exponent) is int:
        is_product = 2 <= exponent <= _FACTORS
        return functools.reduce(functools.partial(make, "mul"), [base] * exponent) if is_product else None
    is_small = abs(base) < _EXACT if isinstance(base, int) else _exact_as_float(tracer, base)
    if not is_small or not holds(tracer, make("ge", exponent, 0)) or not _powers_are_exact():
        return None
    if isinstance(base, int) and base > 1 and not base & (base - 1):
        exponent = make("mul", exponent, base.bit_length() - 1)
        if not holds(tracer, make("le", exponent, 62)):
            return None
        return make("trunc", ScalarOp("pow", "float", (2.0, make("min", 62, make("max", 0, exponent)))))
    if not isinstance(base, int):  # NB: of -1 it matters whether the exponent is even
        tracer.require(make("le", exponent, _EXACT))
    raised = ScalarOp("pow", "float", (make("add", base, 0.0), exponent))
    for op, bound in (("lt", float(_EXACT)), ("gt", -float(_EXACT))):
        tracer.require(ScalarOp(op, "bool", (raised, bound)))
    return make("trunc", raised)


def _is_inverse(tracer: Tracer, base: Scalar, exponent: Scalar) -> bool:
    """Whether a loop's power of two ints is a float, since the exponent is negative in each of its iterations."""
    if kind_of(base) != "int" or kind_of(exponent) != "int" or not tracer.varies(exponent):
        return False
    return tracer.graph.facts.decide(make("lt", exponent, 0)) is True and _exact_as_float(tracer, base)


@functools.cache
def _powers_are_exact() -> bool:
    """Whether C's pow is what ints give where a float holds that: its error is below half of the last place."""
    small = ((base, exponent) for base in range(2, 50) for exponent in range(54))
    large = ((int(_EXACT ** (1 / exponent)) - less, exponent) for exponent in range(1, 12) for less in range(1, 20))
    known = [(base, exponent, base**exponent) for base, exponent in (*small, *large)]
    return all(float(base) ** exponent == power for base, exponent, power in known if power < _EXACT)


_EXACT = 2**53  # floats hold all ints up to that
_FACTORS = 16  # of a power that is a product


def _bits(tracer: Tracer, op: str, a: Scalar, b: Scalar) -> Scalar | None:
    """An operation on the bits of two ints, one of which a loop changes; None for a shift that may be too far."""
    if op in ("&", "|", "^"):
        if type(a) is int:
            a, b = b, a
        if op == "&" and type(b) is int and b >= 0 and not b & (b + 1):
            return make("mod", a, b + 1) if b < 2**62 else None
        return make(SCALAR_OPS[op], a, b)
    if op in ("<<", ">>"):
        known = type(b) is int and 0 <= b < 62
        power = 2**b if known else None if type(b) is int else _whole_power(tracer, 2, b)  # type: ignore[operator]
        return None if power is None else make("mul" if op == "<<" else "floordiv", a, power)
    return None


def rounded_to_int(tracer: Tracer, value: Scalar, how: str) -> Scalar | None:
    """A float that is not negative, of the arguments of this call, rounded "up", "down" or to the nearest, or "even",
    int; None for another one."""
    if kind_of(value) != "float" or not is_symbolic(value) or tracer.varies(value):
        return None
    if not 0.0 <= tracer.hint(value) < 2**62 or not tracer.relate(ScalarOp("ge", "bool", (value, 0.0))):  # type: ignore[operator]
        return None
    whole = make("trunc", value)
    if how == "even":
        rest = make("sub", value, make("add", whole, 0.0))  # exact
        if tracer.relate(ScalarOp("eq", "bool", (rest, 0.5))):
            goes_up = not tracer.relate(make("eq", make("mod", whole, 2), 0))
        else:
            goes_up = tracer.relate(ScalarOp("gt", "bool", (rest, 0.5)))
        whole = make("add", whole, 1) if goes_up else whole
    if how == "up" and not tracer.relate(ScalarOp("eq", "bool", (value, make("add", whole, 0.0)))):
        whole = make("add", whole, 1)
    return whole


def square_root(tracer: Tracer, value: Scalar) -> Scalar | None:
    """math.sqrt of a symbolic number, for which the program declines below zero; None where it is negative in this
    call."""
    zero = 0.0 if kind_of(value) == "float" else 0
    condition = make("ge", value, zero)
    if tracer.varies(value):
        tracer.require(condition)
    elif not tracer.relate(condition):
        return None
    return make("sqrt", value)


# Where functions of math raise nothing: bounds of an operand, and how it is compared with them.
_FINITE = (("ge", -sys.float_info.max), ("le", sys.float_info.max))
_DOMAINS: dict[str, tuple[tuple[str, float], ...]] = {
    **dict.fromkeys(("sin", "cos", "tan"), _FINITE),
    **dict.fromkeys(("asin", "acos"), (("ge", -1.0), ("le", 1.0))),
    **dict.fromkeys(("sinh", "cosh"), (("ge", -710.0), ("le", 710.0))),
    **dict.fromkeys(("exp", "expm1"), (("le", 709.0),)),
    "exp2": (("le", 1023.0),),
    "log1p": (("gt", -1.0),),
    "acosh": (("ge", 1.0),),
    "atanh": (("gt", -1.0), ("lt", 1.0)),
    **dict.fromkeys(("log", "log2", "log10"), (("gt", 0.0),)),
}


def function_of(tracer: Tracer, name: str, operands: list[Scalar]) -> Scalar | None:
    """The function `name` of scalar.FUNCTIONS, of numbers one of which is symbolic; the program declines where it would
    raise. None where it does in this call, or for operands that are no ints or floats."""
    if any(kind_of(one) not in ("int", "float") or _too_wide(one) for one in operands):
        return None
    bounds = [(operands[0], *row) for row in _DOMAINS.get(name, ())]
    if name == "fmod":
        bounds = [*((operands[0], *row) for row in _FINITE), (operands[1], "ne", 0.0)]
    for value, op, bound in bounds:
        whole = kind_of(value) == "int"
        if whole and abs(bound) > 2**53:
            continue
        condition = ScalarOp(op, "bool", (value, int(bound) if whole else bound))
        if tracer.varies(value):
            tracer.require(condition)
        elif not tracer.relate(condition):
            return None
    return ScalarOp(name, "float", tuple(operands))


def _too_wide(value: Scalar) -> bool:
    """An int that 64 bits do not hold: no expression may have it."""
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def _exact_as_float(tracer: Tracer, value: Scalar) -> bool:
    """Whether an int converts to float exactly, so that dividing the floats is Python's division of the ints."""
    limit = 2**53
    return all(holds(tracer, ScalarOp(op, "bool", (value, bound))) for op, bound in (("le", limit), ("ge", -limit)))


def _require_power(tracer: Tracer, raised: ScalarOp) -> None:
    """Have what is a power evaluated, which declines where it is an error: nobody may want the result. Of a number that
    the call knows, to a usual power, guards say that it is none, which costs less."""
    if not tracer.varies(raised):
        tracer.hint(raised)
        if _is_usual_power(tracer, *raised.operands):
            return
    tracer.require(ScalarOp("le", "bool", (raised, math.inf)))


def _is_usual_power(tracer: Tracer, base: Scalar, exponent: Scalar) -> bool:
    """Whether base ** exponent is no error, by the size of `base`."""
    if not isinstance(exponent, int | float) or kind_of(base) != "float" or not 0 < abs(exponent) <= 16:
        return False
    least, most = 0.0, math.inf
    if exponent < 0:
        least = max(sys.float_info.min, 1.001 * sys.float_info.max ** (1.0 / exponent))
    elif exponent > 1:
        most = 0.999 * sys.float_info.max ** (1.0 / exponent)
    size = make("fabs", base) if exponent == int(exponent) else base
    return tracer.relate(make("ge", size, least)) and tracer.relate(make("le", size, most))


def holds(tracer: Tracer, condition: Scalar) -> bool:
    """Whether what Python's arithmetic needs holds; where only the run knows, the program declines if it does not."""
    if not tracer.varies(condition):
        return tracer.relate(condition)
    if tracer.regions:
        try:
            return tracer.relate(condition)
        except Undecided as reason:
            if reason.promising:
                raise
    known = tracer.graph.facts.decide(simplify(condition))
    if known is None:
        tracer.require(simplify(condition))
    return known is not False


def refuse_nan(tracer: Tracer, value: Value) -> None:
    """Break at a NaN inside a container, where it equals itself if it is the same object; any other float is fixed."""
    scalar = as_scalar(value)
    if scalar is not None and kind_of(scalar) in ("float", "complex"):
        known = tracer.specialise(value)
        assert isinstance(known, ConstantValue)
        if known.value != known.value:
            raise Break("unsupported-operation", "comparison of containers that hold NaN")


def number_compare(tracer: Tracer, op: str, lhs: Value, rhs: Value) -> Value:
    """A comparison of two Python numbers, decided now and guarded."""
    a, b = as_scalar(lhs), as_scalar(rhs)
    assert a is not None and b is not None
    if is_symbolic(a) or is_symbolic(b):
        kinds = {kind_of(a), kind_of(b)}
        exact = "complex" not in kinds
        if kinds == {"int", "float"}:
            a, b = _as_float(a), _as_float(b)
            if not (tracer.varies(a) or tracer.varies(b)):  # else the program declines for what floats cannot hold
                whole = [one for one in (a, b) if kind_of(one) == "int"]
                exact = all(is_symbolic(one) and _exact_as_float(tracer, one) for one in whole)
        if not exact or _too_wide(a) or _too_wide(b):
            lhs, rhs = tracer.specialise(lhs), tracer.specialise(rhs)
        else:
            condition = ScalarOp(SCALAR_OPS[op], "bool", (a, b))
            if tracer.is_open(condition):
                return NumberValue(None, condition)
            try:
                return tracer.truth(condition)
            except Undecided:
                return NumberValue(None, condition)  # maybe a loop can choose by it
    a, b = as_scalar(lhs), as_scalar(rhs)
    assert not is_symbolic(a) and not is_symbolic(b)
    return python_result(PYTHON_OPERATORS[op], a, b)


def _as_float(value: Scalar) -> Scalar:
    """A small constant int as the float that compares like it."""
    return float(value) if type(value) is int and abs(value) <= 2**53 else value


def number_unary(tracer: Tracer, op: str, operand: Value) -> Value:
    """-x, +x, ~x and abs(x) of a Python number. NB: +x is x, and so is abs() of an int that is not negative."""
    scalar = as_scalar(operand)
    assert scalar is not None
    if op == "+" and kind_of(scalar) in ("int", "float"):
        return operand
    if is_symbolic(scalar):
        if op == "-" and kind_of(scalar) != "bool":
            return not_too_long(NumberValue(None, ScalarOp("neg", kind_of(scalar), (scalar,))))
        if op == "abs" and kind_of(scalar) == "float":
            return not_too_long(NumberValue(None, ScalarOp("fabs", "float", (scalar,))))
        if op == "abs" and kind_of(scalar) == "int":
            return not_too_long(
                NumberValue(None, make("max", scalar, make("neg", scalar)), CallValue(None, abs, [operand]))
            )
        if op == "~" and kind_of(scalar) == "int":
            return not_too_long(tracer.number(make("sub", -1, scalar)))
    known = tracer.specialise(operand)
    assert isinstance(known, ConstantValue)
    if op == "~" and isinstance(known.value, bool):
        raise Break("unsupported-operation", "~ of a bool")  # Python 3.12 warns, where the code stands
    return as_operand(python_result(UNARY[op][2], known.value), (operand, known))


def with_index(value: Scalar, index: Symbol, number: Scalar) -> Scalar:
    """`value` with the index replaced; operations on floats stay as they are."""

    def change(term: ScalarOp, operands: tuple[Scalar, ...]) -> Scalar:
        if term.kind == "int" or not any(map(is_symbolic, operands)):
            return make(term.op, *operands)
        return ScalarOp(term.op, term.kind, operands)

    return rebuilt(value, lambda symbol: number if symbol is index else symbol, change)

"""Python's operators on arrays and NumPy scalars: which op each is, by NumPy's own rules.

With an array among the operands ``+`` is np.add and so on; only ``**`` has shortcuts (square, sqrt, reciprocal), which
differ between NumPy versions and are therefore observed at NumPy itself (``power_ufunc``). Between NumPy scalars,
or one and a Python number, operators have rules of their own (integer overflow warns, Python numbers raise when they do
not fit): ops "scalar_add" and so on, evaluated by the operator and typed by trying it. INVARIANT: at least
one operand is a Node or a NumPy scalar; arithmetic of Python numbers is capture's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.scalar import ScalarOp, Symbol, kind_of, make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.conversion import is_sequence
from dynamo_lite.ops.parameters import (
    REFUSALS,
    DType,
    Operand,
    type_of,
)
from dynamo_lite.ops.parameters import (
    ufunc_operand as operand,
)
from dynamo_lite.ops.registry import (
    Bound,
    OpDef,
    OpError,
    OpKind,
    Relate,
    Sample,
    define,
)

BINARY: dict[str, tuple[str, np.ufunc, Callable[[Any, Any], Any]]] = {
    "+": ("add", np.add, operator.add),
    "-": ("subtract", np.subtract, operator.sub),
    "*": ("multiply", np.multiply, operator.mul),
    "/": ("divide", np.true_divide, operator.truediv),
    "//": ("floor_divide", np.floor_divide, operator.floordiv),
    "%": ("remainder", np.remainder, operator.mod),
    "**": ("power", np.power, operator.pow),
    "@": ("matmul", np.matmul, operator.matmul),
    "&": ("bitwise_and", np.bitwise_and, operator.and_),
    "|": ("bitwise_or", np.bitwise_or, operator.or_),
    "^": ("bitwise_xor", np.bitwise_xor, operator.xor),
    "<<": ("left_shift", np.left_shift, operator.lshift),
    ">>": ("right_shift", np.right_shift, operator.rshift),
    "<": ("less", np.less, operator.lt),
    "<=": ("less_equal", np.less_equal, operator.le),
    "==": ("equal", np.equal, operator.eq),
    "!=": ("not_equal", np.not_equal, operator.ne),
    ">": ("greater", np.greater, operator.gt),
    ">=": ("greater_equal", np.greater_equal, operator.ge),
    "divmod": ("divmod", np.divmod, divmod),
}
UNARY: dict[str, tuple[str, np.ufunc, Callable[[Any], Any]]] = {
    "-": ("negative", np.negative, operator.neg),
    "+": ("positive", np.positive, operator.pos),
    "~": ("invert", np.invert, operator.invert),
    "abs": ("absolute", np.absolute, abs),
}


def _real(number: Any) -> Any:
    return number.real


def _imag(number: Any) -> Any:
    return number.imag


PARTS: dict[str, Callable[[Any], Any]] = {"real": _real, "imag": _imag}  # of complex NumPy scalars


def _is_array(value: Operand) -> bool:
    return isinstance(value, Node) and not value.array_type.scalar


def binary_operator(symbol: str, lhs: Any, rhs: Any, relate: Relate | None = None) -> Bound:
    """``lhs symbol rhs`` ("+", "**", "<" ... and "divmod"), reflected operands included."""
    left, right = operand(lhs), operand(rhs)
    name = BINARY[symbol][0]
    repeats = (is_sequence(lhs) and not _is_array(right)) or (is_sequence(rhs) and not _is_array(left))
    if repeats and symbol == "*":
        raise OpError("a product of a sequence and a NumPy scalar, which may repeat it")
    if not isinstance(left, Node | np.generic) and not isinstance(right, Node | np.generic):
        raise OpError("an operator of Python numbers")
    if not _is_array(left) and not _is_array(right):
        if symbol == "@":
            raise OpError("@ of scalars raises")
        if any(isinstance(one, complex) and not isinstance(one, np.generic) for one in (left, right)):
            return _with_complex(name, BINARY[symbol][2], left, right)
        return Bound(f"scalar_{name}", (left, right))
    if symbol == "**" and isinstance(left, Node) and _is_array(left):
        return _power(left, right, False, relate)
    return Bound(name, (left, right))


def unary_operator(symbol: str, value: Any) -> Bound:
    """``symbol value`` for "-", "+", "~" and "abs"."""
    one = operand(value)
    if not isinstance(one, Node | np.generic):
        raise OpError("an operator of a Python number")
    name = UNARY[symbol][0]
    return Bound(name if _is_array(one) else f"scalar_{name}", (one,))


def inplace_operator(symbol: str, lhs: Any, rhs: Any, relate: Relate | None = None) -> Bound:
    """``lhs symbol rhs`` for "+=", "**=" ...: writes into an array, makes a new value of anything else."""
    symbol = symbol.removesuffix("=")
    left, right = operand(lhs), operand(rhs)
    if not _is_array(left):
        return binary_operator(symbol, left, right, relate)
    assert isinstance(left, Node)
    if symbol == "**":
        return _power(left, right, True, relate)
    if symbol == "@" and (left.array_type.ndim != 2 or not _is_array(right) or type_of(right).ndim != 2):
        raise OpError("@= of other than matrices has no rule")
    return Bound(BINARY[symbol][0], (left, right), {}, left)


# power

# Exponents that some NumPy (2.0 to 2.5) treated apart; power_ufunc tells which of them this one does.
_SPECIAL_EXPONENTS: dict[str, tuple[int | float, ...]] = {
    "int": (-1, 0, 1, 2),
    "float": (-1.0, 0.0, 0.5, 1.0, 2.0),
    "bool": (),
    "complex": (),
}


class _Called(Exception):
    """Carries the ufunc that an operator turned to, and the dtype of its first operand."""


class _Probe(np.ndarray[Any, Any]):
    """An array that reports the ufunc an operator calls on it."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        raise _Called(ufunc, inputs[0].dtype)


@lru_cache(1024)  # NB: keys hold numbers of users' programs
def _probe_power(
    dtype: DType, kind: str, exponent: int | float | bool | complex, inplace: bool
) -> tuple[np.ufunc, DType]:
    probe = np.ones(1, dtype).view(_Probe)
    power: Callable[[Any, Any], Any] = operator.ipow if inplace else operator.pow
    try:
        power(probe, exponent)
    except _Called as called:
        ufunc, base = called.args
        return ufunc, base
    raise OpError(f"** of {dtype} calls no ufunc")


@cache
def _looks_into_scalars(dtype: DType, inplace: bool) -> bool:
    """Whether ``x ** exponent`` has shortcuts for NumPy scalars and 0-d arrays too, as up to NumPy 2.2."""
    return _probe_power(dtype, "float64", np.float64(2.0), inplace)[0] is not np.power


def power_ufunc(dtype: DType, exponent: int | float | bool | complex, inplace: bool) -> tuple[np.ufunc, DType]:
    """The ufunc that ``x ** exponent`` calls for an array of dtype and a Python number, and the dtype that x is cast to
    before (numpy: fast_scalar_power; up to NumPy 2.2 integers ** 2.0 are squares of float64)."""
    return _probe_power(dtype, type(exponent).__name__, exponent, inplace)


def _power(lhs: Node, rhs: Operand, inplace: bool, relate: Relate | None) -> Bound:
    dtype = lhs.array_type.dtype
    out = lhs if inplace else None
    ufunc: np.ufunc = np.power
    base = dtype
    if isinstance(rhs, Symbol | ScalarOp):
        for exponent in _SPECIAL_EXPONENTS[kind_of(rhs)]:
            special, special_base = power_ufunc(dtype, exponent, inplace)
            if special is np.power:
                continue
            if relate is None:
                raise OpError(f"** by {rhs}, which may be {exponent}")
            if relate(make("eq", rhs, exponent)):
                ufunc, base = special, special_base
                break
    elif not isinstance(rhs, Node | np.generic):
        ufunc, base = power_ufunc(dtype, rhs, inplace)
    elif not type_of(rhs).ndim and _looks_into_scalars(dtype, inplace):
        raise OpError("** by a single number, whose value this NumPy looks at")
    if ufunc is np.power:
        return Bound("power", (lhs, rhs), {}, out)
    return Bound(ufunc.__name__, (lhs,), {} if base == dtype else {"dtype": base}, out)


# operators of NumPy scalars


def _scalar_type(function: Callable[..., Any], args: tuple[Argument, ...]) -> ArrayType | tuple[ArrayType, ...]:
    cells: list[tuple[DType | None, Any]] = []
    for arg in args:
        if isinstance(arg, Node):
            if not arg.array_type.scalar:
                raise OpError("a scalar operator of an array")
            cells.append((arg.array_type.dtype, None))
        elif isinstance(arg, Symbol | ScalarOp):
            cells.append((None, {"int": 1, "float": 1.0, "bool": True}[arg.kind]))
        else:
            cells.append((None, arg))
    kinds = tuple(type(cell[1]).__name__ for cell in cells)  # 1 == 1.0 == True are one key
    return _try_operator(function, tuple(cells), kinds)


@lru_cache(1024)  # NB: keys hold numbers of users' programs
def _try_operator(
    function: Callable[..., Any], cells: tuple[tuple[DType | None, Any], ...], kinds: tuple[str, ...]
) -> ArrayType | tuple[ArrayType, ...]:
    """The type of function(*cells); tried on two values, since it may not depend on them."""
    types: list[Any] = []
    for value in (1, 2):
        samples = [number if dtype is None else dtype.type(value) for dtype, number in cells]
        try:
            with np.errstate(all="ignore"):
                types.append(_type_of_result(function(*samples)))
        except REFUSALS as error:
            raise OpError(f"{type(error).__name__}: {error}") from None
    if types[0] != types[1]:
        raise OpError("the type of the result depends on values")
    result: ArrayType | tuple[ArrayType, ...] = types[0]
    return result


def _type_of_result(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(map(_type_of_result, result))
    if not isinstance(result, np.generic):
        raise OpError(f"an operator of NumPy scalars gives a {type(result).__name__}")
    return ArrayType(result.dtype, (), True)


def _define_scalar(name: str, function: Callable[..., Any], samples: tuple[Sample, ...], sign: str) -> None:
    define(
        OpDef(
            f"scalar_{name}",
            OpKind.CALL,
            lambda args, params, ask: _scalar_type(function, args),
            lambda args, params: function(*args),
            f"`{sign}` of NumPy scalars and Python numbers.",
            samples,
        )
    )


_BINARY_SAMPLES = (Sample(((), ()), {}), Sample(((), 2), {}), Sample((3, ()), {}), Sample(((), 1.5), {}))
for _sign, (_name, _, _binary) in BINARY.items():
    if _sign != "@":
        _define_scalar(_name, _binary, _BINARY_SAMPLES, _sign)
for _sign, (_name, _, _unary) in UNARY.items():
    _define_scalar(_name, _unary, (Sample(((),), {}),), _sign)
for _name, _part in PARTS.items():
    _define_scalar(_name, _part, (Sample(((),), {}, ("FD",)),), f".{_name}")


# complex numbers of Python's: np.float64 is a float, so that 1j * np.float64(2) is Python's own product


def _with_complex(name: str, function: Callable[..., Any], left: Operand, right: Operand) -> Bound:
    """An operator of a NumPy scalar and a Python complex; one that gives a Python complex is an op of its own."""
    try:
        with np.errstate(all="ignore"):
            result = function(*(_sample_of(arg) for arg in (left, right)))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise OpError(f"{type(error).__name__}: {error}") from None
    if type(result) is complex:
        return Bound("python_complex", (left, right), {"operator": name})
    return Bound(f"scalar_{name}", (left, right))


def _sample_of(arg: Operand) -> Any:
    return arg.array_type.dtype.type(2) if isinstance(arg, Node) else arg


_FUNCTIONS = {name: function for name, _, function in BINARY.values()}

define(
    OpDef(
        "python_complex",
        OpKind.CALL,
        lambda args, params, ask: ArrayType(np.dtype(np.complex128), (), True),
        lambda args, params: np.complex128(_FUNCTIONS[params["operator"]](*args)),
        "params[operator] of a complex of Python's and a float64 scalar, by Python: the complex128 of its value.",
        (
            Sample((1j, ()), {"operator": "multiply"}, ("d",)),
            Sample(((), 2 - 1j), {"operator": "subtract"}, ("d",)),
        ),
    )
)

define(
    OpDef(
        "complex_number",
        OpKind.CALL,
        lambda args, params, ask: ArrayType(np.dtype(np.complex128), (), True),
        lambda args, params: np.complex128(complex(*args)),
        "The complex128 of a complex number of Python's, of its real and imaginary part.",
        (Sample((2.5, -0.0), {}, ()),),
        may_report=False,
    )
)


# numbers out of NumPy scalars


def _infer_read_number(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_ = type_of(args[0])
    if not type_.scalar or type_.dtype.kind not in "biuf" or type_.dtype.char not in "?bBhHiIlLqQfd":
        raise OpError(f"a number out of {type_}")
    return ArrayType(np.dtype(np.float64 if type_.dtype.kind == "f" else np.int64), (), True)


def _read_number(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    return np.float64(args[0]) if args[0].dtype.kind == "f" else np.int64(int(args[0]))


define(
    OpDef(
        "scalar_number",
        OpKind.CALL,
        _infer_read_number,
        _read_number,
        "The number that a NumPy scalar holds, an int or a float of Python's: params[yields] to the nodes behind.",
        (Sample(((),), {}, ("l",)), Sample(((),), {}, ("B",)), Sample(((),), {}, ("f",))),
        may_report=False,
    )
)

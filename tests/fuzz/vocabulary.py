"""The words random programs are made of; the small vocabulary makes kernels of the same form come back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Every tuple may hold a word several times, to weigh it."""

    dtypes: tuple[str, ...]
    operators: tuple[str, ...]
    unary: tuple[str, ...]
    binary: tuple[str, ...]
    reductions: tuple[str, ...]
    numbers: tuple[str, ...]
    depth: int  # of an expression
    statements: int  # at most, of the function's body
    rare_dtypes: tuple[str, ...] = ()  # one time in thirty
    phrases: bool = False  # whether phrases.py is used


FULL = Vocabulary(
    dtypes=(
        *("float64",) * 8,
        *("float32",) * 4,
        *("int64",) * 4,
        *("int32", "bool", "complex128") * 2,
        *("int8", "uint8", "int16", "uint16", "uint32", "uint64", "float16", "complex64"),
    ),
    operators=(
        *("+", "-", "*") * 4,
        *("/",) * 3,
        *("//", "%", "**", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^"),
    ),
    unary=(
        *("sqrt", "exp", "abs", "negative", "square") * 2,
        *("log", "sin", "cos", "tanh", "floor", "ceil", "rint", "trunc", "reciprocal", "sign", "isnan", "isfinite"),
        *("isinf", "signbit", "log1p", "expm1", "exp2", "log2", "log10", "cbrt", "arctan", "sinh", "conjugate"),
        *("logical_not", "invert", "positive", "absolute", "fabs", "deg2rad", "arcsinh", "tan", "arccos", "spacing"),
    ),
    binary=(
        *("add", "subtract", "multiply", "divide", "maximum", "minimum") * 2,
        *("fmax", "fmin", "power", "hypot", "arctan2", "floor_divide", "remainder", "fmod", "copysign", "nextafter"),
        *("logical_and", "logical_or", "logical_xor", "bitwise_and", "greater", "less_equal", "equal", "heaviside"),
        *("left_shift", "right_shift", "logaddexp", "gcd", "float_power"),
    ),
    reductions=(
        *("sum", "mean", "max", "min") * 3,
        *("prod", "any", "all", "var", "std", "argmax", "argmin", "cumsum", "cumprod"),
    ),
    numbers=(
        *("2.0", "0.5", "1", "2", "3") * 2,
        *("-1", "0", "0.0", "-0.0", "-1.5", "1e-3", "1e300", "7", "255", "-129", "True", "1j", "2.5e-320"),
        *("np.pi", "np.float32(1.5)", "np.int8(3)", "np.float64(0.1)", "np.inf", "np.nan", "4294967296"),
    ),
    depth=3,
    statements=9,
    rare_dtypes=("longlong", "ulonglong", "longdouble", "clongdouble", ">f8", ">i4", ">c8"),
    phrases=True,
)

SMALL = Vocabulary(
    dtypes=(*("float64",) * 4, "float32", "int64"),
    operators=("+", "-", "*", "*", "/", "<", ">="),
    unary=("sqrt", "exp", "abs", "negative"),
    binary=("maximum", "minimum", "multiply", "add"),
    reductions=("sum", "sum", "max", "mean", "min"),
    numbers=("2.0", "0.5", "1", "3"),
    depth=2,
    statements=5,
)

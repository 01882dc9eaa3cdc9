"""What a spelling models of each of its arguments: every parameter of a binder has a Kind.

A binder's annotations are the Kinds (``axis: Axes``, ``keepdims: Flag``, ``like: Unmodelled``). ``Parameters.bind``
puts every argument that is given through the Kind of its parameter, which converts it to what the rule computes with,
or raises OpError: then NumPy gets the call. INVARIANT: no argument reaches a binder, or is dropped, without having
passed a Kind; a binder with a parameter of no Kind is refused when it is first asked, which tests do of all. Kinds take
exact types only (a bool for a flag, not 1 or None): NumPy's own conversions differ from argument to argument, may warn,
and may raise.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, TypeAlias

import numpy as np

from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.opdef import NotConstant, NotRead, OpenNumber, OpError, UnknownShape
from dynamo_lite.graph.scalar import Scalar, Symbol, is_scalar, is_symbolic, kind_of, terms_of
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.conversion import convert, is_pending, is_sequence

DType: TypeAlias = np.dtype[np.generic]
Operand: TypeAlias = Argument | np.generic

DTYPES = tuple(map(np.dtype, "?bhilBHILefdFD"))
_SUPPORTED = frozenset(dtype.num for dtype in DTYPES)

# The default of an argument for which NumPy has none that could be given: where it is Unmodelled, no value is taken.
ABSENT: Any = object()

# What NumPy raises of operands for which it has no answer. NB: not Exception, which a signal's handler may raise here.
REFUSALS = (TypeError, ValueError, ArithmeticError, RuntimeError, IndexError, MemoryError)


@dataclass(frozen=True, slots=True)
class Kind:
    """What a rule models of one argument.

    convert(value): the value as the rule takes it; OpError outside of what is modelled. read: whether the rule looks at
    the value at all; where it does not, `convert` takes only values that change nothing. in_place: the converter of
    what is given by position, where NumPy takes other values there than by name.
    """

    name: str
    convert: Callable[[Any], Any]
    read: bool = True
    in_place: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a binder after `ask`, and the Kind of each. method: the first one is the array itself."""

    signature: inspect.Signature
    kinds: Mapping[str, Kind]
    method: bool

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> inspect.BoundArguments:
        """The arguments of a call, converted; OpError where one is not modelled, or where NumPy would raise."""
        if self.method and next(iter(self.signature.parameters), None) in kwargs:
            raise OpError("a method's array is no keyword")
        if self.method and args and not isinstance(args[0], Node | np.generic):
            raise OpError(f"a method of a {type(args[0]).__name__}")
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise OpError(str(error)) from None
        for name, value in bound.arguments.items():
            bound.arguments[name] = self._converted(name, value, name in kwargs)
        return bound

    def _converted(self, name: str, value: Any, by_name: bool) -> Any:
        parameter, kind = self.signature.parameters[name], self.kinds[name]
        convert = kind.convert if by_name or kind.in_place is None else kind.in_place
        try:
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                return tuple(convert(item) for item in value)
            if value is np._NoValue and parameter.default is np._NoValue and not self.method:
                return value  # as NumPy's functions written in Python hand it on
            if not self.kinds[name].read and _is_same(value, parameter.default):
                return value
            return convert(value)
        except OpError as error:
            if type(error) is not OpError:
                raise
            raise OpError(f"{name}: {error}") from None


@cache
def parameters_of(binder: Callable[..., Any], method: bool = False) -> Parameters:
    """The Parameters of a binder, from its annotations; TypeError where a parameter has no Kind."""
    signature = inspect.signature(binder)
    _ask, *rest = signature.parameters.values()
    kinds: dict[str, Kind] = {}
    for parameter in rest:
        # NB: annotations are names as a rule; typing.get_type_hints takes 50 ms for all rows.
        named = isinstance(parameter.annotation, str)
        hint = binder.__globals__.get(parameter.annotation) if named else parameter.annotation
        found = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Kind)]
        if parameter.kind is inspect.Parameter.VAR_KEYWORD or len(found) != 1:
            raise TypeError(f"{binder.__qualname__}: parameter {parameter.name} has no Kind")
        kinds[parameter.name] = found[0]
    return Parameters(signature.replace(parameters=rest), kinds, method)


def _is_same(value: object, model: object) -> bool:
    """Whether `value` is `model`, or equal to it and of its very type."""
    if value is model:
        return True
    return type(value) is type(model) and type(model) in (bool, int, float, str, type(None)) and value == model


# -- conversions ---------------------------------------------------------------------------------


def is_supported(dtype: DType) -> bool:
    """Whether graphs compute with it."""
    return dtype.num in _SUPPORTED and dtype.isnative and dtype.metadata is None


def supported(dtype: DType) -> DType:
    """`dtype` itself if graphs know it; OpError otherwise."""
    if not is_supported(dtype):
        raise OpError(f"dtype {dtype} has no rule")
    return dtype


# NB: np.dtype warns of some strings and types, and asks others for their attribute `dtype`. These it converts silently.
_DTYPE_NAMES: dict[Any, DType] = {
    **{name: dtype for dtype in DTYPES for name in (dtype.name, dtype.char, dtype.str, dtype.str[1:], dtype.type)},
    **{one: np.dtype(one) for one in (bool, int, float, complex)},
    **{
        name: np.dtype(name)
        for name in ("bool", "int", "float", "complex", "uint", "intp", "uintp", "single", "double")
    },
    **{f"={dtype.str[1:]}": dtype for dtype in DTYPES},
}


def dtype_named(value: Any) -> DType:
    """The dtype that a value names without a warning and without running code of the value's own."""
    if isinstance(value, np.dtype):
        return value
    if type(value) is str or type(value) is type:
        found = _DTYPE_NAMES.get(value)
        if found is not None:
            return found
    raise OpError(f"dtype={described(value)}")


def static_dtype(value: Any) -> DType:
    """The dtype that a dtype= argument names."""
    return supported(dtype_named(value))


def array(value: Any) -> Node:
    """`value` as an array operand (or NumPy scalar) of the graph; a sequence is converted."""
    return convert(value) if is_sequence(value) else existing_array(value)


def existing_array(value: Any) -> Node:
    """`value` as an array (or NumPy scalar) that is in the graph: what is written to, or is asked for its methods."""
    if isinstance(value, Node) and isinstance(value.type, ArrayType):
        return value
    raise OpError(f"{type(value).__name__} is no array of the graph")


def type_of(value: Any) -> ArrayType:
    """The type of an array operand."""
    if isinstance(value, np.generic):
        return ArrayType(value.dtype, (), True)
    return array(value).array_type


def ufunc_operand(value: Any) -> Operand:
    """`value` as an operand of a ufunc: a node with one type, a number, a NumPy scalar constant, a sequence's array."""
    if is_sequence(value):
        return convert(value)
    if isinstance(value, Node):
        if not isinstance(value.type, ArrayType):
            raise OpError(f"%{value.name} is no array")
        return value
    if is_scalar(value) or isinstance(value, np.generic):
        return value  # type: ignore[no-any-return]
    raise OpError(f"{described(value)} as an operand")


def operand(value: Any) -> Operand:
    """`value` as an operand of any other op: an int has 64 bits, since NumPy makes objects of wider ones."""
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise OpError("an int beyond 64 bits")
    return ufunc_operand(value)


def described(value: Any) -> str:
    """What a reason calls an argument."""
    if isinstance(value, Node):
        return "a NumPy scalar" if value.array_type.scalar else "an array"
    if is_symbolic(value):
        return f"{'an int' if kind_of(value) == 'int' else f'a {kind_of(value)}'} that depends on arguments"
    if type(value) in (tuple, list):
        return f"a {type(value).__name__} of {', '.join(map(described, value)) or 'nothing'}"
    if value is None or type(value) in (bool, int, float, complex, str) or isinstance(value, np.generic):
        return repr(value)
    if value is np._NoValue:
        return "np._NoValue"
    return f"a value of type {type(value).__name__}"


def static_int(value: Any) -> int:
    """`value` as a constant int; OpError for a symbolic one."""
    if (type(value) is int or isinstance(value, np.integer)) and -(2**63) <= value < 2**63:
        return int(value)
    if is_symbolic(value) and kind_of(value) == "int":
        raise NotConstant(value, "a number that depends on arguments, where NumPy wants an int")
    if isinstance(value, Node) and value.array_type.scalar:
        raise NotRead(value, False)
    if isinstance(value, Node):
        raise OpError("an array, or a number out of one")
    raise OpError(f"{described(value)} is not a constant int")


def open_int(value: Any) -> Scalar:
    """`value` as an int that is constant, or that changes: only the run knows what nodes of the graph yield."""
    if isinstance(value, OpenNumber):
        return value.value
    if isinstance(value, Node) and value.array_type.scalar and value.array_type.dtype.kind in "iu":
        raise NotRead(value, True)
    if is_symbolic(value) and kind_of(value) == "int":
        parts = (value, *(operand for term in terms_of(value) for operand in term.operands))
        if all(part.input < 0 for part in parts if isinstance(part, Symbol)):
            return value  # type: ignore[no-any-return]
        raise NotConstant(value, "a number that depends on arguments, where NumPy wants an int", may_vary=True)
    return static_int(value)


def static_bool(value: Any) -> bool:
    """`value` as a constant bool."""
    if type(value) is bool:
        return value
    if is_symbolic(value) and kind_of(value) == "bool":
        raise NotConstant(value, "a number that depends on arguments, where NumPy wants a bool")
    raise OpError("not a constant bool")


def static_float(value: Any) -> float:
    """`value` as a constant float."""
    if type(value) is float:
        return value
    raise OpError(f"{described(value)} is not a constant float")


def open_float(value: Any) -> Scalar:
    """`value` as a float, maybe one that only the call knows, or an int that any float dtype holds."""
    if type(value) is int and abs(value) <= 1 << 10:
        return value
    return value if is_symbolic(value) and kind_of(value) == "float" else static_float(value)


def axis_of(value: Any, ndim: int) -> int:
    """One axis number, made non-negative."""
    axis = static_int(value)
    if not -ndim <= axis < ndim:
        raise OpError(f"axis {axis} is out of bounds for {ndim} axes")
    return axis % ndim


def size(value: Any) -> Scalar:
    """One size, or -1 to be computed, as an int Scalar of 64 bits."""
    if is_symbolic(value) and kind_of(value) == "int":
        return value  # type: ignore[no-any-return]
    return static_int(value)


def sizes(value: Any) -> tuple[Scalar, ...]:
    """A shape argument as a tuple of int scalars."""
    if type(value) in (tuple, list):
        return tuple(size(item) for item in value)
    return (size(value),)


def out_array(value: Any) -> Node | None:
    """The array that an out= argument is, None for none."""
    if value is None:
        return None
    target = existing_array(value)
    if target.array_type.scalar or is_pending(target):
        raise OpError("out= is no array")
    return target


def ufunc_out(value: Any) -> Any:
    """The same where NumPy takes a tuple of one array, too; `...` as it is."""
    if value is ...:
        return value
    if type(value) is tuple:
        (value,) = value if len(value) == 1 else (None,)
        if value is None:
            raise OpError("several arrays, or none, in a tuple")
    return out_array(value)


def number(value: Any) -> Scalar:
    """A Python number of at most 64 bits, or what a NumPy scalar of just these types holds."""
    if isinstance(value, np.int64 | np.float64):
        return value.item()
    if is_scalar(value):
        return operand(value)  # type: ignore[return-value]
    if isinstance(value, Node) and value.array_type.scalar and value.array_type.dtype == np.int64:
        raise NotRead(value, True)
    raise OpError(f"{described(value)} is no Python number")


def _plain_number(value: Any) -> Any:
    if type(value) in (bool, int, float, complex):
        return operand(value)
    raise OpError("not a constant number")


def _real_number(value: Any) -> Any:
    if type(value) in (int, float):
        return operand(value)
    raise OpError("not a constant int or float")


def _text(value: Any) -> str:
    if type(value) is str:
        return value
    raise OpError(f"{described(value)} is not a constant str")


def _size_or_shape(value: Any) -> Any:
    return sizes(value) if type(value) in (tuple, list) else size(value)


def _axes_or_array(value: Any) -> Any:
    if isinstance(value, Node) and not is_pending(value) and not value.array_type.scalar:
        raise NotRead(value, False)
    return one_or_several(static_int, tuple, list)(value)


def _optional(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


def one_or_several(convert: Callable[[Any], Any], *kinds: type) -> Callable[[Any], Any]:
    """A converter of one item, or of a sequence of just these types to a tuple of items."""
    return lambda value: tuple(map(convert, value)) if type(value) in kinds else convert(value)


def _several(value: Any) -> tuple[Node, ...]:
    if type(value) not in (tuple, list) or not value:
        raise OpError("no sequence of arrays")
    items = tuple(map(operand, value))
    return tuple(item if isinstance(item, Node) else convert(item) for item in items)


def _nested(value: Any) -> Any:
    return value if is_sequence(value) else operand(value)


def _nested_or_large(value: Any) -> Any:
    return value if type(value) is int and 2**63 <= value < 2**64 else _nested(value)


def _real_operand(value: Any) -> Any:
    return value if isinstance(value, Node) else number(value)


def _mask_or_true(value: Any) -> Any:
    return value if value is True else existing_array(value)


def _ufunc_where(value: Any) -> Any:
    # NB: nanvar hands its own default on, an object that is true.
    return True if value is np._NoValue else _mask_or_true(value)


def _count(value: Any) -> Scalar:
    if isinstance(value, Node):
        raise UnknownShape("a number of copies that an array holds")
    return size(value)


def _count_or_counts(value: Any) -> Any:
    return convert(value) if is_sequence(value) else value if isinstance(value, Node) else _count(value)


def _joined(value: Any) -> Any:
    return value if isinstance(value, slice) else operand(value)


def one_of(*values: Any) -> Kind:
    """The Kind of an argument for which the rule knows just these values."""

    def convert(value: Any) -> Any:
        if not any(_is_same(value, one) for one in values):
            raise OpError(f"{described(value)} has no rule")
        return value

    return Kind("one of " + ", ".join(map(repr, values)), convert)


def only(*values: Any) -> Kind:
    """The Kind of an argument that the rule does not look at: its default, or one of these, which change nothing."""
    return Kind("only " + ", ".join(map(repr, ("its default", *values))), one_of(*values).convert, read=False)


# -- kinds, as annotations -----------------------------------------------------------------------

ArrayArg = Annotated[Node, Kind("an array", array)]
OperandArg = Annotated[Operand, Kind("an array or number", operand)]
UfuncArgument = Annotated[
    Operand | None, Kind("an array or number, however large, or (as the result's place) None", _optional(ufunc_operand))
]
OptionalOperand = Annotated[Any, Kind("an array, a number, None", _optional(operand))]
UfuncOptionalOperand = Annotated[Any, Kind("an array, a number however large, None", _optional(ufunc_operand))]
ExistingArray = Annotated[Node, Kind("an array that is no sequence", existing_array)]
MaskOrTrue = Annotated[Any, Kind("an array that is no sequence, True", _mask_or_true)]
UfuncWhere = Annotated[Any, Kind("an array that is no sequence, True", _ufunc_where)]
RealOperand = Annotated[Any, Kind("an array or a Python number", _real_operand)]
IndexArg = Annotated[Any, Kind("an index, which ops.index looks at", lambda value: value)]
Arrays = Annotated[tuple[Node, ...], Kind("a tuple or list of arrays", _several)]
Joined = Annotated[Any, Kind("an array, a number, a slice", _joined)]
Nested = Annotated[Any, Kind("arrays and numbers in tuples and lists", _nested)]
NestedOrLarge = Annotated[Any, Kind("arrays and numbers in tuples and lists, or an int below 2**64", _nested_or_large)]
Number = Annotated[Scalar, Kind("a Python number", number)]
NumberOrNone = Annotated[Scalar | None, Kind("a Python number, None", _optional(number))]
PlainNumber = Annotated[Any, Kind("a known number", _plain_number)]
Int = Annotated[int, Kind("a known int", static_int)]
IntOrNone = Annotated[int | None, Kind("a known int, None", _optional(static_int))]
OpenIntOrSeveral = Annotated[Any, Kind("an int, or several", one_or_several(open_int, tuple, list))]
CountOrCounts = Annotated[Any, Kind("a number of copies, or an array of such", _count_or_counts)]
Counts = Annotated[Any, Kind("numbers of copies", one_or_several(_count, tuple, list))]
OpenFloat = Annotated[Scalar, Kind("a float", open_float)]
Text = Annotated[str, Kind("a known str", _text)]
TextOrNone = Annotated[str | None, Kind("a known str, None", _optional(_text))]
RealNumber = Annotated[int | float, Kind("a known int or float", _real_number)]
RealNumberOrNone = Annotated[int | float | None, Kind("a known int or float, None", _optional(_real_number))]
Flag = Annotated[bool, Kind("True or False", static_bool)]
FlagOrNoValue = Annotated[Any, Kind("True or False", static_bool)]  # where NumPy's default is np._NoValue
FlagOrNone = Annotated[bool | None, Kind("True, False or None", _optional(static_bool))]
# Where NumPy takes a tuple of axes, and where a list as well.
Axes = Annotated[Any, Kind("axes or None", _optional(one_or_several(static_int, tuple)))]
AxesOrList = Annotated[Any, Kind("axes", one_or_several(static_int, tuple, list))]
AxesOrListOrNone = Annotated[Any, Kind("axes or None", _optional(one_or_several(static_int, tuple, list)))]
AxesOrArrayOrNone = Annotated[Any, Kind("axes, an array of them or None", _optional(_axes_or_array))]
SizeArg = Annotated[Scalar, Kind("a size", size)]
SizeOrNone = Annotated[Scalar | None, Kind("a size or None", _optional(size))]
SizeOrShape = Annotated[Any, Kind("a size or a shape", _size_or_shape)]
Shape = Annotated[tuple[Scalar, ...], Kind("a shape", sizes)]
DTypeArg = Annotated[DType, Kind("a dtype", static_dtype)]
DTypeOrNone = Annotated[DType | None, Kind("a dtype, None", _optional(static_dtype))]
Out = Annotated[Node | None, Kind("an array to write to, None", out_array)]
UfuncOut = Annotated[Any, Kind("an array to write to, alone or in a tuple, None, ...", ufunc_out)]
ReduceOut = Annotated[Any, Kind("an array to write to, by name also in a tuple, None", ufunc_out, in_place=out_array)]
Casting = Annotated[str, one_of("no", "equiv", "safe", "same_kind", "unsafe")]
OrderKCF = Annotated[str, one_of("K", "C", "F")]
OrderCF = Annotated[str, one_of("C", "F")]
OrderCFOrNone = Annotated[str | None, one_of("C", "F", None)]
OrderKCFOrNone = Annotated[str | None, one_of("K", "C", "F", None)]
Unmodelled = Annotated[Any, only()]
Device = Annotated[Any, only("cpu")]
# Of arrays of NumPy's own class neither makes a difference.
SortKind = Annotated[str | None, one_of(None, "quicksort", "mergesort", "heapsort", "stable")]
Side = Annotated[str, one_of("left", "right")]
TakeMode = Annotated[str, one_of("raise", "wrap", "clip")]
ProductMode = Annotated[str, one_of("valid", "same", "full")]
QRMode = Annotated[str, one_of("reduced", "r")]
Norm = Annotated[str | None, one_of(None, "backward", "ortho", "forward")]
ViewType = Annotated[type, only(np.ndarray)]
CopyOrNone = Annotated[bool | None, one_of(True, None)]
SubOk = Annotated[bool, only(True, False)]
# np.sum has a default of its own, which it does not pass on.
Where = Annotated[Any, only(True)]

"""What a value is, as far as capture knows: its Python type, and what reasons for breaks call it."""

from __future__ import annotations

from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    NoneType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    CharacterValue,
    ComplexValue,
    ConstantValue,
    DictValue,
    DictViewValue,
    EitherValue,
    FormattedValue,
    FunctionValue,
    InstanceValue,
    LazyValue,
    ListedObject,
    ListValue,
    MethodValue,
    NestedValue,
    NumberValue,
    ObjectValue,
    OneOf,
    RangeValue,
    RecordValue,
    ResultValue,
    SequenceValue,
    SliceValue,
    TextValue,
    Value,
)
from dynamo_lite.graph.scalar import kind_of

# Names of types that say little to those who never made one.
_PLAIN_NAMES = {
    BuiltinFunctionType: "builtin function",
    WrapperDescriptorType: "builtin method",
    MethodDescriptorType: "builtin method",
    MethodWrapperType: "builtin method",
    NoneType: "None",
    type(np._NoValue): "np._NoValue",
    np.ufunc: "ufunc",
}
_NO_ARTICLE = ("None", "np._NoValue")


def type_name(cls: type) -> str:
    """The name of a type, in words where it is one of Python's own making."""
    return _PLAIN_NAMES.get(cls) or cls.__name__.replace("_iterator", " iterator").lstrip("_") or cls.__name__


def callable_name(target: Any) -> str:
    """The name of a callable: a bound method of compiled code by its type's."""
    name = getattr(target, "__qualname__", None)
    return str(name) if name is not None else type_name(type(target))


def a_kind(value: Value) -> str:
    """The kind name of a value with its article."""
    name = kind_name(value)
    if name in _NO_ARTICLE:
        return name
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def kind_name(value: Value) -> str:
    """What reasons for breaks call a value: the name of its Python type as far as it is known."""
    match value:
        case LazyValue():
            return type_name(type(value.concrete))
        case TextValue():
            return type(value.text).__name__
        case ConstantValue():
            return type_name(type(value.value))
        case SequenceValue():
            return value.kind.__name__
        case ListValue():
            return "list"
        case NestedValue():
            return "list" if value.layout[0] == "l" else "tuple"
        case ObjectValue() | InstanceValue() | RecordValue() | ListedObject():
            return type_name(value.cls)
        case ArrayValue():
            return "NumPy scalar" if value.node.array_type.scalar else "array"
        case ResultValue():
            return f"{value.kind.__name__} that the program computes"
        case CharacterValue() | FormattedValue():
            return "str"
        case EitherValue():
            return "number that is Python's or NumPy's"
        case OneOf():
            return "object or another"
        case DictViewValue():
            return f"dict_{value.name}"
    return type(value).__name__.removesuffix("Value").lower() or "object"


def python_type(value: Value) -> type:
    """type(value)."""
    match value:
        case ArrayValue():
            type_ = value.node.array_type
            return type_.dtype.type if type_.scalar else np.ndarray
        case NumberValue():
            return {"int": int, "float": float, "bool": bool}[kind_of(value.expr)]
        case ConstantValue():
            return type(value.value)
        case SequenceValue():
            return value.kind
        case ComplexValue():
            return complex
        case DictValue():
            return dict
        case DictViewValue():
            return type(getattr({}, value.name)())
        case ObjectValue() | InstanceValue() | RecordValue() | ListedObject():
            return value.cls
        case RangeValue():
            return range
        case SliceValue():
            return slice
        case FunctionValue():
            return FunctionType
        case MethodValue():
            return MethodType
    raise Break("unsupported-value", kind_name(value))


__all__ = ["a_kind", "callable_name", "kind_name", "python_type", "type_name"]

"""What a call does: one row for each callable that capture knows, inlining for Python functions, a break for the rest.

A new Python function is never a new Value class: it is a row of ``RULES`` (callable -> rule) or an op of
dynamo_lite.ops.
"""

from __future__ import annotations

import builtins
import functools
import random
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np

from dynamo_lite import ops
from dynamo_lite._C import CompiledFunction
from dynamo_lite.capture import scopes, text_methods
from dynamo_lite.capture.branches.choices import first_either, split
from dynamo_lite.capture.branches.conditions import as_whole
from dynamo_lite.capture.calls import draws, numpy_rules
from dynamo_lite.capture.calls.folding import python_result
from dynamo_lite.capture.calls.supers import super_of
from dynamo_lite.capture.handlers import operators
from dynamo_lite.capture.handlers.attributes import get_attribute
from dynamo_lite.capture.handlers.containers import length
from dynamo_lite.capture.handlers.control import truth_of
from dynamo_lite.capture.iteration import consumers
from dynamo_lite.capture.iteration.consuming import as_loop
from dynamo_lite.capture.iteration.iterators import drain, extend, iterate, iterate_part, known_length
from dynamo_lite.capture.iteration.numbered import CALL
from dynamo_lite.capture.kinds import a_kind, callable_name, kind_name, python_type
from dynamo_lite.capture.lists import cells, lists, object_lists
from dynamo_lite.capture.lists.searches import index_of, insert, remove
from dynamo_lite.capture.machine import OPAQUE, Machine, as_constant
from dynamo_lite.capture.numbers import complex_operators
from dynamo_lite.capture.numbers.numbers import (
    as_scalar,
    not_too_long,
    number_binary,
    number_unary,
)
from dynamo_lite.capture.numbers.weak_numbers import one_scalar
from dynamo_lite.capture.objects.instances import get_call, make_instance
from dynamo_lite.capture.objects.records import make_record, replaced
from dynamo_lite.capture.source import constant
from dynamo_lite.capture.state import AttributeMissing
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    CharacterValue,
    ComplexValue,
    ConstantValue,
    DictValue,
    DictViewValue,
    EitherValue,
    FunctionValue,
    InstanceValue,
    IteratorValue,
    LazyValue,
    ListValue,
    MethodValue,
    NumberValue,
    ObjectValue,
    RangeValue,
    RecordValue,
    SequenceValue,
    SliceValue,
    Value,
)
from dynamo_lite.capture.wrap import IMMUTABLE_TYPE, MISSING, class_lookup, is_record, wrap
from dynamo_lite.graph.scalar import ScalarOp, kind_of, make

Args = list[Value]
Kwargs = dict[str, Value]
Rule = Callable[[Machine, Args, Kwargs], Value]

RULES: dict[Any, Rule] = {}


def rule(*callables: Any) -> Callable[[Rule], Rule]:
    """Register the rule of callables, found by identity (or equality, for method wrappers)."""

    def register(function: Rule) -> Rule:
        for one in callables:
            RULES[one] = function
        return function

    return register


def call(machine: Machine, function: Value, args: Args, kwargs: Kwargs) -> Value:
    """function(*args, **kwargs)."""
    match function:
        case FunctionValue():
            return machine.call_virtual(function, args, kwargs)
        case MethodValue(function=ConstantValue(value=None)):
            return _container_method(machine, function, args, kwargs)
        case MethodValue():
            if isinstance(function.self, ArrayValue) and isinstance(function.function, ConstantValue):
                method = functools.partial(numpy_rules.call_method, machine, function.self, function.name)
                return _within(machine, function.function.value, method, args, kwargs)
            target = machine.realised(function.function)
            if isinstance(target, ConstantValue) and draws.is_draw(target):
                return draws.draw(machine, function.self, target.value, args, kwargs)
            return call(machine, target, [function.self, *args], kwargs)
        case ConstantValue():
            return _within(machine, function.value, functools.partial(call_known, machine, function), args, kwargs)
        case ObjectValue():
            return _call_object(machine, function, args, kwargs)
        case InstanceValue():
            return call(machine, get_call(function), [function, *args], kwargs)
    raise Break("python-call", f"{a_kind(function)}")


def _within(machine: Machine, target: Any, rule: Callable[[Args, Kwargs], Value], args: Args, kwargs: Kwargs) -> Value:
    """What `rule` makes of a call of `target`; the frame calls the outermost one, whatever that calls in its turn."""
    frame = machine.tracer.frames[-1]
    around = frame.calls
    frame.calls = target if around is None else around
    try:
        return rule(args, kwargs)
    finally:
        frame.calls = around


def call_known(machine: Machine, function: ConstantValue, args: Args, kwargs: Kwargs) -> Value:
    """A call of a callable known by identity."""
    target = function.value
    if target is print:
        raise Break("output", "print")
    if target is len and len(args) == 1 and (grown := lists.length_outside(machine.tracer, args[0])) is not None:
        return grown
    known = _lookup(target)
    if known is not None:
        return known(
            machine, [machine.realised(arg) for arg in args], {k: machine.realised(v) for k, v in kwargs.items()}
        )
    if isinstance(target, types.MethodDescriptorType) and args:
        owner = machine.realised(args[0])
        if not kwargs and text_methods.knows(target, owner):
            return text_methods.call(machine, target, owner, args[1:])
        if isinstance(owner, ArrayValue) and class_lookup(python_type(owner), target.__name__) is target:
            return numpy_rules.call_method(machine, owner, target.__name__, args[1:], kwargs)
        if isinstance(owner, ConstantValue) and type(owner.value) is np.ufunc and target.__objclass__ is np.ufunc:
            bound = ConstantValue(None, getattr(owner.value, target.__name__))
            return call_known(machine, bound, args[1:], kwargs)
        raise Break("random" if _is_random(target) else "c-function", target.__qualname__)
    if not kwargs and text_methods.knows(target):
        return text_methods.call(machine, target, None, args)
    either = first_either(machine, args) if ops.lookup(target) is not None else None
    if either is not None:
        place, value = either

        def called(one: Value) -> Value:
            return call_known(machine, function, [*args[:place], one, *args[place + 1 :]], kwargs)

        others = [machine.realised(arg) for arg in (*args[:place], *args[place + 1 :])]
        scalar = one_scalar(machine, value, others) if type(target) is np.ufunc and not kwargs else None
        return split(machine, value, called) if scalar is None else called(scalar)
    result = numpy_rules.call_numpy(machine, target, args, kwargs)
    if result is not None:
        return result
    if isinstance(target, types.FunctionType):
        return machine.call_python(target, function.source, args, kwargs)
    if isinstance(target, CompiledFunction) and isinstance(target.fn, types.FunctionType):
        return machine.call_python(target.fn, constant(target.fn), args, kwargs)
    if isinstance(target, type) and not target.__flags__ & IMMUTABLE_TYPE:
        making = make_record if is_record(target) else make_instance
        made: Value | None = making(machine, function, args, kwargs)
        if made is None:
            raise Break("python-call", f"class {target.__qualname__}")
        return made
    raise Break("random" if _is_random(target) else "c-function", callable_name(target))


def is_opaque(target: Any) -> bool:
    """Whether nothing is known of a builtin function: `call_known` then breaks the graph and has done nothing else."""
    if target is print:
        return True
    if type(target) is not types.BuiltinFunctionType or _lookup(target) is not None:
        return False
    return ops.lookup(target) is None and ops.lookup_folded(target) is None


OPAQUE.append(is_opaque)


def _lookup(target: Any) -> Rule | None:
    try:
        return RULES.get(target)
    except TypeError:  # unhashable callable
        return None


def _is_random(target: Any) -> bool:
    owner = getattr(target, "__self__", None)
    kind = getattr(target, "__objclass__", None) or type(owner)
    return isinstance(kind, type) and issubclass(kind, (*ops.draws.kinds(), random.Random))


def _call_object(machine: Machine, function: ObjectValue, args: Args, kwargs: Kwargs) -> Value:
    """A call of an instance: its class's __call__."""
    if issubclass(function.cls, ops.draws.kinds()):
        raise Break("random", function.cls.__name__)
    assert function.source is not None
    machine.tracer.state_class("type_version", function.source, function.cls)
    if issubclass(function.cls, CompiledFunction):
        if function.cls.__call__ is not CompiledFunction.__call__:
            raise Break("c-function", function.cls.__qualname__)
        inner = wrap(machine.tracer, function.concrete.fn, function.source.attr("fn"))
        return call(machine, inner, args, kwargs)
    target = next((vars(base)["__call__"] for base in function.cls.__mro__ if "__call__" in vars(base)), None)
    if not isinstance(target, types.FunctionType):
        if function.cls is not types.BuiltinFunctionType:
            raise Break("c-function", function.cls.__qualname__)
        raise Break("random" if _is_random(function.concrete) else "c-function", callable_name(function.concrete))
    return machine.call_python(target, constant(target), [function, *args], kwargs)


# -- methods of values made here -----------------------------------------------------------------


def _container_method(machine: Machine, method: MethodValue, args: Args, kwargs: Kwargs) -> Value:
    """A method of a list, tuple, dict, range or complex number."""
    owner, name = method.self, method.name
    if isinstance(owner, SequenceValue) and owner.became is not None:
        owner = owner.became  # an argument had a choice or a loop in it
    if name == "conjugate" and not args and not kwargs:
        return complex_operators.conjugate(machine, owner)
    if isinstance(owner, LazyValue) and type(owner.concrete) is list and name == "append" and len(args) == 1:
        lists.append_outside(machine, owner, args[0])
        return ConstantValue(None, None)
    if isinstance(owner, ListValue) and not kwargs:
        return object_lists.method(machine, owner, name, args)
    if isinstance(owner, RecordValue) and not args:
        return replaced(owner, kwargs)
    if isinstance(owner, SequenceValue) and not kwargs:
        is_own = owner.kind is list and owner.source is None
        if is_own and name == "append" and len(args) == 1:
            lists.append(machine, owner, args[0])
            return ConstantValue(None, None)
        if is_own and name == "extend" and len(args) == 1:
            extend(machine, owner, machine.realised(args[0]))
            return ConstantValue(None, None)
        if is_own and name == "pop" and not args:
            cells.want(machine.tracer, owner, grows=True)
            if owner.cells is not None:
                return cells.pop(machine, owner)
        if is_own and name == "pop" and len(args) <= 1 and owner.items:
            index = as_constant(machine, args[0]) if args else -1
            if isinstance(index, int) and -len(owner.items) <= index < len(owner.items):
                return owner.items.pop(index)
        if is_own and name == "insert" and len(args) == 2 and owner.cells is None:
            insert(machine, owner.items, args[0], args[1])
            return ConstantValue(None, None)
        if is_own and name == "remove" and len(args) == 1:
            remove(machine, owner.items, args[0])
            return ConstantValue(None, None)
        if is_own and name == "reverse" and not args:
            owner.items.reverse()
            return ConstantValue(None, None)
        if name == "index" and len(args) == 1:
            return index_of(machine, owner, args[0])
        if owner.kind is list and name == "copy" and not args:
            return SequenceValue(None, list, list(owner.items))
    if isinstance(owner, DictValue) and not kwargs:
        match name, len(args):
            case (("keys" | "values" | "items"), 0):
                return DictViewValue(None, owner, name)
            case (("get" | "setdefault"), 1 | 2):
                key = as_constant(machine, args[0])
                if key in owner.items:
                    return owner.items[key]
                if name == "get":
                    return args[1] if len(args) == 2 else ConstantValue(None, None)
    raise Break("side-effect-container", f"{kind_name(owner)}.{name}")


# -- builtins ------------------------------------------------------------------------------------


@rule(np.errstate)
def _errstate(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    if args:
        raise Break("python-call", "class errstate")
    return scopes.make(machine, kwargs)


@rule(warnings.catch_warnings)
def _catch_warnings(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    if args:
        raise Break("python-call", "class catch_warnings")
    return scopes.make_filters(machine, kwargs)


@rule(warnings.simplefilter)
def _simplefilter(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    return scopes.add_filter(machine, ("action", "category", "lineno", "append"), args, kwargs)


@rule(warnings.filterwarnings)
def _filterwarnings(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    names = ("action", "message", "category", "module", "lineno", "append")
    return scopes.add_filter(machine, names, args, kwargs)


@rule(scopes.leave)
def _leave_scope(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    scopes.leave(machine, as_constant(machine, args[0]))
    return ConstantValue(None, None)


@rule(len)
def _len(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    return length(machine, only(args, kwargs))


def only(args: Args, kwargs: Kwargs) -> Value:
    return positional(args, kwargs, 1)[0]


def positional(args: Args, kwargs: Kwargs, least: int, most: int | None = None) -> Args:
    """The arguments of a builtin that takes so many, and no keywords; anything else is Python's own affair."""
    if kwargs or not least <= len(args) <= (least if most is None else most):
        raise Break("python-call", "a builtin function with other arguments than it takes")
    return args


@rule(range)
def _range(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    bounds = [as_scalar(numpy_rules.read_int(machine, arg, asked=True)) for arg in args]
    if kwargs or not 1 <= len(args) <= 3 or any(bound is None or kind_of(bound) != "int" for bound in bounds):
        raise Break("python-call", "range")
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    assert start is not None and stop is not None and step is not None
    machine.tracer.have(make("ne", step, 0), "python-exception", "ValueError: range() arg 3 must not be zero")
    return RangeValue(None, start, stop, step)


@rule(enumerate)
def _enumerate(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    if set(kwargs) == {"start"}:
        args, kwargs = [*args, kwargs["start"]], {}
    args = positional(args, kwargs, 1, 2)
    start = as_constant(machine, args[1]) if len(args) > 1 else 0
    start = int(start) if type(start) is bool else start
    if type(start) is not int:
        raise Break("python-call", "enumerate")
    return IteratorValue(None, args[0], kind="enumerate", start=start, parts=(iterate_part(machine, args[0]),))


@rule(zip)
def _zip(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    strict = as_constant(machine, kwargs["strict"]) if "strict" in kwargs else False
    if not kwargs.keys() <= {"strict"} or type(strict) is not bool:
        raise Break("python-call", "zip")
    return IteratorValue(None, kind="zip", start=int(strict), parts=tuple(iterate_part(machine, arg) for arg in args))


@rule(map)
def _map(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    if kwargs or len(args) < 2:
        raise Break("python-call", "map")
    parts = tuple(iterate(machine, arg) for arg in args[1:])
    return IteratorValue(None, args[0], kind="map", parts=parts)


CALL.append(lambda machine, function, args: call(machine, function, args, {}))


@rule(iter)
def _iter(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    return iterate(machine, only(args, kwargs))


def is_line(value: Value) -> TypeGuard[ArrayValue]:
    """Whether a builtin that goes over `value` meets the elements of an array, one after the other."""
    return isinstance(value, ArrayValue) and value.node.array_type.ndim == 1


def _is_long_row(machine: Machine, value: Value) -> bool:
    """Whether it is an array of one axis, too long to be known by its elements, in a loop; a short one's length is
    guarded."""
    value = machine.realised(value)
    if not isinstance(value, ArrayValue) or value.node.array_type.scalar or not value.node.array_type.ndim:
        return False
    length = known_length(machine.tracer, value)
    return length is None and machine.tracer.in_loop and is_line(value)


def _make_sequence(kind: type) -> Rule:
    def build(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        if not args and not kwargs:
            return SequenceValue(None, kind, [])
        value = only(args, kwargs)
        if kind is list and isinstance(found := machine.realised(value), ListValue):
            return object_lists.copy(machine, found)
        if kind is tuple and isinstance(value, SequenceValue) and value.kind is tuple:
            return value
        of: Any = consumers.list_of
        if _is_long_row(machine, value) and kind is list:
            return machine.call_python(of, constant(of), [value], {})
        made = as_loop(machine, of, value) if kind is list else None
        return SequenceValue(None, kind, drain(machine, value)) if made is None else made

    return build


RULES[tuple] = _make_sequence(tuple)
RULES[list] = _make_sequence(list)


@rule(dict)
def _dict(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    if not args:
        return DictValue(None, dict(kwargs))
    value = args[0]
    if len(args) == 1 and isinstance(value, DictValue):
        return DictValue(None, {**value.items, **kwargs})
    raise Break("python-call", "dict")


@rule(slice)
def _slice(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    args = positional(args, kwargs, 1, 3)
    none = ConstantValue(None, None)
    parts: list[Value] = [none, args[0], none] if len(args) == 1 else [*args, none][:3]
    return SliceValue(None, *parts)


@rule(isinstance)
def _isinstance(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    value, classinfo = positional(args, kwargs, 2)
    cls = python_type(value)
    classes = _classes(machine, classinfo, cls)
    found = issubclass(cls, classes)
    if isinstance(value, InstanceValue) and not found and any("__class__" in vars(base) for base in cls.__mro__[:-1]):
        raise Break("unsupported-operation", f"isinstance of a {cls.__qualname__}")
    if isinstance(value, ObjectValue) and not found:
        # NB: isinstance then asks the object for its __class__, which a class may define.
        assert value.source is not None
        machine.tracer.state_class("type_version", value.source, cls)
        if any("__class__" in vars(base) or "__getattribute__" in vars(base) for base in cls.__mro__[:-1]):
            raise Break("unsupported-operation", f"isinstance of a {cls.__qualname__}")
    return ConstantValue(None, found)


# Packages whose abstract classes answer for types of C's own without running code of the user's.
_ABSTRACT = frozenset({"numpy", "collections", "numbers", "abc", "typing"})


def _classes(machine: Machine, value: Value, cls: type) -> Any:
    """The second argument of isinstance or issubclass, of which `cls` is asked."""
    value = machine.realised(value)
    if isinstance(value, SequenceValue):
        return tuple(_classes(machine, item, cls) for item in value.items)
    classes = as_constant(machine, value)
    for one in classes.__args__ if isinstance(classes, types.UnionType) else (classes,):
        if not isinstance(one, type):
            raise Break("unsupported-operation", "isinstance with an unusual class")
        if type(one).__instancecheck__ is type.__instancecheck__:
            continue
        # NB: a class may be registered with an abstract one later, which changes no version.
        if one.__module__.partition(".")[0] not in _ABSTRACT or not cls.__flags__ & IMMUTABLE_TYPE:
            raise Break("unsupported-operation", f"isinstance with {one.__qualname__}")
    return classes


@rule(issubclass)
def _issubclass(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    first, classinfo = positional(args, kwargs, 2)
    cls = as_constant(machine, first)
    if not isinstance(cls, type):
        raise Break("python-exception", "TypeError: issubclass() arg 1 must be a class")
    return python_result(issubclass, cls, _classes(machine, classinfo, cls))


@rule(type)
def _type(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    cls = python_type(only(args, kwargs))
    return ConstantValue(constant(cls), cls)


@rule(getattr)
def _getattr(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    name = as_constant(machine, positional(args, kwargs, 2, 3)[1])
    if type(name) is not str:
        raise Break("python-exception", "TypeError: attribute name must be string")
    depth = len(machine.tracer.frames)
    try:
        return get_attribute(machine, args[0], name)
    except AttributeMissing:
        if len(args) == 3 and len(machine.tracer.frames) == depth:  # deeper: inside of a property
            return args[2]
        raise


@rule(hasattr)
def _hasattr(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    value, named = positional(args, kwargs, 2)
    name = as_constant(machine, named)
    if type(name) is not str:
        raise Break("python-exception", "TypeError: attribute name must be string")
    if isinstance(value, ArrayValue):
        cls = value.node.array_type.dtype.type if value.node.array_type.scalar else np.ndarray
        return ConstantValue(None, class_lookup(cls, name) is not MISSING)
    if isinstance(value, ConstantValue) and value.source is None:
        return ConstantValue(None, hasattr(value.value, name))
    if isinstance(value, NumberValue | SequenceValue | DictValue):
        return ConstantValue(None, class_lookup(python_type(value), name) is not MISSING)
    if isinstance(value, ObjectValue | InstanceValue | RecordValue):
        depth = len(machine.tracer.frames)
        try:
            get_attribute(machine, value, name)
        except AttributeMissing:
            if len(machine.tracer.frames) > depth:  # inside of a property
                raise
            return ConstantValue(None, False)
        return ConstantValue(None, True)
    raise Break("python-call", "hasattr")


@rule(callable)
def _callable(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    value = only(args, kwargs)
    return ConstantValue(None, isinstance(value, FunctionValue) or callable(as_constant(machine, value)))


@rule(bool)
def _bool(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    return truth_of(machine, only(args, kwargs)) if args or kwargs else ConstantValue(None, False)


def _is_of(value: Value, kind: str) -> bool:
    """Whether a value is a Python number of that kind: int() and float() give such a one back."""
    number = as_scalar(value)
    return number is not None and kind_of(number) == kind


@rule(int)
def _int(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    given = only(args, kwargs)
    if isinstance(given, EitherValue):
        return split(machine, given, lambda one: _int(machine, [machine.realised(one)], {}))
    value = as_whole(machine, given)
    if _is_of(value, "int"):
        return value
    if isinstance(value, ArrayValue):
        if value.whole is not None:
            return machine.tracer.number(value.whole)
        if value.real is not None:
            return _int(machine, [NumberValue(None, value.real)], {})
        found = numpy_rules.read_number(machine, value, asked=True)
        if found is None:
            raise Break("data-dependent-number", "int()")
        if value is not given and isinstance(found, NumberValue):
            return machine.tracer.number(make("mod", found.expr, 2))  # which tells that it is 0 or 1
        value = found
        if not isinstance(value, NumberValue) or kind_of(value.expr) == "int":
            return value
    if isinstance(value, NumberValue) and kind_of(value.expr) == "float":
        if machine.tracer.varies(value.expr):
            # What is computed from it may not need it, as n % 1; int(nan) raises all the same.
            machine.tracer.require(ScalarOp("ge", "bool", (value.expr, -(2.0**63))))
            machine.tracer.require(ScalarOp("lt", "bool", (value.expr, 2.0**63)))
            return machine.tracer.number(make("trunc", value.expr))
        if -(2**63) <= machine.tracer.hint(value.expr) < 2**63:  # type: ignore[operator]
            machine.tracer.relate(ScalarOp("ge", "bool", (value.expr, -(2.0**63))))
            machine.tracer.relate(ScalarOp("lt", "bool", (value.expr, 2.0**63)))
            return not_too_long(machine.tracer.number(make("trunc", value.expr)))
    return python_result(int, as_constant(machine, value))


@rule(ord)
def _ord(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    value = only(args, kwargs)
    if isinstance(value, CharacterValue):
        return value.code
    return python_result(ord, as_constant(machine, value))


@rule(float)
def _float(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    given = only(args, kwargs)
    if isinstance(given, EitherValue):
        return split(machine, given, lambda one: _float(machine, [machine.realised(one)], {}))
    value = as_whole(machine, given)
    if _is_of(value, "float"):
        return value
    if isinstance(value, ArrayValue):
        if value.real is not None:
            return NumberValue(None, value.real)
        number = numpy_rules.read_number(machine, value, asked=True)
        if number is None:
            raise Break("data-dependent-number", "float()")
        value = number
    if isinstance(value, NumberValue) and kind_of(value.expr) != "bool" and machine.tracer.varies(value.expr):
        return value if _is_of(value, "float") else machine.tracer.number(make("mul", value.expr, 1.0))
    return python_result(float, as_constant(machine, value))


@rule(round)
def _round(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """round(x, n) of a NumPy scalar: its round(); without an n also the int of that. Of others: math_functions.py."""
    places = [machine.realised(arg) for arg in (*args[1:], *kwargs.values())]
    value = machine.realised(args[0]) if args else ConstantValue(None, None)
    if not isinstance(value, ArrayValue) or not value.node.array_type.scalar:
        raise Break("c-function", "round")
    if value.node.array_type.dtype.kind not in "iuf" or len(places) > 1 or kwargs.keys() - {"ndigits"}:
        raise Break("c-function", "round")
    to_int = not places or (isinstance(places[0], ConstantValue) and places[0].value is None)
    rounded = numpy_rules.call_method(machine, value, "round", [] if to_int else places, {})
    return _int(machine, [rounded], {}) if to_int else rounded


@rule(abs)
def _abs(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    value = only(args, kwargs)
    if isinstance(value, EitherValue):
        return split(machine, value, lambda one: _abs(machine, [one], {}))
    if isinstance(value, ArrayValue):
        return numpy_rules.unary(machine, "abs", value)
    if isinstance(value, ComplexValue):
        return complex_operators.unary(machine, "abs", value)
    if isinstance(value, InstanceValue | ObjectValue):
        return machine.call_special(value, "__abs__", [])
    if as_scalar(value) is not None:
        return number_unary(machine.tracer, "abs", value)
    raise Break("python-call", "abs")


@rule(pow)
def _pow(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    if kwargs or len(args) != 2:
        raise Break("c-function", "pow")
    return operators.binary(machine, "**", *map(machine.realised, args))


@rule(divmod)
def _divmod(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    both = [machine.realised(arg) for arg in positional(args, kwargs, 2)]
    if any(as_scalar(one) is None for one in both):
        raise Break("python-call", "divmod")
    return SequenceValue(None, tuple, [number_binary(machine.tracer, op, *both) for op in ("//", "%")])


def is_number(value: Value) -> bool:
    """A Python number or a NumPy scalar."""
    is_number = as_scalar(value) is not None or isinstance(value, EitherValue)
    return is_number or (isinstance(value, ArrayValue) and value.node.array_type.scalar)


def _breaks_with(reason: str, *callables: Any) -> None:
    """Have calls of builtin functions break the graph, each under its name."""
    for one in callables:

        def refuse(machine: Machine, args: Args, kwargs: Kwargs, name: str = one.__qualname__) -> Value:
            raise Break(reason, name)

        rule(one)(refuse)


_breaks_with("c-function", filter, sorted, id, hash, repr, str, format, vars, dir, open, input)
_breaks_with("c-function", setattr, delattr)
_breaks_with("frame-introspection", locals, globals, eval, exec, breakpoint, builtins.__import__, sys._getframe)


@rule(super)
def _super(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    if kwargs or len(args) not in (0, 2):
        raise Break("c-function", "super")
    return super_of(machine, *args)


@rule(warnings.warn, warnings.warn_explicit)
def _warn(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    raise Break("output", "warnings.warn")

"""Arithmetic, comparison, identity and membership."""

from __future__ import annotations

import operator
import sys
import types
from typing import TypeGuard

import numpy as np

from dynamo_lite.capture.branches.choices import is_none, split, split_each
from dynamo_lite.capture.branches.conditions import as_number_here, as_whole, none_condition, not_none
from dynamo_lite.capture.branches.few_objects import code_of, is_the_one, objects_of
from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.calls.folding import check_items, is_small, python_result
from dynamo_lite.capture.handlers.containers import dict_key
from dynamo_lite.capture.iteration.iterators import extend
from dynamo_lite.capture.kinds import a_kind, python_type
from dynamo_lite.capture.lists import listed_objects, lists, object_lists
from dynamo_lite.capture.machine import Machine, as_constant, handles
from dynamo_lite.capture.numbers import complex_operators
from dynamo_lite.capture.numbers.numbers import (
    PYTHON_OPERATORS,
    as_operand,
    as_scalar,
    number_binary,
    number_compare,
    number_unary,
    refuse_nan,
)
from dynamo_lite.capture.numbers.weak_numbers import one_scalar
from dynamo_lite.capture.objects.aggregates import LONGEST
from dynamo_lite.capture.objects.few_attributes import look_at
from dynamo_lite.capture.source import constant
from dynamo_lite.capture.state import Frame
from dynamo_lite.capture.texts import compare_characters, is_among
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
    LazyValue,
    ListedObject,
    ListValue,
    NumberValue,
    ObjectValue,
    OneOf,
    RangeValue,
    ResultValue,
    SequenceValue,
    Value,
    is_single,
)
from dynamo_lite.capture.wrap import MISSING, class_lookup, is_changed_unread, realise
from dynamo_lite.graph.scalar import Scalar, is_symbolic, kind_of, make, negate, simplify
from dynamo_lite.module_names import module_of
from dynamo_lite.pycode import Instr


def _is_array(value: Value) -> bool:
    return isinstance(value, ArrayValue)


_SPECIAL = {
    **{"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul"},
    **{"&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift"},
}
_SPECIAL_UNARY = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}
_FEW = 16  # numbers of a tuple or list that `in` compares one by one


def _is_object(value: Value) -> TypeGuard[ObjectValue | InstanceValue]:
    return isinstance(value, ObjectValue | InstanceValue)


def _asked(machine: Machine, owner: Value, name: str, other: Value) -> Value | None:
    """What a special method of the user's answers; None where there is none, or it answers NotImplemented."""
    if not _is_object(owner):
        return None  # of numbers: they answer so to any object of another class
    if isinstance(owner, ObjectValue):
        assert owner.source is not None
        machine.tracer.state_class("type_version", owner.source, owner.cls)
    found = class_lookup(owner.cls, name)
    if found is MISSING or found is vars(object).get(name, MISSING):
        return None
    answer = machine.realised(machine.call_special(owner, name, [other]))
    return None if isinstance(answer, ConstantValue) and answer.value is NotImplemented else answer


def _by_objects(machine: Machine, names: tuple[str, str], lhs: Value, rhs: Value) -> Value | None:
    """What two operands answer in turn, one of which is an object; None where neither knows the other."""
    for one, other in ((lhs, rhs), (rhs, lhs)):
        if not _is_object(one) and as_scalar(one) is None and not (one is rhs and _is_array(one) and _is_object(other)):
            raise Break("unsupported-operation", f"an operation on {a_kind(lhs)} and {a_kind(rhs)}")
    if _is_object(lhs) and _is_object(rhs) and lhs.cls is not rhs.cls and issubclass(rhs.cls, lhs.cls):
        raise Break("unsupported-operation", f"an operation on {a_kind(lhs)} and {a_kind(rhs)}")
    answer = _asked(machine, lhs, names[0], rhs)
    if answer is not None or (_is_object(lhs) and _is_object(rhs) and lhs.cls is rhs.cls and names[0] != names[1]):
        return answer
    if _is_array(rhs):
        raise Break("unsupported-operation", f"an operation on {a_kind(lhs)} and {a_kind(rhs)}")
    return _asked(machine, rhs, names[1], lhs)


@handles("BINARY_OP")
def binary_op(machine: Machine, frame: Frame, instr: Instr) -> None:
    if instr.arg == "+=" and is_changed_unread(machine.tracer, frame.stack[-2]):
        target, added = frame.popn(2)
        frame.push(_lengthened(machine, target, added))
        return
    lhs, rhs = machine.popn(frame, 2)
    op = instr.arg
    frame.push(inplace(machine, op[:-1], lhs, rhs) if op.endswith("=") else binary(machine, op, lhs, rhs))


def _is_numeric(value: Value) -> bool:
    """Whether no operator takes it and None."""
    is_array = isinstance(value, ArrayValue) and value.node.array_type.dtype.kind in "biufc"
    return is_array or as_scalar(value) is not None


def binary(machine: Machine, op: str, lhs: Value, rhs: Value) -> Value:
    """lhs op rhs."""
    # NB: an int computed from a loop's may be an index: the next segment, which has it as an argument, slices by it.
    ints = op == "/" or isinstance(lhs, ArrayValue) or isinstance(rhs, ArrayValue)
    lhs, rhs = (numpy_rules.read_result(machine, operand, ints) for operand in (lhs, rhs))
    if op != "**":  # which has short cuts for some numbers of Python's
        lhs, rhs = _beside_arrays(machine, lhs, rhs)
    if _is_numeric(lhs) or _is_numeric(rhs):
        lhs, rhs = not_none(machine, lhs), not_none(machine, rhs)
    if isinstance(lhs, EitherValue):
        return split(machine, lhs, lambda one: binary(machine, op, one, rhs))
    if isinstance(rhs, EitherValue):
        return split(machine, rhs, lambda one: binary(machine, op, lhs, one))
    of_complex = complex_operators.binary(machine, op, lhs, rhs)
    if of_complex is not None:
        return of_complex
    if _is_object(lhs) or (_is_object(rhs) and not _is_array(lhs)):
        name = _SPECIAL[op]
        answer = _by_objects(machine, (f"__{name}__", f"__r{name}__"), lhs, rhs)
        if answer is None:
            raise Break("python-exception", f"TypeError: {op} of {a_kind(lhs)} and {a_kind(rhs)}")
        return answer
    if _is_array(lhs) or _is_array(rhs):
        return numpy_rules.binary(machine, op, lhs, rhs)
    if as_scalar(lhs) is not None and as_scalar(rhs) is not None:
        if op not in "&|^":  # of which two bools make a bool
            lhs, rhs = as_whole(machine, lhs), as_whole(machine, rhs)
        return number_binary(machine.tracer, op, lhs, rhs)
    if _are_numpy_numbers(lhs, rhs):
        return numpy_rules.binary(machine, op, *_as_scalars(machine, lhs, rhs))
    is_list = isinstance(lhs, ListValue) or (isinstance(lhs, SequenceValue) and lhs.kind is list)
    if op == "+" and is_list and (made := object_lists.join(machine.tracer, lhs, rhs)) is not None:
        return made
    if isinstance(lhs, SequenceValue):
        if op == "+" and isinstance(rhs, SequenceValue) and lhs.kind is rhs.kind:
            if lhs.kind is tuple and not (lhs.items and rhs.items):
                return lhs if lhs.items else rhs
            check_items(len(lhs.items) + len(rhs.items))
            return SequenceValue(None, lhs.kind, lhs.items + rhs.items)
        if op == "*" and as_scalar(rhs) is not None:
            return _repeated(machine, lhs, rhs)
    if op == "*" and isinstance(rhs, SequenceValue) and as_scalar(lhs) is not None:
        return _repeated(machine, rhs, lhs)
    if _plain(lhs) and _plain(rhs):
        known = [ConstantValue(None, as_constant(machine, one)) for one in (lhs, rhs)]
        found = python_result(PYTHON_OPERATORS[op], *(one.value for one in known))
        return as_operand(found, *zip((lhs, rhs), known, strict=True))
    raise Break("unsupported-operation", f"{op} of {a_kind(lhs)} and {a_kind(rhs)}")


_MOST_REPEATED = 4  # items, one after the other, of a list that the program has as an object


def _repeated(machine: Machine, sequence: SequenceValue, times: Value) -> Value:
    """sequence * times."""
    number = as_scalar(times)
    repeats = sequence.kind is list and len(sequence.items) == 1 and machine.tracer.native_loops
    if repeats and number is not None and is_symbolic(number) and kind_of(number) == "int":
        return lists.repeated(machine, sequence.items[0], number)
    count = as_constant(machine, times)
    if not isinstance(count, int) or not -sys.maxsize - 1 <= count <= sys.maxsize:
        raise Break("python-exception", f"a sequence times {type(count).__name__}")
    is_long = count > _MOST_REPEATED if machine.tracer.restraints.objects else not is_small(count)
    if repeats and is_long and as_scalar(sequence.items[0]) is not None:
        return lists.repeated(machine, sequence.items[0], count)
    check_items(count * len(sequence.items))
    if sequence.kind is tuple and (count == 1 or not sequence.items):
        return sequence
    return SequenceValue(None, sequence.kind, sequence.items * count)


def inplace(machine: Machine, op: str, lhs: Value, rhs: Value) -> Value:
    """The result of `lhs op= rhs`: an array is changed in place, other values are as for lhs op rhs."""
    if _may_be_array(lhs):
        lhs = not_none(machine, lhs)
        if op != "**":
            rhs = _beside_arrays(machine, lhs, rhs)[1]
        either = lhs if isinstance(lhs, EitherValue) else rhs
        if not isinstance(either, EitherValue):
            assert isinstance(lhs, ArrayValue)
            return numpy_rules.inplace(machine, op, lhs, rhs)

        def change(one: Value) -> None:
            changed, by = (one, rhs) if either is lhs else (lhs, one)
            if inplace(machine, op, changed, by) is not changed:
                raise Break("unsupported-operation", f"{op}= on an array or {a_kind(one)}")

        split_each(machine, either, change)
        return lhs
    if isinstance(lhs, ListValue):
        if op != "+" or not _is_one_item(rhs):
            raise Break("side-effect-container", f"{op}= on a list")
        object_lists.put(machine, lhs, None, rhs.items[0])
        return lhs
    if isinstance(lhs, SequenceValue) and lhs.kind is list:
        if op != "+" or lhs.source is not None or _is_array(rhs) or _is_object(rhs):  # whose __radd__ is asked first
            raise Break("side-effect-container", f"{op}= on a list")
        extend(machine, lhs, rhs)
        return lhs
    if _is_object(lhs):
        answer = _asked(machine, lhs, f"__i{_SPECIAL[op]}__", rhs)
        if answer is not None:
            return answer
    return binary(machine, op, lhs, rhs)


def _lengthened(machine: Machine, lhs: Value, rhs: Value) -> Value:
    """The result of `lhs += rhs`; lhs: a list or dict from outside of which nothing has been asked."""
    assert isinstance(lhs, LazyValue)
    made = realise(machine.tracer, rhs)
    if type(lhs.concrete) is not list or not _is_one_item(made):
        raise Break("side-effect-container", f"+= on a {type(lhs.concrete).__name__}")
    lists.append_outside(machine, lhs, made.items[0])
    return lhs


def _is_one_item(value: Value) -> TypeGuard[SequenceValue]:
    """Whether it is a list or tuple of one item that was just made: `xs += [x]` is an append."""
    if not isinstance(value, SequenceValue) or value.source is not None or value.became is not None:
        return False
    return value.cells is None and not value.is_grown and len(value.items) == 1


def _may_be_array(value: Value) -> bool:
    """Whether it is an array that is no scalar, on one way at least."""
    if isinstance(value, EitherValue):
        return _may_be_array(value.first) or _may_be_array(value.second)
    return isinstance(value, ArrayValue) and not value.node.array_type.scalar


def _beside_arrays(machine: Machine, lhs: Value, rhs: Value) -> tuple[Value, Value]:
    """Operands of which a number of one type or another, beside an array that makes no difference of them, is one."""
    if isinstance(lhs, EitherValue) and isinstance(rhs, ArrayValue):
        return one_scalar(machine, lhs, [rhs]) or lhs, rhs
    if isinstance(rhs, EitherValue) and isinstance(lhs, ArrayValue):
        return lhs, one_scalar(machine, rhs, [lhs]) or rhs
    return lhs, rhs


def _are_numpy_numbers(lhs: Value, rhs: Value) -> bool:
    """Whether both are Python numbers or constant NumPy scalars, and one of them is such a scalar."""
    scalars = [numpy_rules.is_constant_scalar(one) for one in (lhs, rhs)]
    return any(scalars) and all(
        is_scalar or as_scalar(one) is not None for is_scalar, one in zip(scalars, (lhs, rhs), strict=True)
    )


def _as_scalars(machine: Machine, *values: Value) -> list[Value]:
    return [numpy_rules.constant_scalar(machine, one) if numpy_rules.is_constant_scalar(one) else one for one in values]


def _plain(value: Value) -> bool:
    return isinstance(value, NumberValue) or (
        isinstance(value, ConstantValue) and type(value.value) in (int, float, bool, complex, str, bytes)
    )


@handles("UNARY_NEGATIVE")
def unary_negative(machine: Machine, frame: Frame, instr: Instr) -> None:
    frame.push(unary(machine, "-", machine.pop(frame)))


@handles("UNARY_POSITIVE")
def unary_positive(machine: Machine, frame: Frame, instr: Instr) -> None:
    frame.push(unary(machine, "+", machine.pop(frame)))


@handles("UNARY_INVERT")
def unary_invert(machine: Machine, frame: Frame, instr: Instr) -> None:
    frame.push(unary(machine, "~", machine.pop(frame)))


def unary(machine: Machine, op: str, operand: Value) -> Value:
    """-x, +x, ~x."""
    if isinstance(operand, EitherValue):
        return split(machine, operand, lambda one: unary(machine, op, one))
    if isinstance(operand, ArrayValue):
        return numpy_rules.unary(machine, op, operand)
    if isinstance(operand, ComplexValue):
        return complex_operators.unary(machine, op, operand)
    if _is_object(operand):
        return machine.call_special(operand, _SPECIAL_UNARY[op], [])
    if as_scalar(operand) is not None:
        return number_unary(machine.tracer, op, operand if op == "~" else as_whole(machine, operand))
    raise Break("unsupported-operation", f"{op} of {a_kind(operand)}")


@handles("COMPARE_OP")
def compare_op(machine: Machine, frame: Frame, instr: Instr) -> None:
    lhs, rhs = machine.popn(frame, 2)
    frame.push(compare(machine, instr.arg, lhs, rhs))


def compare(machine: Machine, op: str, lhs: Value, rhs: Value) -> Value:
    """lhs op rhs for a comparison."""
    lhs, rhs = (numpy_rules.read_result(machine, operand) for operand in (lhs, rhs))
    lhs, rhs = _beside_arrays(machine, lhs, rhs)
    if op not in ("==", "!=") and (_is_numeric(lhs) or _is_numeric(rhs)):
        lhs, rhs = not_none(machine, lhs), not_none(machine, rhs)
    if isinstance(lhs, EitherValue):
        return split(machine, lhs, lambda one: compare(machine, op, one, rhs))
    if isinstance(rhs, EitherValue):
        return split(machine, rhs, lambda one: compare(machine, op, lhs, one))
    if isinstance(lhs, CharacterValue) or isinstance(rhs, CharacterValue):
        return compare_characters(machine, op, lhs, rhs)
    of_complex = complex_operators.compare(machine, op, lhs, rhs)
    if of_complex is not None:
        return of_complex
    if _is_array(lhs) or _is_array(rhs):
        return numpy_rules.compare(machine, op, *complex_operators.as_numpy(machine, lhs, rhs))
    if as_scalar(lhs) is not None and as_scalar(rhs) is not None:
        return number_compare(machine.tracer, op, lhs, rhs)
    if _are_numpy_numbers(lhs, rhs) and (as_scalar(lhs) is not None or as_scalar(rhs) is not None):
        return numpy_rules.compare(machine, op, *_as_scalars(machine, lhs, rhs))
    if op in ("==", "!=") and (isinstance(lhs, ListValue) or isinstance(rhs, ListValue)):
        lhs, rhs = _by_items(machine, lhs, rhs)
    if op in ("==", "!=") and (items := _items_compared(lhs, rhs)) is not None:
        equal = _equal_items(machine, *items)
        return machine.tracer.number(simplify(equal if op == "==" else negate(equal)))
    if isinstance(lhs, ConstantValue) and isinstance(rhs, ConstantValue) and _comparable(lhs) and _comparable(rhs):
        return python_result(PYTHON_OPERATORS[op], lhs.value, rhs.value)
    if op in ("==", "!=") and _never_equal(lhs, rhs):
        return ConstantValue(None, op == "!=")
    if op in ("==", "!=") and (number := listed_objects.few_equal(machine.tracer, lhs, rhs, False)) is not None:
        return machine.tracer.number(number if op == "==" else simplify(negate(number)))
    is_listed = isinstance(lhs, ListedObject) or isinstance(rhs, ListedObject)
    if is_listed and op in ("==", "!=") and all(_compares_by_identity(machine, one) for one in (lhs, rhs)):
        return _is(machine, lhs, rhs, op == "==")
    if op in ("==", "!=") and _compares_by_identity(machine, lhs) and _compares_by_identity(machine, rhs):
        return ConstantValue(None, identical(machine, lhs, rhs) == (op == "=="))
    raise Break("unsupported-operation", f"{op} of {a_kind(lhs)} and {a_kind(rhs)}")


def _builtin_kind(value: Value) -> type | None:
    """Of a builtin object the type whose objects alone may be equal to it; None for others."""
    if isinstance(value, SequenceValue):
        return value.kind if value.kind in (tuple, list) else None
    if isinstance(value, DictValue):
        return dict
    if as_scalar(value) is not None:
        return complex
    if isinstance(value, ConstantValue):
        kind = type(value.value)
        return kind if kind in (str, bytes, tuple, list, dict, type(None)) else None
    return None


def _never_equal(lhs: Value, rhs: Value) -> bool:
    """Whether two builtin objects are of types that have no equal objects."""
    one, other = _builtin_kind(lhs), _builtin_kind(rhs)
    return one is not None and other is not None and one is not other


def _by_items(machine: Machine, lhs: Value, rhs: Value) -> tuple[Value, Value]:
    """Two short lists, one of which the program has as an object, by their items; as they are where neither tells how
    many these are. NB: where a list of the program's has another length it declines."""
    known = [one for one in (lhs, rhs) if isinstance(one, SequenceValue) and one.kind is list and not one.is_grown]
    counts = [len(one.known) for one in known if one.times is None and one.cells is None]
    counts += [len(one.concrete) for one in (lhs, rhs) if isinstance(one, ListValue) and one.at is not None]
    if not counts or counts[0] > LONGEST:
        return lhs, rhs
    lhs, rhs = (
        SequenceValue(None, list, object_lists.unpack(machine, one, counts[0])) if isinstance(one, ListValue) else one
        for one in (lhs, rhs)
    )
    return lhs, rhs


def _items_compared(lhs: Value, rhs: Value) -> tuple[SequenceValue, SequenceValue] | None:
    """Two lists or two tuples; None for others."""
    one, other = _sequence(lhs), _sequence(rhs)
    both_known = one is not lhs and other is not rhs
    return None if one is None or other is None or one.kind is not other.kind or both_known else (one, other)


def _sequence(value: Value) -> SequenceValue | None:
    """A list or tuple, also one that is a constant; None for others."""
    if isinstance(value, ConstantValue) and type(value.value) is tuple:
        return SequenceValue(None, tuple, [ConstantValue(None, item) for item in value.value])
    return value if isinstance(value, SequenceValue) else None


def _equal_items(machine: Machine, lhs: SequenceValue, rhs: SequenceValue) -> Scalar:
    """lhs == rhs for two lists or two tuples; NB: only lists look at their lengths before they look at items."""
    same_length = len(lhs.items) == len(rhs.items)
    if lhs.kind is list and not same_length:
        return False
    result: Scalar = same_length
    for one, other in zip(lhs.items, rhs.items, strict=False):
        equal = open_equal(machine, one, other)
        if equal is None:
            equal = known_equal(machine, one, other)
        if equal is False:
            return False
        result = make("and", result, equal)
    return result


def open_equal(machine: Machine, lhs: Value, rhs: Value) -> Scalar | None:
    """Whether an item of a sequence is `rhs` or equal to it, where both are numbers, or tuples of such, and one of them
    changes in a loop; None for others. NB: a float that may be NaN equals itself if it is the same object."""
    lhs, rhs = machine.realised(lhs), machine.realised(rhs)
    items = None if lhs is rhs else _items_compared(lhs, rhs)
    if items is not None:
        return _equal_items(machine, *items)
    one, other = (as_scalar(_read(machine, value)) for value in (lhs, rhs))
    if lhs is rhs or one is None or other is None:
        return None
    one, other = (int(number) if type(number) is bool else number for number in (one, other))
    kinds = [kind_of(number) for number in (one, other)]
    if not {*kinds} <= {"int", "float"} or not machine.tracer.varies(make("eq", one, other)):
        return None
    if kinds == ["float", "float"] and all(is_symbolic(number) or number != number for number in (one, other)):
        return None
    return as_scalar(number_compare(machine.tracer, "==", *map(machine.tracer.number, (one, other))))


def _read(machine: Machine, value: Value) -> Value:
    """A NumPy scalar that compares as the Python number in it does as that number; others as they are."""
    if isinstance(value, ArrayValue) and _is_scalar_of_pythons_kinds(value):
        return numpy_rules.read_number(machine, value) or value
    return value


def _compares_by_identity(machine: Machine, value: Value) -> bool:
    """True for an object of a type that leaves == to object, and for what is unequal to any such object."""
    if _is_object(value) or isinstance(value, ListedObject):
        if isinstance(value, ObjectValue):
            assert value.source is not None
            machine.tracer.state_class("type_version", value.source, value.cls)
        return not any("__eq__" in vars(base) or "__ne__" in vars(base) for base in value.cls.__mro__[:-1])
    return isinstance(value, NumberValue | SequenceValue) or (
        isinstance(value, ConstantValue)
        and type(value.value) in (bool, int, float, str, type(None), type(np.mean), type)
    )


def known_equal(machine: Machine, lhs: Value, rhs: Value) -> bool:
    """Whether an item of a sequence is `rhs` or equal to it."""
    lhs, rhs = machine.realised(lhs), machine.realised(rhs)
    if lhs is rhs:
        return True  # containers ask for identity first
    if _is_array(lhs) or _is_array(rhs):
        raise Break("unsupported-operation", "comparison of sequences that hold arrays")
    if isinstance(lhs, EitherValue) or isinstance(rhs, EitherValue):
        raise Break("data-dependent-number", "a comparison with an item of a sequence")
    refuse_nan(machine.tracer, lhs)
    result = compare(machine, "==", lhs, rhs)
    if isinstance(result, NumberValue):
        return machine.tracer.relate(result.expr)
    assert isinstance(result, ConstantValue)
    return bool(result.value)


def _comparable(value: ConstantValue) -> bool:
    module = module_of(type(value.value))
    return module == "builtins" or module.startswith("numpy")


@handles("IS_OP")
def is_op(machine: Machine, frame: Frame, instr: Instr) -> None:
    lhs, rhs = machine.popn(frame, 2)
    frame.push(_is(machine, lhs, rhs, instr.arg == "is"))


def _is(machine: Machine, lhs: Value, rhs: Value, wanted: bool) -> Value:
    """Whether lhs is rhs, or is not where that is wanted."""
    if isinstance(rhs, EitherValue | NumberValue):
        lhs, rhs = rhs, lhs
    if isinstance(lhs, NumberValue) and isinstance(rhs, ConstantValue) and type(rhs.value) is bool:
        if kind_of(lhs.expr) != "bool":
            return ConstantValue(None, not wanted)
        return NumberValue(None, lhs.expr if rhs.value is wanted else simplify(negate(lhs.expr)))
    is_small = isinstance(rhs, ConstantValue) and type(rhs.value) is int and is_single(rhs.value)
    if isinstance(lhs, NumberValue) and kind_of(lhs.expr) == "int" and is_small:
        same = make("eq", lhs.expr, as_constant(machine, rhs))  # of such an int there is one object
        return machine.tracer.number(same if wanted else simplify(negate(same)))
    few = listed_objects.few_equal(machine.tracer, lhs, rhs, True)
    found = listed_objects.equal(machine, lhs, rhs) if few is None else few
    if found is not None:
        return machine.tracer.number(found if wanted else simplify(negate(found)))
    if isinstance(rhs, OneOf):
        lhs, rhs = rhs, lhs
    if isinstance(lhs, OneOf):
        is_one = _is_chosen(machine, lhs, rhs)
        return machine.tracer.number(is_one if wanted else simplify(negate(is_one)))
    if not isinstance(lhs, EitherValue):
        return ConstantValue(None, identical(machine, lhs, rhs) is wanted)
    condition = none_condition(machine, lhs) if is_none(rhs) and lhs is not rhs else None
    if condition is None:
        raise Break("unsupported-operation", "identity of what is one thing or another")
    number = as_number_here(machine, condition)
    return NumberValue(None, number if wanted else simplify(negate(number)))


def _is_chosen(machine: Machine, one: OneOf, other: Value) -> Scalar:
    """Whether one of a few objects is another one, or one of others."""
    look_at(machine, one)
    look_at(machine, other)
    others = objects_of(machine.tracer, other)
    if others is None:
        found = [number for number, value in one.objects.items() if identical(machine, value, other)]
        return is_the_one(one, found[0]) if found else False
    for number, value in one.objects.items():
        for key, second in others.items():
            if (number == key) is not identical(machine, value, second):
                raise Break("unsupported-operation", "identity of what is one thing or another")
    return make("eq", code_of(machine.tracer, one), code_of(machine.tracer, other))


_OF_KNOWN_TYPE = ArrayValue | NumberValue | SequenceValue | DictValue | ComplexValue | RangeValue
_SINGLETONS = (type(None), bool, type(Ellipsis), type(NotImplemented), type(np._NoValue))


def identical(machine: Machine, lhs: Value, rhs: Value) -> bool:
    """lhs is rhs, where the guards already decide it."""
    if lhs is rhs:
        return True
    if isinstance(lhs, EitherValue) or isinstance(rhs, EitherValue):
        raise Break("unsupported-operation", "identity of what is one thing or another")
    if isinstance(lhs, ConstantValue) and isinstance(rhs, ConstantValue):
        a, b = lhs.value, rhs.value
        if isinstance(a, _SINGLETONS) or isinstance(b, _SINGLETONS) or callable(a) or callable(b):
            return a is b
        if is_single(a) and is_single(b):
            return bool(a == b)
        raise Break("unsupported-operation", "identity of constants")
    if isinstance(lhs, ArrayValue) and isinstance(rhs, ArrayValue):
        if numpy_rules.carried(machine, lhs) or numpy_rules.carried(machine, rhs):
            raise Break("array-identity", "is")
        is_item = lhs.node in machine.tracer.array_items or rhs.node in machine.tracer.array_items
        if is_item or "object_array" in (lhs.node.op, rhs.node.op):
            raise Break("array-identity", "is")
        if lhs.source is not None and rhs.source is not None:
            machine.tracer.facts.state_pair("distinct", lhs.source, rhs.source)
            return False
        if lhs.node.array_type.scalar or rhs.node.array_type.scalar:
            raise Break("array-identity", "is")
        return lhs.node is rhs.node
    if isinstance(lhs, InstanceValue) or isinstance(rhs, InstanceValue):
        return False  # it is new
    for one, other in ((lhs, rhs), (rhs, lhs)):
        if (
            isinstance(one, ConstantValue)
            and type(other) is not ConstantValue
            and (isinstance(one.value, _SINGLETONS) or callable(one.value))
        ):
            if isinstance(other, FunctionValue) and isinstance(one.value, types.FunctionType):
                raise Break("unsupported-operation", "identity of a function")
            if isinstance(other, NumberValue | ResultValue) and isinstance(one.value, bool):
                raise Break("unsupported-operation", "identity of a number")
            if isinstance(other, ObjectValue) and other.cls is type(one.value) and other.source is not None:
                machine.tracer.facts.state_pair("distinct", other.source, constant(one.value))
            return False  # else the other's exact type is known and is none of these
    if isinstance(lhs, ObjectValue) and isinstance(rhs, ObjectValue) and lhs.source and rhs.source:
        if lhs.concrete is rhs.concrete:
            machine.tracer.facts.state_pair("same", lhs.source, rhs.source)
            return True
        machine.tracer.facts.state_pair("distinct", lhs.source, rhs.source)
        return False
    for one, other in ((lhs, rhs), (rhs, lhs)):
        is_known = type(other) is ConstantValue or isinstance(other, _OF_KNOWN_TYPE)
        if isinstance(one, ObjectValue) and is_known and python_type(other) is not one.cls:
            return False  # `x is np.ma.masked`, say: both types are known, and unlike
    raise Break("unsupported-operation", f"`is` of {a_kind(lhs)} and {a_kind(rhs)}")


@handles("CONTAINS_OP")
def contains_op(machine: Machine, frame: Frame, instr: Instr) -> None:
    item, container = machine.popn(frame, 2)
    frame.push(_is_in(machine, item, container, instr.arg == "in"))


def _is_in(machine: Machine, item: Value, container: Value, wanted: bool) -> Value:
    """Whether item is in container, or is not where that is wanted."""
    if isinstance(item, EitherValue):
        return split(machine, item, lambda one: _is_in(machine, one, container, wanted))
    if isinstance(item, CharacterValue):
        return is_among(machine, item, container, wanted)
    if isinstance(container, RangeValue):
        open_ = _is_in_range(machine, item, container)
    else:
        open_ = _is_in_array(machine, item, container) or _is_one_of(machine, item, container)
    if open_ is not None:
        return NumberValue(None, open_ if wanted else make("not", open_))
    return ConstantValue(None, contains(machine, item, container) is wanted)


def _is_in_array(machine: Machine, item: Value, container: Value) -> Scalar | None:
    """Whether an array has an element that is equal to a number or NumPy scalar; None for others.

    (container == item).any(), as ndarray.__contains__ has it."""
    is_whole = isinstance(container, ArrayValue) and not container.node.array_type.scalar
    if not is_whole or (as_scalar(item) is None and not isinstance(item, ArrayValue)):
        return None
    found = numpy_rules.call_numpy(machine, np.any, [compare(machine, "==", container, item)], {})
    whole = None if found is None else numpy_rules.call_numpy(machine, np.int64, [found], {})
    number = None if whole is None else as_scalar(numpy_rules.read_number(machine, whole, asked=True) or whole)
    return None if number is None else make("ne", number, 0)


def _is_in_range(machine: Machine, item: Value, container: RangeValue) -> Scalar | None:
    """Whether an integer is in a range whose step is known; None for others."""
    number, step = as_scalar(_read(machine, machine.realised(item))), container.step
    if number is None or not isinstance(step, int) or kind_of(number) not in ("int", "bool"):
        return None
    number = make("add", number, 0)  # as `range` takes a bool
    least, most = ("ge", "lt") if step > 0 else ("le", "gt")
    found = make("and", make(least, number, container.start), make(most, number, container.stop))
    if abs(step) == 1:
        return found
    return make("and", found, make("eq", make("mod", make("sub", number, container.start), step), 0))


def _is_one_of(machine: Machine, item: Value, container: Value) -> Scalar | None:
    """Whether a number that changes in a loop, or a tuple of such, is equal to one of a few; None for others."""
    if not machine.tracer.regions:
        return None
    if isinstance(container, ConstantValue) and isinstance(container.value, frozenset):
        among: list[Value] = [ConstantValue(None, one) for one in container.value]
    else:
        sequence = _sequence(container)
        among = [] if sequence is None else sequence.items
    if not 0 < len(among) <= _FEW:
        return None
    item = _read(machine, machine.realised(item))
    found: Scalar = False
    for one in among:
        is_equal = open_equal(machine, one, item)
        if is_equal is None:
            return None
        found = make("or", found, is_equal)
    return found if is_symbolic(found) else None


def _is_scalar_of_pythons_kinds(value: ArrayValue) -> bool:
    """Whether it is a NumPy scalar that compares as the Python number in it does."""
    return value.node.array_type.scalar and value.node.array_type.dtype in (np.float64, np.int64)


def contains(machine: Machine, item: Value, container: Value) -> bool:
    """item in container."""
    match container:
        case SequenceValue():
            return any(known_equal(machine, other, item) for other in container.items)
        case DictValue():
            return dict_key(machine, item) in container.items
        case DictViewValue(name="keys"):
            return dict_key(machine, item) in container.of.items
        case ConstantValue() if isinstance(container.value, str | tuple | frozenset):
            found = python_result(operator.contains, container.value, as_constant(machine, item))
            assert isinstance(found, ConstantValue)
            return bool(found.value)
    raise Break("unsupported-operation", f"`in` {a_kind(container)}")

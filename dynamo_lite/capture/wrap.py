"""wrap: a concrete object found at a source, as a symbolic value, with the guard on what was looked at.

One row a type in ``_RULES``; a type without a row gives a plain Value whose exact type is guarded.
"""

from __future__ import annotations

import functools
import operator
import random
import types
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from dynamo_lite._C import CompiledFunction, class_of, generic_attributes, looks_plain, names_are_plain, text_array
from dynamo_lite._C import column as make_column
from dynamo_lite.budget import left, spend
from dynamo_lite.capture.arrays import parts
from dynamo_lite.capture.lists.holdings import holding_of
from dynamo_lite.capture.loops.rests import Rest
from dynamo_lite.capture.numbers.complex_numbers import from_outside
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.segments.restraints import WHOLE
from dynamo_lite.capture.source import Source, constant, global_
from dynamo_lite.capture.state import Retry, Tracer
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    CellValue,
    ComplexValue,
    ConstantValue,
    DictValue,
    FunctionValue,
    LazyValue,
    MethodValue,
    NumberedValue,
    NumberValue,
    ObjectValue,
    RangeValue,
    RecordValue,
    RestValue,
    SequenceValue,
    SliceValue,
    TextValue,
    UnreadValue,
    Value,
    lazy,
)
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.scalar import Dim, Scalar, Symbol
from dynamo_lite.graph.types import MAX_DIMS, ArrayType
from dynamo_lite.pycode import Code, loops, remembered

# Callables made at will, with objects in them that a guard would keep alive.
_HOLDERS = (functools.partial, operator.attrgetter, operator.itemgetter, operator.methodcaller)
IMMUTABLE_TYPE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE: a type of C's own, whose attributes nobody can set
_WARN_ON_WRITE = 1 << 31  # NPY_ARRAY_WARN_ON_WRITE; NB: reading flags.writeable warns as well
_FAR = 2**63 - 2**40  # from here on sums with sizes do not fit 64 bits, and guards about these fail
_NUMBERS = range(1 - _FAR, _FAR)

SUPPORTED_DTYPES = frozenset(np.dtype(char) for char in "?bBhHiIlLqQefdFD")
_LENGTHS = 3  # of a list from outside, each of which may have a version of its own
_INTP = np.dtype(np.intp)
_SCALAR_TYPES = frozenset(dtype.type for dtype in SUPPORTED_DTYPES)


def supported_dtype(dtype: np.dtype[Any]) -> bool:
    """True for plain numbers in native byte order."""
    return dtype in SUPPORTED_DTYPES and dtype.isnative and dtype.metadata is None


def supported_array(array: np.ndarray[Any, Any]) -> bool:
    """True for what a native program can take: a supported dtype, aligned, at most 8 dimensions.

    An array of np.broadcast_arrays is not, since NumPy warns at the first write into it.
    """
    flags = array.flags
    return supported_dtype(array.dtype) and flags.aligned and not flags.num & _WARN_ON_WRITE and array.ndim <= MAX_DIMS


def wrap(tracer: Tracer, obj: Any, source: Source) -> Value:
    """`obj`, which `source` names, as a symbolic value."""
    if id(obj) in tracer.grown:
        tracer.note_reading()
        raise Break("loop-list", str(source))
    _check_filters(tracer, obj)
    known = tracer.wrapped.get(id(obj))
    if known is not None and known[1].source is not None and _is_one(known[1]):
        if known[1].source != source:
            tracer.facts.state_pair("same", source, known[1].source)
        return known[1]
    if not looks_plain(obj):
        raise Break("own-metaclass", str(source))
    rule = _RULES.get(type(obj))
    if rule is None:
        # NB: type(), not isinstance(): the latter asks obj.__class__, which may be the user's code.
        if type(obj) in _SCALAR_TYPES:
            rule = _wrap_numpy_scalar
        elif issubclass(type(obj), CompiledFunction):
            rule = _wrap_compiled
        elif (
            issubclass(type(obj), type)
            or (issubclass(type(obj), np.dtype) and obj.names is None)
            or (callable(obj) and type(obj).__flags__ & IMMUTABLE_TYPE and type(obj) not in _HOLDERS)
        ):
            rule = _wrap_identity
        else:
            rule = _wrap_object
    value = rule(tracer, obj, source)
    tracer.wrapped[id(obj)] = (obj, value)
    if isinstance(value, ArrayValue):
        tracer.arrays[value.node] = value
    return value


def _is_one(value: Value) -> bool:
    """Whether an object that is reached on two ways is to be one value: a change is seen on both."""
    return isinstance(value, ArrayValue | ObjectValue | DictValue) or (
        isinstance(value, SequenceValue) and value.kind is list
    )


def _wrap_array(tracer: Tracer, obj: np.ndarray[Any, Any], source: Source) -> Value:
    if not supported_array(obj):
        tracer.facts.state("unfit", source)
        return Value(source)
    ones = sum(1 << axis for axis, size in enumerate(obj.shape) if size == 1)
    tracer.facts.state("array", source, obj.dtype, obj.ndim, ones, obj.flags.writeable)
    if parts.is_open(tracer, source) and (part := _as_part(tracer, obj, source)) is not None:
        return ArrayValue(source, part)
    index = len(tracer.inputs)
    node = tracer.root.add_input(ArrayType(obj.dtype, ()), _stem(source))
    shape: list[Dim] = []
    for axis, size in enumerate(obj.shape):
        if size == 1:
            shape.append(1)
        else:
            symbol = tracer.root.add_symbol("int", index, axis)
            tracer.hints[symbol.name] = size
            shape.append(symbol)
    node.type = ArrayType(obj.dtype, tuple(shape))
    tracer.inputs.append(source)
    tracer.example_inputs.append(obj)
    return ArrayValue(source, node)


def _as_part(tracer: Tracer, obj: np.ndarray[Any, Any], source: Source) -> Node | None:
    """The view that stands for an array which is a part of an earlier input, or of its base."""
    for input_ in tracer.root.inputs:
        if isinstance(input_, Node) and parts.is_array(tracer, input_):
            whole = tracer.example_inputs[input_.params["index"]]
            if (found := parts.part_of(tracer, obj, source, whole, input_)) is not None:
                return found
    base = obj.base
    if type(base) is not np.ndarray or not supported_array(base) or parts.index_of(base, obj) is None:
        return None
    whole = wrap(tracer, base, Source("base", source, "base"))
    assert isinstance(whole, ArrayValue)
    return parts.part_of(tracer, obj, source, base, whole.node)


def _wrap_numpy_scalar(tracer: Tracer, obj: np.generic, source: Source) -> Value:
    tracer.facts.state("np_scalar", source, type(obj))
    node = tracer.root.add_input(ArrayType(obj.dtype, (), True), _stem(source))
    tracer.inputs.append(source)
    tracer.example_inputs.append(obj)
    return ArrayValue(source, node)


def int_from_outside(tracer: Tracer, value: ArrayValue) -> Scalar | None:
    """The number that an integer NumPy scalar is known to be, or that the guards read out of one from outside.

    NB: only where a size, a bound or a Python int is made of it: comparisons of numbers are guarded.
    """
    node = value.node
    if value.number is not None or node.kind is not NodeKind.INPUT or not node.array_type.scalar:
        return value.number
    if node.array_type.dtype.num != _INTP.num:  # NB: long long is equal to it
        return None
    place = node.params["index"]
    if not (place < len(tracer.root.inputs) and tracer.root.inputs[place] is node):
        return None  # of a loop's body
    if int(tracer.example_inputs[place]) not in _NUMBERS:
        return None
    symbol = tracer.root.add_symbol("int", place)
    tracer.hints[symbol.name] = int(tracer.example_inputs[place])
    value.number = symbol
    return symbol


def number_sources(tracer: Tracer) -> list[Source | None]:
    """Where the Python numbers among the inputs come from, None for the other inputs, and for what the guards make."""
    pairs = zip(tracer.root.inputs, tracer.inputs, strict=True)
    return [
        source if isinstance(given, Symbol) and not is_made_by_guards(tracer, source) else None
        for given, source in pairs
    ]


def is_made_by_guards(tracer: Tracer, source: Source) -> bool:
    """Whether only the guards can read a number: residual code would find another one, or has no code for it."""
    return source.kind == "list_length" or source in tracer.made_by_guards


def _stem(source: Source) -> str:
    text = str(source).rpartition(".")[2]
    return text if text.isidentifier() else "x"


def _wrap_number(tracer: Tracer, obj: int | float, source: Source) -> Value:
    if isinstance(obj, int) and obj not in _NUMBERS:
        return _wrap_equal(tracer, obj, source)
    if _is_constant(tracer, obj, source):
        return _wrap_identity(tracer, obj, source)
    kind = "int" if isinstance(obj, int) else "float"
    tracer.facts.state("number", source, kind)
    symbol = tracer.root.add_symbol(kind)
    tracer.hints[symbol.name] = obj
    tracer.inputs.append(source)
    tracer.example_inputs.append(obj)
    return NumberValue(source, symbol)


def _is_constant(tracer: Tracer, obj: int | float, source: Source) -> bool:
    """Whether a number is a variable of a module that nothing has been seen to change: what holds a coefficient, say.

    The guard is on the object, which costs least. The first capture that finds another one there takes it for an input.
    """
    of_module = source.kind == "attr" and isinstance(_module_at(source.base), types.ModuleType)
    if not tracer.constants or not (of_module or source.kind == "global"):
        return False
    numbers = tracer.restraints.numbers
    stored = any(source == global_(one.namespace, name) for one in tracer.frames for name in stored_globals(one.code))
    if stored or numbers.setdefault(source, obj) is not obj:
        numbers[source] = MISSING
    return numbers[source] is obj


@remembered
def stored_globals(code: Code) -> frozenset[str]:
    """The variables of its module that `code` sets."""
    return frozenset(instr.arg for instr in code.instrs if instr.op in ("STORE_GLOBAL", "DELETE_GLOBAL"))


def _module_at(source: Source | None) -> Any:
    """What a path of names from a module's variables leads to, or MISSING."""
    match source:
        case Source(kind="const"):
            return source.key.value
        case Source(kind="global"):
            return source.key[0].value.get(source.key[1], MISSING)
        case Source(kind="attr"):
            owner = _module_at(source.base)
            return vars(owner).get(source.key, MISSING) if isinstance(owner, types.ModuleType) else MISSING
    return MISSING


def _wrap_equal(tracer: Tracer, obj: Any, source: Source) -> Value:
    tracer.facts.state("equal", source, obj)
    return ConstantValue(source, obj)


def _stays_equal(tracer: Tracer, obj: complex, source: Source) -> bool:
    """Whether all captures so far have met a number equal to `obj` there, which a NaN is not."""
    numbers = tracer.restraints.numbers
    if numbers.setdefault(source, obj) != obj:
        numbers[source] = MISSING
    return numbers[source] is not MISSING


def _wrap_complex(tracer: Tracer, obj: complex, source: Source) -> Value:
    """A complex number as the constant that it is; where earlier captures have met another one, by its parts."""
    if _stays_equal(tracer, obj, source):
        return _wrap_equal(tracer, obj, source)
    tracer.facts.state("type", source, complex)
    parts: list[Value] = []
    for name in ("real", "imag"):
        number = _wrap_number(tracer, getattr(obj, name), Source("complex_part", source, name))
        assert isinstance(number, NumberValue)
        parts.append(NumberValue(None, number.expr, serial=-1))
    return from_outside(tracer, ComplexValue(source, parts, tracer.complexes))


def _wrap_text(tracer: Tracer, obj: str | bytes, source: Source) -> Value:
    tracer.facts.state("type", source, type(obj))
    return TextValue(source, obj, functools.partial(tracer.facts.state, "equal", source, obj))


def characters(tracer: Tracer, text: TextValue) -> ArrayValue:
    """The characters of a string from outside, as an input of the graph: unsigned ints as wide as the widest needs."""
    if text.characters is None:
        assert text.source is not None
        array = text_array(text.text)
        assert array is not None
        made = _wrap_array(tracer, array, Source("text", text.source, None))
        assert isinstance(made, ArrayValue)
        text.characters = made
    return text.characters


def _wrap_identity(tracer: Tracer, obj: Any, source: Source) -> Value:
    tracer.facts.state("is", source, obj)
    return ConstantValue(source, obj)


def realise(tracer: Tracer, value: Value) -> Value:
    """A lazy value looked at for the first time: wrapped, its guard stated; other values as they are."""
    if isinstance(value, UnreadValue):
        return value.look()
    if isinstance(value, SequenceValue) and value.became is not None:
        return value.became
    if not isinstance(value, LazyValue):
        return value
    if value.known is None:
        assert value.source is not None
        if value.source.kind == "item" and value.source.base in tracer.long:
            _look_into(tracer, value.source.base)
        value.known = wrap(tracer, value.concrete, value.source)
    return value.known


def is_changed_unread(tracer: Tracer, value: Value) -> bool:
    """Whether `value`, about to be changed, is a list or dict from outside that nothing has been asked of: then its
    type alone is guarded. The change breaks the graph whatever it holds; a guard of its length would fail at the next
    call.
    """
    if not isinstance(value, LazyValue) or value.known is not None or type(value.concrete) not in (list, dict):
        return False
    if is_object_list(tracer, value):
        return False
    assert value.source is not None
    tracer.facts.state("type", value.source, type(value.concrete))
    return True


def is_object_list(tracer: Tracer, value: Value) -> bool:
    """Whether `value`, of which nothing has been asked yet, is a list that the program has as an object."""
    if not tracer.restraints.objects or not tracer.native_loops or not isinstance(value, LazyValue):
        return False
    return value.known is None and holding_of(value.concrete, arrays=tracer.restraints.arrays) is not None


def present(tracer: Tracer, source: Source, obj: Any) -> Value:
    """What `source` names now, not looked at; that it names something is guarded. (Else residual code, which loads it
    later and elsewhere, could be the first to find it gone.)"""
    _check_filters(tracer, obj)
    tracer.facts.register(source)
    return lazy(source, obj)


def _check_filters(tracer: Tracer, obj: object) -> None:
    """Break where the filters of warnings are looked at in a block that has others, which the program does not make."""
    if tracer.filters and obj is vars(warnings).get("filters"):
        raise Break("unsupported-operation", "warnings.filters in a block of catch_warnings")


def _wrap_function(tracer: Tracer, obj: types.FunctionType, source: Source) -> Value:
    """A function by identity where it lives as long as its module; else by what it is made of: the next one made at the
    same place passes, and none is kept alive by a guard."""
    known = obj.__globals__.get(obj.__name__) is obj or bool(vars(obj))
    if known or not _comes_and_goes(source):
        return _wrap_identity(tracer, obj, source)
    code, given, named = obj.__code__, obj.__defaults__ or (), obj.__kwdefaults__ or {}
    tracer.facts.state("function", source, code, len(given), tuple(named))
    tracer.facts.state("function_globals", source, obj.__globals__)
    at, by = Source("defaults", source, None), Source("kwdefaults", source, None)
    cells = enumerate(obj.__closure__ or ())
    return FunctionValue(
        source,
        code,
        obj.__globals__,
        code.co_name,
        code.co_qualname,
        tuple(lazy(at.item(index), value) for index, value in enumerate(given)),
        {name: lazy(Source("key", by, name), value) for name, value in named.items()},
        tuple(outer_cell(tracer, cell, Source("closure", source, index)) for index, cell in cells),
    )


def outer_cell(tracer: Tracer, cell: types.CellType, source: Source) -> CellValue:
    """A closure cell from outside; source: of what it holds, or of the cell itself."""
    if tracer.outer_cells is None:
        return CellValue(source, None, cell)
    known = tracer.outer_cells.get(id(cell))
    if known is None:
        known = tracer.outer_cells[id(cell)] = CellValue(source, None, cell)
        known.contents = cell_entry(known)
    assert known.source is not None
    if known.source != source:
        tracer.facts.state_pair("same", known.source.cell(), source.cell())
    return known


def cell_entry(cell: CellValue) -> Value | None:
    """What a cell from outside held before the segment; None if it was empty."""
    assert cell.concrete is not None and cell.source is not None
    try:
        value = cell.concrete.cell_contents
    except ValueError:
        return None
    source = cell.source if cell.source.kind in ("cell", "closure") else Source("cell_contents", cell.source, None)
    return lazy(source, value)


def read_cell(cell: CellValue) -> Value | None:
    """What a closure cell holds now; None when it is empty."""
    if cell.contents is None and cell.concrete is not None:
        cell.contents = cell_entry(cell)
    return cell.contents


def _comes_and_goes(source: Source) -> bool:
    """Whether the next call may find another object there: in an argument, a closure variable or a container."""
    if source.kind in ("slot", "cell", "item", "item_at", "key", "lookup", "closure", "cell_contents"):
        return True
    return source.base is not None and _comes_and_goes(source.base)


MISSING = object()


def check_names(holder: object, name: str) -> None:
    """Break where looking `name` up in a namespace or a __dict__ may run a key's own __eq__; plainly it runs once."""
    if not names_are_plain(holder):
        raise Break("unsupported-operation", f"{name} is looked up beside keys with their own __eq__")


def class_lookup(cls: type, name: str) -> Any:
    """What an instance finds on its class, a descriptor as it is, or MISSING.

    NB: getattr(cls, name) also finds what only the class itself has, from its metaclass: __name__, mro ...
    """
    for base in _mro(cls):
        if name in _namespace(base):
            return _namespace(base)[name]
    return MISSING


# NB: a metaclass may have its own __getattribute__.
_mro, _namespace = (vars(type)[name].__get__ for name in ("__mro__", "__dict__"))


def _wrap_compiled(tracer: Tracer, obj: CompiledFunction[..., Any], source: Source) -> Value:
    """A function compiled by us, as the function it calls: see _wrap_function."""
    return (_wrap_object if _comes_and_goes(source) else _wrap_identity)(tracer, obj, source)


def _wrap_builtin(tracer: Tracer, obj: Any, source: Source) -> Value:
    """A C function by identity; a bound method by its type alone: a guard would keep its object alive."""
    if isinstance(obj.__self__, types.ModuleType | type | np.ufunc | None):
        return _wrap_identity(tracer, obj, source)
    inst = getattr(random, "_inst", None)  # what the functions of the module random draw from lives as long as that
    if obj.__self__ is inst and obj.__name__ == "random" and type(inst) is random.Random:
        tracer.facts.state("is", source, obj)
        function = ConstantValue(constant(random.Random.random), random.Random.random)
        return MethodValue(source, function, lazy(constant(inst), inst), "random")
    return _wrap_object(tracer, obj, source)


_SHORTEST_TABLE, _LONGEST_TABLE = 16, 4096
_TABLE_ITEMS = (int, float, bool, complex)


def _snapshot(obj: Any, depth: int = 3) -> Any:
    """A table of numbers as a guard keeps it: tuples themselves, copies of lists; None if there is anything else."""
    if type(obj) in _TABLE_ITEMS:
        return obj
    if type(obj) not in (tuple, list) or len(obj) > _LONGEST_TABLE or depth == 0:
        return None
    items = [_snapshot(item, depth - 1) for item in obj]
    if any(item is None for item in items):
        return None
    return obj if type(obj) is tuple and all(a is b for a, b in zip(items, obj, strict=True)) else type(obj)(items)


def _wrap_table(tracer: Tracer, obj: Any, source: Source) -> Value:
    """A sequence of numbers that lives with its module, whose numbers are constants: one guard compares all of them.

    (One that changes is compiled anew; what has been compiled twice takes them as inputs.)"""
    if type(obj) not in (tuple, list):
        return ConstantValue(source, obj)
    if type(obj) is list:
        tracer.lists.append(source)
    items: list[Value] = [_wrap_table(tracer, item, source.item(place)) for place, item in enumerate(obj)]
    return SequenceValue(source, type(obj), items)


def _check_length(tracer: Tracer, obj: list[Any], source: Source) -> None:
    """Break where a list is read that has grown from one capture of this code to the next: the guard on its length, and
    those on its items, would make a version for each length. What reads it runs plainly, and is compiled once."""
    if tracer.lengths is None:
        return
    known = tracer.lengths.setdefault(source, set())
    if len(known) < _LENGTHS or len(obj) in known:
        known.add(len(obj))
    elif len(obj) > max(known):
        raise Break("list-length", str(source))


_LONG = 512  # items of a list or tuple, of which few are looked at one by one
_MANY = 4096  # of which none are, where a loop looks into it
_FEW = 64


def _look_into(tracer: Tracer, source: Source) -> None:
    """Break where many items of a long list are asked for one by one: each is an input with a guard of its own, and an
    operation, or several. Plain Python goes through them in a loop of C's (min, in, np.array), or soon enough."""
    tracer.long[source] += 1
    if tracer.long[source] > _FEW:
        raise Break("long-list", str(source))


_LOOKED_AT = 64  # items of each list, which say how the others are made
_DEEPEST = 2  # lists in a list that are looked into
_LONGEST_PART = 9  # csrc/guards/columns.c has one digit for it


NUMBER_LETTERS = {float: "f", int: "i", complex: "c", np.float64: "d", np.int64: "q", np.complex128: "D"}
NUMBERS = "".join(NUMBER_LETTERS.values())
NUMPY_SCALARS = "dqD"
_NO_LISTS = {*NUMBERS, "o"}


def layout_of(obj: Any) -> Any:
    """How a list or tuple of numbers is made: a letter stands for a number's type, ("l", item) and ("t", item) for a
    list and a tuple of whatever length, ("p", item, item ...) for a tuple in a list, ("o", class) for an object of an
    ordinary class; None for anything else."""
    if type(obj) not in (list, tuple):
        return None
    item = functools.reduce(_joined, (_item_layout(one, _DEEPEST) for one in obj[:_LOOKED_AT]), "")
    return ("l" if type(obj) is list else "t", item) if _is_complete(item) else None


def _item_layout(obj: Any, depth: int) -> Any:
    """As above; "" in the place of items that a list has none of."""
    kind = class_of(obj)
    letter = next((letter for known, letter in NUMBER_LETTERS.items() if kind is known), None)
    if letter is not None:
        return letter
    if kind not in (list, tuple) and is_ordinary(kind):
        return ("o", kind)
    if kind not in (list, tuple) or depth == 0:
        return None
    items = [_item_layout(one, depth - 1) for one in obj[:_LOOKED_AT]]
    if kind is tuple and 0 < len(obj) <= _LONGEST_PART:
        return None if None in items else ("p", *items)
    item = functools.reduce(_joined, items, "")
    return None if item is None else ("l" if type(obj) is list else "t", item)


def is_ordinary(cls: type) -> bool:
    """Whether attributes of a class's objects are found and stored as those of a plain object are, and it is a class of
    Python alone."""
    if type(cls) is not type or any(base.__flags__ & IMMUTABLE_TYPE for base in cls.__mro__[:-1]):
        return False
    return all(generic_attributes(cls))


def _joined(one: Any, other: Any) -> Any:
    """The layout that both fit."""
    if one == other or other == "":
        return one
    if one == "":
        return other
    if one is None or other is None or "" in (one[0], other[0]) or {one[0], other[0]} & _NO_LISTS:
        return None
    if one[0] == other[0] and len(one) == len(other):
        items = list(map(_joined, one[1:], other[1:]))
        return None if None in items else (one[0], *items)
    if one[0] in "tp" and other[0] in "tp":
        item = functools.reduce(_joined, (*one[1:], *other[1:]), "")
        return None if item is None else ("t", item)
    return None


def _is_complete(layout: Any) -> bool:
    return bool(layout) and (layout[0] in _NO_LISTS or all(map(_is_complete, layout[1:])))


def _wrap_numbered(tracer: Tracer, obj: tuple[Any, ...] | list[Any], source: Source) -> Value | None:
    """A list or tuple that an earlier attempt has read by numbers; None where it is made otherwise."""
    layout, known = layout_of(obj), tracer.numbered
    assert known is not None

    def give_up() -> NoReturn:  # NB: refers to nothing that refers to the value
        known[source] = False
        raise Retry

    if layout is None:
        return None
    tracer.facts.state("type", source, type(obj))
    if type(obj) is list:
        tracer.lists.append(source)
    return NumberedValue(source, type(obj), concrete=obj, layout=layout, give_up=give_up, fix=give_up)


def column(tracer: Tracer, numbered: NumberedValue, path: Any) -> ArrayValue:
    """The numbers at a path of a list or tuple from outside, as an input of the graph."""
    if path not in numbered.columns:
        assert numbered.source is not None
        array = make_column(numbered.concrete, path)
        if array is None:
            numbered.give_up()
        tracer.nested |= numbered.layout[1][0] not in _NO_LISTS
        made = _wrap_array(tracer, array, Source("column", numbered.source, path))
        assert isinstance(made, ArrayValue)
        numbered.columns[path] = made
    return numbered.columns[path]


FROM_OUTSIDE: list[Callable[[Tracer, list[Any], Source], Value | None]] = []  # of object_lists.py, which uses this


def _wrap_sequence(tracer: Tracer, obj: tuple[Any, ...] | list[Any], source: Source) -> Value:
    is_whole = tracer.numbered is not None and tracer.numbered.get(source) is WHOLE
    if type(obj) is list and tracer.restraints.objects and tracer.native_loops and not is_whole:
        made = FROM_OUTSIDE[0](tracer, obj, source)
        if made is not None:
            return made
    if tracer.native_loops and len(obj) > _MANY and (tracer.regions or _is_too_long(tracer, obj)):
        _foresee(tracer, obj, source)
    if tracer.numbered and tracer.numbered.get(source):
        numbered = _wrap_numbered(tracer, obj, source)
        if numbered is not None:
            return numbered
    spend(len(obj))
    if type(obj) is list:
        _check_length(tracer, obj, source)
    if tracer.constants and len(obj) >= _SHORTEST_TABLE and not _comes_and_goes(source):
        table = _snapshot(obj)
        if table is not None:
            tracer.facts.state("equal", source, table)
            return _wrap_table(tracer, obj, source)
    tracer.facts.state("type", source, type(obj))
    tracer.facts.state("length", source, len(obj))
    if type(obj) is list:
        tracer.lists.append(source)
    if len(obj) > _LONG:
        tracer.long.setdefault(source, 0)
    return SequenceValue(source, type(obj), [lazy(source.item(i), item) for i, item in enumerate(obj)])


def _is_too_long(tracer: Tracer, obj: tuple[Any, ...] | list[Any]) -> bool:
    """Whether the items are more than what is left of the work, in a function with a loop, which may want some."""
    return len(obj) > left() and bool(loops(tracer.frames[-1].code))


def _foresee(tracer: Tracer, obj: tuple[Any, ...] | list[Any], source: Source) -> None:
    """Have a list or tuple that a loop looks into known by columns from the first attempt on, or by its object where
    that has been given up: one by one its items would be too much work."""
    known = tracer.numbered
    if known is not None and source not in known:
        known[source] = layout_of(obj) is not None
    if (known is None or not known[source]) and tracer.restraints.objects is None and holding_of(obj) is not None:
        tracer.restraints.objects = True
        raise Retry


def _wrap_range(tracer: Tracer, obj: range, source: Source) -> Value:
    tracer.state_class("type_version", source, range)
    start, stop, step = (
        as_scalar(rule(tracer, getattr(obj, name), source.attr(name)))
        for name, rule in (("start", _wrap_number), ("stop", _wrap_number), ("step", _wrap_equal))
    )
    assert start is not None and stop is not None and step is not None
    return RangeValue(source, start, stop, step)


def _wrap_slice(tracer: Tracer, obj: slice, source: Source) -> Value:
    """A slice by its parts, as one that the code itself makes: `inner = slice(1, -1)` of a module, say."""
    tracer.state_class("type_version", source, slice)
    names = ("start", "stop", "step")
    return SliceValue(source, *(_wrap_bound(tracer, getattr(obj, name), source.attr(name)) for name in names))


def _wrap_bound(tracer: Tracer, obj: Any, source: Source) -> Value:
    """A bound of a slice: an int is the constant that it is, since it decides shapes, until a capture meets another."""
    if type(obj) is not int:
        return present(tracer, source, obj)
    return (_wrap_equal if _stays_equal(tracer, obj, source) else _wrap_number)(tracer, obj, source)


def _wrap_rest(tracer: Tracer, obj: Rest, source: Source) -> Value:
    tracer.state_class("type_version", source, Rest)
    _wrap_equal(tracer, obj.shape, source.attr("shape"))
    taken = _wrap_number(tracer, obj.taken, source.attr("taken"))
    at = source.attr("parts")
    tracer.facts.state("type", at, tuple)
    tracer.facts.state("length", at, len(obj.parts))
    parts = SequenceValue(at, tuple, [lazy(at.item(place), part) for place, part in enumerate(obj.parts)])
    return RestValue(source, obj.shape, parts, taken)


def _wrap_dict(tracer: Tracer, obj: dict[Any, Any], source: Source) -> Value:
    if len(obj) > 64 or not all(type(key) in (str, int) for key in obj):
        return _wrap_object(tracer, obj, source)
    tracer.facts.state("type", source, dict)
    tracer.facts.state("dict_keys", source, tuple(obj))
    return DictValue(source, {key: lazy(Source("key", source, key), item) for key, item in obj.items()})


def _wrap_method(tracer: Tracer, obj: types.MethodType, source: Source) -> Value:
    tracer.facts.state("type", source, types.MethodType)
    function = wrap(tracer, obj.__func__, Source("method_function", source, "__func__"))
    owner = lazy(Source("method_self", source, "__self__"), obj.__self__)
    return MethodValue(source, function, owner, function_name(obj.__func__))


def function_name(function: Any) -> str:
    """A function's name, for reports."""
    return str(getattr(function, "__name__", type(function).__name__))


def _wrap_object(tracer: Tracer, obj: Any, source: Source) -> Value:
    if is_record(type(obj)):
        return _wrap_record(tracer, obj, source)
    tracer.facts.state("type", source, type(obj))
    return ObjectValue(source, type(obj), obj)


# What a named tuple's class may define so that it is read, gone through or compared otherwise than a tuple.
_OWN_WAYS = {"__getattribute__", "__getattr__", "__getitem__", "__iter__", "__len__", "__setattr__", "__del__"}


def is_record(cls: type) -> bool:
    """Whether objects of a class are tuples with names for their items, and nothing else but a dict of attributes."""
    if type(cls) is not type or not issubclass(cls, tuple) or cls is tuple or cls.__flags__ & IMMUTABLE_TYPE:
        return False
    bases = cls.__mro__[: cls.__mro__.index(tuple)]
    names = class_lookup(cls, "_fields")
    is_named = type(names) is tuple and cls.__mro__[len(bases) :] == tuple.__mro__
    return is_named and not any(_OWN_WAYS & vars(base).keys() for base in bases)


def _wrap_record(tracer: Tracer, obj: Any, source: Source) -> Value:
    cls, count = type(obj), tuple.__len__(obj)
    if count != len(cls._fields):
        tracer.facts.state("type", source, cls)
        return ObjectValue(source, cls, obj)
    tracer.state_class("type_version", source, cls)
    tracer.facts.state("length", source, count)
    items: list[Value] = [LazyValue(source.item(i), tuple.__getitem__(obj, i)) for i in range(count)]
    return RecordValue(source, cls, items)


_RULES: dict[type, Callable[[Tracer, Any, Source], Value]] = {
    np.ndarray: _wrap_array,
    int: _wrap_number,
    float: _wrap_number,
    bool: _wrap_identity,
    type(None): _wrap_identity,
    type(Ellipsis): _wrap_identity,
    type(NotImplemented): _wrap_identity,
    type(np._NoValue): _wrap_identity,
    str: _wrap_text,
    bytes: _wrap_text,
    complex: _wrap_complex,
    tuple: _wrap_sequence,
    list: _wrap_sequence,
    range: _wrap_range,
    slice: _wrap_slice,
    Rest: _wrap_rest,
    dict: _wrap_dict,
    types.FunctionType: _wrap_function,
    types.BuiltinFunctionType: _wrap_builtin,
    types.MethodWrapperType: _wrap_object,
    types.WrapperDescriptorType: _wrap_identity,
    types.MethodDescriptorType: _wrap_identity,
    types.ModuleType: _wrap_identity,
    types.CodeType: _wrap_identity,
    np.ufunc: _wrap_identity,
    types.MethodType: _wrap_method,
}

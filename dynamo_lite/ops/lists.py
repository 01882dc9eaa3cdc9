"""Lists and dicts that a program fills: ``out.append(x)`` and ``out[i] = x`` in a loop, which need no Python for it.

``new_container`` is a fresh list or dict, ``append`` adds one value to a list, ``put_item`` stores one under an index
or key, in the program's order. The container may be an input, and is handed out as it is. ``list_take`` gives an item,
as the object that it is, or a copy of a list, ``object_number`` the number that an item is, and ``object_scalar`` an
item of which it is known that it is a NumPy scalar of a type, ``object_array`` one that is an array; ``list_array`` is
the array that NumPy makes of a list of numbers. What goes in is the very object: a store into it later is seen through
the container. What packs several values is a type, or a format
whose text they make.

    %out: object = new_container(kind=list);  loop ...: %append = append(%out, i0, %x, packed=tuple)
    %out: object = new_container(0.0, s0, kind=list);  loop ...: %put_item = put_item(%out, i0, %x, packed=None)

A Python number is a new object, unless it is tagged: a number that something else may hold, too, has a tag that says at
which event of the loop it came about (capture/loops/number_objects.py). Of each event a table keeps the object:

    %objects: object = new_container(s1, kind=Objects);  loop ...: append(%out, n0, %objects, n1, packed=None, tagged=1)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dynamo_lite._C import Objects, abi
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Location, Node, NodeKind
from dynamo_lite.graph.scalar import Scalar, Symbol
from dynamo_lite.graph.types import LIST, ArrayType, number_type
from dynamo_lite.ops.registry import (
    OpDef,
    OpError,
    OpKind,
    Relate,
    define,
)


def is_single(number: object) -> bool:
    """Whether CPython has only one object for this number, whoever makes it: a bool or a small int."""
    return isinstance(number, bool) or (type(number) is int and -5 <= number <= 256)


def _infer_new(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    if params["kind"] is Objects:
        return LIST
    if len(args) != (2 if args and params["kind"] is list else 0):
        raise OpError("neither an empty list or dict, nor an item and how often")
    return LIST


define(
    OpDef(
        "new_container",
        OpKind.CALL,
        _infer_new,
        lambda args, params: [args[0]] * args[1] if params["kind"] is list and args else params["kind"](*args),
        "An empty list or dict (params kind), or a list of the first operand as often as the second says; or a table "
        "of numbers' objects, with these from before the loop.",
        may_report=False,
    )
)


def _infer_put(args: tuple[Argument, ...], params: dict[str, Any], keys: int) -> ArrayType:
    tagged, packed = params.get("tagged", 0), params["packed"]
    target, values = args[0], args[1 + keys : len(args) - 1 - tagged if tagged else len(args)]
    if not isinstance(target, Node) or target.array_type != LIST:
        raise OpError("no list or dict")
    if (packed not in (None, tuple, list) and type(packed) is not str) or (packed is None and len(values) != 1):
        raise OpError("nothing that can be put there")
    if tagged and (tagged != keys + len(values) or any(isinstance(tag, Node) for tag in args[len(args) - tagged :])):
        raise OpError("not a tag for each")
    return LIST


def pack(values: tuple[Any, ...], packed: type | str | None) -> Any:
    """The only one of `values`, or what they are packed into."""
    if packed is None:
        return values[0]
    return packed.format(*values) if isinstance(packed, str) else packed(values)


def at_tags(objects: Objects, values: Sequence[Any], tags: Sequence[int]) -> list[Any]:
    """The objects of `values` with these tags: of what is no number that has a tag, itself."""
    return [objects.at(tag, value) if tag else value for value, tag in zip(values, tags, strict=True)]


def count_untagged(node: Node) -> int:
    """How many operands an append or put_item has before the table and the tags."""
    tagged = node.params.get("tagged", 0)
    return len(node.args) - (1 + tagged if tagged else 0)


def _untagged(args: Sequence[Any], params: dict[str, Any]) -> Sequence[Any]:
    """The key and the values."""
    tagged = params.get("tagged", 0)
    return at_tags(args[-1 - tagged], args[1 : -1 - tagged], args[-tagged:]) if tagged else args[1:]


def put_item(container: Any, key: Any, value: Any) -> Any:
    """Store `value` under `key`, or where that is None at the end of a list; the container itself."""
    if key is None:
        container.append(value)
        return container
    if type(container) is list and not _dies_quietly(container[key], 2):
        raise TypeError("an object whose death could be noticed")
    container[key] = value
    return container


_QUIET = (int, float, bool, complex, str, bytes, type(None), np.ndarray)


def _dies_quietly(one: Any, depth: int) -> bool:
    """Whether nobody can notice the death of an object; depth: of lists that it may be made of."""
    if type(one) in _QUIET or isinstance(one, np.generic):
        return True
    return type(one) in (list, tuple) and depth > 0 and all(_dies_quietly(part, depth - 1) for part in one)


def _put_under(container: Any, operands: Sequence[Any], packed: type | str | None) -> Any:
    return put_item(container, operands[0], pack(tuple(operands[1:]), packed))


def put_back(container: Any, held: Any) -> None:
    """Let a list or dict hold what it held."""
    container.clear()
    (container.update if isinstance(held, dict) else container.extend)(held)


define(
    OpDef(
        "append",
        OpKind.CALL,
        lambda args, params, ask: _infer_put(args, params, 0),
        lambda args, params: put_item(args[0], None, pack(tuple(_untagged(args, params)), params["packed"])),
        "Append the second operand, an array, NumPy scalar, list or Python number, to the list that is the first; "
        "params packed: a tuple or list of all others, or a format of the text that they make; tagged: how many tags "
        "stand at the end, after the table.",
    )
)

define(
    OpDef(
        "put_item",
        OpKind.CALL,
        lambda args, params, ask: _infer_put(args, params, 1),
        lambda args, params: _put_under(args[0], _untagged(args, params), params["packed"]),
        "Store the third operand in the list or dict that is the first, under the second, a Python number; params "
        "packed as for append.",
    )
)


def _infer_take(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    target, *places = args
    if not isinstance(target, Node) or target.array_type != LIST or any(isinstance(place, Node) for place in places):
        raise OpError("no list, or a place that is no number")
    return LIST


def take(target: Any, kind: int, places: Sequence[Any]) -> Any:
    """What is taken of a list: an item, which stays or goes, or a copy of a part; or an object as the NumPy scalar that
    it is, of the type of that number, or as the array, of that type and shape; or a list as an array."""
    if kind == abi.TAKE_ARRAY:
        return as_array_of(target, DTYPES_BY_NUMBER[places[0]], places[1:])
    if kind == abi.TAKE_NUMBERS:
        return as_numbers_of(target, DTYPES_BY_NUMBER[places[0]], places[1])
    if kind == abi.TAKE_SCALAR:
        return as_scalar_of(target, DTYPES_BY_NUMBER[places[0]])
    if kind == abi.TAKE_JOINED:
        return target + places[0]
    if kind == abi.TAKE_OF_TUPLE:
        if not isinstance(target, tuple) or len(target) != places[1]:
            raise IndexError("no tuple of that length")
        return target[places[0]]
    if kind == abi.TAKE_KEY and not isinstance(target, dict):
        raise TypeError("no dict")
    if kind == abi.TAKE_COPY:
        return target[slice(*places)] if places else target[:]
    return target.pop(*places) if kind == abi.TAKE_OUT else target[places[0]]


define(
    OpDef(
        "list_take",
        OpKind.CALL,
        _infer_take,
        lambda args, params: take(args[0], params["kind"], args[1:]),
        "The item of a list under an index (params kind: TAKE_ITEM), which is taken off it (TAKE_OUT); a copy of the "
        "items from one index to another (TAKE_COPY); or what a dict has under a key (TAKE_KEY).",
    )
)


def read_object(found: Any, of: int, table: Objects | None = None) -> Any:
    """The number that an object is (READ_INT ... of csrc/abi.def), how long a list is, or its tag in a table."""
    if of == abi.READ_TAG:
        assert table is not None
        return np.int64(table.tag(found))
    if of in (abi.READ_IS_FLOAT, abi.READ_INT_ELSE, abi.READ_FLOAT_ELSE):
        if type(found) not in (int, float):
            raise TypeError("no int and no float")
        is_float = type(found) is float
        if of == abi.READ_FLOAT_ELSE:
            return np.float64(found if is_float else 0.0)
        return np.int64(is_float if of == abi.READ_IS_FLOAT else 0 if is_float else found)
    kinds: dict[int, Any] = {abi.READ_INT: int, abi.READ_FLOAT: float, abi.READ_BOOL: bool, abi.READ_LENGTH: list}
    kind = kinds[of]
    if type(found) is not kind:
        raise TypeError(f"no {kind.__name__}")
    if kind is list:
        return np.int64(len(found))
    return np.float64(found) if kind is float else np.int64(found)


define(
    OpDef(
        "object_number",
        OpKind.CALL,
        lambda args, params, ask: number_type(params["yields"][0]),
        lambda args, params: read_object(args[0], params["of"], *args[1:]),
        "The number that an object is, of the type that params of says, or how long a list is, or its tag in the table "
        "that is the second operand: params[yields] to the nodes behind.",
        may_report=False,
    )
)

DTYPES_BY_NUMBER: dict[int, np.dtype[Any]] = {np.dtype(char).num: np.dtype(char) for char in "?bhilBHILefd"}


def as_scalar_of(found: Any, dtype: np.dtype[Any]) -> Any:
    """An object that has to be a NumPy scalar of exactly that type."""
    if type(found) is not dtype.type:
        raise TypeError(f"no {dtype.type.__name__}")
    return found


define(
    OpDef(
        "object_scalar",
        OpKind.CALL,
        lambda args, params, ask: ArrayType(params["dtype"], (), scalar=True),
        lambda args, params: as_scalar_of(args[0], params["dtype"]),
        "The NumPy scalar of params dtype that an object is.",
        may_report=False,
        guesses=True,
    )
)


def _infer_array(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    one, *shape = args
    if not isinstance(one, Node) or one.array_type != LIST or any(isinstance(size, Node) for size in shape):
        raise OpError("no object, or a size that is no number")
    return ArrayType(params["dtype"], tuple(shape))  # type: ignore[arg-type]


def as_array_of(found: Any, dtype: np.dtype[Any], shape: Sequence[Any]) -> Any:
    """An object that has to be an array of exactly that type and shape, with the strides of a new one in C order."""
    if type(found) is not np.ndarray or found.dtype is not dtype or found.shape != tuple(shape):
        raise TypeError("no array of that type and shape")
    if not found.flags.aligned or found.strides != np.empty(found.shape, dtype).strides:
        raise TypeError("an array that lies otherwise")
    return found


define(
    OpDef(
        "object_array",
        OpKind.CALL,
        _infer_array,
        lambda args, params: as_array_of(args[0], params["dtype"], args[1:]),
        "The array of params dtype that an object is, packed in C order, of the shape that the other operands are.",
        may_report=False,
        guesses=True,
    )
)


_WEAK: dict[str, tuple[type, ...]] = {"d": (float, int), "l": (int,), "?": (bool,)}


def _infer_numbers(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    one, size = args
    if not isinstance(one, Node) or one.array_type != LIST or isinstance(size, Node):
        raise OpError("no list, or a length that is no number")
    return ArrayType(params["dtype"], (size,))  # type: ignore[arg-type]


def as_numbers_of(found: Any, dtype: np.dtype[Any], size: int) -> Any:
    """The array that NumPy makes of a list, which has to have so many numbers, those of which that makes one of that
    dtype: NumPy scalars of it, or the numbers of Python's that convert to it."""
    kinds = {type(one) for one in found} if type(found) is list and len(found) == size else {type(None)}
    made = np.array(found) if kinds <= {dtype.type, *_WEAK.get(dtype.char, ())} else None
    if made is None or made.dtype != dtype:
        raise TypeError(f"no list of so many numbers of {dtype}")
    return made


define(
    OpDef(
        "list_array",
        OpKind.CALL,
        _infer_numbers,
        lambda args, params: as_numbers_of(args[0], params["dtype"], args[1]),
        "The array of params dtype that NumPy makes of a list of numbers, as long as the second operand says.",
        may_report=False,
        guesses=True,
    )
)

define(
    OpDef(
        "list_join",
        OpKind.CALL,
        lambda args, params, ask: LIST,
        lambda args, params: args[0] + args[1],
        "A list of the items of one list, then those of another.",
    )
)

define(
    OpDef(
        "held_object",
        OpKind.CALL,
        lambda args, params, ask: LIST,
        lambda args, params: params["value"].object,
        "The object in params value.",
        may_report=False,
    )
)


class Held:
    """An object that is known, into which no pass looks: a list of tuples has the very tuples of the code."""

    __slots__ = ("object",)

    def __init__(self, one: Any) -> None:
        self.object = one

    def __repr__(self) -> str:
        return repr(self.object)


def new_container(graph: Graph, kind: type, location: Location | None, *repeated: Argument) -> Node:
    """Append the making of an empty list or dict, or of a list of the first of `repeated` as often as the second."""
    return graph.add_call("new_container", repeated, {"kind": kind}, LIST, location)


def put(
    graph: Graph,
    target: Node,
    key: Argument | None,
    values: tuple[Argument, ...],
    packed: type | str | None,
    location: Location | None,
    objects: Node | None = None,
    of_list: bool = False,
) -> Node:
    """Append ``target[key] = value``, or without a key ``target.append(value)``; packed: the value is a fresh tuple,
    list or text of several. objects: a table; each operand gets the tag 0, which may be replaced (set_tag). of_list:
    the target is known to be a list."""
    values = tuple(map(_as_taken, values))
    op, keys = ("append", ()) if key is None else ("put_item", (key,))
    operands, params = (*keys, *values), {"packed": packed, **({"of_list": True} if of_list else {})}
    if objects is None or not operands:
        return graph.add_call(op, (target, *operands), params, LIST, location)
    tags = (0,) * len(operands)
    return graph.add_call(op, (target, *operands, objects, *tags), params | {"tagged": len(tags)}, LIST, location)


def _as_taken(value: Argument) -> Argument:
    """An array that has been taken of a list as what stood there."""
    return value.args[0] if isinstance(value, Node) and value.op == "object_array" else value


def take_out_of(graph: Graph, target: Node, kind: int, places: Sequence[Scalar], location: Location | None) -> Node:
    """Append what takes an item of a list, or copies a part of it."""
    return graph.add_call("list_take", (target, *places), {"kind": kind}, LIST, location)


def join(graph: Graph, one: Node, other: Node, location: Location | None) -> Node:
    """Append what makes a list of the items of two."""
    return graph.add_call("list_join", (one, other), {}, LIST, location)


def read_number(graph: Graph, args: tuple[Node, ...], of: int, symbol: Symbol, location: Location | None) -> Node:
    """Append what reads `symbol`, the number that an object is, the length of a list, or a tag in a table."""
    params = {"of": of, "yields": (symbol,)}
    return graph.add_call("object_number", args, params, number_type(symbol), location)


def read_scalar(graph: Graph, one: Node, dtype: np.dtype[Any], location: Location | None) -> Node:
    """Append what has an object as the NumPy scalar that it is."""
    return graph.add_call("object_scalar", (one,), {"dtype": dtype}, ArrayType(dtype, (), scalar=True), location)


def read_array(graph: Graph, one: Node, type_: ArrayType, location: Location | None) -> Node:
    """Append what has an object as the array that it is, of that type."""
    return graph.add_call("object_array", (one, *type_.shape), {"dtype": type_.dtype}, type_, location)


def read_numbers(graph: Graph, one: Node, type_: ArrayType, location: Location | None) -> Node:
    """Append what has a list of numbers as an array of that type."""
    return graph.add_call("list_array", (one, *type_.shape), {"dtype": type_.dtype}, type_, location)


def hold(graph: Graph, value: Any, location: Location | None) -> Node:
    """Append an object that is known, as it is."""
    return graph.add_call("held_object", (), {"value": Held(value)}, LIST, location)


def set_tag(node: Node, place: int, tag: Scalar) -> None:
    """Let operand `place` of an append or put_item, counted without the list, have that tag; or let a store of a tag
    store it."""
    if node.kind is NodeKind.STORE:
        node.args = (node.args[0], tag)
        return
    at = count_untagged(node) + 1 + place
    node.args = (*node.args[:at], tag, *node.args[at + 1 :])


__all__ = [
    *("at_tags", "count_untagged", "new_container", "pack", "put", "put_back", "put_item", "read_number"),
    *("DTYPES_BY_NUMBER", "as_array_of", "as_numbers_of", "as_scalar_of", "read_array", "read_numbers"),
    *("read_object", "read_scalar"),
    *("set_tag", "take", "take_out_of", "hold", "join"),
]

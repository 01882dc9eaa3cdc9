"""Writes what a routine takes of lists as loads in place: the item at an index, and the number that an object is.

Enters a Helper of csrc/program/machine.c with the emitter of the routine. Leaves the instructions that the function
would run where all is as usual, with its types asked for; what is not usual (an int of several digits) is left to the
function. INVARIANT: an object that is read is in a list at that moment, or is kept (program/build_lists.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dynamo_lite.backends.numba.llvm_text import scalar_type

from dynamo_lite import _C
from dynamo_lite._C import abi
from dynamo_lite.ops.lists import DTYPES_BY_NUMBER
from dynamo_lite.program.ir import Helper, Value

if TYPE_CHECKING:
    from dynamo_lite.backends.numba.emit_loop import LoopEmitter

_LAYOUT = _C.object_layout()


def write(emitter: LoopEmitter, node: Helper) -> bool:
    """Write what the helper does; whether it has a form here."""
    if _LAYOUT is None or node.name not in _WRITE:
        return False
    _WRITE[node.name](_Writer(emitter), node)
    return True


class _Writer:
    def __init__(self, emitter: LoopEmitter) -> None:
        self.emitter = emitter
        self.lines = emitter.lines

    def load(self, kind: str, pointer: str, offset: int) -> str:
        at = self.lines.do(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return self.lines.do(f"load {kind}, ptr {at}, align 8")

    def is_other(self, pointer: str, name: str) -> str:
        """Whether an object is not exactly of a type (a word among the helpers)."""
        assert _LAYOUT is not None
        self.emitter.helpers.add(name)
        return self.lines.do(f"icmp ne ptr {self.load('ptr', pointer, _LAYOUT.type)}, %helper.{name}")

    def decline_if(self, condition: str, status: int) -> None:
        self.emitter.decline_if(condition, status)

    def item(self, of: Value, index: Value, status: int) -> str:
        """The item of a list under an index."""
        assert _LAYOUT is not None
        lines, pointer, at = self.lines, self.emitter.in_memory(of), self.emitter.name(index)
        self.decline_if(self.is_other(pointer, "list_type"), status)
        size = self.load("i64", pointer, _LAYOUT.size)
        behind = lines.do(f"add i64 {at}, {size}")
        at = lines.do(f"select i1 {lines.do(f'icmp slt i64 {at}, 0')}, i64 {behind}, i64 {at}")
        self.decline_if(lines.do(f"icmp uge i64 {at}, {size}"), status)
        items = self.load("ptr", pointer, _LAYOUT.items)
        return lines.do(f"load ptr, ptr {lines.do(f'getelementptr ptr, ptr {items}, i64 {at}')}, align 8")

    def number(self, pointer: str, of: int, status: int) -> str:
        """The number that an object is."""
        assert _LAYOUT is not None
        lines = self.lines
        if of == abi.READ_FLOAT:
            self.decline_if(self.is_other(pointer, "float_type"), status)
            return self.load("double", pointer, _LAYOUT.value)
        if of == abi.READ_LENGTH:
            self.decline_if(self.is_other(pointer, "list_type"), status)
            return self.load("i64", pointer, _LAYOUT.size)
        if of == abi.READ_BOOL:
            self.decline_if(self.is_other(pointer, "bool_type"), status)
            self.emitter.helpers.add("true")
            return lines.do(f"zext i1 {lines.do(f'icmp eq ptr {pointer}, %helper.true')} to i64")
        if of in (abi.READ_IS_FLOAT, abi.READ_FLOAT_ELSE):
            return self.either(pointer, of, status)
        if of == abi.READ_INT_ELSE:
            return self.ask(pointer, of, status)
        self.decline_if(self.is_other(pointer, "int_type"), status)
        head = self.load("i64", pointer, _LAYOUT.head)
        narrow = self.lines.do(f"getelementptr i8, ptr {pointer}, i64 {_LAYOUT.digit}")
        digit = lines.do(f"zext i32 {lines.do(f'load i32, ptr {narrow}, align 4')} to i64")
        if _LAYOUT.tagged:  # a sign of 0, 1 or 2 for positive, 0 and negative, then how many digits
            is_long = lines.do(f"icmp uge i64 {head}, 16")
            sign = lines.do(f"sub i64 1, {lines.do(f'and i64 {head}, 3')}")
        else:  # how many digits, negative for a negative int
            is_long = lines.do(f"icmp ugt i64 {lines.do(f'add i64 {head}, 1')}, 2")
            sign = head

        whole = lines.do(f"mul i64 {sign}, {digit}")
        return lines.aside(is_long, lambda: self.ask(pointer, abi.READ_INT, status), "i64", whole)

    def scalar(self, pointer: str, type_number: int, status: int) -> str:
        """The value of a NumPy scalar of a type, which lives as long as NumPy."""
        assert _LAYOUT is not None
        lines, dtype = self.lines, DTYPES_BY_NUMBER[type_number]
        known = lines.do(f"inttoptr i64 {id(dtype.type)} to ptr")
        is_other = lines.do(f"icmp ne ptr {self.load('ptr', pointer, _LAYOUT.type)}, {known}")
        self.decline_if(is_other, status)
        at = lines.do(f"getelementptr i8, ptr {pointer}, i64 {_LAYOUT.scalar}")
        return lines.do(f"load {scalar_type(dtype)}, ptr {at}, align {dtype.alignment}")

    def ask(self, pointer: str, of: int, status: int) -> str:
        """The int that the function of C gives."""
        failed = self.emitter.call("object_number", "i32", [f"ptr {pointer}", f"i64 {of}", "ptr %helper.result"])
        self.decline_if(self.lines.do(f"icmp ne i32 {failed}, 0"), status)
        return self.lines.do("load i64, ptr %helper.result, align 8")

    def either(self, pointer: str, of: int, status: int) -> str:
        """Whether an int or a float is a float, or the float that it is. NB: an int is as long as a float, at least."""
        assert _LAYOUT is not None
        lines = self.lines
        is_float = lines.do(f"xor i1 {self.is_other(pointer, 'float_type')}, true")
        is_int = lines.do(f"xor i1 {self.is_other(pointer, 'int_type')}, true")
        known = lines.do(f"or i1 {is_float}, {is_int}")
        self.decline_if(lines.do(f"xor i1 {known}, true"), status)
        if of == abi.READ_IS_FLOAT:
            return lines.do(f"zext i1 {is_float} to i64")
        value = self.load("double", pointer, _LAYOUT.value)
        return lines.do(f"select i1 {is_float}, double {value}, double 0.0")

    def keep(self, place: Value, pointer: str) -> None:
        """Keep an object in a place, unless it is there."""
        lines = self.lines
        if place.number < 0:
            return
        at = lines.do(f"getelementptr ptr, ptr {self.emitter.kept_words()}, i64 {self.emitter.name(place)}")
        is_new = lines.do(f"icmp ne ptr {lines.do(f'load ptr, ptr {at}, align 8')}, {pointer}")

        def call() -> None:
            self.emitter.call("keep", "i32", ["ptr %block", f"i64 {self.emitter.name(place)}", f"ptr {pointer}"])

        lines.aside(is_new, call)


def _list_item(writer: _Writer, node: Helper) -> None:
    place, of, index = node.operands
    assert isinstance(place, Value) and isinstance(of, Value) and isinstance(index, Value)
    pointer = writer.item(of, index, node.failure)
    writer.keep(place, pointer)
    writer.emitter.loaded(node.results[0], pointer)


def _number(writer: _Writer, node: Helper) -> None:
    pointer, what = _object_of(writer, node)
    writer.emitter.loaded(node.results[0], writer.number(pointer, what, node.failure))


def _scalar(writer: _Writer, node: Helper) -> None:
    pointer, type_number = _object_of(writer, node)
    writer.emitter.loaded(node.results[0], writer.scalar(pointer, type_number, node.failure))


def _object_of(writer: _Writer, node: Helper) -> tuple[str, int]:
    """The object, an operand or the item of a list, and what of it is asked for."""
    of, *index, what = node.operands
    assert isinstance(of, Value) and isinstance(what, Value)
    if not index:
        return writer.emitter.in_memory(of), int(what.number)
    assert isinstance(index[0], Value)
    return writer.item(of, index[0], node.failure), int(what.number)


def _object_origin(writer: _Writer, node: Helper) -> None:
    (one,) = node.operands
    assert isinstance(one, Value)
    address = writer.lines.do(f"ptrtoint ptr {writer.emitter.in_memory(one)} to i64")
    writer.emitter.loaded(node.results[0], writer.lines.do(f"sub i64 0, {address}"))


_WRITE: dict[str, Callable[[_Writer, Helper], None]] = {
    "list_item": _list_item,
    "list_number": _number,
    "object_number": _number,
    "list_scalar": _scalar,
    "object_scalar": _scalar,
    "object_origin": _object_origin,
}

__all__ = ["write"]

"""Where a value comes from: how a guard reaches it again, and how residual code reloads it.

A source is a path that starts at a frame slot, a constant object or a global, and goes on by attributes, items and
keys. INVARIANT: every fact that capture reads about an object with a source is stated as a guard on that source
(facts.py); there is no other way to read.
"""

from __future__ import annotations

from typing import Any

from dynamo_lite.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ById:
    """An object as part of a key, compared by identity (objects may be unhashable)."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ById) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


@dataclass(frozen=True, slots=True)
class Source:
    """One step of a path. kind and key: "slot" (index, name); "const" ById(object);
    "global" (ById(dict), name); "cell" index of func's closure; and with a base: "attr" name; "item" index;
    "key" the dict key; "lookup" and "item_at" the Source of a dict key, or of an index, that may be another in the next
    call; of an int "plus" what is added to it; "cell_contents" None;
    of a function "closure" the index of the variable whose value is meant, "defaults" and "kwdefaults" None ("own_cell"
    and "closure_cell" are the cells themselves that "cell" and "closure" read, in guards alone); of a
    method "method_function" "__func__", "method_self" "__self__"; of an array "base" "base"; of a str or bytes
    "text" None, the array of its characters, and of a list or tuple "column" a path, the array of the numbers there
    (csrc/guards/columns.c), which exist in graphs alone; of a complex number "complex_part" "real" or "imag"; of a
    list "list_length" None.
    """

    kind: str
    base: Source | None
    key: Any

    def attr(self, name: str) -> Source:
        return Source("attr", self, name)

    def item(self, index: int) -> Source:
        return Source("item", self, index)

    def cell(self) -> Source:
        """The cell itself, where this names what a closure variable holds."""
        kind = {"cell": "own_cell", "closure": "closure_cell"}.get(self.kind)
        return self if kind is None else Source(kind, self.base, self.key)

    def __str__(self) -> str:
        match self.kind:
            case "slot":
                return str(self.key[1])
            case "const":
                value = self.key.value
                return getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or repr(type(value))
            case "global":
                return str(self.key[1])
            case "cell" | "own_cell":
                return f"<closure>[{self.key}]"
            case "attr" | "base" | "complex_part" | "method_function" | "method_self":
                return f"{self.base}.{self.key}"
            case "item" | "key":
                return f"{self.base}[{self.key!r}]"
            case "lookup" | "item_at":
                return f"{self.base}[{self.key}]"
            case "plus":
                return f"{self.base} {'+' if self.key > 0 else '-'} {abs(self.key)}"
            case "defaults" | "kwdefaults":
                return f"{self.base}.__{self.kind}__"
            case "closure" | "closure_cell":
                return f"{self.base}.__closure__[{self.key}]"
            case "list_length":
                return f"len({self.base})"
            case "text" | "column":
                return str(self.base)
            case "cell_contents":
                return f"{self.base}.cell_contents"
        raise AssertionError(self.kind)


def slot(index: int, name: str) -> Source:
    return Source("slot", None, (index, name))


def constant(value: object) -> Source:
    return Source("const", None, ById(value))


def global_(namespace: dict[str, Any], name: str) -> Source:
    return Source("global", None, (ById(namespace), name))

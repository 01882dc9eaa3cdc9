"""Collects guards: every fact read while capturing, as guard operations over registers.

Enters: Source paths and facts about what is there now. Leaves: the list of operations that ``_C.Guards`` takes (see
csrc/guards/guards.def). INVARIANT: an operation that reads through an object comes after the check that makes the read
safe (type before attribute), because facts are stated in the order capture learns them.
"""

from __future__ import annotations

from typing import Any

from dynamo_lite.capture.source import Source
from dynamo_lite.graph.scalar import Scalar


class Facts:
    """Guard operations in order, without repetition; registers are shared by source."""

    def __init__(self) -> None:
        self.ops: list[tuple[Any, ...]] = []
        self._registers: dict[Source, int] = {}
        self._seen: set[tuple[Any, ...]] = set()
        self._keep: list[Any] = []

    def register(self, source: Source) -> int:
        """The register that holds what `source` names, loading it (and its base) once."""
        known = self._registers.get(source)
        if known is not None:
            return known
        base = None if source.base is None else self.register(source.base)
        key = self.register(source.key) if source.kind in ("lookup", "item_at") else source.key
        dst = len(self._registers)
        self._registers[source] = dst
        match source.kind:
            case "slot":
                self.ops.append(("arg", dst, source.key[0]))
            case "const":
                self.ops.append(("const", dst, source.key.value))
            case "global":
                self.ops.append(("global", dst, source.key[0].value, source.key[1]))
            case "cell" | "own_cell":
                self.ops.append((source.kind, dst, source.key))
            case "base" | "defaults" | "kwdefaults" | "cell_contents" | "method_function" | "method_self":
                self.ops.append((source.kind, dst, base))
            case "text" | "list_length":
                self.ops.append((source.kind, dst, base))
            case "attr" | "item" | "key" | "lookup" | "item_at" | "plus" | "closure" | "closure_cell" | "column":
                self.ops.append((source.kind, dst, base, key))
            case "complex_part":
                self.ops.append((source.kind, dst, base, ("real", "imag").index(key)))
            case _:
                raise AssertionError(source.kind)
        return dst

    def state(self, kind: str, source: Source, *payload: Any) -> None:
        """Guard `kind` on what `source` names."""
        self._add((kind, self.register(source), *payload))

    def state_pair(self, kind: str, first: Source, second: Source) -> None:
        """Guard "same" or "distinct" on two sources."""
        self._add((kind, self.register(first), self.register(second)))

    def state_holds_not(self, first: Source, second: Source, depth: int) -> None:
        """Guard that a list, or one of those that it holds, so many deep, does not hold another one."""
        self._add(("holds_not", self.register(first), self.register(second), depth))

    def state_part(self, part: Source, whole: Source, index: tuple[slice | int, ...]) -> None:
        """Guard that an array lies where ``whole[index]`` does."""
        self._add(("part", self.register(part), self.register(whole), index))

    def state_lacks(self, namespace: dict[str, Any], name: str) -> None:
        """Guard that a namespace has no such name (so that the builtin is meant)."""
        self._add(("dict_lacks", namespace, name))

    def state_scalar(self, condition: Scalar) -> None:
        """Guard that a relation between symbols is true."""
        self._add(("scalar", condition))

    def state_globals(self, namespace: dict[str, Any]) -> None:
        """Guard that the function's globals are this namespace (functions may share a code object)."""
        self._add(("globals", namespace))

    def _add(self, op: tuple[Any, ...]) -> None:
        # NB: isinstance would ask an object of the user's for its __class__.
        key = tuple((type(part).__name__, part if type(part) in (int, str) else id(part)) for part in op)
        if key in self._seen:
            return
        self._seen.add(key)
        self._keep.append(op)  # NB: keeps id() in keys unique while this exists
        self.ops.append(op)

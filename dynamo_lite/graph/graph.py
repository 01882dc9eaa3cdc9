"""The graph: nodes in program order, its inputs and outputs.

Enters from capture, leaves to lowering or to a backend. Prints as text (text.py), is checked by verify.py and run node
by node by interpret.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamo_lite._C import abi
from dynamo_lite.graph.facts import Facts
from dynamo_lite.graph.node import Argument, Location, Node, NodeKind
from dynamo_lite.graph.scalar import Scalar, ScalarOp, Symbol, make
from dynamo_lite.graph.text import to_text
from dynamo_lite.graph.types import ArrayType, number_type

_BRING_EXTENTS = frozenset({NodeKind.INPUT, NodeKind.LOOP, NodeKind.COND})  # arrays of extents that no op says


class Graph:
    """Nodes in execution order. ``inputs`` are the INPUT nodes (arrays, NumPy scalars) and number inputs by index.

    An input is a Node (ndarray or NumPy scalar) or a Symbol with axis None (a Python int or float argument), in the
    order of the program's parameters. ``outputs`` are Nodes or Scalars. ``symbols`` lists every Symbol by name.
    ``facts`` holds the relations between sizes that the types rest on, each of them guarded. ``interpreted`` and
    ``inlined`` count the Python instructions and calls that the graph stands for.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.inputs: list[Node | Symbol] = []
        self.outputs: list[Argument] = []
        self.symbols: dict[str, Symbol] = {}
        self.facts = Facts()
        self.interpreted = 0
        self.inlined = 0
        self._names: dict[str, int] = {}

    def _name(self, stem: str) -> str:
        name, number = stem, self._names.get(stem, 0)
        while number and (name := f"{stem}_{number}") in self._names:  # x_1 may be a name of the user's
            number += 1
        self._names[stem] = number + 1
        self._names.setdefault(name, 1)
        return name

    def add_input(self, type: ArrayType, name: str = "x") -> Node:
        """Append an array or NumPy-scalar input."""
        node = Node(NodeKind.INPUT, "input", (), {"index": len(self.inputs)}, type, self._name(name))
        self.inputs.append(node)
        self.nodes.append(node)
        return node

    def add_symbol(self, kind: str, input: int | None = None, axis: int | None = None) -> Symbol:
        """A new Symbol: axis `axis` of input `input`, or with neither a new Python number input of `kind`.

        kind: "int", "float" or "bool". A size gets a symbol only if it is not 1 (see ArrayType).
        """
        index = len(self.inputs) if input is None else input
        symbol = Symbol(f"s{len(self.symbols)}", kind, index, axis)
        self.symbols[symbol.name] = symbol
        if input is None:
            self.inputs.append(symbol)
        return symbol

    def add_constant(self, value: np.generic | np.ndarray[Any, Any]) -> Node:
        """Append a constant NumPy scalar or read-only array."""
        type_ = ArrayType(value.dtype, tuple(value.shape), isinstance(value, np.generic))
        node = Node(NodeKind.CONSTANT, "constant", (), {"value": value}, type_, self._name("c"))
        self.nodes.append(node)
        return node

    def add_call(
        self,
        op: str,
        args: tuple[Argument, ...],
        params: dict[str, Any],
        type: ArrayType | tuple[ArrayType, ...],
        location: Location | None = None,
    ) -> Node:
        """Append a call of op; `type` is what the op's rule inferred (dynamo_lite.ops.call infers and appends)."""
        node = Node(NodeKind.CALL, op, args, params, type, self._name(op), location)
        self.nodes.append(node)
        return node

    def add_store(self, target: Node, value: Node | Scalar, location: Location | None = None) -> Node:
        """Append a store of `value` into the memory of `target`."""
        node = Node(NodeKind.STORE, "store", (target, value), {}, None, self._name("store"), location)
        self.nodes.append(node)
        return node

    def add_loop(
        self,
        bounds: tuple[Scalar, Scalar, Scalar],
        carried: tuple[Node, ...],
        captured: tuple[Argument, ...],
        body: Graph,
        location: Location | None = None,
        numbers: int = 0,
        has_condition: bool = False,
    ) -> Node:
        """Append a loop over range(*bounds) that hands `carried` through `body`; `captured` are body's other inputs, of
        which the last `numbers` are handed through too. has_condition: body's last output tells whether to go on."""
        counted: tuple[Any, ...] = captured[len(captured) - numbers :]
        params: dict[str, Any] = {"carried": len(carried)} | ({"numbers": numbers} if numbers else {})
        node = Node(
            NodeKind.LOOP,
            "loop",
            (*bounds, *carried, *captured),
            params | ({"while": True} if has_condition else {}),
            (*(value.array_type for value in carried), *map(number_type, counted)),
            self._name("loop"),
            location,
            (body,),
        )
        self.nodes.append(node)
        return node

    def add_leave(self, loop: Node, values: tuple[Argument, ...], exit_: int) -> Node:
        """Put a LEAVE right behind `loop` and its tuple_gets."""
        last = max(
            place
            for place, node in enumerate(self.nodes)
            if node is loop or (node.op == "tuple_get" and node.args[0] is loop)
        )
        node = Node(NodeKind.LEAVE, "leave", (loop, *values), {"exit": exit_}, None, self._name("leave"))
        self.nodes.insert(last + 1, node)
        return node

    def add_cond(
        self,
        condition: Argument,
        operands: tuple[Argument, ...],
        branches: tuple[Graph, Graph],
        types: tuple[ArrayType, ...],
        numbers: tuple[tuple[str, str], ...] = (),
        location: Location | None = None,
    ) -> Node:
        """Append the choice between two bodies that take `operands`; they return values of `types`, then numbers, which
        get symbols of these names and kinds."""
        yields = tuple(self.add_yield(name, kind) for name, kind in numbers)
        node = Node(
            NodeKind.COND,
            "cond",
            (condition, *operands),
            {"numbers": len(yields), "yields": yields} if yields else {},
            (*types, *map(number_type, yields)),
            self._name("cond"),
            location,
            branches,
        )
        self.nodes.append(node)
        return node

    def add_yield(self, name: str, kind: str) -> Symbol:
        """A Symbol for a number that a node of this graph yields."""
        place = -1 - sum(symbol.input < 0 for symbol in self.symbols.values())
        symbol = Symbol(name, kind, place)
        self.symbols[name] = symbol
        return symbol

    def add_size(self, name: str) -> Symbol:
        """The same for a size, which is not negative."""
        symbol = self.add_yield(name, "int")
        self.facts.learn(make("ge", symbol, 0), True)
        return symbol

    def required(self, beside: Facts | None = None) -> Facts:
        """What the "require" nodes see to, since the program declines otherwise; and that sizes are not negative.
        beside: what is known as well."""
        facts = Facts() if beside is None else beside.copy()
        for node in self.nodes:
            types = node.type if isinstance(node.type, tuple) else (node.type,)
            extents = (size for type_ in types if type_ is not None for size in type_.shape)
            for size in extents if node.kind in _BRING_EXTENTS else ():
                if isinstance(size, Symbol):
                    facts.learn(make("ge", size, 0), True)
            is_size = node.op != "scalar_number" and node.params.get("of", abi.READ_LENGTH) == abi.READ_LENGTH
            if node.kind is NodeKind.CALL and is_size:
                for size in node.params.get("yields", ()):
                    facts.learn(make("ge", size, 0), True)
            if node.op == "require":
                facts.learn(node.args[0], True)  # type: ignore[arg-type]
        return facts

    def decides(self, condition: Scalar) -> bool | None:
        """Whether the facts, or what the program sees to, tell that `condition` holds; None: they do not.

        NB: that an open size equals another is no fact, since one of the two would get the name of the other. In a
        branch it is a number that goes in. Behind what the program requires other facts are of no account: they may
        tell that it declines whenever it gets there."""
        known = self.facts.decide(condition)
        if known is False and isinstance(condition, ScalarOp) and condition.op == "eq" and 1 not in condition.operands:
            return any(node.op == "require" and node.args[0] == condition for node in self.nodes)
        if known is None and isinstance(condition, ScalarOp) and condition.op == "eq":
            is_open = any(isinstance(size, Symbol) and size.input < 0 for size in condition.operands)
            if is_open or any(node.op == "require" for node in self.nodes):
                known = self.required(self.facts).decide(condition)
        return known

    def __str__(self) -> str:
        return to_text(self)

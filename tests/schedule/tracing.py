"""Traces a NumPy function to a Graph without capture: arrays that note what is done to them.

Enters a function and example arrays, NumPy scalars or Python numbers; leaves a Graph with symbolic sizes. Operators,
ufuncs, NumPy functions, methods and index stores go through the same spellings that capture uses. `for_range` makes a
loop of a function of the index and the carried values; on real arrays it is that loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dynamo_lite import ops
from dynamo_lite.graph.facts import learn_index
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.interpret import symbol_values
from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.scalar import Scalar, ScalarOp, Symbol, evaluate, make, substitute
from dynamo_lite.graph.types import ArrayType


class Region:
    """A graph under construction: the root, or the body of a loop with what it captures."""

    def __init__(self, graph: Graph, n_carried: int = 0) -> None:
        self.graph = graph
        self.n_carried = n_carried
        self.captured: list[Argument] = []
        self.inner: dict[Node, Node] = {}  # what stands in the body for nodes outside


def symbols_of(value: Scalar) -> set[str]:
    if isinstance(value, ScalarOp):
        return set().union(*map(symbols_of, value.operands))
    return {value.name} if isinstance(value, Symbol) else set()


class Tracer:
    """The graph under construction, inside loops the body, and the example it is made for."""

    def __init__(self, example: tuple[Any, ...]) -> None:
        self.regions = [Region(Graph())]
        self.example = example
        self.indices: dict[str, Any] = {}  # the first value of each loop's index

    @property
    def graph(self) -> Graph:
        return self.regions[-1].graph

    def relate(self, condition: Scalar) -> bool:
        root = self.regions[0].graph
        return bool(evaluate(condition, symbol_values(root, self.example) | self.indices))

    def local(self, node: Node, level: int = -1) -> Node:
        """What stands for `node` in the current graph."""
        level = range(len(self.regions))[level]
        region = self.regions[level]
        if level == 0 or any(own is node for own in region.graph.nodes):
            return node
        if node not in region.inner:
            outer = self.local(node, level - 1)
            assert outer.type is not None
            region.inner[node] = self.input_of(level, outer)
            region.captured.append(outer)
        return region.inner[node]

    def input_of(self, level: int, outer: Node) -> Node:
        """A new input of a body, of the type of `outer`."""
        type_ = outer.array_type
        shape: Any = tuple(self.local_scalar(dim, level) for dim in type_.shape)
        return self.regions[level].graph.add_input(ArrayType(type_.dtype, shape, type_.scalar))

    def local_scalar(self, value: Scalar, level: int = -1) -> Scalar:
        """`value` in the current graph's symbols, which have the names of those outside."""
        level = range(len(self.regions))[level]
        return substitute(value, {name: self.local_symbol(name, level) for name in symbols_of(value)})

    def local_symbol(self, name: str, level: int) -> Symbol:
        region = self.regions[level]
        if name not in region.graph.symbols:
            outer = self.local_symbol(name, level - 1)
            symbol = Symbol(name, outer.kind, len(region.graph.inputs))
            region.graph.symbols[name] = symbol
            region.graph.inputs.append(symbol)
            region.captured.append(outer)
            if outer.axis is not None:
                region.graph.facts.learn(make("ge", symbol, 0), True)
                region.graph.facts.learn(make("ne", symbol, 1), True)
            self.share_facts(level - 1, level)
        return region.graph.symbols[name]

    def share_facts(self, source: int, target: int) -> None:
        """Let one graph know what another does, as far as it has the symbols."""
        symbols = self.regions[target].graph.symbols
        for condition in self.regions[source].graph.facts.learned:
            if symbols_of(condition) <= set(symbols):
                self.regions[target].graph.facts.learn(substitute(condition, symbols), True)

    def input(self, value: Any) -> Any:
        if isinstance(value, int | float) and not isinstance(value, np.generic):
            return Number(self, self.graph.add_symbol(type(value).__name__))
        index = len(self.graph.inputs)
        shape = tuple(
            1 if size == 1 else self.graph.add_symbol("int", index, axis) for axis, size in enumerate(value.shape)
        )
        node = self.graph.add_input(ArrayType(value.dtype, shape, isinstance(value, np.generic)))
        return Traced(self, node)

    def bind(self, bound: ops.Bound) -> Any:
        return self.wrap(ops.apply(self.graph, bound, None, self.relate))

    def wrap(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(self.wrap, value))
        return Traced(self, value) if isinstance(value, Node) else value


def plain(value: Any) -> Any:
    """Traced values in `value` as nodes and symbols."""
    if isinstance(value, Traced):
        return value.node
    if isinstance(value, Number):
        return value.tracer.local_scalar(value.value)
    if isinstance(value, slice):
        return slice(plain(value.start), plain(value.stop), plain(value.step))
    if isinstance(value, tuple | list):
        return type(value)(map(plain, value))
    return value


class Number:
    """A Python number of the graph."""

    def __init__(self, tracer: Tracer, value: Scalar) -> None:
        self.tracer = tracer
        self.value = value

    def _make(self, op: str, *operands: Any) -> Number:
        return Number(self.tracer, make(op, *map(plain, operands)))

    def __add__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, Traced) else self._make("add", self, other)

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, Traced) else self._make("sub", self, other)

    def __mul__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, Traced) else self._make("mul", self, other)

    def __floordiv__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, Traced) else self._make("floordiv", self, other)

    def __index__(self) -> int:
        raise TypeError("a symbolic size has no value")


class Traced:
    """An array or NumPy scalar of the graph."""

    def __init__(self, tracer: Tracer, node: Node) -> None:
        self.tracer = tracer
        self._node = node

    @property
    def node(self) -> Node:
        return self.tracer.local(self._node)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        target = ufunc if method == "__call__" else getattr(ufunc, method)
        return self._call(target, args, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if ops.lookup(function) is None:
            return function._implementation(*args, **kwargs)
        return self._call(function, args, kwargs)

    def _call(self, target: Any, args: Any, kwargs: Any) -> Any:
        spelling = ops.lookup(target)
        assert spelling is not None, target
        bound = spelling.bind(
            plain(tuple(args)), {key: plain(value) for key, value in kwargs.items()}, self.tracer.relate
        )
        return self.tracer.bind(bound)

    def __getattr__(self, name: str) -> Any:
        if name == "shape":
            dims = self.node.array_type.shape
            return tuple(dim if isinstance(dim, int) else Number(self.tracer, dim) for dim in dims)
        if name == "ndim":
            return self.node.array_type.ndim
        if name == "dtype":
            return self.node.array_type.dtype
        attribute = ops.attribute(name)
        if attribute is not None:
            return self.tracer.bind(attribute.bind((self.node,), {}, self.tracer.relate))
        method = ops.method(name)
        if method is None:
            raise AttributeError(name)

        def call(*args: Any, **kwargs: Any) -> Any:
            bound = method.bind((self.node, *plain(args)), {k: plain(v) for k, v in kwargs.items()}, self.tracer.relate)
            return self.tracer.bind(bound)

        return call

    def __getitem__(self, key: Any) -> Traced:
        return self.tracer.bind(ops.index(self.node, plain(key)))  # type: ignore[no-any-return]

    def __setitem__(self, key: Any, value: Any) -> None:
        ops.store_index(self.tracer.graph, self.node, plain(key), plain(value), None, self.tracer.relate)

    def __len__(self) -> int:
        raise TypeError("a symbolic size has no value")


def _operators() -> None:
    def binary(symbol: str) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
        def forward(self: Traced, other: Any) -> Any:
            return self.tracer.bind(ops.binary_operator(symbol, self.node, plain(other), self.tracer.relate))

        def reflected(self: Traced, other: Any) -> Any:
            return self.tracer.bind(ops.binary_operator(symbol, plain(other), self.node, self.tracer.relate))

        def inplace(self: Traced, other: Any) -> Any:
            bound = ops.inplace_operator(symbol + "=", self.node, plain(other), self.tracer.relate)
            return self.tracer.bind(bound)

        return forward, reflected, inplace

    names = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow"}
    names |= {"@": "matmul", "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift"}
    for symbol, name in names.items():
        for prefix, function in zip(("", "r", "i"), binary(symbol), strict=True):
            setattr(Traced, f"__{prefix}{name}__", function)
    for symbol, name in {"<": "lt", "<=": "le", "==": "eq", "!=": "ne", ">": "gt", ">=": "ge"}.items():
        setattr(Traced, f"__{name}__", binary(symbol)[0])
    for symbol, name in {"-": "neg", "+": "pos", "~": "invert", "abs": "abs"}.items():
        setattr(
            Traced,
            f"__{name}__",
            lambda self, symbol=symbol: self.tracer.bind(ops.unary_operator(symbol, self.node)),
        )


_operators()
Traced.__hash__ = None  # type: ignore[assignment]


def new(function: Any, like: Any, *args: Any, **kwargs: Any) -> Any:
    """A fresh array of the shape of `like`, by np.zeros, np.empty ...: these cannot be traced by dispatch."""
    shape = (like.shape, *args)
    return like._call(function, shape, kwargs) if isinstance(like, Traced) else function(*shape, **kwargs)


def as_type(type_: Any, value: Any) -> Any:
    """np.float32(value) and the like, which cannot be traced by dispatch."""
    return value._call(type_, (value,), {}) if isinstance(value, Traced) else type_(value)


def for_range(bounds: tuple[Any, Any, Any], carried: tuple[Any, ...], body: Callable[..., tuple[Any, ...]]) -> Any:
    """The carried values after `carried = body(i, *carried)` for every i of range(*bounds)."""
    tracers = [value.tracer for value in (*bounds, *carried) if isinstance(value, Traced | Number)]
    if not tracers:
        for number in range(*bounds):
            carried = body(number, *carried)
        return carried
    tracer = tracers[0]
    limits = plain(bounds)
    initial = plain(carried)
    level = len(tracer.regions)
    region = Region(Graph(), len(carried))
    index = Symbol(f"i{len(tracer.indices)}", "int", 0)
    first = tracer.regions[0].graph
    tracer.indices[index.name] = evaluate(limits[0], symbol_values(first, tracer.example) | tracer.indices)
    region.graph.symbols[index.name] = index
    region.graph.inputs.append(index)
    # The carried values come first among the inputs, then the sizes that their types are made of.
    sizes = dict.fromkeys(name for node in initial for dim in node.array_type.shape for name in sorted(symbols_of(dim)))
    outer = {name: tracer.local_symbol(name, level - 1) for name in sizes}
    for place, name in enumerate(sizes):
        symbol = Symbol(name, "int", 1 + len(initial) + place)
        region.graph.symbols[name] = symbol
        region.captured.append(outer[name])
        if outer[name].axis is not None:
            region.graph.facts.learn(make("ge", symbol, 0), True)
            region.graph.facts.learn(make("ne", symbol, 1), True)
    tracer.regions.append(region)
    values = [Traced(tracer, tracer.input_of(level, node)) for node in initial]
    region.graph.inputs += [region.graph.symbols[name] for name in sizes]
    tracer.share_facts(level - 1, level)
    inside = tuple(tracer.local_scalar(limit, level) for limit in limits)
    learn_index(region.graph.facts, index, *inside)
    region.graph.outputs = list(plain(body(Number(tracer, index), *values)))
    for value, output in zip(values, region.graph.outputs, strict=True):
        for before, after in zip(value.node.array_type.shape, output.array_type.shape, strict=True):
            assert tracer.relate(make("eq", before, after))
            region.graph.facts.learn(make("eq", before, after), True)
    tracer.share_facts(level, level - 1)
    tracer.regions.pop()
    loop = tracer.graph.add_loop(limits, tuple(initial), tuple(region.captured), region.graph)
    results = [ops.call(tracer.graph, "tuple_get", (loop,), {"index": place}) for place in range(len(initial))]
    return tuple(Traced(tracer, result) for result in results)


def trace(function: Callable[..., Any], *example: Any) -> Graph:
    """The graph of function(*example), its outputs a flat list."""
    tracer = Tracer(example)
    result = function(*map(tracer.input, example))
    outputs = result if isinstance(result, tuple) else (result,)
    tracer.graph.outputs = [plain(output) for output in outputs if output is not None]
    return tracer.graph


def symbol_count(graph: Graph) -> int:
    return sum(isinstance(value, Symbol) for value in graph.inputs)

"""Traces a NumPy function to a Graph without capture: arrays that note what is done to them.

Enters a function and example arrays, NumPy scalars or Python numbers; leaves a Graph with symbolic sizes. Operators,
ufuncs, NumPy functions, methods and index stores go through the same spellings that capture uses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dynamo_lite import ops
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.interpret import symbol_values
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.scalar import Scalar, Symbol, evaluate, make
from dynamo_lite.graph.types import ArrayType


class Tracer:
    """The graph under construction and the example it is made for."""

    def __init__(self, example: tuple[Any, ...]) -> None:
        self.graph = Graph()
        self.example = example

    def relate(self, condition: Scalar) -> bool:
        return bool(evaluate(condition, symbol_values(self.graph, self.example)))

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
        return value.value
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
        self.node = node

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


def new(function: Any, like: Traced, *args: Any, **kwargs: Any) -> Any:
    """A fresh array of the shape of `like`, by np.zeros, np.empty ...: these cannot be traced by dispatch."""
    return like._call(function, (like.shape, *args), kwargs)


def as_type(type_: Any, value: Traced) -> Any:
    """np.float32(value) and the like, which cannot be traced by dispatch."""
    return value._call(type_, (value,), {})


def trace(function: Callable[..., Any], *example: Any) -> Graph:
    """The graph of function(*example), its outputs a flat list."""
    tracer = Tracer(example)
    result = function(*map(tracer.input, example))
    outputs = result if isinstance(result, tuple) else (result,)
    tracer.graph.outputs = [plain(output) for output in outputs if output is not None]
    return tracer.graph


def symbol_count(graph: Graph) -> int:
    return sum(isinstance(value, Symbol) for value in graph.inputs)

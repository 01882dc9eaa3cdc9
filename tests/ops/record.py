"""Records straight-line NumPy code as a graph, by arrays that note what is done to them.

Enters: a Python function and its arguments. Leaves: a function of the same arguments that runs the recorded graph with
the interpreter; a later call whose sizes obey the graph's facts runs the same graph. It drives dynamo_lite.ops the way
capture does, and shares nothing with it, so that ops are tested before and apart from bytecode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dynamo_lite import ops
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.interpret import interpret, symbol_values
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.scalar import Number, Scalar, ScalarOp, Symbol, evaluate, make, symbols_of
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.graph.verify import verify


class Recording:
    """A graph under construction, with the values its symbols have now."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.env: dict[str, Number] = {}
        self.arrays: dict[Node, Array] = {}

    def relate(self, condition: Scalar) -> bool:
        truth = bool(evaluate(condition, self.env))
        self.graph.facts.learn(condition, truth)
        return truth

    def input(self, value: Any) -> Any:
        """A stand-in for an argument."""
        if isinstance(value, np.ndarray | np.generic):
            shape = []
            for axis, size in enumerate(value.shape):
                if size == 1:
                    shape.append(1)
                else:
                    symbol = self.graph.add_symbol("int", len(self.graph.inputs), axis)
                    self.env[symbol.name] = size
                    shape.append(symbol)
            type_ = ArrayType(value.dtype, tuple(shape), isinstance(value, np.generic))
            return self.wrap(self.graph.add_input(type_))
        if type(value) in (int, float, bool):
            symbol = self.graph.add_symbol(type(value).__name__)
            self.env[symbol.name] = value
            return Num(self, symbol)
        raise TypeError(type(value))

    def wrap(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(self.wrap, value))
        if isinstance(value, Symbol | ScalarOp):
            return Num(self, value)
        if isinstance(value, Node):
            return self.arrays.setdefault(value, Array(self, value))
        return value

    def do(self, bound: ops.Bound) -> Any:
        return self.wrap(ops.apply(self.graph, bound, None, self.relate))

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """function(*args, **kwargs) by its spelling."""
        spelling = ops.lookup(function)
        if spelling is None:
            raise ops.OpError(f"{function} has no spelling")
        return self.do(spelling.bind(raw(args), raw(kwargs), self.relate))


def raw(value: Any) -> Any:
    """A value as ops take it."""
    if isinstance(value, Array):
        return value.node
    if isinstance(value, Num):
        return value.expr
    if isinstance(value, tuple):
        return tuple(map(raw, value))
    if isinstance(value, list):
        return list(map(raw, value))
    if isinstance(value, dict):
        return {key: raw(item) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(raw(value.start), raw(value.stop), raw(value.step))
    return value


class Num:
    """A Python number of the recorded program."""

    def __init__(self, recording: Recording, expr: Scalar) -> None:
        self.recording = recording
        self.expr = expr


def _num(name: str) -> Any:
    def forward(self: Num, other: Any) -> Any:
        return (
            self.recording.wrap(make(name, self.expr, raw(other))) if not isinstance(other, Array) else NotImplemented
        )

    def reflected(self: Num, other: Any) -> Any:
        return self.recording.wrap(make(name, raw(other), self.expr))

    setattr(Num, f"__{name}__", forward)
    setattr(Num, f"__r{name}__", reflected)


for _name in ("add", "sub", "mul", "floordiv", "mod", "truediv"):
    _num(_name)


class Array:
    """An array or NumPy scalar of the recorded program."""

    def __init__(self, recording: Recording, node: Node) -> None:
        self.recording = recording
        self.node = node

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self.recording.call(ufunc if method == "__call__" else getattr(ufunc, method), *inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.recording.call(function, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "shape":
            return self.recording.wrap(self.node.array_type.shape)
        if name == "dtype":
            return self.node.array_type.dtype
        spelling = ops.attribute(name)
        if spelling is not None:
            return self.recording.do(spelling.bind((self.node,), {}, self.recording.relate))
        method = ops.method(name)
        if method is None:
            raise AttributeError(name)
        return lambda *args, **kwargs: self.recording.do(
            method.bind((self.node, *raw(args)), raw(kwargs), self.recording.relate)
        )

    def __getitem__(self, key: Any) -> Any:
        return self.recording.do(ops.index(self.node, raw(key)))

    def __setitem__(self, key: Any, value: Any) -> None:
        ops.store_index(self.recording.graph, self.node, raw(key), raw(value), None, self.recording.relate)


_SIGNS = {
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@"},
    **{"and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "divmod": "divmod"},
    **{"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "gt": ">", "ge": ">="},
}


def _operator(name: str, sign: str) -> None:
    def forward(self: Array, other: Any) -> Any:
        return self.recording.do(ops.binary_operator(sign, self.node, raw(other), self.recording.relate))

    def reflected(self: Array, other: Any) -> Any:
        return self.recording.do(ops.binary_operator(sign, raw(other), self.node, self.recording.relate))

    def inplace(self: Array, other: Any) -> Any:
        return self.recording.do(ops.inplace_operator(sign + "=", self.node, raw(other), self.recording.relate))

    setattr(Array, f"__{name}__", forward)
    if name not in ("lt", "le", "eq", "ne", "gt", "ge"):
        setattr(Array, f"__r{name}__", reflected)
        if name != "divmod":
            setattr(Array, f"__i{name}__", inplace)


for _name, _sign in _SIGNS.items():
    _operator(_name, _sign)
for _name, _sign in {"neg": "-", "pos": "+", "invert": "~", "abs": "abs"}.items():
    setattr(
        Array,
        f"__{_name}__",
        lambda self, sign=_sign: self.recording.do(ops.unary_operator(sign, self.node)),
    )


class Recorded:
    """`fn` compiled by recording. graphs: what was recorded, the latest last."""

    def __init__(self, fn: Callable[..., Any], **options: Any) -> None:
        self.fn = fn
        self.graphs: list[Graph] = []
        self._entries: list[tuple[Any, Graph, Any]] = []

    def __call__(self, *args: Any) -> Any:
        key = tuple(
            (type(arg), getattr(arg, "dtype", None), tuple(n == 1 for n in getattr(arg, "shape", ()))) for arg in args
        )
        for known, graph, shape in self._entries:
            if known == key:
                env = symbol_values(graph, args)
                asked = [one for one in graph.facts.learned if symbols_of(one) <= env.keys()]  # not of open sizes
                if all(evaluate(condition, env) for condition in asked):
                    return _rebuild(shape, iter(interpret(graph, args)))
        recording = Recording()
        result = self.fn(*map(recording.input, args), **({"np": Names(recording)} if _wants_names(self.fn) else {}))
        shape = _flatten(result, recording.graph.outputs)
        verify(recording.graph)
        self.graphs.append(recording.graph)
        self._entries.append((key, recording.graph, shape))
        return _rebuild(shape, iter(interpret(recording.graph, args)))


def _wants_names(fn: Callable[..., Any]) -> bool:
    return "np" in fn.__code__.co_varnames[: fn.__code__.co_argcount + fn.__code__.co_kwonlyargcount]


class Names:
    """NumPy's names for functions that do not dispatch on their arguments (np.zeros)."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    def __getattr__(self, name: str) -> Any:
        value = getattr(np, name)
        if not callable(value) or isinstance(value, np.dtype):
            return value
        return lambda *args, **kwargs: self.recording.call(value, *args, **kwargs)


def _flatten(result: Any, outputs: list[Any]) -> Any:
    if isinstance(result, tuple | list):
        return type(result), [_flatten(item, outputs) for item in result]
    if isinstance(result, Array | Num):
        outputs.append(raw(result))
        return "output"
    return "constant", result


def _rebuild(shape: Any, values: Any) -> Any:
    if shape == "output":
        return next(values)
    kind, items = shape
    if kind == "constant":
        return items
    return kind([_rebuild(item, values) for item in items])


def record(fn: Callable[..., Any], **options: Any) -> Recorded:
    """`fn` as a function that records and interprets."""
    return Recorded(fn, **options)

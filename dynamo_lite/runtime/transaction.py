"""A call of a Python callable that either succeeds or leaves every array as it found it, as native programs do.

Enters: a graph and a callable of its inputs. Leaves: a callable that raises Declined where that one fails. Used for
backends whose product is plain Python; csrc/program/launch.c has Save steps for the same purpose.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dynamo_lite._C import Declined, has_other_threads
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.interpret import symbol_values
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.rewrite import is_structured, written_by
from dynamo_lite.graph.scalar import Number, evaluate, kind_of, symbols_of
from dynamo_lite.graph.types import GENERATOR, LIST, ArrayType
from dynamo_lite.ops.draws import journal
from dynamo_lite.ops.lists import put_back


def transaction(
    graph: Graph, function: Callable[..., Sequence[Any]], on_failure: Callable[[Exception], None] | None = None
) -> Callable[..., Sequence[Any]]:
    """`function` with NumPy's floating-point errors raised (those that `np.geterr()` does not ignore) and, where it
    raises, the written inputs, the lists and the random generators put back and Declined raised. on_failure is told
    of the exception first, and may raise another. Results of other types than the graph's are such a failure
    (TypeError)."""
    roots = written_by(graph.nodes)
    loops = any(map(is_structured, graph.nodes))
    lists = [place for place, node in enumerate(graph.inputs) if isinstance(node, Node) and node.type == LIST]
    drawn = [place for place, node in enumerate(graph.inputs) if isinstance(node, Node) and node.type == GENERATOR]
    changed = sorted(node.params["index"] for node in roots if node.kind is NodeKind.INPUT)

    def strictly(*inputs: Any) -> Sequence[Any]:
        strict: dict[str, Any] = {name: "ignore" if mode == "ignore" else "raise" for name, mode in np.geterr().items()}
        np.seterr(**strict)
        outputs = function(*inputs)
        if not isinstance(outputs, Sequence) or len(outputs) != len(graph.outputs):
            length = f" of {len(outputs)}" if isinstance(outputs, Sequence) else ""
            asked = f"{len(graph.outputs)} outputs are asked for"
            raise TypeError(f"it gave a {type(outputs).__name__}{length} where {asked}")
        sizes = symbol_values(graph, inputs)
        for place, (output, value) in enumerate(zip(graph.outputs, outputs, strict=True)):
            if not _is_of_type(value, output, sizes):
                due = output.type if isinstance(output, Node) else kind_of(output)
                raise TypeError(f"it gave {_described(value)} as output {place}, where {due} is asked for")
        pairs = zip(graph.outputs, outputs, strict=True)
        return [value if isinstance(output, Node) else _renewed(value) for output, value in pairs]

    def run(*inputs: Any) -> Sequence[Any]:
        # Python code cannot keep other threads from running in the middle of a loop.
        if loops and has_other_threads():
            raise Declined("another thread waits")
        saved = [(inputs[index], inputs[index].copy()) for index in changed]
        contents = [(one, one.copy()) for one in _containers([inputs[index] for index in lists])]
        journals = [journal(inputs[index]) for index in drawn]
        try:
            # NumPy keeps errstate in a context variable: a KeyboardInterrupt anywhere cannot leave ours behind.
            return contextvars.copy_context().run(strictly, *inputs)
        except BaseException as error:
            for array, before in saved:
                array[...] = before
            for container, held in contents:
                put_back(container, held)
            for undo in reversed(journals):
                undo()
            if not isinstance(error, Exception) or isinstance(error, MemoryError | Declined):
                raise
            if on_failure is not None and not isinstance(error, FloatingPointError):
                on_failure(error)
            raise Declined(f"{type(error).__name__}: {error}") from None

    return run


def _containers(given: list[Any]) -> list[Any]:
    """The lists and dicts among some objects, and the lists in lists."""
    found: dict[int, Any] = {}
    work = list(given)
    while work:
        one = work.pop()
        if type(one) in (list, dict) and id(one) not in found:
            found[id(one)] = one
            work += [part for part in one if type(part) is list] if type(one) is list else []
    return list(found.values())


def _renewed(number: Any) -> Any:
    """The same number as another object: a program computes each of its own, also max() of an input."""
    return number + 0 if type(number) is int else number * 1.0 if type(number) is float else number


def _is_of_type(value: Any, output: Argument, sizes: dict[str, Number]) -> bool:
    """Whether `value` is what the graph says of `output`; a size that only the run knows may be any."""
    if not isinstance(output, Node):
        return type(value).__name__ == kind_of(output)
    if output.type == LIST:
        return True  # or what a list holds
    if not isinstance(output.type, ArrayType):
        return True
    if output.type.scalar:
        return type(value) is output.type.dtype.type
    if type(value) is not np.ndarray or value.dtype != output.type.dtype or value.ndim != output.type.ndim:
        return False
    known = (
        (size, dim) for size, dim in zip(value.shape, output.type.shape, strict=True) if symbols_of(dim) <= sizes.keys()
    )
    return all(size == evaluate(dim, sizes) for size, dim in known)


def _described(value: Any) -> str:
    """The type of a result, as an ArrayType would print it."""
    if type(value) is np.ndarray:
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    return f"a {type(value).__name__}"

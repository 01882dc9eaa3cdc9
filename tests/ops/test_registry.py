"""Every op on every dtype and layout: what `infer` says is what `evaluate`, NumPy itself, gives."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.interpret import interpret, numbers_of, symbol_values
from dynamo_lite.graph.opdef import REGISTRY, OpDef, OpError, OpKind, Sample
from dynamo_lite.graph.scalar import Scalar, Symbol, evaluate
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.graph.verify import verify
from dynamo_lite.ops import call

CODES = "?bhilBHILefdFD"
LAYOUTS = ("C", "F", "strided", "reversed", "broadcast")


def array_of(shape: tuple[int, ...], code: str, layout: str, scalar: bool = False) -> Any:
    """An array of small positive values in the layout; scalar: a NumPy scalar."""
    dtype = np.dtype(code)
    size = int(np.prod(shape))
    values = (np.arange(size) % 2 + 1).astype(dtype).reshape(shape)
    if scalar:
        return values[()]
    if layout == "F":
        return np.array(values, order="F")
    if layout == "strided":
        room = np.zeros(tuple(2 * n for n in shape), dtype)
        view = room[(*(slice(None, None, 2) for _ in shape), ...)]
        view[...] = values
        return view
    if layout == "reversed":
        keys = (*(slice(None, None, -1) for _ in shape), ...)
        return values.copy()[keys]
    if layout == "broadcast":
        return np.broadcast_to(dtype.type(1), shape)
    return values


def dtype_choices(op: OpDef, sample: Sample, first: bool) -> Iterator[tuple[str, ...]]:
    places = [place for place, one in enumerate(sample.operands) if isinstance(one, tuple)]
    allowed = [(sample.dtypes[k] if k < len(sample.dtypes) else "") or CODES for k in range(len(places))]
    if (len(places) == 2 and first and op.kind is OpKind.ELEMENTWISE) or (
        len(places) == 2 and op.name.startswith("scalar_") and first
    ):
        yield from itertools.product(*allowed)
    else:
        for code in CODES:
            yield tuple(code if code in one else one[0] for one in allowed)
        if len(places) > 1:
            yield tuple(one[-1 - k] if len(one) > k else one[0] for k, one in enumerate(allowed))
            yield tuple(one[(5 * k + 3) % len(one)] for k, one in enumerate(allowed))


def layouts_for(codes: tuple[str, ...]) -> tuple[str, ...]:
    """Every layout; for operands of different dtypes one of them in turn."""
    if len(set(codes)) <= 1:
        return LAYOUTS
    return (LAYOUTS[sum(map(CODES.index, codes)) % len(LAYOUTS)],)


def resized(operand: Any, old: int | None, new: int) -> Any:
    return tuple(new if n == old else n for n in operand) if isinstance(operand, tuple) else operand


def build(op: OpDef, operands: list[Any], params: dict[str, Any], symbolic: bool) -> tuple[Graph, Any, list[Any]]:
    """A graph of one call on inputs like `operands`, with every size a symbol; symbolic: numbers too."""
    graph = Graph()
    args: list[Any] = []
    inputs: list[Any] = []
    for operand in operands:
        if isinstance(operand, np.ndarray | np.generic):
            number = len(inputs)
            shape = tuple(
                n if n == 1 else graph.add_symbol("int", number, axis) for axis, n in enumerate(operand.shape)
            )
            args.append(graph.add_input(ArrayType(operand.dtype, shape, isinstance(operand, np.generic))))
            inputs.append(operand)
        elif symbolic and type(operand) in (int, float):
            args.append(graph.add_symbol(type(operand).__name__))
            inputs.append(operand)
        else:
            args.append(operand)
    env = symbol_values(graph, inputs)

    def relate(condition: Scalar) -> bool:
        return bool(evaluate(condition, env))

    node = call(graph, op.name, tuple(args), params, None, relate)
    return graph, node, inputs


def check_type(type_: Any, value: Any, env: dict[str, Any], what: str) -> None:
    if isinstance(type_, tuple):
        assert isinstance(value, tuple), what
        for one, item in zip(type_, value, strict=True):
            check_type(one, item, env, what)
        return
    assert isinstance(value, np.generic if type_.scalar else np.ndarray), f"{what}: {type_} but {type(value)}"
    assert value.dtype == type_.dtype and value.dtype.num == type_.dtype.num, f"{what}: {type_} but {value.dtype}"
    shape = tuple(evaluate(dim, env) for dim in type_.shape)
    assert value.shape == shape, f"{what}: {type_} = {shape} but {value.shape}"
    ones = [dim for dim, n in zip(type_.shape, shape, strict=True) if n == 1]
    is_open = [isinstance(dim, Symbol) and dim.input < 0 for dim in ones]  # only the run knows it
    assert all(dim == 1 or o for dim, o in zip(ones, is_open, strict=True)), f"{what}: {type_}, a hidden 1"


def check(op: OpDef, operands: list[list[Any]], params: dict[str, Any], symbolic: bool) -> tuple[int, int, int]:
    """Compare on one list of operands per layout; counts (agreed, no rule although NumPy works, raised)."""
    what = f"{op.name}({', '.join(_describe(one) for one in operands[0])}, {params})"
    try:
        graph, node, inputs = build(op, operands[0], params, symbolic)
    except OpError:
        node = None
    agreed = refused = raised = 0
    for row in operands:
        try:
            with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
                warnings.simplefilter("always")
                value = op.evaluate(tuple(row), params)
        except Exception:
            raised += 1
            continue
        if node is None:
            refused += not caught
            continue
        assert not caught, f"{what}: {caught[0].message}"
        check_type(node.type, value, symbol_values(graph, inputs) | numbers_of(node, value), what)
        agreed += 1
    if node is not None and raised < len(operands):
        verify(graph)
        if not isinstance(node.type, tuple):
            graph.outputs.append(node)
            with np.errstate(all="ignore"):
                (result,) = interpret(graph, inputs)
            check_type(node.type, result, symbol_values(graph, inputs) | numbers_of(node, result), what)
    return agreed, refused, raised


def _describe(operand: Any) -> str:
    return f"{operand.dtype}{operand.shape}" if isinstance(operand, np.ndarray | np.generic) else repr(operand)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_infer_says_what_evaluate_gives(name: str) -> None:
    op = REGISTRY[name]
    if name == "tuple_get":
        pytest.skip("tested with the ops that have several results")
    of_lists = ("new_container", "append", "put_item", "list_take", "list_join", "object_number", "held_object")
    if name in (*of_lists, "object_scalar", "object_array", "list_array"):
        pytest.skip("lists and dicts: tests/programs/test_loop_lists.py, test_loop_items.py")
    if name == "error_state":
        pytest.skip("error states: tests/programs/test_error_states.py")
    if name == "draw":
        pytest.skip("random draws: tests/programs/test_draws.py")
    if name == "user_call":
        pytest.skip("functions of the user's: tests/programs/test_ordinary_code.py")
    assert op.samples, "an op has samples"
    counts = np.zeros(3, int)
    for number, sample in enumerate(op.samples):
        only_scalars = name.startswith("scalar_")
        for codes in dtype_choices(op, sample, number == 0):
            for size in (None, 3, 2):
                if size is not None and not any(size in one for one in sample.operands if isinstance(one, tuple)):
                    continue
                if size == 2 and sample.dtypes:
                    continue
                for new in (0, 1) if size is not None and len(set(codes)) <= 1 else (None,) if size is None else ():
                    shapes = [resized(one, size, new) for one in sample.operands]
                    rows = []
                    for layout in layouts_for(codes) if size is None else ("C",):
                        code = iter(codes)
                        rows.append(
                            [
                                array_of(one, next(code), layout, only_scalars) if isinstance(one, tuple) else one
                                for one in shapes
                            ]
                        )
                    counts += check(op, rows, sample.params, False)
                    if any(type(one) in (int, float) for one in sample.operands):
                        counts += check(op, rows[:1], sample.params, True)
    agreed, refused, raised = counts
    assert agreed, f"{name}: no sample was compared ({refused} refused, {raised} raised)"
    # Only an arange of numbers that are not constant may have no rule: its length or its values may overflow.
    assert not refused or name == "arange", f"{name}: {refused} calls that NumPy does have no rule, {agreed} have"

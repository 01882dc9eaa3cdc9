"""Binders are total: every argument of every spelling has a Kind, is read, or cannot make a difference."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import numpy as np
import pytest

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.opdef import OpError
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops import folded, registry
from dynamo_lite.ops.parameters import ABSENT, Flag, Kind, Parameters, Unmodelled, parameters_of

UFUNCS = (np.add, np.multiply, np.matmul)


def rows() -> Iterator[tuple[str, Any, Parameters, Callable[..., Any] | None]]:
    """Text, callable, parameters and binder of every row."""
    for target, spelling in registry.callables():
        yield spelling.text, target, spelling.parameters, spelling.binder
    for name, spelling in registry.methods():
        yield f"np.ndarray.{name}", getattr(np.ndarray, name), spelling.parameters, spelling.binder
    for ufunc in UFUNCS:
        for name, spelling in registry.ufunc_methods(ufunc):
            yield spelling.text, getattr(ufunc, name), spelling.parameters, spelling.binder
    for row in folded.rows():
        yield row.function.__name__, row.function, row.parameters, None


ROWS = list(rows())
IDS = [text for text, *_ in ROWS]
# Keywords that stand for another one, and those which the signatures of NumPy's C functions do not show.
SYNONYMS = {"sig"}
SHOWN_OTHERWISE = {("np.arange", "dtype")}  # which is taken by position all the same


def signature_of(target: Any) -> inspect.Signature | None:
    """NumPy's own signature; None where it shows none (NumPy before 2.4, some C functions)."""
    try:
        return inspect.signature(target)
    except ValueError:
        return None


def loaded(code: CodeType) -> set[str]:
    """The variables that a function reads, or hands to the functions inside it."""
    return {
        instr.argval for instr in dis.get_instructions(code) if instr.opname.startswith(("LOAD_FAST", "LOAD_DEREF"))
    }


@pytest.mark.parametrize(("text", "target", "parameters", "binder"), ROWS, ids=IDS)
def test_every_parameter_has_a_kind_and_is_read(
    text: str, target: Any, parameters: Parameters, binder: Callable[..., Any] | None
) -> None:
    assert set(parameters.kinds) == set(parameters.signature.parameters)
    if binder is None:
        return
    read = {name for name, kind in parameters.kinds.items() if kind.read}
    names = [name for item in dis.get_instructions(binder.__code__) for name in _names(item)]
    assert read == set(names) & set(parameters.kinds), text


def _names(instr: dis.Instruction) -> list[str]:
    """The local variables that an instruction reads; since 3.13 one may read two."""
    if not instr.opname.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE")) and "LOAD_FAST" not in instr.opname:
        return []
    return list(instr.argval) if isinstance(instr.argval, tuple) else [instr.argval]


@pytest.mark.parametrize(("text", "target", "parameters", "binder"), ROWS, ids=IDS)
def test_parameters_are_those_of_numpy(
    text: str, target: Any, parameters: Parameters, binder: Callable[..., Any] | None
) -> None:
    """By name, by what may be given by position or by name, and by which are required."""
    theirs = signature_of(target)
    if theirs is None:
        pytest.skip("NumPy shows no signature")
    open_ended = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in theirs.parameters.values())
    known = theirs.parameters
    in_order = [one for one in known.values() if "position" in _places(one)]
    for place, (name, ours) in enumerate(parameters.signature.parameters.items()):
        if ours.kind is inspect.Parameter.VAR_POSITIONAL or name in SYNONYMS or (place == 0 and parameters.method):
            continue
        if ours.kind is inspect.Parameter.POSITIONAL_ONLY:
            model = in_order[place]
        elif name not in known:
            assert open_ended or ours.default is ABSENT, f"{text} has no {name}"
            continue
        else:
            model = known[name]
        assert _places(ours) <= _places(model) or (text, name) in SHOWN_OTHERWISE, f"{text}: {name} is {model.kind}"
        required = model.default is inspect.Parameter.empty
        assert not (required and ours.default is not inspect.Parameter.empty), f"{text} requires {name}"


def _places(parameter: inspect.Parameter) -> set[str]:
    return {
        inspect.Parameter.POSITIONAL_ONLY: {"position"},
        inspect.Parameter.POSITIONAL_OR_KEYWORD: {"position", "name"},
        inspect.Parameter.KEYWORD_ONLY: {"name"},
        inspect.Parameter.VAR_POSITIONAL: {"position"},
        inspect.Parameter.VAR_KEYWORD: {"name"},
    }[parameter.kind]


@pytest.mark.parametrize(("text", "target", "parameters", "binder"), ROWS, ids=IDS)
def test_arguments_without_a_parameter_are_refused(
    text: str, target: Any, parameters: Parameters, binder: Callable[..., Any] | None
) -> None:
    node = Graph().add_input(ArrayType(np.dtype(float), (3,)))
    if parameters.method:
        first = next(iter(parameters.signature.parameters))
        with pytest.raises(OpError):
            parameters.bind((), {first: node})
    with pytest.raises(OpError):
        parameters.bind((node,), {"no_such_keyword": 1})
    with pytest.raises(OpError):
        parameters.bind((object(),) * 12, {})


@pytest.mark.parametrize(("text", "target", "parameters", "binder"), ROWS, ids=IDS)
def test_objects_of_unknown_types_are_refused(
    text: str, target: Any, parameters: Parameters, binder: Callable[..., Any] | None
) -> None:
    for name, kind in parameters.kinds.items():
        for value in (object(), {}, {1}, b"x", [object()], (None, None), "no such word", np.datetime64("2020")):
            try:
                kind.convert(value)
            except OpError:
                continue
            # NumPy scalars of every dtype are operands: what type they give is asked of NumPy.
            taken = "number" if isinstance(value, np.generic) else "a known str" if isinstance(value, str) else ""
            # Of an index, and of what np.array takes, the rule looks at the items.
            looked_at = "an index" in kind.name or "in tuples and lists" in kind.name
            assert (taken and taken in kind.name) or looked_at, (text, name, value, kind.name)


def test_a_parameter_without_a_kind_is_refused() -> None:
    def bind(ask: object, a: Any, keepdims: Flag = False) -> None: ...

    def bind_more(ask: object, keepdims: Flag = False, **rest: Unmodelled) -> None: ...

    for binder in (bind, bind_more):
        with pytest.raises(TypeError, match="has no Kind"):
            parameters_of(binder)


def test_what_is_not_given_is_not_converted() -> None:
    def bind(ask: object, keepdims: Flag = None) -> None: ...  # type: ignore[assignment]

    parameters = parameters_of(bind)
    assert parameters.bind((), {}).arguments == {}
    with pytest.raises(OpError, match="keepdims"):
        parameters.bind((None,), {})
    assert isinstance(parameters.kinds["keepdims"], Kind)

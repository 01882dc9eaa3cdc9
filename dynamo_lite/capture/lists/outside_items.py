"""Items of containers from outside under a number or a string of the call: the guards find them, whatever it is.

    h = hs[t - 1]     reads ("item_at", hs, ("plus", t, -1)): another t finds another array, and none compiles anew

Without this the number would be guarded, and a segment that is entered for each item of a list compiled for each. What
loops read by their own numbers is known otherwise (columns.py, object_lists.py), and so are lists where NumPy wants
arrays (whole_lists.py). INVARIANT: what is found so is what the container held when the segment began. One that the
segment stores to has its keys known (`Tracer.keyed`), and is none of the others that are looked into: places.py and
lists.py guard that.
"""

from __future__ import annotations

from typing import Any

from dynamo_lite.capture.loops.code import appends
from dynamo_lite.capture.source import Source
from dynamo_lite.capture.state import Retry, Tracer
from dynamo_lite.capture.value import DictValue, LazyValue, NumberValue, SequenceValue, TextValue, Value
from dynamo_lite.capture.wrap import is_made_by_guards, is_object_list, present
from dynamo_lite.graph.scalar import Scalar, ScalarOp, Symbol, kind_of

_FEW = 2  # items of a list: each has an entry of its own, unless the list may be growing


def _int_source(tracer: Tracer, expr: Scalar) -> Source | None:
    """Where the guards find an int: one of the call's, or such a one and a constant."""
    addend = 0
    if isinstance(expr, ScalarOp) and expr.op in ("add", "sub"):
        op, (first, second) = expr.op, expr.operands
        if type(second) is int:
            expr, addend = first, second if op == "add" else -second
        elif type(first) is int and op == "add":
            expr, addend = second, first
    if not isinstance(expr, Symbol) or expr.axis is not None or expr.input >= len(tracer.root.inputs):
        return None
    if tracer.root.inputs[expr.input] is not expr:
        return None
    source = tracer.inputs[expr.input]
    if type(tracer.example_inputs[expr.input]) is not int or is_made_by_guards(tracer, source):
        return None
    return source if addend == 0 else Source("plus", source, addend)


def _key(tracer: Tracer, index: Value) -> tuple[Any, Source] | None:
    """The number or string that a key is in this call, and where the guards find it."""
    if isinstance(index, TextValue):
        return None if index.source is None else (index.text, index.source)
    if not isinstance(index, NumberValue) or kind_of(index.expr) != "int" or _varies(tracer, index.expr):
        return None
    source = index.source or _int_source(tracer, index.expr)
    return None if source is None or is_made_by_guards(tracer, source) else (tracer.hint(index.expr), source)


def _varies(tracer: Tracer, expr: Scalar) -> bool:
    return tracer.in_loop and tracer.varies(expr)


def in_dict(tracer: Tracer, container: DictValue, index: Value) -> Value | None:
    """What a dict holds under such a key; None where the key has to be known."""
    found = None if container.source is None or _is_keyed(tracer, container) else _key(tracer, index)
    if found is None:
        return None
    key, source = found
    held = container.items.get(key)
    if type(key) not in (str, int) or not isinstance(held, LazyValue):
        return None
    assert container.source is not None
    tracer.looked_into.add(container)
    return present(tracer, Source("lookup", container.source, source), held.concrete)


def in_list(tracer: Tracer, container: Value, index: Value) -> Value | None:
    """What a list or tuple that has been looked into, or not yet, holds under such a number; None where that has to be
    known. Of one that has not been its type alone is guarded."""
    if not isinstance(index, NumberValue) or container.source is None or _is_keyed(tracer, container):
        return None
    held: Any
    if isinstance(container, SequenceValue):
        held = [one.concrete for one in container.items if isinstance(one, LazyValue)]
        if container.cells is not None or container.is_grown or len(held) < len(container.items):
            return None
    elif isinstance(container, LazyValue) and container.known is None and type(container.concrete) in (list, tuple):
        at = id(container.concrete)
        if is_object_list(tracer, container) or at in tracer.grown or at in tracer.wrapped:
            return None
        held = container.concrete
    else:
        return None
    may_grow = appends(tracer.frames[0].code)
    found = _key(tracer, index) if len(held) > _FEW or may_grow else None
    if found is None or type(found[0]) is not int or not -len(held) <= found[0] < len(held):
        return None
    item = held[found[0]]
    if isinstance(container, LazyValue):
        tracer.facts.state("type", container.source, type(container.concrete))
        tracer.looked_up.setdefault(id(container.concrete), (container.concrete, set()))[1].add(container.source)
    else:
        tracer.looked_into.add(container)
    return present(tracer, Source("item_at", container.source, found[1]), item)


def _is_keyed(tracer: Tracer, container: Value) -> bool:
    """Whether the keys of a container have to be known, since the segment stores to it."""
    return container in tracer.stored or container.source in tracer.keyed


def note_store(tracer: Tracer, owner: Value) -> None:
    """Raise Retry where a list or dict from outside is stored to that has been looked into by a key that may be another
    in the next call: what is read in the next iteration of a loop, or after it, is not what it held before."""
    assert owner.source is not None
    found: set[Source] = {owner.source} if owner in tracer.looked_into else set()
    if tracer.looked_up:
        concrete = (obj for obj, one in tracer.wrapped.values() if one is owner)
        found |= tracer.looked_up.get(id(next(concrete, None)), (None, found))[1]
    if found:
        tracer.keyed.update(found)
        raise Retry


def looked_up(tracer: Tracer) -> list[Source]:
    """The lists of which nothing is known but their types and single items."""
    return [source for _, sources in tracer.looked_up.values() for source in sources]

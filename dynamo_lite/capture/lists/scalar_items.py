"""Which type an item of a list of NumPy scalars is taken for: np.float64, or a Python float that is among them.

    v = [0.0]
    for i in range(n): v.append(v[-1] + a * dt)     v is [0.0, np.float64(...), np.float64(...), ...]

Enters a list that the program has as an object (object_lists.py), of which some items are NumPy scalars, and an index.
Leaves the kind of the item: that of what the loop has put there, or of what stands there in the first iteration, or of
most items. INVARIANT: it is a guess. The program tests the type of each item that it takes, and declines for another.
"""

from __future__ import annotations

from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.state import Retry, Tracer
from dynamo_lite.capture.value import ArrayValue, ListValue, Value
from dynamo_lite.graph.scalar import Number, Scalar, evaluate, kind_of, symbols_of
from dynamo_lite.ops.lists import DTYPES_BY_NUMBER

# NB: a bool of NumPy's is called as one of Python's is.
DTYPES = {dtype.name + "_" * (dtype.kind == "b"): dtype for dtype in DTYPES_BY_NUMBER.values()}
NAMES: dict[type, str] = {float: "float", int: "int", bool: "bool"}
PYTHON_KINDS = frozenset(NAMES.values())
NAMES |= {dtype.type: name for name, dtype in DTYPES.items()}
SCALARS = "scalar"  # the kind of what such a list holds


def kind_of_scalar(value: Value) -> str | None:
    """The kind of a NumPy scalar of at most 64 bits; None of another value."""
    if not isinstance(value, ArrayValue) or not value.node.array_type.scalar:
        return None
    name = NAMES.get(value.node.array_type.dtype.type)
    return name if name in DTYPES else None


def guess(tracer: Tracer, target: ListValue, place: Scalar) -> str:
    """What the item of a list under an index is taken for."""
    kinds, items = tracer.kinds_put.get(_list_of(target), {}), target.concrete
    put = kinds.get(place, kinds.get(None))
    if put is not None and (items is None or place == -1 or place in kinds):
        return put
    at = _at_first(tracer, place)
    if at in kinds:
        return kinds[at]
    if at is None or items is None or not -len(items) <= at < len(items):
        return put or target.holding.most
    name = NAMES.get(type(items[at]))
    if name in PYTHON_KINDS and target.holding.awaits and tracer.regions:
        _begin_with(tracer, target)
        return target.holding.most
    return name or target.holding.most


def _begin_with(tracer: Tracer, target: ListValue) -> None:
    """Have the first iteration of the outermost loop run before it, since it reads a number of Python's where later
    ones find what the loop has put there: raises Retry, unless that has been done."""
    plan = tracer.plans[tracer.regions[0].key]
    if not plan.unpeeled and not plan.peel:
        plan.begin_with((target.at,))
        raise Retry


def note_put(tracer: Tracer, target: ListValue, place: Scalar | None, item: Value) -> None:
    """Note what a list gets under an index, or at its end."""
    number = as_scalar(item)
    kind = kind_of_scalar(item) or (None if number is None else kind_of(number))
    if target.holding.kind == SCALARS and kind is not None:
        tracer.kinds_put.setdefault(_list_of(target), {}).update({place: kind, None: kind})


def _list_of(target: ListValue) -> object:
    return target.node if target.at is None else target.at


def _at_first(tracer: Tracer, place: Scalar) -> int | None:
    """What an index is in the first iteration of the loops around; None where capture cannot tell."""
    env: dict[str, Number] = dict(tracer.hints)

    def known(number: Scalar | None) -> Number | None:
        if number is None or not symbols_of(number) <= env.keys():
            return None
        try:
            return evaluate(number, env)
        except (ArithmeticError, ValueError):
            return None

    for region in tracer.regions:
        starts: dict[str, Scalar | None] = {region.index.name: region.bounds[0]} if region.index.name else {}
        for path, symbol in region.numbers.items():
            begin = region.begins.get(path)
            starts[symbol.name] = None if begin is None else as_scalar(begin)
        found = {name: known(number) for name, number in starts.items()}
        env |= {name: number for name, number in found.items() if number is not None}
    at = known(place) if kind_of(place) == "int" else None
    return at if isinstance(at, int) else None


__all__ = ["DTYPES", "NAMES", "PYTHON_KINDS", "SCALARS", "guess", "kind_of_scalar", "note_put"]

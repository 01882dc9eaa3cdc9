"""What reversed(), itertools, NumPy's own iterators and strings from outside give: by its number, each item.

Enters a call that makes such an iterator; leaves an IteratorValue of a kind of numbered.RULED, whose ``of`` is that
call: where a segment ends in front of the loop, the iterator is made there. INVARIANT: making one has no effect and
raises nothing (that is seen where the program makes it, since it may store into arrays before the loop begins), and
items are what it gives when they are asked for.
"""

from __future__ import annotations

import itertools
import operator
from math import prod
from typing import Any

import numpy as np

from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.calls.call_rules import Args, Kwargs, Rule, only, positional, rule
from dynamo_lite.capture.calls.folding import check_items
from dynamo_lite.capture.iteration.iterators import drain, iterate
from dynamo_lite.capture.iteration.numbered import RULED, goes_over_arrays, item_at, numbering
from dynamo_lite.capture.lists.columns import open_long
from dynamo_lite.capture.machine import Machine, as_constant
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.state import ENDLESS, Tracer
from dynamo_lite.capture.texts import item_of
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    CallValue,
    ConstantValue,
    IteratorValue,
    NumberValue,
    RangeValue,
    SequenceValue,
    TextValue,
    Value,
)
from dynamo_lite.capture.wrap import characters
from dynamo_lite.graph.scalar import Scalar, is_symbolic, kind_of, make


def _made(machine: Machine, kind: str, function: Any, args: Args, items: list[Value]) -> Value:
    if not machine.tracer.native_loops:
        raise Break("python-call", getattr(function, "__name__", kind))
    return IteratorValue(None, CallValue(None, function, args), items, kind)


def _digits(number: Scalar, sizes: list[Scalar]) -> list[Scalar]:
    """The places along each axis of the element of that number, in C order."""
    found: list[Scalar] = []
    for size in reversed(sizes[1:]):
        found.insert(0, make("mod", number, size))
        number = make("floordiv", number, size)
    return [number, *found]


def _product(tracer: Tracer, sizes: list[Scalar]) -> Scalar:
    """How many elements there are along all axes; those but the first have to have some, which is guarded."""
    total, *others = sizes
    for size in others:
        if not tracer.relate(make("ge", size, 1)):
            raise Break("loop-over-unknown-iterator", "a product without items")
        total = make("mul", total, size)
    return total


def _is_int(scalar: Scalar | None) -> bool:
    """Whether it is a Python int, of 64 bits if it is known."""
    return scalar is not None and kind_of(scalar) == "int" and (is_symbolic(scalar) or -ENDLESS <= scalar <= ENDLESS)  # type: ignore[operator]


def _is_at_least(machine: Machine, number: Scalar | None, least: int) -> bool:
    """Whether it is an int that is not less; which is guarded."""
    return number is not None and _is_int(number) and machine.tracer.relate(make("ge", number, least))


# -- itertools -------------------------------------------------------------------------------------


@rule(itertools.product)
def _product_rule(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    repeat = as_constant(machine, kwargs["repeat"]) if "repeat" in kwargs else 1
    pools = args * repeat if type(repeat) is int and 0 < repeat <= 8 else []
    if not kwargs.keys() <= {"repeat"} or not pools:
        raise Break("c-function", "itertools.product")
    if not all(isinstance(arg, RangeValue) for arg in pools):
        return _known_tuples(machine, _repeated_product, repeat, args)
    if repeat == 1:
        return _made(machine, "product", itertools.product, args, pools)
    return _made(machine, "product", _repeated_product, [ConstantValue(None, repeat), *args], pools)


def _known_tuples(machine: Machine, function: Any, number: int, args: Args) -> Value:
    """function(number, *args), where all items of the arguments are known, and with them all tuples of such items.

    The arguments are gone through when the iterator is made, so that it is tuples of their items that it is made of."""
    ranges = [arg for arg in args if isinstance(arg, RangeValue)]
    if any(map(is_symbolic, (bound for one in ranges for bound in (one.start, one.stop, one.step)))):
        raise Break("loop-over-unknown-iterator", "a range")  # which would be another one for each number
    pools = [drain(machine, arg) for arg in args]
    count = prod(map(len, pools)) if function is _repeated_product else len(pools[0])
    check_items(count**number)
    items: list[Value] = [SequenceValue(None, tuple, list(one)) for one in function(number, *pools)]
    tuples = [SequenceValue(None, tuple, pool) for pool in pools]
    return IteratorValue(None, CallValue(None, function, [ConstantValue(None, number), *tuples]), items)


def _combinations(number: int, pool: Any) -> Any:
    return itertools.combinations(pool, number)


def _with_replacement(number: int, pool: Any) -> Any:
    return itertools.combinations_with_replacement(pool, number)


def _permutations(number: int, pool: Any) -> Any:
    return itertools.permutations(pool, number)


_OF_SO_MANY = {
    itertools.combinations: _combinations,
    itertools.combinations_with_replacement: _with_replacement,
    itertools.permutations: _permutations,
}


def _of_so_many(function: Any) -> Rule:
    def made(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        pool, number = positional(args, kwargs, 2)
        known = as_constant(machine, number)
        if type(known) is not int or not 0 <= known <= 8:
            raise Break("c-function", f"itertools.{function.__name__}")
        return _known_tuples(machine, _OF_SO_MANY[function], known, [pool])

    return made


for _function in _OF_SO_MANY:
    rule(_function)(_of_so_many(_function))


def _repeated_product(repeat: int, *args: Any) -> Any:
    """A pool that is repeated is one tuple, with the same objects each time."""
    return itertools.product(*args, repeat=repeat)


def _sizes_of_pools(tracer: Tracer, iterator: IteratorValue) -> list[Scalar]:
    sizes: list[Scalar] = []
    for pool in iterator.items:
        assert isinstance(pool, RangeValue)
        if pool.step != 1:
            raise Break("loop-over-unknown-iterator", "a product of ranges with steps")
        distance = make("sub", pool.stop, pool.start)
        sizes.append(distance if tracer.relate(make("ge", distance, 0)) else 0)
    return sizes


def _character(machine: Machine, iterator: IteratorValue, number: Scalar) -> Value:
    text = iterator.items[0]
    assert isinstance(text, TextValue)
    found = item_of(machine, text, machine.tracer.number(number))
    return ConstantValue(None, text.value[number]) if found is None else found  # type: ignore[index]


RULED["text"] = _character, lambda tracer, iterator: characters(tracer, iterator.items[0]).node.array_type.shape[0]  # type: ignore[arg-type]


def _item_of_product(machine: Machine, iterator: IteratorValue, number: Scalar) -> Value:
    places = _digits(number, _sizes_of_pools(machine.tracer, iterator))
    items: list[Value] = []
    for pool, place in zip(iterator.items, places, strict=True):
        assert isinstance(pool, RangeValue)
        # NB: a pool holds one object for each of its numbers, and gives it again and again.
        which = CallValue(None, operator.getitem, [pool, NumberValue(None, place)])
        items.append(NumberValue(None, make("add", pool.start, place), which))
    return SequenceValue(None, tuple, items)


RULED["product"] = _item_of_product, lambda tracer, iterator: _product(tracer, _sizes_of_pools(tracer, iterator))


@rule(itertools.count)
def _count(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    args = positional(args, kwargs, 0, 2)
    bounds = [as_scalar(arg) for arg in args]
    if not all(map(_is_int, bounds)):
        raise Break("c-function", "itertools.count")
    missing: list[Value] = [ConstantValue(None, number) for number in (0, 1)[len(args) :]]
    start, step = [*args, *missing]
    return _made(machine, "count", itertools.count, [start, step], [start, step])


def _item_of_count(machine: Machine, iterator: IteratorValue, number: Scalar) -> Value:
    start, step = (as_scalar(bound) for bound in iterator.items)
    assert start is not None and step is not None
    return machine.tracer.number(make("add", start, make("mul", number, step)))


RULED["count"] = _item_of_count, lambda tracer, iterator: ENDLESS


@rule(itertools.repeat)
def _repeat(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    if set(kwargs) == {"times"}:
        args, kwargs = [*args, kwargs["times"]], {}
    args = positional(args, kwargs, 1, 2)
    if len(args) == 2 and not _is_int(as_scalar(args[1])):
        raise Break("c-function", "itertools.repeat")
    return _made(machine, "repeat", itertools.repeat, args, args)


def _times(tracer: Tracer, iterator: IteratorValue) -> Scalar:
    if len(iterator.items) == 1:
        return ENDLESS
    times = as_scalar(iterator.items[1])
    assert times is not None
    return times if tracer.relate(make("ge", times, 0)) else 0


RULED["repeat"] = lambda machine, iterator, number: iterator.items[0], _times


@rule(itertools.islice)
def _islice(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    of, *bounds = positional(args, kwargs, 2, 4)
    start, stop, step = _bounds(bounds)
    is_valid = all(_is_at_least(machine, one, least) for one, least in ((start, 0), (stop, 0), (step, 1)))
    if not is_valid or not isinstance(of, ArrayValue) or not goes_over_arrays(of):
        raise Break("c-function", "itertools.islice")
    numbers = [NumberValue(None, bound) for bound in (start, stop, step)]
    return _made(machine, "islice", itertools.islice, args, [of, *numbers])


def _bounds(args: Args) -> tuple[Scalar, Scalar, Scalar]:
    """start, stop and step, as islice() has them of its other arguments; those that are no numbers as None."""
    numbers: Any = [None if _is_none(arg) else as_scalar(arg) for arg in args]
    start, stop, step = (0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1)[:3]
    return start or 0, ENDLESS if stop is None and _is_none(args[min(1, len(args) - 1)]) else stop, step


def _is_none(value: Value) -> bool:
    return isinstance(value, ConstantValue) and value.value is None


def _item_of_slice(machine: Machine, iterator: IteratorValue, number: Scalar) -> Value:
    of, *bounds = iterator.items
    start, _, step = map(as_scalar, bounds)
    assert isinstance(of, ArrayValue) and start is not None and step is not None
    return numpy_rules.get_item(machine, of, machine.tracer.number(make("add", start, make("mul", number, step))))


def _length_of_slice(tracer: Tracer, iterator: IteratorValue) -> Scalar:
    of, *bounds = iterator.items
    start, stop, step = map(as_scalar, bounds)
    assert isinstance(of, ArrayValue) and start is not None and stop is not None and step is not None
    size = of.node.array_type.shape[0]
    stop = stop if stop != ENDLESS and tracer.relate(make("le", stop, size)) else size
    if not tracer.relate(make("lt", start, stop)):
        return 0
    distance = make("sub", stop, start)
    return distance if step == 1 else make("floordiv", make("sub", make("add", distance, step), 1), step)


RULED["islice"] = _item_of_slice, _length_of_slice


@rule(itertools.pairwise)
def _pairwise(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    value = machine.realised(only(args, kwargs))
    open_long(machine.tracer, value)
    if not goes_over_arrays(value):
        raise Break("c-function", "itertools.pairwise")
    return _made(machine, "pairwise", itertools.pairwise, [value], [iterate(machine, value)])


def _pair(machine: Machine, iterator: IteratorValue, number: Scalar) -> Value:
    (of,) = iterator.items
    assert isinstance(of, IteratorValue)
    return SequenceValue(None, tuple, [item_at(machine, of, make("add", number, one)) for one in (0, 1)])


def _pairs(tracer: Tracer, iterator: IteratorValue) -> Scalar:
    (of,) = iterator.items
    assert isinstance(of, IteratorValue)
    bounds = numbering(tracer, of)
    if bounds is None or bounds[0] != 0 or bounds[2] != 1:
        raise Break("loop-over-unknown-iterator", "pairs")
    return make("sub", bounds[1], 1) if tracer.relate(make("ge", bounds[1], 1)) else 0


RULED["pairwise"] = _pair, _pairs


# -- reversed() ------------------------------------------------------------------------------------


@rule(reversed)
def _reversed(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    value = only(args, kwargs)
    if isinstance(value, SequenceValue):
        return IteratorValue(None, value, value.items, "reversed", len(value.items))
    if isinstance(value, RangeValue) or (isinstance(value, ArrayValue) and goes_over_arrays(value)):
        if isinstance(value, RangeValue) and value.step != 1:
            numbers = [as_constant(machine, NumberValue(None, b)) for b in (value.start, value.stop, value.step)]
            back = range(*numbers)[::-1]
            return iterate(machine, RangeValue(None, back.start, back.stop, back.step))
        return _made(machine, "backwards", reversed, args, args)
    raise Break("python-call", "reversed")


def _length(tracer: Tracer, value: Value) -> Scalar:
    if isinstance(value, ArrayValue):
        return value.node.array_type.shape[0]
    assert isinstance(value, RangeValue)
    distance = make("sub", value.stop, value.start)
    return distance if tracer.relate(make("ge", distance, 0)) else 0


def _item_of_backwards(machine: Machine, iterator: IteratorValue, number: Scalar) -> Value:
    (value,) = iterator.items
    place = make("sub", make("sub", _length(machine.tracer, value), 1), number)
    if isinstance(value, ArrayValue):
        return numpy_rules.get_item(machine, value, machine.tracer.number(place))
    assert isinstance(value, RangeValue)
    return machine.tracer.number(make("add", value.start, place))


RULED["backwards"] = _item_of_backwards, lambda tracer, iterator: _length(tracer, iterator.items[0])


# -- NumPy -----------------------------------------------------------------------------------------


@rule(np.ndindex)
def _ndindex(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    of = args[0] if len(args) == 1 else None
    shape = of.items if isinstance(of, SequenceValue) and of.kind is tuple else args
    if kwargs or not shape or not all(_is_at_least(machine, as_scalar(size), 0) for size in shape):
        raise Break("python-call", "np.ndindex")
    return _made(machine, "ndindex", np.ndindex, args, list(shape))


def _places(machine: Machine, sizes: list[Scalar], number: Scalar) -> SequenceValue:
    return SequenceValue(None, tuple, [machine.tracer.number(place) for place in _digits(number, sizes)])


def _sizes(iterator: IteratorValue) -> list[Scalar]:
    sizes = [as_scalar(value) for value in iterator.items]
    return [size for size in sizes if size is not None]


RULED["ndindex"] = (
    lambda machine, iterator, number: _places(machine, _sizes(iterator), number),
    lambda tracer, iterator: _product(tracer, _sizes(iterator)),
)


@rule(np.ndenumerate)
def _ndenumerate(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    value = only(args, kwargs)
    if not isinstance(value, ArrayValue) or not goes_over_arrays(value):
        raise Break("python-call", "np.ndenumerate")
    return _made(machine, "ndenumerate", np.ndenumerate, args, args)


def _shape(iterator: IteratorValue) -> list[Scalar]:
    (value,) = iterator.items
    assert isinstance(value, ArrayValue)
    return list(value.node.array_type.shape)


def _item_with_places(machine: Machine, iterator: IteratorValue, number: Scalar) -> Value:
    (value,), places = iterator.items, _places(machine, _shape(iterator), number)
    assert isinstance(value, ArrayValue)
    return SequenceValue(None, tuple, [places, numpy_rules.get_item(machine, value, places)])


RULED["ndenumerate"] = _item_with_places, lambda tracer, iterator: _product(tracer, _shape(iterator))


def _item_in_order(machine: Machine, iterator: IteratorValue, number: Scalar) -> Value:
    (value,) = iterator.items
    assert isinstance(value, ArrayValue)
    return numpy_rules.get_item(machine, value, _places(machine, _shape(iterator), number))


RULED["flat"] = _item_in_order, lambda tracer, iterator: _product(tracer, _shape(iterator))


__all__: list[str] = []

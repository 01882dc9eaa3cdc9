"""Iterators, dict views and generators made inside a compiled function: each steps as CPython's, over containers that
change meanwhile, and is what it claims to be when it leaves the function."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.oracle import require_equal

Compile = Callable[..., Any]
CASES: list[Callable[..., Any]] = []


def case(fn: Callable[..., Any]) -> Callable[..., Any]:
    CASES.append(fn)
    return fn


def arguments() -> tuple[Any, ...]:
    return np.arange(6.0), [1.0, 2.0, 3.0], {"a": 1.0, "b": 2.0}, float("nan")


# -- views of dicts


@case
def views_leave(x: Any, values: Any, table: Any, nan: Any) -> Any:
    made = {"a": x + 1}
    return made.keys(), made.values(), made.items(), table.keys(), table.values(), table.items()


@case
def views_are_printed(x: Any, values: Any, table: Any, nan: Any) -> Any:
    y = x + 1
    print(table.keys(), table.values(), table.items())
    return y, "a" in table.keys(), len(table.items()), bool(table.values())  # noqa: SIM118


@case
def views_follow(x: Any, values: Any, table: Any, nan: Any) -> Any:
    made = {"a": x, "b": x + 1}
    view = made.values()
    made["c"] = x * 2
    return len(view), sum(view), list(made.items())


@case
def a_dict_grows_under_its_iterator(x: Any, values: Any, table: Any, nan: Any) -> Any:
    made = {"a": x}
    for key in made:
        made[key + "b"] = x + 1
    return made


@case
def a_dict_grows_under_its_items(x: Any, values: Any, table: Any, nan: Any) -> Any:
    made = {"a": x}
    for _key, _value in made.items():
        made["b"] = x + 1
    return made


@case
def a_dict_outside_grows(x: Any, values: Any, table: Any, nan: Any) -> Any:
    y = x * 2
    for key, value in table.items():
        table[key + "x"] = y * value
    return y


@case
def a_dict_keeps_its_size(x: Any, values: Any, table: Any, nan: Any) -> Any:
    made = {"a": x, "b": x + 1}
    for key, value in made.items():
        made[key] = value * 2
    made["c"] = x
    return made


@case
def a_value_changes_ahead(x: Any, values: Any, table: Any, nan: Any) -> Any:
    seen = []
    for key, value in table.items():
        table["b"] = x * value
        seen.append((key, value))
    for value in table.values():
        table["b"] = 5.0
        seen.append(value)
    return seen


@case
def a_value_changes_under_iterators(x: Any, values: Any, table: Any, nan: Any) -> Any:
    made = {"a": 1, "b": 2, "c": x}
    taken, pairs = iter(made.values()), enumerate(made.items())
    made["b"] += 5
    seen = list(taken), zip(pairs, (1, 2), strict=False)
    made["c"] = x + made["b"]
    return seen, list(seen[1]), list(pairs)


@case
def a_key_goes_and_another_comes(x: Any, values: Any, table: Any, nan: Any) -> Any:
    made, seen = {"a": 1, "b": 2}, []
    for key in made:
        if key == "a":
            del made["a"]
            made["z"] = x + 1
        seen.append(key)
    return seen, made


@case
def a_nan_as_a_key(x: Any, values: Any, table: Any, nan: Any) -> Any:
    made = {nan: x * 2, values[0]: 1}
    print("made")
    return made[nan], x + 1, list(made.values())


# -- iterators


@case
def reversed_leaves(x: Any, values: Any, table: Any, nan: Any) -> Any:
    made = [x, x + 1]
    return reversed(made), reversed(values), iter(values), enumerate(values), zip(values, made, strict=False), x * 2


@case
def reversed_over_a_changing_list(x: Any, values: Any, table: Any, nan: Any) -> Any:
    y = x
    for number, value in enumerate(reversed(values)):
        values[0] = 100.0
        y = y + value * number
    return y


@case
def reversed_over_a_growing_list(x: Any, values: Any, table: Any, nan: Any) -> Any:
    made = [x, x + 1, x + 2]
    back = reversed(made)
    for _ in back:
        break
    made.append(x)
    return back, made


@case
def reversed_over_a_shrinking_list(x: Any, values: Any, table: Any, nan: Any) -> Any:
    made = [x * 3, x + 1, x + 2]
    back = reversed(made)
    made.pop()
    made.pop()
    return list(back), back


@case
def star_takes_the_rest(x: Any, values: Any, table: Any, nan: Any) -> Any:
    it = iter([x, x + 1, x + 2])
    for _ in it:
        break
    return [*it]


@case
def unpacking_takes_the_rest(x: Any, values: Any, table: Any, nan: Any) -> Any:
    it = iter([x, x + 1, x + 2])
    for _ in it:
        break
    a, b = it
    return a + b, list(it)


@case
def sum_takes_the_rest(x: Any, values: Any, table: Any, nan: Any) -> Any:
    it = iter([x, x + 1, x + 2])
    for _ in it:
        break
    return sum(it), list(it)


@case
def call_takes_the_rest(x: Any, values: Any, table: Any, nan: Any) -> Any:
    def count(*args: Any) -> Any:
        return len(args), args

    it = iter([x, x + 1, x + 2])
    for _ in it:
        break
    return count(*it), count(*it)


@case
def extend_takes_all_once(x: Any, values: Any, table: Any, nan: Any) -> Any:
    it = iter([x, x + 1, x + 2])
    made: list[Any] = []
    made.extend(it)
    made.extend(it)
    return made


@case
def list_takes_all_once(x: Any, values: Any, table: Any, nan: Any) -> Any:
    it = iter([x, x + 1, x + 2])
    return list(it), list(it), [*it], (*it,), max(iter([1, 2])), x + 1


@case
def enumerate_shares_its_iterator(x: Any, values: Any, table: Any, nan: Any) -> Any:
    it = iter([x, x + 1, x + 2])
    for number, _ in enumerate(it, 5):
        if number == 6:
            break
    return list(it), list(enumerate(values, start=3))


@case
def zip_shares_its_iterators(x: Any, values: Any, table: Any, nan: Any) -> Any:
    it = iter([x, x + 1, x + 2, x + 3, x + 4])
    pairs = [a + b for a, b in zip(it, it, strict=False)]
    short = iter([1, 2, 3])
    both = zip(short, [1], strict=False)
    return pairs, list(it), list(both), list(both), list(short)


@case
def loops_share_an_iterator(x: Any, values: Any, table: Any, nan: Any) -> Any:
    it = iter([x, x + 1, x + 2, x + 4])
    made = []
    for a in it:
        for b in it:
            made.append(a + b)
            break
    return made, it


@case
def an_iterator_leaves_half_taken(x: Any, values: Any, table: Any, nan: Any) -> Any:
    it = enumerate(iter([x * 3, x + 1, x + 2]))
    for _ in it:
        break
    print("half")
    items = {"a": 1, "b": x}.items()
    keys = iter(items)
    for _ in keys:
        break
    return it, keys


@case
def lists_grow_under_their_iterators(x: Any, values: Any, table: Any, nan: Any) -> Any:
    first, second, third = [x], [x], [x]
    for number, value in enumerate(first):
        if number < 3:
            first.append(value + 1)
    for value, _ in zip(second, range(4), strict=False):
        second.append(value + 1)
    for value in third:
        if len(third) < 4:
            third.append(value + 1)
    it = iter(third)
    list(it)
    third.append(x)
    return first, second, third, list(it)


# -- generators


@case
def generators_give_each_item_once(x: Any, values: Any, table: Any, nan: Any) -> Any:
    gen = (v * 2 for v in [x, x + 1, x + 2])
    for first in gen:  # noqa: B007
        break
    return first, list(gen), list(gen)


@case
def generators_are_lazy(x: Any, values: Any, table: Any, nan: Any) -> Any:
    made = []
    for item in (x.sum() + i for i in range(3)):
        x += 1
        made.append(item)
    return made


@case
def generators_see_growing_lists(x: Any, values: Any, table: Any, nan: Any) -> Any:
    made = [x]
    for item in (v + 1 for v in made):
        if len(made) < 4:
            made.append(item)
    return made


@case
def generators_feed_builtins(x: Any, values: Any, table: Any, nan: Any) -> Any:
    return sum(v * 2 for v in [x, x + 1]), tuple(v.sum() for v in (x, x)), max(i for i in (1, 2))


@case
def a_generator_leaves(x: Any, values: Any, table: Any, nan: Any) -> Any:
    gen = (v * 2 for v in [x, x + 1])
    for _ in gen:
        break
    print("half")
    return list(gen), (v + 1 for v in [x])


# -- membership, identity, builtins called oddly


@case
def a_nan_is_in_its_tuple(x: Any, values: Any, table: Any, nan: Any) -> Any:
    return x + 1, nan in (nan, 2.0), [nan] == [nan], (x, 1) == (x, 1), nan in [1.0, nan], 2.0 in values


@case
def whole_tuples_are_themselves(x: Any, values: Any, table: Any, nan: Any) -> Any:
    given = (x, 1)
    empty = ()
    return x + 1, given[:] is given, (given + empty) is given, tuple(given) is given, given * 1 is given


class Falsy(type):
    def __bool__(cls) -> bool:
        return False


class Nothing(metaclass=Falsy):
    pass


@case
def a_class_may_be_false(x: Any, values: Any, table: Any, nan: Any) -> Any:
    y = x + 1
    return y if Nothing else x


@case
def attributes_that_numbers_lack(x: Any, values: Any, table: Any, nan: Any) -> Any:
    return x + nan.numerator


@case
def attributes_that_are_none(x: Any, values: Any, table: Any, nan: Any) -> Any:
    y = x + 1
    return getattr(y, "__hash__", 5), hasattr(y, "__hash__")


BAD_CALLS: tuple[Callable[[Any], Any], ...] = (
    lambda y: y[slice()],  # type: ignore[call-overload]
    lambda y: y[slice(1, 2, 3, 4)],  # type: ignore[call-overload]
    lambda y: y[slice(1, stop=2)],  # type: ignore[call-overload]
    lambda y: isinstance(y),  # type: ignore[call-arg]
    lambda y: isinstance(y, 5),  # type: ignore[arg-type]
    lambda y: issubclass(y),  # type: ignore[call-arg]
    lambda y: getattr(y),  # type: ignore[call-overload]
    lambda y: getattr(y, 5),  # type: ignore[call-overload]
    lambda y: hasattr(y),  # type: ignore[call-arg]
    lambda y: hasattr(y, 5),  # type: ignore[arg-type]
    lambda y: list(enumerate()),  # type: ignore[call-overload]
    lambda y: [a * i for i, a in enumerate(iterable=[y, y], start=2)],
    lambda y: range(),  # type: ignore[call-overload]
    lambda y: (len(), y),  # type: ignore[call-arg]
    lambda y: (abs(), y),  # type: ignore[call-arg]
    lambda y: sum([y, y], 1, 2),  # type: ignore[call-overload]
    lambda y: sum([y, y], start=y),
    lambda y: dict(y, y),  # type: ignore[call-overload]
    lambda y: operator.getitem(y),  # type: ignore[call-overload]
    lambda y: operator.setitem(y, 1),  # type: ignore[call-overload]
    lambda y: 5 in "abc",  # type: ignore[operator]
    lambda y: dict(a=y, **{"b": y}),
)


def one() -> tuple[Any, ...]:
    return (np.arange(6.0),)


@pytest.mark.parametrize("fn", CASES, ids=lambda fn: fn.__name__)
def test_iteration_as_it_was(fn: Any, backend: str, compiler: Compile) -> None:
    options = {"backend": backend, "options": {"check": 1, "cost_model": False}}
    require_equal(fn, arguments, compile=compiler, compile_options=options)


@pytest.mark.parametrize("number", range(len(BAD_CALLS)))
def test_builtins_called_oddly(number: int, compiler: Compile) -> None:
    call = BAD_CALLS[number]

    def fn(x: Any) -> Any:
        y = x + 1
        return call(y)

    require_equal(fn, one, compile=compiler, compile_options={"options": {"check": 1, "cost_model": False}})

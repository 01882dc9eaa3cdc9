"""A generator expression's code with a consumer's body in it is a function that does what both do."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from dynamo_lite.capture.iteration import consumers
from dynamo_lite.pycode import decode, encode, spliced, stack_depth
from dynamo_lite.pycode.code import CO_GENERATOR_KINDS


def expression(make: Callable[[Any], Any]) -> types.CodeType:
    return next(const for const in make.__code__.co_consts if isinstance(const, types.CodeType))


EXPRESSIONS: list[Callable[[Any], Any]] = [
    lambda xs: (x for x in xs),
    lambda xs: (x * 2 for x in xs if x > 1),
    lambda xs: (x for x in xs if x % 2 if x > 1),
    lambda xs: (x + y for x in xs for y in range(x) if x != y),
    lambda xs: (x if x > 2 else -x for x in xs),
]


@pytest.mark.parametrize("make", EXPRESSIONS)
@pytest.mark.parametrize(
    ("consumer", "plain", "others"),
    [
        (consumers.sum_of, lambda items: sum(items), (0, lambda a, b: a + b)),
        (consumers.list_of, list, ()),
        (consumers.any_of, lambda items: any(items), ()),
        (consumers.all_of, lambda items: all(items), ()),
        (consumers.greatest_of, lambda items: max(items, default=None), (lambda x: x, lambda x: x)),
        (consumers.least_by, lambda items: min(items, key=abs, default=None), (lambda x: x, lambda x: x, abs)),
    ],
    ids=["sum", "list", "any", "all", "max", "min_by"],
)  # fmt: skip
def test_spliced(make: Any, consumer: Any, plain: Callable[[Any], Any], others: tuple[Any, ...]) -> None:
    code = spliced(decode(expression(make)), consumer.__code__)
    assert code is not None and not code.flags & CO_GENERATOR_KINDS
    assert max(depth for depth in stack_depth(code) if depth is not None) < 20
    parameters = decode(consumer.__code__).argnames[1:]
    given = (".0", *(f".{name}" for name in parameters))
    names = (*given, *(name for name in code.varnames if name not in given))
    code = replace(code, varnames=names, argcount=len(given), posonlyargcount=0, kwonlyargcount=0)
    for items in ([], [1], [0, 0], [3, 1, 4, 1, 5], [-2, 7, 2]):
        function = types.FunctionType(encode(code), {"range": range})
        assert function(iter(items), *others) == plain(make(items)), items

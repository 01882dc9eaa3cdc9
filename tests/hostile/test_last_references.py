"""Arrays that a local alone keeps alive, though no code reads it any more: who has their address, or a weak reference,
finds them as long as in plain Python."""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dynamo_lite.config import config
from tests import watched
from tests.oracle import require_equal

Array = Any
Compile = Callable[..., Any]


def at(address: int, count: int) -> list[float]:
    """The numbers that lie there."""
    return (ctypes.c_double * count).from_address(address)[:]


def address_of(x: Array) -> int:
    """What a foreign function is given."""
    return int(x.ctypes.data)


def is_dead(reference: Any) -> bool:
    return reference() is None


def address_of_a_local(x: Array, n: int) -> Any:
    source = x * 2.0
    address = source.ctypes.data
    y = x + 5.0
    return at(address, len(x)), y


def copied_by_addresses(x: Array, n: int) -> Any:
    """As a foreign function is called that takes pointers."""
    source, target = x * 2.0, np.empty_like(x)
    given, taken = source.ctypes.data, target.ctypes.data
    scratch = np.full(len(x), -1.0)
    ctypes.memmove(taken, given, 8 * len(x))
    return target, scratch


def address_of_a_view(x: Array, n: int) -> Any:
    whole = x * 2.0
    address = whole[1:].ctypes.data
    y = x + 5.0
    return at(address, len(x) - 1), y


def address_of_an_item(x: Array, n: int) -> Any:
    rows = [x * 2.0, x * 3.0]
    address = rows[1].ctypes.data
    y = x + 5.0
    z = x + 6.0
    return at(address, len(x)), y, z


def addresses_of_what_a_loop_has_made(x: Array, n: int) -> Any:
    made = []
    for i in range(n):
        made.append(x * i)
    addresses = list(map(address_of, made))
    y = x + 5.0
    z = [x * 6.0, x * 7.0]
    return [at(address, len(x)) for address in addresses], y, z


def address_before_a_loop(x: Array, n: int) -> Any:
    source = x * 2.0
    address = source.ctypes.data
    for i in range(n):
        x = x + i
        y = x * 2.0
    z = np.full(len(x), -1.0)
    return at(address, len(x)), x, y, z


def weak_references(x: Array, n: int) -> Any:
    found = []
    w = x * 2.0
    reference = weakref.ref(w)
    y = x + 1.0
    found.append(is_dead(reference))
    for i in range(n):
        w = y * i
        found.append(is_dead(reference))
        reference = weakref.ref(w)
        y = y + 1.0
        found.append(is_dead(reference))
    w = None
    found.append(is_dead(reference))
    return found, y


def counts(x: Array, n: int) -> Any:
    found = []
    for i in range(n):
        w = x * i
        found.append(sys.getrefcount(w))
    return found


def new_name(x: Array, n: int) -> Any:
    w = x * 2.0
    reference = weakref.ref(w)
    w = w + 1.0
    found = [is_dead(reference)]
    reference = weakref.ref(w)
    del w
    found.append(is_dead(reference))
    return found


FUNCTIONS = [
    *(address_of_a_local, copied_by_addresses, address_of_a_view, address_of_an_item, address_before_a_loop),
    *(addresses_of_what_a_loop_has_made, weak_references, counts, new_name),
]


def arguments(n: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: (np.arange(float(5 + n)), n)


@pytest.mark.parametrize("stress", ["", "break"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_they_live_as_long_as_in_plain_python(
    function: Callable[..., Any], stress: str, backend: str, compiler: Compile
) -> None:
    options = {"backend": backend, "options": {"check": 1, "cost_model": False, "stress": stress}}
    first, *others = map(arguments, (3, 1, 20))
    require_equal(function, first, variants=others, compile=compiler, compile_options=options)


@pytest.mark.parametrize("compile", [watched.compile, watched.compile_loops])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_so_they_do_where_loops_are_entered(function: Callable[..., Any], compile: Compile, backend: str) -> None:
    first, *others = map(arguments, (30, 1, 20))
    with config.patch(cost_model=False, check=1):
        report = require_equal(function, first, variants=others, compile=compile, compile_options={"backend": backend})
    report.compiled.end()

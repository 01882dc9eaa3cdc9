"""A compiled function in place of its function: looks, copies, decorators, descriptors, other callables."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.copies import copies_of
from tests.oracle import require_equal

Compile = Callable[..., Any]
Decorator = Callable[[Any], Any]


def scaled(x: Any, k: float = 2.0) -> Any:
    """Scale."""
    return x * k


def test_compiled_functions_pickle_and_copy(compiler: Compile) -> None:
    fast = compiler(scaled)
    x = np.arange(3.0)
    fast(x)
    for again in (pickle.loads(pickle.dumps(fast)), copy.copy(fast), copy.deepcopy(fast)):
        for _ in range(3):
            assert again(x).tobytes() == scaled(x).tobytes()


def test_a_compiled_function_looks_like_its_function(compiler: Compile) -> None:
    fast = compiler(scaled)
    assert fast.__name__ == "scaled"
    assert fast.__qualname__ == "scaled"
    assert fast.__module__ == scaled.__module__
    assert fast.__doc__ == "Scale."
    assert fast.__wrapped__ is scaled
    assert inspect.signature(fast) == inspect.signature(scaled)
    assert callable(fast)
    assert inspect.unwrap(fast) is scaled


def test_the_decorator_takes_options(compiler: Compile) -> None:
    decorate: Decorator = compiler(backend="reference")

    @decorate
    def f(x: Any) -> Any:
        return x + 1.0

    plainly: Decorator = compiler

    @plainly
    def g(x: Any) -> Any:
        return f(x) * 2.0

    x = np.arange(3.0)
    for _ in range(3):
        assert (g(x) == (x + 1.0) * 2.0).all()


def test_compiling_what_is_compiled(compiler: Compile) -> None:
    fast = compiler(compiler(scaled))
    for _ in range(3):
        assert (fast(np.arange(3.0)) == scaled(np.arange(3.0))).all()


def test_a_compiled_function_is_what_it_calls(compiler: Compile) -> None:
    """functools.wraps() gives it another name and another __wrapped__, not another body."""
    fast = functools.wraps(doubled)(compiler(scaled))
    x = np.arange(3.0)
    for one in (fast, compiler(fast)):
        for _ in range(3):
            assert (one(x) == scaled(x)).all()
    assert "multiply" in str(compiler(fast).graph_for(x))


def doubled(x: Any) -> Any:
    return x + x


def test_descriptors_are_compiled_inside(compiler: Compile) -> None:
    class Of:
        inner_static = staticmethod(compiler(doubled))
        outer_static = compiler(staticmethod(doubled))
        inner_class = classmethod(compiler(lambda cls, x: (cls, x + x)))
        outer_class = compiler(classmethod(lambda cls, x: (cls, x + x)))
        method = compiler(lambda self, x: (self, x + x))

    of = Of()
    for owner in (Of, of):
        for _ in range(3):
            assert owner.inner_static(1.5) == owner.outer_static(1.5) == 3.0
            assert owner.inner_class(1.5) == owner.outer_class(1.5) == (Of, 3.0)
    assert of.method(1.5) == Of.method(of, 1.5) == (of, 3.0)


@pytest.mark.parametrize("fn", [np.sqrt, np.sum, len, functools.partial(np.add, 1.0), float.__abs__, np.mean, max])
def test_callables_that_are_not_python_functions(fn: Any, compiler: Compile) -> None:
    make_args = copies_of(2.5) if fn is float.__abs__ else copies_of(np.array([1.0, 4.0]))
    require_equal(fn, make_args, compile=compiler)

"""The other compilers for NumPy code that are installed, each given the same source as plain Python.

A row of PEERS makes a Contender of a program or says why it cannot. No program is rewritten for a peer, but what a
user of it would do without touching the program's text is done: Numba gets the functions that the program calls
compiled too, JAX gets its own ``np``, 64-bit types and its own arrays (converted outside the timer). numexpr takes
expressions, so it only takes part where the program is one expression. The exception is the row that says so: a case
may bring a form of itself that was written for JAX by hand.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from benchmarks.measure import Contender

Function = Callable[..., Any]


class Case(Protocol):
    """A function with its arguments, fresh at every call and always the same."""

    @property
    def name(self) -> str: ...
    @property
    def fn(self) -> Function: ...
    def make_args(self) -> tuple[Any, ...]: ...


@dataclass(frozen=True, slots=True)
class JaxForm:
    """A program rewritten for jax.jit: a pure function of the same parameters. A numpy Generator becomes a key.

    static: parameters that stay Python values. writes: parameters whose arrays the program writes into; their new
    values are the form's first results, in this order. returned: how many of its results the program returns, if not
    all; the others are only written.
    """

    fn: Function
    static: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    returned: int | None = None

    def outcome(self, result: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """What a caller of the program would have: its result, and its arguments after the call."""
        results = result if isinstance(result, tuple) else (result,)
        after = dict(zip(inspect.signature(self.fn).parameters, args, strict=True))
        after.update(zip(self.writes, results, strict=False))
        seen = results[: self.returned]
        return (seen if len(seen) > 1 else seen[0]), tuple(after.values())


@runtime_checkable
class Rewritten(Protocol):
    """A case that may have a form for JAX."""

    def jax_form(self) -> JaxForm | None: ...


@dataclass(frozen=True, slots=True)
class Peer:
    """name: shown in tables. package: what has to be installed. contend: makes the contender."""

    name: str
    package: str
    contend: Callable[[Case], Contender]

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec(self.package) is not None

    @property
    def version(self) -> str:
        return importlib.metadata.version(self.package)


class NoForm(Exception):
    """The program has no form that this peer takes."""


def with_globals(fn: Function, replace: Callable[[Any], Any]) -> Function:
    """The same code with `replace` applied to each global it names; functions it calls get the same treatment."""
    if not isinstance(fn, types.FunctionType):
        raise NoForm(f"{fn!r} is not a plain function")
    names = [name for name in fn.__code__.co_names if name in fn.__globals__]
    chosen = {**fn.__globals__, **{name: replace(fn.__globals__[name]) for name in names}}
    made = types.FunctionType(fn.__code__, chosen, fn.__name__, fn.__defaults__, fn.__closure__)
    made.__kwdefaults__ = fn.__kwdefaults__
    return made


def _numba(program: Case) -> Contender:
    numba: Any = importlib.import_module("numba")

    def replace(value: Any) -> Any:
        return jitted(value) if isinstance(value, types.FunctionType) else value

    def jitted(fn: Function) -> Any:
        return numba.njit(with_globals(fn, replace))

    return Contender("numba.njit", jitted(program.fn))


def _import_jax() -> Any:
    jax: Any = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    return jax


def _jax_contender(name: str, compiled: Function, **options: Any) -> Contender:
    """Calls what jax.jit made, on arrays moved outside the timer, and waits for the result inside it."""
    jax = _import_jax()

    def move(arg: Any) -> Any:
        if isinstance(arg, np.random.Generator):
            return jax.random.PRNGKey(arg.integers(1 << 32))
        return jax.numpy.asarray(arg) if isinstance(arg, np.ndarray) else arg

    def prepare(args: tuple[Any, ...]) -> tuple[Any, ...]:
        return jax.block_until_ready(tuple(map(move, args)))  # type: ignore[no-any-return]

    return Contender(name, lambda *args: jax.block_until_ready(compiled(*args)), prepare, **options)


def _jax(program: Case) -> Contender:
    jax = _import_jax()

    def replace(value: Any) -> Any:
        if value is np:
            return jax.numpy
        return with_globals(value, replace) if isinstance(value, types.FunctionType) else value

    return _jax_contender("jax.jit", jax.jit(with_globals(program.fn, replace)))


def _jax_rewritten(program: Case) -> Contender:
    form = program.jax_form() if isinstance(program, Rewritten) else None
    if form is None:
        raise NoForm("it has no form for JAX")
    jax = _import_jax()
    compiled = jax.jit(form.fn, static_argnames=form.static)
    return _jax_contender("jax.rewritten", compiled, outcome=form.outcome)


def _torch(program: Case) -> Contender:
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    return Contender("torch.compile", torch.compile(program.fn))


_EXPRESSIONS = {
    "affine": ("x * 2.0 + 1.0", ("x",)),
    "affine_1e6": ("x * 2.0 + 1.0", ("x",)),
    "clip_and_blend": ("where(a < 2, 2, where(a > 10, 10, a)) * p + b * q + r", ("a", "b", "p", "q", "r")),
    "arc_distance": (
        "2 * arctan2(sqrt(sin((t2 - t1) / 2) ** 2 + cos(t1) * cos(t2) * sin((p2 - p1) / 2) ** 2), "
        "sqrt(1 - (sin((t2 - t1) / 2) ** 2 + cos(t1) * cos(t2) * sin((p2 - p1) / 2) ** 2)))",
        ("t1", "p1", "t2", "p2"),
    ),
}


def _numexpr(program: Case) -> Contender:
    numexpr: Any = importlib.import_module("numexpr")
    numexpr.set_num_threads(1)
    if program.name not in _EXPRESSIONS:
        raise NoForm("not one expression")
    text, names = _EXPRESSIONS[program.name]

    def call(*args: Any) -> Any:
        return numexpr.evaluate(text, local_dict=dict(zip(names, args, strict=True)), global_dict={})

    return Contender("numexpr", call)


PEERS = (
    Peer("numba.njit", "numba", _numba),
    Peer("jax.jit", "jax", _jax),
    Peer("jax.rewritten", "jax", _jax_rewritten),
    Peer("torch.compile", "torch", _torch),
    Peer("numexpr", "numexpr", _numexpr),
)

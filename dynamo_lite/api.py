"""The public functions: compile, explain, disable, graph_break and their like. Names follow torch.compile's."""

from __future__ import annotations

import functools
import importlib
import types
import warnings
import weakref
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from dynamo_lite import _C
from dynamo_lite.capture.trace import bind_slots
from dynamo_lite.compilation import Compilation
from dynamo_lite.config import config
from dynamo_lite.errors import DynamoLiteError, UnsupportedPythonWarning
from dynamo_lite.graph.graph import Graph
from dynamo_lite.report.records import Explanation

F = TypeVar("F", bound=Callable[..., Any])
_LIVE: weakref.WeakSet[CompiledFunction] = weakref.WeakSet()
_UNSUPPORTED_SAID = False


class CompiledFunction(_C.CompiledFunction):
    """A function that runs natively where that changes nothing but time. Call it like the function it wraps.

    Attributes: ``__wrapped__``, the plain function. Pickles as a reference to its name (so the name must be importable
    and stand for the compiled function), with its options.
    """

    _compilation: Compilation
    _options: dict[str, Any]  # what compile() was given

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """What has been compiled: graphs, breaks, guards. With arguments, calls the function with them first."""
        if args or kwargs:
            self(*args, **kwargs)
        return self._compilation.explanation()

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph that a call with these arguments starts with. Nothing is executed.

        Raises DynamoLiteError when the call would run as plain Python.
        """
        if not isinstance(self.fn, types.FunctionType):
            raise DynamoLiteError(f"{self._compilation.name} is no Python function")
        return self._compilation.graph_for(bind_slots(self.fn, args, kwargs))

    def stats(self) -> Mapping[str, int | float]:
        """Counters: compiles recompiles hits misses breaks native_calls plain_calls declines leaves ..."""
        return self._compilation.stats()

    def reset(self) -> None:
        """Forget everything compiled for this function."""
        self._compilation.reset()

    def __reduce__(self) -> Any:
        return _rebuild, (self.fn.__module__, self.fn.__qualname__, self._options)


def _rebuild(module: str, qualname: str, options: dict[str, Any]) -> Any:
    """Unpickle: the object of that name, compiled if it is not."""
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found if isinstance(found, CompiledFunction) else compile(found, **options)


def compile(
    fn: Any = None,
    *,
    backend: str | Callable[..., Any] | None = None,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    fastmath: bool = False,
    recompile_limit: int | None = None,
    options: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Any:
    """A callable that does what `fn` does, faster where its NumPy code can be compiled.

    fn: a Python function, method, or any callable; left out, `compile` is a decorator with options.
    backend: a name of `list_backends()`, or ``(graph, example_inputs) -> callable``; default: ``config.backend``.
    fullgraph: raise GraphBreakError where the function does not become one graph.
    dynamic: sizes are always symbolic in this version; True and None are accepted, False raises DynamoLiteError.
    fastmath: reserved: this version keeps every bit, so True raises DynamoLiteError.
    recompile_limit: how often a code object may be compiled again (``config.recompile_limit``).
    options: other values of `dynamo_lite.config` for this function.
    name: how reports call the function.
    """
    if fn is None:
        return functools.partial(
            compile,
            backend=backend,
            fullgraph=fullgraph,
            dynamic=dynamic,
            fastmath=fastmath,
            recompile_limit=recompile_limit,
            options=options,
            name=name,
        )
    if not callable(fn) and not isinstance(fn, classmethod):
        raise TypeError(f"compile() takes a callable, not {type(fn).__name__}")
    if dynamic is False:
        raise DynamoLiteError("dynamic=False is not available: sizes are always symbolic")
    if fastmath:
        raise DynamoLiteError("fastmath=True is not available yet: every result is NumPy's own")
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(f"compile() takes options as a mapping of names to values, not {type(options).__name__}")
    chosen = dict(options or {})
    if recompile_limit is not None:
        chosen["recompile_limit"] = recompile_limit
    settings = config.replace(chosen)
    if isinstance(fn, CompiledFunction):
        fn = fn.fn
    if isinstance(fn, staticmethod | classmethod):
        return type(fn)(compile(fn.__func__, backend=backend, fullgraph=fullgraph, options=chosen, name=name))
    if isinstance(fn, types.MethodType):
        inner = compile(fn.__func__, backend=backend, fullgraph=fullgraph, options=chosen, name=name)
        return types.MethodType(inner, fn.__self__)
    compilation = Compilation(
        fn, settings.backend if backend is None else backend, fullgraph=fullgraph, config=settings, name=name
    )
    refusal = _C.hook_refusal()
    if refusal:
        _say_unsupported(refusal)
    compiled = CompiledFunction(fn, compilation.on_miss, compilation.name)
    compiled.enabled = not refusal
    compiled._compilation = compilation
    compiled._options = {"backend": backend, "fullgraph": fullgraph, "options": chosen, "name": name}
    weakref.finalize(compiled, compilation.reset).atexit = False
    _LIVE.add(compiled)
    return compiled


def _say_unsupported(refusal: str) -> None:
    """Warn once a process that this Python is unknown."""
    global _UNSUPPORTED_SAID
    if not _UNSUPPORTED_SAID:
        _UNSUPPORTED_SAID = True
        warnings.warn(f"dynamo_lite leaves every function plain: {refusal}", UnsupportedPythonWarning, stacklevel=3)


def explain(fn: Callable[..., Any], **options: Any) -> Callable[..., Explanation]:
    """``explain(fn)(*args, **kwargs)``: call `fn` compiled, and tell what became of it."""
    compiled: CompiledFunction = fn if isinstance(fn, CompiledFunction) else compile(fn, **options)

    def explaining(*args: Any, **kwargs: Any) -> Explanation:
        compiled(*args, **kwargs)
        return compiled.explain()

    return explaining


def disable(fn: F) -> F:
    """Mark a Python function: it is never captured, neither inlined nor as a frame of its own. Gives it back."""
    bound = isinstance(fn, types.MethodType | staticmethod | classmethod)
    given: Any = fn
    target = given.__func__ if bound else given
    target = target.__wrapped__ if isinstance(target, CompiledFunction) else target
    if not isinstance(target, types.FunctionType):
        raise TypeError(f"disable() takes a Python function, not {type(fn).__name__}")
    target.__dict__["_dynamo_lite_capture"] = "disabled-function"
    _C.set_skip(target, True)
    return fn if bound else target  # type: ignore[return-value]


def graph_break() -> None:
    """Called in a function that is being captured, ends the graph there; otherwise does nothing."""


def is_compiling() -> bool:
    """False: the code runs. (Capture puts True in its place.)"""
    return False


# How capture treats a call of these (machine.py, call_python).
graph_break._dynamo_lite_capture = "requested"  # type: ignore[attr-defined]
is_compiling._dynamo_lite_capture = "compiling"  # type: ignore[attr-defined]


def reset() -> None:
    """Forget everything compiled, for every compiled function."""
    for compiled in list(_LIVE):
        compiled.reset()

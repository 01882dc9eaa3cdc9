"""The public functions: compile, explain, disable, graph_break and their like. Names follow torch.compile's."""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import pickle
import sys
import types
import warnings
import weakref
from collections.abc import Callable, Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    ParamSpec,
    Protocol,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from dynamo_lite import _C, installation, policy
from dynamo_lite.capture.trace import bind_slots
from dynamo_lite.compilation import Compilation
from dynamo_lite.config import config
from dynamo_lite.errors import DynamoLiteError, UnsupportedPythonWarning
from dynamo_lite.graph.graph import Graph
from dynamo_lite.report.records import Explanation

_C.set_limits(policy.THRESHOLDS)

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
Rest = ParamSpec("Rest")  # the parameters behind self or cls
R = TypeVar("R", covariant=True)
S = TypeVar("S")
_LIVE: dict[int, weakref.ref[CompiledFunction[..., Any]]] = {}  # by identity
_UNSUPPORTED_SAID = False
_PLAIN = "_plain"  # the property of a compiled function through which pickle finds its plain one


class CompileOptions(TypedDict, total=False):
    """The keywords of ``compile``, for type checkers."""

    backend: str | Callable[..., Any] | None
    fullgraph: bool
    dynamic: bool | None
    fastmath: bool
    recompile_limit: int | None
    options: Mapping[str, Any] | None
    name: str | None


class CompiledMethod(Protocol[P, R]):
    """A method that is compiled, of an object: an ordinary bound method, which has its function's attributes."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    def explain(self) -> Explanation: ...
    def stats(self) -> Mapping[str, int | float]: ...
    def reset(self) -> None: ...
    @property
    def __self__(self) -> object: ...
    @property
    def __func__(self) -> CompiledFunction[..., R]: ...
    @property
    def __name__(self) -> str: ...


class CompiledFunction(_C.CompiledFunction[P, R]):
    """A function that runs natively where that changes nothing but time. Call it like the function it wraps.

    Attributes: ``__wrapped__``, the plain function. It is pickled as that function is, by name or by value, whatever
    the pickler does with functions, together with its options.
    """

    _compilation: Compilation
    _options: dict[str, Any]  # what compile() was given

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type | None = None, /) -> Self: ...
        @overload
        def __get__(
            self: CompiledFunction[Concatenate[S, Rest], R], instance: S, owner: type | None = None, /
        ) -> CompiledMethod[Rest, R]: ...
        def __get__(self, instance: object, owner: type | None = None, /) -> Any: ...

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """What has been compiled: graphs, breaks, guards. With arguments, calls the function with them first.

        Of a method the arguments begin with its object; ``dynamo_lite.explain(method)(*args)`` has it bound.
        """
        if args or kwargs:
            self(*args, **kwargs)
        return self._compilation.explanation()

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph that a call with these arguments starts with. Nothing is executed.

        Of a method the arguments begin with its object. Raises DynamoLiteError when the call would run as plain Python,
        TypeError when the function does not take these arguments.
        """
        if not isinstance(self.fn, types.FunctionType):
            raise DynamoLiteError(f"{self._compilation.name} is no Python function")
        return self._compilation.graph_for(bind_slots(self.fn, args, kwargs))

    def stats(self) -> Mapping[str, int | float]:
        """Counters, from the first call on or the latest reset().

        compiles, recompiles: segments that were compiled, and those of them that had been before, for other arguments.
        hits, misses: calls of segments for which an entry's guards passed, or none's. native_calls: runs of programs.
        plain_calls: calls that ran as plain Python. declines: programs that gave a call back to it. breaks: times that
        a graph break was passed. retired: entries that are used no more. leaves: loops left before their end.
        plain_rounds: iterations of loops that ran plainly, since a program declines in them. resting: kinds of calls
        that run plainly, since that was faster. compile_seconds: what all compiling took.
        """
        return self._compilation.stats()

    def reset(self) -> None:
        """Forget everything compiled for this function."""
        self._compilation.reset()

    @property
    def _plain(self) -> types.FunctionType:
        """A copy of the plain function, always the same, whose qualified name leads to it through this object.

        What a pickler does with it is what it does with the function: by name where the name can be imported, by value
        where that pickler (cloudpickle, say) takes functions by value. The function itself has no name of its own when
        this object bears it.
        """
        fn: types.FunctionType = self.fn  # type: ignore[assignment]
        copy: Any = self.__dict__.get("_copy")
        if copy is None:
            copy = types.FunctionType(fn.__code__, fn.__globals__, fn.__name__, None, fn.__closure__)
            self.__dict__["_copy"] = copy
        functools.update_wrapper(copy, fn)
        del copy.__wrapped__
        copy.__code__, copy.__defaults__, copy.__kwdefaults__ = fn.__code__, fn.__defaults__, fn.__kwdefaults__
        copy.__qualname__ = f"{fn.__qualname__}.{_PLAIN}"
        return cast(types.FunctionType, copy)

    def __reduce_ex__(self, protocol: Any) -> Any:
        module, qualname = getattr(self.fn, "__module__", None), getattr(self.fn, "__qualname__", None)
        if _named(module, qualname) is not self:
            return _rebuild, (self.fn, self._options)
        if isinstance(self.fn, types.FunctionType) and protocol >= 4:
            return _rebuild, (self._plain, self._options)
        return qualname  # NB: protocols before 4 reach an attribute by pickling first what it is of

    def __reduce__(self) -> Any:
        return self.__reduce_ex__(pickle.DEFAULT_PROTOCOL)

    def __copy__(self) -> Self:
        return self  # as functions are copied

    def __deepcopy__(self, memo: object) -> Self:
        return self


def _named(module: Any, qualname: Any) -> Any:
    """What a module has by that name; None where there is nothing."""
    found: Any = sys.modules.get(module) if isinstance(module, str) else None
    if found is None and isinstance(module, str) and isinstance(qualname, str):
        with contextlib.suppress(ImportError):
            found = importlib.import_module(module)
    for part in str(qualname).split("."):
        found = getattr(found, part, None)
    return found


def _rebuild(fn: Any, options: dict[str, Any]) -> Any:
    """Unpickle: `fn` compiled; of a ``_plain`` copy, the object that it is of, or where there is none a new one."""
    qualname = getattr(fn, "__qualname__", "")
    if isinstance(fn, types.FunctionType) and qualname.endswith(f".{_PLAIN}"):
        own = qualname.removesuffix(f".{_PLAIN}")
        found = _named(fn.__module__, own)
        if isinstance(found, CompiledFunction) and found.__dict__.get("_copy") is fn:
            return found
        fn.__qualname__ = own
    return fn if isinstance(fn, CompiledFunction) else compile(fn, **options)


class CompiledOfClass(CompiledFunction[Concatenate[type[S], Rest], R]):
    """For type checkers: what is compiled of a function whose first parameter is a class, as those of a classmethod.
    mypy does not see the classmethod around it."""

    if TYPE_CHECKING:

        def __get__(self, instance: object, owner: type | None = None, /) -> CompiledMethod[Rest, R]: ...  # type: ignore[override]


class CompileDecorator(Protocol):
    """What ``compile`` without a function gives: ``compile`` with those keywords, of a function."""

    @overload
    def __call__(self, fn: staticmethod[P, R], /) -> staticmethod[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, fn: classmethod[S, P, R], /) -> classmethod[S, P, R]: ...
    @overload
    def __call__(self, fn: Callable[Concatenate[type[S], P], R], /) -> CompiledOfClass[S, P, R]: ...
    @overload
    def __call__(self, fn: Callable[P, R], /) -> CompiledFunction[P, R]: ...


@overload
def compile(  # type: ignore[overload-overlap]  # a staticmethod may be called as well
    fn: staticmethod[P, R], **keywords: Unpack[CompileOptions]
) -> staticmethod[P, R]: ...
@overload
def compile(fn: classmethod[S, P, R], **keywords: Unpack[CompileOptions]) -> classmethod[S, P, R]: ...
@overload
def compile(
    fn: Callable[Concatenate[type[S], P], R], **keywords: Unpack[CompileOptions]
) -> CompiledOfClass[S, P, R]: ...
@overload
def compile(fn: Callable[P, R], **keywords: Unpack[CompileOptions]) -> CompiledFunction[P, R]: ...
@overload
def compile(fn: None = None, **keywords: Unpack[CompileOptions]) -> CompileDecorator: ...
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

    Raises TypeError for what is no callable, ConfigError for an unknown option or an impossible value, BackendError for
    an unknown backend. Calls raise what `fn` raises; GraphBreakError with `fullgraph`; BackendError with `fullgraph` or
    the option `check`, where the backend fails. Arguments may be of any type: those that compiled code does not take,
    by dtype or class, have the call run plainly.
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
    settings = config.replace({"num_threads": 0, **chosen})  # 0: what the process has when it runs
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
    refusal = _C.hook_refusal() or installation.unknown_version()
    if refusal:
        _say_unsupported(refusal)
    compiled: CompiledFunction[..., Any] = CompiledFunction(fn, compilation.on_miss, compilation.name)
    compiled.enabled = not refusal and not settings.disable
    if compiled.enabled:
        _C.memory_install(config.pool_bytes, fill=config.check > 0)
    compiled.judged = compilation.judged
    compiled._compilation = compilation
    compiled._options = {"backend": backend, "fullgraph": fullgraph, "options": chosen, "name": name}
    key = id(compiled)
    _LIVE[key] = weakref.ref(compiled)
    # NB: not a weak reference's callback: an interrupt that raised in one would be lost, and C lets on_end be spared.
    compiled.on_end = functools.partial(_forget, key, compilation)
    return compiled


def _forget(key: int, compilation: Compilation) -> None:
    """A compiled function is gone, and with it what was compiled."""
    _LIVE.pop(key, None)
    compilation.reset()


def _say_unsupported(refusal: str) -> None:
    """Warn once a process that this Python, or a package, is unknown."""
    global _UNSUPPORTED_SAID
    if not _UNSUPPORTED_SAID:
        _UNSUPPORTED_SAID = True
        warnings.warn(f"dynamo_lite leaves every function plain: {refusal}", UnsupportedPythonWarning, stacklevel=3)


def explain(fn: Callable[P, object], **options: Unpack[CompileOptions]) -> Callable[P, Explanation]:
    """``explain(fn)(*args, **kwargs)``: call `fn` compiled, and tell what became of it.

    options: those of ``compile``, which raises its errors; of a function that is compiled already they do nothing.
    """
    compiled = fn if isinstance(fn, CompiledFunction) else compile(fn, **options)

    def explaining(*args: P.args, **kwargs: P.kwargs) -> Explanation:
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


def allow_in_graph(fn: F) -> F:
    """Mark a Python function: a call of it stays in the graph, as one opaque operation. Gives it back.

    The function must be one of its arguments alone, without effects, and return new arrays (or NumPy scalars, or a
    tuple of these): it is called on arrays of ones to learn what it yields, and may be called twice where a program
    declines. Whatever it calls is not traced. Arguments are arrays and numbers; keywords are constants.
    """
    if not isinstance(fn, types.FunctionType):
        raise TypeError(f"allow_in_graph() takes a Python function, not {type(fn).__name__}")
    fn.__dict__["_dynamo_lite_capture"] = "allowed"
    return fn


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
    for reference in list(_LIVE.values()):
        compiled = reference()
        if compiled is not None:
            compiled.reset()
    _C.memory_release()


# What is kept for a code object holds the globals of its function, which the collector cannot tell: at the end of the
# process modules go with all that they hold, as Python lets them.
atexit.register(reset)

"""Backends: what turns a captured graph into something that runs.

A backend is a callable ``(graph, example_inputs) -> callable``; a ``_C.Program`` is run by C without Python. Names are
resolved among those registered, the three of this package ("numba", "c", "reference") and the entry-point group
"dynamo_lite.backends". INVARIANT: a backend's module is imported when it is first resolved, not before.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from dynamo_lite.errors import BackendError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

Backend: TypeAlias = Callable[[Any, Sequence[Any]], Callable[..., Any]]

ENTRY_POINTS = "dynamo_lite.backends"
BUILT_IN = {name: f"dynamo_lite.backends.{name}" for name in ("numba", "c", "reference")}

_REGISTERED: dict[str, Backend] = {}


def register_backend(name: str, backend: Backend) -> None:
    """Make `backend` known as `name`, in place of any other of that name.

    backend: ``(graph, example_inputs) -> callable``. graph: a verified Graph; example_inputs: the arrays and numbers of
    the first call, one for each input; the callable takes such inputs and returns the graph's outputs, a sequence
    (docs/adding-a-backend.md). Raises BackendError for a name that is no string, and for what is no callable.
    """
    if not isinstance(name, str) or not name:
        raise BackendError(str(name), "a backend's name is a string that is not empty")
    if not callable(backend):
        raise BackendError(name, f"a backend is a callable, not {type(backend).__name__}")
    _REGISTERED[name] = backend


def _entry_points() -> EntryPoints:
    from importlib.metadata import entry_points  # NB: as much to import as half of capture, for names seldom asked for

    return entry_points(group=ENTRY_POINTS)


def list_backends() -> list[str]:
    """The names that ``compile(fn, backend=...)`` takes, sorted: built in, registered, of installed packages."""
    return sorted({*_REGISTERED, *BUILT_IN, *(point.name for point in _entry_points())})


def resolve(backend: str | Backend) -> Backend:
    """The backend of that name, or a callable as it is; BackendError when there is none."""
    if callable(backend):
        return backend
    if not isinstance(backend, str):
        raise BackendError(str(backend), f"a backend is a name or a callable, not {type(backend).__name__}")
    if backend in _REGISTERED:
        return _REGISTERED[backend]
    if backend in BUILT_IN:
        try:
            found: Backend = importlib.import_module(BUILT_IN[backend]).compile_graph
        except ImportError as error:
            raise BackendError(backend, str(error)) from error
        _REGISTERED[backend] = found
        return found
    for point in _entry_points():
        if point.name == backend:
            try:
                register_backend(backend, point.load())
            except Exception as error:
                raise BackendError(backend, f"its entry point failed: {error}") from error
            return _REGISTERED[backend]
    raise BackendError(str(backend), f"there is no such backend; there are {', '.join(list_backends())}")

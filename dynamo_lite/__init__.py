"""dynamo_lite makes plain NumPy code fast and changes nothing else.

>>> import dynamo_lite, numpy as np
>>> @dynamo_lite.compile
... def f(x):
...     return np.exp(-x * x) * 2.0 + 1.0
>>> float(f(np.zeros(3))[0])
3.0
"""

from dynamo_lite import shadows  # noqa: F401 - before anything that a file in the current folder may stand for

# isort: split
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dynamo_lite import installation  # noqa: F401 - before all others: says what is missing
from dynamo_lite.config import config
from dynamo_lite.errors import BackendError, ConfigError, DynamoLiteError, GraphBreakError, RecompileError

if TYPE_CHECKING:
    from dynamo_lite.api import (
        CompiledFunction,
        allow_in_graph,
        compile,
        disable,
        explain,
        graph_break,
        is_compiling,
        reset,
    )
    from dynamo_lite.backends import list_backends, register_backend
    from dynamo_lite.report.records import Explanation
    from dynamo_lite.stance import set_stance

# Where the names are that need the compiler: it takes a third of a second to import, and a program that is run as a
# whole may never need it.
_PLACES = {
    **dict.fromkeys(
        (
            "CompiledFunction",
            "allow_in_graph",
            "compile",
            "disable",
            "explain",
            "graph_break",
            "is_compiling",
            "reset",
        ),
        "dynamo_lite.api",
    ),
    "set_stance": "dynamo_lite.stance",
    **dict.fromkeys(("list_backends", "register_backend"), "dynamo_lite.backends"),
    "Explanation": "dynamo_lite.report.records",
}


def __getattr__(name: str) -> Any:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # NB: an import that is cut short leaves modules behind that cannot be imported again (each op is defined once).
    # What is made meanwhile stays for good: the garbage collector need not go over it as long as the process runs.
    c = import_module("dynamo_lite._C")
    module = c.freeze_made_by(partial(c.uninterrupted, import_module, place))
    # All names of that module: capture takes an attribute that is not there yet for one that it does not know.
    globals().update({other: getattr(module, other) for other, at in _PLACES.items() if at == place})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__version__ = "0.1.0"

__all__ = [
    "BackendError",
    "CompiledFunction",
    "ConfigError",
    "DynamoLiteError",
    "Explanation",
    "GraphBreakError",
    "RecompileError",
    "allow_in_graph",
    "compile",
    "config",
    "disable",
    "explain",
    "graph_break",
    "is_compiling",
    "list_backends",
    "register_backend",
    "reset",
    "set_stance",
]

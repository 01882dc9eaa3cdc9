"""dynamo_lite makes plain NumPy code fast and changes nothing else.

>>> import dynamo_lite, numpy as np
>>> @dynamo_lite.compile
... def f(x):
...     return np.exp(-x * x) * 2.0 + 1.0
>>> float(f(np.zeros(3))[0])
3.0
"""

from dynamo_lite import installation  # noqa: F401 - before all others: says what is missing
from dynamo_lite.api import CompiledFunction, compile, disable, explain, graph_break, is_compiling, reset
from dynamo_lite.backends import list_backends, register_backend
from dynamo_lite.config import config
from dynamo_lite.errors import BackendError, ConfigError, DynamoLiteError, GraphBreakError
from dynamo_lite.report.records import Explanation

__version__ = "0.1.0"

__all__ = [
    "BackendError",
    "CompiledFunction",
    "ConfigError",
    "DynamoLiteError",
    "Explanation",
    "GraphBreakError",
    "compile",
    "config",
    "disable",
    "explain",
    "graph_break",
    "is_compiling",
    "list_backends",
    "register_backend",
    "reset",
]

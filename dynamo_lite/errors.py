"""The exceptions and warnings of dynamo_lite.

None of these leaves a compiled function in ordinary use: what cannot be compiled runs as plain Python, and the user's
own exceptions are Python's and NumPy's. They are raised for wrong options and for ``fullgraph=True``. Imports
nothing, so every part may import it.
"""

from __future__ import annotations


class DynamoLiteError(Exception):
    """Base of every exception that dynamo_lite raises on its own behalf."""


class ConfigError(DynamoLiteError, ValueError):
    """An option of `config` or a ``DYNAMO_LITE_*`` variable has an unknown name or an impossible value."""


class BackendError(DynamoLiteError):
    """A backend is unknown or failed on a graph; ``backend`` names it, ``__cause__`` holds what it raised."""

    def __init__(self, backend: str, reason: str) -> None:
        super().__init__(f"backend {backend!r}: {reason}")
        self.backend = backend
        self.reason = reason

    def __reduce__(self) -> tuple[type[BackendError], tuple[str, str]]:
        return type(self), (self.backend, self.reason)


class GraphBreakError(DynamoLiteError):
    """A function compiled with ``fullgraph=True`` does not become one graph.

    reason: an id of dynamo_lite.breaks. filename, line: the user's source. message, hint: from the table of reasons.
    """

    def __init__(self, reason: str, message: str, hint: str, filename: str, line: int, function: str) -> None:
        place = f"{filename}:{line} in {function}: " if filename else ""  # what is no Python function has none
        super().__init__(f"{place}{message} [{reason}]\n  {hint}")
        self.reason = reason
        self.message = message
        self.hint = hint
        self.filename = filename
        self.line = line
        self.function = function

    def __reduce__(self) -> tuple[type[GraphBreakError], tuple[str, str, str, str, int, str]]:
        return type(self), (self.reason, self.message, self.hint, self.filename, self.line, self.function)


class RecompileError(DynamoLiteError):
    """A function would have to be compiled again, under ``set_stance("fail_on_recompile")``; the text says why."""


class DynamoLiteWarning(RuntimeWarning):
    """Base of every warning; each is given once, and the call it belongs to runs as plain Python."""


class UnsupportedPythonWarning(DynamoLiteWarning):
    """``compile`` leaves every function plain: this Python is not known, or a package is newer than known."""


class RecompileLimitWarning(DynamoLiteWarning):
    """A function met more kinds of arguments than ``recompile_limit``; further ones run as plain Python."""


class BackendWarning(DynamoLiteWarning):
    """A backend failed on a graph; that function runs as plain Python."""

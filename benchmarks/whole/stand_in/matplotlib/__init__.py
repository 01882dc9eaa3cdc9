"""A stand-in for matplotlib that draws nothing and hashes what it is told to draw.

Whole programs are timed without the time that drawing takes, and two runs drew the same if their digests are equal:
every call on a figure, an axis or the module goes into one digest, with the bytes of its arrays.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import sys
from typing import Any

_digest = hashlib.sha256()
_calls = 0


def use(*args: object, **kwargs: object) -> None:
    """Backends are all the same to it."""


def _note(value: Any) -> None:
    if isinstance(value, Drawn):
        _digest.update(value._name.encode())
    elif hasattr(value, "tobytes") and hasattr(value, "dtype"):
        _digest.update(f"{value.dtype}{value.shape}".encode())
        _digest.update(value.tobytes())
        if hasattr(value, "mask"):
            _note(value.mask)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _note(item)
    elif isinstance(value, dict):
        for key in value:
            _note(key)
            _note(value[key])
    elif isinstance(value, (str, int, float, complex, type(None))):
        _digest.update(repr(value).encode())


class Drawn:
    """Whatever a call gives: a figure, an axis, a line. Every attribute of it can be called."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Drawn(f"{self._name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        global _calls
        _calls += 1
        _digest.update(self._name.encode())
        _note(args)
        _note(kwargs)
        if self._name.endswith("subplots"):
            rows = kwargs.get("nrows", args[0] if args else 1)
            columns = kwargs.get("ncols", args[1] if len(args) > 1 else 1)
            axes: Any = tuple(tuple(Drawn("axes") for _ in range(columns)) for _ in range(rows))
            axes = axes[0] if rows == 1 else tuple(row[0] for row in axes) if columns == 1 else axes
            return Drawn("figure"), axes[0] if rows == columns == 1 else axes
        return Drawn(f"{self._name}()")

    def __getitem__(self, key: Any) -> Any:
        return Drawn(f"{self._name}[{key!r}]")

    def __iter__(self) -> Any:
        return iter((Drawn(f"{self._name}[0]"),))


def drawings() -> str:
    """How many calls, and their digest."""
    return f"drawings: {_calls} calls, {_digest.hexdigest()[:16]}"


if not os.environ.get("STAND_IN_QUIET"):
    atexit.register(lambda: print(drawings(), file=sys.stdout, flush=True))

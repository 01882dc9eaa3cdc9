"""What a `with` enters and leaves, and what tells when."""

from __future__ import annotations

import sys
import traceback
import types
from typing import Any

LOG: list[Any] = []


class Block:
    """One that notes what comes, with the lines of its traceback, and what is handled by then."""

    def __init__(self, swallows: bool = False) -> None:
        self.swallows = swallows

    def __enter__(self) -> Block:
        LOG.append("enter")
        return self

    def __exit__(self, kind: Any, error: Any, trace: types.TracebackType | None) -> bool:
        lines = [] if trace is None else [at.lineno for at in traceback.extract_tb(trace)]
        LOG.append(("exit", kind, repr(error), lines, sys.exc_info()[0]))
        return self.swallows

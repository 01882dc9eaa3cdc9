"""What a compiled function warns of on its own behalf: each text once, where an exception comes out of a call of it.

Filters of warnings may make an exception of a warning. In the course of a call that would leave the user's `with` and
`try` blocks behind as they are, since the frame that goes on in them has not begun: such a text waits for the next
call.
"""

from __future__ import annotations

import os
import sys
import types
import warnings
from pathlib import Path

from dynamo_lite import backends, breaks
from dynamo_lite.errors import DynamoLiteWarning

_OWN_FOLDERS = tuple(str(Path(module.__file__).parent) + os.sep for module in (breaks, backends) if module.__file__)


class Telling:
    """What was told, and what waits."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._waiting: list[tuple[str, type[DynamoLiteWarning]]] = []

    def is_new(self, text: str) -> bool:
        """Whether this was not told before; from now on it is no longer."""
        found = text not in self._told
        self._told.add(text)
        return found

    def wait(self, text: str, category: type[DynamoLiteWarning]) -> None:
        """Warn of this later."""
        self._waiting.append((text, category))

    def warn(self, text: str, category: type[DynamoLiteWarning]) -> None:
        """Warn of this now."""
        warnings.warn(text, category, stacklevel=_user_level())

    def rest(self) -> None:
        """Warn of what waits."""
        while self._waiting:
            self.warn(*self._waiting.pop(0))


def _user_level() -> int:
    """The stacklevel, for a warning that the caller gives, of the innermost frame that is not ours."""
    frame: types.FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and frame.f_code.co_filename.startswith(_OWN_FOLDERS) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    return level


__all__ = ["Telling"]

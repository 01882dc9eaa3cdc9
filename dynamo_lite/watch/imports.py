"""What the time of an import tells of the machine: nothing, where sources were compiled meanwhile.

Enters: the modules that there were, and the time. Leaves: whether all that has been imported since was read from
bytecode that had been there.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable


def has_read_bytecode() -> Callable[[], bool]:
    """What tells later whether all modules that were imported since were read from bytecode that had been there."""
    before, began = frozenset(sys.modules), time.time() - _COARSE

    def has_read() -> bool:
        paths = (getattr(module, "__cached__", None) for name, module in [*sys.modules.items()] if name not in before)
        try:
            return all(os.stat(path).st_mtime < began for path in paths if type(path) is str)
        except OSError:
            return False  # it is not kept

    return has_read


_COARSE = 0.01  # seconds that a file's time may be behind


__all__ = ["has_read_bytecode"]

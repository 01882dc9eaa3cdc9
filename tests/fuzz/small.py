"""dynamo_lite.compile, in a process where programs get their routine of small arrays at once: for campaigns."""

from __future__ import annotations

from typing import Any

import dynamo_lite
from dynamo_lite import _C


def compile(*args: Any, **kwargs: Any) -> Any:
    """As dynamo_lite.compile."""
    _C.run_small_after(-1)
    return dynamo_lite.compile(*args, **kwargs)

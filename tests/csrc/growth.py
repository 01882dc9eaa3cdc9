"""Whether calls leave memory behind: blocks that the interpreter has allocated, before and after many of them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable


def assert_no_growth(call: Callable[[], object], calls: int = 100_000, slack: int = 200) -> None:
    """Fail when `calls` calls leave more than `slack` blocks behind (a leak of one object a call leaves `calls`)."""
    for _ in range(2_000):
        call()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(calls):
        call()
    gc.collect()
    grown = sys.getallocatedblocks() - before
    assert grown <= slack, f"{calls} calls left {grown} blocks"

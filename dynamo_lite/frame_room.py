"""Room for Python frames above that of a function.

CPython up to 3.13 has the frames of a thread in chunks of 16 KB. A call whose frame does not fit into the latest chunk
gets a new one from the system, which goes back when it returns: some microseconds for each call at such a depth. One
that is long itself stands in a chunk with as much room again. What nobody uses of both is never touched, and takes no
memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_SLOTS = 32768  # of 8 bytes

_F = TypeVar("_F", bound=Callable[..., Any])


def with_frame_room(function: _F) -> _F:
    """Let the calls below those of a Python `function` find room for their frames in one chunk."""
    function.__code__ = function.__code__.replace(co_stacksize=_SLOTS)
    return function

"""The garbage collector, off while things are made that live on: the collector would go over them again and again, and
full collections would come sooner in the program than in plain Python."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect nothing in this block."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


_held = False


def hold_collector() -> None:
    """Collect nothing until `release_collector`: what is imported before a program lives as long as the process."""
    global _held
    _held = gc.isenabled()
    gc.disable()


def release_collector() -> None:
    """Collect as before `hold_collector`."""
    global _held
    if _held:
        gc.enable()
    _held = False

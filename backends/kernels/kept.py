"""Compiled kernels by what they were compiled from: equal ones are compiled once, whichever program asks.

They live while a program has them, and the latest ones longer: the next program may ask for the same.
"""

from __future__ import annotations

import contextvars
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from weakref import WeakValueDictionary

from dynamo_lite._C import CompiledKernel

LATEST = 256  # kernels that are kept though no program has them


class Kept:
    """lock: held while one is compiled, and over a fork: in the child another thread that compiles would be gone."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a signal's handler that compiles may run in the midst of compiling
        self.made: WeakValueDictionary[Hashable, CompiledKernel] = WeakValueDictionary()
        self.latest: OrderedDict[Hashable, CompiledKernel] = OrderedDict()

    def find(self, key: Hashable, compile: Callable[[], CompiledKernel]) -> CompiledKernel:
        """What was compiled under that key, or is now."""
        with self.lock:
            found = self.made.get(key)
            if found is None:
                # As for all compiling: an interrupt must not leave an errstate behind.
                found = self.made[key] = contextvars.copy_context().run(compile)
            self.latest[key] = found
            self.latest.move_to_end(key)
            while len(self.latest) > LATEST:
                self.latest.popitem(last=False)
            return found

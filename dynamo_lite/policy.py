"""What is looked at, when it is compiled, and whether it stays: the one table of thresholds, and the three questions.

Enters: file names, seconds. Leaves: decisions. C keeps the counters (csrc/watch.c) and is told the thresholds once.

- What: users' own files. Not the standard library, not installed packages, unless ``config.include`` names them;
  ``config.exclude`` takes away. NumPy's own Python functions are inlined where a user's function calls them.
- When: ``compile(fn)`` compiles `fn` at its first call. All else waits until it has taken some time plainly, and until
  compiling has taken no more than a share of the time that the process has run.
- Whether it stays: whole calls are timed, compiled and plainly, by size class; what loses runs plainly again.
"""

from __future__ import annotations

import os
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dynamo_lite.config import config


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Seconds, and shares of 1."""

    hot_function: float = 0.010  # plain time of a function's calls, after which calls are dispatched
    hot_loop: float = 0.010  # plain time of a loop that is running, after which compiled code takes over
    look: float = 0.0005  # how often a running loop looks at the clock, about
    budget_share: float = 0.10  # of the process's time may go into compiling
    budget_base: float = 0.10  # and so many seconds besides
    rest_factor: float = 3.0  # times as much, for the rest of what is compiled in part
    compiler: float = 0.50  # CPU seconds of the process before the compiler is imported


THRESHOLDS = Thresholds()
AT_ONCE = Thresholds(
    hot_function=0.0, hot_loop=0.0, look=0.0, budget_share=1e6, budget_base=1e6, compiler=0.0
)  # everything is compiled at its second call or round

_LIBRARIES = tuple(
    {
        os.path.realpath(path) + os.sep
        for name, path in sysconfig.get_paths().items()
        if name in ("stdlib", "platstdlib")
    }
)
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_OURS = os.path.dirname(os.path.realpath(__file__)) + os.sep


def is_looked_at(filename: str, module: str = "") -> bool:
    """Whether functions of this file may be compiled by themselves: users' own, and what `config` includes."""
    package = module.partition(".")[0]
    if package == "dynamo_lite":
        return False
    if _names(config.exclude, package, module):
        return False
    if _names(config.include, package, module):
        return True
    if filename.startswith("<"):
        return not filename.startswith("<frozen ")
    path = os.path.realpath(filename)
    if any(part in path for part in _INSTALLED) or path.startswith(_OURS):
        return False
    return not path.startswith(_LIBRARIES)


def _names(names: frozenset[str], package: str, module: str) -> bool:
    return bool(names) and (package in names or module in names)


class Budget:
    """CPU time that compiling may take, which grows with what the process has taken."""

    def __init__(self, thresholds: Thresholds = THRESHOLDS) -> None:
        self._thresholds = thresholds
        self.spent = 0.0

    def allows(self, goes_on: bool = False) -> bool:
        """Whether something may be compiled now. goes_on: it is the rest of what is compiled, which alone is of little
        use."""
        limit = self._thresholds.budget_base + self._thresholds.budget_share * time.process_time()
        return self.spent <= limit * (self._thresholds.rest_factor if goes_on else 1.0)

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Count what the block takes in this thread."""
        began = time.thread_time()
        try:
            yield
        finally:
            self.spent += time.thread_time() - began

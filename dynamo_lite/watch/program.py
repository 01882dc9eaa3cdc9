"""Whole programs: what ``python -m dynamo_lite run`` does to the files of a program.

The code of users' files gets polls at its functions' entries and at the back edges of its loops (watching.py). Nothing
else changes, and nothing is compiled, until a function or a running loop has taken some time. The first file that
speaks of NumPy also brings the pool of array memory (csrc/memory/memory.c), for the whole process and at once: to a
short program it is all the gain there is. A file that does not speak of NumPy is left as it is, and a program without
such a file never imports what watches.
"""

from __future__ import annotations

import importlib.machinery
import re
import types
from time import thread_time
from typing import TYPE_CHECKING, Any

from dynamo_lite import policy
from dynamo_lite._first import Then
from dynamo_lite.collector import uncollected
from dynamo_lite.config import config
from dynamo_lite.dataclass import replace
from dynamo_lite.shadows import own_modules
from dynamo_lite.watch.imports import has_read_bytecode

if TYPE_CHECKING:
    from dynamo_lite.watch.watching import Watch


_OF_ARRAYS = (b"numpy", b"pylab", b"scipy")
# Compilers that read the bytecode of the functions which they are given, where polls mean nothing to them.
_READ_BYTECODE = frozenset({"numba", "numba.cuda", "numba.experimental", "numba.extending", "numba.typed"})


# An index of several parts, one of them a slice, `u[i, :]` or `u[1:-1, 0]`: nothing that is built in has such items.
# NB: what stands before and behind the colon is bounded, so that no line takes the square of its length.
_SLICED = re.compile(rb",[ \t]*:|\[(?![ \t]*lambda)[^][#\n'\"{}]{0,99}:[^][#\n'\"{}]{0,99},")


def _speaks_of_arrays(source: bytes) -> bool:
    """Whether a file is about arrays. Some do not import NumPy, and are given arrays by those that do."""
    return any(name in source for name in _OF_ARRAYS) or _SLICED.search(source) is not None


class Program:
    """A program whose files are watched. watch: what does it, once there is something to watch; refusal: why nothing
    can be watched in this Python."""

    def __init__(self, limits: policy.Thresholds = policy.THRESHOLDS) -> None:
        self.limits = limits
        self.watch: Watch | None = None
        self.refusal: str | None = None
        self._ended = False

    def prepared(self, code: types.CodeType, source: bytes) -> types.CodeType:
        """The code to run for a file of the user's: with polls, if it speaks of NumPy, or of what brings its names, or
        takes slices of arrays, and imports no other compiler."""
        if self._ended or self.refusal or not _speaks_of_arrays(source) or not policy.is_looked_at(code.co_filename):
            return code
        if not _READ_BYTECODE.isdisjoint(code.co_names):
            return code
        with own_modules, uncollected():  # NB: NumPy comes with it
            from dynamo_lite import _C

        if self.watch is None:
            self.refusal = _C.hook_refusal()
            if self.refusal:
                return code
            self.watch = _C.freeze_made_by(self._watch)
            _C.memory_install(config.pool_bytes, fill=config.check > 0, stay=True)
        watch = self.watch  # NB: the collector would go over all that importing NumPy has made
        made: types.CodeType = _C.freeze_made_by(lambda: watch.watched(code))
        return made

    def _watch(self) -> Watch:
        has_read, began = has_read_bytecode(), thread_time()
        with own_modules:
            from dynamo_lite.watch.watching import Watch

        watch = Watch(self.limits)
        taken = thread_time() - began
        if has_read():
            watch.budget.imported(taken, self.limits.watching)
        return watch

    def end(self) -> None:
        """Watch no more, nor files that are imported from now on; what is compiled stays, and so does the pool."""
        self._ended = True
        if self.watch is not None:
            self.watch.end()

    def forget(self) -> None:
        """Keep nothing of the program's alive: its modules go with all that they hold, as Python lets them."""
        if self.watch is not None:
            if self.watch.compilation is not None:
                self.watch.compilation.reset()
            self.watch = None


def watch(limits: policy.Thresholds | None = None) -> Program:
    """Start watching the files that are imported from now on; the caller runs its own by `Program.prepared`.

    limits: by default what policy.py says, with the share of config.run_budget.
    """
    found = Program(limits or replace(policy.THRESHOLDS, budget_share=config.run_budget / 100))
    loader = importlib.machinery.SourceFileLoader

    def prepared(code: types.CodeType | None, of: Any, fullname: str) -> types.CodeType | None:
        if code is None or not policy.is_looked_at(of.path, fullname):
            return code
        try:
            return found.prepared(code, of.get_data(of.path))
        except OSError:
            return code

    loader.get_code = Then(loader.get_code, prepared)  # type: ignore[method-assign, assignment]
    return found

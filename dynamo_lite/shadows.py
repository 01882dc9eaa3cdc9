"""Modules that dynamo_lite imports, and the program that it runs has files of its own for: a bisect.py beside main.py.

Enters: the folder of the program, with which `run` begins. Leaves: a program that imports its own file, as in plain
Python, where nobody has imported the other module before; a compiler that imports the other one, whenever it does.
INVARIANT: the first module that the package imports, which imports none that a file may stand for.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # NB: typing, and types, may be files of the program's
if TYPE_CHECKING:
    from types import ModuleType, TracebackType

# What was there before, plain Python has as well.
_BEFORE = frozenset(sys.modules)
_PACKAGES = {"bytecode", "llvmlite"}  # not NumPy: the program's own NumPy would be ours


def _leave_current_folder() -> None:
    """Where ``python -m dynamo_lite`` has put the current folder first on the path, import nothing from it.

    NB: the entry stays, as one by which no file is found: `run` replaces it."""
    if sys.argv[:1] != ["-m"] or sys.flags.safe_path:
        return  # which says that the interpreter looks for what it was told to run
    told = sys.orig_argv[sys.orig_argv.index("-m") + 1 :] if "-m" in sys.orig_argv else []
    if told and told[0].partition(".")[0] == __package__:
        sys.path[0] = __file__


class Shadows:
    """folder: of the program. names: of its files that are also those of modules which we may import."""

    def __init__(self) -> None:
        self._folder = ""
        self._names: frozenset[str] = frozenset()
        self._theirs: dict[str, ModuleType] = {}
        self._ours: dict[str, ModuleType] = {}
        self._entered = 0

    def give_way(self, folder: str) -> None:
        """Forget what was imported under the name of a file in `folder`."""
        try:
            files = {name.partition(".")[0] for name in os.listdir(folder or ".")}
        except OSError:
            return
        first = (*_BEFORE, *sys.builtin_module_names)  # which no file can stand for
        self._folder = folder
        self._names = frozenset(files & (sys.stdlib_module_names | _PACKAGES)).difference(first)
        self._ours = self._taken()

    def _taken(self) -> dict[str, ModuleType]:
        """What sys.modules has under these names, which it has no longer."""
        found = [name for name in self._names if name in sys.modules]
        if found:  # NB: asked for each file of a program
            parts = tuple(f"{name}." for name in self._names)
            found += [name for name in sys.modules if name.startswith(parts)]
        return {name: sys.modules.pop(name) for name in found}

    def __enter__(self) -> None:
        """What is imported from here on is ours."""
        self._entered += 1
        if self._names and self._entered == 1:
            self._theirs = self._taken()
            sys.modules.update(self._ours)
            if sys.path[:1] == [self._folder]:
                sys.path[0] = __file__

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._entered -= 1
        if self._names and self._entered == 0:
            self._ours = self._taken()
            sys.modules.update(self._theirs)
            if sys.path[:1] == [__file__]:
                sys.path[0] = self._folder


_leave_current_folder()
own_modules = Shadows()

__all__ = ["own_modules"]

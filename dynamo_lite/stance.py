"""How the whole process treats compiled functions for now: for comparing with plain Python, and for debugging.

Enters: ``dynamo_lite.set_stance``. Leaves: `current`, and in C whether all calls are plain.
"""

from __future__ import annotations

from typing import Any

from dynamo_lite import _C

STANCES = ("default", "force_plain", "fail_on_recompile")

current = "default"


def _take(stance: str) -> None:
    global current
    current = stance
    _C.force_plain(stance == "force_plain")


class set_stance:
    """Choose how the process treats what is compiled, from now on; in a `with`, until its end.

    stance: "default"; "force_plain": every call runs as plain Python, also under ``run``, and what is compiled is kept;
    "fail_on_recompile": a call for which a function would have to be compiled again raises RecompileError.
    Raises ValueError for another word. All threads are affected.
    """

    def __init__(self, stance: str) -> None:
        if stance not in STANCES:
            raise ValueError(f"set_stance() takes one of {', '.join(map(repr, STANCES))}, not {stance!r}")
        self._before = current
        _take(stance)

    def __enter__(self) -> set_stance:
        return self

    def __exit__(self, *_: Any) -> None:
        _take(self._before)


__all__ = ["current", "set_stance"]

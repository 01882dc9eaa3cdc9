"""What `run` and `explain` print when the program has ended, on stderr, after its own atexit functions."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Mapping
from typing import Any, Protocol

from dynamo_lite import _C, whole_program
from dynamo_lite.report.records import Explanation


class Explains(Protocol):
    """Whatever can tell what was compiled (compilation.py's Compilation)."""

    def explanation(self) -> Explanation: ...


def describe_frames(statistics: Mapping[str, Any]) -> str:
    """``frames seen N captured N skipped N (reason N, ...)``, the most frequent reason first.

    >>> describe_frames({"seen": 9, "captured": 2, "rewritten": 0, "skipped": {"generator": 3, "plain": 4}})
    'frames seen 9 captured 2 skipped 7 (plain 4, generator 3)'
    """
    skipped = {reason: count for reason, count in statistics["skipped"].items() if count}
    line = f"frames seen {statistics['seen']} captured {statistics['captured']} skipped {sum(skipped.values())}"
    if skipped:
        ordered = sorted(skipped.items(), key=lambda item: (-item[1], item[0]))
        line += f" ({', '.join(f'{reason} {count}' for reason, count in ordered)})"
    for word, key in (("rewritten", "rewritten"), ("plain from a break on", "plain_rests")):
        if statistics.get(key):
            line += f", {word} {statistics[key]}"
    return line


def report_frames_at_exit() -> None:
    """Print the closing line when this process (no forked child) ends."""
    _at_exit(lambda: describe_frames(whole_program.frame_statistics()))


def explain_at_exit(compilation: Explains) -> None:
    """Print what became of the program's functions, then the closing line."""
    _at_exit(lambda: f"{compilation.explanation()}\n\n{describe_frames(whole_program.frame_statistics())}")


def _at_exit(text: Any) -> None:
    process = os.getpid()

    def report() -> None:
        if os.getpid() == process:
            whole_program.disable()
            sys.stdout.flush()
            print(text(), file=sys.stderr, flush=True)

    # Registered before the program starts, so it runs after everything that the program registers. The hook goes first:
    # a C function, so that no frame of ours is seen.
    atexit.register(report)
    atexit.register(_C.hook_disable)

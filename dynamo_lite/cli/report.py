"""What `run` and `explain` print when the program has ended, on stderr, after its own atexit functions."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dynamo_lite.shadows import own_modules

if TYPE_CHECKING:
    from dynamo_lite.watch.program import Program
    from dynamo_lite.watch.watching import Watch


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
    """Print the closing line of a stress mode when this process (no forked child) ends."""
    from dynamo_lite import _C, stress

    process = os.getpid()

    def report() -> None:
        if os.getpid() == process:
            stress.disable()
            sys.stdout.flush()
            print(describe_frames(stress.frame_statistics()), file=sys.stderr, flush=True)

    # Registered before the program starts, so it runs after everything that the program registers. The hook goes first:
    # a C function, so that no frame of ours is seen.
    atexit.register(report)
    atexit.register(_C.hook_disable)


def forget_at_exit(program: Program) -> None:
    """Let go of all that is kept for a watched program when this process ends, after what `report_at_exit` prints."""

    def forget() -> None:
        program.end()
        program.forget()

    atexit.register(forget)


def report_at_exit(program: Program, explain: bool = False) -> None:
    """Print what watching the program brought when this process (no forked child) ends; explain: all of it."""
    process = os.getpid()

    def report() -> None:
        if os.getpid() == process:
            program.end()
            sys.stdout.flush()
            if program.refusal:
                print(f"dynamo_lite: every function ran as plain Python: {program.refusal}", file=sys.stderr)
                return
            compilation = program.watch.compilation if program.watch is not None else None
            with own_modules:
                if explain and compilation is not None:
                    print(compilation.explanation(), end="\n\n", file=sys.stderr)
                print(describe_watch(program.watch), file=sys.stderr, flush=True)

    atexit.register(report)


def describe_watch(watch: Watch | None) -> str:
    """What was compiled and what that took; then the places where most plain time went, and why they are plain."""
    ran = time.process_time()
    failed = "" if watch is None else "".join(f"\n  {text} ({n} times)" for text, n in watch.failures.items())
    if watch is None or watch.compilation is None:
        return f"dynamo_lite: {ran:.2f} s of CPU time; nothing took long enough to be compiled{failed}"
    stats = watch.compilation.stats()
    lines = [
        f"dynamo_lite: {ran:.2f} s of CPU time, {watch.budget.spent:.2f} s of it compiling {stats['compiles']} "
        f"segments; {stats['native_calls']} native calls, running loops entered {watch.loops_entered} times"
        + (f"; calls took {watch.saved():.2f} s less than plainly" if watch.saved() > 0.01 else "")
    ]
    reasons = watch.compilation.reasons()
    for seconds, filename, line, name in watch.plain_places()[:3]:
        if seconds >= 0.05:
            why = next((text for (file, at), text in reasons.items() if file == filename and at == line), "")
            waited = "compiling had to wait (option run_budget)" if watch.put_off else ""
            lines.append(
                f"  {filename}:{line} {name}: {seconds:.2f} s plainly{': ' if why or waited else ''}{why or waited}"
            )
    return "\n".join(lines) + failed

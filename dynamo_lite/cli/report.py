"""What `run` and `explain` print when the program has ended, on stderr, after its own atexit functions."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dynamo_lite._first import call_unseen
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
            _say(describe_frames(stress.frame_statistics()))

    # Registered before the program starts, so it runs after everything that the program registers. The hook goes first:
    # a C function, so that no frame of ours is seen.
    atexit.register(call_unseen, report)
    atexit.register(_C.hook_disable)


def forget_at_exit(program: Program) -> None:
    """Let go of all that is kept for a watched program when this process ends, after what `report_at_exit` prints."""

    def forget() -> None:
        program.end()
        program.forget()

    atexit.register(call_unseen, forget)


def report_at_exit(program: Program, explain: bool = False) -> None:
    """Print what watching the program brought when this process (no forked child) ends; explain: all of it."""
    process = os.getpid()

    def report() -> None:
        if os.getpid() == process:
            program.end()
            if program.refusal:
                _say(f"dynamo_lite: every function ran as plain Python: {program.refusal}")
                return
            compilation = program.watch.compilation if program.watch is not None else None
            with own_modules:
                if explain and compilation is not None:
                    _say(f"{compilation.explanation()}\n")
                _say(describe_watch(program.watch, explain))

    atexit.register(call_unseen, report)


def _say(text: str) -> None:
    """Write to stderr, behind what the program has written. What stdout does not take Python itself says later."""
    with suppress(OSError, ValueError):
        if sys.stdout is not None:
            sys.stdout.flush()
    with suppress(OSError, ValueError):
        if sys.stderr is not None:
            print(text, file=sys.stderr, flush=True)


def describe_watch(watch: Watch | None, at_once: bool) -> str:
    """What was compiled and what that took; then the places where most plain time went, and why they are plain.
    at_once: all was to be compiled, and nothing had to take long."""
    ran, passed = time.process_time(), time.perf_counter() - _BEGAN
    clock = f"{ran:.2f} s of CPU time{f' in {passed:.2f} s' if passed > 1.1 * ran + 0.1 else ''}"
    failed = "" if watch is None else "".join(f"\n  {text} ({n} times)" for text, n in watch.failures.items())
    if watch is None or watch.compilation is None:
        places = [] if watch is None else _plain_places(watch, _LONG)
        short = _NOTHING if at_once else "nothing took long enough to be compiled"
        what = "nothing was compiled" if places else short
        return "\n".join([f"dynamo_lite: {clock}; {what}", *places]) + failed
    stats = watch.compilation.stats()
    line = (
        f"dynamo_lite: {clock}, {watch.budget.spent:.2f} s of it compiling {stats['compiles']} "
        f"segments; {stats['native_calls']} native calls, running loops entered {watch.loops_entered} times"
        + (f"; calls took {watch.saved():.2f} s less than plainly" if watch.saved() > 0.01 else "")
    )
    return "\n".join([line, *_plain_places(watch, _SOME)]) + failed


_BEGAN = time.perf_counter()
_NOTHING = "there was nothing to compile, or nothing that takes more than some microseconds"
_SOME = 0.05  # seconds of plain time that are said of a place
_LONG = 0.5  # so where nothing was compiled
_SHOWN = 3  # places


def _plain_places(watch: Watch, least: float) -> list[str]:
    """A line for each function in which most plain time went: of its loops one stands for it that has half of that."""
    functions: dict[tuple[str, str], list[tuple[float, str, int, str]]] = {}
    for place in watch.plain_places():
        functions.setdefault((place[1], place[3].removeprefix(_LOOP)), []).append(place)
    lines = []
    for places in list(functions.values())[:_SHOWN]:
        most = places[0][0]
        if most >= least:
            shown = next((one for one in places if one[3].startswith(_LOOP) and one[0] >= most / 2), places[0])
            whys = (_why_plain(watch, place) for place in (shown, *places))
            why = next((text for text in whys if text), "")
            lines.append(f"  {shown[1]}:{shown[2]} {shown[3]}: {shown[0]:.2f} s plainly{': ' if why else ''}{why}")
    return lines


_LOOP = "a loop of "


def _why_plain(watch: Watch, place: tuple[float, str, int, str]) -> str:
    """Why a place ran plainly, as far as is known."""
    _, file, line, name = place
    if watch.compilation is not None and (why := watch.compilation.reasons().get((file, line))):
        return why
    known = ((at, qualname, position[0], round_) for (at, qualname, _, position), round_ in watch.rounds.items())
    rounds = [round_ for *at, round_ in known if at == [file, name.removeprefix(_LOOP), line]]
    if any(watch.opaque.get(round_) for round_ in rounds):
        return "each of its rounds breaks the graph, and what is in between is too short to gain"
    polls = [poll for poll, *at in watch.entries if at == [file, line, name]]
    if any(round_.loses for round_ in rounds) or any(row[4] for poll in polls for row in poll.times):
        return "it took longer when it was compiled"
    of = next((at for _, *at, qualname in watch.entries if [at[0], qualname] == [file, name.removeprefix(_LOOP)]), None)
    if (watch.compilation is None and None in watch.budget.refused) or (of and tuple(of) in watch.budget.refused):
        return "compiling had to wait (option run_budget)"
    return ""

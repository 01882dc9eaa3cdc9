"""Runs each program of a suite in a process of its own, so that a hang or a crash costs that program alone.

Enters: the module whose command runs one program (``python -m MODULE ... --row FILE --child NAME``), names, a time
limit. Leaves: a Row or a Missing for each, printed as they come. The child writes its Row as JSON; a program that does
not end well with the peers is run once more without them.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import table
from benchmarks.compare import AGAIN, COMPILED, PLAIN, Fate, Row, run
from benchmarks.measure import Timing
from benchmarks.peers import PEERS, Case, Peer

IMPORT_MISSING = 3  # exit code of a child whose program imports what is not installed


@dataclass(frozen=True, slots=True)
class Missing:
    """A program without a row. skipped: an import is missing; otherwise it failed."""

    program: str
    reason: str
    skipped: bool = False


Outcome = Row | Missing


def command(module: str, names: Sequence[str], arguments: Sequence[str], options: argparse.Namespace) -> int:
    """Run the programs, print a few lines for each and the table; 1 if one failed or gave other bits than NumPy's.

    arguments: what the module's command needs, besides the common options, to know a program by its name.
    """
    chosen = [peer.name for peer in peers_named(options.peers) if peer.installed]
    for peer in peers_named(options.peers):
        print(f"peer {peer.name}: {peer.version if peer.installed else f'missing (pip install {peer.package})'}")
    common = [f"--{name}={getattr(options, name)}" for name in ("seconds", "rounds", "threads", "clock")]
    outcomes: list[Outcome] = []
    for name in names:
        outcomes.append(_with_peers(module, name, [*arguments, *common], options.limit, chosen))
        print(describe(outcomes[-1]), flush=True)
        if options.json:
            options.json.write_text(json.dumps([to_plain(outcome) for outcome in outcomes], indent=1))
    rows = [outcome for outcome in outcomes if isinstance(outcome, Row)]
    missing = [outcome for outcome in outcomes if isinstance(outcome, Missing)]
    failed = [outcome.program for outcome in missing if not outcome.skipped]
    print()
    print(table.suite_table(rows, failed, [outcome.program for outcome in missing if outcome.skipped], chosen))
    return int(bool(failed) or any(not row.equal[COMPILED] for row in rows))


def child(load: Callable[[], Case], options: argparse.Namespace) -> int:
    """Run one program in this process and write its Row to options.row."""
    try:
        case = load()
    except ModuleNotFoundError as error:
        print(error, file=sys.stderr)
        return IMPORT_MISSING
    row = run(case, options.seconds, tuple(peers_named(options.peers)), rounds=options.rounds, clock=options.clock)
    options.row.write_text(json.dumps(to_plain(row)))
    return 0


def peers_named(names: str) -> list[Peer]:
    wanted = [name for name in names.split(",") if name]
    known = {peer.name: peer for peer in PEERS}
    for name in wanted:
        if name not in known:
            raise SystemExit(f"no peer {name}; there are {', '.join(known)}")
    return [known[name] for name in wanted]


def _with_peers(module: str, name: str, arguments: Sequence[str], limit: float, peers: Sequence[str]) -> Outcome:
    outcome = _child(module, name, [*arguments, f"--peers={','.join(peers)}"], limit)
    if isinstance(outcome, Row) or outcome.skipped or not peers:
        return outcome
    alone = _child(module, name, [*arguments, "--peers="], limit)
    if isinstance(alone, Missing):
        return alone
    return dataclasses.replace(alone, absent=dict.fromkeys(peers, f"with the peers it {outcome.reason}"))


def describe(outcome: Outcome) -> str:
    """What one program gave, in lines."""
    if isinstance(outcome, Missing):
        return f"{outcome.program}: {'skipped' if outcome.skipped else 'FAILED'}: {outcome.reason}"
    others = "".join(
        f", {peer} {outcome.ratio(peer):.2f}{outcome.mark(peer).strip()}" for peer in outcome.equal if peer != COMPILED
    )
    lines = [
        f"{outcome.program}: {table.duration(outcome.seconds(PLAIN))}, dynamo_lite {outcome.ratio(COMPILED):.2f}"
        f"{others}, numpy {outcome.ratio(AGAIN):.2f}; first call {table.duration(outcome.first_call)}, "
        f"{outcome.graphs} graphs, {outcome.breaks} breaks, {outcome.threads} threads"
        f"{'' if outcome.equal[COMPILED] else '; BITS DIFFER'}"
    ]
    lines += [f"  loop {loop}" for loop in outcome.loops]
    lines += [f"  break {reason}" for reason in outcome.reasons]
    lines += [f"  {peer} does not run it: {reason[:110]}" for peer, reason in outcome.absent.items()]
    lines += [f"  {difference}" for difference in outcome.differences[:3]]
    return "\n".join(lines)


def to_plain(outcome: Outcome) -> dict[str, Any]:
    """As dicts, lists, strings and numbers; for a Row, with its ratios."""
    plain = dataclasses.asdict(outcome)
    if isinstance(outcome, Row):
        plain["ratios"] = {timing.name: outcome.ratio(timing.name) for timing in outcome.timings}
        plain["noise"] = outcome.noise_floor
    return plain


def from_plain(plain: dict[str, Any]) -> Row:
    """The Row that to_plain wrote."""
    fields = {field.name: plain[field.name] for field in dataclasses.fields(Row)}
    fields["timings"] = tuple(Timing(each["name"], tuple(each["seconds"])) for each in plain["timings"])
    for name in ("loops", "reasons"):
        fields[name] = tuple(Fate(**each) for each in plain[name])
    for name in ("differences", "calls"):
        fields[name] = tuple(map(tuple, plain[name])) if name == "calls" else tuple(plain[name])
    return Row(**fields)


def _child(module: str, name: str, arguments: Sequence[str], limit: float) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        row = Path(folder) / "row.json"
        command = [sys.executable, "-m", module, *arguments, f"--row={row}", f"--child={name}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return Missing(name, f"did not end within {limit:.0f} s")
        if done.returncode == 0:
            return from_plain(json.loads(row.read_text()))
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        if done.returncode < 0:
            return Missing(name, f"ended by {signal.Signals(-done.returncode).name}: {last}")
        return Missing(name, last, skipped=done.returncode == IMPORT_MISSING)

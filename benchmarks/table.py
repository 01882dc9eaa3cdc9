"""Rows as text tables: what the benchmark and the demo print."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from benchmarks.compare import AGAIN, COMPILED, PLAIN, Row

SLOWER = 0.95
LEGEND = "*: other bits than NumPy's. !: values further off than 1e-9 of the largest (float64). -: did not run."


def columns(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table: the first column to the left, the others to the right."""
    lines = [list(titles), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(titles))]
    shown = [
        "  ".join(cell.rjust(width) if column else cell.ljust(width) for column, (cell, width) in enumerate(pairs))
        for pairs in (list(zip(line, widths, strict=True)) for line in lines)
    ]
    shown.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in shown)


def duration(seconds: float) -> str:
    """Three digits with a unit."""
    for factor, unit in ((1e9, "ns"), (1e6, "us"), (1e3, "ms")):
        if seconds * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def demo_table(rows: Sequence[Row]) -> str:
    """program, NumPy time, compiled time, ratio, bits equal, graphs, breaks."""
    body = [
        (
            row.program,
            duration(row.seconds(PLAIN)),
            duration(row.seconds(COMPILED)),
            f"{row.ratio(COMPILED):.2f}",
            f"{row.noise_floor:.2f}",
            "yes" if row.equal[COMPILED] else "NO",
            str(row.graphs),
            str(row.breaks),
        )
        for row in rows
    ]
    titles = ("program", "NumPy", "compiled", "ratio", "noise", "bits equal", "graphs", "breaks")
    return columns(titles, body) + "\n" + closing(rows)


def peer_table(rows: Sequence[Row], peers: Sequence[str]) -> str:
    """Ratios to plain NumPy of every contender; an asterisk marks other bits than NumPy's."""
    names = (COMPILED, *peers)
    body = []
    for row in rows:
        cells = [row.program, duration(row.seconds(PLAIN))]
        for name in names:
            if name in row.equal:
                cells.append(f"{row.ratio(name):.2f}{row.mark(name)}")
            else:
                cells.append("- ")
        body.append([*cells, f"{row.noise_floor:.2f}", str(row.graphs), str(row.breaks)])
    return (
        columns(("program", "NumPy", *names, AGAIN, "graphs", "breaks"), body)
        + "\nNumbers are NumPy's median time over the contender's: higher is faster. "
        + f"{LEGEND}\n"
        + closing(rows)
    )


def closing(rows: Sequence[Row]) -> str:
    """The geometric mean of the ratios, the slowest program, the noise floor, and whether all bits were equal."""
    if not rows:
        return "no program was run"
    ratios = {row.program: row.ratio(COMPILED) for row in rows}
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    slowest = min(ratios, key=lambda name: ratios[name])
    floors = [row.noise_floor for row in rows]
    unequal = [row.program for row in rows if not row.equal[COMPILED]]
    bits = "all bits equal" if not unequal else f"BITS DIFFER in {', '.join(unequal)}"
    return (
        f"{len(rows)} programs: geometric mean {mean:.2f} times NumPy, least {ratios[slowest]:.2f} ({slowest}); "
        f"noise floor {min(floors):.2f}-{max(floors):.2f}; {bits}."
    )


def suite_table(rows: Sequence[Row], failed: Sequence[str], skipped: Sequence[str], peers: Sequence[str]) -> str:
    """Every program of a suite with its loops, then the means; a program without a row counts as 1.0."""
    names = (COMPILED, *peers)
    body = []
    for row in rows:
        cells = [row.program, duration(row.seconds(PLAIN))]
        cells += [f"{row.ratio(name):.2f}{row.mark(name)}" if name in row.equal else "- " for name in names]
        loops = ", ".join(f"{count} {outcome}" for outcome, count in Counter(x.outcome for x in row.loops).items())
        body.append([*cells, f"{row.noise_floor:.2f}", duration(row.first_call), f"{row.graphs}/{row.breaks}", loops])
    titles = ("program", "NumPy", *names, AGAIN, "first call", "graphs/breaks", "loops")
    lines = [columns(titles, body)]
    lines.append(f"Times as fast as NumPy (ratio of medians). {LEGEND}")
    count = len(rows) + len(failed) + len(skipped)
    for name in names:
        ratios = [row.ratio(name) for row in rows if name in row.equal]
        best = [row.ratio(name) if row.equal.get(name) else 1.0 for row in rows]
        mean = f"{name}: geometric mean {_mean(best, count):.2f} over all {count} (failed or other bits: 1.0)"
        marks = Counter(row.mark(name) for row in rows if name in row.equal)
        lines.append(
            f"{mean}, {_mean(ratios, len(ratios)):.2f} over the {len(ratios)} that it ran "
            f"({marks['*']} with other bits, {marks['!']} with other values)"
        )
    slow = sorted((row.ratio(COMPILED), row.program) for row in rows if row.ratio(COMPILED) < SLOWER)
    lines.append(f"below {SLOWER}: " + (", ".join(f"{name} {ratio:.2f}" for ratio, name in slow) or "none"))
    unequal = [row.program for row in rows if not row.equal[COMPILED]]
    lines.append(f"bits differ: {', '.join(unequal) or 'none'}")
    lines.append(
        f"failed: {', '.join(failed) or 'none'}; skipped, an import is missing: {', '.join(skipped) or 'none'}"
    )
    if rows:
        floors = [row.noise_floor for row in rows]
        calls = statistics.median(row.first_call for row in rows)
        lines.append(f"noise floor {min(floors):.2f}-{max(floors):.2f}; median first call {duration(calls)}")
    return "\n".join(lines)


def _mean(ratios: Sequence[float], count: int) -> float:
    """The geometric mean of `count` ratios, of which those that are not given are 1."""
    return math.exp(sum(map(math.log, ratios)) / max(count, 1))

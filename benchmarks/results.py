"""Saves a run as pyperf JSON, one benchmark for each program and contender.

``python -m pyperf compare_to old.json new.json`` reads it; the ratio, the noise floor and whether the bits were equal
are metadata of each benchmark, next to what pyperf collects about the machine.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pyperf

from benchmarks.compare import Row

FOLDER = Path(__file__).parent / "results"


def save(rows: Sequence[Row], path: Path | None = None) -> Path:
    """Write the JSON, by default into benchmarks/results/; the path."""
    if path is None:
        FOLDER.mkdir(exist_ok=True)
        path = FOLDER / time.strftime("%Y-%m-%d-%H%M%S.json")
    suite = pyperf.BenchmarkSuite([_benchmark(row, timing.name) for row in rows for timing in row.timings])
    suite.dump(str(path), replace=True)
    return path


def _benchmark(row: Row, name: str) -> pyperf.Benchmark:
    timing = next(timing for timing in row.timings if timing.name == name)
    metadata = {
        "name": f"{row.program}/{name}",
        "unit": "second",
        "ratio_to_numpy": row.ratio(name),
        "noise_floor": row.noise_floor,
        "bits_equal": int(row.equal.get(name, True)),
        "graphs": row.graphs,
        "breaks": row.breaks,
    }
    return pyperf.Benchmark([pyperf.Run(timing.seconds, metadata=metadata)])

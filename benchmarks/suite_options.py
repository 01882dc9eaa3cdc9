"""The options that every suite's command has. Imports nothing that imports NumPy: see single_thread.py."""

from __future__ import annotations

import argparse
from pathlib import Path

PEERS = "numba.njit,torch.compile"


def add(parser: argparse.ArgumentParser) -> None:
    """Add them; `row` and `child` are for the processes that the command starts."""
    parser.add_argument("--json", type=Path, help="a file for all results")
    parser.add_argument("--seconds", type=float, default=2.0, help="of timing for each program (default 2)")
    parser.add_argument("--rounds", type=int, default=5, help="at least, for each program (default 5)")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each program's process (default 300)")
    parser.add_argument("--threads", type=int, default=1, help="of dynamo_lite, BLAS and the peers (default 1)")
    parser.add_argument(
        "--clock", choices=("wall", "cpu"), default="wall", help="cpu leaves out what other processes take"
    )
    parser.add_argument("--peers", default=PEERS, help=f"names of benchmarks/peers.py, or nothing (default {PEERS})")
    parser.add_argument("--row", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)

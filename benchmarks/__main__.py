"""``python -m benchmarks [PROGRAM ...]``: every program against plain NumPy and the installed peers, side by side."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import single_thread


def main() -> int:
    """Print a line as each program ends, then the table; save the JSON; 1 if any bits differ from NumPy's."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("programs", nargs="*", help="names of benchmarks/programs.py; all by default")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each program (default 2)")
    parser.add_argument("--threads", type=int, default=1, help="of dynamo_lite, BLAS and the peers (default 1)")
    parser.add_argument("--no-peers", action="store_true", help="NumPy and dynamo_lite alone")
    parser.add_argument("--output", type=Path, help="the JSON file (default: a new one in benchmarks/results)")
    options = parser.parse_args()
    single_thread.restart("benchmarks", options.threads)

    # After restart, since NumPy reads its thread settings when it is imported.
    from benchmarks import compare, peers, results, table
    from benchmarks.programs import PROGRAMS

    unknown = [name for name in options.programs if name not in PROGRAMS]
    if unknown:
        parser.error(f"no program {', '.join(unknown)}; there are {', '.join(PROGRAMS)}")
    chosen = () if options.no_peers else peers.PEERS
    for peer in chosen:
        state = peer.version if peer.installed else f"missing (pip install {peer.package} to compare with it)"
        print(f"peer {peer.name}: {state}")
    rows = []
    for name in options.programs or PROGRAMS:
        row = compare.run(PROGRAMS[name], options.seconds, chosen)
        rows.append(row)
        others = "".join(f", {peer} {row.ratio(peer):.2f}" for peer in row.equal if peer != compare.COMPILED)
        ratio = f"{row.ratio(compare.COMPILED):.2f} times NumPy{others}"
        print(f"{name}: {ratio}; noise {row.noise_floor:.2f}; {row.threads} threads", flush=True)
        for difference in row.differences[:3]:
            print(f"  {difference}")
        for peer, reason in row.absent.items():
            if reason != "not installed":
                print(f"  {peer} does not run it: {reason[:110]}")
    print()
    ran = [peer.name for peer in chosen if any(peer.name in row.equal for row in rows)]
    print(table.peer_table(rows, ran))
    print(f"saved {results.save(rows, options.output)}")
    return int(any(row.differences for row in rows))


if __name__ == "__main__":
    sys.exit(main())

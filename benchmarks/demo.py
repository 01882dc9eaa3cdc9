"""``python -m benchmarks.demo``: what dynamo_lite does, in about a minute.

Prints what it made of one program with a data-dependent branch, then times the programs against plain NumPy, the two
interleaved, each call on fresh copies of its arguments.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks import single_thread


def main() -> int:
    """Print the report and the table; 1 if any bits differ from NumPy's."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.demo", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each program (default 1)")
    parser.add_argument("programs", nargs="*", help="names of benchmarks/programs.py; all by default")
    options = parser.parse_args()
    single_thread.restart("benchmarks.demo", 1)

    # After restart, since NumPy reads its thread settings when it is imported.
    import inspect

    import dynamo_lite
    from benchmarks import compare, table
    from benchmarks.programs import PROGRAMS

    shown = PROGRAMS["branch_on_sum"]
    print("A function with a branch on what an array holds:\n")
    print(inspect.getsource(shown.fn))
    print("dynamo_lite.explain(branch_on_sum)(x) says:\n")
    print(dynamo_lite.explain(shown.fn)(*shown.make_args()))
    print("\nEvery program, compiled, against plain NumPy:\n")
    rows = []
    for name in options.programs or PROGRAMS:
        if sys.stdout.isatty():
            print(f"\r  {name} ...\x1b[K", end="", flush=True)
        rows.append(compare.run(PROGRAMS[name], options.seconds, ()))
    if sys.stdout.isatty():
        print("\r\x1b[K", end="")
    print(table.demo_table(rows))
    for row in rows:
        for difference in row.differences[:3]:
            print(f"{row.program}: {difference}")
    return int(any(row.differences for row in rows))


if __name__ == "__main__":
    sys.exit(main())

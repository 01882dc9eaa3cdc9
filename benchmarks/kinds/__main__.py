"""``python -m benchmarks.kinds``: every program at every size against plain NumPy; --peers names others to show."""

from __future__ import annotations

import argparse
import sys

from benchmarks import single_thread, suite_options


def main() -> int:
    """Print a few lines for each program, then the table; 1 if one failed or gave other bits than NumPy's."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kinds", description=__doc__)
    parser.add_argument("programs", nargs="*", help="names, also with a size (shallow_water:4096); all by default")
    parser.add_argument("--sizes", default="", help="numbers of elements, with commas (default 4096,65536,1000000)")
    suite_options.add(parser)
    parser.set_defaults(peers="")
    options = parser.parse_args()
    single_thread.restart("benchmarks.kinds", options.threads)

    # After restart, since NumPy reads its thread settings when it is imported.
    from benchmarks import isolated
    from benchmarks.kinds.program import SIZES
    from benchmarks.kinds.programs import PROGRAMS

    if options.row:
        name, elements = options.child.split(":")
        return isolated.child(lambda: PROGRAMS[name].at(int(elements)), options)
    unknown = [name for name in options.programs if name.split(":")[0] not in PROGRAMS]
    if unknown:
        parser.error(f"no program {', '.join(unknown)}; there are {', '.join(PROGRAMS)}")
    sizes = options.sizes.split(",") if options.sizes else list(map(str, SIZES))
    wanted = options.programs or list(PROGRAMS)
    names = [full for name in wanted for full in ([name] if ":" in name else [f"{name}:{size}" for size in sizes])]
    return isolated.command("benchmarks.kinds", names, [], options)


if __name__ == "__main__":
    sys.exit(main())

"""``python -m benchmarks.loops``: every loop program against plain NumPy and the installed peers, side by side."""

from __future__ import annotations

import argparse
import sys

from benchmarks import single_thread, suite_options


def main() -> int:
    """Print a few lines for each program, then the table; 1 if one failed or gave other bits than NumPy's."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loops", description=__doc__)
    parser.add_argument("programs", nargs="*", help="names; by default all but those over small states")
    parser.add_argument("--states", action="store_true", help="those over small states (states.py), and no others")
    parser.add_argument("--elements", action="store_true", help="those over elements (elements.py), and no others")
    parser.add_argument("--objects", action="store_true", help="those over small objects (objects.py), and no others")
    parser.add_argument("--size", choices=("tiny", "small", "middle"), default="small")
    suite_options.add(parser)
    options = parser.parse_args()
    single_thread.restart("benchmarks.loops", options.threads)

    # After restart, since NumPy reads its thread settings when it is imported.
    from benchmarks import isolated
    from benchmarks.loops.programs import ALL, ELEMENTS, OBJECTS, PROGRAMS, STATES

    if options.row:
        return isolated.child(lambda: ALL[options.child].at(options.size), options)
    unknown = [name for name in options.programs if name not in ALL]
    if unknown:
        parser.error(f"no program {', '.join(unknown)}; there are {', '.join(ALL)}")
    chosen = ((options.states, STATES), (options.elements, ELEMENTS), (options.objects, OBJECTS))
    suite = next((programs for is_wanted, programs in chosen if is_wanted), PROGRAMS)
    names = options.programs or list(suite)
    return isolated.command("benchmarks.loops", names, [f"--size={options.size}"], options)


if __name__ == "__main__":
    sys.exit(main())

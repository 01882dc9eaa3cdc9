"""``python -m tests.soak leaks|threads|stress|big``: long runs; ends with 1 when one of them finds something.

Each command is a module of this package with `add_arguments` and `main`; its short version is a test beside it.
"""

from __future__ import annotations

import argparse
import sys

from tests.soak import big, leaks, stress, threads

COMMANDS = {"leaks": leaks, "threads": threads, "stress": stress, "big": big}


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description="long runs that look for rare defects")
    commands = parser.add_subparsers(required=True, dest="command", metavar="COMMAND")
    for name, module in COMMANDS.items():
        text = (module.__doc__ or "").partition("\n")[0]
        module.add_arguments(commands.add_parser(name, help=text, description=text))
    options = parser.parse_args(arguments)
    return COMMANDS[options.command].main(options)


if __name__ == "__main__":
    sys.exit(main())

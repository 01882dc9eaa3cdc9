"""``python -m dynamo_lite COMMAND``: parses the command line and hands over; returns the exit code.

Everything behind the SCRIPT or ``-m MODULE`` of `run` and `explain` belongs to that program, whatever it looks like, so
it is cut off before argparse sees the rest.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, TypeAlias

from dynamo_lite import policy
from dynamo_lite.cli.execute import Target, execute
from dynamo_lite.cli.report import forget_at_exit, report_at_exit, report_frames_at_exit
from dynamo_lite.collector import release_collector
from dynamo_lite.config import config
from dynamo_lite.watch.program import Program, watch

if TYPE_CHECKING:
    import argparse

    Options: TypeAlias = argparse.Namespace | SimpleNamespace

_TARGET_COMMANDS = ("run", "explain")
_FLAGS = ("-q", "--quiet")  # of `run`
_BACKENDS = ("numba", "c", "reference")  # which need not be looked for


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. A program ends as it would by itself: what it raises passes through."""
    own, program = split(list(sys.argv[1:] if arguments is None else arguments))
    if not own:
        _parser().print_help(sys.stderr)
        raise SystemExit(2)
    options = _plain_target(own) or _parser().parse_args(own)
    command: Callable[[Options, list[str]], int] = options.command
    if own[0] in _TARGET_COMMANDS:
        return command(options, program)
    release_collector()
    try:
        code = command(options, program)
        sys.stdout.flush()
    except BrokenPipeError:  # as in `... breaks | head`: nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    return code


def split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Our own arguments, up to and including the SCRIPT or MODULE, and those of the program."""
    if not arguments or arguments[0] not in _TARGET_COMMANDS:
        return arguments, []
    first = 1
    while arguments[first : first + 1] and arguments[first] in _FLAGS:
        first += 1
    end = first + (2 if arguments[first : first + 1] == ["-m"] else 1)
    return arguments[:end], arguments[end:]


def _plain_target(own: list[str]) -> SimpleNamespace | None:
    """The options of a `run` or `explain` that says what it is to say, and no more; None where argparse is asked.

    NB: argparse takes 6 ms to import and to make, which a short program would feel."""
    name, flags, target = (
        own[:1],
        [one for one in own[1:] if one in _FLAGS],
        [one for one in own[1:] if one not in _FLAGS],
    )
    if not name or name[0] not in _TARGET_COMMANDS or not target or target[-1].startswith("-"):
        return None
    if flags and name == ["explain"]:
        return None
    is_module = target[:-1] == ["-m"]
    if not is_module and (len(target) > 1 or not os.path.exists(target[0])):
        return None
    command = _run if name == ["run"] else _explain
    module, script = (target[-1], None) if is_module else (None, target[-1])
    return SimpleNamespace(command=command, quiet=bool(flags), module=module, script=script)


def _parser() -> argparse.ArgumentParser:
    import argparse

    from dynamo_lite import breaks

    parser = argparse.ArgumentParser(
        prog="python -m dynamo_lite",
        description="Runs NumPy programs compiled, without a change to them.",
        epilog="Options are read from the environment: see docs/options.md.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command, text in (
        ("run", _run, "run a program; what takes long enough is compiled, and the last lines tell what that brought"),
        (
            "explain",
            _explain,
            "run a program with all its functions and loops compiled, then print what became of them",
        ),
    ):
        usage = f"python -m dynamo_lite {name} {'[-q] ' * (name == 'run')}[-m MODULE | SCRIPT] [ARGUMENT ...]"
        sub = commands.add_parser(name, help=text, description=text, usage=usage)
        if name == "run":
            sub.add_argument(*_FLAGS, action="store_true", help="do not say at the end what was compiled")
        sub.add_argument("-m", dest="module", metavar="MODULE", help="run a module, like python -m")
        sub.add_argument("script", nargs="?", metavar="SCRIPT", help="a file to run, like python SCRIPT")
        sub.set_defaults(command=command, parser=sub)
    sub = commands.add_parser("doctor", help="check that dynamo_lite works on this machine")
    sub.set_defaults(command=_doctor)
    sub = commands.add_parser("backends", help="list the backends")
    sub.set_defaults(command=_backends)
    sub = commands.add_parser("breaks", help="list every reason for a graph break, or explain one")
    sub.add_argument("reason", nargs="?", choices=[*breaks.REASONS], metavar="REASON")
    sub.set_defaults(command=_breaks)
    return parser


def _target(options: Options, program: list[str]) -> Target:
    if (options.module is None) == (options.script is None):
        options.parser.error("name a SCRIPT or -m MODULE")
    if options.script is not None and not os.path.exists(options.script):
        options.parser.exit(2, f"{options.parser.prog}: can't open file {options.script!r}: there is no such file\n")
    _check_backend()
    return Target(options.module or options.script, options.module is not None, tuple(program))


def _check_backend() -> None:
    """End before the program begins where there is no backend of the name that the environment gives."""
    if config.backend in _BACKENDS:
        return
    from dynamo_lite.backends import list_backends

    if config.backend not in (known := list_backends()):
        print(f"python -m dynamo_lite: there is no backend {config.backend!r}: {', '.join(known)}", file=sys.stderr)
        raise SystemExit(2)


def _run(options: Options, program: list[str]) -> int:
    target = _target(options, program)
    if config.disable:
        return execute(target, lambda: None)
    if config.stress:
        return execute(target, _start_stress)
    return _execute_watched(target, watch(), None if options.quiet else report_at_exit)


def _execute_watched(target: Target, program: Program, says: Callable[[Program], None] | None) -> int:
    def start() -> None:
        forget_at_exit(program)
        if says is not None:
            says(program)

    return execute(target, start, program.prepared)


def _start_stress() -> None:
    from dynamo_lite import stress

    report_frames_at_exit()
    stress.enable()


def _explain(options: Options, program: list[str]) -> int:
    target = _target(options, program)
    if config.disable:
        print("dynamo_lite: option disable is set: every function runs as plain Python", file=sys.stderr)
        return execute(target, lambda: None)
    return _execute_watched(target, watch(policy.EXPLAINED), partial(report_at_exit, explain=True))


# NB: what needs the compiler is imported by the command that needs it: `run` starts without.


def _doctor(options: Options, program: list[str]) -> int:
    from dynamo_lite.cli.doctor import doctor

    return doctor()


def _backends(options: Options, program: list[str]) -> int:
    from dynamo_lite.backends import list_backends

    for name in list_backends():
        print(name)
    return 0


def _breaks(options: Options, program: list[str]) -> int:
    from dynamo_lite import breaks

    if options.reason is None:
        width = max(map(len, breaks.REASONS))
        for reason in breaks.REASONS.values():
            print(f"{reason.id:{width}}  {reason.kind:5}  {breaks.message(reason.id, '...')}")
        return 0
    reason = breaks.REASONS[options.reason]
    print(f"{reason.id} ({reason.kind}): {breaks.message(reason.id, '...')}\n  {reason.hint}\n  {reason.anchor}")
    return 0

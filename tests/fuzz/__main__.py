"""``python -m tests.fuzz --backend reference --count 100000 --seed 0``: a campaign, its summary, its reproducers.

Ends with 1 if any program differs. Each of the first differing programs is shrunk and written to a file that runs by
itself from the repository's folder.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dynamo_lite.backends import list_backends

from tests.fuzz.campaign import DYNAMO_LITE, NATIVE, Campaign, Found, Summary, mark_of, run
from tests.fuzz.child import Child
from tests.fuzz.generator import RandomProgram
from tests.fuzz.shrink import shrink

REPRODUCER = '''"""Found by: python -m tests.fuzz --backend {backend} --seed {seed} --first {index} --count 1{options}

{text}
"""

from tests.fuzz.campaign import load, run_program
from tests.fuzz.generator import RandomProgram

SOURCE = """\\
{source}"""
SPECS = {specs}
CALLS = {calls}
OPTIONS = {options_of_program}

if __name__ == "__main__":
    print(run_program(RandomProgram({label!r}, SOURCE, SPECS, CALLS, **OPTIONS), load({compile!r}), {backend!r}))
'''


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="random programs against plain Python")
    parser.add_argument("--backend", default="reference")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="index of the first program")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--forms", type=int, help="how many function texts; the other programs are new arguments for them"
    )
    parser.add_argument("--small", action="store_true", help="the small vocabulary")
    parser.add_argument("--ignore", action="append", default=[], help="a kind of difference to leave out")
    parser.add_argument(
        "--native",
        type=float,
        help=f"the least share of programs to run natively ({NATIVE}; 0 for other compilers)",
    )
    parser.add_argument("--show", type=int, default=10, help="how many differences to shrink and print")
    parser.add_argument("--dump", type=Path, default=Path("build/fuzz"), help="where reproducers go")
    parser.add_argument("--print", action="store_true", help="print the programs instead of running them")
    parser.add_argument("--compile", default=DYNAMO_LITE, help="module:name of the compiler")
    options = parser.parse_args(arguments)
    if options.backend not in list_backends():
        parser.error(f"no backend {options.backend!r}; there are {', '.join(list_backends())}")
    campaign = Campaign(
        options.backend,
        options.count,
        options.seed,
        options.first,
        options.forms,
        options.small,
        options.compile,
        frozenset(options.ignore),
    )
    if options.print:
        for index in range(campaign.first, campaign.first + campaign.count):
            program = campaign.program(index)
            print(f"# {program.label}", program.source, f"# {program.specs}", f"# {program.calls}\n", sep="\n")
        return 0
    shown: list[Found] = []

    def show(found: Found) -> None:
        shown.append(found)
        if len(shown) <= options.show:
            print(f"\n{reproduce(campaign, found, options.dump)}", flush=True)
        else:
            print(f"program {campaign.seed}:{found.index}: {', '.join(found.kinds)}", flush=True)

    def progress(total: Summary) -> None:
        print(total.line(), file=sys.stderr, flush=True)

    summary = run(campaign, options.jobs, progress, show)
    print(summary)
    floor = options.native if options.native is not None else NATIVE if campaign.compile == DYNAMO_LITE else 0.0
    if summary.share("native") < floor:
        print(f"fewer than {floor:.0%} of the programs ran natively")
    return 1 if summary.found or summary.share("native") < floor else 0


def reproduce(campaign: Campaign, found: Found, folder: Path, seconds: float = 30.0) -> str:
    """Shrink within `seconds`, write the reproducer, and say both. Every candidate runs in a child process."""
    child = Child(seconds / 4)
    program = child.get(campaign.program, found.index)
    if not isinstance(program, RandomProgram):
        return f"{found.text}\nthe program cannot be written: {program}\n"
    mark = child.get(mark_of, campaign, program)
    if mark != ():
        program = shrink(program, lambda candidate: bool(child.get(mark_of, campaign, candidate) == mark), 400, seconds)
    child.close()
    text, path = found.text, folder / f"{campaign.backend}_{campaign.seed}_{found.index}.py"
    folder.mkdir(parents=True, exist_ok=True)
    options = (f" --forms {campaign.forms}" if campaign.forms else "") + (" --small" if campaign.small else "")
    path.write_text(
        REPRODUCER.format(
            backend=campaign.backend,
            seed=campaign.seed,
            index=found.index,
            options=options,
            text=text.replace("\\", "/").replace('"""', "'''"),
            source=program.source,
            specs=program.specs,
            calls=program.calls,
            options_of_program={
                "keywords": program.keywords,
                "errstate": program.errstate,
                "error": program.error,
            },
            label=program.label,
            compile=campaign.compile,
        )
    )
    return f"{text}\nshrunk, in {path}:\n{program.source}# {program.specs}\n"


if __name__ == "__main__":
    sys.exit(main())

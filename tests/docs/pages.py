"""What documentation is checked against: generated pages, the files it names, and the outputs of its examples.

An example is a ``python`` block whose first line is ``# NAME.py``; a ``text`` block of the same page that starts with
``$ python ...`` shows the output of that command, in a folder that holds the examples and is not named in the output.
Times differ from run to run, so they are compared as ``N ms``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from dynamo_lite import breaks
from dynamo_lite.config import to_markdown as options_markdown

ROOT = Path(__file__).parent.parent.parent
PAGES = ("README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))
GENERATED: dict[str, Callable[[], str]] = {
    "docs/breaks.md": breaks.to_markdown,
    "docs/options.md": options_markdown,
}

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_PATH = re.compile(r"(?<![\w/.<-])((?:csrc|dynamo_lite|backends|tests|benchmarks|docs|\.ci)/[\w./*\[\]-]*)")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_TIME = re.compile(r"\d+(\.\d+)? m?s\b|(?<=compile seconds )[\d.e-]+")


def named_paths(text: str) -> set[str]:
    """Paths of the tree that a page names; ``[ch]`` and ``*`` are patterns."""
    return {match.group(1).rstrip(".,:;") for match in _PATH.finditer(text)}


def links(text: str) -> set[str]:
    """Targets of Markdown links that stay in the tree; code shows none."""
    return {target for target in _LINK.findall(_BLOCK.sub("", text)) if "://" not in target}


def anchors(text: str) -> set[str]:
    """The anchors that a page's headings make."""
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def examples(text: str) -> dict[str, str]:
    """The example files of a page: name to source."""
    found = {}
    for language, body in _BLOCK.findall(text):
        name = re.match(r"# (\w+\.py)\n", body)
        if language == "python" and name:
            found[name.group(1)] = body
    return found


def shown_commands(text: str) -> list[tuple[str, str]]:
    """(command, output shown) of the page's text blocks that start with ``$ python``."""
    shown = []
    for language, body in _BLOCK.findall(text):
        if language == "text" and body.startswith("$ python "):
            command, _, output = body.partition("\n")
            shown.append((command[2:], output))
    return shown


def run_examples(text: str, folder: Path) -> list[tuple[str, str, str]]:
    """Run the page's commands in `folder`: (command, output shown, output now)."""
    for name, source in examples(text).items():
        (folder / name).write_text(source)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DYNAMO_LITE_")}
    environment["PYTHONUNBUFFERED"] = "1"  # what is printed stands among what is logged
    results = []
    for command, output in shown_commands(text):
        arguments = [sys.executable, *command.split()[1:]]
        done = subprocess.run(
            arguments, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        results.append((command, output, done.stdout.replace(f"{folder}/", "")))
    return results


def without_times(text: str) -> str:
    """`text` with every duration as ``N ms``."""
    return _TIME.sub("N ms", text)

"""Every idiom equals plain Python bit for bit, and runs as golden.txt says: natively, or not for a reason we know.

``pytest tests/idioms --update-golden`` writes the golden again; a change in it is to be read line by line. It is that
of one CPython: others unroll other comprehensions, and so on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.idioms.judge import Idiom, idioms, judge

GOLDEN = Path(__file__).with_name("golden.txt")
IDIOMS = list(idioms())
OF_VERSION = (3, 11)


def expected() -> dict[str, str]:
    """The golden: how each idiom runs, by its name."""
    lines = GOLDEN.read_text().splitlines() if GOLDEN.exists() else []
    pairs = [line.split("  |  ", 1) for line in lines if "  |  " in line]
    return {name: word.rstrip() for word, name in pairs}


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """What the tests have found, written at the end where that is asked for."""
    words: dict[str, str] = {}
    yield words
    if request.config.getoption("--update-golden") and len(words) == len(IDIOMS):
        GOLDEN.write_text(text_of(words))


def text_of(words: dict[str, str]) -> str:
    """The golden's text: how many of each kind, then all of them by family."""
    kinds = [word.partition(":")[0].partition(",")[0] for word in words.values()]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))
    whole = sum(not ("plain" in word or "breaks" in word or "segments" in word) for word in words.values())
    lines = [f"{len(words)} idioms: {counts}; {whole} of them without a break"]
    family = ""
    for idiom in IDIOMS:
        if idiom.family != family:
            family = idiom.family
            lines += ["", family]
        lines.append(f"{words[idiom.name]:<40}  |  {idiom.name}")
    return "\n".join(lines) + "\n"


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("idiom", IDIOMS, ids=lambda idiom: idiom.name)
def test_idiom(idiom: Idiom, found: dict[str, str], request: pytest.FixtureRequest) -> None:
    word = found[idiom.name] = judge(idiom)
    assert "internal-error" not in word and "recursion-limit" not in word
    if not request.config.getoption("--update-golden") and sys.version_info[:2] == OF_VERSION:
        assert word == expected().get(idiom.name)


def test_the_table(request: pytest.FixtureRequest) -> None:
    assert len(IDIOMS) >= 300
    assert len({idiom.name for idiom in IDIOMS}) == len(IDIOMS)
    if not request.config.getoption("--update-golden"):
        assert list(expected()) == [idiom.name for idiom in IDIOMS]

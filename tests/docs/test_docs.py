"""Pages name files that exist, generated pages are current, and the examples print what the page shows."""

from __future__ import annotations

import builtins
import glob
import re
import sys
from pathlib import Path

import pytest

from tests.docs.pages import (
    GENERATED,
    PAGES,
    ROOT,
    anchors,
    links,
    named_paths,
    run_examples,
    shown_commands,
    without_times,
)


@pytest.mark.parametrize("page", GENERATED)
def test_generated_page_is_current(page: str) -> None:
    assert (ROOT / page).read_text() == GENERATED[page](), "run `make docs`"


@pytest.mark.parametrize("page", PAGES)
def test_named_files_exist(page: str) -> None:
    missing = [
        path
        for path in sorted(named_paths((ROOT / page).read_text()))
        if not path.startswith("benchmarks/results") and not glob.glob(path, root_dir=ROOT)
    ]
    assert not missing


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for link in sorted(links((ROOT / page).read_text())):
        target, _, anchor = link.partition("#")
        path = ((ROOT / page).parent / target) if target else ROOT / page
        assert path.exists(), f"{page}: {link}"
        assert not anchor or anchor in anchors(path.read_text()), f"{page}: {link}"


def test_the_readme_names_files_and_links_to_none() -> None:
    """A package index shows it too, where a link into the tree leads nowhere."""
    assert not links((ROOT / "README.md").read_text())


@pytest.mark.parametrize("page", [page for page in PAGES if shown_commands((ROOT / page).read_text())])
def test_examples_print_what_is_shown(page: str, tmp_path: Path) -> None:
    for command, shown, now in run_examples((ROOT / page).read_text(), tmp_path):
        assert without_times(now) == without_times(shown), f"{page}: $ {command}"


def test_code_that_a_page_quotes_stands_in_the_source() -> None:
    """The rows and the handler of docs/adding-an-opcode.md, line by line."""
    quoted = re.findall(r"^```\n(.*?)^```$", (ROOT / "docs/adding-an-opcode.md").read_text(), re.DOTALL | re.MULTILINE)
    files = [ROOT / "dynamo_lite/pycode/opcodes.py", *(ROOT / "dynamo_lite/capture/handlers").glob("*.py")]
    lines = {line.strip() for path in files for line in path.read_text().splitlines()}
    assert len(quoted) == 2
    assert not {line.strip() for block in quoted for line in block.splitlines()} - lines


@pytest.mark.parametrize("page", [page for page in PAGES if "adding-" in page or "architecture" in page])
def test_names_in_code_exist(page: str) -> None:
    """Whatever a page calls by its name in backticks occurs as a word in the source."""
    named = re.findall(r"`([A-Za-z_][\w.]*)(?:\([^`]*\))?`", (ROOT / page).read_text())
    sources = (path for folder in ("dynamo_lite", "backends", "csrc", "tests") for path in (ROOT / folder).rglob("*.*"))
    words = set(re.findall(r"\w+", "\n".join(path.read_text() for path in sources if path.suffix in SOURCE)))
    libraries = {"cfunc", *sys.stdlib_module_names, *dir(builtins)}
    assert not {name for name in named if name.rpartition(".")[2] not in words | libraries}


SOURCE = {".py", ".c", ".h", ".def", ".pyi"}


def test_make_targets_that_pages_name_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {target for page in PAGES for target in re.findall(r"`make ([a-z-]+)", (ROOT / page).read_text())}
    assert named <= targets


def test_every_page_is_in_the_index() -> None:
    index = links((ROOT / "docs/index.md").read_text())
    assert {page.removeprefix("docs/") for page in PAGES if page.startswith("docs/")} - {"index.md"} <= index

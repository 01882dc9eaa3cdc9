"""An installation that cannot work says so in words, whatever Python would have said."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.installation import complaint

PACKAGE = Path(dynamo_lite.__file__).parent


def import_in(folder: Path, *flags: str) -> str:
    """The last line of what ``import dynamo_lite`` says in `folder`."""
    done = subprocess.run(
        [sys.executable, *flags, "-c", "import dynamo_lite"], cwd=folder, capture_output=True, text=True
    )
    return done.stderr.strip().rpartition("\n")[2]


def source_folder(folder: Path, *more: Path) -> Path:
    """A source tree in `folder` as far as an import gets, with the files `more` in its package."""
    (folder / "dynamo_lite").mkdir()
    (folder / "pyproject.toml").write_text("")
    for path in (PACKAGE / "__init__.py", PACKAGE / "installation.py", *more):
        shutil.copy(path, folder / "dynamo_lite")
    return folder


def test_nothing_is_missing_here() -> None:
    assert complaint("dynamo_lite", PACKAGE) is None


def test_a_source_folder_without_extension_names_itself(tmp_path: Path) -> None:
    said = import_in(source_folder(tmp_path))
    # An editable installation lends its extension to every folder, so what is missing shows in another way there.
    assert re.search(f"ImportError: {tmp_path / 'dynamo_lite'} (holds no C ext|is not what is inst)[^:]* Python ", said)
    assert "It is a source folder, and hides an installed dynamo_lite." in said


def test_a_source_folder_other_than_the_installed_one_names_itself(tmp_path: Path) -> None:
    said = import_in(source_folder(tmp_path, Path(_C.__file__)))
    assert said.startswith(f"ImportError: {tmp_path / 'dynamo_lite'} is not ")
    assert "It is a source folder, and hides an installed dynamo_lite." in said


def test_a_missing_package_is_named_with_the_python_that_lacks_it(tmp_path: Path) -> None:
    said = import_in(source_folder(tmp_path, Path(_C.__file__)), "-S")  # -S: no site-packages
    assert "needs the package numpy, which Python" in said
    assert sys.executable in said

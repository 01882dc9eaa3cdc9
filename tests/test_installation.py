"""An installation that cannot work says so in words, whatever Python would have said."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import warnings
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C, api, installation
from dynamo_lite.errors import UnsupportedPythonWarning
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
    for path in (PACKAGE / "__init__.py", PACKAGE / "shadows.py", PACKAGE / "installation.py", *more):
        shutil.copy(path, folder / "dynamo_lite")
    return folder


def test_nothing_is_missing_here() -> None:
    assert complaint(PACKAGE) is None


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


# ---- versions of what it needs


def test_pip_is_told_the_versions_that_the_package_asks_for() -> None:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
    own = {one for one in project["dependencies"] if not one.startswith("numba")}  # which is there for its llvmlite
    assert own == {installation.requirement(name) for name in installation.NEEDED}


@pytest.mark.parametrize("name", installation.NEEDED)
def test_versions_are_those_that_pip_says(name: str) -> None:
    assert installation.installed(name) == metadata.version(name)
    assert installation.installed("no_such_package") is None


@pytest.mark.parametrize(("name", "found"), [("numpy", "2.1.3"), ("llvmlite", "0.44.0rc1"), ("bytecode", "0.9")])
def test_a_package_that_is_too_old_is_named(name: str, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {one: least for one, (least, _) in installation.NEEDED.items()} | {name: found}
    monkeypatch.setattr(installation, "installed", known.__getitem__)
    said = complaint(PACKAGE)
    assert said is not None
    assert f"needs {name} {installation.NEEDED[name][0]} or newer" in said
    assert f"has {found}. Install '{installation.requirement(name)}'" in said


@pytest.mark.parametrize(("found", "known"), [("2.5.99", True), ("2.6.0.dev0", False), ("3.0", False)])
def test_a_package_that_is_newer_than_known_is_named(found: str, known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {one: least for one, (least, _) in installation.NEEDED.items()} | {"numpy": found}
    monkeypatch.setattr(installation, "installed", versions.__getitem__)
    said = installation.unknown_version.__wrapped__()
    assert said is None if known else said is not None and f"numpy {found} is newer" in said
    assert complaint(PACKAGE) is None


def test_with_a_package_that_is_not_known_functions_stay_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "unknown_version", lambda: "numpy 9.0 is newer.")
    monkeypatch.setattr(api, "_UNSUPPORTED_SAID", False)
    with pytest.warns(UnsupportedPythonWarning, match="leaves every function plain: numpy 9.0 is newer."):
        fast = dynamo_lite.compile(lambda x: np.sqrt(x * x + 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dynamo_lite.compile(lambda x: x)  # once is enough
    fast(np.linspace(0.0, 1.0, 100_000))
    assert not fast.enabled and not any(fast.stats().values())

"""Says in words what keeps this installation from working: the first module that the package imports.

Enters: nothing. Leaves: nothing, or ImportError with what to do. Without it a source folder that is not built, which
Python finds before an installed package when it is the current folder, ends in Python's guess at a circular import.
A package that is older than needed is an ImportError too. One that is newer than any that was tested may differ from
what kernels repeat to the last bit: then ``compile`` leaves functions plain, as on an unknown Python.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

# The oldest version and the first one that is not known yet. INVARIANT: pyproject.toml requires the same of pip.
NEEDED = {"numpy": ("2.2.6", "2.6"), "bytecode": ("0.19", "1"), "llvmlite": ("0.45", "0.51")}


def requirement(package: str) -> str:
    """What to tell pip: ``numpy>=2.2.6,<2.6``."""
    least, bound = NEEDED[package]
    return f"{package}>={least},<{bound}"


def _release(text: str) -> tuple[int, ...]:
    """The numbers that a version begins with."""
    return tuple(map(int, re.findall(r"\d+", re.match(r"[\d.]*", text)[0])))  # type: ignore[index]


def installed(package: str) -> str | None:
    """The version of `package`; None where it came without saying."""
    spec = find_spec(package)
    folder = None if spec is None or spec.origin is None else Path(spec.origin).parent.parent
    begin, end = f"{package}-", ".dist-info"
    names = os.listdir(folder) if folder is not None and folder.is_dir() else []  # NB: Path.glob takes 2 ms
    said = [name for name in names if name.startswith(begin) and name.endswith(end)]
    if len(said) == 1:  # as pip leaves it
        return said[0].removeprefix(begin).removesuffix(end)
    from importlib.metadata import PackageNotFoundError, version  # which takes 40 ms

    try:
        return version(package)
    except PackageNotFoundError:
        return None


@cache
def unknown_version() -> str | None:
    """Which package is newer than any that was tested, and what to do; None when none is."""
    for package, (_, bound) in NEEDED.items():
        found = installed(package)
        if found is not None and _release(found) >= _release(bound):
            return (
                f"{package} {found} is newer than this version of dynamo_lite knows. "
                f"Install a newer dynamo_lite, or '{requirement(package)}'."
            )
    return None


def complaint(folder: Path) -> str | None:
    """What is missing of the dynamo_lite in `folder`, and what to do; None when it can be imported."""
    python = f"Python {sys.version.split()[0]} ({sys.executable})"
    is_source = (folder.parent / "pyproject.toml").exists()
    advice = "Install dynamo_lite with this Python's pip."
    if is_source:
        advice = (
            "It is a source folder, and hides an installed dynamo_lite. Run from another folder; "
            "or use the environment that `make setup` makes there; or build it there with `pip install -e .`."
        )
    extension = find_spec("dynamo_lite._C")
    if extension is None or extension.origin is None:
        return f"{folder} holds no C extension for {python}. {advice}"
    for needed, (least, _) in NEEDED.items():
        if find_spec(needed) is None:
            return (
                f"dynamo_lite ({folder}) needs the package {needed}, which {python} does not have. "
                "Install dynamo_lite with this Python's pip, or use the Python that it was installed with."
            )
        found = installed(needed)
        if found is not None and _release(found) < _release(least):
            return (
                f"dynamo_lite ({folder}) needs {needed} {least} or newer; {python} has {found}. "
                f"Install '{requirement(needed)}' with this Python's pip."
            )
    # backends/ stands beside the package in the source; an editable installation says where. One such installation
    # also lends its parts to any other source folder that Python finds first.
    backends = find_spec("dynamo_lite.backends")
    if backends is None or backends.origin is None:
        return f"{folder} is not installed in {python}. {advice}"
    parts = {Path(extension.origin).parent.resolve(), Path(backends.origin).parent.parent.resolve()}
    if parts != {folder.resolve(), (folder.parent if is_source else folder).resolve()}:
        return f"{folder} is not what is installed in {python}. {advice}"
    return None


_complaint = complaint(Path(__file__).parent)
if _complaint is not None:
    raise ImportError(_complaint)

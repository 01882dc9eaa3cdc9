"""Says in words what keeps this installation from working: the first module that the package imports.

Enters: nothing. Leaves: nothing, or ImportError with what to do. Without it a source folder that is not built, which
Python finds before an installed package when it is the current folder, ends in Python's guess at a circular import.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path


def complaint(package: str, folder: Path) -> str | None:
    """What is missing of the `package` in `folder`, and what to do; None when it can be imported."""
    python = f"Python {sys.version.split()[0]} ({sys.executable})"
    is_source = (folder.parent / "pyproject.toml").exists()
    advice = "Install dynamo_lite with this Python's pip."
    if is_source:
        advice = (
            "It is a source folder, and hides an installed dynamo_lite. Run from another folder; "
            "or use the environment that `make setup` makes there; or build it there with `pip install -e .`."
        )
    extension = find_spec(f"{package}._C")
    if extension is None or extension.origin is None:
        return f"{folder} holds no C extension for {python}. {advice}"
    for needed in ("numpy", "bytecode"):
        if find_spec(needed) is None:
            return (
                f"dynamo_lite ({folder}) needs the package {needed}, which {python} does not have. "
                "Install dynamo_lite with this Python's pip, or use the Python that it was installed with."
            )
    # backends/ stands beside the package in the source; an editable installation says where. One such installation
    # also lends its parts to any other source folder that Python finds first.
    backends = find_spec(f"{package}.backends")
    if backends is None or backends.origin is None:
        return f"{folder} is not installed in {python}. {advice}"
    found = {Path(extension.origin).parent.resolve(), Path(backends.origin).parent.parent.resolve()}
    if found != {folder.resolve(), (folder.parent if is_source else folder).resolve()}:
        return f"{folder} is not what is installed in {python}. {advice}"
    return None


_complaint = complaint("dynamo_lite", Path(__file__).parent)
if _complaint is not None:
    raise ImportError(_complaint)

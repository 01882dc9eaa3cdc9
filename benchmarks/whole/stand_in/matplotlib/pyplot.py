"""The functions of matplotlib.pyplot: each call is noted."""

from __future__ import annotations

from typing import Any

from matplotlib import Drawn

rcParams: dict[str, Any] = {}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return Drawn(f"pyplot.{name}")

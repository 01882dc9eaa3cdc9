"""Writing down what the stages make: ``DYNAMO_LITE_LOGS`` to stderr, ``DYNAMO_LITE_DUMP`` to numbered files.

Each artifact (graph, guards, ...) has a standard logger ``dynamo_lite.<artifact>``, so a program can also route it with
the logging module, when it lowers the level of that logger or of ``dynamo_lite``: the root logger's level is for the
program's own messages, which ours must not get among. Nothing is formatted unless somebody listens, and where nobody
has imported logging nobody does: it takes 6 ms, which all compiling would wait for.
"""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dynamo_lite.config import config

if TYPE_CHECKING:
    import logging

_DEBUG, _INFO, _WARNING = 10, 20, 30  # of the logging module


def _listener(name: str, level: int) -> logging.Logger | None:
    """The logger of that name, if it is enabled for `level`."""
    get_logger = getattr(sys.modules.get("logging"), "getLogger", None)
    if get_logger is None:  # or the program has another module of that name
        return None
    ours = get_logger("dynamo_lite")
    if not ours.level:
        ours.setLevel(_WARNING)
    logger: logging.Logger = get_logger(name)
    return logger if logger.isEnabledFor(level) else None


def _write(name: str, listener: logging.Logger | None, level: int, message: str, wanted: bool) -> None:
    """`message` to the sys.stderr of the moment if `wanted`, and to the handlers of a logger that listens."""
    if wanted and sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):  # closed
            sys.stderr.write(f"[{name}] {message}\n")
    if listener is not None:
        listener.handle(listener.makeRecord(name, level, "", 0, message, (), None))


def emit(artifact: str, title: str, value: object = "") -> None:
    """Log `title` and, on the lines below, ``str(value)``, as `artifact` (one of config.ARTIFACTS)."""
    name = f"dynamo_lite.{artifact}"
    listener, wanted = _listener(name, _DEBUG), artifact in config.logs
    if wanted or listener is not None:
        text = str(value)
        _write(name, listener, _DEBUG, f"{title}\n{text}" if text else title, wanted)


def say(message: str) -> None:
    """Tell a user who set ``verbose`` what is going on; one line."""
    _write("dynamo_lite", _listener("dynamo_lite", _INFO), _INFO, message, config.verbose)


def dump(number: int, function: str, stage: str, value: object, suffix: str = "txt") -> None:
    """Write ``str(value)`` to <dump>/<number>-<function>-<stage>.<suffix>; nothing when `config.dump` is empty."""
    if not config.dump:
        return
    folder = Path(config.dump)
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w.]+", "_", function).strip("_")
    (folder / f"{number:04d}-{name}-{stage}.{suffix}").write_text(f"{value}\n", encoding="utf-8")

"""Writing down what the stages make: ``DYNAMO_LITE_LOGS`` to stderr, ``DYNAMO_LITE_DUMP`` to numbered files.

Each artifact (graph, guards, ...) has a standard logger ``dynamo_lite.<artifact>``, so a program can also route it with
the logging module, when it lowers the level of that logger or of ``dynamo_lite``: the root logger's level is for the
program's own messages, which ours must not get among. Nothing is formatted unless somebody listens.
"""

from __future__ import annotations

import contextlib
import logging
import re
import sys
from pathlib import Path

from dynamo_lite.config import ARTIFACTS, config

_LOGGERS = {name: logging.getLogger(f"dynamo_lite.{name}") for name in ARTIFACTS}
_LOGGER = logging.getLogger("dynamo_lite")
if _LOGGER.level == logging.NOTSET:
    _LOGGER.setLevel(logging.WARNING)


def _write(logger: logging.Logger, level: int, message: str, wanted: bool) -> None:
    """`message` to the sys.stderr of the moment if `wanted`, and to the handlers of a logger that is enabled for it."""
    if wanted and sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):  # closed
            sys.stderr.write(f"[{logger.name}] {message}\n")
    if logger.isEnabledFor(level):
        logger.handle(logger.makeRecord(logger.name, level, "", 0, message, (), None))


def emit(artifact: str, title: str, value: object = "") -> None:
    """Log `title` and, on the lines below, ``str(value)``, as `artifact` (one of config.ARTIFACTS)."""
    logger = _LOGGERS[artifact]
    if artifact in config.logs or logger.isEnabledFor(logging.DEBUG):
        text = str(value)
        _write(logger, logging.DEBUG, f"{title}\n{text}" if text else title, artifact in config.logs)


def say(message: str) -> None:
    """Tell a user who set ``verbose`` what is going on; one line."""
    _write(_LOGGER, logging.INFO, message, config.verbose)


def dump(number: int, function: str, stage: str, value: object, suffix: str = "txt") -> None:
    """Write ``str(value)`` to <dump>/<number>-<function>-<stage>.<suffix>; nothing when `config.dump` is empty."""
    if not config.dump:
        return
    folder = Path(config.dump)
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w.]+", "_", function).strip("_")
    (folder / f"{number:04d}-{name}-{stage}.{suffix}").write_text(f"{value}\n", encoding="utf-8")

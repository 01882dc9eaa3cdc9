"""Writing down what the stages make: ``DYNAMO_LITE_LOGS`` to stderr, ``DYNAMO_LITE_DUMP`` to numbered files.

Each artifact (graph, guards, ...) has a standard logger ``dynamo_lite.<artifact>``, so a program can also route it with
the logging module. Nothing is formatted unless somebody listens.
"""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path

from dynamo_lite.config import ARTIFACTS, config


class _StderrHandler(logging.Handler):
    """Writes to the sys.stderr of the moment, for artifacts that `config.logs` names."""

    def emit(self, record: logging.LogRecord) -> None:
        artifact = record.name.rpartition(".")[2]
        if artifact in config.logs or (config.verbose and artifact == "dynamo_lite"):
            try:
                sys.stderr.write(f"[{record.name}] {record.getMessage()}\n")
            except Exception:
                self.handleError(record)


_LOGGERS = {name: logging.getLogger(f"dynamo_lite.{name}") for name in ARTIFACTS}
logging.getLogger("dynamo_lite").addHandler(_StderrHandler())


def emit(artifact: str, title: str, value: object = "") -> None:
    """Log `title` and, on the lines below, ``str(value)``, as `artifact` (one of config.ARTIFACTS)."""
    logger = _LOGGERS[artifact]
    if artifact in config.logs or logger.isEnabledFor(logging.DEBUG):
        text = str(value)
        message = f"{title}\n{text}" if text else title
        # handle(), not debug(): config.logs asks for the artifact whatever the logger's level is
        logger.handle(logger.makeRecord(logger.name, logging.DEBUG, "", 0, message, (), None))


def say(message: str) -> None:
    """Tell a user who set ``verbose`` what is going on; one line."""
    logger = logging.getLogger("dynamo_lite")
    if config.verbose or logger.isEnabledFor(logging.INFO):
        logger.handle(logger.makeRecord(logger.name, logging.INFO, "", 0, message, (), None))


def dump(number: int, function: str, stage: str, value: object, suffix: str = "txt") -> None:
    """Write ``str(value)`` to <dump>/<number>-<function>-<stage>.<suffix>; nothing when `config.dump` is empty."""
    if not config.dump:
        return
    folder = Path(config.dump)
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w.]+", "_", function).strip("_")
    (folder / f"{number:04d}-{name}-{stage}.{suffix}").write_text(f"{value}\n", encoding="utf-8")

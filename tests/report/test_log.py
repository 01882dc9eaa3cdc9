"""Artifacts reach stderr when config.logs names them, and whoever listens with the logging module."""

from __future__ import annotations

import logging
import sys
import types
from pathlib import Path

import pytest

from dynamo_lite import log
from dynamo_lite.config import config


class Unprintable:
    """Fails when it is formatted."""

    def __str__(self) -> str:
        raise AssertionError("formatted although nobody listens")


def test_silent_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    log.emit("graph", "f", Unprintable())
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("no_mode")
def test_logs_option(capsys: pytest.CaptureFixture[str]) -> None:
    with config.patch(logs={"graph"}):
        log.emit("graph", "f", "%x")
        log.emit("guards", "f", Unprintable())
    assert capsys.readouterr().err == "[dynamo_lite.graph] f\n%x\n"


@pytest.mark.usefixtures("no_mode")
def test_logging_module(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    with caplog.at_level(logging.DEBUG, "dynamo_lite.guards"):
        log.emit("guards", "f", "x is an array")
    assert caplog.messages == ["f\nx is an array"]
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("no_mode")
def test_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    log.say("nothing")
    with config.patch(verbose=True):
        log.say("compiled f")
    assert capsys.readouterr().err == "[dynamo_lite] compiled f\n"


def test_dump(tmp_path: Path) -> None:
    log.dump(1, "f", "graph", Unprintable())
    with config.patch(dump=str(tmp_path / "made")):
        log.dump(1, "A.<lambda>", "graph", "%x")
    assert (tmp_path / "made" / "0001-A._lambda-graph.txt").read_text() == "%x\n"


def test_the_root_loggers_level_is_for_the_program(caplog: pytest.LogCaptureFixture) -> None:
    """logging.basicConfig(level=INFO) must not bring our messages into the program's."""
    with caplog.at_level(logging.DEBUG), config.patch(logs={"graph"}, verbose=True):
        log.emit("graph", "f", "%x")
        log.say("compiled f")
    assert caplog.messages == []


@pytest.mark.parametrize("module", [None, types.ModuleType("logging")], ids=["none", "the program's own"])
def test_without_the_logging_module_stderr_is_told(
    module: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "logging", module)
    with config.patch(logs=frozenset({"graph"}), verbose=True):
        log.emit("graph", "f", "two lines\nof text")
        log.say("hello")
    assert capsys.readouterr().err == "[dynamo_lite.graph] f\ntwo lines\nof text\n[dynamo_lite] hello\n"

"""A child process that answers one question after another, and is replaced when it dies or does not answer in time.

Enters: a function (by reference, for the child imports it) and its arguments. Leaves: its value, or a Lost that says
how the child was lost. The child is one process for many questions, so that what it has compiled stays compiled.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

QUESTIONS = 2000  # before a child is replaced, which bounds its memory
START_SECONDS = 120.0  # for a child to have imported what it is asked


@dataclass(frozen=True, slots=True)
class Lost:
    """Why there is no answer: "process died with code -11", "no answer for 30 seconds"."""

    reason: str


def _nothing(_: Callable[..., Any]) -> None:
    """The first question: its function is imported before the time for an answer begins."""


def _serve(connection: Connection) -> None:
    faulthandler.enable()
    while True:
        try:
            function, args = connection.recv()
        except EOFError:
            return
        connection.send(function(*args))


class Child:
    """`ask` puts a question, `answer` waits for what comes of it; both may be used for several children in turn."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._asked = 0
        self._since = 0.0
        self._process: Any = None
        self._connection: Connection | None = None

    def ask(self, function: Callable[..., Any], *args: Any) -> None:
        """Have the child call function(*args); `answer` must follow."""
        if self._connection is None or self._asked >= QUESTIONS:
            self.close()
            context = multiprocessing.get_context("spawn")
            self._connection, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
            self._asked = 0
            self._connection.send((_nothing, (function,)))
            if self._connection.poll(START_SECONDS):
                self._connection.recv()
        self._asked += 1
        self._connection.send((function, args))
        self._since = time.monotonic()

    def answer(self) -> Any:
        """What the function returned, or Lost; None while it is still at work."""
        assert self._connection is not None
        if self._connection.poll():
            try:
                return self._connection.recv()
            except (EOFError, ConnectionResetError):
                self._process.join()
                reason = f"process died with code {self._process.exitcode}"
        elif time.monotonic() - self._since > self.seconds:
            reason = f"no answer for {self.seconds:.0f} seconds"
        else:
            return None
        self.close()
        return Lost(reason)

    def get(self, function: Callable[..., Any], *args: Any) -> Any:
        """Ask, and wait for the answer."""
        self.ask(function, *args)
        while (found := self.answer()) is None:
            wait_for([self])
        return found

    def close(self) -> None:
        """End the process, whatever it does."""
        if self._connection is None:
            return
        self._connection.close()
        self._connection = None
        self._process.kill()
        self._process.join()


def wait_for(children: Iterable[Child], seconds: float = 0.5) -> None:
    """Wait until one of the children has answered or died, or `seconds` have passed."""
    wait([child._connection for child in children if child._connection is not None], timeout=seconds)

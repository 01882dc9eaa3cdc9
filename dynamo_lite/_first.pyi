"""How a program that is run as a whole begins and ends: csrc/first."""

from collections.abc import Callable
from types import CodeType, TracebackType
from typing import Any, TypeAlias, TypeVar

_T = TypeVar("_T")
_Hook: TypeAlias = Callable[[type[BaseException], BaseException, TracebackType | None], Any]

def call_first(function: Callable[..., _T], /, *args: Any) -> _T:
    """function(*args), with no frame below its own, nor for the recursion limit."""

def run_file(path: str, globals: dict[str, Any], /) -> None:
    """Run a file as python does, by its parser of files, which says of some errors what that of strings does not."""

def hook(called: _Hook, traceback: TracebackType | None, /) -> _Hook:
    """What calls the sys.excepthook `called`, which finds that traceback and no frame of ours."""

def leave_unseen(code: CodeType, /) -> None:
    """No tracer, and no recursion limit, meets what runs from the end of `call_first` to that of the frame with this
    code."""

def call_unseen(function: Callable[..., _T], /, *args: Any) -> _T:
    """function(*args), with no tracer, and room for its frames whatever the recursion limit is."""

class Then:
    """A method that gives ``next(usual(*args), *args)``, where a tracer sees `usual` alone."""

    def __init__(self, usual: Callable[..., _T], next: Callable[..., _T], /) -> None: ...
    def __call__(self, *args: Any) -> Any: ...

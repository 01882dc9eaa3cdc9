"""Runs a program as ``python SCRIPT`` or ``python -m MODULE`` would, in this process.

The program finds sys.argv, sys.path[0] and ``__main__`` as it expects them, and its tracebacks show none of our frames.
``__main__`` stays in place afterwards, since threads and atexit functions of the program may still use it.
"""

from __future__ import annotations
import __future__

import builtins
import importlib.machinery
import io
import itertools
import os
import runpy
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dynamo_lite.collector import release_collector
from dynamo_lite.dataclass import dataclass
from dynamo_lite.frame_room import with_frame_room
from dynamo_lite.shadows import own_modules

if TYPE_CHECKING:
    import ast


@dataclass(frozen=True, slots=True)
class Target:
    """A SCRIPT (file, folder or zip archive with a __main__.py) or a module, with its arguments."""

    name: str
    is_module: bool
    arguments: Sequence[str]


Prepare = Callable[[types.CodeType, bytes], types.CodeType]
Hook = Callable[[type[BaseException], BaseException, types.TracebackType | None], Any]


def as_it_is(code: types.CodeType, source: bytes) -> types.CodeType:
    """Run a file's own code."""
    return code


@with_frame_room
def execute(target: Target, start: Callable[[], object], prepare: Prepare = as_it_is) -> int:
    """Call `start`, then run the program to its end; the exit code. What it raises passes through.
    What `hold_collector` holds is released when the program begins.

    prepare: the code to run for the code and the source of a SCRIPT.
    """
    sys.argv = [target.name, *target.arguments]
    try:
        if target.is_module:
            _set_first_path(os.getcwd())
            start()
            release_collector()
            runpy.run_module(target.name, run_name="__main__", alter_sys=True)
        elif os.path.isfile(target.name) and not target.name.endswith((".zip", ".pyz", ".pyc")):
            _set_first_path(os.path.dirname(os.path.realpath(target.name)))
            _execute_file(target.name, start, prepare)
        else:
            _set_first_path(None)
            start()
            release_collector()
            runpy.run_path(target.name, run_name="__main__")
    except BaseException as error:
        if isinstance(error, ImportError) and _program_frames(error.__traceback__) is None:  # there is no such program
            print(f"{sys.executable}: {error}", file=sys.stderr)
            return 1
        if sys.flags.inspect or not isinstance(error, SystemExit):
            sys.excepthook = _without_our_frames(sys.excepthook)
        raise
    return 0


def _without_our_frames(hook: Hook) -> Hook:
    """What Python is to call for an exception of the program's: `hook`, which shows its frames alone. The rest is
    Python's: it sets sys.last_value, and ends by SIGINT where that is a KeyboardInterrupt."""

    def show(kind: type[BaseException], error: BaseException, traceback: types.TracebackType | None) -> Any:
        sys.excepthook = hook
        # The default hook prints the traceback that the exception carries, whatever it is handed.
        sys.last_traceback = error.__traceback__ = _program_frames(traceback)
        return _call_first(hook, kind, error, error.__traceback__)

    return show


def _set_first_path(folder: str | None) -> None:
    """Put the program's folder where ``python -m dynamo_lite`` has the current one."""
    if sys.flags.safe_path:
        return
    if sys.path:
        del sys.path[0]
    if folder is not None:
        sys.path.insert(0, folder)
        own_modules.give_way(folder)


def _execute_file(path: str, start: Callable[[], object], prepare: Prepare) -> None:
    path = os.path.join(os.getcwd(), path)  # as python does; sys.argv[0] stays as it was written
    module = types.ModuleType("__main__")
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    # As python begins with, in its order; late versions without annotations.
    begins = vars(sys.modules["__main__"])
    annotations: dict[str, object] = {"__annotations__": {}} if "__annotations__" in begins else {}
    names = {"__builtins__": builtins, "__file__": path, "__cached__": None}
    module.__dict__.update({"__loader__": loader, **annotations, **names})
    sys.modules["__main__"] = module
    with io.open_code(path) as file:
        source = file.read()
    start()
    try:
        first, code = _parts(source, path)
        if first is None:
            code = prepare(code, source)
    finally:
        release_collector()
    if first is not None:
        exec(first, module.__dict__)
        code = prepare(code, source)
    _call_first(types.FunctionType(code, module.__dict__))


def _call_first(function: Callable[..., Any], *args: Any) -> Any:
    """Call what is the program's, which sees none of our frames."""
    frames = sys.modules.get("dynamo_lite._C")  # NB: it brings NumPy, which not every program wants
    return function(*args) if frames is None else frames.call_first(function, *args)


def _parts(source: bytes, path: str) -> tuple[types.CodeType | None, types.CodeType]:
    """The code of a file, and what of it is run before that is prepared. NB: NumPy is imported then, and reads the
    environment, as for the number of threads: a program may set that before it imports NumPy itself."""
    if "numpy" in sys.modules or not any(name in source for name in _ENVIRONMENT):
        return None, compile(source, path, "exec", dont_inherit=True)
    import ast

    tree = ast.parse(source, path)  # NB: once, as whatever compiles a file gives the warnings of its syntax
    body = tree.body
    at = max((end for end, one in enumerate(_straight(body), 1) if _sets_environment(one)), default=0)
    if not at:
        return None, compile(tree, path, "exec", dont_inherit=True)
    for one in body[at:]:  # strings, the first of which would be the second part's docstring
        if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)):
            break
        at += 1
    first: types.CodeType = compile(ast.Module(body[:at], []), path, "exec", dont_inherit=True)
    rest = ast.Module(body[at:], [])
    return first, compile(rest, path, "exec", first.co_flags & _FUTURE, dont_inherit=True)


_ENVIRONMENT = (b"environ", b"putenv")
_CHANGES = ("setdefault", "update", "pop", "clear")  # methods of os.environ
_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names[2:])


def _straight(body: Sequence[ast.stmt]) -> Iterable[ast.stmt]:
    """The statements of a file up to the first that defines something, has a loop, or annotates a variable."""
    import ast

    ends = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.For | ast.While | ast.AnnAssign
    return itertools.takewhile(lambda one: not any(isinstance(node, ends) for node in ast.walk(one)), body)


def _sets_environment(statement: ast.stmt) -> bool:
    import ast

    def is_environ(node: ast.AST) -> bool:
        return "environ" in (getattr(node, "attr", None), getattr(node, "id", None))

    for node in ast.walk(statement):
        match node:
            case ast.Subscript(value=owner, ctx=ast.Store() | ast.Del()) if is_environ(owner):
                return True
            case ast.Attribute(value=owner, attr=name) if name in _CHANGES and is_environ(owner):
                return True
            case ast.Attribute(attr="putenv") | ast.Name(id="putenv"):
                return True
            case ast.Attribute(attr="environ", ctx=ast.Store()) | ast.Name(id="environ", ctx=ast.Store()):
                return True
    return False


def _program_frames(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """The traceback without the frames that lead to the program: ours and runpy's."""
    while traceback is not None and _leads_to_program(traceback.tb_frame.f_code.co_filename):
        traceback = traceback.tb_next
    return traceback


_OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep


def _leads_to_program(filename: str) -> bool:
    return filename in (runpy.__file__, "<frozen runpy>") or filename.startswith(_OURS)

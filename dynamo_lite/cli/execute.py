"""Runs a program as ``python SCRIPT`` or ``python -m MODULE`` would, in this process.

The program finds sys.argv, sys.path[0] and ``__main__`` as it expects them, and none of our frames: neither below its
own, nor in tracebacks, nor by a tracer that it has left on (csrc/first). Modules, folders and archives are run by what
Python itself runs them by, whose frames it sees. ``__main__`` stays in place afterwards, since threads and atexit
functions of the program may still use it.
"""

from __future__ import annotations
import __future__

import builtins
import importlib.machinery
import importlib.util
import io
import itertools
import os
import pkgutil
import re
import runpy
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from dynamo_lite._first import call_first, call_unseen, hook, run_file
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


def as_it_is(code: types.CodeType, source: bytes) -> types.CodeType:
    """Run a file's own code."""
    return code


@with_frame_room
def execute(target: Target, start: Callable[[], object], prepare: Prepare = as_it_is) -> int:
    """Call `start`, then run the program to its end; the exit code. What it raises passes through.
    What `hold_collector` holds is released when the program begins.

    prepare: the code to run for the code and the source of a SCRIPT.
    """
    sys.argv = ["-m" if target.is_module else target.name, *target.arguments]
    try:
        if target.is_module:
            _set_first_path(os.getcwd())
            _run_module(start, target.name)
        elif pkgutil.get_importer(target.name) is not None:  # a folder, or an archive of whatever name
            _set_first_path(os.path.join(os.getcwd(), target.name), always=True)
            _run_module(start, "__main__", False)
        else:
            _set_first_path(os.path.dirname(os.path.realpath(target.name)))
            _execute_file(target.name, start, prepare)
    except BaseException as error:
        if sys.flags.inspect or not isinstance(error, SystemExit):
            # The rest is Python's: it sets sys.last_value, and ends by SIGINT where that is a KeyboardInterrupt.
            sys.excepthook = hook(sys.excepthook, _program_frames(error.__traceback__))
        raise
    return 0


def _set_first_path(folder: str, always: bool = False) -> None:
    """Put the program's folder where ``python -m dynamo_lite`` has the current one; always: also where it has none."""
    if sys.flags.safe_path and not always:
        return
    if sys.path and not sys.flags.safe_path:
        del sys.path[0]
    sys.path.insert(0, folder)
    own_modules.give_way(folder)


def _run_module(start: Callable[[], object], name: str, sets_argv: bool = True) -> None:
    _begin_main()
    start()
    release_collector()
    call_first(runpy._run_module_as_main, name, sets_argv)  # type: ignore[attr-defined] # as python calls it


def _begin_main(**names: object) -> types.ModuleType:
    """A new ``__main__`` with the names that python begins it with, in order; late versions without annotations."""
    annotations: dict[str, object] = {}
    if "__annotations__" in vars(sys.modules["__main__"]):
        annotations["__annotations__"] = {}
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__dict__.update({"__loader__": importlib.machinery.BuiltinImporter, **annotations})
    module.__dict__.update({"__builtins__": builtins, **names})
    return module


def _execute_file(path: str, start: Callable[[], object], prepare: Prepare) -> None:
    path = os.path.join(os.getcwd(), path)  # as python does; sys.argv[0] stays as it was written
    module = _begin_main(__file__=path, __cached__=None)
    code: types.CodeType | None
    with io.open_code(path) as file:
        source = file.read()
    if path.endswith(".pyc") or source[:2] == importlib.util.MAGIC_NUMBER[:2]:
        module.__loader__ = importlib.machinery.SourcelessFileLoader("__main__", path)
        start()
        release_collector()
        code = _of_bytecode(source)
    else:
        module.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
        start()
        try:
            first, code = _parts(source, path) if _is_text(source) else (None, None)
            if first is None and code is not None:
                code = prepare(code, source)
        finally:
            release_collector()
        if code is None:
            call_first(run_file, path, module.__dict__)
            return
        if first is not None:
            call_first(types.FunctionType(first, module.__dict__))
            code = call_unseen(prepare, code, source)
    call_first(types.FunctionType(code, module.__dict__))


def _is_text(source: bytes) -> bool:
    """Whether the encoding that it names gives a meaning to all of a file."""
    if source.isascii():
        return b"\0" not in source
    encoding = _ENCODING.search(b"\n".join(source.split(b"\n", 2)[:2]))
    try:
        return "\0" not in source.decode("utf-8" if encoding is None else encoding[1].decode())
    except (UnicodeDecodeError, LookupError):
        return False


_ENCODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII | re.MULTILINE)


def _of_bytecode(source: bytes) -> types.CodeType:
    """The code in a .pyc file."""
    code: types.CodeType | None = pkgutil.read_code(io.BytesIO(source))
    if code is None:
        raise RuntimeError("Bad magic number in .pyc file")
    return code


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
    """The traceback without our own frames, that lead to the program."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(_OURS):
        traceback = traceback.tb_next
    return traceback


_OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep

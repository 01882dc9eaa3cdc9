"""Re-encoded code does what the original does: results, exceptions with their places, and every traced line."""

import importlib.util
import sys
import traceback
import types
from pathlib import Path

import pytest

from tests.pycode import corpus
from tests.pycode.rewrite import rewrite

FILE = corpus.__file__


def load(code: types.CodeType, name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__dict__["__file__"] = code.co_filename
    exec(code, module.__dict__)
    return module


def places(error: BaseException) -> list[tuple[object, ...]]:
    """Function, lines and columns of each frame in the corpus."""
    frames = [frame for frame in traceback.TracebackException.from_exception(error).stack if frame.filename == FILE]
    return [(f.name, f.lineno, f.end_lineno, f.colno, f.end_colno) for f in frames]


def outcome(function, args):
    try:
        return "returned", repr(function(*args))
    except Exception as error:
        return "raised", repr(error), places(error)


def traced(function, args):
    """The outcome, and the events of every frame of the corpus."""
    events = []

    def trace(frame, event, arg):
        if frame.f_code.co_filename != FILE:
            return None
        kind = repr(arg) if event == "return" else arg and arg[0].__name__
        events.append((frame.f_code.co_qualname, event, frame.f_lineno, kind if "<" not in str(kind) else ""))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        result = outcome(function, args)
    finally:
        sys.settrace(before)
    return result, events


ORIGINAL = compile(Path(FILE).read_text(), FILE, "exec", dont_inherit=True)
REWRITTEN = load(rewrite(ORIGINAL), "rewritten")
AGAIN = load(ORIGINAL, "original")


@pytest.mark.parametrize("index", range(len(corpus.CALLS)), ids=lambda i: f"{corpus.CALLS[i][0].__name__}-{i}")
def test_same_outcome_and_lines(index):
    function, args = AGAIN.CALLS[index]
    rewritten, _ = REWRITTEN.CALLS[index]
    assert rewritten.__code__ is not function.__code__
    assert outcome(rewritten, args) == outcome(function, args)
    assert traced(rewritten, args) == traced(function, args)
    assert rewritten.__doc__ == function.__doc__


def rewritten_module(name: str) -> types.ModuleType:
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    code = spec.loader.get_code(name)
    exec(rewrite(code), module.__dict__)
    return module


def test_rewritten_json():
    json = rewritten_module("json.decoder")
    text = '{"a": [1, 2.5, "x\\u00e9", null, true], "b": {"c": {}}}'
    assert json.JSONDecoder().decode(text) == {"a": [1, 2.5, "xé", None, True], "b": {"c": {}}}
    assert json.py_scanstring('a\\n\\u00e9" tail', 0) == ("a\né", 10)
    with pytest.raises(ValueError, match="line 1 column 5"):
        json.JSONDecoder().decode("[1, x]")


def test_rewritten_textwrap_and_argparse():
    textwrap = rewritten_module("textwrap")
    assert textwrap.fill("one two three four five", 9) == "one two\nthree\nfour five"
    argparse = rewritten_module("argparse")
    parser = argparse.ArgumentParser(prog="p")
    parser.add_argument("--number", type=int, default=3)
    parser.add_argument("rest", nargs="*")
    assert vars(parser.parse_args(["--number", "4", "a", "b"])) == {"number": 4, "rest": ["a", "b"]}
    assert "--number NUMBER" in parser.format_help()


def test_rewritten_fractions_and_heapq():
    fractions = rewritten_module("fractions")
    assert str(fractions.Fraction("3/4") + fractions.Fraction(1, 6)) == "11/12"
    heapq = rewritten_module("heapq")
    assert list(heapq.merge([1, 4, 6], [2, 3], [5])) == [1, 2, 3, 4, 5, 6]


def test_module_and_class_level_comprehensions():
    """Their loop variables live in slots that locals() must not show as names of the module or class."""
    source = """
x = 7
class A:
    x = 5
    rows = [sorted(k for k in (x,)) for x in range(2)]
    seen = x, sorted(k for k in locals() if k[0] != "_")
values = [x for x in range(3)]
after = x, "x" in locals()
"""
    spaces = []
    for change in (lambda code: code, rewrite):
        space = {}
        exec(change(compile(source, "<m>", "exec")), space)
        spaces.append((space["values"], space["after"], space["A"].rows, space["A"].seen, space["x"]))
    assert spaces[0] == spaces[1]

"""A function gets its polls at its first call, and nobody sees how."""

import sys
import types
from typing import Any

import pytest

from dynamo_lite import _C
from dynamo_lite.pycode import decode, decoded
from dynamo_lite.pycode.version import FACTS
from dynamo_lite.watch.watching import Watch
from tests import watched

pytestmark = pytest.mark.skipif(not FACTS.prefixes, reason="functions get their polls at once")

SOURCE = '''
import sys

class Thing:
    """What it is."""

    def __init__(self, n, *rest, key=3, **more):
        self.n, self.rest, self.key, self.more = n, rest, key, more

    @property
    def double(self):
        return self.n * 2 + len(self.rest) * 1 + self.key * 0

    def summed(self, y):
        def inner():
            return y + self.n
        return inner()

    def name(self):
        return super().__repr__().partition(".")[0] + str(self.n) * 1

    def counts(self):
        yield from range(self.n)

def handled(x, y, /, *, z=1):
    try:
        return x / y + z * 1 + x * 0
    except ZeroDivisionError:
        return "zero"
    finally:
        log.append(x * 1 + y * 1 + z * 1)

def depth(n):
    return sys._getframe(n).f_code.co_name + "" * 1 + "" * 2 + "" * 3

def around():
    return depth(1) + depth(0) + "" * 1 + "" * 2

def fails(x):
    raise KeyError(x * 1 + x * 2 + x * 3 + x * 4)

def recurses(n):
    return 0 if n == 0 else 1 * 1 + recurses(n - 1) * 1 + n * 0

def never(x):
    for i in range(x):
        x = x + i
    return x
'''


def polls_of(code: types.CodeType) -> list[_C.Poll]:
    return [const for const in code.co_consts if isinstance(const, _C.Poll)]


@pytest.fixture
def module() -> Any:
    watch = Watch(watched.LOOPS_AT_ONCE)
    names: dict[str, Any] = {"log": [], "__name__": "module"}
    exec(watch.watched(compile(SOURCE, "/tmp/a_users_file.py", "exec")), names)
    yield types.SimpleNamespace(**names)
    watch.end()


def test_functions_give_what_they_gave(module: Any) -> None:
    thing = module.Thing(3, 1, 2, key=5, other=7)
    assert (thing.rest, thing.key, thing.more, module.Thing.__doc__) == ((1, 2), 5, {"other": 7}, "What it is.")
    assert (thing.double, thing.summed(2), list(thing.counts()), thing.name()) == (8, 5, [0, 1, 2], "<module3")
    for _ in range(2):
        assert module.handled(1, 2, z=3) == 3.5
        assert module.handled(1, 0) == "zero"
    assert module.log == [6, 2] * 2
    assert module.recurses(200) == 200


def test_only_functions_that_are_called_get_polls(module: Any) -> None:
    before = module.handled.__code__
    assert module.never.__code__.co_consts[-1] is _C.GO_ON
    module.handled(1, 2)
    assert module.handled.__code__ is not before
    assert module.never.__code__.co_consts[-1] is _C.GO_ON
    module.never(3)
    assert len(polls_of(module.never.__code__)) == 2  # at its entry, and in its loop


def test_frames_and_tracebacks_show_a_function_once(module: Any) -> None:
    for _ in range(2):
        assert module.around() == "arounddepth"
        with pytest.raises(KeyError) as caught:
            module.fails(1)
        assert [entry.name for entry in caught.traceback][1:] == ["fails"]
        assert caught.traceback[-1].lineno + 1 == module.fails.__code__.co_firstlineno + 1


def test_a_tracer_sees_one_call(module: Any) -> None:
    seen: list[tuple[str, str]] = []
    sys.setprofile(lambda frame, event, arg: seen.append((frame.f_code.co_name, event)))
    try:
        module.handled(1, 2)
    finally:
        sys.setprofile(None)
    assert [one for one in seen if not one[1].startswith("c_")] == [("handled", "call"), ("handled", "return")]


def test_what_the_code_was_is_known(module: Any) -> None:
    plain: dict[str, Any] = {}
    exec(compile(SOURCE, "/tmp/a_users_file.py", "exec"), plain)
    for name in ("handled", "never", "around"):
        code, original = getattr(module, name).__code__, plain[name].__code__
        assert decoded(code) == decoded(original)
        assert [line for *_, line in code.co_lines() if line] == [line for *_, line in original.co_lines() if line]
        assert len(decode(code).instrs) > len(decode(original).instrs)


def test_another_function_of_the_same_code_goes_on_without(module: Any) -> None:
    names: dict[str, Any] = {}
    other = types.FunctionType(module.never.__code__, names)
    assert (other(4), other(4), module.never(4)) == (10, 10, 10)

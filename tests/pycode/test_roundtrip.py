"""decode(encode(decode(c))) == decode(c) for the standard library and NumPy, and nothing else changes.

Every 25th file by default; all of them (minutes) with DYNAMO_LITE_TEST_ALL=1.
"""

import dis
import os
import sys
import sysconfig
import tokenize
import types
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dynamo_lite.pycode import (
    Answers,
    Code,
    Instr,
    Loop,
    decode,
    decoded,
    encode,
    handlers_at,
    liveness,
    stack_depth,
)
from dynamo_lite.pycode.code import same_constant
from dynamo_lite.pycode.decode import _decoded
from dynamo_lite.pycode.polls import with_polls
from dynamo_lite.pycode.rotate import rotated
from tests.pycode.rewrite import all_codes

STEP = 1 if os.environ.get("DYNAMO_LITE_TEST_ALL") else 25
HEAD = (
    *("co_name", "co_qualname", "co_filename", "co_firstlineno", "co_argcount", "co_posonlyargcount"),
    *("co_kwonlyargcount", "co_flags", "co_varnames", "co_cellvars", "co_freevars", "co_names", "co_nlocals"),
)


def sources():
    for folder in (Path(sysconfig.get_paths()["stdlib"]), Path(np.__file__).parent):
        files = sorted(file for file in folder.rglob("*.py") if "site-packages" not in file.relative_to(folder).parts)
        yield folder.name, files[::STEP]


def compiled(file: Path) -> types.CodeType | None:
    """The module's code; None for the files that are meant not to compile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with tokenize.open(file) as stream:
                return compile(stream.read(), str(file), "exec", dont_inherit=True)
        except (SyntaxError, UnicodeDecodeError, ValueError):
            return None


def slot_uses(code: types.CodeType):
    """What is done with which slot of locals and cells, superinstructions taken apart."""
    for instr in dis.get_instructions(code):
        if instr.opcode in dis.haslocal or instr.opcode in dis.hasfree:
            first, _, second = instr.opname.partition("_FAST_")
            if second.endswith("_FAST"):
                yield first + "_FAST", instr.arg >> 4
                yield second, instr.arg & 15
            else:
                yield instr.opname, instr.arg


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("name", "files"), list(sources()), ids=lambda value: value if isinstance(value, str) else "")
def test_round_trip(name, files):
    count = same_bytes = 0
    for file in files:
        module = compiled(file)
        if module is None:
            continue
        for code in all_codes(module):
            once = decode(code)
            again = encode(once)
            assert decode(again) == once, code
            assert all(getattr(again, field) == getattr(code, field) for field in HEAD), code
            assert len(again.co_consts) == len(code.co_consts), code
            assert all(a is b for a, b in zip(again.co_consts, code.co_consts, strict=True)), code
            count += 1
            if again.co_code == code.co_code:
                same_bytes += 1
                assert list(again.co_positions()) == list(code.co_positions()), code
            else:
                assert list(slot_uses(again)) == list(slot_uses(code)), code
            depths = stack_depth(once)
            # One more than CPython's: keyword names take a slot, and RETURN_CONST none.
            assert max(depth for depth in depths if depth is not None) <= code.co_stacksize + 1, code
            assert again.co_stacksize >= code.co_stacksize or None in depths, code
            assert liveness(once)[0] <= set(once.varnames), code
    assert count > 200
    # Superinstructions and TO_BOOL may come out where the compiler, with line numbers of its own, left them out.
    assert same_bytes / count > 0.99, same_bytes


def without_polls(code: Code, polls: list[object], size: int) -> Code:
    """The user's `size` instructions of `code`: without the questions among them, what stands after them, and what has
    the NULL that leaves a `with` in a known place."""
    instrs, known = code.instrs, set(map(id, polls))
    asks = [
        index
        for index, instr in enumerate(instrs)
        if instr.op == "LOAD_CONST" and id(instr.arg) in known and instrs[index + 1].op == "POP_JUMP_IF_TRUE"
    ]
    apart = {index + part for index in asks for part in (0, 1)}
    bound = {index for index, instr in enumerate(instrs) if instr.op == "BEFORE_WITH" and sys.version_info >= (3, 14)}
    assert all([one.op for one in instrs[index + 1 : index + 3]] == ["PUSH_NULL", "SWAP"] for index in bound)
    apart |= {index + part for index in bound for part in (1, 2)}
    users = [index for index in range(len(instrs)) if index not in apart][:size]
    new = {index: place for place, index in enumerate(users)}
    for ask in asks:  # one after the user's instructions is of a conditional back edge; a jump follows it
        onwards = ask + 2 if ask < users[-1] else instrs[ask + 2].target
        assert onwards is not None
        new[ask] = new[onwards]
    return replace(
        code,
        instrs=tuple(
            instr if instr.target is None else replace(instr, target=new[instr.target])
            for instr in (
                replace(instrs[index], op="BEFORE_WITH_SELF") if index in bound else instrs[index] for index in users
            )
        ),
        exceptions=tuple(
            replace(
                entry,
                start=new[entry.start],
                end=new[entry.end] if entry.end <= users[-1] else size,
                target=new[entry.target],
            )
            for entry in code.exceptions
            if entry.start <= users[-1]
        ),
    )


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("name", "files"), list(sources()), ids=lambda value: value if isinstance(value, str) else "")
def test_round_trip_with_polls(name, files):
    """Code with polls is decoded and encoded as any other, and is the user's but for them."""
    answers = Answers(object(), object())
    count = 0
    for file in files:
        module = compiled(file)
        for code in all_codes(module) if module is not None else ():
            plain = rotated(decode(code))
            polls: list[object] = []

            def make_poll(code: Code, loop: Loop | None, polls: list[object] = polls) -> object:
                polls.append(object())
                return polls[-1]

            made = with_polls(plain, make_poll, answers)
            if made is not None:
                again = decode(encode(made))
                assert replace(again, consts=plain.consts) == made, code  # the polls become constants
                assert all(a is b for a, b in zip(again.consts, plain.consts, strict=False)), code
                assert without_polls(made, polls, len(plain.instrs)) == plain, code
                several = with_polls(plain, make_poll, answers, together=64)
                assert several is not None
                assert replace(decode(encode(several)), consts=plain.consts) == several, code
                count += 1
            assert bool(polls) == (made is not None), code
    assert count > 100, count


def test_positions_and_lines_survive():
    def function(a, b):
        try:
            return (a[0] +
                    b["x"])  # fmt: skip
        except (KeyError,
                ValueError):  # fmt: skip
            pass
        else:
            pass
        return error  # noqa: F821

    code = function.__code__
    assert encode(decode(code)).co_code == code.co_code
    assert list(encode(decode(code)).co_positions()) == list(code.co_positions())
    assert list(dis.findlinestarts(encode(decode(code)))) == list(dis.findlinestarts(code))
    assert encode(decode(code)).co_exceptiontable == code.co_exceptiontable


@pytest.mark.parametrize(
    "position",
    [
        (None, None, None, None),
        (0, 0, None, None),
        (0, 0, 0, 0),
        (7, 7, None, None),
        (7, 9, None, None),
        (7, 9, 3, 1),
        (7, 7, 300, 70000),
        (1_000_000, 1_000_001, 0, 200),
        (3, 3, 79, 95),
    ],
)
def test_every_kind_of_position_survives(position):
    code = decode((lambda: None).__code__)
    instrs = tuple(Instr(i.op, i.arg, i.target, position) for i in code.instrs)
    moved = decode(encode(replace(code, instrs=instrs)))
    assert [instr.position for instr in moved.instrs] == [position] * len(instrs)


def test_constants_are_not_merged():
    values = (0.0, -0.0, 0, False, 1, 1.0, True, float("nan"), float("-inf"), 0j, -0j, complex(0, -0.0), (0,), (0.0,))
    objects = (*values, np.arange(3), np.arange(3).tobytes(), bytearray(b"ab"), [1], {}, object, len, np.float64(0.0))
    code = decode((lambda: None).__code__)
    instrs = [Instr("LOAD_CONST", value) for value in objects]
    instrs += [Instr("BUILD_TUPLE", len(objects)), Instr("RETURN_VALUE")]
    made = types.FunctionType(encode(replace(code, instrs=tuple(instrs))), {})
    assert all(a is b for a, b in zip(made(), objects, strict=True))


def test_constants_compare_by_bits():
    assert not same_constant(0.0, -0.0)
    assert not same_constant(1, True)
    assert not same_constant((1, (0.0,)), (1, (-0.0,)))
    assert same_constant(float("nan"), float("nan"))
    assert same_constant((1, "a", frozenset({2})), (1, "a", frozenset({2})))
    assert not same_constant(np.arange(3), np.arange(3))


def test_long_jumps():
    """Bodies whose jumps need one, two and three EXTENDED_ARG bytes."""
    for count in (10, 300, 30_000):
        body = "\n  ".join(["x = y"] * count)
        source = f"def f(n):\n y = x = None\n for i in range(n):\n  {body}\n  if x: break\n else:\n  return 'all'\n"
        space: dict[str, object] = {}
        exec(source, space)
        function = space["f"]
        assert isinstance(function, types.FunctionType)
        once = decode(function.__code__)
        again = encode(once)
        assert decode(again) == once
        function.__code__ = again
        assert function(3) == "all"


def test_handlers_at_is_the_innermost():
    def function(x):
        try:
            try:
                x()
            except KeyError:
                x[0]
        except ValueError:
            return 1

    code = decode(function.__code__)
    call = next(i for i, instr in enumerate(code.instrs) if instr.op == "CALL")
    subscript = next(i for i, instr in enumerate(code.instrs) if instr.op == "BINARY_SUBSCR")
    inner, outer = handlers_at(code, call), handlers_at(code, subscript)
    assert inner is not None and outer is not None and inner.target < outer.target
    assert handlers_at(code, 0) is None


def test_running_and_traced_code_decodes_as_before():
    """co_code hides specialised and instrumented opcodes."""

    def function(items):
        total = 0
        for item in items:
            total += item * 2 if item > 1 else len([item])
        return total

    before = decode(function.__code__)
    for _ in range(2000):
        function([1, 2, 3])
    assert decode(function.__code__) == before
    inside = []
    tracer = sys.gettrace()
    sys.settrace(lambda frame, event, arg: inside.append(event) or (lambda *event: None))
    try:
        function([1])
        traced = decode(function.__code__)
    finally:
        sys.settrace(tracer)
    assert inside and traced == before


@pytest.mark.usefixtures("no_mode")
def test_decoded_is_remembered_as_long_as_the_code() -> None:
    def make() -> types.CodeType:
        return compile("def f(x): return x + 1", "remembered.py", "exec").co_consts[0]

    code, equal = make(), make().replace(co_filename="other.py")
    first = decoded(code)
    assert decoded(code) is first == decode(code)
    assert decoded(equal).filename == "other.py"
    known = id(code)
    assert known in _decoded
    del code, first
    assert known not in _decoded
    many = [make() for _ in range(300)]
    for code in many:
        decoded(code)
    assert len(_decoded) <= 256

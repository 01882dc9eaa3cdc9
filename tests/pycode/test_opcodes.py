"""The opcode table against the running CPython: every opcode is covered, every stack effect is dis.stack_effect's."""

import dis
import itertools
import opcode
import sys
import types
from collections.abc import Sequence

import pytest

from dynamo_lite.pycode import OPCODES, UnsupportedOpcode, decode
from dynamo_lite.pycode.decode import HANDLED
from dynamo_lite.pycode.opcodes import OPERATORS
from dynamo_lite.pycode.version import CACHES, COMMON_CONSTANTS, FACTS, INTRINSICS, NOT_IN_CODE, RISES, SPELLINGS

CODEC = {"CACHE", "EXTENDED_ARG"}  # seen by no one but decode.py
NATIVE = {name for name in dis.opmap if name not in NOT_IN_CODE}


def template() -> types.CodeType:
    def function(a, b, c):
        return d, (lambda: c)  # noqa: F821

    return function.__code__


def assemble(*native: tuple[str, int]) -> types.CodeType:
    """A code object of these native instructions; jumps by 0 land on the NOPs behind."""
    units = bytearray()
    for name, arg in (*native, ("NOP", 0), ("NOP", 0), ("LOAD_CONST", 0), ("RETURN_VALUE", 0)):
        if arg > 255:
            units += bytes((dis.opmap["EXTENDED_ARG"], arg >> 8))
        units += bytes((dis.opmap[name], arg & 255)) + bytes(2 * CACHES.get(name, 0))
    return template().replace(
        co_code=bytes(units), co_exceptiontable=b"", co_consts=(None, "text"), co_names=("a", "b", "c")
    )


def net(code: types.CodeType, jump: bool) -> int:
    """The net stack effect of the canonical instructions before the NOPs."""
    total = 0
    for instr in decode(code).instrs:
        if instr.op == "NOP":
            break
        jumps = jump and instr.target is not None
        effect = OPCODES[instr.op].jump_effect if jumps else OPCODES[instr.op].effect
        total += effect.pushed(instr.arg) - effect.popped(instr.arg)
        if jumps:
            break
    return total


def has_argument(name: str) -> bool:
    return dis.opmap[name] in dis.hasarg if hasattr(dis, "hasarg") else dis.opmap[name] >= dis.HAVE_ARGUMENT


def arguments(name: str) -> Sequence[int]:
    """Native arguments worth trying."""
    number = dis.opmap[name]
    if name in INTRINSICS:
        return sorted(INTRINSICS[name])
    if name == "BINARY_OP":
        return list(range(len(OPERATORS["BINARY_OP"])))
    if name in ("IS_OP", "CONTAINS_OP"):
        return [0, 1]
    if number in dis.hasconst or number in dis.haslocal:
        return [0, 1]
    if number in dis.hasfree:
        return [2]
    if number in dis.hasname:
        return [0, 1, 2, 3] if name == "LOAD_SUPER_ATTR" else [0, 1] if name in ("LOAD_GLOBAL", "LOAD_ATTR") else [0]
    if number in dis.hasjrel:
        return [0]
    return {
        "RAISE_VARARGS": [0, 1, 2],
        "CALL_FUNCTION_EX": [0, 1],
        "MAKE_FUNCTION": [0, 1, 2, 4, 8, 15] if "SET_FUNCTION_ATTRIBUTE" not in dis.opmap else [0],
        "SET_FUNCTION_ATTRIBUTE": [1, 2, 4, 8],
        "FORMAT_VALUE": [0, 1, 2, 3, 4, 5, 6, 7],
        "CONVERT_VALUE": [1, 2, 3],
        "UNPACK_EX": [0, 1, 2, 0x100, 0x302],
        "COPY": [1, 2, 5],
        "SWAP": [2, 3, 7],
        "BUILD_SLICE": [2, 3],
        "COMPARE_OP": [0],
        "COPY_FREE_VARS": [],  # part of the entry
        "LOAD_SPECIAL": [],  # part of BEFORE_WITH_SELF
        "LOAD_COMMON_CONSTANT": range(len(COMMON_CONSTANTS)),
        "YIELD_VALUE": [0, 1],
        "RERAISE": [0, 1],
    }.get(name, [1, 2, 5] if has_argument(name) else [0])


# CPython's own figure leaves something out.
QUIRKS = {
    "RETURN_GENERATOR": "before 3.13 the value sent first, which the POP_TOP behind it takes, is not counted",
    "RETURN_VALUE": "from 3.14 what it leaves on the caller's stack is counted",
}


def effect_cases():
    """Name, argument and whether it jumps. END_FOR goes with FOR_ITER, KW_NAMES with CALL (see below)."""
    for name in sorted(NATIVE - CODEC - {"END_FOR", "KW_NAMES"}):
        if name in QUIRKS and dis.stack_effect(dis.opmap[name]) == 0:
            continue
        for arg in arguments(name):
            yield name, arg, False
            if dis.opmap[name] in dis.hasjrel:
                yield name, arg, True


def test_table_covers_every_opcode():
    known = set(OPCODES) | HANDLED | set(SPELLINGS) | set(INTRINSICS) | CODEC
    missing = sorted(NATIVE - known)
    assert not missing, f"add rows to opcodes.py or version.py for {', '.join(missing)}"


def test_table_covers_every_intrinsic():
    for native, names in (("CALL_INTRINSIC_1", "_intrinsic_1_descs"), ("CALL_INTRINSIC_2", "_intrinsic_2_descs")):
        descriptions = getattr(opcode, names, ["INVALID"])
        assert [n for n in range(1, len(descriptions)) if n not in INTRINSICS[native]] == []
        assert set(INTRINSICS[native].values()) <= set(OPCODES)


def test_operators_are_numbered_as_cpython_does():
    # From 3.14 a subscript is an operator too: canonically BINARY_SUBSCR.
    assert OPERATORS["BINARY_OP"] == tuple(symbol for _, symbol in opcode._nb_ops if symbol != "[]")
    assert OPERATORS["COMPARE_OP"] == tuple(dis.cmp_op)


@pytest.mark.parametrize(("name", "arg", "jump"), list(effect_cases()))
def test_stack_effect_is_cpythons(name, arg, jump):
    native = [(name, arg)]
    if name == "PRECALL":
        native.append(("CALL", arg))
    elif name == "CALL" and "PRECALL" in dis.opmap:
        native.insert(0, ("PRECALL", arg))
    elif name == "FOR_ITER":
        native.extend((exit, 0) for exit in FACTS.loop_exit)
    code = assemble(*native)
    if name == "FOR_ITER" and not jump:
        native = native[:1]
    expected = sum(
        dis.stack_effect(dis.opmap[op], oparg if has_argument(op) else None, jump=jump) for op, oparg in native
    )
    assert net(code, jump) == expected, decode(code)


@pytest.mark.parametrize(("canonical", "natives"), list(FACTS.sequences.items()), ids=str)
def test_natives_in_a_row_have_the_effect_of_what_they_are(canonical, natives):
    consts = [arg for op, arg in natives if op == "LOAD_CONST"]
    natives = [(op, 2 + consts.index(arg) if op == "LOAD_CONST" else arg) for op, arg in natives]
    code = assemble(*natives)
    code = code.replace(co_linetable=b"", co_consts=(*code.co_consts, *consts))  # all at one place of the source
    assert [(instr.op, instr.arg) for instr in decode(code).instrs[:1]] == [canonical]
    effects = [dis.stack_effect(dis.opmap[op], arg if has_argument(op) else None) for op, arg in natives]
    assert net(code, False) == sum(effects)
    effect = OPCODES[canonical[0]].effect
    above = effect.pushed(canonical[1]) - effect.popped(canonical[1])
    assert max(above, RISES[canonical]) == max(itertools.accumulate(effects))


def test_keyword_call_takes_its_names_from_the_stack():
    def call(f, a):
        return f(a, key=a)

    ops = {instr.op: instr.arg for instr in decode(call.__code__).instrs}
    assert ops["CALL_KW"] == 2
    loads = [instr.arg for instr in decode(call.__code__).instrs if instr.op == "LOAD_CONST"]
    assert ("key",) in loads


def test_opcode_without_a_row_is_named(monkeypatch):
    monkeypatch.delitem(OPCODES, "UNARY_INVERT")
    monkeypatch.delitem(sys.modules[decode.__module__]._PLAIN, "UNARY_INVERT")
    with pytest.raises(UnsupportedOpcode, match=r"UNARY_INVERT.*test_opcodes.py:\d+"):
        decode((lambda x: ~x).__code__)


@pytest.mark.parametrize(
    "native",
    [("BINARY_OP", 99), ("CACHE", 0), *(("CALL_INTRINSIC_1", 99) for op in INTRINSICS if op in dis.opmap)][:3],
    ids=str,
)
def test_unknown_use_of_an_opcode_is_named(native):
    with pytest.raises(UnsupportedOpcode, match=native[0]):
        decode(assemble(native))


def test_end_for_outside_a_loop_is_named():
    if "END_FOR" not in dis.opmap:
        pytest.skip("3.11 has none")
    with pytest.raises(UnsupportedOpcode, match="END_FOR"):
        decode(assemble(("END_FOR", 0)))

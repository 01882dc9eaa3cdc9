"""Resume functions: every function of the corpus is left at each instruction and goes on in a resume function."""

import sys
import types
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from dynamo_lite.pycode import (
    OPCODES,
    Code,
    Instr,
    UnsupportedResume,
    assemble,
    begins_at,
    begins_rest,
    decode,
    decoded,
    encode,
    handlers_at,
    liveness,
    null_below_callable,
    resume_code,
    skeleton,
)
from dynamo_lite.pycode.flow import prune, reraising
from tests.pycode import corpus
from tests.pycode.test_behaviour import outcome

# What a slot or a local holds before an instruction, on every path: UNKNOWN where that depends on the run; NUMBER is
# that of the instruction that raised.
VALUE, NULL, NUMBER, UNKNOWN = "value", "null", "number", "unknown"


@dataclass(frozen=True)
class State:
    stack: tuple[str, ...]
    locals: dict[str, str]

    def merge(self, other: "State") -> "State":
        def both(a: str, b: str) -> str:
            return a if a == b else UNKNOWN

        return State(
            tuple(map(both, self.stack, other.stack)),
            {name: both(kind, other.locals[name]) for name, kind in self.locals.items()},
        )


def states(code: Code) -> list[State | None]:
    """The state before each instruction, by a walk over all paths."""
    known: list[State | None] = [None] * len(code.instrs)
    work: list[int] = []

    def reach(index: int, stack: list[str], names: dict[str, str]) -> None:
        state, before = State(tuple(stack), names), known[index]
        merged = state if before is None else before.merge(state)
        if merged != before:
            known[index] = merged
            work.append(index)

    reach(0, [], {name: VALUE if name in code.argnames else NULL for name in code.varnames})
    while work:
        index = work.pop()
        state = known[index]
        assert state is not None
        instr = code.instrs[index]
        row = OPCODES[instr.op]
        stack, names = list(state.stack), dict(state.locals)
        if instr.op == "COPY":
            stack.append(stack[-instr.arg])
        elif instr.op == "SWAP":
            stack[-1], stack[-instr.arg] = stack[-instr.arg], stack[-1]
        elif instr.op == "STORE_FAST":
            names[instr.arg] = stack.pop()
        elif instr.op == "DELETE_FAST":
            names[instr.arg] = NULL
        elif instr.op == "LOAD_FAST_AND_CLEAR":
            stack.append(names[instr.arg])
            names[instr.arg] = NULL
        else:
            # The slots that the instruction leaves alone: the names that begin both sides of its effect.
            kept = 0
            for before, after in zip(row.effect.pops, row.effect.pushes, strict=False):
                if before.name != after.name:
                    break
                kept += before.size(instr.arg)
            # BEFORE_WITH_SELF (3.14) leaves a null too where __exit__ is no method, which no manager of the corpus has.
            made = {"PUSH_NULL": NULL, "LOAD_METHOD": UNKNOWN, "LOAD_SUPER_METHOD": UNKNOWN}.get(instr.op, VALUE)
            if instr.target is not None:
                jumped = stack[: len(stack) - row.jump_effect.popped(None)] + [VALUE] * row.jump_effect.pushed(None)
                reach(instr.target, jumped, names)
            base = len(stack) - row.effect.popped(instr.arg) + kept
            stack[base:] = [made] * (row.effect.pushed(instr.arg) - kept)
        entry = handlers_at(code, index)
        if entry is not None:
            handled = [*state.stack[: entry.depth], *[NUMBER] * entry.lasti, VALUE]
            reach(entry.target, handled, state.locals)
            reach(entry.target, handled, names)
        if not row.ends:
            reach(index + 1, stack, names)
    return known


def places(code: Code) -> Iterator[tuple[int, tuple[str, ...], tuple[str, ...]]]:
    """Index, stack and bound locals of every place where they are known before the run.

    Locals that are bound but not live are left out: a resume function must not miss them.
    """
    live = liveness(code)
    for index, state in enumerate(states(code)):
        if state is not None and not {UNKNOWN, NUMBER} & set(state.stack):
            kinds = {name: state.locals[name] for name in live[index]}
            if UNKNOWN not in kinds.values():
                names = sorted(name for name, kind in kinds.items() if kind == VALUE)
                yield index, tuple(state.stack), tuple(names)


def leave(
    code: Code, index: int, stack: tuple[str, ...], names: tuple[str, ...], resume: types.FunctionType
) -> types.CodeType:
    """`code` up to instruction `index`, where it returns what `resume` makes of its stack and locals."""
    position = code.instrs[index].position
    ending: list[Instr] = []
    values: list[str] = []
    for kind in reversed(stack):
        if kind == VALUE:
            values.insert(0, f".v{len(values)}")
            ending.append(Instr("STORE_FAST", values[0]))
        else:
            ending.append(Instr("STORE_FAST", ".null"))  # POP_TOP would crash
    callee = [Instr("PUSH_NULL"), Instr("LOAD_CONST", resume)]
    ending += callee if null_below_callable else reversed(callee)
    ending += [Instr("LOAD_FAST", name) for name in (*values, *names)]
    ending += [Instr("CALL", len(values) + len(names)), Instr("RETURN_VALUE")]
    ending = [replace(instr, position=position) for instr in ending]
    out = Instr("JUMP", target=len(code.instrs), position=position)
    return encode(prune(replace(code, instrs=(*code.instrs[:index], out, *code.instrs[index + 1 :], *ending))))


CASES: dict[types.FunctionType, list[tuple[object, ...]]] = {}
for function, args in corpus.CALLS:
    if not function.__code__.co_cellvars and not function.__code__.co_flags & 0x2A0:
        CASES.setdefault(function, []).append(args)


def plainly_spelled(code: Code) -> Code:
    return replace(code, instrs=tuple(replace(instr, bare=False) for instr in code.instrs))


@pytest.mark.parametrize("function", list(CASES), ids=lambda function: function.__name__)
def test_resumed_at_every_instruction(function):
    code = decode(function.__code__)
    expected = [outcome(function, args) for args in CASES[function]]
    tried = 0
    for index, stack, names in places(code):
        made = resume_code(code, index, stack, names)
        assert plainly_spelled(decoded(made)) == plainly_spelled(decode(made)), index
        rest = types.FunctionType(made, function.__globals__, function.__name__)
        first = types.FunctionType(leave(code, index, stack, names, rest), function.__globals__, function.__name__)
        first.__defaults__, first.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        for args, wanted in zip(CASES[function], expected, strict=True):
            got = outcome(first, args)
            assert got[:2] == wanted[:2], (index, args, str(code))
            if wanted[0] == "raised":
                # Where the first half had been left both show in the traceback; the place of the error is the user's.
                assert got[2][-1] == wanted[2][-1], (index, args, str(code))
        tried += 1
    assert tried > len(code.instrs) / 3, (tried, str(code))


@pytest.mark.parametrize("function", list(CASES), ids=lambda function: function.__name__)
def test_a_place_is_refused_where_the_stack_holds_the_number_of_an_instruction(function):
    code = decode(function.__code__)
    for index, state in enumerate(states(code)):
        if state is not None:
            assert (index in reraising(code)) == (NUMBER in state.stack), index
            if NUMBER in state.stack:
                with pytest.raises(UnsupportedResume, match="on its way"):
                    resume_code(code, index, (VALUE,) * len(state.stack), ())


def test_resuming_a_resume_function_at_the_same_place_is_a_fixpoint():
    """So a break in a loop makes one resume function, not one for each turn."""
    compared = 0
    for function in CASES:
        code = decode(function.__code__)
        for index, stack, names in places(code):
            instr = code.instrs[index]
            if instr.op in ("JUMP", "CALL_KW"):
                continue  # the place is not as easy to find again
            once = resume_code(code, index, stack, names)
            within = decode(once)
            place = sum(kind == NULL for kind in stack) + sum(str(i.arg).startswith(".s") for i in within.instrs)
            is_handled = within.instrs[0].op == "RESUME" or within.instrs[place].op == "RESUME"
            place += is_handled
            if within.instrs[place].op == "JUMP":
                place = within.instrs[place].target or 0
            place += within.instrs[place].op == "NOP" != instr.op
            assert within.instrs[place].op == instr.op
            assert resume_code(within, place, stack, names) == once
            compared += 1
    assert compared > 500


def handlers_at_heads(code: Code) -> set[tuple[object, object]]:
    """Of each instruction that is jumped back to where it stands, and where that is handled which comes at such a jump:
    it counts as raised by the instruction before, from 3.13 on by the jump."""
    by_jump = sys.version_info >= (3, 13)
    jumps = ((at, instr.target) for at, instr in enumerate(code.instrs))
    raised = ((head, at if by_jump else head - 1) for at, head in jumps if head is not None and head <= at)
    found = ((code.instrs[head].position, handlers_at(code, index)) for head, index in raised)
    return {(place, entry and code.instrs[entry.target].position) for place, entry in found}


def test_what_comes_at_a_jump_back_is_handled_as_in_the_loop():
    """Not as what comes in the prologue, where a function goes on in the loop."""

    def looped(x, n):
        try:
            while True:
                if x[n % 3] == 1:
                    n += 1
                n += 1
                while n % 5:
                    try:
                        if n in x:
                            n += x[0]
                        n += 2
                    except IndexError:
                        n += 3
        except KeyError:
            return n

    code = decode(looped.__code__)
    expected, compared = handlers_at_heads(code), 0
    for index, stack, names in places(code):
        found = handlers_at_heads(decode(resume_code(code, index, stack, names)))
        assert found <= expected, (index, found, expected)
        compared += len(found)
    assert compared > 40


def function_of(code: types.CodeType, **names: object) -> types.FunctionType:
    return types.FunctionType(code, {**globals(), **names})


def test_parameters_stack_and_locals():
    def user(a, b, *rest, key=None, **others):
        for i in range(a):
            print(i, sorted(locals()))
        return b, i

    code = decode(user.__code__)
    index = next(i for i, instr in enumerate(code.instrs) if instr.op == "POP_TOP")
    resumed = resume_code(code, index, ("value", "value"), ("b", "a"))
    assert resumed.co_varnames[:4] == (".s0", ".s1", "b", "a")
    assert resumed.co_argcount == 4 and resumed.co_kwonlyargcount == 0 and not resumed.co_flags & 0xC
    assert (resumed.co_name, resumed.co_filename, resumed.co_firstlineno, resumed.co_qualname) == (
        user.__code__.co_name,
        user.__code__.co_filename,
        user.__code__.co_firstlineno,
        user.__code__.co_qualname,
    )
    seen = []
    rest = function_of(resumed, print=lambda i, names: seen.append((i, names)))
    assert rest(iter([7, 8]), "dropped", "b", 3) == ("b", 8)
    assert seen == [(7, ["a", "b", "i"]), (8, ["a", "b", "i"])]


def test_stack_parameters_are_released():
    def user(x, y):
        return (x, y())

    class Thing:
        pass

    code = decode(user.__code__)
    index = next(i for i, instr in enumerate(code.instrs) if instr.op == "BUILD_TUPLE")
    resumed = resume_code(code, index, ("value", "value"), ())
    thing = Thing()
    reference = weakref.ref(thing)
    pair = function_of(resumed)(thing, 1)
    assert pair == (thing, 1)
    del thing, pair
    assert reference() is None


def test_free_variables_and_null_slots():
    free = 10

    def user(x):
        return max(x, free, x + free)

    code = decode(user.__code__)
    index = next(i for i, instr in enumerate(code.instrs) if instr.op == "BINARY_OP")
    state = states(code)[index]
    assert state is not None
    kinds = tuple(state.stack)
    assert kinds.count(NULL) == 1
    resumed = resume_code(code, index, kinds, ())
    rest = types.FunctionType(resumed, globals(), closure=user.__closure__)
    assert rest(max, 1, 10, 5, 10) == 15


def test_a_range_goes_on():
    def total(x, n):
        for i in range(n):
            x += i
        return x

    code = decode(total.__code__)
    (header,) = (index for index, instr in enumerate(code.instrs) if instr.op == "FOR_ITER")
    resumed = decode(resume_code(code, header, ("rest",), ("n", "x")))
    assert resumed.varnames[:3] == (".s0", "n", "x")
    (place,) = (index for index, instr in enumerate(resumed.instrs) if instr.op == "GET_ITER")
    assert begins_rest(resumed, place) and not begins_rest(code, header - 1)
    assert types.FunctionType(encode(resumed), {})(range(3, 6), 0, 100) == 112
    assert begins_at(resumed, place + 1) and not begins_at(resumed, place + 2) and not begins_at(code, header)
    (place,) = (index for index, instr in enumerate(resumed.instrs) if instr.op == "FOR_ITER")
    assert resume_code(resumed, place, ("rest",), ("n", "x")) == encode(resumed)
    with pytest.raises(ValueError, match="none of 'value', 'null' and 'rest'"):
        resume_code(code, header, ("iterator",), ("n", "x"))


def test_unbound_local_stays_unbound():
    def user(flag):
        if flag:
            value = 1
        flag()
        return value

    code = decode(user.__code__)
    index = next(i for i, instr in enumerate(code.instrs) if instr.op == "POP_TOP")
    rest = function_of(resume_code(code, index, ("value",), ("flag",)))
    with pytest.raises(UnboundLocalError, match="value"):
        rest(None, None)


def test_variables_that_inner_functions_share_get_cells_of_their_own():
    def user(n, f):
        x, later = n + 1, None
        f(n)
        later = x
        return (lambda: (x, n, later)), [n for _ in range(2)]

    code = decode(user.__code__)
    index = next(i for i, instr in enumerate(code.instrs) if instr.op == "POP_TOP")
    resumed = resume_code(code, index, ("value",), ("f", "n", "x"))
    assert resumed.co_varnames[:4] == (".s0", "f", "n", "x") and set(resumed.co_cellvars) == set(code.cellvars)
    inner, items = function_of(resumed)(None, None, 5, 7)
    assert inner() == (7, 5, 7) and items == [5, 5]
    unbound = function_of(resume_code(code, index, ("value",), ("f", "n")))
    with pytest.raises(UnboundLocalError, match="x"):
        unbound(None, None, 5)
    again = decode(resumed)
    place = next(i for i, instr in enumerate(again.instrs) if instr.op == "POP_TOP")
    assert begins_at(again, place)
    assert resume_code(again, place, ("value",), ("f", "n", "x")) == resumed


def test_what_cannot_be_resumed():
    def generator():
        yield 1

    def plain(f):
        return f(f, key=1)

    with pytest.raises(UnsupportedResume, match="generator"):
        resume_code(decode(generator.__code__), 0, (), ())
    with pytest.raises(UnsupportedResume, match="not a function"):
        resume_code(decode(compile("x = 1", "m", "exec")), 0, (), ())
    with pytest.raises(ValueError, match="0 stack slots, not 1"):
        resume_code(decode(plain.__code__), 0, ("value",), ())
    with pytest.raises(ValueError, match="not distinct locals"):
        resume_code(decode(plain.__code__), 0, (), ("nothing",))


def test_assembled_code_may_go_anywhere():
    """Backward conditions and loop exits, and a jump into the middle, as no compiler makes them."""
    head = skeleton("made", "file.py", 40, ("n", "items"), qualname="C.made")
    instrs = [
        Instr("JUMP", target=4),
        Instr("LOAD_FAST", "total", position=(42, 42, 1, 9)),  # 1: the end
        Instr("RETURN_VALUE"),
        Instr("NOP"),
        Instr("LOAD_CONST", 0),  # 4
        Instr("STORE_FAST", "total"),
        Instr("LOAD_FAST", "n"),  # 6: count down
        Instr("LOAD_CONST", 1),
        Instr("BINARY_OP", "-="),
        Instr("STORE_FAST", "n"),
        Instr("LOAD_FAST", "n"),
        Instr("POP_JUMP_IF_TRUE", target=6),
        Instr("LOAD_FAST", "items"),
        Instr("GET_ITER"),
        Instr("FOR_ITER", target=1),  # 14
        Instr("LOAD_FAST", "total"),
        Instr("BINARY_OP", "+"),
        Instr("STORE_FAST", "total"),
        Instr("JUMP", target=14),
    ]
    code = assemble(head, instrs)
    made = types.FunctionType(code, {})
    assert made(3, [1, 2, 3]) == 6
    assert (code.co_qualname, code.co_filename, code.co_firstlineno) == ("C.made", "file.py", 40)
    assert made.__doc__ is None
    assert 42 in [line for _, _, line in code.co_lines()]


def test_assembled_docstring_is_not_a_constant():
    instrs = [Instr("LOAD_CONST", "text"), Instr("RETURN_VALUE")]
    assert types.FunctionType(assemble(skeleton("f", "f.py", 1), instrs), {}).__doc__ is None
    documented = types.FunctionType(assemble(skeleton("f", "f.py", 1, docstring="Doc."), instrs), {})
    assert documented.__doc__ == "Doc." and documented() == "text"
    assert decode(documented.__code__).docstring == "Doc."


def test_a_cell_that_an_inner_function_has_is_taken_over() -> None:
    def function(x: int, y: int) -> tuple[int, list[int], dict[str, int]]:
        def inner(step: int) -> int:
            nonlocal x
            x += step
            return x + y

        first = inner(1)
        return first, [x, y, inner(10)], dict(locals(), inner=0)

    code = decode(function.__code__)
    index = next(place for place, instr in enumerate(code.instrs) if instr.arg == "first") + 1
    resumed = resume_code(code, index, (), ("first", "inner"), ("x", "y"))
    assert decode(resumed).varnames[:4] == ("first", "inner", ".sc0", ".sc1")
    assert resume_code(decode(resumed), _begin(resumed), (), ("first", "inner"), ("x", "y")) == resumed
    x, y = types.CellType(5), types.CellType(7)

    def twin(step: int) -> int:
        x.cell_contents += step
        return int(x.cell_contents + y.cell_contents)

    again = types.FunctionType(resumed, globals())
    assert again(3, twin, x, y) == (3, [5, 7, 22], {"x": 15, "y": 7, "first": 3, "inner": 0})
    assert x.cell_contents == 15


def _begin(resumed: types.CodeType) -> int:
    """Where the user's code goes on in a resume function."""
    code = decode(resumed)
    last = max(place for place, instr in enumerate(code.instrs) if instr.op == "STORE_CELL") + 1
    return last + (code.instrs[last].op == "JUMP")

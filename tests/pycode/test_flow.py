"""Stack depths, successors and liveness on small functions."""

import pytest

from dynamo_lite.pycode import (
    Instr,
    UnsupportedCode,
    assemble,
    assigned,
    decode,
    kept_whole,
    liveness,
    skeleton,
    stack_depth,
    successors,
)


def index_of(code, op, arg=None):
    return next(i for i, instr in enumerate(code.instrs) if instr.op == op and arg in (None, instr.arg))


def test_depth_and_liveness_of_a_loop():
    def user(a, b, unused):
        total = 0
        for item in a:
            total += item * b
        return total

    code = decode(user.__code__)
    live, depth = liveness(code), stack_depth(code)
    loop = index_of(code, "FOR_ITER")
    assert live[0] == {"a", "b"}
    assert live[loop] == {"b", "total"} and depth[loop] == 1
    assert live[index_of(code, "STORE_FAST", "item")] == {"b", "total"}
    assert live[index_of(code, "LOAD_FAST", "item")] <= {"b", "total", "item"}
    assert live[code.instrs[loop].target] == {"total"}
    assert depth[code.instrs[loop].target] == 0
    assert set(successors(code, loop)) == {loop + 1, code.instrs[loop].target}
    assert list(successors(code, len(code.instrs) - 1)) == []


def test_a_handler_keeps_what_it_reads_alive():
    def user(f, x):
        try:
            x = f()
        except ValueError:
            return x
        return 1

    code = decode(user.__code__)
    store = index_of(code, "STORE_FAST", "x")
    assert "x" in liveness(code)[store - 1]
    assert "x" in liveness(code)[0]


def test_del_needs_its_local():
    def user(x):
        del x

    assert liveness(decode(user.__code__))[0] == {"x"}


def test_what_may_be_bound():
    def user(a, f):
        try:
            for i in a:
                b = f(i)
                if b:
                    del b
                    break
        except ValueError:
            c = 1  # noqa: F841
        return f

    code = decode(user.__code__)
    bound, returns = assigned(code), index_of(code, "RETURN_VALUE")
    assert bound[0] == {"a", "f"} and bound[index_of(code, "STORE_FAST", "i")] == {"a", "f", "i", "b"}
    assert bound[index_of(code, "DELETE_FAST", "b") + 1] == {"a", "f", "i"}
    assert bound[index_of(code, "STORE_FAST", "c")] == {"a", "f", "i", "b"}
    assert all(bound[at] <= {"a", "f", "i", "b", "c"} and "f" in bound[at] for at in range(returns))


@pytest.mark.parametrize(
    ("instrs", "reason"),
    [
        ([Instr("POP_TOP"), Instr("LOAD_CONST", None), Instr("RETURN_VALUE")], "pops an empty stack"),
        ([Instr("LOAD_CONST", None)], "runs off the end"),
        (
            [
                Instr("LOAD_FAST", "a"),
                Instr("POP_JUMP_IF_TRUE", target=3),
                Instr("LOAD_CONST", 1),
                Instr("LOAD_CONST", 2),
                Instr("RETURN_VALUE"),
            ],
            "at stack depths",
        ),
    ],
)
def test_code_that_does_not_add_up(instrs, reason):
    with pytest.raises(UnsupportedCode, match=reason):
        assemble(skeleton("f", "f.py", 1, ("a",)), instrs)


def test_code_prints_one_line_an_instruction():
    def user(a):
        try:
            return a[0] + 1
        except IndexError:
            return None

    lines = str(decode(user.__code__)).splitlines()
    first = user.__code__.co_firstlineno
    assert lines[0] == f"code {user.__qualname__}(a)  # {__file__}:{first}"
    assert any(line.split() == [str(first + 2), "BINARY_OP", "'+'"] or "BINARY_OP '+'" in line for line in lines)
    assert any("->" in line and "depth 0" in line for line in lines)


def test_items_that_are_taken_of_what_a_local_holds_do_not_keep_it_whole():
    def f(p, q):
        x, y = p
        return x + y + p[0] + len(q)

    code = decode(f.__code__)
    first = next(index for index, instr in enumerate(code.instrs) if instr.op == "LOAD_FAST")
    assert liveness(code)[first] == {"p", "q"}
    assert kept_whole(code)[first] == {"q"}

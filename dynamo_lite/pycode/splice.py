"""The loop of a generator expression with what somebody does with its items in it, as one code.

Enters the Codes of `(f(x) for x in xs if c(x))` and of a function that goes over its first parameter once, in one
`for`; leaves the Code of a function whose locals are those of both, the function's with a dot before their names. None
where the expression does not begin with its loop.

    YIELD_VALUE          STORE_FAST .item        with  for item in items: total = total + item
    RESUME           ->  ... .total + .item
    POP_TOP              STORE_FAST .total
"""

from __future__ import annotations

from dataclasses import replace
from types import CodeType
from typing import TypeAlias

from dynamo_lite.pycode.code import CO_GENERATOR_KINDS, Code, Instr, Position, remembered
from dynamo_lite.pycode.decode import decoded
from dynamo_lite.pycode.element import BEFORE
from dynamo_lite.pycode.flow import stack_depth
from dynamo_lite.pycode.opcodes import OPCODES, Operand

Label: TypeAlias = tuple[bool, int]  # whether it is an instruction of the expression, and which


@remembered
def spliced(expression: Code, consuming: CodeType) -> Code | None:
    """`expression` with the body of the loop of the function where it yields."""
    instrs, consumer = expression.instrs, decoded(consuming)
    header = next((index for index, instr in enumerate(instrs) if instr.op == "FOR_ITER"), None)
    yields = [index for index, instr in enumerate(instrs) if instr.op == "YIELD_VALUE"]
    depth = stack_depth(expression)[yields[0]] if yields else None
    if header is None or depth is None or len(yields) != 1:
        return None
    if any(one.op not in BEFORE and one.op != "MAKE_CELL" for one in instrs[:header]):
        return None
    place, body = yields[0], next(n for n, instr in enumerate(consumer.instrs) if instr.op == "FOR_ITER") + 1
    exit_ = consumer.instrs[body - 1].target
    assert exit_ is not None
    position = instrs[place].position
    behind = next(index for index in range(place, len(instrs)) if instrs[index].op == "POP_TOP") + 1
    made: list[tuple[Instr, Label | None]] = []
    places: dict[Label, int] = {}

    def add(instr: Instr, label: Label | None = None) -> None:
        made.append((instr, label))

    def add_consumer(first: int, end: int) -> None:
        depths = stack_depth(consumer)
        for index in range(first, end):
            places[False, index] = len(made)
            instr = _renamed(consumer.instrs[index], position)
            leaves = instr.op == "POP_TOP" and depths[index] == 1 and body <= index < exit_
            for _ in range(depth - 2 if leaves else 0):  # a `break` takes off all iterators
                add(instr)
            goes_on = instr.target == body - 1
            add(instr, None if instr.target is None else (True, behind) if goes_on else (False, instr.target))

    for instr in instrs[:header]:
        if instr.op == "MAKE_CELL":
            add(instr)
    add_consumer(0, body - 3)  # up to LOAD_FAST items, GET_ITER, FOR_ITER
    add(Instr("LOAD_FAST", ".0", None, instrs[header].position))
    for index in (*range(header, place), *range(behind, len(instrs))):
        instr = instrs[index]
        places[True, index] = len(made)
        if instr.op == "LOAD_CONST" and instrs[index + 1].op == "RETURN_VALUE":
            add(Instr("NOP", None, None, instr.position))  # so that a `break` and the end go on at one place
        elif instr.op == "RETURN_VALUE":
            add(Instr("JUMP", None, 0, instr.position), (False, exit_))
        else:
            add(instr, None if instr.target is None else (True, instr.target))
        if index == place - 1:
            add_consumer(body, exit_)
    add_consumer(exit_, len(consumer.instrs))
    returns = [index for index, instr in enumerate(instrs) if instr.op == "RETURN_VALUE"]
    if any(instrs[index - 1].op != "LOAD_CONST" for index in returns):
        return None
    if any(label not in places for _, label in made if label is not None):
        return None
    found = [instr if label is None else replace(instr, target=places[label]) for instr, label in made]
    return replace(
        expression,
        instrs=tuple(found),
        exceptions=(),
        qualname=f"{expression.qualname}.{consumer.name}",
        varnames=(*expression.varnames, *(f".{name}" for name in consumer.varnames)),
        flags=expression.flags & ~CO_GENERATOR_KINDS,
    )


def _renamed(instr: Instr, position: Position) -> Instr:
    is_local = OPCODES[instr.op].operand is Operand.LOCAL
    return replace(instr, arg=f".{instr.arg}" if is_local else instr.arg, position=position)


__all__ = ["spliced"]

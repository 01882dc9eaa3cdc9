"""The loop of a generator expression with what somebody does with its items in it, as one code.

Enters the Codes of `(f(x) for x in xs if c(x))` and of a function that goes over its first parameter once, in one
`for`; leaves the Code of a function whose locals are those of both, the function's with a dot before their names. None
where the expression does not begin with its loop.

    YIELD_VALUE          STORE_FAST .item        with  for item in items: total = total + item
    RESUME           ->  ... .total + .item
    POP_TOP              STORE_FAST .total
"""

from __future__ import annotations

from types import CodeType
from typing import TypeAlias

from dynamo_lite.dataclass import replace
from dynamo_lite.pycode.code import CO_GENERATOR_KINDS, Code, Instr, Position, remembered
from dynamo_lite.pycode.decode import decoded
from dynamo_lite.pycode.element import BEFORE
from dynamo_lite.pycode.flow import stack_depth
from dynamo_lite.pycode.opcodes import OPCODES, Operand

Label: TypeAlias = tuple[int, int]  # an instruction of: the expression, the consumer, its body for one YIELD_VALUE
_EXPRESSION, _CONSUMER = -2, -1  # else the place of the YIELD_VALUE


@remembered
def spliced(expression: Code, consuming: CodeType) -> Code | None:
    """`expression` with the body of the loop of the function where it yields."""
    instrs, consumer = expression.instrs, decoded(consuming)
    header = next((index for index, instr in enumerate(instrs) if instr.op == "FOR_ITER"), None)
    if header is None or any(one.op not in BEFORE and one.op != "MAKE_CELL" for one in instrs[:header]):
        return None
    body = next(index for index, instr in enumerate(consumer.instrs) if instr.op == "FOR_ITER") + 1
    exit_ = consumer.instrs[body - 1].target
    if exit_ is None or [one.op for one in consumer.instrs[body - 3 : body - 1]] != ["LOAD_FAST", "GET_ITER"]:
        return None
    made: list[tuple[Instr, Label | None]] = []
    places: dict[Label, int] = {}
    depths, inner = stack_depth(expression), stack_depth(consumer)

    def add(instr: Instr, label: Label | None = None) -> None:
        made.append((instr, label))

    def add_consumer(first: int, end: int, position: Position) -> None:
        for index in range(first, end):
            places[_CONSUMER, index] = len(made)
            instr = _renamed(consumer.instrs[index], position)
            add(instr, None if instr.target is None else (_CONSUMER, instr.target))

    def add_body(place: int, behind: int) -> None:
        """What the consumer does with an item, in place of the YIELD_VALUE there."""
        depth = depths[place]
        for index in range(body, exit_):
            places[place, index] = len(made)
            instr = _renamed(consumer.instrs[index], instrs[place].position)
            if instr.op == "POP_TOP" and inner[index] == 1 and depth is not None:
                for _ in range(depth - 2):  # a `break` takes off all iterators
                    add(instr)
            target = instr.target
            if target is None:
                add(instr)
            elif target == body - 1:
                add(instr, (_EXPRESSION, behind))
            else:
                add(instr, (place, target) if body <= target < exit_ else (_CONSUMER, target))
        if consumer.instrs[exit_ - 1].op != "JUMP":  # each iteration ends in a `break`
            add(Instr("JUMP", None, 0, instrs[place].position), (_CONSUMER, exit_))

    for instr in instrs[:header]:
        if instr.op == "MAKE_CELL":
            add(instr)
    position = instrs[header].position
    add_consumer(0, body - 3, position)  # up to LOAD_FAST items, GET_ITER, FOR_ITER
    add(Instr("LOAD_FAST", ".0", None, position))
    for instr in instrs[:header]:
        if instr.op == "GET_ITER":  # from 3.14 on
            add(instr)
    index = header
    while index < len(instrs):
        instr = instrs[index]
        places[_EXPRESSION, index] = len(made)
        if instr.op == "YIELD_VALUE":
            behind = next(n for n in range(index, len(instrs)) if instrs[n].op == "POP_TOP") + 1
            add_body(index, behind)
            index = behind
            continue
        if instr.op == "LOAD_CONST" and instrs[index + 1].op == "RETURN_VALUE":
            add(Instr("NOP", None, None, instr.position))  # so that a `break` and the end go on at one place
        elif instr.op == "RETURN_VALUE":
            add(Instr("JUMP", None, 0, instr.position), (_CONSUMER, exit_))
        else:
            add(instr, None if instr.target is None else (_EXPRESSION, instr.target))
        index += 1
    add_consumer(exit_, len(consumer.instrs), position)
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

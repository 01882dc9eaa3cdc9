"""The code of one item of a generator expression, as a function of what it goes over gives.

Enters the Code of `(x * i for i in xs)`; leaves the Code of a function that takes the item of xs as ITEM and returns
what the expression yields for it, and the index where that begins. None where not every item of xs gives one.

    4  FOR_ITER -> 15                     4  LOAD_FAST .item
    5  STORE_FAST i                       5  STORE_FAST i
       ...                   becomes         ...
   11  YIELD_VALUE                       11  RETURN_VALUE
   12  POP_TOP; JUMP -> 4                12  (never reached)
"""

from __future__ import annotations

from dynamo_lite.dataclass import replace
from dynamo_lite.pycode.code import CO_GENERATOR_KINDS, Code, Instr, remembered
from dynamo_lite.pycode.flow import reached

ITEM = ".item"  # a local, whose name no local of Python has
BEFORE = frozenset({"RETURN_GENERATOR", "POP_TOP", "RESUME", "LOAD_FAST", "GET_ITER", "NOP"})


@remembered
def element(code: Code) -> tuple[Code, int] | None:
    """The function of one item, and where it begins."""
    header = next((index for index, instr in enumerate(code.instrs) if instr.op == "FOR_ITER"), None)
    if header is None or any(instr.op not in BEFORE for instr in code.instrs[:header]):
        return None
    before = {instr.op: instr.arg for instr in code.instrs[:header]}
    yields = [index for index, instr in enumerate(code.instrs) if instr.op == "YIELD_VALUE"]
    if before.get("LOAD_FAST") != ".0" or len(yields) != 1:
        return None
    instrs = list(code.instrs)
    instrs[header] = Instr("LOAD_FAST", ITEM, None, code.instrs[header].position)
    instrs[yields[0]] = Instr("RETURN_VALUE", None, None, code.instrs[yields[0]].position)
    made = replace(code, instrs=tuple(instrs), exceptions=(), flags=code.flags & ~CO_GENERATOR_KINDS)
    after = reached(made, header, False)
    is_whole = yields[0] in after and all(instrs[index].target != header for index in after)
    ends = [index for index in after if instrs[index].op == "RETURN_VALUE"]
    return (made, header) if is_whole and ends == yields else None

"""The encoder on code no compiler lays out so: the corpus with its basic blocks in random order.

Conditions and loops then go backwards, loop exits are fallen into, handlers stand before what they protect.
"""

import random
import types
from dataclasses import replace

import pytest

from dynamo_lite.pycode import OPCODES, Code, ExceptionEntry, Instr, decode, encode, handlers_at, liveness, stack_depth
from tests.pycode import corpus
from tests.pycode.test_behaviour import ORIGINAL, load, outcome


def shuffle(code: Code, rng: random.Random) -> Code:
    """`code` with its blocks in another order, the first one excepted, linked by JUMPs."""
    starts = {0} | {instr.target for instr in code.instrs if instr.target is not None}
    for entry in code.exceptions:
        starts |= {entry.start, entry.end, entry.target}
    starts |= {index + 1 for index, instr in enumerate(code.instrs) if instr.target is not None}
    bounds = sorted(start for start in starts if start < len(code.instrs))
    blocks = list(zip(bounds, [*bounds[1:], len(code.instrs)], strict=True))
    order = blocks[1:]
    rng.shuffle(order)
    order.insert(0, blocks[0])

    new_index: dict[int, int] = {}
    out: list[tuple[Instr, ExceptionEntry | None]] = []
    for start, end in order:
        for index in range(start, end):
            new_index[index] = len(out)
            out.append((code.instrs[index], handlers_at(code, index)))
        last = code.instrs[end - 1]
        if not OPCODES[last.op].ends:
            out.append((Instr("JUMP", target=end, position=last.position), None))
    instrs = [replace(i, target=new_index[i.target]) if i.target is not None else i for i, _ in out]
    entries = []
    for index, (_, entry) in enumerate(out):
        if entry is None:
            continue
        target = new_index[entry.target]
        last_entry = entries[-1] if entries else None
        same = last_entry and (last_entry.end, last_entry.target, last_entry.depth, last_entry.lasti)
        if last_entry and same == (index, target, entry.depth, entry.lasti):
            entries[-1] = replace(last_entry, end=index + 1)
        else:
            entries.append(ExceptionEntry(index, index + 1, target, entry.depth, entry.lasti))
    return replace(code, instrs=tuple(instrs), exceptions=tuple(entries))


def rewrite(code: types.CodeType, rng: random.Random) -> types.CodeType:
    """`code` and the code objects inside it, shuffled; coroutines as they are, since SEND only goes forward."""
    consts = tuple(rewrite(const, rng) if isinstance(const, types.CodeType) else const for const in code.co_consts)
    code = code.replace(co_consts=consts)
    canonical = decode(code)
    if any(instr.op in ("SEND", "SEND_OR_POP") for instr in canonical.instrs):
        return code
    shuffled = shuffle(canonical, rng)
    assert liveness(shuffled)[0] == liveness(canonical)[0]
    assert max(filter(None, stack_depth(shuffled)), default=0) == max(filter(None, stack_depth(canonical)), default=0)
    return encode(shuffled)


@pytest.mark.parametrize("seed", range(5))
def test_shuffled_blocks(seed):
    module = load(rewrite(ORIGINAL, random.Random(seed)), "shuffled")
    for (made, args), (function, _) in zip(module.CALLS, corpus.CALLS, strict=True):
        assert outcome(made, args) == outcome(function, args), (function, args)

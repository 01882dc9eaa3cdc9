"""Re-encoding code objects with all the code objects inside them."""

import types

from dynamo_lite.pycode import decode, encode


def rewrite(code: types.CodeType) -> types.CodeType:
    """encode(decode(code)), the code objects among its constants rewritten first."""
    consts = tuple(rewrite(const) if isinstance(const, types.CodeType) else const for const in code.co_consts)
    return encode(decode(code.replace(co_consts=consts)))


def all_codes(code: types.CodeType):
    """`code` and every code object inside it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from all_codes(const)

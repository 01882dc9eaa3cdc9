"""Re-encoding code objects with all the code objects inside them."""

import types
from collections.abc import Callable

from dynamo_lite.pycode import Code, decode, encode


def rewrite(code: types.CodeType, change: Callable[[Code], Code] = lambda code: code) -> types.CodeType:
    """encode(change(decode(code))), the code objects among its constants rewritten first."""
    consts = tuple(rewrite(const, change) if isinstance(const, types.CodeType) else const for const in code.co_consts)
    return encode(change(decode(code.replace(co_consts=consts))))


def all_codes(code: types.CodeType):
    """`code` and every code object inside it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from all_codes(const)

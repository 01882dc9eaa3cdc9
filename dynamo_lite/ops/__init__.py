"""What an op is: one row an op, with its NumPy spellings, type rule and meaning.

Importing the package fills the registry. Capture uses the names below; lowering reads ``REGISTRY[node.op]``.
"""

from dynamo_lite.ops import (
    calls,
    creation,
    elementwise,
    lists,
    masks,
    operators,
    rearrange,
    reductions,
    resize,
    statistics,
    transforms,
    user,
    vector_math,
    views,
)
from dynamo_lite.ops.folded import Folded, lookup_folded
from dynamo_lite.ops.index import index, store_index
from dynamo_lite.ops.operators import binary_operator, inplace_operator, unary_operator
from dynamo_lite.ops.parameters import described
from dynamo_lite.ops.registry import (
    REGISTRY,
    Bound,
    DoesNotBroadcast,
    NotConstant,
    OpDef,
    OpError,
    OpKind,
    Spelling,
    UnknownShape,
    apply,
    attribute,
    call,
    lookup,
    may_report,
    method,
    store,
)

__all__ = [
    "REGISTRY",
    "Bound",
    "DoesNotBroadcast",
    "Folded",
    "NotConstant",
    "OpDef",
    "OpError",
    "OpKind",
    "Spelling",
    "UnknownShape",
    "apply",
    "attribute",
    "binary_operator",
    "call",
    "calls",
    "creation",
    "described",
    "elementwise",
    "index",
    "inplace_operator",
    "lists",
    "lookup",
    "lookup_folded",
    "masks",
    "may_report",
    "method",
    "operators",
    "rearrange",
    "reductions",
    "resize",
    "statistics",
    "store",
    "store_index",
    "transforms",
    "unary_operator",
    "user",
    "vector_math",
    "views",
]

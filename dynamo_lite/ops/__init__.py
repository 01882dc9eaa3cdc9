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
    transforms,
    vector_math,
    views,
)
from dynamo_lite.ops.index import index, store_index
from dynamo_lite.ops.operators import binary_operator, inplace_operator, unary_operator
from dynamo_lite.ops.registry import (
    REGISTRY,
    Bound,
    DoesNotBroadcast,
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
    "elementwise",
    "index",
    "inplace_operator",
    "lists",
    "lookup",
    "masks",
    "may_report",
    "method",
    "operators",
    "rearrange",
    "reductions",
    "store",
    "store_index",
    "transforms",
    "unary_operator",
    "vector_math",
    "views",
]

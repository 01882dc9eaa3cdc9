"""How routines call the functions of C (HELPERS of csrc/abi.def): what they take beside their operands.

RESULT_AT: those that give a status, and put their result where a pointer among the operands says: which one that is.
TAKES_BLOCK: those whose first operand is the block. TAKES_BITS: those that take the bits of the last one as an int64.
"""

from __future__ import annotations

RESULT_AT = {
    **{"python_power": 2, "python_function": 3, "product": 1, "fold": 1, "object_number": 2, "list_number": 3},
    **{"list_scalar": 3, "scalar_object": 4, "object_scalar": 2},
    **{"object_tag": 2, "list_item": 4, "list_pop": 4, "list_repeated": 4, "list_copy": 5, "list_join": 4},
    **{"tuple_item": 5, "array_object": 4, "dict_item": 4},
    "product_of": 0,
}
TAKES_BLOCK = (
    *("append_scalar", "append_array", "new_list", "draw", "draw_integers", "keep", "list_item", "list_touch"),
    *("list_put", "list_put_number", "list_put_tagged", "list_repeated", "list_copy", "list_pop", "list_join"),
    *("tuple_item", "draw_weighted", "draw_order", "keep_origin", "scalar_object", "object_array"),
    *("array_object", "dict_item", "container_put"),
)
TAKES_BITS = ("append", "append_tagged", "append_scalar", "list_put_number", "list_put_tagged", "scalar_object")

__all__ = ["RESULT_AT", "TAKES_BITS", "TAKES_BLOCK"]

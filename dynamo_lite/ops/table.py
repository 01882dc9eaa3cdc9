"""The ops as a Markdown table for the documentation: ``python -m dynamo_lite.ops.table``."""

from __future__ import annotations

from dynamo_lite.graph.opdef import REGISTRY
from dynamo_lite.ops.registry import spellings


def ops_table() -> list[str]:
    """Rows: op, kind, NumPy spellings, meaning; the first two are the table's head."""
    texts = spellings()
    rows = ["| op | kind | spellings | meaning |", "| --- | --- | --- | --- |"]
    for name, op in sorted(REGISTRY.items()):
        spelled = ", ".join(f"`{text}`" for text in texts[name])
        rows.append(f"| `{name}` | {op.kind.value} | {spelled} | {op.doc} |".replace("  ", " "))
    return rows


if __name__ == "__main__":
    print("\n".join(ops_table()))

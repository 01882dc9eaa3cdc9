"""What explain() shows: plain records in, text, JSON or HTML out."""

from dynamo_lite.report.records import (
    BreakRecord,
    CompileRecord,
    Explanation,
    GraphRecord,
    GuardRecord,
)

__all__ = ["BreakRecord", "CompileRecord", "Explanation", "GraphRecord", "GuardRecord"]

"""Writes the sum of a few packed numbers, in NumPy's order, as an LLVM function: reductions in the midst of loops.

Enters the LLVM type of the numbers; leaves the lines of a function. INVARIANT: the bits are those of np.add.reduce.
"""

from __future__ import annotations

LEAF = 128  # numbers that NumPy adds up in eight accumulators


def small_sum(kind: str) -> list[str]:
    """The function ``sum.kind(ptr, n)``: the sum of n <= LEAF packed numbers, of more 0, in the order of NumPy's
    pairwise_sum (numpy/_core/src/umath/loops_utils.h.src): csrc/kernels/fold_pairwise.h has it for any layout."""
    vector = f"<8 x {kind}>"
    align = 8 if kind == "double" else 4
    lines = [
        f"define internal {kind} @sum.{kind}(ptr %a, i64 %n) alwaysinline nounwind {{",
        "entry:",
        f"  %long = icmp ugt i64 %n, {LEAF}",
        "  br i1 %long, label %no, label %yes",
        "no:",
        f"  ret {kind} 0.0",
        "yes:",
        "  %small = icmp ult i64 %n, 8",
        "  br i1 %small, label %rest, label %blocks",
        "blocks:",
        f"  %first = load {vector}, ptr %a, align {align}",
        "  %whole = and i64 %n, -8",
        "  br label %head",
        "head:",
        "  %i = phi i64 [ 8, %blocks ], [ %i.next, %body ]",
        f"  %r = phi {vector} [ %first, %blocks ], [ %r.next, %body ]",
        "  %on = icmp ult i64 %i, %whole",
        "  br i1 %on, label %body, label %tree",
        "body:",
        f"  %at = getelementptr {kind}, ptr %a, i64 %i",
        f"  %more = load {vector}, ptr %at, align {align}",
        f"  %r.next = fadd {vector} %r, %more",
        "  %i.next = add i64 %i, 8",
        "  br label %head",
        "tree:",
        *(f"  %r{lane} = extractelement {vector} %r, i64 {lane}" for lane in range(8)),
        *(f"  %p{lane} = fadd {kind} %r{lane}, %r{lane + 1}" for lane in range(0, 8, 2)),
        *(f"  %q{lane} = fadd {kind} %p{lane}, %p{lane + 2}" for lane in range(0, 8, 4)),
        f"  %all = fadd {kind} %q0, %q4",
        "  br label %rest",
        "rest:",
        "  %j = phi i64 [ 0, %yes ], [ %whole, %tree ], [ %j.next, %one ]",
        f"  %sum = phi {kind} [ -0.0, %yes ], [ %all, %tree ], [ %sum.next, %one ]",
        "  %left = icmp ult i64 %j, %n",
        "  br i1 %left, label %one, label %end",
        "one:",
        f"  %from = getelementptr {kind}, ptr %a, i64 %j",
        f"  %number = load {kind}, ptr %from, align {align}",
        f"  %sum.next = fadd {kind} %sum, %number",
        "  %j.next = add i64 %j, 1",
        "  br label %rest",
        "end:",
        f"  %result = fadd {kind} %sum, 0.0",  # NumPy begins at 0.0
        f"  ret {kind} %result",
        "}",
    ]
    return lines

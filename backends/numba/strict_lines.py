"""Writes LLVM text in blocks, for code whose every step may end it: scalars only, strict floating-point arithmetic.

Enters what llvm_text.py's Lines take; leaves lines in which arithmetic is LLVM's strict (constrained) operation: the
optimiser neither drops one that may set a floating-point flag, nor runs one that the program does not reach, nor
computes one itself. INVARIANT: `block` is the label under which the next line stands, as phis need it.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import cache

import llvmlite.binding as llvm  # type: ignore[import-untyped]
from dynamo_lite.backends.numba.llvm_text import DType, Lines


class StrictLines(Lines):
    """Scalar lines in which arithmetic that may set a floating-point flag is strict, and that knows its block."""

    def __init__(self) -> None:
        super().__init__()
        self.block = "entry"  # the one that is being written
        self.apart: list[str] = []  # blocks off the straight way
        self.compared: dict[str, tuple[str, DType, list[str]]] = {}  # by the mask
        self.failures: set[str] = set()  # why the function may return early

    def label(self, name: str) -> None:
        """Begin a block."""
        self.put(f"{name}:")
        self.block = name

    def decline_if(self, condition: str, failure: str) -> None:
        """Return at once where the condition (an i1) holds."""
        self.failures.add(failure)
        on = self.name("on")
        self.put(f"  br i1 {condition}, label %decline.{failure}, label %{on}, !prof !0")
        self.label(on)

    def aside(self, condition: str, write: Callable[[], str | None], kind: str = "", value: str = "") -> str:
        """Where the condition holds, a block apart comes first; the value (of LLVM type `kind`) is what it gives."""
        stem = self.name("aside")
        before = self.block
        self.put(f"  br i1 {condition}, label %{stem}, label %{stem}.on, !prof !0")
        straight, self.text = self.text, []
        self.label(stem)
        other = write()
        self.put(f"  br label %{stem}.on")
        after = self.block
        self.apart += self.text
        self.text = straight
        self.label(f"{stem}.on")
        return self.do(f"phi {kind} [ {value}, %{before} ], [ {other}, %{after} ]") if kind else ""

    def op(self, name: str, dtype: DType, *args: str) -> str:
        """Append an instruction, an arithmetic one in its strict form."""
        if name not in ("fadd", "fsub", "fmul", "fdiv"):
            return super().op(name, dtype, *args)
        kind = self.type_of(dtype)
        return self._strict(name, kind, [(kind, operand) for operand in args], True)

    def quiet_compare(self, predicate: str, dtype: DType, args: list[str]) -> str:
        """Compare floats; what was compared is known of the mask."""
        mask = super().quiet_compare(predicate, dtype, args)
        self.compared[mask] = (predicate, dtype, args)
        return mask

    def select(self, mask: str, dtype: DType, yes: str, no: str) -> str:
        """yes where mask, else no. NB: x86 has no conditional move of a float, and LLVM writes a jump instead."""
        return self.blend(self.compared.get(mask), dtype, yes, no) or super().select(mask, dtype, yes, no)

    def choose(self, mask: str, dtype: DType, arms: tuple[str, str], computed: tuple[bool, ...]) -> str:
        """``select`` of floats of which some were computed."""
        return self.blend(self.compared.get(mask), dtype, *arms) or super().choose(mask, dtype, arms, computed)

    def blend(self, compared: tuple[str, DType, list[str]] | None, dtype: DType, yes: str, no: str) -> str:
        """The same by a mask of bits, which a comparison of floats of that dtype gives; "" where there is none."""
        if compared is None or compared[1] != dtype or dtype.char not in "fd" or not has_blends():
            return ""
        predicate, _, sides = compared
        kind, wide = self.type_of(dtype), "<2 x double>" if dtype.char == "d" else "<4 x float>"
        compare, blend = _BLENDS[dtype.char]
        self.declarations.add(f"declare {wide} @llvm.x86.{compare}({wide}, {wide}, i8 immarg)")
        self.declarations.add(f"declare {wide} @llvm.x86.{blend}({wide}, {wide}, {wide})")
        a, b, *arms = (
            self.do(f"insertelement {wide} poison, {kind} {value}, i32 0") for value in (*sides, no, yes)
        )
        bits = self.do(f"call {wide} @llvm.x86.{compare}({wide} {a}, {wide} {b}, i8 {_QUIET[predicate]})")
        chosen = self.do(f"call {wide} @llvm.x86.{blend}({wide} {arms[0]}, {wide} {arms[1]}, {wide} {bits})")
        return self.do(f"extractelement {wide} {chosen}, i32 0")

    def with_overflow(self, name: str, dtype: DType, args: list[str]) -> tuple[str, str]:
        """A sum, difference or product, and whether it did not fit. NB: a product by a few is one addition of an
        address, a third of the time of the multiplication that tells whether it fits."""
        result, over = super().with_overflow(name, dtype, args)
        if name == "mul" and _FEW & set(args):
            result = self.op("mul", dtype, *args)
        return result, over

    def convert(self, name: str, source: DType, target: DType, value: str) -> str:
        """Append a conversion, of a float in its strict form."""
        if name not in ("fpext", "fptrunc", "fptosi"):
            return super().convert(name, source, target, value)
        return self._strict(name, self.type_of(target), [(self.type_of(source), value)], name == "fptrunc")

    def intrinsic(self, name: str, dtype: DType, args: list[str]) -> str:
        """Call llvm.<name> on values of dtype, or the strict form of it."""
        if name != "sqrt":
            return super().intrinsic(name, dtype, args)
        kind = self.type_of(dtype)
        return self._strict(name, kind, [(kind, arg) for arg in args], True)

    def _strict(self, name: str, result: str, operands: list[tuple[str, str]], rounds: bool) -> str:
        kinds = [kind for kind, _ in operands]
        suffix = ".".join(map(_suffix, [result, *(kind for kind in kinds[:1] if kind != result)]))
        full = f"@llvm.experimental.constrained.{name}.{suffix}"
        metadata = ['metadata !"round.tonearest"'] * rounds + ['metadata !"fpexcept.strict"']
        self.declarations.add(f"declare {result} {full}({', '.join(kinds + ['metadata'] * len(metadata))})")
        arguments = [f"{kind} {operand}" for kind, operand in operands] + metadata
        return self.do(f"call {result} {full}({', '.join(arguments)}) #0")


# Comparisons by AVX that set no flag for a quiet NaN: Intel's manual of the instruction set, table of CMPPD.
_QUIET = {
    "oeq": 0x00, "olt": 0x11, "ole": 0x12, "ogt": 0x1E, "oge": 0x1D, "one": 0x0C, "ord": 0x07,
    "ueq": 0x08, "ult": 0x19, "ule": 0x1A, "ugt": 0x16, "uge": 0x15, "une": 0x04, "uno": 0x03,
}  # fmt: skip
_FEW = frozenset(("2", "3", "4", "5", "8", "9"))
_BLENDS = {"d": ("sse2.cmp.sd", "sse41.blendvpd"), "f": ("sse.cmp.ss", "sse41.blendvps")}


@cache
def has_blends() -> bool:
    """Whether the processor has AVX, so that floats are chosen by masks of bits, without a jump."""
    return platform.machine() in ("x86_64", "AMD64") and bool(llvm.get_host_cpu_features().get("avx"))


PREDICATES = {
    "less": "olt", "less_equal": "ole", "greater": "ogt", "greater_equal": "oge", "equal": "oeq", "not_equal": "une",
    "unordered": "uno",
}  # fmt: skip


def _suffix(kind: str) -> str:
    return {"float": "f32", "double": "f64"}.get(kind, kind)

"""Writes instructions as C, for the table of program/element_ops.py: one element at a time.

Enters LLVM's names of instructions; leaves declarations of local variables, each computed once. NB: what GCC is asked
for (compile.py) keeps operations that may set a floating-point flag; the text takes care that none is skipped: nothing
is chosen by a branch or ``?:`` that was computed, and comparisons never see a NaN where these would report it.
INVARIANT: an integer variable has the type of its dtype, so that arithmetic wraps around as NumPy's.
"""

from __future__ import annotations

import math

import numpy as np

from dynamo_lite.program.element_ops import BOOL, DType, bits_dtype, part_dtype

INFIX = {
    "fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/", "add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|",
    "xor": "^", "shl": "<<", "lshr": ">>", "ashr": ">>", "udiv": "/", "urem": "%", "sdiv": "/", "srem": "%",
}  # fmt: skip
COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
STRICT_OPS = ("fadd", "fsub", "fmul", "fdiv", "fpext", "fptrunc", "fptosi")

PRELUDE = """\
#if !defined(__GNUC__) || defined(__clang__)
#error "only GCC is known to keep operations for their floating-point flags alone"
#endif
typedef signed char i8; typedef short i16; typedef int i32; typedef __INT64_TYPE__ i64;
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned u32; typedef __UINT64_TYPE__ u64;
typedef float f32; typedef double f64;
typedef struct { u16 at[1]; } w2; typedef struct { u64 at[1]; } w8;
typedef struct { u64 at[2]; } w16; typedef struct { u64 at[4]; } w32;
#define INLINE static inline __attribute__((always_inline))
#define OF_PARTS(W, F) \\
    INLINE F part_##W(W z, int i) { F p[2]; __builtin_memcpy(p, &z, sizeof p); return p[i]; } \\
    INLINE W W##_of(F x, F y) { F p[2] = {x, y}; W z; __builtin_memcpy(&z, p, sizeof z); return z; }
OF_PARTS(w8, f32)
OF_PARTS(w16, f64)
#define SELDOM(x) __builtin_expect(x, 0)
#if defined(__x86_64__)
#define KEEP(x) __asm__ volatile("" : "+x"(x)) /* it is computed here, whoever needs it */
#else
#define KEEP(x) __asm__ volatile("" : "+m"(x))
#endif
#define KEEP_INT(x) __asm__ volatile("" : "+r"(x))
#define OF_FLOATS(F, I, U) \\
    INLINE I bits_##F(F x) { I b; __builtin_memcpy(&b, &x, sizeof b); return b; } \\
    INLINE F F##_of(I b) { F x; __builtin_memcpy(&x, &b, sizeof x); return x; } \\
    INLINE F choose_##F(_Bool c, F x, F y) \\
    { U m = -(U)c; return F##_of((I)(((U)bits_##F(x) & m) | ((U)bits_##F(y) & ~m))); } \\
    INLINE _Bool uno_##F(F x, F y) { return __builtin_isunordered(x, y); } \\
    INLINE _Bool oeq_##F(F x, F y) { return x == y; } \\
    INLINE _Bool une_##F(F x, F y) { return x != y; } \\
    COMPARE(olt_##F, F, I, U, <) COMPARE(ole_##F, F, I, U, <=) \\
    COMPARE(ogt_##F, F, I, U, >) COMPARE(oge_##F, F, I, U, >=) \\
    INLINE _Bool ult_##F(F x, F y) { return !oge_##F(x, y); }
/* NB: vectors that GCC makes of __builtin_isless report quiet NaNs; so neither operand is one. */
#define COMPARE(name, F, I, U, sign) \\
    INLINE _Bool name(F x, F y) \\
    { _Bool o = !__builtin_isunordered(x, y); U m = -(U)o; \\
      return (F##_of((I)((U)bits_##F(x) & m)) sign F##_of((I)((U)bits_##F(y) & m))) & o; }
OF_FLOATS(f32, i32, u32)
OF_FLOATS(f64, i64, u64)
"""


def c_type(dtype: DType) -> str:
    """The C type of one element in memory; a float16, which is only copied, and a complex number are structs."""
    if dtype.hasobject:
        return "char *"
    if dtype.kind == "b":
        return "u8"
    if dtype.kind in "iu" or (dtype.kind == "f" and dtype.itemsize in (4, 8)):
        return f"{dtype.kind}{8 * dtype.itemsize}"
    return f"w{dtype.itemsize}"


class Lines:
    """The lines of a function. top: those before all others. strict: each operation that may report something is
    computed where it stands, whatever happens after it."""

    def __init__(self, strict: bool = False) -> None:
        self.text: list[str] = []
        self.top: list[str] = []
        self.strict = strict
        self.hidden: dict[tuple[str, str], str] = {}
        self._count = 0

    def name(self, stem: str = "v") -> str:
        """A fresh name."""
        self._count += 1
        return f"{stem}{self._count}"

    def put(self, line: str) -> None:
        """Append a statement."""
        self.text.append(line)

    def do(self, kind: str, expression: str) -> str:
        """Append a variable of that type; its name."""
        name = self.name()
        self.put(f"{kind} {name} = {expression};")
        return name

    def _kept(self, dtype: DType, name: str) -> str:
        self.put(f"{'KEEP' if dtype.kind == 'f' else 'KEEP_INT'}({name});")
        return name

    def op(self, name: str, dtype: DType, *args: str) -> str:
        if dtype.kind == "b":
            return self.do("_Bool", f"{args[0]} {INFIX[name]} {args[1]}")
        kind, (left, right) = c_type(dtype), args
        if dtype.kind == "f" and all(arg[0] == "(" for arg in args):  # GCC would compute with what it knows
            left = self._kept(dtype, self.do(kind, left))
        if name in ("lshr", "ashr"):
            left = f"({'u' if name == 'lshr' else 'i'}{8 * dtype.itemsize}){left}"
        found = self.do(kind, f"({kind})({left} {INFIX[name]} {right})")
        return self._kept(dtype, found) if self.strict and name in STRICT_OPS else found

    def compare(self, predicate: str, dtype: DType, *args: str) -> str:
        if dtype.kind == "f":
            return self.quiet_compare(predicate, dtype, list(args))
        left, right = args
        if predicate not in ("eq", "ne"):
            kind = f"{'i' if predicate[0] == 's' else 'u'}{8 * dtype.itemsize}"
            left, right, predicate = f"({kind}){left}", f"({kind}){right}", predicate[1:]
        return self.do("_Bool", f"{left} {COMPARED[predicate]} {right}")

    def convert(self, name: str, source: DType, target: DType, value: str) -> str:
        kind = c_type(target)
        if name == "sext" and source == BOOL:
            return self.do(kind, f"({kind})-(i32){value}")
        if name == "fptosi":
            value = f"(i{8 * target.itemsize}){value}"
        found = self.do(kind, f"({kind}){value}")
        return self._kept(target, found) if self.strict and name in STRICT_OPS else found

    def bits_of(self, dtype: DType, value: str) -> str:
        return self.do(c_type(bits_dtype(dtype)), f"bits_{c_type(dtype)}({value})")

    def float_of(self, dtype: DType, bits: str) -> str:
        return self.do(c_type(dtype), f"{c_type(dtype)}_of({bits})")

    def splat_constant(self, dtype: DType, value: float) -> str:
        """A float constant; in strict code one that the optimiser does not know."""
        literal = f"({c_type(dtype)}){value.hex()}"
        if not math.isfinite(value):
            bits = int(np.array(value, dtype).view(f"u{dtype.itemsize}"))
            literal = f"({c_type(dtype)}_of({self.splat_bits(bits_dtype(dtype), bits)}))"
        return self._hide(c_type(dtype), literal) if self.strict else literal

    def splat_bits(self, dtype: DType, bits: int) -> str:
        """An integer constant as wide as dtype."""
        kind = c_type(dtype if dtype.kind in "iub" else bits_dtype(dtype))
        return f"({kind}){bits & ((1 << 8 * dtype.itemsize) - 1):#x}u" + "ll" * (dtype.itemsize == 8)

    def zero(self, dtype: DType) -> str:
        return self.splat_constant(dtype, 0.0) if dtype.kind == "f" else self.splat_bits(dtype, 0)

    def all_ones(self, dtype: DType) -> str:
        return "(_Bool)1" if dtype.kind == "b" else self.splat_bits(dtype, (1 << 8 * dtype.itemsize) - 1)

    def sign_mask(self, dtype: DType) -> str:
        """The sign bit of dtype, as a value the optimiser cannot see through: it would take a + (-b) for a - b."""
        return self._hide(c_type(bits_dtype(dtype)), hex(1 << (8 * dtype.itemsize - 1)) + "ull")

    def hidden_constant(self, dtype: DType, value: float) -> str:
        return self._hide(c_type(dtype), value.hex())

    def unknown(self, dtype: DType, value: str) -> str:
        """The same integer, as a value the optimiser cannot see through."""
        return self.op("or", dtype, value, self._hide(c_type(dtype), "0"))

    def _hide(self, kind: str, literal: str) -> str:
        """A constant that is read from memory once."""
        if (kind, literal) not in self.hidden:
            self.hidden[kind, literal] = name = self.name("hidden")
            self.top += [f"volatile {kind} {name}_at = {literal};", f"{kind} {name} = {name}_at;"]
        return self.hidden[kind, literal]

    def select(self, mask: str, dtype: DType, yes: str, no: str) -> str:
        return self.do(c_type(dtype), f"{mask} ? {yes} : {no}")

    def choose(self, mask: str, dtype: DType, arms: tuple[str, str], computed: tuple[bool, ...]) -> str:
        return self.do(c_type(dtype), f"choose_{c_type(dtype)}({mask}, {', '.join(arms)})")

    def intrinsic(self, name: str, dtype: DType, args: list[str]) -> str:
        if name == "fabs":  # of which GCC would take fabs(x) * fabs(x) for x * x, where the sign of a NaN stays
            keeps = self.op("xor", bits_dtype(dtype), self.sign_mask(dtype), self.splat_bits(bits_dtype(dtype), -1))
            return self.float_of(dtype, self.op("and", bits_dtype(dtype), self.bits_of(dtype, args[0]), keeps))
        found = self.do(c_type(dtype), f"__builtin_{name}{'f' if dtype.itemsize == 4 else ''}({', '.join(args)})")
        return self._kept(dtype, found) if self.strict and name == "sqrt" else found

    def quiet_compare(self, predicate: str, dtype: DType, args: list[str]) -> str:
        return self.do("_Bool", f"{predicate}_{c_type(dtype)}({', '.join(args)})")

    def is_nan(self, dtype: DType, value: str) -> str:
        return self.quiet_compare("uno", dtype, [value, value])

    def negated(self, dtype: DType, value: str) -> str:
        """The float with its sign changed."""
        return self.do(c_type(dtype), f"-{value}")

    def part(self, dtype: DType, value: str, number: int) -> str:
        """The real (0) or imaginary part (1) of a complex number."""
        return self.do(c_type(part_dtype(dtype)), f"part_{c_type(dtype)}({value}, {number})")

    def complex_of(self, part: DType, real: str, imag: str) -> str:
        """The complex number that has these parts."""
        kind = f"w{2 * part.itemsize}"
        return self.do(kind, f"{kind}_of({real}, {imag})")

    def with_overflow(self, name: str, dtype: DType, args: list[str]) -> tuple[str, str]:
        result = self.name()
        self.put(f"{c_type(dtype)} {result};")
        return result, self.do("_Bool", f"__builtin_{name}_overflow({', '.join(args)}, &{result})")

    def mask_of(self, byte: str) -> str:
        return self.do("_Bool", f"{byte} != 0")

    def byte_of(self, mask: str) -> str:
        return self.do("u8", mask)

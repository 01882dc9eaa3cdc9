"""Writes LLVM instructions as text, for scalars or for vectors of a fixed width.

Enters: instruction templates of program/element_ops.py and the loop structure of emit.py. Leaves: the lines of one LLVM
function and the intrinsics it declares. Values are SSA names such as "%v7"; a bool is a byte in memory and an i1 when
computed with. INVARIANT: no fast-math flag is ever written.
"""

from __future__ import annotations

import functools
import platform
import struct
from collections.abc import Iterable
from typing import TypeAlias

import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numpy as np

DType = np.dtype[np.generic]
BOOL = np.dtype(np.bool_)

INT_TYPES = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}
Seen: TypeAlias = dict[int, str]  # of each status that is noted, in which lanes it was


def mask_type_of(width: int) -> str:
    """The LLVM type of a mask of so many lanes; 0 is a single i1."""
    return f"<{width} x i1>" if width else "i1"


class Lines:
    """The lines written so far. ``width`` is the vector width, 0 for scalars. ``order``: which element each lane has,
    where that is not its own: the parts of complex numbers come apart in this order by one instruction each."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.declarations: set[str] = set()
        self.width = 0
        self.order: tuple[int, ...] = ()
        self.hidden: dict[tuple[str, str], str] = {}
        self._count = 0
        self._preheader = 0
        self._hoisted: dict[tuple[str, str], str] = {}

    def name(self, stem: str = "v") -> str:
        """A fresh SSA name or label."""
        self._count += 1
        return f"{stem}{self._count}"

    def put(self, line: str) -> None:
        """Append an instruction that yields nothing, or a label."""
        self.text.append(line)

    def do(self, instruction: str) -> str:
        """Append an instruction; return the name of its value."""
        result = "%" + self.name()
        self.text.append(f"  {result} = {instruction}")
        return result

    def open_loop(self, width: int, dtypes: Iterable[DType] = ()) -> None:
        """Compute at `width` from here on; what ``splat`` yields is placed here, before the loop to come. dtypes: of
        what the loop loads and stores."""
        self.width = width
        self.order = _order_of_parts(width, dtypes) if width else ()
        self._preheader = len(self.text)
        self._hoisted = {}

    def lanes(self, scalar: str) -> str:
        """The scalar LLVM type at the current width."""
        return f"<{self.width} x {scalar}>" if self.width else scalar

    def type_of(self, dtype: DType, mask: bool = False) -> str:
        """The LLVM type of a value of dtype; with mask, a bool counts as i1. Vectors of complex numbers have a lane for
        each part."""
        if self.width and dtype.kind == "c":
            return f"<{2 * self.width} x {_part_type(dtype)}>"
        return self.lanes("i1" if mask and dtype.kind == "b" else scalar_type(dtype))

    def item_type(self, dtype: DType) -> str:
        """The LLVM type of what is put into a vector."""
        return f"<2 x {_part_type(dtype)}>" if self.width and dtype.kind == "c" else scalar_type(dtype)

    def insert(self, dtype: DType, vector: str, item: str, lane: int) -> str:
        """The vector with an item in place of a lane."""
        kind, of = self.type_of(dtype), self.item_type(dtype)
        if dtype.kind != "c" or not self.width:
            return self.do(f"insertelement {kind} {vector}, {of} {item}, i64 {lane}")
        n = 2 * self.width
        places = ", ".join(f"i32 {at if at < 2 else 'poison'}" for at in range(n))
        wide = self.do(f"shufflevector {of} {item}, {of} poison, <{n} x i32> <{places}>")
        places = ", ".join(f"i32 {n + at - 2 * lane if at // 2 == lane else at}" for at in range(n))
        return self.do(f"shufflevector {kind} {vector}, {kind} {wide}, <{n} x i32> <{places}>")

    def extract(self, dtype: DType, vector: str, lane: int) -> str:
        """A lane of a vector."""
        kind = self.type_of(dtype)
        if dtype.kind != "c" or not self.width:
            return self.do(f"extractelement {kind} {vector}, i64 {lane}")
        return self.do(
            f"shufflevector {kind} {vector}, {kind} poison, <2 x i32> <i32 {2 * lane}, i32 {2 * lane + 1}>"
        )

    def splat_of(self, dtype: DType, value: str, here: bool = False) -> str:
        """A number in every lane, computed once before the loop unless `here`."""
        scalar = scalar_type(dtype)
        if not self.width or dtype.kind != "c":
            return self.splat_here(scalar, value) if here else self.splat(scalar, value)
        key = (f"complex {scalar}", value)
        if here or key not in self._hoisted:
            pair, result = "%" + self.name(), "%" + self.name()
            of, n = self.item_type(dtype), 2 * self.width
            places = ", ".join(f"i32 {at % 2}" for at in range(n))
            text = [
                f"  {pair} = bitcast {scalar} {value} to {of}",
                f"  {result} = shufflevector {of} {pair}, {of} poison, <{n} x i32> <{places}>",
            ]
            if here:
                self.text += text
                return result
            self.text[self._preheader : self._preheader] = text
            self._preheader += 2
            self._hoisted[key] = result
        return self._hoisted[key]

    def part(self, dtype: DType, value: str, number: int) -> str:
        """The real (0) or imaginary part (1) of a complex number."""
        scalar = _part_type(dtype)
        if not self.width:
            pair = self.do(f"bitcast {scalar_type(dtype)} {value} to <2 x {scalar}>")
            return self.do(f"extractelement <2 x {scalar}> {pair}, i64 {number}")
        kind = self.type_of(dtype)
        places = ", ".join(f"i32 {2 * lane + number}" for lane in self.order or range(self.width))
        return self.do(f"shufflevector {kind} {value}, {kind} poison, <{self.width} x i32> <{places}>")

    def complex_of(self, part: DType, real: str, imag: str) -> str:
        """The complex number that has these parts."""
        kind, scalar = self.type_of(part), scalar_type(part)
        if not self.width:
            first = self.do(f"insertelement <2 x {scalar}> poison, {scalar} {real}, i64 0")
            pair = self.do(f"insertelement <2 x {scalar}> {first}, {scalar} {imag}, i64 1")
            return self.do(f"bitcast <2 x {scalar}> {pair} to i{16 * part.itemsize}")
        places = ", ".join(f"i32 {lane}, i32 {lane + self.width}" for lane in self.order or range(self.width))
        return self.do(f"shufflevector {kind} {real}, {kind} {imag}, <{2 * self.width} x i32> <{places}>")

    def reordered(self, dtype: DType, value: str) -> str:
        """What lies in memory in the order of the lanes, and the other way round."""
        if not self.width or not self.order or dtype.kind == "c":
            return value
        kind, places = self.type_of(dtype), ", ".join(f"i32 {lane}" for lane in self.order)
        return self.do(f"shufflevector {kind} {value}, {kind} poison, <{self.width} x i32> <{places}>")

    def _for_parts(self, dtype: DType, mask: str, order: tuple[int, ...] = ()) -> tuple[str, int, str]:
        """A mask with a lane for each lane of a vector of dtype, how many these are, and their scalar type. order: of
        the mask's lanes."""
        if dtype.kind != "c":
            return f"{self.mask_type} {mask}", self.width, scalar_type(dtype)
        n = 2 * self.width
        lanes = order or range(self.width)
        places = ", ".join(f"i32 {lane}, i32 {lane}" for lane in lanes)
        twice = self.do(f"shufflevector {self.mask_type} {mask}, {self.mask_type} poison, <{n} x i32> <{places}>")
        return f"<{n} x i1> {twice}", n, _part_type(dtype)

    @property
    def mask_type(self) -> str:
        return self.lanes("i1")

    def bits_type(self, dtype: DType) -> str:
        """The integer type as wide as dtype."""
        return self.lanes(INT_TYPES[dtype.itemsize])

    def op(self, name: str, dtype: DType, *args: str) -> str:
        """An instruction on operands of one dtype."""
        return self.do(f"{name} {self.type_of(dtype, mask=True)} {', '.join(args)}")

    def compare(self, predicate: str, dtype: DType, *args: str) -> str:
        """A comparison; one of floats may set the invalid flag."""
        return self.op(f"{'fcmp' if dtype.kind == 'f' else 'icmp'} {predicate}", dtype, *args)

    def convert(self, name: str, source: DType, target: DType, value: str) -> str:
        """An instruction that makes a value of another dtype."""
        return self.do(f"{name} {self.type_of(source, mask=True)} {value} to {self.type_of(target, mask=True)}")

    def mask_of(self, byte: str) -> str:
        """A bool from memory as it is computed with."""
        return self.do(f"icmp ne {self.lanes('i8')} {byte}, {self.splat_bits(BOOL, 0)}")

    def byte_of(self, mask: str) -> str:
        """A bool as it lies in memory."""
        return self.do(f"zext {self.mask_type} {mask} to {self.lanes('i8')}")

    def negated(self, dtype: DType, value: str) -> str:
        """The float with its sign changed; of a NaN maybe not."""
        return self.op("fneg", dtype, value)

    def bits_of(self, dtype: DType, value: str) -> str:
        """A float's bits as an integer."""
        return self.do(f"bitcast {self.type_of(dtype)} {value} to {self.bits_type(dtype)}")

    def float_of(self, dtype: DType, bits: str) -> str:
        """The float that has these bits."""
        return self.do(f"bitcast {self.bits_type(dtype)} {bits} to {self.type_of(dtype)}")

    def _constant(self, scalar: str, literal: str) -> str:
        return f"splat ({scalar} {literal})" if self.width else literal

    def splat_constant(self, dtype: DType, value: float) -> str:
        """A float constant that dtype represents exactly."""
        return self._constant(scalar_type(dtype), f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}")

    def splat_bits(self, dtype: DType, bits: int) -> str:
        """An integer constant as wide as dtype."""
        size = 8 * dtype.itemsize
        return self._constant(INT_TYPES[dtype.itemsize], str(bits - (1 << size) if bits >> (size - 1) else bits))

    def zero(self, dtype: DType) -> str:
        """Zero (positive for a float)."""
        return self.splat_constant(dtype, 0.0) if dtype.kind == "f" else self.splat_bits(dtype, 0)

    def all_ones(self, dtype: DType) -> str:
        """The integer -1, or true."""
        return (
            self._constant("i1", "true") if dtype.kind == "b" else self.splat_bits(dtype, (1 << 8 * dtype.itemsize) - 1)
        )

    def sign_mask(self, dtype: DType) -> str:
        """The sign bit of dtype, as a value the optimiser cannot see through."""
        return self._hide(INT_TYPES[dtype.itemsize], str(-(1 << (8 * dtype.itemsize - 1))))

    def hidden_constant(self, dtype: DType, value: float) -> str:
        """A float constant that the optimiser does not know, so that what is computed of it is computed at run time."""
        width, self.width = self.width, 0
        literal = self.splat_constant(dtype, value)
        self.width = width
        return self._hide(scalar_type(dtype), literal)

    def unknown(self, dtype: DType, value: str) -> str:
        """The same integer, as a value the optimiser cannot see through."""
        zero = self._hide(INT_TYPES[dtype.itemsize], "0")
        return self.do(f"or {self.type_of(dtype)} {value}, {zero}")

    def _hide(self, scalar: str, literal: str) -> str:
        """A constant that lies in memory and is loaded once, in every lane."""
        name = self.hidden.setdefault((scalar, literal), f"hidden{len(self.hidden)}")
        return self.splat(scalar, f"%{name}")

    def splat(self, scalar: str, value: str) -> str:
        """A loop-invariant scalar in every lane, computed once before the loop."""
        if not self.width:
            return value
        if (scalar, value) not in self._hoisted:
            lanes = f"<{self.width} x {scalar}>"
            first, result = "%" + self.name(), "%" + self.name()
            self.text[self._preheader : self._preheader] = [
                f"  {first} = insertelement {lanes} poison, {scalar} {value}, i64 0",
                f"  {result} = shufflevector {lanes} {first}, {lanes} poison, <{self.width} x i32> zeroinitializer",
            ]
            self._preheader += 2
            self._hoisted[scalar, value] = result
        return self._hoisted[scalar, value]

    def splat_here(self, scalar: str, value: str) -> str:
        """A scalar in every lane, computed where it is used."""
        if not self.width:
            return value
        lanes = f"<{self.width} x {scalar}>"
        first = self.do(f"insertelement {lanes} poison, {scalar} {value}, i64 0")
        return self.do(f"shufflevector {lanes} {first}, {lanes} poison, <{self.width} x i32> zeroinitializer")

    def masked_load(self, dtype: DType, at: str, mask: str, otherwise: str) -> str:
        """Load the lanes of the mask; the others are those of `otherwise`."""
        kind = self.type_of(dtype)
        mask, n, scalar = self._for_parts(dtype, mask)
        name = f"@llvm.masked.load.v{n}{_short(scalar)}.p0"
        self.declarations.add(f"declare {kind} {name}(ptr, i32 immarg, <{n} x i1>, {kind})")
        return self.do(f"call {kind} {name}(ptr {at}, i32 {dtype.alignment}, {mask}, {kind} {otherwise})")

    def masked_store(self, dtype: DType, at: str, mask: str, value: str) -> None:
        """Store the lanes of the mask."""
        kind = self.type_of(dtype)
        mask, n, scalar = self._for_parts(dtype, mask)
        name = f"@llvm.masked.store.v{n}{_short(scalar)}.p0"
        self.declarations.add(f"declare void {name}({kind}, ptr, i32 immarg, <{n} x i1>)")
        self.put(f"  call void {name}({kind} {value}, ptr {at}, i32 {dtype.alignment}, {mask})")

    def scatter(self, dtype: DType, addresses: str, mask: str, value: str) -> None:
        """Store the lanes of the mask, each at its address."""
        kind, pointers = self.type_of(dtype), self.lanes("ptr")
        name = f"@llvm.masked.scatter.v{self.width}{_short(scalar_type(dtype))}.v{self.width}p0"
        self.declarations.add(f"declare void {name}({kind}, {pointers}, i32 immarg, {self.mask_type})")
        operands = f"{kind} {value}, {pointers} {addresses}, i32 {dtype.alignment}, {self.mask_type} {mask}"
        self.put(f"  call void {name}({operands})")

    def select(self, mask: str, dtype: DType, yes: str, no: str) -> str:
        """yes where mask, else no; a bool dtype selects bytes, of complex numbers the parts."""
        kind = self.type_of(dtype)
        if self.width and dtype.kind == "c":
            mask, _, _ = self._for_parts(dtype, mask, self.order)
            return self.do(f"select {mask}, {kind} {yes}, {kind} {no}")
        return self.do(f"select {self.mask_type} {mask}, {kind} {yes}, {kind} {no}")

    def choose(self, mask: str, dtype: DType, arms: tuple[str, str], computed: tuple[bool, ...]) -> str:
        """``select`` of floats of which some were computed, for which the code generator must not compute the chosen
        lanes alone (AVX-512 has such instructions), or jump over what is not chosen (x86 has no conditional move of a
        float): then the flags of the others would be missing."""
        yes, no = (self.fence(dtype, arm) if of else arm for arm, of in zip(arms, computed, strict=True))
        if self.width:
            return self.select(mask, dtype, yes, no)
        kind, bits = self.type_of(dtype), INT_TYPES[dtype.itemsize]
        ones = self.do(f"sext i1 {mask} to {bits}")
        zeros = self.do(f"xor {bits} {ones}, -1")
        parts = [
            self.do(f"and {bits} {self.do(f'bitcast {kind} {value} to {bits}')}, {kept}")
            for value, kept in ((yes, ones), (no, zeros))
        ]
        return self.do(f"bitcast {bits} {self.do(f'or {bits} {parts[0]}, {parts[1]}')} to {kind}")

    def intrinsic(self, name: str, dtype: DType, args: list[str]) -> str:
        """Call llvm.<name> on values of dtype."""
        kind = self.type_of(dtype)
        full = f"@llvm.{name}.{self._suffix(dtype)}"
        self.declarations.add(f"declare {kind} {full}({', '.join(kind for _ in args)})")
        return self.do(f"call {kind} {full}({', '.join(f'{kind} {arg}' for arg in args)})")

    def with_overflow(self, name: str, dtype: DType, args: list[str]) -> tuple[str, str]:
        """A sum, difference or product ("add", "sub", "mul") of integers that wraps around, and whether it did."""
        kind, sign = self.type_of(dtype), "s" if dtype.kind == "i" else "u"
        lanes = f"v{self.width}" if self.width else ""
        full = f"@llvm.{sign}{name}.with.overflow.{lanes}i{8 * dtype.itemsize}"
        pair = f"{{ {kind}, {self.mask_type} }}"
        self.declarations.add(f"declare {pair} {full}({kind}, {kind})")
        found = self.do(f"call {pair} {full}({kind} {args[0]}, {kind} {args[1]})")
        return self.do(f"extractvalue {pair} {found}, 0"), self.do(f"extractvalue {pair} {found}, 1")

    def fence(self, dtype: DType, value: str) -> str:
        """The same float, as one that no other instruction is merged with."""
        return self.intrinsic("arithmetic.fence", dtype, [value])

    def pin(self, dtype: DType, value: str) -> bool:
        """Have a float computed in all lanes, whoever needs it, by no instruction that reads it; False where it fills
        no vector register."""
        where, most = vector_register()
        size = self.width * dtype.itemsize
        if dtype.char not in "fd" or not where or (size and not 16 <= size <= most):
            return False
        self.put(f'  call void asm sideeffect "", "{where}"({self.type_of(dtype)} {value})')
        return True

    def quiet_compare(self, predicate: str, dtype: DType, args: list[str]) -> str:
        """Compare floats without setting the invalid flag for a quiet NaN, as no plain vector fcmp of LLVM does."""
        kind = self.type_of(dtype)
        full = f"@llvm.experimental.constrained.fcmp.{self._suffix(dtype)}"
        self.declarations.add(f"declare {self.mask_type} {full}({kind}, {kind}, metadata, metadata)")
        return self.do(
            f'call {self.mask_type} {full}({kind} {args[0]}, {kind} {args[1]}, metadata !"{predicate}", '
            'metadata !"fpexcept.ignore")'
        )

    def is_nan(self, dtype: DType, value: str) -> str:
        """Whether a float is NaN."""
        return self.quiet_compare("uno", dtype, [value, value])

    def either(self, masks: list[str]) -> str | None:
        """The disjunction of masks; None of none."""
        whole = masks[0] if masks else None
        for mask in masks[1:]:
            whole = self.do(f"or {self.mask_type} {whole}, {mask}")
        return whole

    def any_lane(self, mask: str) -> str:
        """Whether any lane of a vector mask is set."""
        full = f"@llvm.vector.reduce.or.v{self.width}i1"
        self.declarations.add(f"declare i1 {full}({self.mask_type})")
        return self.do(f"call i1 {full}({self.mask_type} {mask})")

    def _suffix(self, dtype: DType) -> str:
        return f"{f'v{self.width}' if self.width else ''}f{8 * dtype.itemsize}"


def _order_of_parts(width: int, dtypes: Iterable[DType]) -> tuple[int, ...]:
    """The order in which one instruction on 256 bits takes complex numbers apart; it is its own inverse."""
    largest = max((dtype.itemsize for dtype in dtypes if dtype.kind == "c"), default=0)
    each = 16 // largest if largest else 0  # numbers that 128 bits hold
    if not each or width < 4 * each:
        return ()
    group = [(0, 2, 1, 3)[part] * each + at for part in range(4) for at in range(each)]
    return tuple(begin + at for begin in range(0, width, 4 * each) for at in group)


def _part_type(dtype: DType) -> str:
    """The LLVM type of a complex number's parts."""
    return "double" if dtype.itemsize == 16 else "float"


def _short(scalar: str) -> str:
    return {"float": "f32", "double": "f64"}.get(scalar, scalar)


@functools.cache
def vector_register() -> tuple[str, int]:
    """The letter by which LLVM knows a vector register of this processor, and how many bytes that holds; ("", 0) where
    this is not known."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return "", 0
    features = llvm.get_host_cpu_features()
    return ("v", 64) if features.get("avx512vl") else ("x", 32 if features.get("avx") else 16)


@functools.cache
def can_mask(itemsize: int) -> bool:
    """Whether this processor loads and stores some lanes of a vector of such elements."""
    features = llvm.get_host_cpu_features()
    if features.get("avx512bw") and features.get("avx512vl"):
        return itemsize <= 8
    return bool(features.get("avx2")) and itemsize in (4, 8)


@functools.cache
def can_scatter(itemsize: int) -> bool:
    """Whether this processor stores some lanes of a vector of such elements each at its own address."""
    return itemsize in (4, 8) and bool(llvm.get_host_cpu_features().get("avx512vl"))


def scalar_type(dtype: DType) -> str:
    """The LLVM type of one element in memory; of float16, which is only copied, and complex an integer of its size."""
    if dtype.hasobject:
        return "ptr"
    if dtype.kind == "f" and dtype.itemsize != 2:
        return {4: "float", 8: "double"}[dtype.itemsize]
    return f"i{8 * dtype.itemsize}"

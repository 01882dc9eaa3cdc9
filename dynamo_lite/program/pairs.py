"""Makes pairs of floats of complex numbers: operations on them become operations on their parts.

    v2 = multiply(v0, v1)  ->  v0.re = real(v0); v0.im = imag(v0); ...; v2.im.p = multiply(v0.im, v1.re);
                               v2.im = multiply_add(v0.re, v1.im, v2.im.p); ...; v2 = complex_of(v2.re, v2.im)

A complex number is put together only where it is stored, or chosen among such that come from memory. Which products
are added at once NumPy decides (`fused`: of a function's name and a dtype; tried out by backends/kernels/complexes.py).
INVARIANT: each part is computed by the operations of NumPy's loop in its order, so that bits and flags are the same;
what cannot be had so is noted, and the function returns a status: a divisor of 0, which NumPy treats by itself, or of
NaN, which its comparison reports, and a number as a factor so great that its product with 1+1j would overflow: NumPy
fills its last vectors with that.
"""

from __future__ import annotations

from collections.abc import Callable

from dynamo_lite._C import abi
from dynamo_lite.dataclass import replace
from dynamo_lite.program.element_ops import BOOL, DType, part_dtype
from dynamo_lite.program.ir import (
    Carried,
    Element,
    For,
    Function,
    Load,
    Memref,
    Node,
    Note,
    Store,
    Tiles,
    Value,
    walk,
)

Parts = tuple[Value, Value]
Fused = Callable[[str, DType], bool]

PER_PART = frozenset(("add", "subtract", "negative"))
COMPUTED = PER_PART | {"multiply", "square", "divide", "positive", "conjugate", "equal", "not_equal"}


def pairs(function: Function, fused: Fused, strict: bool) -> Function:
    """The function without operations on complex numbers; strict: it looks which NaNs meet, so their signs count."""
    if not any(isinstance(node, Element) and _is_complex(node) for node in walk(function.body)):
        return function
    return replace(function, body=_Pairs(function, fused, strict).nodes(function.body))


def _is_complex(op: Element) -> bool:
    return op.ufunc is None and any(value.dtype.kind == "c" for value in (*op.operands, *op.results))


class _Pairs:
    """parts: of complex values. given: those that are there as a whole: from memory, or put together. numbers: of which
    there is one for all elements; tested: those of them that were found not to be huge. out: the nodes of the body that
    is being written."""

    def __init__(self, function: Function, fused: Fused, strict: bool) -> None:
        self.fused = fused
        self.status = abi.RETURNED_NAN if strict else abi.RETURNED_MET_NAN
        self.difference = "multiply_subtract_strict" if strict else "multiply_subtract"
        self.parts: dict[Value, Parts] = {}
        self.given: set[Value] = set()
        self.numbers: set[Value] = set()
        self.tested: set[Value] = set()
        self.zeros: dict[DType, Value] = {}
        self.out: list[Node] = []
        self.count = 0
        self.extents = {function.n} | {node.columns for node in walk(function.body) if isinstance(node, Tiles)}
        self.indices: set[Value] = set()  # of loops over elements

    def nodes(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """A body; what it computes is not known behind it."""
        kept = self.out, dict(self.parts), set(self.given), set(self.tested), dict(self.zeros)
        self.out = []
        for node in nodes:
            self.node(node)
        made = tuple(self.out)
        self.out, self.parts, self.given, self.tested, self.zeros = kept
        return made

    def node(self, node: Node) -> None:
        match node:
            case Element() if _is_complex(node):
                self.element(node)
            case Store(memref, index, value):
                self.out.append(Store(memref, index, self.whole(value)))
            case Load(result, memref, index):
                if self.indices.isdisjoint(index) and memref.space != "constant":
                    self.numbers.add(result)
                self.given.add(result)
                self.out.append(node)
            case For():
                self.loop(node)
            case Tiles():
                self.out.append(replace(node, body=self.nodes(node.body)))
            case _:
                self.out.append(node)

    # Values

    def op(self, name: str, stem: str, dtype: DType, *operands: Value) -> Value:
        """Compute something."""
        result = Value(stem, dtype)
        self.out.append(Element(name, operands, (result,)))
        return result

    def of(self, value: Value) -> Parts:
        """The parts of a complex value."""
        if value not in self.parts:
            part = part_dtype(value.dtype)
            self.parts[value] = (
                self.op("real", f"{value.name}.re", part, value),
                self.op("imag", f"{value.name}.im", part, value),
            )
        return self.parts[value]

    def whole(self, value: Value) -> Value:
        """A value as it is stored; a complex one may have to be put together."""
        if value.dtype.kind == "c" and value not in self.given:
            self.out.append(Element("complex_of", self.parts[value], (value,)))
            self.given.add(value)
        return value

    def zero(self, dtype: DType) -> Value:
        """The number 0."""
        if dtype not in self.zeros:
            self.zeros[dtype] = result = Value(f"zero{self.count}", dtype)
            self.count += 1
            self.out.append(Load(result, Memref("zero", dtype, (), (), "constant", 0, 0.0), ()))
        return self.zeros[dtype]

    def note(self, condition: Value) -> None:
        """Have the function return a status where this holds."""
        self.out.append(Note(condition, self.status))

    # Nodes

    def loop(self, node: For) -> None:
        """A loop; of a complex value that it carries both parts are carried."""
        if node.extent in self.extents:
            self.indices.add(node.index)
        carried: list[Carried] = []
        split = [one for one in node.carried if one.value.dtype.kind == "c"]
        for one in split:
            self.parts[one.value] = (_part_of(one.value, "re"), _part_of(one.value, "im"))
        firsts = {one.value: self.of(one.first) for one in split}
        kept = self.out, dict(self.parts), set(self.given), set(self.tested), dict(self.zeros)
        self.out = []
        for inner in node.body:
            self.node(inner)
        last: list[tuple[Value, Value]] = []
        behind: dict[Value, Parts] = {}
        for one in node.carried:
            if one.value.dtype.kind != "c":
                carried.append(one)
                continue
            trios = zip(self.parts[one.value], firsts[one.value], self.of(one.next), strict=True)
            carried += [Carried(*trio) for trio in trios]
        for inside, after in node.last:
            if inside.dtype.kind != "c":
                last.append((inside, after))
                continue
            behind[after] = (_part_of(after, "re"), _part_of(after, "im"))
            last += zip(self.of(inside), behind[after], strict=True)
        body = tuple(self.out)
        self.out, self.parts, self.given, self.tested, self.zeros = kept
        self.parts |= behind
        self.out.append(replace(node, body=body, carried=tuple(carried), last=tuple(last)))

    def element(self, node: Element) -> None:
        """An operation on complex numbers, or one that makes them."""
        (result,) = node.results
        name, dtype = result.name, part_dtype(result.dtype)
        if node.op == "copy":
            (operand,) = node.operands
            if operand in self.parts:
                self.parts[result] = self.parts[operand]
            if operand in self.given:
                self.out.append(node)
                self.given.add(result)
        elif node.op == "where":
            mask, *arms = node.operands
            if self.given.issuperset(arms):
                self.out.append(node)
                self.given.add(result)
            else:
                yes, no = map(self.of, arms)
                self.parts[result] = (
                    self.op("where", f"{name}.re", dtype, mask, yes[0], no[0]),
                    self.op("where", f"{name}.im", dtype, mask, yes[1], no[1]),
                )
        elif node.op == "cast":
            (operand,) = node.operands
            found = self.of(operand) if operand.dtype.kind == "c" else (operand,)
            cast = [
                value if value.dtype == dtype else self.op("cast", f"{name}.{place}", dtype, value)
                for place, value in zip(("re", "im"), found, strict=False)
            ]
            self.parts[result] = (cast[0], cast[1] if len(cast) > 1 else self.zero(dtype))
        elif node.op in ("positive", "conjugate"):
            re, im = self.of(node.operands[0])
            self.parts[result] = (re, im if node.op == "positive" else self.op("negative", f"{name}.im", dtype, im))
        elif node.op in PER_PART:
            first, *more = map(self.of, node.operands)
            self.parts[result] = (
                self.op(node.op, f"{name}.re", dtype, first[0], *(one[0] for one in more)),
                self.op(node.op, f"{name}.im", dtype, first[1], *(one[1] for one in more)),
            )
        elif node.op in ("equal", "not_equal"):
            left, right = map(self.of, node.operands)
            tests = [
                self.op(node.op, f"{name}.{place}", BOOL, *of)
                for place, of in zip(("re", "im"), zip(left, right, strict=True), strict=True)
            ]
            together = "logical_and" if node.op == "equal" else "logical_or"
            self.out.append(Element(together, tuple(tests), node.results))
        elif node.op == "divide":
            self.parts[result] = self.quotient(name, dtype, *map(self.of, node.operands))
        elif node.op in ("multiply", "square"):
            factors = (node.operands[0], node.operands[-1])
            self.parts[result] = self.product(name, dtype, factors, self.fused(node.op, result.dtype))
        else:
            raise NotImplementedError(f"{node.op} of complex numbers")

    def product(self, name: str, dtype: DType, factors: Parts, fused: bool) -> Parts:
        """a c - b d, and a d + b c, of the factors a + b i and c + d i."""
        for one in factors:
            self.test_factor(one)
        (a, b), (c, d) = map(self.of, factors)
        p = self.op("multiply", f"{name}.re.p", dtype, b, d)
        q = self.op("multiply", f"{name}.im.p", dtype, b, c)
        if fused:
            re = self.op(self.difference, f"{name}.re", dtype, a, c, p)
            return re, self.op("multiply_add", f"{name}.im", dtype, a, d, q)
        re = self.op("subtract", f"{name}.re", dtype, self.op("multiply", f"{name}.re.q", dtype, a, c), p)
        return re, self.op("add", f"{name}.im", dtype, self.op("multiply", f"{name}.im.q", dtype, a, d), q)

    def test_factor(self, value: Value) -> None:
        """A number that is a factor is not so great that what NumPy fills vectors with may report an overflow."""
        if value not in self.numbers or value in self.tested:
            return
        self.tested.add(value)
        for part in self.of(value):
            self.note(self.op("huge", f"{part.name}.huge", BOOL, part))

    def quotient(self, name: str, dtype: DType, left: Parts, right: Parts) -> Parts:
        """By Smith's method, which begins with the quotient of the divisor's smaller part by its greater one."""
        (a, b), (c, d) = left, right
        sizes = [self.op("absolute", f"{part.name}.size{self.count}", dtype, part) for part in right]
        by_real = self.op("greater_equal", f"{name}.by.real", BOOL, *sizes)
        great = self.op("where", f"{name}.great", dtype, by_real, c, d)
        small = self.op("where", f"{name}.small", dtype, by_real, d, c)
        self.note(self.op("equal", f"{name}.by.zero", BOOL, great, self.zero(dtype)))
        if self.status == abi.RETURNED_NAN:  # a plain watch finds that in the result
            self.note(self.op("unordered", f"{name}.by.nan", BOOL, great, small))
        self.count += 1
        ratio = self.op("divide", f"{name}.ratio", dtype, small, great)
        whole = self.op("add", f"{name}.whole", dtype, great, self.op("multiply", f"{name}.part", dtype, small, ratio))
        scale = self.op("reciprocal", f"{name}.scale", dtype, whole)
        one = self.op("where", f"{name}.one", dtype, by_real, a, b)
        other = self.op("where", f"{name}.other", dtype, by_real, b, a)
        sum_ = self.op("add", f"{name}.sum", dtype, one, self.op("multiply", f"{name}.more", dtype, other, ratio))
        less = self.op("multiply", f"{name}.less", dtype, one, ratio)
        begin = self.op("where", f"{name}.begin", dtype, by_real, b, less)
        end = self.op("where", f"{name}.end", dtype, by_real, less, a)
        difference = self.op("subtract", f"{name}.difference", dtype, begin, end)
        return (
            self.op("multiply", f"{name}.re", dtype, sum_, scale),
            self.op("multiply", f"{name}.im", dtype, difference, scale),
        )


def _part_of(value: Value, place: str) -> Value:
    return Value(f"{value.name}.{place}", part_dtype(value.dtype))

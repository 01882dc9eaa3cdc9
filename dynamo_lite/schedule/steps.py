"""The program a graph becomes: a list of steps over numbered registers, run by csrc/program/launch.c.

Enters: nothing (these are the types). A register holds an array (a real ndarray, or a view known only by pointer,
shape and strides), or a NumPy scalar. Registers 0..n_inputs-1 are the graph's inputs. Everything that depends on
sizes is a Scalar over the graph's symbols, evaluated at each call, so one program serves every size.

A step either succeeds or *declines*; a declined program leaves every array as it found it (see Save) and the call runs
as plain Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np

from dynamo_lite._C import abi
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.scalar import Dim, Scalar, Symbol
from dynamo_lite.graph.types import ArrayType

DType: TypeAlias = np.dtype[np.generic]


@dataclass(frozen=True, slots=True)
class Reg:
    """Register `index`, as an operand."""

    index: int


Operand: TypeAlias = Reg | Symbol | Any  # Reg, or a Scalar (converted to the operand's dtype)


@dataclass(frozen=True, slots=True)
class KernelOp:
    """One elementwise operation on values of a kernel; yields len(dtypes) values.

    op: "const" (param: the number, already of that dtype), "cast", "loop" (param: the ufunc, whose own inner loop for
    in_dtypes -> dtypes runs on the tile), or an exactly compiled op: add subtract multiply divide negative absolute
    sqrt square equal not_equal less less_equal greater greater_equal logical_and logical_or logical_not bitwise_and
    bitwise_or bitwise_xor invert where conjugate ... (dynamo_lite/program/element_ops.py says which op is exact for
    which dtypes). operands are value numbers; their dtypes equal in_dtypes. forward, of a loop: NumPy computes other
    bits for an array that is reversed; a kernel that reads one there declines.
    """

    op: str
    operands: tuple[int, ...]
    in_dtypes: tuple[DType, ...]
    dtypes: tuple[DType, ...]
    param: Any = None
    forward: bool = False


@dataclass(frozen=True, slots=True)
class Kernel:
    """A straight-line elementwise program at one index. Values: operands first, then each op's results in order.

    next: empty, or of a kernel that iterates the value that stands in each operand's place in the next iteration (its
    own number where it stays). The results are then those of the last iteration. rows: operands, and results numbered
    from the operands' end, that lie elsewhere in each iteration. fold: of a Reduce, the ufunc if the kernel can also
    fold its values along outer axes itself.
    """

    operand_dtypes: tuple[DType, ...]
    ops: tuple[KernelOp, ...]
    results: tuple[int, ...]
    next: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
    fold: np.ufunc | None = None


@dataclass(frozen=True, slots=True)
class View:
    """dst becomes a view of src. kind "basic_index": params a tuple of None (newaxis), Scalar (integer index) or
    (start, stop, step) of Scalars or None; "transpose": axes; "reshape": Dims, view only: declines if a copy is due;
    "broadcast_to": Dims; "real" / "imag": (); "diagonal": two axes, the offset, 1 if it may be written to. Out-of-range
    integer indices decline. scalar: the result is read out into a NumPy scalar (x[0] on 1-d)."""

    dst: int
    src: int
    kind: str
    params: tuple[Any, ...]
    scalar: bool = False


@dataclass(frozen=True, slots=True)
class Alloc:
    """dst becomes a fresh array. fill: None (np.empty) or a Python number / NumPy scalar / Scalar. order "C" or "F", or
    "K" for that of the array in `like`, which has the same shape; "common" for that of all arrays in `like`, where they
    have one (ops/borders.py): the program declines otherwise."""

    dst: int
    dtype: DType
    shape: tuple[Dim, ...]
    fill: Any = None
    order: str = "C"
    like: tuple[Reg, ...] = ()


@dataclass(frozen=True, slots=True)
class Map:
    """Run kernel over `shape`; operands broadcast to it. outs[i] is a register; where into[i] is False it becomes a
    fresh array in the memory order NumPy's own operations would give ("K" order, op by op through the kernel); where
    True it already holds a view of that shape, which is written. scalar[i]: hand out a NumPy scalar (shape ())."""

    kernel: Kernel
    operands: tuple[Operand, ...]
    shape: tuple[Dim, ...]
    outs: tuple[int, ...]
    into: tuple[bool, ...]
    scalar: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Reduce:
    """dst = ufunc.reduce(kernel over shape, axis=axes, keepdims=keepdims), with NumPy's own order of operations.

    csrc/kernels/reduce.c fuses the layouts whose order it knows (contiguous full and last-axis: pairwise for floating
    add; leading axes of a C-contiguous operand: sequential) and otherwise materialises the kernel's result and calls
    NumPy's reduce. The kernel has one result, of dtype `dtype`, which is also the reduction's accumulator dtype.
    axes: sorted non-negative. scalar: the result is a NumPy scalar. into: dst already holds the array to write.
    """

    kernel: Kernel
    operands: tuple[Operand, ...]
    shape: tuple[Dim, ...]
    ufunc: np.ufunc
    axes: tuple[int, ...]
    keepdims: bool
    dst: int
    dtype: DType
    scalar: bool


@dataclass(frozen=True, slots=True)
class Call:
    """Call a Python function on real objects: NumPy itself does the work (matmul, sort, scalar arithmetic).

    args and kwargs hold Reg, Scalars and constants, also nested in tuples and lists. It runs with every floating-point
    error that is not ignored turned into an exception; any exception declines. A result whose type differs from
    `types` (one for each dst) declines. yields: to the steps behind, the size that result `place[0]` has along axis
    `place[1]`, if only the run knows that. number: it gives a Python number, where `types` has a NumPy scalar.
    invalid_alone: invalid values raise, and no other floating-point error does, whatever the user ignores.
    """

    dsts: tuple[int, ...]
    types: tuple[ArrayType, ...]
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()
    yields: tuple[Symbol, ...] = ()
    place: tuple[int, int] = (0, 0)
    number: bool = False
    invalid_alone: bool = False


@dataclass(frozen=True, slots=True)
class Save:
    """Keep a copy of what register `src` (an input or a view of one) holds; a later decline writes it back."""

    src: int


@dataclass(frozen=True, slots=True)
class Require:
    """Decline unless the expression is true (relations only known late)."""

    condition: Scalar


@dataclass(frozen=True, slots=True)
class Loop:
    """dsts = the carried values after running `body` for each number of range(start, stop, step).

    body: a Schedule whose inputs are the index, the carried values (at first `carried`), and `captured` (registers, or
    Scalars that go in as numbers). Its outputs are carried on: registers for `carried`, then numbers for as many of the
    last captured ones, whose dsts hold NumPy scalars. With no iteration dsts are the initial values themselves. The
    body saves nothing: what it writes (body.written) is saved by the outermost schedule. An iteration in which a
    written input may share memory with another input of the body declines. types: of what is carried and captured, None
    for numbers; () where they are not known. machine: how the whole loop runs as machine code, if it can. goes_on:
    the body's last output is the condition to go on, a number or a bool NumPy scalar, looked at when the others have
    been handed on. yields: for each number, the Symbol that it is to the steps behind. pause: a Symbol for the index,
    and the condition in front of whose iterations the loop is left (a Leave follows it). extents: of carried arrays
    that an iteration may give other ones: the place of the array, the axis, the place of the carried number that it is.
    """

    dsts: tuple[int, ...]
    body: Schedule
    start: Scalar
    stop: Scalar
    step: Scalar
    carried: tuple[Operand, ...]
    captured: tuple[Operand, ...]
    types: tuple[ArrayType | None, ...] = ()
    machine: Machine | None = None
    goes_on: bool = False
    yields: tuple[Symbol, ...] = ()
    pause: tuple[Symbol, Scalar] | None = None
    extents: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Machine:
    """A Loop over single elements and vectors that a backend compiles whole.

    dtypes and ndims: of what is carried and captured: an array's, a NumPy scalar's (ndim -1), or a number's (dtype
    None). vectors: pairs of a place among these and an axis that is handled as a whole, or several pairs one behind the
    other, whose sizes are multiplied; where that is long, the loop runs step by step. Axis -1: so it does where that
    array does not lie packed in C order. Place -1: slices whose bounds an array gives, of which the code itself looks
    how long they are. rooms: how many arrays the code makes. in_order: places of arrays that the code takes to lie
    packed in C order (axis -1 of vectors is among theirs).
    """

    loop: Loop
    dtypes: tuple[DType | None, ...]
    ndims: tuple[int, ...]
    vectors: tuple[tuple[int, ...], ...] = ()
    rooms: int = 0
    in_order: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Leave:
    """End the program if the loop before was left between two iterations: with exit number `exit`, the number of
    iterations done and these outputs. Otherwise nothing."""

    exit: int
    outputs: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Cond:
    """dsts = the outputs of `then` or, if the condition is false, of `orelse`: Schedules whose inputs are `operands`.

    condition: a number, or a register that holds a bool NumPy scalar. Outputs are registers, then numbers, whose dsts
    hold NumPy scalars and which are `yields` to the steps behind. Like a Loop's body a branch saves nothing, and
    declines when what it writes may share memory with another of its inputs. types: of the outputs.
    """

    dsts: tuple[int, ...]
    condition: Operand
    then: Schedule
    orelse: Schedule
    operands: tuple[Operand, ...]
    yields: tuple[Symbol, ...] = ()
    types: tuple[ArrayType, ...] = ()


@dataclass(frozen=True, slots=True)
class Masked:
    """What a mask, a register of bools, selects of an array of its shape, in C order.

    kind "count": `count`, a Symbol, is the number of its true elements to the steps behind. "get": dst = src[mask], a
    fresh array of `count` elements; "put": src[mask] = value, an array of so many elements and src's dtype. places: the
    register in which a count notes where the true elements are, for the others of its mask, or -1.
    """

    kind: str
    mask: int
    count: Scalar
    src: int = -1
    value: int = -1
    dst: int = -1
    places: int = -1


@dataclass(frozen=True, slots=True)
class Read:
    """yields[0], an int or a float, is to the steps behind the number that register `src`, a NumPy scalar, holds; an
    integer beyond 64 bits declines. of: READ_SCALAR, or what else the register holds (csrc/abi.def), a Python number of
    that type (a bool as an int), or a list, of which it is the length; an object of another type declines. table: a
    register with a table of objects, in which the number is the tag of what `src` holds (READ_TAG)."""

    src: int
    yields: tuple[Symbol, ...]
    of: int = abi.READ_SCALAR
    table: int = -1


@dataclass(frozen=True, slots=True)
class New:
    """dst becomes an empty list or dict, or a list of `count` times `value`, or (is_table) a table of numbers' objects
    with `firsts` from before a loop; no other steps than Put, Take and Read look into it."""

    dst: int
    is_dict: bool = False
    value: Operand | None = None
    count: Operand | None = None
    is_table: bool = False
    firsts: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Put:
    """Put into the list or dict in register `list`, under `key` or else at its end, the only one of `values`, a tuple
    or list of them, or the text that `packed`, a format, makes of them: the very object of a register, or a Scalar as a
    Python number; a float that is NaN declines unless it is constant, and so does an index that the list lacks.
    tags: where there is a `table`, a register, the tags of the numbers among key and values: which objects they are.
    of_list: it is known to be a list."""

    list: int
    values: tuple[Operand, ...]
    packed: type | str | None = None
    key: Operand | None = None
    table: int = -1
    tags: tuple[Operand, ...] = ()
    of_list: bool = False


@dataclass(frozen=True, slots=True)
class Take:
    """dst becomes, of the list in register `list`, the item under the only one of `places`, an int (kind TAKE_ITEM),
    which is taken off it (TAKE_OUT); a copy of the items from the first of `places`, if any, to the second (TAKE_COPY);
    or a list of its items and of those of the list in the place (TAKE_JOINED). Of a tuple as long as the second place
    says, it is the item under the first (TAKE_OF_TUPLE). Of an object it is the NumPy scalar that this is, of the type
    whose number is the place (TAKE_SCALAR), or the array of that type and of the shape that the other places are,
    packed in C order, which shows no memory that the program writes (TAKE_ARRAY). Of a list of numbers, as many as the
    second place says, it is the array of that type that NumPy makes of it (TAKE_NUMBERS). Of a dict it is what stands
    under the place, a number (TAKE_KEY). A place that the list lacks declines, as does an object of another type."""

    dst: int
    list: int
    kind: int
    places: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Errors:
    """From here on other floating-point errors are reported (ops/error_state.py); what was met before is judged, and
    `warner` told of what was noted, or asked whether the filters that change are Python's own."""

    ignored: int
    reported: int
    noted: int = 0
    silent: int = 0
    changes: int = 0
    warner: Callable[..., bool] | None = None


Step: TypeAlias = (
    View
    | Alloc
    | Map
    | Reduce
    | Call
    | Save
    | Require
    | Loop
    | Leave
    | Cond
    | Masked
    | Read
    | New
    | Put
    | Take
    | Errors
)


def bodies(step: Step) -> tuple[Schedule, ...]:
    """The schedules inside a step."""
    if isinstance(step, Loop):
        return (step.body,)
    return (step.then, step.orelse) if isinstance(step, Cond) else ()


def count(schedule: Schedule, kinds: tuple[type, ...]) -> int:
    """How many steps of these kinds there are, those of loops and branches included."""
    inside = sum(count(body, kinds) for step in schedule.steps for body in bodies(step))
    return inside + sum(isinstance(step, kinds) for step in schedule.steps)


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Steps (`count` of them from number `first` on) that may run some rows at a time, all of them on these rows before
    the next ones, where the arrays they read lie packed: what is made on the way then never leaves the cache.

    leading: the sizes of the axes that the rows are counted along, the first ones of all these steps. inputs: registers
    of arrays with these axes that the steps read. made: registers that they set. results: those of them that are needed
    behind.
    """

    first: int
    count: int
    leading: tuple[Dim, ...]
    inputs: tuple[int, ...]
    made: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The whole program.

    constants: (register, object) set before the first step. outputs: Reg or Scalar, in order. written: the input
    indices that some step writes; the launcher declines when the memory of a written input may overlap another array
    input that is not the very same object. sizes: the least and the most elements of the largest input for which the
    program is expected to be faster than NumPy; unsized: a bit for each input that does not count for that
    (unsized.py); pays: a condition on the inputs for it. times: what it is expected to
    take, by scale (cost.py). blocks: what may run by rows, in order. kept: the number of the first step that writes to
    an input what nothing undoes, so that no step behind it may decline; or -1. iterated: of a loop's body of Maps
    alone, what one kernel can do of many iterations (iterate.py): `outs` are the registers in whose memory the results
    lie, `into` is False for a carried array that the body makes anew.
    """

    n_inputs: int
    n_registers: int
    symbols: tuple[Symbol, ...]
    constants: tuple[tuple[int, Any], ...]
    steps: tuple[Step, ...]
    outputs: tuple[Operand, ...]
    written: tuple[int, ...]
    sizes: tuple[int, int] = (0, sys.maxsize)
    unsized: int = 0
    pays: Scalar | None = None
    iterated: Map | None = None
    blocks: tuple[RowBlock, ...] = ()
    kept: int = -1
    times: Mapping[int, Any] = field(default_factory=dict, compare=False, repr=False)

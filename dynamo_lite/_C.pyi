"""The C extension: frames (csrc/frame/eval_hook.c, callable.c, dispatch.c, cache.c) and native programs (guards.c,
launch.c).

docs/architecture.md, "Segments", tells how a call passes through it.
"""

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, ParamSpec, TypeAlias, TypedDict, TypeVar

import numpy as np

from dynamo_lite.policy import Thresholds
from dynamo_lite.schedule.steps import Kernel, Schedule

_T = TypeVar("_T")
_P = ParamSpec("_P")
_R = TypeVar("_R", covariant=True)

HasCode: TypeAlias = types.CodeType | Callable[..., Any]  # a code object, or a plain Python function for its own
GUARD_KINDS: tuple[tuple[str, str, str], ...]  # the rows of csrc/guards/guards.def: name, operands, words
INVOKE_LOOP: int  # address of the function by which kernels call NumPy's loops (csrc/kernels/kernel_code.c)

class Abi(NamedTuple):
    """What C and Python agree on: the rows of csrc/abi.def, which says what each of them is."""

    DEFERS_ALL: int
    MOST_SORTED: int
    MOST_MEDIAN: int
    MAX_DIMS: int
    MAX_OPERANDS: int
    FOLD_OPERANDS: int
    FOLD_BYTES: int
    BLOCK_INPUTS: int
    PAYS_VALUES: int
    MAX_CARRIED_NUMBERS: int
    MOST_STAGES: int
    MOST_VECTOR: int
    VECTOR_WORDS: int
    IN_ORDER: int
    MOST_ROOMS: int
    EQUAL_DEPTH: int
    FIRST_PIPELINE_REASON: int
    LISTED_AT: int
    LISTED_BY: int
    LISTED_PARTS: int
    MAX_REASONS: int
    SCRATCH_ALIGNMENT: int
    PLACE_WORDS: int
    PLACE_POINTER: int
    PLACE_STRIDE: int
    LOOP_WORDS: int
    LOOP_INVOKE: int
    LOOP_FUNCTION: int
    LOOP_CONTEXT: int
    LOOP_AUXDATA: int
    LOOP_TRAITS: int
    LOOP_FLAGS: int
    ITERATION_COUNT: int
    ITERATION_ROW_BYTES: int
    ITERATION_WORDS: int
    ROWS_COUNT: int
    ROWS_STEPS: int
    FOLD_LENGTHS: int
    FOLD_STEPS: int
    CLASS_PACKED: str
    CLASS_SINGLE: str
    CLASS_SPREAD: str
    CLASS_ITERATED: str
    CLASS_OF_ROW: str
    ASKS_ROWS: str
    ASKS_LOOPS: str
    ASKS_STRICT: str
    ASKS_ARISEN: str
    ASKS_EACH: str
    ASKS_DIVISION: str
    ASKS_LASTING: str
    RETURNED_FAILED: int
    RETURNED_MET_NAN: int
    RETURNED_NAN: int
    RETURNED_INDEX: int
    RETURNED_NUMBER: int
    RETURNED_CONVERT: int
    RETURNED_RANGE: int
    RETURNED_LOOKED: int
    RETURNED_CONDITION: int
    RETURNED_PRODUCT: int
    RETURNED_REVERSED: int
    RETURNED_LONG: int
    RETURNED_MET_DOUBT: int
    RETURNED_FOLD: int
    RETURNED_DRAW: int
    RETURNED_MET_CLIPPED: int
    WORD_LOOK: int
    WORD_RUN: int
    WORD_BUDGET: int
    WORD_OVERFLOW: int
    WORD_START: int
    WORD_BY: int
    WORD_LAST: int
    WORD_HELPERS: int
    WORD_LEAVE: int
    WORD_ENDED: int
    WORD_ROOMS: int
    ROOM_WORDS: int
    WORD_KEPT: int
    WORD_JOURNAL: int
    WORD_ENDED_AT: int
    HEAD_WORDS: int
    OF_NUMBER: int
    OF_SCALAR: int
    NUMBER_WORDS: int
    SCALAR_WORDS: int
    ARRAY_SIZES: int
    RESULT_WORDS: int
    RESULT_ORIGIN: int
    FIRST_ORIGIN: int
    PYTHON_INT: int
    PYTHON_FLOAT: int
    PYTHON_BOOL: int
    READ_SCALAR: int
    READ_INT: int
    READ_FLOAT: int
    READ_BOOL: int
    READ_LENGTH: int
    READ_TAG: int
    READ_IS_FLOAT: int
    READ_INT_ELSE: int
    READ_FLOAT_ELSE: int
    TAKE_ITEM: int
    TAKE_OUT: int
    TAKE_COPY: int
    TAKE_OF_TUPLE: int
    TAKE_JOINED: int
    TAKE_SCALAR: int
    TAKE_ARRAY: int
    TAKE_KEY: int
    TAKE_NUMBERS: int
    MOST_TAKEN: int
    MOST_KEPT: int
    VECTOR_PRODUCTS: int
    VECTOR_DOT: int
    ACCUMULATES: int
    ACCUMULATE_ADD: int
    ACCUMULATE_MULTIPLY: int
    POSITIONS: int
    POSITION_LEAST: int
    POSITION_GREATEST: int
    MASK_NOTES: int
    SET_FIRST: int
    SET_BOTH: int
    SET_SECOND: int
    MOST_COMPARED: int
    BUFFERED: int
    SEARCHES: int
    SEARCH_LEFT: int
    SEARCH_RIGHT: int
    SEARCH_BY_HALVES: int
    DRAW_RANDOM: int
    DRAW_UNIFORM: int
    DRAW_STANDARD_NORMAL: int
    DRAW_NORMAL: int
    DRAW_STANDARD_EXPONENTIAL: int
    DRAW_EXPONENTIAL: int
    DRAW_POISSON: int
    DRAW_INTEGERS: int
    DRAW_STANDARD_GAMMA: int
    DRAW_GAMMA: int
    DRAW_BETA: int
    DRAW_CHISQUARE: int
    DRAW_STANDARD_T: int
    DRAW_STANDARD_CAUCHY: int
    DRAW_LOGNORMAL: int
    DRAW_LAPLACE: int
    DRAW_LOGISTIC: int
    DRAW_GUMBEL: int
    DRAW_RAYLEIGH: int
    DRAW_PARETO: int
    DRAW_WEIBULL: int
    DRAW_POWER: int
    DRAW_BINOMIAL: int
    DRAW_GEOMETRIC: int
    DRAW_WEIGHTED: int
    DRAW_ORDER: int
    UFUNC_CALL_INFO: str
    HELPERS: tuple[str, ...]
    LINALG: tuple[str, ...]
    NUMBER_KINDS: tuple[str, ...]
    SCALAR_OPS: tuple[str, ...]
    VIEW_KINDS: tuple[str, ...]
    STEPS: tuple[str, ...]

abi: Abi

def run_pieces(
    loop: int,
    context: int,
    auxdata: int,
    arrays: list[np.ndarray[Any, Any]],
    strides: list[int],
    bounds: list[tuple[int, int]],
    /,
) -> bool:
    """Run one of NumPy's inner loops over elements begin to end of vectors, as if they were so many bytes apart from
    `begin` on, for each (begin, end); False at the first failure."""

def kernel_block(places: int, loops: int, /) -> tuple[int, int, int]:
    """Of the block of a kernel with so many operands and results, and NumPy loops: the word of the scratch pointer, the
    first word of the loops, and the first behind them."""

class ObjectLayout(tuple[int, ...]):
    """Where objects have their parts (csrc/program/machine.c)."""

    type: int
    size: int
    items: int
    value: int
    scalar: int
    head: int
    digit: int
    tagged: int

def object_layout() -> ObjectLayout | None: ...
def machine_block(
    ndims: tuple[int, ...], carried: int, numbers: int, /
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Of the block of a loop's machine code: the first word of each value that goes in (ndims: its dimensions,
    OF_SCALAR, or OF_NUMBER), of each result, and how many words there are before the scratch pointer."""

OnMiss: TypeAlias = Callable[[types.FunctionType, tuple[Any, ...]], CacheEntry | None]

class Init:
    """The __init__ of a class of fields (dynamo_lite/dataclass.py). fields: tuples of a name, whether it is a parameter
    and, where there is a default, that, or what makes it, and whether it makes it."""

    def __new__(cls, qualname: str, fields: tuple[tuple[Any, ...], ...], frozen: bool, more: bool, /) -> Init: ...
    def __call__(self, *args: Any, **named: Any) -> None: ...
    def __get__(self, instance: object, owner: type) -> Any: ...
    def replaced(self, given: _T, /, **changes: Any) -> _T:
        """Another object of its class, with these fields changed."""

class Objects:
    """The objects of a loop's numbers, by tag; made of those from before the loop, with the tags -1, -2, ..."""

    def __new__(cls, *firsts: Any) -> Objects: ...
    def at(self, tag: int, number: Any = None, /) -> Any:
        """The object with that tag, which is `number` where there is none yet."""

    def tag(self, taken: Any, /) -> int:
        """The tag of what was taken of a list."""

    @staticmethod
    def list_of(
        values: np.ndarray[Any, Any],
        length: int,
        tags: np.ndarray[Any, Any] | None = None,
        table: Objects | None = None,
        /,
    ) -> list[Any]:
        """The list of the first numbers of an array, which are new objects or those with their tags in a table."""

class Declined(Exception):
    """A program declined: it changed nothing, and plain Python runs."""

class Interrupted(BaseException):
    """Compiling is abandoned: a signal handler raised, or another thread sent an exception, which takes its place."""

def hold_interrupts() -> None:
    """Safe points let nothing in from here on, until the user's code goes on: where that handles what is raised."""

def safe_point() -> None:
    """Where compiling may be abandoned: lets interrupts in that have waited for long; may raise Interrupted.

    Nothing may be half done here that the next compilation would find, and no lock be held.
    """

class Guards:
    """Checks that read slots, cells, globals, attributes; yields a graph's inputs. See csrc/guards/guards.def for the
    ops."""

    ops: tuple[tuple[Any, ...], ...]
    inputs: tuple[int, ...]
    def __init__(self, ops: Sequence[tuple[Any, ...]], inputs: Sequence[int]) -> None: ...
    def check(self, func: object, slots: tuple[Any, ...], /) -> tuple[Any, ...] | None: ...
    def explain(self, func: object, slots: tuple[Any, ...], /) -> str | None: ...

class CompiledKernel:
    """Machine code of a Kernel for one pattern of strides: what compile_kernel hands to a Program."""

    address: int
    loops: tuple[tuple[Any, ...], ...]
    scratch_bytes: int
    keep: object
    is_quick: bool
    def __init__(
        self, address: int, loops: Sequence[tuple[Any, ...]], scratch_bytes: int, keep: object, is_quick: bool = False
    ) -> None: ...

class Program:
    """A Schedule ready to run; raises Declined(reason) where it declines."""

    schedule: Schedule
    last_decline: str | None
    declines: Mapping[str, int]
    small: Program | None
    def __init__(
        self,
        schedule: Schedule,
        compile_kernel: Callable[[Kernel, str], CompiledKernel],
        num_threads: int = 0,
        make_small: Callable[[], Program | None] | None = None,
    ) -> None:
        """make_small: asked once small arrays have gone in often; a Program of one routine then runs them (`small`)."""

    def __call__(self, *inputs: Any) -> tuple[Any, ...]: ...

def run_small_after(steps: int, /) -> int:
    """For tests: ask for the routine of small arrays after so many steps (-1: at once, and keep it); what was
    before."""

def optimise_after(loop: float, kernel: float, /) -> tuple[float, float]:
    """For tests: optimise the code of loops, and of kernels, once it has run for so many ns (0: at once); what was
    before."""

def count_bands() -> int: ...
def count_nearest() -> int: ...
def size_bands(least: int, band: int, passing: int, border: int, /) -> tuple[int, int, int, int]: ...
def size_blocks(least: int, bytes: int, /) -> tuple[int, int]:
    """For tests: run by rows where an array has `least` bytes, so many bytes at a time; what was before."""

def learn_python_draws(generator: Any, words: tuple[int, ...], /) -> bool:
    """Whether programs draw from those of a random.Random's type, by where the state that getstate() tells lies in it;
    None, (): they do not."""

def learn_draws(generator: type, legacy: Any, /) -> None:
    """The types that programs draw from: Generator, and that of a RandomState."""

def allow_draws(type_: type, /) -> None:
    """A type of bit generators that programs draw from."""

def draw_numbers(
    generator: Any, kind: int, a: float, b: float, out: np.ndarray[Any, Any], weights: np.ndarray[Any, Any] = ..., /
) -> bool:
    """Fill a packed array as machine code would; whether it could. weights: packed ones, of positions."""

def draw_twin(generator: Any, function: Callable[[Any], Any], /) -> Any:
    """function(twin of the generator), whose state then is the generator's; TypeError: it has none."""

def decline_loops(every: int, /) -> None:
    """For tests: decline in each iteration of native loops whose number modulo this is the last; 0: in none of them."""

def leave_loops(every: int, /) -> None:
    """For tests: leave native loops behind every so many iterations; 0: only where a signal or a thread waits."""

def has_other_threads() -> bool:
    """Whether this interpreter has more than one thread."""

def searchsorted(vector: np.ndarray[Any, Any], keys: Any, side: str, /) -> Any:
    """What vector.searchsorted(keys, side) gives."""

def products_by(way: int, is_dot: bool, a: Any, b: Any, /) -> Any:
    """The product of two arrays of doubles, its products added in that way; None where NumPy is to be asked."""

def small_products_tried_after(number: int, /) -> int:
    """A form of small products is tried out once so many of its matrices were asked for; the number before."""

def argmax(array: Any, axis: int, keepdims: bool, /) -> Any:
    """What array.argmax(axis, keepdims=keepdims) gives."""

def argmin(array: Any, axis: int, keepdims: bool, /) -> Any:
    """What array.argmin(axis, keepdims=keepdims) gives."""

def sort_rows(array: Any, axis: int, sort: Any, /) -> Any:
    """What sort(array, axis) gives, where that is np.sort."""

def median_rows(array: Any, axis: int, median: Any, /) -> Any:
    """What median(array, axis) gives, where that is np.median."""

def add_accumulate(function: Any, array: Any, axis: int, /) -> Any:
    """What function(array, axis) gives, which is np.add.accumulate."""

def multiply_accumulate(function: Any, array: Any, axis: int, /) -> Any:
    """The same of np.multiply.accumulate."""

def maximum_accumulate(function: Any, array: Any, axis: int, /) -> Any:
    """The same of np.maximum.accumulate."""

def minimum_accumulate(function: Any, array: Any, axis: int, /) -> Any:
    """The same of np.minimum.accumulate."""

def fmax_accumulate(function: Any, array: Any, axis: int, /) -> Any:
    """The same of np.fmax.accumulate."""

def fmin_accumulate(function: Any, array: Any, axis: int, /) -> Any:
    """The same of np.fmin.accumulate."""

def interp(compiled: Any, x: Any, xp: Any, fp: Any, /) -> Any:
    """What NumPy's compiled function gives of the others."""

def histogram(numpy: Any, array: Any, bins: Any, range: Any, weights: Any, /) -> Any:
    """What numpy(array, bins, range, None, weights) gives, which is np.histogram."""

def median(array: np.ndarray[Any, Any], /) -> Any:
    """np.median of a vector."""

def find_fold(ufunc: np.ufunc, dtype: np.dtype[Any], /) -> int:
    """The number of the fold by which a Reduce is done without NumPy's reduce, most of the time, or -1."""

class CacheEntry:
    """guards -> program -> residual: one way to run a code object natively.

    guards: Guards, or callable(func, slots) -> inputs or None, or None (always passes, the inputs are the slots).
    program: Program, or callable(*inputs) -> outputs that may raise Declined, or None (no outputs).
    residual: callable(*slots, *outputs) -> the value or a Continuation, or None (the first output is the value). A
    function gets the globals and, where its free variables are the user function's, the closure of the function
    called. A code object becomes such a function at each call (about 50 ns more), so that the entry keeps nobody's
    cells alive: the form for code with free variables. calls_python False promises that residual calls no Python
    function, so that the frame hook can stay away. With neither program nor residual, calls that pass the guards run
    plainly, and so do those whose largest input array, of those without a bit in `unsized`, has fewer than `least` or
    more than `most` elements, or of whose inputs `pays`, a bool Scalar, is not true.
    exits[k], called like residual but with the number of iterations done before the
    outputs, takes its place where a program ends at exit k, a loop that was left. An entry that an on_miss made is seen
    by that on_miss's calls alone, one added by add_entry() by everybody's. returns: what residual does if that is only
    to return (pycode/returned.py): it is done without a call.
    """

    guards: Guards | Callable[..., Any] | None
    program: Program | Callable[..., Any] | None
    residual: Callable[..., Any] | types.CodeType | None
    exits: tuple[types.FunctionType, ...] | None
    look_again: Callable[[CacheEntry], object] | None
    polled: bool
    restart: Callable[[types.FunctionType], types.FunctionType | None] | None
    at_loop: bool
    calls_python: bool
    least: int
    most: int
    judged: bool
    defers: int
    unsized: int
    hits: int
    declines: int
    retired: bool
    retired_reason: str | None
    def __init__(
        self,
        guards: Guards | Callable[[types.FunctionType, tuple[Any, ...]], Sequence[Any] | None] | None,
        program: Program | Callable[..., Sequence[Any]] | None,
        residual: Callable[..., Any] | types.CodeType | None,
        calls_python: bool = True,
        least: int = 0,
        most: int = ...,
        exits: tuple[types.FunctionType, ...] = ...,
        pays: object = None,
        stores: bool = ...,
        returns: object = None,
    ) -> None: ...
    def retire(self, reason: str, /) -> None:
        """From now on calls that pass the guards run plainly."""

class Continuation:
    """A resume function and its arguments, on the way from residual code to the dispatch loop."""

class Jump:
    """Called by residual code with the state behind a break, to go on with resume_function.

    Its globals and closure are those of the function called; like CacheEntry.residual it may be a code object.
    """

    resume_function: types.FunctionType | types.CodeType
    def __init__(self, resume_function: Callable[..., Any] | types.CodeType) -> None: ...
    def __call__(self, *state: Any) -> Continuation: ...

class CompiledFunction(Generic[_P, _R]):
    """Calls fn through the CacheEntries of its code object; on_miss is asked for one when none passes.

    Like functools.wraps(fn): __name__, __doc__, __dict__ ... are copied, __wrapped__ is fn; __code__, __defaults__,
    __kwdefaults__, __closure__ and __globals__ are fn's own. enabled False: every call just calls fn. on_end is called
    when the object dies, with interrupts held back.
    """

    fn: Callable[_P, _R]
    __wrapped__: Callable[_P, _R]
    __name__: str
    __qualname__: str
    __code__: types.CodeType
    __defaults__: tuple[Any, ...] | None
    __kwdefaults__: dict[str, Any] | None
    __globals__: dict[str, Any]
    __closure__: tuple[types.CellType, ...] | None
    on_miss: OnMiss
    name: str
    enabled: bool
    judged: bool
    on_end: Callable[[], object] | None
    def __init__(self, fn: Callable[_P, _R], on_miss: OnMiss, name: str) -> None: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def __get__(self, instance: object, owner: type | None = None, /) -> Any: ...
    def __reduce__(self) -> str: ...

def put_column(
    path: str | tuple[Any, ...],
    marks: np.ndarray[Any, Any] | None,
    table: Objects | None,
    /,
    *values: np.ndarray[Any, Any],
) -> None:
    """Store what a program has left in the column of an attribute into the objects (csrc/guards/columns.h)."""

def dies_quietly(one: object, /) -> bool:
    """Whether it is a number, a string, an array, or a short list or tuple of such, whose death nobody can notice."""

def all_lack(sequence: object, path: str, /) -> bool:
    """Whether no object at a path has anything of its own under the name in it (csrc/guards/columns.h)."""

def holds(one: object, object: object, depth: int, /) -> bool:
    """Whether a list or tuple, or one of those that it holds, so many deep, holds that object
    (csrc/guards/columns.h)."""

def all_differ(one: object, other: object, /) -> bool:
    """Whether all objects in two lists, or in those that they hold, differ (csrc/guards/columns.h)."""

def are_apart(one: object, other: object, /) -> bool:
    """Whether two arrays, or all of which they are columns, have no byte in common (csrc/guards/array_columns.h)."""

def column(sequence: object, path: str | tuple[Any, ...], /) -> np.ndarray[Any, Any] | None:
    """The numbers at a path of nested lists and tuples (csrc/guards/columns.c); None where their items are of other
    types."""

def text_array(text: object, /) -> np.ndarray[Any, Any] | None:
    """The characters of a str or bytes as a read-only array over its memory; None for other objects."""

def names_are_plain(obj: object, /) -> bool:
    """Whether looking a name up in a namespace, or in the __dict__ of obj, runs no code: no key has its own __eq__."""

def looks_plain(obj: object, /) -> bool:
    """Whether looking at the class of obj, or at obj where it is one, runs no code: its metaclass has no own __eq__,
    __hash__ or __getattribute__."""

def class_of(obj: object, /) -> type:
    """The class of an object; NoneType where looking at that runs code: see `looks_plain`."""

def own_attribute(obj: object, name: str, otherwise: object, /) -> Any:
    """What obj itself has under that name, or `otherwise`. Its __dict__ is not made for that, with which plain Python
    would read its attributes more slowly."""

def find_changed(namespace: dict[str, Any], names: tuple[str, ...], values: tuple[object, ...], /) -> int:
    """The place of the first name that has another value in the namespace, or -1."""

def keeps_attributes(obj: object, /) -> bool:
    """Whether obj has attributes of its own, in what is, or would be, exactly a dict."""

def generic_attributes(cls: type, /) -> tuple[bool, bool]:
    """Whether attributes of cls's instances are found, and stored, as those of a plain object are."""

def version_tag(cls: type, /) -> int:
    """A number that changes with the class and its bases; 0 where CPython gives out no more."""

def trials(code: HasCode, owner: OnMiss, /) -> list[tuple[float, int, float, int, bool]]:
    """(plain s, n, compiled s, n, stays plain) of calls that `owner` is asked for, for each size of their arrays."""

def time_calls(code: HasCode, owner: OnMiss, doubts: bool = True, /) -> None:
    """Calls that `owner` is asked for are timed from now on, compiled and plainly, and rest where they lose; if nobody
    else's are. doubts: some are run plainly also where programs take nearly all of a long call."""

def wait(code: HasCode, /) -> None:
    """This code runs plainly until it has taken some time (policy.Thresholds.hot_callee), and is asked about then."""

def put_off(code: HasCode, owner: OnMiss, seconds: float, /) -> None:
    """`owner` is asked about this code once it has taken so many seconds plainly."""

def plain_seconds(code: HasCode, owner: OnMiss, /) -> float:
    """What this code has taken plainly since it was put off, which ends."""

def set_limits(thresholds: Thresholds, /) -> None: ...
def add_entry(code: HasCode, entry: CacheEntry, /) -> None:
    """Put entry first in the cache of code."""

def entries(code: HasCode, /) -> tuple[CacheEntry, ...]:
    """The entries of code, most recently hit first."""

def drop(code: HasCode, entry: CacheEntry, /) -> bool:
    """Forget that entry; whether it was one of code's."""

def clear(code: HasCode, owner: object = None) -> None:
    """Forget the entries, counters and skip mark of code; with an owner (an on_miss) only what is its own."""

def set_skip(code: HasCode, skip: bool, reason: int = 0, owner: object = None) -> None:
    """Whether never to ask (owner, an on_miss; None: anybody) for an entry of code again.

    reason is what frame_stats() counts its frames under.
    """

def counters(code: HasCode | None = None, /) -> dict[str, int]:
    """hits misses native_calls plain_calls declines breaks retired leaves: of code, or of the process."""

def let_in() -> None: ...
def uninterrupted(function: Callable[..., _T], /, *args: Any) -> _T:
    """``function(*args)``, during which signals' handlers and exceptions of other threads wait."""

def unseen(function: Callable[..., _T], /, *args: Any) -> _T:
    """function(*args) for the compiler's own work; the hook lets its frames pass."""

def bound(*args: Any) -> Any:
    """bound([self,] function): the method, or the function where there is no self."""

def hook_enter() -> None:
    """Show the frames of this thread to the hook; RuntimeError in a Python whose frames are not known."""

def hook_exit() -> None:
    """Undo one hook_enter() of this thread."""

def hook_enable(on_frame: OnMiss | None = ..., /) -> None:
    """Whole-program mode: show the frames of every thread to the hook."""

def force_plain(on: bool, /) -> None:
    """Whether compiled functions and watched code run plainly."""

def hook_disable() -> None:
    """End whole-program mode."""

def hook_installed() -> bool:
    """Whether the interpreter's frame evaluator is ours now."""

def hook_refusal() -> str | None:
    """Why frames cannot be taken over in this Python, or None."""

def set_frame_callback(on_frame: OnMiss | None, /) -> None:
    """Who is asked for the CacheEntry of a frame that the hook sees outside every CompiledFunction's call."""

def set_rewrite_callback(callback: Callable[[types.CodeType], types.CodeType | None] | None, /) -> None:
    """Who re-encodes code objects in stress mode "rewrite"; asked once for each."""

def mark_rewritten(code: types.CodeType, /) -> None:
    """Stress mode "rewrite" runs this code as it is: somebody has re-encoded it already."""

def set_stress(mode: str | None, /) -> None:
    """Test modes: "hook" (frames pass, counted), "rewrite" (they run re-encoded code), "miss" (guards always
    miss), "all" (every call is asked about, whatever became of the ones before)."""

def get_stress() -> str | None:
    """What set_stress was given last."""

def frame_stats(reset: bool = False) -> dict[str, Any]:
    """seen, captured, rewritten; plain_rests: captured frames whose rest ran plainly; skipped: by reason number."""

def frame_reasons() -> tuple[str, ...]:
    """The texts of reason numbers 0, 1, ...; numbers from 32 on are the pipeline's own."""

# Memory of arrays (csrc/memory/memory.c)

class ThreadStats(TypedDict):
    """workers: threads besides the callers'. shared_runs: kernels and reductions that several threads ran, at most
    `most_used` of them."""

    workers: int
    shared_runs: int
    most_used: int

class MemoryStats(TypedDict):
    """What the pool holds, how many requests it served or could not, and what it may hold."""

    held_bytes: int
    blocks: int
    hits: int
    misses: int
    limit: int
    installed: bool

def threads_follow(config: object) -> None:
    """Ask `config.num_threads` from now on how many threads share big work."""

def threads_count() -> int:
    """How many threads share big work now; 1: none do."""

def threads_stats() -> ThreadStats: ...
def threads_always(on: bool) -> bool:
    """For tests: share whatever can be cut, whether that gains or not. Gives what was before."""

def memory_install(limit: int, fill: bool = False, stay: bool = False) -> bool:
    """Let NumPy's arrays reuse the memory of dead ones, of which `limit` bytes are held; 0: no longer.

    While compiled functions are at work, or from now on (stay). fill: overwrite what dies with 0xFF. False: this NumPy
    or C library is not known, or somebody else has changed NumPy's default allocator.
    """

def memory_uninstall() -> None:
    """Give back what is held, and keep nothing more."""

def memory_stays() -> bool:
    """Whether the pool is awake whoever is at work, so that plain NumPy has the memory of dead arrays too."""

def memory_release() -> int:
    """Give back what is held; how many blocks that were."""

def memory_stats() -> MemoryStats: ...

# Whole programs (csrc/watch/watch.c)

GO_ON: object
LOOP_BEGINS: object

class Round:
    """What the rounds of one loop take, wherever it stands; times in nanoseconds."""

    plain: int
    n_plain: int
    n_begun: int
    entered: int
    savings: tuple[float, float, int]
    hot: bool
    loses: bool

class Poll:
    """Asked at the back edge of a loop (with its Round) or a function's entry; calling it runs compiled code."""

    place: Any
    without: types.CodeType | None
    depth: int
    round: Round | None
    calls: int
    spent: int
    excess: float
    hot: bool
    off: bool
    times: list[tuple[float, int, float, int, bool]]
    savings: list[tuple[float, float, int]]
    alone: Callable[[], types.CodeType] | None
    whole: types.CodeType | None
    rests_until: int
    def __init__(
        self,
        place: object,
        depth: int = 0,
        outer: Poll | None = None,
        round: Round | None = None,
        rounds: int = 1,
        entry: Poll | None = None,
        cells: int = 0,
        make: Callable[[], types.CodeType] | None = None,
        waits: bool = False,
    ) -> None: ...
    def __bool__(self) -> bool: ...
    def __call__(self) -> object: ...

class BackEdge:
    """Asked at the back edge of a loop of which some iterations run plainly: true behind the last of them. Calling it
    gives what on_hot does."""

    place: Any
    def __init__(self, place: object, depth: int = 0, on_hot: object = None, on_miss: OnMiss | None = None) -> None: ...
    def __bool__(self) -> bool: ...
    def __call__(self) -> object: ...

def watch(on_miss: OnMiss | None, on_hot: Callable[..., object] | None, limits: Thresholds | None) -> None: ...
def note_polls(code: types.CodeType, /) -> None: ...
def same_code(code: types.CodeType, user: types.CodeType, /) -> None:
    """Have guards take one for the other: they do the same, but for polls."""

def cool(function: types.FunctionType, seconds: float = 0.0, /) -> None: ...
def forget_term(table: dict[Any, Any], key: object, reference: object, /) -> None: ...

FREEZES: int  # 0 where the collector has no lists to take objects from (3.14, free-threaded)

def freeze_made_by(function: Callable[[], _T], /) -> _T: ...
def drop_frame(exception: BaseException, /) -> bool: ...
def rounds_of_rests(type: type, /) -> None:
    """Have the length hint of objects of that class say how many rounds a loop has left."""

def set_round(function: types.FunctionType, round: Round, iterator: int, /) -> None: ...

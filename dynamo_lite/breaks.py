"""Every reason why a graph ends or a frame stays plain Python: one row each.

A "break" ends one graph: the instruction runs in plain Python and a new graph starts behind it. A "skip" leaves a
whole frame (or the rest of one) to plain Python. The kind is the usual consequence; a break with nothing compiled
around it is reported as a skip of the same id. Row order numbers the reasons. docs/breaks.md is generated from here
(``make docs``), its anchors are the ids. `{detail}` is what capture fills in: a name, a type, an opcode.
"""

from __future__ import annotations

from dynamo_lite.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """id: stable, in messages and docs. kind: "break" or "skip". message: why. hint: what the user can do."""

    id: str
    kind: str
    message: str
    hint: str

    @property
    def anchor(self) -> str:
        """Where docs/breaks.md explains it."""
        return f"docs/breaks.md#{self.id}"


_ROWS = (
    # -- values that only the run knows
    Reason(
        "data-dependent-branch",
        "break",
        "the branch depends on what an array holds ({detail})",
        "Both sides are compiled, each as its own graph. To keep one graph, have both sides be short, without loops, "
        "on small arrays and leave values of the same types, select with np.where, or test a size, a dtype or an "
        "argument instead of a value.",
    ),
    Reason(
        "data-dependent-number",
        "break",
        "{detail} needs a Python number out of an array",
        "Keep it as an array or NumPy scalar while computing; take the number out at the end of the function.",
    ),
    Reason(
        "float-argument",
        "break",
        "the value of a float that is computed from arguments is needed, which a graph leaves open ({detail})",
        "Compute the number outside and pass it in, as int() of it or the like.",
    ),
    Reason(
        "data-dependent-shape",
        "break",
        "the size of the result of {detail} depends on what an array holds",
        "Use a form with a fixed size: np.where(mask, x, 0) for x[mask], a masked sum for a sum over a selection.",
    ),
    Reason(
        "array-identity",
        "break",
        "{detail} asks for the identity of an array that the graph computes",
        "Compare values or names instead of using `is`, id() or hash() on an array.",
    ),
    Reason(
        "own-metaclass",
        "break",
        "looking at the class of {detail} runs code of its metaclass",
        "Use a class whose metaclass has no __eq__, __hash__ or __getattribute__ of its own in array code.",
    ),
    Reason(
        "object-deletion",
        "break",
        "{detail} may free what was there before this segment, at this very place",
        "Leave out the `del` where nothing depends on when the object goes.",
    ),
    # -- calls
    Reason(
        "python-call",
        "break",
        "the call of {detail} cannot be traced",
        "It is called as it is, and its own frame may be compiled. Pass plain positional and keyword arguments, or "
        "move the call out of the array code.",
    ),
    Reason(
        "c-function",
        "break",
        "{detail} is compiled code that dynamo_lite has no rule for",
        "It is called as it is, between two graphs. Call it before or after the array code to keep one graph.",
    ),
    Reason(
        "output",
        "break",
        "{detail} writes output, which has to appear in its place",
        "Print after the array code, or in some iterations only (`if i % 100 == 0`): a native loop is left for these.",
    ),
    Reason(
        "random",
        "break",
        "{detail} draws random numbers, so it has to run exactly once and in order",
        "Draw by a method that stays in the graph (normal, random, uniform, integers ... with a size), or draw first.",
    ),
    Reason(
        "recursive-call",
        "break",
        "{detail} calls itself, or calls are nested too deep to inline",
        "Write the recursion as a loop, or leave it: each level is compiled as its own frame.",
    ),
    Reason(
        "generator-call",
        "break",
        "{detail} makes a generator or coroutine",
        "Use a list instead of a generator in array code; a comprehension or generator expression is traced.",
    ),
    Reason(
        "disabled-function",
        "break",
        "{detail} is marked with dynamo_lite.disable",
        "Remove the mark to have it traced.",
    ),
    Reason(
        "requested",
        "break",
        "the program asked for a break with dynamo_lite.graph_break() ({detail})",
        "Remove the call.",
    ),
    # -- effects outside the graph
    Reason(
        "side-effect-attribute",
        "break",
        "attribute {detail} of an object from outside is set or deleted",
        "Compute with local variables and set the attribute last.",
    ),
    Reason(
        "side-effect-global",
        "break",
        "global name {detail} is set or deleted",
        "Return the value and assign it in the caller.",
    ),
    Reason(
        "side-effect-cell",
        "break",
        "variable {detail} of an enclosing function is set or deleted",
        "Return the value instead of using nonlocal.",
    ),
    Reason(
        "side-effect-container",
        "break",
        "{detail} changes a list, dict or set from before this graph",
        "Collect into a list that is made after the last graph break, and hand it over at the end.",
    ),
    Reason(
        "import-statement",
        "break",
        "the import of {detail} runs here",
        "Import at the top of the file.",
    ),
    Reason(
        "with-statement",
        "break",
        "a `with` block on {detail} is entered",
        "What stands in the block is compiled. Where that is little, put the `with` around a loop, not into it.",
    ),
    Reason(
        "python-exception",
        "break",
        "this raises an exception ({detail}), which plain Python does itself",
        "Nothing, when the exception is meant; otherwise mend the call.",
    ),
    Reason(
        "raise-statement",
        "break",
        "an exception is raised here ({detail})",
        "Nothing to do when the error is real. Check arguments before the array code.",
    ),
    # -- Python that capture does not follow
    Reason(
        "unsupported-opcode",
        "break",
        "the instruction {detail} is not traced",
        "Write the statement in a simpler form, or move it out of the array code.",
    ),
    Reason(
        "unsupported-value",
        "break",
        "a value of type {detail} is not traced here",
        "Convert it to an array, a number, a tuple, list or dict before the array code.",
    ),
    Reason(
        "unsupported-operation",
        "break",
        "{detail} is not traced",
        "Write it with NumPy functions and operators on arrays.",
    ),
    Reason(
        "unpack",
        "break",
        "{detail} is unpacked, but its length is not known",
        "Index the values you need, or unpack a tuple or list.",
    ),
    Reason(
        "format-string",
        "break",
        "a string is formatted ({detail})",
        "Format after the array code.",
    ),
    Reason(
        "definition",
        "break",
        "a function or class is defined here ({detail})",
        "Define it at module level.",
    ),
    Reason(
        "loop-too-long",
        "break",
        "the loop has more iterations than unroll_limit allows ({detail})",
        "Raise config.unroll_limit, or compile the body as its own function.",
    ),
    Reason(
        "loop-of-open-length",
        "break",
        "the number of iterations depends on an argument or a size, which a graph leaves open ({detail})",
        "Each iteration runs as a graph of its own. With a constant number of iterations the loop becomes one graph; "
        "otherwise put as much work as possible into one iteration.",
    ),
    Reason(
        "loop-goes-on",
        "break",
        "a loop that an earlier graph began goes on here, one iteration at a time ({detail})",
        "What breaks the graph inside the loop, a print or a call that is not traced, leaves a graph for each "
        "iteration: move it out of the loop, or have it done in some iterations only (`if i % 100 == 0`).",
    ),
    Reason(
        "loop-pauses",
        "break",
        "the next iteration of a loop, which may break the graph, is a graph of its own ({detail})",
        "Nothing to do: a loop that is left for several prints has fewer graphs in this way.",
    ),
    Reason(
        "loop-dependent",
        "break",
        "{detail}",
        "Take out of the loop what is different in some iterations, or use np.where.",
    ),
    Reason(
        "loop-state",
        "break",
        "an iteration changes {detail}",
        "Let a loop of array code change arrays and count with ints; write what it collects into an array made before.",
    ),
    Reason(
        "loop-number-identity",
        "break",
        "the loop changes {detail}: the same Python object, as `is` and sys.getrefcount can tell",
        "Begin it with a NumPy number, as in low = np.float64(0.0), or with an array: these need no identity.",
    ),
    Reason(
        "loop-ways",
        "break",
        "the loop before may be left to other places than its end ({detail})",
        "Nothing to do: what follows each of them is a graph of its own.",
    ),
    Reason(
        "loop-whole",
        "break",
        "nobody could go on in the middle of this loop when a signal comes, and that matters here: {detail}",
        "Nothing to do: the loop is a graph of its own.",
    ),
    Reason(
        "loop-list",
        "break",
        "the items of {detail} are needed, which a compiled loop fills",
        "Collect into an array made before the loop, or let the code behind the break take the list.",
    ),
    Reason(
        "listed-array",
        "break",
        "{detail} writes to an array that is in a list or dict, which other names may show",
        "Keep the arrays as rows of one array, or store a new one: w[i] = w[i] + x.",
    ),
    Reason(
        "changing-number",
        "break",
        "the value of {detail} is needed, which has been another one in each of several versions",
        "Nothing to do: what needs it runs plainly, and the rest is compiled once.",
    ),
    Reason(
        "list-length",
        "break",
        "the items of {detail} are needed, a list that has grown from call to call",
        "Nothing to do: what reads the list runs plainly, and the rest is compiled once. Without the break, write what "
        "is collected into an array made before.",
    ),
    Reason(
        "long-list",
        "break",
        "the items of {detail} are needed one by one, a list or tuple of more than 512",
        "Nothing to do: what reads it runs plainly. To have it in a graph, make an array of it before.",
    ),
    Reason(
        "loop-exit",
        "break",
        "an iteration may leave the loop by {detail}",
        "Let each way out of it begin with what the loop has computed, and nothing else on the stack.",
    ),
    Reason(
        "graph-too-large",
        "break",
        "the graph has grown to {detail} operations",
        "Compile the loop's body as its own function.",
    ),
    Reason(
        "work-limit",
        "break",
        "following {detail} takes more work than work_limit allows",
        "Nothing is lost but the fusion across it: what is called gets a graph of its own, a loop one for each "
        "iteration. Raise config.work_limit to have more in one graph.",
    ),
    Reason(
        "run-budget",
        "skip",
        "compiling it at once would take more than run_budget ({detail} %) allows so far; "
        "it is tried again once there is more",
        "Raise config.run_budget to have it compiled earlier.",
    ),
    Reason(
        "compile-budget",
        "skip",
        "compiling takes longer than compile_budget allows ({detail} ms of CPU time); "
        "it is tried again once this has run plainly for a while",
        "Raise config.compile_budget to have it compiled earlier, "
        "or compile the parts that do the work as functions of their own.",
    ),
    Reason(
        "costly-constant",
        "break",
        "{detail} may take long or much memory, so that only the program itself computes it",
        "Nothing to do if it is meant. Compute it before the array code to keep one graph.",
    ),
    Reason(
        "number-too-long",
        "break",
        "a Python number has grown to more than {detail}",
        "Compile what computes it as its own function.",
    ),
    Reason(
        "loop-over-unknown-iterator",
        "break",
        "a loop goes over {detail}, and how long that is only a call knows",
        "Loop over range(), a list, a tuple or an array, or by enumerate, zip, product, repeat or islice over such.",
    ),
    Reason(
        "exception-handler-active",
        "skip",
        "{detail} stands inside try or except: the rest of the function, or of an iteration, runs as plain Python",
        "Put the array code inside the `try` block into a function of its own.",
    ),
    Reason(
        "first-iteration",
        "skip",
        "the first iteration of a loop runs plainly, since {detail} gives a variable another type",
        "Let the variable begin with a value of the type that it has later, as `t = 0.0` does for a time.",
    ),
    # -- arrays without a rule
    Reason(
        "op-without-rule",
        "break",
        "this is left to NumPy: {detail}",
        "It runs in NumPy between two graphs. Nothing is lost but the fusion across it.",
    ),
    Reason(
        "unsupported-dtype",
        "break",
        "arrays of dtype {detail} are left to NumPy",
        "Use bool, integers, floats up to 64 bits or complex numbers, in native byte order.",
    ),
    Reason(
        "array-subclass",
        "break",
        "{detail} is a subclass of ndarray with rules of its own",
        "Use np.asarray(x) (or x.data, x.filled() for a masked array) before the array code.",
    ),
    Reason(
        "too-many-dims",
        "break",
        "an array has {detail} dimensions; compiled code takes at most 8",
        "Reshape to fewer dimensions.",
    ),
    Reason(
        "unaligned-array",
        "break",
        "{detail} is unaligned or in the other byte order",
        "Make a native copy first: x.astype(x.dtype.newbyteorder('='), copy=True).",
    ),
    # -- frames left alone
    Reason(
        "nothing-to-compile",
        "skip",
        "no array work is in reach of a graph ({detail})",
        "Nothing to do where no arrays are meant. A loop over numbers of a Python list becomes native once the list is "
        "an array: np.array(the list).",
    ),
    Reason(
        "does-not-pay",
        "skip",
        "the compiled form would not be faster than NumPy ({detail})",
        "Nothing to do. config.cost_model = False compiles it all the same.",
    ),
    Reason(
        "recompile-limit",
        "skip",
        "more than recompile_limit kinds of arguments were met ({detail})",
        "Call it with fewer kinds of arguments (dtypes, ranks, Python values), or raise recompile_limit.",
    ),
    Reason(
        "backend-failed",
        "skip",
        "the backend failed on the graph ({detail})",
        "The function runs as plain Python. Please report it, with the graph that graph_for() gives.",
    ),
    Reason(
        "generator",
        "skip",
        "{detail} is a generator function",
        "Move the array code into a plain function, compile that, and call it in the generator.",
    ),
    Reason(
        "coroutine",
        "skip",
        "{detail} is a coroutine or asynchronous generator",
        "Move the array code into a plain function, compile that, and call it in the coroutine.",
    ),
    Reason(
        "cell-variables",
        "skip",
        "the graph breaks where a variable that inner functions share is not bound, in a comprehension that has a "
        "variable of the same name, or behind a loop that is left in several ways ({detail})",
        "Pass the values to the inner functions as arguments, or define them outside.",
    ),
    Reason(
        "frame-introspection",
        "skip",
        "{detail} looks at frames or local variables",
        "Avoid locals(), eval(), exec(), sys._getframe(), sys.settrace() and inspect in array code.",
    ),
    Reason(
        "nested-values",
        "skip",
        "it makes tuples, lists or other objects that hold each other more than {detail} deep",
        "Keep the items of a long chain in one list.",
    ),
    Reason(
        "recursion-limit",
        "skip",
        "there was not enough room left on the stack to compile {detail}",
        "A later call with less recursion around it is compiled, unless little of the stack was in use.",
    ),
    Reason(
        "out-of-memory",
        "skip",
        "there was not enough memory left to compile {detail}",
        "A later call that finds more is compiled, unless that fails several times.",
    ),
    Reason(
        "changed-meanwhile",
        "skip",
        "what {detail} reads has changed while it was compiled",
        "Another thread or a signal's handler did. A later call is compiled, unless that happens several times.",
    ),
    Reason(
        "replaced",
        "skip",
        "{detail} is not what it was when dynamo_lite was imported, which calls it",
        "A test or the like has put something in its place: a later call, when it is back, is compiled.",
    ),
    Reason(
        "too-many-locals",
        "skip",
        "it has more than {detail} local variables",
        "Keep the values in lists or arrays, or split the function.",
    ),
    Reason(
        "unknown-bytecode",
        "skip",
        "the bytecode of {detail} is not understood",
        "The function may have been changed by another tool. Compile the original.",
    ),
    Reason(
        "not-a-python-function",
        "skip",
        "{detail} is not a plain Python function",
        "It is called as it is. Python functions that it calls are compiled.",
    ),
    Reason(
        "disabled",
        "skip",
        "{detail} is marked with dynamo_lite.disable",
        "Remove the mark to have it compiled.",
    ),
    Reason(
        "internal-error",
        "skip",
        "dynamo_lite failed on this function ({detail})",
        "The function runs as plain Python. Please report it, with DYNAMO_LITE_VERBOSE=1.",
    ),
    Reason(
        "library-frame",
        "skip",
        "{detail} belongs to NumPy, Numba, pytest, importlib or dynamo_lite itself",
        "Nothing to do: what array code calls of NumPy is traced there.",
    ),
)

REASONS: dict[str, Reason] = {reason.id: reason for reason in _ROWS}
NUMBERS: dict[str, int] = {reason.id: number for number, reason in enumerate(_ROWS)}
"""Frame statistics count row n of this table under ``_C.abi.FIRST_PIPELINE_REASON`` + n."""


def message(reason_id: str, detail: str = "") -> str:
    """The sentence for a reason, with what capture knows about this place."""
    text = REASONS[reason_id].message
    if detail:
        return text.format(detail=detail)
    return text.replace(" ({detail})", "").format(detail="this").strip()


def to_markdown() -> str:
    """The text of docs/breaks.md."""
    lines = [
        "# Graph breaks and skipped frames",
        "",
        "A *graph break* ends one graph: the instruction runs in plain Python and a new graph starts behind it. A",
        "*skipped* frame runs as plain Python. Neither changes a result. `explain()` and `DYNAMO_LITE_LOGS=breaks`",
        "report each with one of these ids; `fullgraph=True` turns the first into an error. This page is generated by",
        "`make docs` from the table in `dynamo_lite/breaks.py`.",
    ]
    titles = (("break", "Breaks"), ("skip", "Skipped frames"))
    for kind, title in titles:
        lines += ["", f"[{title}](#{title.lower().replace(' ', '-')}):", ""]
        lines += [f"- [{one.id}](#{one.id}): {message(one.id, '*x*')}" for one in _ROWS if one.kind == kind]
    for kind, title in titles:
        lines += ["", f"## {title}"]
        for reason in _ROWS:
            if reason.kind == kind:
                lines += [
                    "",
                    f"### {reason.id}",
                    "",
                    f"{message(reason.id, '*x*')}.",
                    "",
                    f"**What to do.** {reason.hint}",
                ]
    return "\n".join(lines) + "\n"

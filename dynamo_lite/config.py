"""The options: one row each of `Config`, with type, default, environment variable and one sentence.

`config` is the process-wide instance. Values come from the environment at import, may be assigned
(``config.verbose = True``), changed for a block (``with config.patch(check=1): ...``) or for one function
(``compile(fn, options={"cost_model": False})``, which uses `Config.replace`). Every value is checked when it is set;
a wrong one raises ConfigError that lists what is allowed. docs/options.md is generated from these rows.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from dynamo_lite.dataclass import dataclass
from dynamo_lite.errors import ConfigError

ARTIFACTS = ("graph", "guards", "breaks", "recompiles", "bytecode", "kernels")
STRESS_MODES = ("", "hook", "rewrite", "break", "compile", "miss")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a value may be: an inclusive range of ints, or a set of words (one, or several joined by commas)."""

    low: int | None = None
    high: int | None = None
    words: tuple[str, ...] = ()


def option(default: Any, env: str, doc: str, **limits: Any) -> Any:
    """One row of the table: a dataclass field with its environment variable, sentence and limits."""
    return dataclasses.field(default=default, metadata={"env": env, "doc": doc, "limits": Limits(**limits)})


@dataclass(slots=True)
class Config:
    """The options of dynamo_lite; one row an option."""

    backend: str = option("numba", "DYNAMO_LITE_BACKEND", "Backend of functions compiled without `backend=`.")
    num_threads: int = option(
        0,
        "DYNAMO_LITE_NUM_THREADS",
        "Threads that share big kernels and reductions. 0: as many as the process has processors, by its affinity and "
        "its control group's quota, or `OMP_NUM_THREADS` if that is less; used where they have been seen to gain.",
        low=0,
        high=64,
    )
    recompile_limit: int = option(
        8,
        "DYNAMO_LITE_RECOMPILE_LIMIT",
        "How often one code object may be compiled again; calls that fit no version then run plain.",
        low=0,
    )
    unroll_limit: int = option(
        2000, "DYNAMO_LITE_UNROLL_LIMIT", "Iterations of one Python loop that may be unrolled into a graph.", low=0
    )
    native_loops: bool = option(
        True,
        "DYNAMO_LITE_NATIVE_LOOPS",
        "Keep `for` loops over ranges and arrays loops in the graph, where they are understood.",
    )
    native_branches: bool = option(
        True,
        "DYNAMO_LITE_NATIVE_BRANCHES",
        "Keep branches on data outside of loops in the graph, where both arms are short and are understood.",
    )
    node_limit: int = option(
        4000, "DYNAMO_LITE_NODE_LIMIT", "Operations one graph may hold; the graph breaks there.", low=1
    )
    work_limit: int = option(
        30000,
        "DYNAMO_LITE_WORK_LIMIT",
        "Steps (instructions, relations decided; operations count 10) one capture may take, two thirds of them for a "
        "loop that is unrolled or a function that calls itself. Where it takes more, calls keep their own frames, "
        "loops run one iteration at a time, or the graph breaks.",
        low=100,
    )
    compile_budget: int = option(
        2000,
        "DYNAMO_LITE_COMPILE_BUDGET",
        "Milliseconds of CPU time that compiling one function for one kind of arguments may take, its resume functions "
        "included. What is not compiled by then runs plain, and a quarter of the time that this takes may go into "
        "compiling it still, at later calls. 0: no limit.",
        low=0,
    )
    run_budget: int = option(
        5,
        "DYNAMO_LITE_RUN_BUDGET",
        "Percent of the CPU time a program has taken that `run` may spend on compiling, importing the compiler "
        "included. Time that the loop at hand is known to take counts as well, 5 to 11 times by what it does, and "
        "three tenths of what compiled code has saved come on top. Once the compiler is there, a tenth of the time "
        "known to come may go into what else is compiled, and a fifth into the rest of what is compiled in part.",
        low=0,
    )
    cost_model: bool = option(
        True, "DYNAMO_LITE_COST_MODEL", "Leave plain what would not run faster; off: compile whatever can be."
    )
    pool_bytes: int = option(
        64 * 2**20,
        "DYNAMO_LITE_POOL_BYTES",
        "Bytes of dead arrays' memory that are held for the next arrays, in the process. Read by `compile` and `run`. "
        "0: none.",
        low=0,
    )
    verbose: bool = option(False, "DYNAMO_LITE_VERBOSE", "Say on stderr what was compiled, and why not.")
    check: int = option(
        0,
        "DYNAMO_LITE_CHECK",
        "0: no checks; 1: verify each graph, read code a second time, raise where a defect would otherwise leave a "
        "function plain, and overwrite the memory of dead arrays.",
        low=0,
        high=1,
    )
    dump: str = option("", "DYNAMO_LITE_DUMP", "Folder for numbered files with every stage of every compiled frame.")
    perf_map: bool = option(
        False,
        "DYNAMO_LITE_PERF_MAP",
        "Write where the code of kernels and loops lies into `/tmp/perf-PID.map`, by which Linux's `perf report` names "
        "it.",
    )
    logs: frozenset[str] = option(
        frozenset(), "DYNAMO_LITE_LOGS", "What to write to stderr as it is made, joined by commas.", words=ARTIFACTS
    )
    include: frozenset[str] = option(
        frozenset(), "DYNAMO_LITE_INCLUDE", "Installed packages or modules whose own functions may be compiled, too."
    )
    exclude: frozenset[str] = option(
        frozenset(), "DYNAMO_LITE_EXCLUDE", "Packages or modules whose functions run as they are."
    )
    disable: bool = option(
        False,
        "DYNAMO_LITE_DISABLE",
        "Leave everything plain: compiled functions and `run` only pass on. Read by `compile` and `run`.",
    )
    stress: str = option(
        "",
        "DYNAMO_LITE_STRESS",
        "Test modes. hook: every frame passes the hook; rewrite: every frame is decoded and encoded again; "
        "break: a break at every legal point; compile: every frame is compiled; miss: guards never pass.",
        words=STRESS_MODES,
    )

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, checked(row(name), value))

    def __delattr__(self, name: str) -> None:
        raise ConfigError(f"option {name!r} cannot be deleted")

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Config:
        """The defaults, replaced by the ``DYNAMO_LITE_*`` variables of `environ` that are set and not empty."""
        values = {}
        for item in dataclasses.fields(cls):
            text = environ.get(item.metadata["env"], "")
            if text:
                values[item.name] = parsed(item, text)
        known = [item.metadata["env"] for item in dataclasses.fields(cls)]
        for name in environ:
            if name.startswith("DYNAMO_LITE_") and name not in known:
                near = _like(name, known, 0.9)
                if near:
                    raise ConfigError(f"{name} is no option; did you mean {near[0]}?")
        return cls(**values)

    def replace(self, values: Mapping[str, Any] | None = None, /, **more: Any) -> Config:
        """A copy with other values; what ``compile(options=...)`` uses. Raises ConfigError for unknown names."""
        changed = {**(values or {}), **more}
        for name in changed:
            row(name)
        return dataclasses.replace(self, **changed)

    @contextmanager
    def patch(self, **values: Any) -> Iterator[Config]:
        """Change options for a block (or, as a decorator, for a function), for every thread; then put them back."""
        self.replace(values)  # all are checked before the first is set
        before = {name: getattr(self, name) for name in values}
        for name, value in values.items():
            setattr(self, name, value)
        try:
            yield self
        finally:
            for name, value in before.items():
                setattr(self, name, value)


def row(name: str) -> dataclasses.Field[Any]:
    """The row of option `name`; ConfigError with the nearest name when there is none."""
    found: dict[str, dataclasses.Field[Any]] = Config.__dataclass_fields__
    if name in found:
        return found[name]
    names = [*found]
    near = _like(name, names)
    raise ConfigError(f"no option {name!r}; " + (f"did you mean {near[0]!r}?" if near else f"there are {names}"))


def _like(name: str, names: list[str], least: float = 0.6) -> list[str]:
    """The one of `names` that is most like a `name` which is none, if one is."""
    import difflib  # which takes 2 ms

    return difflib.get_close_matches(str(name), names, 1, least)


def parsed(item: dataclasses.Field[Any], text: str) -> Any:
    """The value that an environment variable's `text` means."""
    if isinstance(item.default, bool):
        words = {
            "1": True,
            "true": True,
            "on": True,
            "yes": True,
            "0": False,
            "false": False,
            "off": False,
            "no": False,
        }
        if text.lower() not in words:
            raise ConfigError(f"{item.metadata['env']}={text!r}: expected one of {', '.join(words)}")
        return words[text.lower()]
    value: Any = text
    try:
        if isinstance(item.default, int):
            value = int(text)
        return checked(item, value)
    except ValueError as error:
        reason = str(error) if isinstance(error, ConfigError) else "expected a whole number"
        raise ConfigError(f"{item.metadata['env']}={text!r}: {reason}") from None


def checked(item: dataclasses.Field[Any], value: Any) -> Any:
    """`value` when option `item` may have it (words joined by commas, and other collections, become a frozenset);
    ConfigError otherwise."""
    limits: Limits = item.metadata["limits"]
    expected = type(item.default)
    if expected is frozenset and isinstance(value, str):
        value = [word.strip() for word in value.split(",") if word.strip()]
    if expected is frozenset and isinstance(value, set | list | tuple):
        value = frozenset(value)
    if not _is_a(value, expected):
        raise ConfigError(f"{item.name} is {_KINDS[expected]}, not {value!r}")
    if expected is int and limits.low is not None and value < limits.low:
        raise ConfigError(f"{item.name} is at least {limits.low}, not {value}")
    if expected is int and limits.high is not None and value > limits.high:
        raise ConfigError(f"{item.name} is at most {limits.high}, not {value}")
    if limits.words:
        given = value if expected is frozenset else {value}
        wrong = sorted(repr(word) for word in given if word not in limits.words)
        if wrong:
            raise ConfigError(
                f"{item.name}: {', '.join(wrong)} unknown; allowed: {', '.join(filter(None, limits.words))}"
            )
    return value


_KINDS = {bool: "True or False", int: "a whole number", str: "a string", frozenset: "a set of words, or a string"}


def _is_a(value: object, expected: type) -> bool:
    return type(value) is expected  # exactly: True is no number of threads


def to_markdown() -> str:
    """The text of docs/options.md."""
    lines = [
        "# Options",
        "",
        "Set one for the process with its environment variable or `dynamo_lite.config.NAME = value`, for a block with",
        "`with dynamo_lite.config.patch(NAME=value):`, for one function with `compile(fn, options={NAME: value})`. A",
        "wrong name or value raises `ConfigError`, a wrong name of a backend `BackendError` once it is used; of",
        "variables that are no option, only those that look like a misspelt one are errors. `run_budget`,",
        "`pool_bytes`, `verbose`, `dump`, `perf_map`, `logs`, `include` and `exclude` are of the process: in",
        "`options={...}` they do nothing. This page is generated by `make docs` from `dynamo_lite/config.py`.",
        "",
        "| option | variable | default | meaning |",
        "| --- | --- | --- | --- |",
    ]
    for item in dataclasses.fields(Config):
        default = ",".join(sorted(item.default)) if isinstance(item.default, frozenset) else item.default
        meaning = item.metadata["doc"]
        if item.metadata["limits"].words and item.type == "frozenset[str]":
            meaning += " " + ", ".join(f"`{word}`" for word in item.metadata["limits"].words) + "."
        shown = f"`{default}`" if default != "" else "nothing"
        lines.append(f"| `{item.name}` | `{item.metadata['env']}` | {shown} | {meaning} |")
    return "\n".join(lines) + "\n"


def _of_process() -> Config:
    """The options that the environment gives. To ``python -m dynamo_lite`` a wrong one is said in a line."""
    try:
        return Config.from_environment(os.environ)
    except ConfigError as error:
        # NB: the package is imported before its __main__, and sys.argv[0] is "-m" meanwhile.
        if sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)].removeprefix("-m") == "dynamo_lite":
            print(f"python -m dynamo_lite: {error}", file=sys.stderr)
            raise SystemExit(2) from None
        raise


config = _of_process()
_compiling: ContextVar[Config] = ContextVar("the options of the function that is being compiled")
_seconds: ContextVar[dict[str, float] | None] = ContextVar("what compiling it has taken, by stage", default=None)


def current() -> Config:
    """The options a backend has to follow: those of the function that is being compiled, else the process's."""
    return _compiling.get(config)


def current_seconds() -> dict[str, float]:
    """Where a backend adds what it takes later, at the first run say, for the function that is being compiled."""
    seconds = _seconds.get()
    return {} if seconds is None else seconds


@contextmanager
def compiling(options: Config, seconds: dict[str, float] | None = None) -> Iterator[None]:
    """Make `options` the current ones, and `seconds` the place of its times, for a block, in this thread."""
    token, since = _compiling.set(options), _seconds.set(seconds)
    try:
        yield
    finally:
        _seconds.reset(since)
        _compiling.reset(token)

"""A program run by ``python -m dynamo_lite run`` ends as with ``python``: output, argv, exit code, traceback."""

from __future__ import annotations

import os
import py_compile
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dynamo_lite.cli.execute import _parts

CLOSING = re.compile(r"dynamo_lite: \d+\.\d\d s of CPU time[^\n]*\n(  [^\n]+:\d+ [^\n]*\n)*\Z")
FRAMES = re.compile(
    r"frames seen \d+ captured \d+ skipped \d+( \(\D+ \d+(, \D+ \d+)*\))?(, rewritten \d+)?"
    r"(, plain from a break on \d+)?\n\Z"
)

SEEN = """\
import sys, __main__
print(sys.argv, __name__, sys.path[0])
print(__main__.SENTINEL if hasattr(__main__, "SENTINEL") else "no sentinel yet")
SENTINEL = 1
print(__main__.SENTINEL, __main__ is sys.modules["__main__"], __spec__ and __spec__.name, __package__)
"""

PROGRAMS = {
    "prints": SEEN,
    "fails": "def f():\n    return [][1]\n\n\nf()\n",
    "does_not_parse": "def f(:\n",
    "exits": "import sys\nsys.exit(3)\n",
    "exits_with_text": "raise SystemExit('no good')\n",
    "hooks": "import sys\nsys.excepthook = lambda *args: print('hooked', args[0].__name__)\n1 / 0\n",
    "at_exit": "import atexit\natexit.register(print, 'at exit')\nprint('end')\n",
    "threads": "import threading\nthreading.Thread(target=lambda: print('thread', __name__)).start()\n",
    "pickles": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)\n",
    "annotates": "x: int = 1\nprint(__annotations__)\n",
    "computes": (
        "import numpy as np\ndef f(x):\n    return np.sqrt(x * x + 1.0) * 2.0 - x\n"
        "print(f(np.arange(50_000.0)).sum().hex(), f(np.arange(3.0)))\n"
    ),
    "warns": "import numpy as np\ndef f(x):\n    return 1.0 / (x * 2.0)\nprint(f(np.arange(50_000.0))[:3])\n",
}


def run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run python with these arguments."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DYNAMO_LITE_")}
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env={**kept, **environment}, capture_output=True, text=True, timeout=300
    )


def split_closing(stderr: str) -> tuple[str, str]:
    """The program's own stderr, and the closing lines."""
    closing = CLOSING.search(stderr) or FRAMES.search(stderr)
    assert closing, stderr
    return stderr[: closing.start()], closing.group()


AS_MODULES = ("prints", "fails", "exits", "pickles")


@pytest.mark.parametrize(
    ("name", "as_module"), [*((name, False) for name in PROGRAMS), *((name, True) for name in AS_MODULES)]
)
def test_like_python(name: str, as_module: bool, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text(PROGRAMS[name])
    target = ["-m", name] if as_module else [f"{name}.py"]
    plain = run(*target, "-m", "--help", "x", cwd=tmp_path)
    ours = run("-m", "dynamo_lite", "run", *target, "-m", "--help", "x", cwd=tmp_path)
    stderr, _ = split_closing(ours.stderr)
    assert ours.stdout == plain.stdout
    assert stderr == plain.stderr
    assert ours.returncode == plain.returncode


ENDS = {
    "interrupted": (
        "import atexit, os, signal, sys, time\n"
        "atexit.register(lambda: print(sys.last_type, sys.last_traceback.tb_lineno))\n"
        "def f():\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(9)\n\n\nf()\n"
    ),
    "interrupted_otherwise": "class Stop(KeyboardInterrupt):\n    pass\n\n\nraise Stop('here')\n",
    "last": (
        "import atexit, sys\n"
        "atexit.register(lambda: print(repr(sys.last_value), sys.last_traceback.tb_lineno))\n1 / 0\n"
    ),
    "writes": "print('text')\n",
    "writes_much": "for i in range(20_000):\n    print(i, 'text')\n",
    "writes_all": "import sys\nprint('text')\nsys.stdout.flush()\n",
    "hooks": "import sys\ndef hook(*args):\n    print(len(args))\nsys.excepthook = hook\nraise ValueError\n",
}
# NB: what a reader leaves that stops midway, and so what Python says of it, is another thing each time.
_PLACES = (" > /dev/full", " | exit", " >&-", " 2>&-")


@pytest.mark.parametrize(
    ("name", "behind"),
    [
        *((name, "") for name in ENDS),
        *((name, behind) for name in ("writes", "writes_all") for behind in _PLACES),
        ("writes", " | head -n 1"),
        ("writes_much", " > /dev/full"),
    ],
)
def test_it_ends_like_python(name: str, behind: str, tmp_path: Path) -> None:
    """By the same signal or exit status, with the same said of what could not be written, and all said behind it."""
    (tmp_path / "program.py").write_text(f"import numpy\n{ENDS[name]}")

    def ended(command: str) -> tuple[str, str, str]:
        shell = f'{{ "{sys.executable}" {command} program.py; echo "status $?" > status; }}{behind}'
        done = subprocess.run(["sh", "-c", shell], cwd=tmp_path, env=environment, capture_output=True, text=True)
        stderr = re.sub(r"dynamo_lite: .*\n", "", done.stderr)
        return done.stdout, stderr, (tmp_path / "status").read_text()

    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    plain = ended("")
    assert ended("-m dynamo_lite run -q") == plain
    assert ended("-m dynamo_lite run") == plain


def test_interrupted_it_dies_by_that_signal(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(ENDS["interrupted"])
    assert run("-m", "dynamo_lite", "run", "program.py", cwd=tmp_path).returncode == -signal.SIGINT


@pytest.mark.parametrize(
    "ends", ["1 / 0", "raise SystemExit('no good')", "raise SystemExit(3)", "x = 1", "raise KeyboardInterrupt"]
)
def test_a_prompt_follows(ends: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(f"def f():\n    y = 2\n    {ends}\n\n\nf()\n")
    asked = "import sys; print(getattr(sys, 'last_value', 0).__repr__(), f.__name__)\n"
    asked += "print(getattr(sys, 'last_traceback', f) and [name for name in globals() if name[0] != '_'])\n"

    def ended(*command: str) -> tuple[str, str, int]:
        done = subprocess.run(
            [sys.executable, "-i", *command, "program.py"], cwd=tmp_path, input=asked, capture_output=True, text=True
        )
        return done.stdout, done.stderr, done.returncode

    assert ended("-m", "dynamo_lite", "run", "-q") == ended()


def test_a_script_begins_with_the_names_that_python_gives_it(tmp_path: Path) -> None:
    (tmp_path / "names.py").write_text("print(list(globals()), __annotations__)\n")
    plain = run("names.py", cwd=tmp_path)
    ours = run("-m", "dynamo_lite", "run", "names.py", cwd=tmp_path)
    assert (ours.stdout, ours.returncode) == (plain.stdout, plain.returncode)


def test_folder_with_main(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text("import other, sys\nprint(__name__, other.X, sys.argv)\n")
    (tmp_path / "app" / "other.py").write_text("X = 5\n")
    plain = run("app", "a", cwd=tmp_path)
    ours = run("-m", "dynamo_lite", "run", "app", "a", cwd=tmp_path)
    assert ours.stdout == plain.stdout and ours.returncode == plain.returncode == 0


def test_missing_script_and_module(tmp_path: Path) -> None:
    for target in (["nothing.py"], ["-m", "nothing"]):
        ours = run("-m", "dynamo_lite", "run", *target, cwd=tmp_path)
        assert ours.returncode != 0 and "nothing" in ours.stderr


def test_a_module_that_does_not_compile(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import numpy\ndef f(:\n")
    (tmp_path / "imports.py").write_text("import broken\n")
    plain = run("imports.py", cwd=tmp_path)
    ours = run("-m", "dynamo_lite", "run", "-q", "imports.py", cwd=tmp_path)
    assert ours.stderr == plain.stderr and "SyntaxError" in plain.stderr and ours.returncode == 1


@pytest.mark.parametrize("source", [b"print('\xe9')\n", b"print(1)\0\n", b"# coding: latin-1\nprint('\xe9'\n"])
@pytest.mark.parametrize("imports", [b"import numpy\n", b""])
def test_what_is_no_text_is_said_as_python_says_it(imports: bytes, source: bytes, tmp_path: Path) -> None:
    (tmp_path / "source.py").write_bytes(source + imports)
    plain, ours = run("source.py", cwd=tmp_path), run("-m", "dynamo_lite", "run", "-q", "source.py", cwd=tmp_path)
    assert "SyntaxError" in plain.stderr
    assert (ours.stdout, ours.stderr, ours.returncode) == (plain.stdout, plain.stderr, plain.returncode)


LOADER = """\
import importlib.machinery, importlib.util, inspect
import numpy

class Own(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        code = super().get_code(fullname)
        print(fullname, code.co_name)
        return code

usual = importlib.machinery.SourceFileLoader.get_code
print(usual.__name__, usual.__qualname__, inspect.isfunction(usual), inspect.signature(usual), usual.__doc__)
loader = Own("other", "other.py")
spec = importlib.util.spec_from_file_location("other", "other.py", loader=loader)
spec.loader.exec_module(importlib.util.module_from_spec(spec))
print(type(loader.get_code).__name__, loader.get_code.__name__, usual(loader, "other").co_names)
"""


def test_what_loads_files_looks_as_it_did(tmp_path: Path) -> None:
    (tmp_path / "loads.py").write_text(LOADER)
    (tmp_path / "other.py").write_text("import numpy\nprint(numpy.ones(2))\n")
    plain, ours = run("loads.py", cwd=tmp_path), run("-m", "dynamo_lite", "run", "-q", "loads.py", cwd=tmp_path)
    assert (ours.stdout, ours.stderr, ours.returncode) == (plain.stdout, plain.stderr, 0)


def test_quiet_and_disabled_runs_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "computes.py").write_text(PROGRAMS["computes"])
    assert run("-m", "dynamo_lite", "run", "-q", "computes.py", cwd=tmp_path).stderr == ""
    assert run("-m", "dynamo_lite", "run", "computes.py", cwd=tmp_path, DYNAMO_LITE_DISABLE="1").stderr == ""


@pytest.mark.parametrize("mode", ["hook", "rewrite", "compile", "break", "miss"])
def test_stress_modes(mode: str, tmp_path: Path) -> None:
    (tmp_path / "computes.py").write_text(PROGRAMS["computes"])
    plain = run("computes.py", cwd=tmp_path)
    ours = run("-m", "dynamo_lite", "run", "computes.py", cwd=tmp_path, DYNAMO_LITE_STRESS=mode)
    stderr, closing = split_closing(ours.stderr)
    assert (ours.stdout, stderr, ours.returncode) == (plain.stdout, plain.stderr, 0)
    assert ("rewritten" in closing) == (mode == "rewrite")
    seen = re.match(r"frames seen (\d+)", closing)
    assert seen and int(seen.group(1)) > 0


def test_a_program_may_use_the_compiler_itself(tmp_path: Path) -> None:
    """Its frames are the program's then, and capturing them asks for the same compiler."""
    (tmp_path / "compiles.py").write_text(
        "import numpy as np\n"
        "from dynamo_lite.backends.numba import compile_graph\n"
        "from tests.schedule.tracing import trace\n"
        "x = np.arange(2000.0)\n"
        "for function in (lambda x: np.log(x + 1) * 2, lambda x: np.hypot(x, x + 3) - 1):\n"
        "    (found,) = compile_graph(trace(function, x), (x,))(x)\n"
        "    assert found.tobytes() == function(x).tobytes()\n"
    )
    mode = {"DYNAMO_LITE_STRESS": "compile", "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    done = run("-m", "dynamo_lite", "run", "compiles.py", cwd=tmp_path, **mode)
    assert done.returncode == 0 and " captured " in done.stderr, done.stderr


def test_forked_child_prints_no_closing_line(tmp_path: Path) -> None:
    (tmp_path / "forks.py").write_text(
        "import os, sys\npid = os.fork()\nif pid:\n    os.waitpid(pid, 0)\nelse:\n    sys.exit(0)\n"
    )
    ours = run("-W", "ignore", "-m", "dynamo_lite", "run", "forks.py", cwd=tmp_path)
    assert ours.stderr.count("dynamo_lite: ") == 1


OWN = "print('the own {name} of', __name__)\n\n\ndef halves(x, n):\n    return x / 2.0 ** n\n"


@pytest.mark.parametrize("as_module", [False, True], ids=["script", "module"])
@pytest.mark.parametrize("inside", [True, False], ids=["inside", "outside"])
def test_files_named_like_modules_that_the_compiler_imports(inside: bool, as_module: bool, tmp_path: Path) -> None:
    """The program gets its own, the compiler the others, whoever imports them first."""
    if not inside and as_module:
        return
    folder = tmp_path / "program"
    folder.mkdir()
    for name in ("bisect", "copy", "bytecode", "dataclasses", "fractions"):
        (folder / f"{name}.py").write_text(OWN.format(name=name))
    body = "import numpy as np\nfrom bisect import halves\n"
    body += "def f(x, n):\n    s = 0.0\n    for i in range(n):\n        s += x[i % 9] * 2.0 - s * 0.1\n    return s\n"
    body += "for k in range(4):\n    print(f(np.arange(9.0), 500_000).hex(), halves(1.0, k))\n"
    body += "import fractions, bytecode, copy, dataclasses\nprint(fractions.halves is not halves)\n"
    (folder / "main.py").write_text(body)
    cwd = folder if inside else tmp_path
    target = ["-m", "main"] if as_module else [os.path.join("" if inside else "program", "main.py")]
    plain = run(*target, cwd=cwd)
    ours = run("-m", "dynamo_lite", "run", *target, cwd=cwd, DYNAMO_LITE_CHECK="1", DYNAMO_LITE_RUN_BUDGET="100")
    stderr, closing = split_closing(ours.stderr)
    assert plain.returncode == 0 and (ours.stdout, stderr, ours.returncode) == (plain.stdout, plain.stderr, 0)
    assert " native calls" in closing


CALLS_AT_DEPTHS = """\
import resource

def leaf(a, b, c):
    return a

def faults_at(depth):
    if depth:
        return faults_at(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(500):
        leaf(1, 2, 3)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(max(faults_at(depth) for depth in range(200)))
"""


@pytest.mark.parametrize("as_module", [False, True], ids=["script", "module"])
def test_no_call_takes_memory_for_its_frame_from_the_system(as_module: bool, tmp_path: Path) -> None:
    """Plainly, up to 3.13, each of those at one depth does: 500 page faults."""
    (tmp_path / "calls.py").write_text(CALLS_AT_DEPTHS)
    ours = run("-m", "dynamo_lite", "run", *(["-m", "calls"] if as_module else ["calls.py"]), cwd=tmp_path)
    assert ours.returncode == 0 and int(ours.stdout) < 100


@pytest.mark.parametrize("as_module", [False, True], ids=["script", "module"])
def test_the_collector_is_on_and_comes_no_sooner(as_module: bool, tmp_path: Path) -> None:
    """What is imported before the program is not collected: it would bring full collections forward. NB: the last of
    the three counts is of collections of the middle generation since the latest full one."""
    (tmp_path / "asks.py").write_text("import gc\nimport numpy\nprint(gc.isenabled(), gc.get_count()[2])\n")
    target = ["-m", "asks"] if as_module else ["asks.py"]
    enabled, count = run(*target, cwd=tmp_path).stdout.split()
    found = run("-m", "dynamo_lite", "run", *target, cwd=tmp_path).stdout.split()
    assert enabled == found[0] == "True" and int(found[1]) < int(count)


STACK = """\
import inspect, sys, threading, traceback, warnings
import numpy as np

def deep(n):
    try:
        return deep(n + 1)
    except RecursionError:
        return n

def loop(x):
    total = 0.0
    for i in range(20_000):
        total += x[i % 9]
    return total, len(inspect.stack())

print(inspect.stack()[-1].function, len(inspect.stack()), sys._getframe().f_back is None, deep(0))
traceback.print_stack()
warnings.warn("of whom?", stacklevel=2)
print(loop(np.arange(9.0)), loop(np.arange(9.0)))
sys.setrecursionlimit(700)
print(deep(0), sys.getrecursionlimit())
thread = threading.Thread(target=lambda: print(len(inspect.stack())))
thread.start(), thread.join()
"""


NO_ARRAYS = STACK.replace("import numpy as np\n", "").replace("np.arange", "range").replace("9.0", "9")
SETS_ENVIRONMENT = (
    "import inspect, os, traceback\nprint(len(inspect.stack()))\ntraceback.print_stack()\nos.environ['A'] = 'b'\n"
)


def as_kind(kind: str, source: str, folder: Path) -> list[str]:
    """The program as a file of that kind; the arguments for python."""
    if kind == "script":
        (folder / "stack.py").write_text(source)
        return ["stack.py"]
    if kind == "module":
        (folder / "stack.py").write_text(source)
        return ["-m", "stack"]
    if kind == "archive":  # of any name
        with zipfile.ZipFile(folder / "stack.app", "w") as file:
            file.writestr("__main__.py", source)
        return ["stack.app"]
    (folder / "stack").mkdir()
    (folder / "stack" / "__main__.py").write_text(source)
    return ["stack"]


KINDS = ["script", "module", "folder", "archive"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", [STACK, NO_ARRAYS, SETS_ENVIRONMENT + STACK], ids=["arrays", "none", "environment"])
def test_no_frame_is_below_that_of_the_program(source: str, kind: str, tmp_path: Path) -> None:
    """Stacks, warnings and the recursion limit are those of a program that Python has started."""
    target = as_kind(kind, source, tmp_path)
    plain = run(*target, cwd=tmp_path)
    ours = run("-m", "dynamo_lite", "run", *target, cwd=tmp_path, DYNAMO_LITE_RUN_BUDGET="1000")
    stderr, _ = split_closing(ours.stderr)
    assert kind != "script" or ("Warning: of whom?" in plain.stderr and "<module> 1 True" in plain.stdout)
    assert (ours.stdout, stderr, ours.returncode) == (plain.stdout, plain.stderr, plain.returncode)


NAMES = """\
import atexit, inspect, multiprocessing, pickle, sys

class Point:
    pass

def ends():
    print(sys.modules["__main__"].__dict__ is globals(), "Point" in globals(), len(inspect.stack()))

def makes(n):
    return Point()

if __name__ == "__main__":
    atexit.register(ends)
    print(list(globals()), sys.argv, sys.path[0], __file__, __spec__ and __spec__.name, __package__, type(__loader__))
    print(type(pickle.loads(pickle.dumps(Point()))) is Point, vars(sys.modules["__main__"]) is globals())
    if "spawns" in sys.argv:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print([type(one).__name__ for one in pool.map(makes, [1])])
"""


@pytest.mark.parametrize("kind", KINDS)
def test_the_main_module_is_that_of_the_program(kind: str, tmp_path: Path) -> None:
    """At its end, too, and in processes that it spawns."""
    target = [*as_kind(kind, NAMES, tmp_path), "spawns" if kind in ("script", "module") else "x"]
    plain = run(*target, cwd=tmp_path)
    ours = run("-m", "dynamo_lite", "run", "-q", *target, cwd=tmp_path)
    assert plain.returncode == 0 and (ours.stdout, ours.stderr, ours.returncode) == (plain.stdout, plain.stderr, 0)


def test_bytecode_is_a_program(tmp_path: Path) -> None:
    (tmp_path / "source.py").write_text("print(__file__, type(__loader__), __cached__)\n1 / 0\n")
    for name in ("made.pyc", "made"):
        py_compile.compile(str(tmp_path / "source.py"), str(tmp_path / name))
        plain, ours = run(name, cwd=tmp_path), run("-m", "dynamo_lite", "run", "-q", name, cwd=tmp_path)
        assert "made" in plain.stdout and (ours.stdout, ours.stderr) == (plain.stdout, plain.stderr)


LEFT_ON = """\
import sys, before
{imports}
def ends():
    pass

def sees(frame, event, arg, say=sys.stdout.write):
    say(f"{{frame.f_code.co_name}} {{event}}\\n")
    return sees

sys.excepthook = lambda *args: None
sys.{sets}(sees)
import other
{ends}
"""


@pytest.mark.parametrize("ends", ["ends()", "sys.exit(3)", "1 / 0"])
@pytest.mark.parametrize("sets", ["setprofile", "settrace"])
@pytest.mark.parametrize("imports", ["import numpy", ""], ids=["arrays", "none"])
def test_a_tracer_that_is_left_on_sees_no_frame_of_ours(imports: str, sets: str, ends: str, tmp_path: Path) -> None:
    (tmp_path / "left.py").write_text(LEFT_ON.format(imports=imports, sets=sets, ends=ends))
    for name in ("before.py", "other.py"):
        (tmp_path / name).write_text("")
    run("left.py", cwd=tmp_path)  # and what is imported has its bytecode
    plain, ours = run("left.py", cwd=tmp_path), run("-m", "dynamo_lite", "run", "left.py", cwd=tmp_path)
    stderr, _ = split_closing(ours.stderr)
    assert "<module> call" in plain.stdout
    assert (ours.stdout, stderr, ours.returncode) == (plain.stdout, plain.stderr, plain.returncode)


@pytest.mark.parametrize("ends", ["", "def f(): f()\nf()", "sys.exit(3)"])
def test_a_low_recursion_limit_at_the_end_is_the_programs_own(ends: str, tmp_path: Path) -> None:
    source = f"import atexit, sys\natexit.register(lambda: print('at exit'))\nsys.setrecursionlimit(5)\n{ends}\n"
    for name, text in (("plain.py", source), ("arrays.py", f"import numpy\n{source}")):
        (tmp_path / name).write_text(text)
        plain, ours = run(name, cwd=tmp_path), run("-m", "dynamo_lite", "run", name, cwd=tmp_path)
        stderr, _ = split_closing(ours.stderr)
        assert (ours.stdout, stderr, ours.returncode) == (plain.stdout, plain.stderr, plain.returncode)
        assert plain.stdout == "at exit\n"


HOOKED = """\
import sys, traceback
import numpy as np

def show(kind, error, found):
    print(kind.__name__, [one.name for one in traceback.extract_stack()])

sys.excepthook = show
1 / 0
"""


@pytest.mark.parametrize("imports", ["import numpy as np\n", ""], ids=["arrays", "none"])
def test_no_frame_is_below_a_hook(imports: str, tmp_path: Path) -> None:
    (tmp_path / "hooked.py").write_text(HOOKED.replace("import numpy as np\n", imports))
    plain, ours = run("hooked.py", cwd=tmp_path), run("-m", "dynamo_lite", "run", "hooked.py", cwd=tmp_path)
    assert ours.stdout == plain.stdout == "ZeroDivisionError ['show']\n"
    assert ours.returncode == plain.returncode == 1


def test_no_frame_is_below_a_hook_that_raises(tmp_path: Path) -> None:
    (tmp_path / "hooked.py").write_text(HOOKED.replace("print(", "raise ValueError("))
    plain, ours = run("hooked.py", cwd=tmp_path), run("-m", "dynamo_lite", "run", "-q", "hooked.py", cwd=tmp_path)
    assert plain.stderr.startswith("Error in sys.excepthook:") and ours.stderr == plain.stderr


FORKS = """\
import os, sys
import numpy as np

def first(n):
    total, a = 0.0, np.zeros(50)
    for i in range(n):
        for j in range(50):
            a[j] = a[j] * 0.5 + i * 0.001
            total += a[j]
    return total

def later(n):
    total, a = 1.0, np.ones(60)
    for i in range(n):
        for j in range(1, 60):
            a[j] = a[j - 1] * 0.25 + i * 0.001 - total * 1e-9
            total -= a[j]
    return total

print(first(20_000), flush=True)
if os.fork() == 0:
    print(later(20_000), flush=True)
    os._exit(0)
print(os.wait()[1], later(20_000))
"""


@pytest.mark.parametrize("budget", ["5", "1000"])
def test_a_child_by_fork_goes_on_as_the_program_does(budget: str, tmp_path: Path) -> None:
    """Its CPU time begins anew, and what was noted of the parent's does not."""
    (tmp_path / "forks.py").write_text(FORKS)
    plain = run("forks.py", cwd=tmp_path)
    ours = run("-m", "dynamo_lite", "run", "-q", "forks.py", cwd=tmp_path, DYNAMO_LITE_RUN_BUDGET=budget)
    assert (ours.stdout, ours.stderr, ours.returncode) == (plain.stdout, plain.stderr, plain.returncode)


SHOWN = "import numpy, sys\nprint(__file__, sys.argv, sys._getframe().f_code.co_filename)\n"


def test_the_path_of_a_script_is_not_made_shorter(tmp_path: Path) -> None:
    (tmp_path / "shown.py").write_text(SHOWN)
    name = f"./../{tmp_path.name}/./shown.py"
    ours = run("-m", "dynamo_lite", "run", "-q", name, cwd=tmp_path)
    assert ours.stdout == run(name, cwd=tmp_path).stdout


def test_nothing_is_watched_where_that_is_disabled(tmp_path: Path) -> None:
    (tmp_path / "counts.py").write_text("import numpy\nfor i in range(3):\n    print(i)\n")
    for command in ("run", "explain"):
        ours = run("-m", "dynamo_lite", command, "counts.py", cwd=tmp_path, DYNAMO_LITE_DISABLE="1")
        assert ours.stdout == "0\n1\n2\n" and "native" not in ours.stderr
        assert ("option disable is set" in ours.stderr) is (command == "explain")


SETS_FIRST = """\
'''Text.'''
from __future__ import annotations
import os, sys
print("numpy" in sys.modules, __doc__, 1 is 1, "\\d")
{sets}
"Not the text."
{imports}

def f(x: np.ndarray, n):
    {imports}
    for i in range(n):
        x[i % 9] = x[i % 9] * 0.5 + x[(i + 1) % 9]
    return x

if True:
    import numpy
    home = os.environ.get("HOME")
    print(f(numpy.arange(9.0), 300_000).tobytes().hex(), f.__annotations__, __doc__, os.environ["SET"])
    os.environ["LATE"] = "1"
f(None, 1)
"""


@pytest.mark.parametrize("imports", ["import numpy as np", "pass"])
@pytest.mark.parametrize(
    "sets",
    [
        'os.environ["SET"] = "1"',
        'if sys.argv:\n    os.environ.setdefault("SET", "1")',
        'from os import environ as _, environ\nimport json\nenviron.update(SET="1")',
        'try:\n    del os.environ["UNSET"]\nexcept KeyError:\n    os.environ |= {{"SET": "1"}}',
    ],
)
def test_the_program_sets_its_environment_before_numpy_reads_it(imports: str, sets: str, tmp_path: Path) -> None:
    """Nor are there more warnings of its syntax, and what is behind it is compiled."""
    (tmp_path / "sets.py").write_text(SETS_FIRST.format(imports=imports, sets=sets.format()))
    plain = run("sets.py", cwd=tmp_path)
    ours = run("-m", "dynamo_lite", "run", "sets.py", cwd=tmp_path, DYNAMO_LITE_RUN_BUDGET="1000")
    stderr, closing = split_closing(ours.stderr)
    assert plain.stdout.startswith("False Text.") and "TypeError" in plain.stderr and "Warning" in plain.stderr
    assert (ours.stdout, stderr, ours.returncode) == (plain.stdout, plain.stderr, plain.returncode)
    assert " native calls" in closing


@pytest.mark.parametrize("reads", ['os.environ.get("HOME")', '"HOME" in os.environ', 'f(os.environ["PATH"])'])
def test_a_program_that_only_reads_its_environment_is_one_code(reads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numpy")
    source = f"import os\nf = len\nprint({reads}, end='')\nimport numpy\n\ndef g():\n    os.environ['A'] = 'b'\n"
    assert _parts(source.encode(), "reads.py")[0] is None
    assert _parts(source.replace("f = len", "os.environ['A'] = 'b'").encode(), "sets.py")[0] is not None

"""Imports and calls point one way, and versions and backends stay in their places.

The order is that of docs/architecture.md: a module may import its own package and packages of a lower level, nothing
else of the project. Every import counts, also those inside functions and under TYPE_CHECKING.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LEVELS = (
    ("_C", "_first"),
    ("errors", "installation", "originals", "shadows", "collector", "dataclass", "frame_room", "module_names"),
    ("config", "breaks", "budget"),
    ("log", "policy", "stance"),
    ("pycode", "graph"),
    ("ops", "guards"),
    ("capture", "lower"),
    ("schedule",),
    ("program",),
    ("runtime",),
    ("backends",),
    ("report", "pipeline"),
    ("chains", "means", "resumes", "telling"),
    ("compilation",),
    ("api", "watch", "stress"),
    ("cli",),
    ("__init__", "__main__"),
)
LEVEL = {name: number for number, names in enumerate(LEVELS) for name in names}
LAZY = {"bytecode"}
# NB: a program that is run as a whole starts without what it may never need.
LAZY_OWN = {
    ("dynamo_lite.installation", "importlib.metadata"),
    ("dynamo_lite.config", "difflib"),
    ("dynamo_lite.pipeline", "dynamo_lite.graph.verify"),
    ("dynamo_lite.pipeline", "dynamo_lite.pycode.second_reading"),
    ("dynamo_lite.pipeline", "dynamo_lite.schedule.text"),
    ("dynamo_lite.backends.kernels.functions", "dynamo_lite.program.verify"),
    ("dynamo_lite.program.element_ops", "fractions"),
    ("dynamo_lite.backends", "importlib.metadata"),
    ("dynamo_lite.backends.numba", "dynamo_lite.backends.numba.compile"),
    ("dynamo_lite.report.records", "dynamo_lite.report.render"),
    ("dynamo_lite.watch.program", "dynamo_lite.watch.watching"),
    ("dynamo_lite.watch.program", "dynamo_lite._C"),
    ("dynamo_lite.watch.watching", "dynamo_lite.compilation"),
    ("dynamo_lite.watch.watching", "dynamo_lite.watch.pieces"),
    ("dynamo_lite.watch.watching", "dynamo_lite.backends"),
    ("dynamo_lite.cli.command", "argparse"),
    ("dynamo_lite.cli.execute", "ast"),
    ("dynamo_lite.cli.command", "dynamo_lite.cli.doctor"),
    ("dynamo_lite.cli.command", "dynamo_lite.backends"),
    ("dynamo_lite.cli.command", "dynamo_lite.stress"),
    ("dynamo_lite.cli.command", "dynamo_lite.breaks"),
    ("dynamo_lite.cli.report", "dynamo_lite.stress"),
    ("dynamo_lite.cli.report", "dynamo_lite._C"),
}
LONGEST = 800


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name; backends/ is dynamo_lite.backends."""
    found = {}
    for top, prefix in (("dynamo_lite", "dynamo_lite"), ("backends", "dynamo_lite.backends")):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT / top).with_suffix("").parts
            name = ".".join([prefix, *(part for part in parts if part != "__init__")])
            found[name] = path
    return found


MODULES = modules()


def package_of(module: str) -> str:
    """The name under dynamo_lite that has a level: "dynamo_lite.graph.node" -> "graph"."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports(name: str, tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The modules that `name` imports, with the line."""
    is_package = MODULES[name].name == "__init__.py"
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parent = name.split(".")[: len(name.split(".")) - node.level + is_package]
                base = ".".join([*parent, *([base] if base else [])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield (full if full in MODULES or base == "dynamo_lite" else base), node.lineno


def own_names() -> frozenset[str]:
    return frozenset(package_of(module) for module in MODULES) | {"_C", "_first"}


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_one_way(name: str) -> None:
    package = package_of(name)
    assert package in LEVEL, f"{package} has no level: add it to LEVELS and to docs/architecture.md"
    wrong = []
    for module, line in imports(name, ast.parse(MODULES[name].read_text())):
        if module.split(".")[0] != "dynamo_lite":
            continue
        target = package_of(module)
        if target not in own_names():  # a name from the package itself, such as its version
            target = "__init__"
        if target != package and LEVEL[target] >= LEVEL[package]:
            wrong.append(f"{MODULES[name].relative_to(ROOT)}:{line} imports {module}")
    assert not wrong, "\n".join(wrong)


def imports_inside_functions(name: str) -> Iterator[tuple[str, int]]:
    for function in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from imports(name, function)


@pytest.mark.parametrize("name", MODULES)
def test_imports_inside_functions_are_lazy_packages_only(name: str) -> None:
    wrong = [
        f"{MODULES[name].relative_to(ROOT)}:{line} imports {module} inside a function"
        for module, line in imports_inside_functions(name)
        if module.split(".")[0] not in LAZY and (name, module) not in LAZY_OWN
    ]
    assert not wrong, "\n".join(wrong)


def test_imports_that_may_be_lazy_are_there() -> None:
    found = {(name, module) for name in MODULES for module, _ in imports_inside_functions(name)}
    assert found >= LAZY_OWN, LAZY_OWN - found
    assert {module.split(".")[0] for _, module in found} >= LAZY


@pytest.mark.parametrize("name", MODULES)
def test_numba_stays_in_its_backend(name: str) -> None:
    if name.startswith("dynamo_lite.backends.numba"):
        return
    found = [module for module, _ in imports(name, ast.parse(MODULES[name].read_text()))]
    assert not [module for module in found if module.split(".")[0] in ("numba", "llvmlite")]
    assert not [m for m in found if m.startswith("dynamo_lite.backends.numba")] or package_of(name) == "backends"


@pytest.mark.parametrize("name", MODULES)
def test_python_versions_are_asked_in_one_place(name: str) -> None:
    if name == "dynamo_lite.pycode.version":
        return
    text = MODULES[name].read_text()
    found = re.findall(r"sys\.version_info|hexversion|platform\.python_version|sysconfig\.get_python_version", text)
    assert not found, f"{MODULES[name].relative_to(ROOT)}: {found}"


def sources() -> list[Path]:
    return sorted(path for pattern in ("*.c", "*.h", "*.def") for path in (ROOT / "csrc").rglob(pattern))


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.name)
def test_c_asks_for_python_versions_in_pyframe_only(path: Path) -> None:
    if path.stem in ("pyframe", "pyframe_core", "pyframe_places", "pyframe_signals"):
        return
    assert not re.findall(r"PY_VERSION_HEX|PY_MINOR_VERSION|PY_MAJOR_VERSION|Py_BUILD_CORE", path.read_text())


@pytest.mark.parametrize("path", [*MODULES.values(), *sources()], ids=lambda path: str(path.relative_to(ROOT)))
def test_files_stay_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LONGEST


def test_the_walk_sees_a_wrong_edge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "node.py"
    path.write_text("def f():\n    from ..capture import machine\n\nfrom dynamo_lite import api\nimport numba\n")
    monkeypatch.setitem(MODULES, "dynamo_lite.graph.wrong", path)
    found = dict(imports("dynamo_lite.graph.wrong", ast.parse(path.read_text())))
    assert found == {"dynamo_lite.capture.machine": 2, "dynamo_lite.api": 4, "numba": 5}


# -- files of csrc ---------------------------------------------------------------------------------

# Files that call one another in a circle. None is added: what a file needs belongs below it. The first is how a loop's
# body, a branch or a block of rows runs steps and is built, as the program around it; the second, how residual code and
# polls come back to dispatch.
CIRCLES = (
    {"blocks.c", "build.c", "build_cond.c", "build_loop.c", "cond.c", "launch.c", "loop.c"},
    {"cache.c", "dispatch.c", "jump.c"},
)


def c_uses(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """Which .c files each .c file needs: those that define the functions and variables dl_* that it names."""
    bare = {name: re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', "", text, flags=re.DOTALL) for name, text in texts.items()}
    owner = {}
    for name, text in bare.items():
        functions = re.findall(r"^(dl_\w+)\([^;{]*\)\n\{", text, re.MULTILINE)
        variable = r"^(?!extern|static|typedef)\w[\w ]*[ *](dl_\w+)(?:\[\w*\])?(?: = [^;]*)?;"
        variables = re.findall(variable, text, re.MULTILINE)
        owner |= dict.fromkeys((*functions, *variables), name)
    return {
        name: {owner[word] for word in re.findall(r"\bdl_\w+", text) if word in owner} - {name}
        for name, text in bare.items()
    }


def circles(uses: Mapping[str, set[str]]) -> list[set[str]]:
    """The largest sets of files of which each reaches each other one."""
    reached = {name: set(found) for name, found in uses.items()}
    for middle in reached:
        for found in reached.values():
            if middle in found:
                found |= reached[middle]
    sets = {frozenset(other for other in found if name in reached[other]) for name, found in reached.items()}
    return [set(found) for found in sets if len(found) > 1]


def needed(name: str) -> set[str]:
    """The modules that have to be there before `name` is, those that importing a part of a package brings included."""
    tree = ast.parse(MODULES[name].read_text())
    for node in ast.walk(tree):
        is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if is_for_types or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
    found = {module for module, _ in imports(name, tree)}
    found |= {module.rpartition(".")[0] for module in found}
    return {module for module in found & MODULES.keys() if not f"{name}.".startswith(f"{module}.")}


def test_modules_import_one_way() -> None:
    assert circles({name: needed(name) for name in MODULES}) == []


def test_c_files_call_one_way() -> None:
    texts = {path.name: path.read_text() for path in sources() if path.suffix == ".c"}
    found = circles(c_uses(texts))
    wrong = [circle for circle in found if not any(circle <= known for known in CIRCLES)]
    assert not wrong, wrong
    assert set().union(*found) == set().union(*CIRCLES), "a circle is cut: take its files out of CIRCLES"


def test_c_headers_include_one_way() -> None:
    texts = {path.name: path.read_text() for path in sources() if path.suffix == ".h"}
    uses = {name: set(re.findall(r'#include "(?:\w+/)?(\w+\.h)"', text)) & texts.keys() for name, text in texts.items()}
    assert circles(uses) == []


def test_the_walk_sees_a_circle_in_c() -> None:
    texts = {
        "a.c": "int dl_shared;\n\nint\ndl_a(void)\n{\n    return dl_b();\n}\n",
        "b.c": "/* dl_c */\nint\ndl_b(void)\n{\n    return dl_shared;\n}\n",
        "c.c": "int\ndl_c(void)\n{\n    return dl_a();\n}\n",
    }
    assert c_uses(texts) == {"a.c": {"b.c"}, "b.c": {"a.c"}, "c.c": {"a.c"}}
    assert circles(c_uses(texts)) == [{"a.c", "b.c"}]

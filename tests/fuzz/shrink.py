"""Makes a differing program smaller while it still differs.

Enters: a RandomProgram and a predicate "does this one differ still?". Leaves: a program no single statement of which
can be dropped. Statements are removed, blocks replaced by their bodies, results narrowed, later calls dropped.
"""

from __future__ import annotations

import ast
import copy
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.generator import RandomProgram

Differs = Callable[[RandomProgram], bool]


def shrink(program: RandomProgram, differs: Differs, tries: int = 400, seconds: float = 30.0) -> RandomProgram:
    """The smallest program found within so many tries and seconds."""
    left = [tries]
    end = time.monotonic() + seconds

    def still(candidate: RandomProgram) -> bool:
        left[0] -= 1
        if time.monotonic() > end:
            left[0] = -1
        return left[0] >= 0 and differs(candidate)

    for calls in (program.calls[:2], program.calls[:3]):
        if len(calls) < len(program.calls) and still(replace(program, calls=calls)):
            program = replace(program, calls=calls)
            break
    shrunk = True
    while shrunk and left[0] > 0:
        shrunk = False
        for candidate in _fewer_arguments(program):
            if still(candidate):
                program, shrunk = candidate, True
                break
        for source in _smaller(program.source):
            candidate = replace(program, source=source)
            if still(candidate):
                program, shrunk = candidate, True
                break
    return program


def _fewer_arguments(program: RandomProgram) -> Iterator[RandomProgram]:
    """Without an argument that the text names only once and that no other argument is a view of."""
    for number in reversed(range(len(program.specs))):
        viewed = any(spec[0] == "view" and spec[1] >= number for spec in program.specs)
        if viewed or len(re.findall(rf"\bx{number}\b", program.source)) != 1 or len(program.specs) == 1:
            continue
        source = re.sub(rf",? ?\bx{number}\b", "", program.source, count=1).replace("f(, ", "f(")
        yield replace(program, source=source, specs=program.specs[:number] + program.specs[number + 1 :])


def _smaller(source: str) -> Iterator[str]:
    """Sources with one thing less, the boldest first."""
    for change in (_drop_statement, _unwrap_block, _narrow_return, _drop_operand):
        number = 0
        while True:
            tree = ast.parse(source)
            if not change(tree, number):
                break
            text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
            if len(text) < len(source) and _ends(tree):
                yield text
            number += 1


def _ends(tree: ast.AST) -> bool:
    """Whether every while loop still counts what it tests."""
    for node in ast.walk(tree):
        if isinstance(node, ast.While):
            tested = {name.id for name in ast.walk(node.test) if isinstance(name, ast.Name)}
            last = node.body[-1]
            if not (isinstance(last, ast.AugAssign) and isinstance(last.target, ast.Name) and last.target.id in tested):
                return False
    return True


def _bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list):
                yield body


def _drop_statement(tree: ast.AST, number: int) -> bool:
    places = [(body, at) for body in _bodies(tree) for at in reversed(range(len(body)))]
    places = [(body, at) for body, at in places if not isinstance(body[at], ast.Pass)]
    if number >= len(places):
        return False
    body, at = places[number]
    if len(body) == 1:
        body[at] = ast.Pass()
    else:
        del body[at]
    return True


def _unwrap_block(tree: ast.AST, number: int) -> bool:
    blocks = (ast.If, ast.For, ast.While, ast.With, ast.Try)
    places = [(body, at) for body in _bodies(tree) for at in range(len(body)) if isinstance(body[at], blocks)]
    if number >= len(places):
        return False
    body, at = places[number]
    inner: list[ast.stmt] = getattr(body[at], "body")  # noqa: B009  (the five kinds have no common type)
    body[at : at + 1] = inner
    return True


def _narrow_return(tree: ast.AST, number: int) -> bool:
    results = [
        (node, element)
        for node in ast.walk(tree)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple | ast.List)
        for element in node.value.elts
    ]
    if number >= len(results):
        return False
    node, element = results[number]
    node.value = element
    return True


def _drop_operand(tree: ast.AST, number: int) -> bool:
    """Replace an operation by one of its operands."""
    found = 0
    for node in ast.walk(tree):
        for name, value in list(ast.iter_fields(node)):
            values = value if isinstance(value, list) else [value]
            for at, child in enumerate(values):
                for operand in _operands(child):
                    if found == number:
                        made = copy.deepcopy(operand)
                        if isinstance(value, list):
                            value[at] = made
                        else:
                            setattr(node, name, made)
                        return True
                    found += 1
    return False


def _operands(node: object) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Call):
        receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        return [*node.args, *(part for part in receiver if not isinstance(part, ast.Name) or part.id != "np")]
    return []

"""Random programs of loops whose arrays change size from one iteration to the next.

Leaves the text of a module with a function f(x, y, w): two arrays of equal length, and rows of three. Iterations select
by masks and slices, append, join, reverse, compute, reduce and store; some leave early, or raise where nothing is left.
"""

from __future__ import annotations

import random

_PAIR = ("x", "y")
_ARRAYS = ("x", "y", "v")
_NUMBERS = ("0.5", "2.0", "-1.0", "i", "s", "0.9", "1")
_PREDICATES = (
    *("{a} > {t}", "{a} < {t}", "np.abs({a}) > {t}", "{a} * {a} < {t} + 1.5", "{a} != {a}.max()"),
    *("np.arange(len({a})) % 3 != i % 3", "{a} >= {a}.mean()", "~({a} < {t})"),
)
_ELEMENTWISE = (
    *("{a} = {a} * {n} + {t}", "{a} = np.sqrt(np.abs({a})) - {t}", "{a} += {n}", "{a}[:] = {a} * 0.5"),
    *("x = x + y * 0.25", "y = np.maximum(x, y)", "{a} = np.where({a} > {t}, {a}, -{a})", "{a} = {a}[::-1]"),
    *("{a} = {a}.copy()", "x, y = y, x", "{a} = np.sort({a})", "{a} = np.cumsum({a}) * 0.3", "{a}[{k}] = {n}"),
    *("w = w * 0.9 + i", "w[:, 1] += 0.5", "w = w[:, ::-1]", "w[{k}] = {t}"),
)
_CHANGING = (
    *("m = {p}\n{a} = {a}[m]", "m = {q}\nx = x[m]\ny = y[m]", "keep = {q}\nx, y = x[keep], y[keep]"),
    *("{a} = {a}[1:]", "{a} = {a}[:-1]", "{a} = {a}[::2]", "{a} = {a}[1:] - {a}[:-1]", "x, y = x[1:], y[1:]"),
    *("{a} = np.append({a}, {t})", "{a} = np.concatenate(({a}, {a}[:2] * 0.5))", "{a} = np.delete({a}, {k})"),
    *("{a} = np.concatenate((np.array([{t}, s]), {a}))", "{a} = {a}[{a} > {a}.mean()]"),
    "{a} = np.insert({a}, {k}, {t})",
    *("w = w[w[:, 0] > {t}]", "w = w[1:]", "w = np.vstack((w, w[:1] * 0.5))", "{a} = {a}[np.nonzero({p})[0]]"),
    *("{a} = np.repeat({a}, 2)[:9]", "{a} = np.hstack(({a}, {b}))[:11]", "x = np.append(x, s)\ny = np.append(y, -s)"),
    "w = np.append(w, [[s, i, {t}]], axis=0)",
)
_READING = (
    *("s += {a}.sum()", "s = s * 0.5 + len({a})", "s += {a}[0]", "out.append({a}.size)", "s += w.shape[0]"),
    *("hist.append({a})", "hist.append({a}.copy())", "s -= w.sum()", "v = {a} * 2.0", "v = {a}"),
    "out.append(float({a}.sum()))",
    *("if len({a}) > {c}:\n    s += 1.0", "if {a}.sum() > {t}:\n    {a} = {a} * 0.5", "n += len({a}) * i"),
    *("for j in range(len({a})):\n    s += {a}[j] * 0.1", "if {a}.size == 0:\n    break"),
    "if s > {t}:\n    {a} = {a}[1:] * 0.9\nelse:\n    s += 0.7",
    "if {a}.sum() > {t}:\n    {a} = np.append({a}, s)",
    "if i % 3 == 0:\n    {a} = {a}[{p}]",
    "if s < 0.5:\n    {a} = {a}[:-1]\n    s += 1.0\nelse:\n    {a} = np.append({a}, {t})",
    "if s > {t}:\n    x = x[1:]\n    y = y[1:]\n    s = 0.0",
    "if {a}.size < 4:\n    {a} = np.concatenate(({a}, {b}[:2]))",
    *("if len({a}) < {c}:\n    continue", "if {a}.size > {c} + 9:\n    return {a}, s, i"),
    "for e in {a}:\n    s += e * 0.5",
)


def source(seed: int) -> str:
    """The text of a module with ``f(x, y, w)``."""
    pick = random.Random(seed)

    def filled(form: str) -> str:
        names = {
            "a": pick.choice(_PAIR if "=" in form.split("\n")[0].partition("}")[2][:4] else _ARRAYS),
            "b": pick.choice(_PAIR),
            "n": pick.choice(_NUMBERS),
            "t": pick.choice(("0.1", "0.3", "-0.2", "0.05 * i", "s * 0.01")),
            "k": pick.choice(("0", "-1", "1", "i % 2")),
            "c": str(pick.randint(0, 5)),
        }
        names |= {"p": pick.choice(_PREDICATES).format(**names)}
        names |= {"q": pick.choice(_PREDICATES).format(**(names | {"a": pick.choice(_PAIR)}))}
        return form.format(**names)

    count = pick.randint(2, 5)
    forms = [pick.choice(pick.choice((_ELEMENTWISE, _CHANGING, _CHANGING, _READING))) for _ in range(count)]
    forms.insert(pick.randrange(len(forms) + 1), pick.choice(_CHANGING))
    body = [line for form in forms for line in filled(form).split("\n")]
    head = pick.choice(
        (f"for i in range({pick.choice((3, 12, 70, 70))}):", "for i in range(len(w) * 20):", "while len(x) > 2:")
    )
    if head.startswith("while"):
        body = ["i += 1", "if i > 80:", "    break", *body]
    lines = ["s, n, i, out, hist, v = 0.0, 0, 0, [], [], x", head, *("    " + line for line in body)]
    lines.append("return x, y, w, v, s, n, i, out, hist[-3:]")
    return "\n".join(["def f(x, y, w):", *("    " + line for line in lines), ""])

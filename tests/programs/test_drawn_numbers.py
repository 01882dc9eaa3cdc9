"""Random numbers that machine code draws: those that NumPy's methods draw, and where these raise it declines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels.functions import routine_of

from dynamo_lite.ops import variates
from dynamo_lite.program.ir import Helper, walk
from tests.program.routines import collected
from tests.programs.random_draws import BITS
from tests.programs.test_draws import require_same

CALLS = {
    np.random.Generator: (
        *("g.random()", "g.uniform()", "g.uniform(-2.0, s)", "g.uniform(high=3.0)", "g.standard_normal()"),
        *("g.normal()", "g.normal(s)", "g.normal(scale=0.5)", "g.normal(x[i], 2.0)", "g.normal(x[i], k)"),
        *("g.standard_exponential()", "g.exponential()", "g.exponential(scale=0.1)", "g.poisson(3.5)", "g.poisson()"),
        *("g.integers(7)", "g.integers(-3, i + 1)", "g.integers(low=2, high=9)", "g.integers(5, endpoint=True)"),
        *("g.integers(1 << 40)", "g.integers(-(1 << 62), 1 << 62)", "g.integers(1)", "g.integers(6, dtype=int)"),
        *(
            "g.choice(6)",
            "g.choice([-1, 1])",
            "g.choice(x)",
            "g.choice((0.5, 1.5, 2.5)) * s",
        ),
        *("g.choice(k)", "g.choice(4, size=3).sum()", "g.choice(x[::-2], replace=True)"),
        *("g.random(3).sum()", "g.normal(s, 0.5, size=4).sum()", "g.standard_normal((2, 3)).sum()"),
        *("g.integers(0, 9, size=5).sum()", "g.uniform(0.0, 0.5, k).sum()", "g.random(size=len(x)).sum()"),
        *("g.exponential(2.0, 3).sum()", "g.poisson(0.5, size=3).sum()", "g.standard_normal(3, dtype=float)[0]"),
    ),
    np.random.RandomState: (
        *("g.random()", "g.random_sample()", "g.rand()", "g.uniform(-1, 1)", "g.randn()", "g.normal(s, 0.25)"),
        *("g.standard_normal()", "g.exponential(0.5)", "g.standard_exponential()", "g.poisson(2.5)"),
        *("g.randint(6)", "g.randint(-4, 4)", "g.randint(1 << 33)", "g.randint(0, 1 << 32)", "g.randint(k + 1)"),
        *("g.choice(6)", "g.choice([-1, 1])", "g.choice(x)", "g.choice(5, 2).sum()"),
        *("g.rand(3).sum()", "g.randn(2, 2).sum()", "g.normal(size=3).sum()", "g.randint(0, 5, 4).sum()"),
    ),
}

# What both kinds of generators have, each by another algorithm.
_BOTH = (
    *("g.standard_gamma(0.3)", "g.gamma(1.7)", "g.gamma(s + 1.0, 2.0)", "g.gamma(1.0, scale=s)", "g.beta(0.3, 0.4)"),
    *("g.beta(s + 1.0, 2.0)", "g.beta(1, 1)", "g.chisquare(k)", "g.standard_t(2.5)", "g.standard_cauchy()"),
    *("g.lognormal(0.1, 0.2)", "g.lognormal()", "g.laplace(s, 0.5)", "g.logistic(scale=2.0)", "g.gumbel(1.0, 0.1)"),
    *("g.rayleigh(0.5)", "g.pareto(3.0)", "g.weibull(1.5)"),
    *("g.weibull(0)", "g.power(2.5)", "g.gamma(2.0, 1.0, 3).sum()"),
    *("g.binomial(1, 0.5)", "g.binomial(k, 0.7)", "g.binomial(k - 3, 0.5)", "g.binomial(9, 0)"),
    *("g.binomial(i, p=0.25)", "g.binomial(10, 0.5, size=4).sum()", "g.geometric(0.2)", "g.geometric(0.5)"),
    "g.choice(5, p=[0.1, 0.2, 0.3, 0.0, 0.4])",
    *("g.choice(x, size=len(x)).sum()", "g.choice(x[::2], 5, True)[i % 5]"),
    *("g.choice([-1, 1], p=[0.3, 0.7])", "g.choice(x, p=abs(x) / abs(x).sum())"),
    *("g.choice(5, 3, p=[0.1, 0.2, 0.3, 0.0, 0.4]).sum()", "g.choice([1, 2], 1, p=[0.5, 0.5])[0]"),
    *("g.choice(2, size=(2, 3), p=[1.0 - s * 1e-3, s * 1e-3]).sum()", "g.choice(range(2), 0, p=[0.5, 0.5]).sum()"),
    *("g.choice(x, k, True, abs(x) / abs(x).sum())[1]", "g.choice(100, 70, p=np.full(100, 0.01)).sum()"),
    *("g.choice(2, p=[1.0 - s * 1e-3, s * 1e-3])", "g.permutation(6)[0]", "g.permutation(k).sum()", "shuffled(g, x)"),
)
CALLS = {kind: (*calls, *_BOTH) for kind, calls in CALLS.items()}
CALLS[np.random.Generator] += ("g.binomial(200, 0.4)", "g.binomial(1000, 0.6)")  # rejected in several steps


def shuffled(g: Any, x: Any) -> Any:
    y = x * 1.0
    g.shuffle(y)
    return y[0]



def looping(call: str) -> Callable[..., Any]:
    """A loop around a call."""
    space: dict[str, Any] = {"np": np, "shuffled": shuffled}
    text = f"def f(x, g, k, n):\n    s = 0.5\n    for i in range(n):\n        s = s * 0.5 + {call}\n    return s\n"
    exec(compile(text, f"<{call}>", "exec"), space)
    made: Callable[..., Any] = space["f"]
    return made


def drawn(function: Callable[..., Any], *arguments: Any) -> list[str]:
    """The functions of C that the machine code of its loops draws with."""
    helpers = [
        node.name
        for machine, classes in collected(function, *arguments)
        for node in walk(routine_of(machine, classes).body)
        if isinstance(node, Helper)
    ]
    return [name for name in helpers if name.startswith("draw")]


@pytest.mark.parametrize(("kind", "call"), [(kind, call) for kind, calls in CALLS.items() for call in calls])
def test_machine_code_draws_what_the_method_draws(kind: Any, call: str) -> None:
    function = looping(call)
    assert drawn(function, np.linspace(-1.0, 1.0, 40), kind(np.random.PCG64(1)), 3, 40)
    for bits in BITS:
        require_same(function, lambda bits=bits: (np.linspace(-1.0, 1.0, 40), kind(bits(7)), 3, 40))  # type: ignore[misc]


def test_long_streams() -> None:
    # Ziggurats take their rare ways for one number in some hundred, rejection for some of any.
    for kind, calls in CALLS.items():
        function = looping(
            " + ".join(call for call in calls if "x" not in call and "i + 1" not in call and "<<" not in call)
        )
        require_same(function, lambda kind=kind: (np.ones(1), kind(np.random.MT19937(5)), 3, 3000))  # type: ignore[misc]


@pytest.mark.parametrize(
    "call",
    [
        *("g.normal(0.0, 1.0 - i)", "g.normal(0.0, -0.0)", "g.uniform(0.0, 3.0 - i)", "g.uniform(-1e308, 1e308)"),
        *("g.exponential(2.0 - i)", "g.poisson(2.0 - i)", "g.poisson(1e30)", "g.integers(4 - i)", "g.integers(3, 3)"),
        *(
            "g.integers(5.0 - i)",
            "g.integers(-i, dtype=np.uint64)",
            "g.normal(np.nan, np.nan)",
            "g.integers(True)",
            "g.choice(0)",
        ),
        *("g.choice(3 - i)", "g.choice(x[:0])", "g.choice(x, replace=False)", "g.choice(2, p=[0.5, 0.6])"),
        *("g.choice(2, p=[0.5 - i, 0.5 + i])", "g.choice(9, p=x)", "g.choice(3, p=[0.5, 0.5])", "g.choice(x, p=x[:3])"),
        "g.choice(2, p=[s * 0.0 + 1e-309, 1.0])",
        *("g.choice(2, p=[1.0, float('nan')])", "g.choice(x, 2, p=x / 9.5)[0]"),
        *("g.choice(9, p=np.float32(1) * x / 9)", "g.choice(2, p=(1, 0))", "g.choice(2, True, [0.5, 0.5])"),
        *("g.gamma(1.0 - i)", "g.beta(1.0 - i, 1.0)"),
        *("g.chisquare(0)", "g.binomial(3 - i, 0.5)", "g.binomial(3, 2.0 - i)"),
        *("g.binomial(3.0 - i, 0.5)", "g.binomial(3, np.nan)"),
        *("g.geometric(1.0 - i)", "g.geometric(1e-30)", "g.weibull(-0.0)"),
        "g.binomial(200, 0.4 if i else 0.1)",
        *("g.laplace(0, -1)", "g.lognormal(0.0, 1.0 - i)", "g.pareto(0)", "g.power(2 - i)", "g.permutation(3 - i)[0]"),
        *("g.shuffle(x[0])", "g.shuffle(i)", "g.shuffle(x, 0)", "len([1] if g.shuffle(x) is None else [])"),
        "g.binomial(True, 0.5)",
        *("len(g.choice(['a', 'bcd']))", "g.choice([[1, 2], [3, 4]])[0]", "g.choice([])", "g.choice([2**70, 1])"),
        *(
            "g.choice([True, 2.5])",
            "g.choice([True, False]) * 1.0",
            "g.choice((1, x[i]))",
            "g.choice(range(3))",
            "g.choice([None, 1.5] if i < 0 else [1])",
        ),
    ],
)
def test_where_numpy_raises_the_program_declines(call: str) -> None:
    for kind in (np.random.Generator, np.random.RandomState):
        function = looping(call if kind is np.random.Generator else call.replace("integers", "randint"))
        for _ in range(2):
            require_same(function, lambda kind=kind: (np.ones(9), kind(np.random.PCG64(7)), 3, 8))  # type: ignore[misc]


def test_flags_of_draws_are_not_reported() -> None:
    def far(g: Any, n: int) -> float:
        s = 0.0
        for _ in range(n):
            s = s + min(g.normal(1e308, 1e308), 1.0) + g.exponential(5e-324) + g.uniform(5e-324, 1e-323)
        return s

    with np.errstate(all="raise"):
        require_same(far, lambda: (np.random.default_rng(3), 50))


@pytest.mark.parametrize("call", ["random(", "standard_normal(", "standard_exponential(", "standard_gamma(2.5, "])
@pytest.mark.parametrize("bits", BITS)
def test_a_single_float32_is_a_float_that_was_drawn_otherwise(call: str, bits: Any) -> None:
    """It takes half as many bits of the stream."""
    function = looping(f"g.{call}dtype=np.float32)")
    require_same(function, lambda: (np.ones(3), np.random.Generator(bits(5)), 3, 9))


@pytest.mark.parametrize("answer", [lambda *_: False, lambda *given: given[-1].fill(0.5) or True])
def test_what_is_not_as_it_was_tried_out_stays_a_call(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def arguments() -> tuple[Any, ...]:
        return np.ones(1), np.random.default_rng(1), 3, 9

    function = looping("g.normal(s, 0.5)")
    monkeypatch.setattr(variates._C, "draw_numbers", answer)
    variates.kind_of.cache_clear()
    try:
        assert variates.kind_of(np.random.Generator.normal) is None
        assert not drawn(function, *arguments())
        require_same(function, arguments)
    finally:
        variates.kind_of.cache_clear()

"""Which random numbers machine code draws without NumPy's methods, and whether it draws the same ones.

The distributions are those of csrc/random/variates.c. A NumPy of another version, or another build of it, may draw
otherwise: each is tried out, once in a process, against the method that it stands for.
"""

from __future__ import annotations

import functools
import random
from typing import Any

import numpy as np

from dynamo_lite import _C
from dynamo_lite._C import abi
from dynamo_lite.ops import draws

# By method: what is drawn, and the parameters, each with what it is by default.
_LOW_HIGH = (("low", 0.0), ("high", 1.0))
_LOC_SCALE = (("loc", 0.0), ("scale", 1.0))
_SCALED = (("scale", 1.0),)
KINDS: dict[str, tuple[int, tuple[tuple[str, float | None], ...]]] = {
    **dict.fromkeys(("random", "random_sample", "rand"), (abi.DRAW_RANDOM, ())),
    **dict.fromkeys(("standard_normal", "randn"), (abi.DRAW_STANDARD_NORMAL, ())),
    "uniform": (abi.DRAW_UNIFORM, _LOW_HIGH),
    "normal": (abi.DRAW_NORMAL, _LOC_SCALE),
    "standard_exponential": (abi.DRAW_STANDARD_EXPONENTIAL, ()),
    "exponential": (abi.DRAW_EXPONENTIAL, _SCALED),
    "poisson": (abi.DRAW_POISSON, (("lam", 1.0),)),
    **dict.fromkeys(("integers", "randint"), (abi.DRAW_INTEGERS, (("low", None), ("high", None)))),
    "choice": (abi.DRAW_INTEGERS, (("a", None),)),  # of an array: the position
    "below": (abi.DRAW_INTEGERS, (("low", None),)),
    "permutation": (abi.DRAW_ORDER, (("x", None),)),
    "standard_gamma": (abi.DRAW_STANDARD_GAMMA, (("shape", None),)),
    "gamma": (abi.DRAW_GAMMA, (("shape", None), ("scale", 1.0))),
    "beta": (abi.DRAW_BETA, (("a", None), ("b", None))),
    "chisquare": (abi.DRAW_CHISQUARE, (("df", None),)),
    "standard_t": (abi.DRAW_STANDARD_T, (("df", None),)),
    "standard_cauchy": (abi.DRAW_STANDARD_CAUCHY, ()),
    "lognormal": (abi.DRAW_LOGNORMAL, (("mean", 0.0), ("sigma", 1.0))),
    "laplace": (abi.DRAW_LAPLACE, _LOC_SCALE),
    "logistic": (abi.DRAW_LOGISTIC, _LOC_SCALE),
    "gumbel": (abi.DRAW_GUMBEL, _LOC_SCALE),
    "rayleigh": (abi.DRAW_RAYLEIGH, _SCALED),
    "pareto": (abi.DRAW_PARETO, (("a", None),)),
    "weibull": (abi.DRAW_WEIBULL, (("a", None),)),
    "power": (abi.DRAW_POWER, (("a", None),)),
    "binomial": (abi.DRAW_BINOMIAL, (("n", None), ("p", None))),
    "geometric": (abi.DRAW_GEOMETRIC, (("p", None),)),
}
WHOLE = {abi.DRAW_BINOMIAL: ("n",)}  # parameters that have to be ints
OF_INTS = frozenset({abi.DRAW_POISSON, abi.DRAW_INTEGERS, abi.DRAW_ORDER, abi.DRAW_BINOMIAL, abi.DRAW_GEOMETRIC})
_TRIED: dict[int, tuple[tuple[float, ...], ...]] = {  # parameters
    abi.DRAW_UNIFORM: ((0.0, 1.0), (-3.7, 11.3), (1e-300, 2e-300), (2.5, 2.5)),
    abi.DRAW_NORMAL: ((0.0, 1.0), (-3.7, 0.3), (1e5, 0.0)),
    abi.DRAW_EXPONENTIAL: ((1.0,), (0.37,), (0.0,)),
    abi.DRAW_POISSON: ((0.0,), (0.7,), (9.5,), (17.0,), (1e6,)),
    abi.DRAW_STANDARD_GAMMA: ((0.0,), (0.3,), (1.0,), (1.7,), (40.0,)),
    abi.DRAW_GAMMA: ((0.0, 1.0), (0.3, 2.5), (1.0, 0.7), (1.7, 1.0), (40.0, 0.0)),
    abi.DRAW_BETA: ((0.2, 0.7), (1.0, 1.0), (0.02, 0.01), (0.5, 3.0), (7.5, 2.5)),
    abi.DRAW_CHISQUARE: ((0.4,), (1.0,), (2.0,), (9.0,)),
    abi.DRAW_STANDARD_T: ((0.4,), (1.0,), (2.0,), (9.0,)),
    abi.DRAW_LOGNORMAL: ((0.0, 1.0), (-3.7, 0.3), (1e2, 0.0)),
    abi.DRAW_LAPLACE: ((0.0, 1.0), (-3.7, 0.3), (1e5, 0.0)),
    abi.DRAW_LOGISTIC: ((0.0, 1.0), (-3.7, 0.3), (1e5, 0.0)),
    abi.DRAW_GUMBEL: ((0.0, 1.0), (-3.7, 0.3), (1e5, 0.0)),
    abi.DRAW_RAYLEIGH: ((1.0,), (0.37,), (0.0,)),
    abi.DRAW_PARETO: ((1.0,), (0.37,), (9.0,)),
    abi.DRAW_WEIBULL: ((1.0,), (0.37,), (9.0,), (0.0,)),
    abi.DRAW_POWER: ((1.0,), (0.37,), (9.0,)),
    abi.DRAW_BINOMIAL: ((1, 0.5), (1, 0.3), (0, 0.3), (20, 0.0), (20, 1.0), (20, 0.7), (1000, 0.01), (1000, 0.6)),
    abi.DRAW_GEOMETRIC: ((0.5,), (1.0,), (0.3,), (0.01,)),
    abi.DRAW_INTEGERS: ((0, 1), (0, 2), (-5, 6), (0, 1000), (0, 1 << 32), (0, (1 << 32) - 1), (-(1 << 52), 1 << 52)),
}
_CHOSEN = ((1,), (2,), (6,), (1000,), (1 << 33,))
_SINGLE, _MANY = 40, 1000  # numbers one by one, and at once: ziggurats take their rare ways for one in some hundred
_RARELY = {abi.DRAW_POISSON: 5000}  # at once, of what is rejected in several steps
_OF_GENERATORS = ((1000, 0.6),)  # binomial numbers of which C declines those of a RandomState


@functools.cache
def kind_of(function: Any) -> int | None:
    """What a method draws (``abi.DRAW_RANDOM`` and so on), where machine code draws the same numbers."""
    method = draws.find(function)
    if method is None or method.name not in KINDS:
        return None
    kind, parameters = KINDS[method.name]
    if method.kind is random.Random:
        return kind if _is_pythons(function, kind) else None
    if kind == abi.DRAW_ORDER:
        return kind if _is_ordered(method.kind, function) else None
    generator = method.kind(np.random.MT19937(3))
    for given in _CHOSEN if method.name == "choice" else _TRIED.get(kind, ((),)):
        if method.kind is np.random.RandomState and given in _OF_GENERATORS:
            continue
        keywords: dict[str, Any] = {name: value for (name, _), value in zip(parameters, given, strict=True)}
        before = draws._raw_state(generator)
        wanted = np.array([function(generator, **keywords) for _ in range(_SINGLE)])
        many = _RARELY.get(kind, _MANY)
        size = (many,) if method.many else ()
        more = function(generator, *size, **keywords) if size else function(generator, **keywords, size=many)
        after = draws._state(generator)
        draws._restore(generator, before)
        out = np.empty(_SINGLE + many, wanted.dtype)
        a, b, *_ = (0, *given) if method.name == "choice" else (*given, 0.0, 0.0)
        if more.dtype != out.dtype or out.dtype.itemsize != 8 or not _draw_all(generator, kind, a, b, out):
            return None
        if out.tobytes() != wanted.tobytes() + more.tobytes() or draws._state(generator) != after:
            return None
    return kind


@functools.cache
def is_weighted(function: Any) -> bool:
    """Whether machine code chooses by weights what a method ``choice`` does."""
    method = draws.find(function)
    if method is None or method.name != "choice" or method.kind is random.Random:
        return False
    generator = method.kind(np.random.MT19937(3))
    for weights in (np.array([1.0]), np.array([0.5, 0.5]), np.array([0.0, 0.2, 0.0, 0.8]), np.arange(41.0) / 820.0):
        before = draws._raw_state(generator)
        wanted = [function(generator, len(weights), p=weights) for _ in range(_SINGLE)]
        wanted += function(generator, len(weights), size=_SINGLE, p=weights).tolist()
        after = draws._state(generator)
        draws._restore(generator, before)
        out = np.empty(2 * _SINGLE, np.int64)
        is_drawn = _C.draw_numbers(generator, abi.DRAW_WEIGHTED, 0.0, 0.0, out, weights)
        if not is_drawn or out.tolist() != wanted or draws._state(generator) != after:
            return False
    return True


def _is_ordered(kind: Any, function: Any) -> bool:
    """Whether machine code puts integers into the order that a method ``permutation`` does."""
    for generator in (kind(np.random.MT19937(3)), kind(np.random.PCG64(3))):
        for size in (0, 1, 2, 7, 300):
            before = draws._raw_state(generator)
            wanted = function(generator, size)
            after = draws._state(generator)
            draws._restore(generator, before)
            out = np.empty(size, np.int64)
            is_drawn = _C.draw_numbers(generator, abi.DRAW_ORDER, 0.0, 0.0, out)
            if wanted.dtype != out.dtype or not is_drawn or out.tolist() != wanted.tolist():
                return False
            if draws._state(generator) != after:
                return False
    return True


def _is_pythons(function: Any, kind: int) -> bool:
    """Whether machine code draws what a method of Python's Random does."""
    generator = random.Random(3)
    for limit in (0,) if kind == abi.DRAW_RANDOM else (1, 2, 6, 1000, (1 << 32) - 1):
        before = generator.getstate()
        wanted = np.array([function(generator, *[limit][: bool(limit)]) for _ in range(_SINGLE + _MANY)])
        after = generator.getstate()
        generator.setstate(before)
        out = np.empty(len(wanted), wanted.dtype)
        is_drawn = _draw_all(generator, kind, 0, limit, out)
        if not is_drawn or out.tobytes() != wanted.tobytes() or generator.getstate() != after:
            return False
    return True


def _draw_all(generator: Any, kind: int, a: float, b: float, out: np.ndarray[Any, Any]) -> bool:
    """Draw the first ones one by one, the others at once."""
    parts = [*(out[i : i + 1] for i in range(_SINGLE)), out[_SINGLE:]]
    return all(_C.draw_numbers(generator, kind, a, b, part) for part in parts)

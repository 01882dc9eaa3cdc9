"""Random draws: a call of the very method of NumPy's Generator or RandomState, or of Python's Random, in the program's
order.

``draw`` takes the generator, which is an input of the graph, and what its method takes. It has an effect, so none is
dropped, merged or moved past another one. A program draws from a twin of the user's generator, whose state becomes the
user's at its end (csrc/random/draws.c).

    %x: float64[n0] = draw(%rng, 0.0, 1.0, method=normal, names=(), constants=(), size=(n0,), number=False)

What a method yields NumPy is asked, with the values of ``methods()``: of which dtype arrays are, and which type a
single one has.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from dynamo_lite._C import allow_draws, draw_twin, learn_draws, learn_python_draws
from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.opdef import OpDef, OpError, OpKind, Relate, define
from dynamo_lite.graph.types import GENERATOR, ArrayType
from dynamo_lite.ops.shapes import broadcast, settle, shape_of

DType: TypeAlias = np.dtype[Any]

# By method: the parameters in front of `size`, and numbers that they may be.
_DISTRIBUTIONS: dict[str, dict[str, float]] = {
    **{"beta": {"a": 1, "b": 1}, "binomial": {"n": 1, "p": 0.5}, "chisquare": {"df": 1}, "exponential": {"scale": 1}},
    **{"f": {"dfnum": 1, "dfden": 1}, "gamma": {"shape": 1, "scale": 1}, "geometric": {"p": 0.5}},
    **{name: {"loc": 0, "scale": 1} for name in ("gumbel", "laplace", "logistic", "normal")},
    **{"hypergeometric": {"ngood": 1, "nbad": 1, "nsample": 1}, "lognormal": {"mean": 0, "sigma": 1}},
    **{"logseries": {"p": 0.5}, "negative_binomial": {"n": 1, "p": 0.5}, "noncentral_chisquare": {"df": 1, "nonc": 1}},
    **{"noncentral_f": {"dfnum": 1, "dfden": 1, "nonc": 1}, "pareto": {"a": 1}, "poisson": {"lam": 1}},
    **{"power": {"a": 1}, "rayleigh": {"scale": 1}, "standard_cauchy": {}, "standard_exponential": {}},
    **{"standard_gamma": {"shape": 1}, "standard_normal": {}, "standard_t": {"df": 1}},
    **{"triangular": {"left": 0, "mode": 0.5, "right": 1}},
    **{"uniform": {"low": 0, "high": 1}, "vonmises": {"mu": 0, "kappa": 1}, "wald": {"mean": 1, "scale": 1}},
    **{"weibull": {"a": 1}, "zipf": {"a": 2}, "random": {}},
}
_REQUIRED = {  # the first parameters of a method that have no default
    **{"beta": 2, "binomial": 2, "chisquare": 1, "f": 2, "gamma": 1, "geometric": 1, "hypergeometric": 3},
    **{"logseries": 1, "negative_binomial": 2, "noncentral_chisquare": 2, "noncentral_f": 3, "pareto": 1, "power": 1},
    **{"standard_gamma": 1, "standard_t": 1, "triangular": 3, "vonmises": 2, "wald": 2, "weibull": 1, "zipf": 1},
    **{"integers": 1, "randint": 1, "choice": 1, "permutation": 1, "shuffle": 1},
}


class Method:
    """How a method is called: its parameters in order, those that are operands, those behind them that are constants.

    required: how many of the first ones have no default. many: it takes sizes instead, one argument each.
    """

    def __init__(
        self, kind: type, name: str, operands: tuple[str, ...], rest: tuple[str, ...], many: bool = False
    ) -> None:
        self.kind = kind
        self.name = name
        self.operands = operands
        self.parameters = (*operands, *rest)
        self.required = _REQUIRED.get(name, 0)
        self.many = many


def _methods(kind: type) -> dict[str, Method]:
    found = {name: Method(kind, name, tuple(values), ("size",)) for name, values in _DISTRIBUTIONS.items()}
    if kind is np.random.Generator:
        for name in ("random", "standard_normal"):
            found[name] = Method(kind, name, (), ("size", "dtype", "out"))
        found["standard_exponential"] = Method(kind, "standard_exponential", (), ("size", "dtype", "method", "out"))
        found["standard_gamma"] = Method(kind, "standard_gamma", ("shape",), ("size", "dtype", "out"))
        found["integers"] = Method(kind, "integers", ("low", "high"), ("size", "dtype", "endpoint"))
        found["choice"] = Method(kind, "choice", ("a",), ("size", "replace", "p", "axis", "shuffle"))
        found["permutation"] = Method(kind, "permutation", ("x",), ("axis",))
        found["shuffle"] = Method(kind, "shuffle", ("x",), ("axis",))
    else:
        found["randint"] = Method(kind, "randint", ("low", "high"), ("size", "dtype"))
        found["choice"] = Method(kind, "choice", ("a",), ("size", "replace", "p"))
        found["permutation"] = Method(kind, "permutation", ("x",), ())
        found["shuffle"] = Method(kind, "shuffle", ("x",), ())
        found["random_sample"] = Method(kind, "random_sample", (), ("size",))
        found |= {name: Method(kind, name, (), (), many=True) for name in ("rand", "randn")}
    return found


@functools.cache
def methods() -> dict[type, dict[str, Method]]:
    """By the kind of a generator its methods."""
    return {kind: _methods(kind) for kind in (np.random.Generator, np.random.RandomState)}


def kinds() -> tuple[type, ...]:
    """The classes of generators. NB: NumPy imports its module when that is first asked for, which takes as long as a
    tenth of this package; before, nobody has a generator. While it is being imported, sys.modules has it already."""
    return tuple(methods()) if "random" in vars(np) else ()


# Of Python's own generator: what the other methods draw with. NB: a class of the user's may have others.
BELOW = random.Random._randbelow_with_getrandbits  # type: ignore[attr-defined]
_PYTHON = {
    random.Random.random: Method(random.Random, "random", (), ()),
    BELOW: Method(random.Random, "below", ("low",), ()),
}


def find(function: Any) -> Method | None:
    """The row of an unbound method of Generator, RandomState or Python's Random."""
    name = getattr(function, "__name__", None)
    if isinstance(name, str):
        if function is random.Random.random or function is BELOW:
            return _PYTHON[function]
        for kind in kinds():
            found = methods()[kind].get(name)
            if found is not None and vars(kind)[name] is function:
                return found
    return None


# -- which generators have twins -----------------------------------------------------------------

_BITS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


@functools.cache
def is_allowed(bits: type) -> bool:
    """Whether programs may draw from generators with such a bit generator, which is tried out."""
    if bits.__module__.partition(".")[0] != "numpy" or getattr(np.random, bits.__name__, None) is not bits:
        return False
    if bits.__name__ not in _BITS:
        return False
    try:
        learn_draws(np.random.Generator, np.random.RandomState(0))
        if not (_has_twin(np.random.Generator(bits(5))) and _has_twin(np.random.RandomState(bits(7)))):
            return False
    except TypeError:  # this NumPy keeps states elsewhere
        return False
    allow_draws(bits)
    return True


@functools.cache
def is_python_allowed() -> bool:
    """Whether programs may draw from Python's own generators, which is tried out."""
    generator = random.Random(11)
    generator.random()
    if not learn_python_draws(generator, generator.getstate()[1]):
        return False
    if random.Random._randbelow is BELOW and _has_twin(random.Random(5)):  # type: ignore[attr-defined]
        allow_draws(random.Random)
        return True
    learn_python_draws(None, ())
    return False


def _has_twin(generator: Any) -> bool:
    """Whether a twin yields what the generator would, and leaves it where it would be."""

    def some(one: Any) -> list[Any]:
        if isinstance(one, random.Random):
            return [one.random(), one.getrandbits(70), *(BELOW(one, 1000) for _ in range(700))]
        small = one.integers(0, 9, dtype=np.int32) if hasattr(one, "integers") else one.randint(0, 9, dtype=np.int32)
        return [small, one.normal(), one.standard_normal(3).tolist(), one.random(), one.normal()]

    for _ in range(3):
        before = _state(generator)
        drawn = draw_twin(generator, some)
        after = _state(generator)
        _restore(generator, before)
        if some(generator) != drawn or _state(generator) != after:
            return False
    return True


@functools.cache
def shuffles_as_it_permutes(kind: Any, ndim: int) -> bool:
    """Whether ``shuffle`` of a kind of generators puts the rows of such arrays into the order that its ``permutation``
    has: by as many draws, of as many bits."""
    for bits in (np.random.MT19937, np.random.PCG64):  # NB: the second one keeps half of what it has drawn
        for size in (0, 1, 2, 7, 300):
            x = np.arange(float(size * 2 ** (ndim - 1))).reshape(size, *[2] * (ndim - 1))
            one, other, shuffled = kind(bits(3)), kind(bits(3)), x.copy()
            one.shuffle(shuffled)
            if not np.array_equal(shuffled, x[other.permutation(size)]) or _state(one) != _state(other):
                return False
    return True


def _plain(state: Any) -> Any:
    """A state that can be compared."""
    if isinstance(state, dict):
        return {key: _plain(value) for key, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray) else state


def _raw_state(generator: Any) -> Any:
    if isinstance(generator, random.Random):
        return generator.getstate()
    if isinstance(generator, np.random.RandomState):
        legacy: Any = generator.get_state(legacy=False)
        return legacy
    return generator.bit_generator.state


def _state(generator: Any) -> Any:
    return _plain(_raw_state(generator))


def _restore(generator: Any, state: Any) -> None:
    if isinstance(generator, random.Random):
        generator.setstate(state)
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    else:
        generator.bit_generator.state = state


def journal(generator: Any) -> Callable[[], None]:
    """What puts the generator back to where it is now."""
    state = _raw_state(generator)
    return lambda: _restore(generator, state)


# -- the op --------------------------------------------------------------------------------------


@functools.cache
def learnt(function: Any, constants: tuple[tuple[str, Any], ...]) -> tuple[DType, type]:
    """The dtype of the arrays that a method yields, and the type of a single value."""
    method = find(function)
    assert method is not None
    if method.kind is random.Random:
        return (np.dtype(float), float) if method.name == "random" else (np.dtype(int), int)
    generator = method.kind(np.random.PCG64(0))
    samples = {"low": 0, "high": 1} if "low" in method.operands else _DISTRIBUTIONS.get(method.name, {"a": 1, "x": 1})
    keywords = {name: samples[name] for name in method.operands} | dict(constants)
    try:
        if method.many:
            return function(generator, 1).dtype, type(function(generator))
        if method.name == "permutation":
            return function(generator, **keywords).dtype, np.ndarray
        return function(generator, size=1, **keywords).dtype, type(function(generator, **keywords))
    except Exception as error:
        raise OpError(f"{method.name} with other arguments than it takes ({error})") from None


def _result(args: tuple[Argument, ...], params: dict[str, Any]) -> tuple[DType, type]:
    """The dtype of an array, and the type of a single value; of what is chosen out of an array its own."""
    dtype, single = learnt(params["method"], params["constants"])
    if params["method"].__name__ in ("choice", "permutation") and isinstance(args[1], Node):
        dtype = args[1].array_type.dtype
        single = dtype.type
    return dtype, single


def _infer_draw(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    generator, *operands = args
    if not isinstance(generator, Node) or generator.array_type != GENERATOR:
        raise OpError("no random generator")
    dtype, single = _result(args, params)
    method = find(params["method"])
    assert method is not None
    if method.name == "permutation":
        (array,) = operands
        shape = array.array_type.shape if isinstance(array, Node) else (settle(array, ask),)
        return ArrayType(dtype, shape)
    if params["size"] is not None:
        return ArrayType(dtype, tuple(settle(dim, ask) for dim in params["size"]))
    if method.many and operands:
        return ArrayType(dtype, tuple(settle(dim, ask) for dim in operands))  # type: ignore[arg-type]
    shape = () if method.name == "choice" else broadcast([shape_of(one) for one in operands], ask)
    if shape:
        return ArrayType(dtype, shape)
    number = {float: np.dtype(np.float64), int: np.dtype(np.int64)}.get(single)
    if params["number"] != (number is not None) or (number is None and not issubclass(single, np.generic)):
        raise OpError(f"a single value of type {single.__name__}")
    return ArrayType(np.dtype(single) if number is None else number, (), True)


def arguments(args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What the method is called with: positions and keywords."""
    count = len(args) - len(params["names"])
    keywords = dict(zip(params["names"], args[count:], strict=True)) | dict(params["constants"])
    if params["size"] is not None:
        keywords["size"] = params["size"] if len(params["size"]) != 1 else params["size"][0]
    return args[:count], keywords


def _evaluate_draw(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    positions, keywords = arguments(args, params)
    result = params["method"](*positions, **keywords)
    return np.dtype(type(result)).type(result) if params["number"] else result


define(
    OpDef(
        "draw",
        OpKind.CALL,
        _infer_draw,
        _evaluate_draw,
        "params[method], a method of a random generator, the first operand, of the others, of which the last ones are "
        "keywords (names), and of constants; params size, number: a single value is a Python number.",
    )
)


def is_number(function: Any, constants: tuple[tuple[str, Any], ...], operands: tuple[Any, ...]) -> bool:
    """Whether a single value that a method yields is a Python number."""
    if function.__name__ in ("choice", "permutation") and isinstance(operands[0], Node):
        return False
    return learnt(function, constants)[1] in (int, float)

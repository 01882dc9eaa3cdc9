"""Guard falsification: after compiling, change one reachable fact; the result must be plain Python's.

A row is a function that builds a case: the function to compile, its arguments, and the changes, made one after another.
"""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import Conditions, compare, observe

Compile = Callable[..., Any]
Change = Callable[[], object]
Case = tuple[Callable[..., Any], Callable[[], tuple[Any, ...]], list[Change]]

X = np.arange(1.0, 7.0)
_CONTAINERS: Any = (dict, list, np.ndarray)


def module(source: str) -> dict[str, Any]:
    """The namespace of a fresh module."""
    namespace: dict[str, Any] = {"np": np, "__name__": "hostile"}
    exec(compile(source, "<hostile>", "exec"), namespace)
    return namespace


def one() -> tuple[Any, ...]:
    return (X.copy(),)


def put(target: Any, name: Any, value: Any) -> Change:
    """Set an attribute, or an item of a dict, list or array."""
    if isinstance(target, _CONTAINERS):
        return lambda: target.__setitem__(name, value)
    return lambda: setattr(target, name, value)


def globals_change() -> Case:
    space = module("K = 2.0\ndef f(x):\n    return x * K + 1.0\n")
    values = [3.0, 3, True, np.float32(2), np.arange(6.0), np.arange(6), np.arange(6.0)[::-1], 10**30, -0.0, 0.0, 1j]
    changes = [put(space, "K", value) for value in values]
    return space["f"], one, [*changes, lambda: space.pop("K"), put(space, "K", 2.0), put(space, "K", "text")]


def global_array_contents() -> Case:
    space = module("W = np.ones(6)\ndef f(x):\n    return x * W\n")
    return space["f"], one, [
        put(space["W"], 0, 7.0),
        lambda: space["W"].__imul__(2.0),
        put(space, "W", np.ones(1)),
        put(space, "W", np.ones((2, 6))),
        put(space, "W", np.ones(6, np.float32)),
        put(space, "W", np.ones(7)),
        put(space, "W", np.ones(6).view(np.recarray)),
    ]  # fmt: skip


def helper_replaced() -> Case:
    space = module("def g(x, k=2.0):\n    return x + k\ndef f(x):\n    return g(x) * 2.0\n")
    g = space["g"]
    other = module("def g(x, k=2.0):\n    return x - k\n")["g"]
    return space["f"], one, [
        put(g, "__defaults__", (5.0,)),
        put(g, "__defaults__", None),
        put(g, "__defaults__", (6.0, 7.0, 8.0, 9.0)),
        put(g, "__kwdefaults__", {"k": 1.0, "nowhere": 2.0}),
        put(g, "__defaults__", (5.0,)),
        put(g, "__code__", other.__code__),
        put(space, "g", lambda x: x * 10.0),
        put(space, "g", np.sqrt),
        put(space, "g", abs),
        put(space, "g", type("Callable", (), {"__call__": lambda self, x: x + 99.0})()),
        lambda: space.pop("g"),
    ]  # fmt: skip


def own_function_changed() -> Case:
    space = module("def f(x, k=2.0, *, scale=3.0):\n    return x * k + scale\n")
    f = space["f"]
    other = module("def f(x, k=2.0, *, scale=3.0):\n    return x - k - scale\n")["f"]
    return f, one, [
        put(f, "__defaults__", (4.0,)),
        put(f, "__defaults__", (6.0, 7.0, 8.0, 9.0)),
        put(f, "__kwdefaults__", {"scale": 1, "nowhere": 2}),
        lambda: f.__kwdefaults__.update(scale=np.float32(1.5)),
        put(f, "__code__", other.__code__),
        put(f, "__defaults__", None),
        put(f, "__kwdefaults__", None),
    ]  # fmt: skip


def builtins_shadowed() -> Case:
    space = module("def f(x):\n    return abs(x) * len(x) + min(2, 3) + float(1)\n")
    return space["f"], one, [
        put(space, "len", lambda x: 100),
        put(space, "abs", lambda x: -x),
        lambda: (space.pop("len"), space.pop("abs")),
        put(space, "float", int),
        put(space, "__builtins__", {**vars(builtins), "min": max}),
    ]  # fmt: skip


def numpy_replaced() -> Case:
    fake = types.ModuleType("fake")
    vars(fake).update(vars(np))
    space = module("def f(x):\n    return np.sqrt(x) + np.sum(x) + np.pi\n")
    space["np"] = fake
    return space["f"], one, [
        put(fake, "sqrt", np.square),
        put(fake, "sum", np.max),
        put(fake, "pi", 3),
        put(fake, "sqrt", lambda x: x),
        lambda: delattr(fake, "pi"),
        put(space, "np", np),
    ]  # fmt: skip


def closure_changed() -> Case:
    def make() -> tuple[Any, Any]:
        k = 2.0

        def f(x: Any) -> Any:
            return x * k

        def change(value: Any) -> None:
            nonlocal k
            k = value

        return f, change

    f, change = make()
    values = [3.0, 3, np.arange(6.0), None, "x", np.float32(3)]
    changes: list[Change] = [lambda value=value: change(value) for value in values]  # type: ignore[misc]
    return f, one, [*changes, lambda: f.__closure__[0].__setattr__("cell_contents", 7.0)]


class Layer:
    scale = 2.0
    offsets = (1.0, 2.0)

    def __init__(self) -> None:
        self.weights = np.ones(6)
        self.options = {"bias": 1.0, "use": True}
        self.parts = [1.0, 2.0]
        self.inner = types.SimpleNamespace(k=3.0)

    @property
    def gain(self) -> float:
        return 1.5

    def act(self, x: Any) -> Any:
        return x + self.options["bias"]

    @staticmethod
    def fixed(x: Any) -> Any:
        return x + 0.5

    @classmethod
    def shared(cls, x: Any) -> Any:
        return x * cls.scale


def apply(layer: Any, x: Any) -> Any:
    y = layer.act(x * layer.weights) * layer.scale + layer.gain + layer.offsets[1]
    for part in layer.parts:
        y = y + part
    if layer.options["use"]:
        y = y * layer.inner.k
    return layer.shared(layer.fixed(y)), len(layer.parts), "extra" in layer.options


def attributes_changed() -> Case:
    kind: Any = type("Layer", (Layer,), {})
    layer = kind()
    other = type("Other", (Layer,), {"act": lambda self, x: x - 1.0})
    loud = type("Loud", (Layer,), {"__getattribute__": lambda self, name: object.__getattribute__(self, name)})
    return (
        apply,
        lambda: (layer, X.copy()),
        [
            put(layer, "weights", np.full(6, 2.0)),
            put(layer.weights, 0, 9.0),
            put(layer, "scale", 5.0),
            put(kind, "scale", 7.0),
            lambda: delattr(layer, "scale"),
            put(kind, "offsets", (1, 2)),
            put(kind, "gain", property(lambda self: 9.5)),
            put(kind, "gain", 4),
            put(layer.options, "bias", 3),
            put(layer.options, "use", False),
            put(layer.options, "use", 1),
            put(layer.options, "extra", None),
            lambda: layer.parts.append(4.0),
            put(layer.parts, 0, 2),
            put(layer, "parts", (1.0,)),
            put(layer.inner, "k", np.arange(6.0)),
            put(layer, "inner", types.SimpleNamespace(k=2)),
            put(layer, "act", lambda x: x * 0.5),
            lambda: delattr(layer, "act"),
            put(kind, "act", lambda self, x: x * 0.25),
            put(kind, "fixed", staticmethod(lambda x: x - 0.5)),
            put(kind, "shared", classmethod(lambda cls, x: x)),
            put(layer, "__class__", other),
            put(Layer, "later", 1),
            put(kind, "__getattr__", lambda self, name: 1.0),
            put(layer, "__class__", loud),
            put(layer, "__class__", kind),
            lambda: delattr(layer, "weights"),
            put(layer, "weights", 3.0),
            put(layer, "options", {"bias": 1.0, "use": True}),
            lambda: layer.options.pop("bias"),
        ],
    )


class Slotted:
    __slots__ = ("k", "w")

    def __init__(self) -> None:
        self.k = 2.0
        self.w = np.ones(6)


def slots_changed() -> Case:
    holder = Slotted()

    def f(h: Any, x: Any) -> Any:
        return x * h.k + h.w

    changes = [put(holder, "k", 3.0), put(holder, "k", 3), put(holder, "w", np.arange(6)), lambda: delattr(holder, "k")]
    return f, lambda: (holder, X.copy()), changes


def base_class_changed() -> Case:
    base: Any = type("Base", (), {"k": 2.0, "g": lambda self, x: x * self.k})
    middle: Any = type("Middle", (base,), {})
    leaf: Any = type("Leaf", (middle,), {})
    holder = leaf()

    def f(h: Any, x: Any) -> Any:
        return h.g(x) + h.k

    return f, lambda: (holder, X.copy()), [
        put(base, "k", 3.0),
        put(middle, "k", 4.0),
        put(leaf, "g", lambda self, x: -x),
        lambda: delattr(leaf, "g"),
        put(middle, "__bases__", (type("New", (base,), {"k": 9.0, "g": lambda self, x: x / 2}),)),
        lambda: delattr(middle, "k"),
    ]  # fmt: skip


def inherited_by_a_class() -> Case:
    """Attributes read of a class itself, which has them of a base or of its metaclass."""
    meta: Any = type("Meta", (type,), {"of_meta": 2.0})
    base: Any = meta("Base", (), {"k": 2.0, "shift": staticmethod(lambda x: x + 1.0), "twice": classmethod(_times_k)})
    leaf: Any = meta("Leaf", (base,), {"own": 3.0})

    def f(cls: Any, x: Any) -> Any:
        return cls.shift(x) * cls.k + cls.twice(x) * cls.own

    return f, lambda: (leaf, X.copy()), [
        put(base, "k", 3.0),
        put(leaf, "own", 4.0),
        put(leaf, "k", 5.0),
        put(base, "shift", staticmethod(lambda x: x - 1.0)),
        put(leaf, "twice", classmethod(lambda cls, x: -x)),
        lambda: delattr(leaf, "k"),
        put(meta, "own", property(lambda cls: 7.0)),
    ]  # fmt: skip


def _times_k(cls: Any, x: Any) -> Any:
    return x * cls.k


def containers_changed() -> Case:
    config: dict[str, Any] = {"k": 2.0, "axes": [0], "names": ("a", "b"), "nested": {"w": np.ones(6)}}

    def f(c: Any, x: Any) -> Any:
        y = x * c["k"] + c["nested"]["w"]
        for axis in c["axes"]:
            y = y.sum(axis=axis, keepdims=True)
        for name, value in c["nested"].items():
            y = y + value + len(name)
        return y, c["names"], list(c)

    return f, lambda: (config, X.copy()), [
        put(config, "k", 3),
        lambda: config["axes"].append(0),
        lambda: config["axes"].clear(),
        put(config, "names", ["a"]),
        lambda: config["nested"].update(v=1.0),
        lambda: config["nested"].pop("w"),
        lambda: config["nested"].update(w=2.0),
        put(config, "nested", {"w": 5.0}),
        put(config, "more", 1),
        lambda: config.pop("k"),
    ]  # fmt: skip


def attribute_appears() -> Case:
    """What getattr() with a default did not find."""
    layer = types.SimpleNamespace(k=2.0)
    slotted = Slotted()
    del slotted.k

    def f(layer: Any, slotted: Any, x: Any) -> Any:
        bias = getattr(layer, "bias", None)
        return (x * layer.k if bias is None else x * layer.k + bias) + getattr(slotted, "k", 1.0)

    return f, lambda: (layer, slotted, X.copy()), [
        put(layer, "bias", 1.0),
        lambda: delattr(layer, "bias"),
        put(slotted, "k", 5.0),
        put(layer, "bias", np.arange(6.0)),
    ]  # fmt: skip


def unlooked_values_gone() -> Case:
    """What is only handed on has to be there before anything is stored."""
    space = module(
        "import math\nG = print\n"
        "def f(o, e, x):\n    a, b, c = o.cb, G, math.pow\n    d = e.__suppress_context__\n"
        "    x[0] = 5.0\n    return a, b, c, d, v\n"
    )
    space["v"] = repr
    holder = types.SimpleNamespace(cb=len)
    fake = types.ModuleType("math")
    fake.pow = abs  # type: ignore[attr-defined]
    space["math"] = fake
    error = ValueError()
    return space["f"], lambda: (holder, error, X.copy()), [
        put(holder, "cb", max),
        put(error, "__suppress_context__", True),
        lambda: delattr(holder, "cb"),
        put(holder, "cb", max),
        lambda: space.pop("G"),
        put(space, "G", min),
        lambda: delattr(fake, "pow"),
    ]  # fmt: skip


def cached_property_filled() -> Case:
    class Model:
        @functools.cached_property
        def w(self) -> Any:
            return np.arange(6.0)

    model = Model()
    model.__dict__["w"] = np.ones(6)

    def f(m: Any, x: Any) -> Any:
        return x * m.w + m.w

    return f, lambda: (model, X.copy()), [
        put(model.__dict__, "w", 3.0),
        put(model.__dict__, "w", np.arange(6)),
        lambda: model.__dict__.pop("w"),
        lambda: model.__dict__.pop("w"),
    ]  # fmt: skip


def compiled_helper_replaced() -> Case:
    """A compiled function that is called is known by identity, not by its type."""
    space = module("def f(x):\n    return g(x) + 1.0\n")
    space["g"] = dynamo_lite.compile(lambda x: x * 2.0)
    return space["f"], one, [
        put(space, "g", dynamo_lite.compile(lambda x: x * 3.0)),
        put(space, "g", lambda x: x - 1.0),
        put(space, "g", dynamo_lite.compile(np.sqrt)),
    ]  # fmt: skip


def scalar_type_changed() -> Case:
    kind: Any = type("Volt", (np.float64,), {"k": 2.0})
    return (lambda kind, x: x * kind.k), (lambda: (kind, X.copy())), [put(kind, "k", 3.0), put(kind, "k", X.copy())]


def equality_defined() -> Case:
    kind: Any = type("Tag", (), {})
    one_tag, other = kind(), kind()

    def f(a: Any, b: Any, x: Any) -> Any:
        return x * 2.0 if a == b else x + 1.0

    return f, lambda: (one_tag, other, X.copy()), [put(kind, "__eq__", lambda self, o: True)]


def compiled_global_replaced() -> Case:
    """A compiled function that another one calls is another function now, or says it wraps another."""
    space = module("def a(x):\n    return x + 1\ndef b(x):\n    return x - 1\ndef f(x):\n    return g(x) * 2.0\n")
    made = {name: dynamo_lite.compile(space[name]) for name in "ab"}
    space["g"] = made["a"]
    renamed = functools.wraps(space["b"])(dynamo_lite.compile(space["a"]))
    return space["f"], one, [put(space, "g", made["b"]), put(space, "g", space["a"]), put(space, "g", renamed)]


def attributes_appear() -> Case:
    """What getattr() found missing."""
    space = module(
        "class P:\n    pass\nclass S:\n    __slots__ = ('k',)\np, s = P(), S()\n"
        "def f(x):\n    return x * getattr(p, 'k', 1.0) + getattr(s, 'k', 2.0)\n"
    )
    return (
        space["f"],
        one,
        [
            put(space["p"], "k", 5.0),
            lambda: delattr(space["p"], "k"),
            put(space["P"], "k", 7.0),
            put(space["s"], "k", 3.0),
            lambda: delattr(space["s"], "k"),
            put(space["P"], "k", property(lambda self: self.missing)),
            put(space["P"], "__getattr__", lambda self, name: 9.0),
        ],
    )


def cached_property_changed() -> Case:
    space = module(
        "import functools\nclass P:\n    @functools.cached_property\n    def k(self):\n        return 3.0\n"
        "p = P()\np.k\ndef f(x):\n    return x * p.k\n"
    )
    return space["f"], one, [put(space["p"], "k", 5.0), lambda: vars(space["p"]).clear(), put(space["P"], "k", 7.0)]


def objects_called() -> Case:
    """A callable of a module that calls itself "builtins" is no builtin."""
    space = module(
        "class P:\n    z = 3.0\n    def __call__(self):\n        pass\n    def __len__(self):\n        return 3\n"
        "P.__module__ = 'builtins'\nclass Q(P):\n    z = 40.0\np = P()\n"
        "def f(x):\n    y = x * type(p).z\n    return y + 1.0 if p else y\n"
    )
    return (
        space["f"],
        one,
        [
            put(space["P"], "z", 4.0),
            put(space["P"], "__len__", lambda self: 0),
            put(space["p"], "__class__", space["Q"]),
            put(space, "p", 5.0),
        ],
    )


def abstract_classes() -> Case:
    """What an abstract class says of a user's class changes with registrations and methods."""
    space = module(
        "import abc\nfrom collections.abc import Sized\nclass P:\n    pass\n"
        "class Abstract(abc.ABC):\n    pass\np = P()\n"
        "def f(x):\n    y = x * 2.0 if isinstance(p, Abstract) else x + 1.0\n"
        "    return y * 3.0 if isinstance(p, Sized) else y\n"
    )
    return (
        space["f"],
        one,
        [
            put(space["P"], "__len__", lambda self: 1),
            lambda: space["Abstract"].register(space["P"]),
            lambda: space["p"].__setattr__("__class__", type("R", (), {"__class__": space["P"]})),
        ],
    )


CASES = (
    compiled_global_replaced,
    attributes_appear,
    cached_property_changed,
    objects_called,
    abstract_classes,
    attribute_appears,
    unlooked_values_gone,
    cached_property_filled,
    compiled_helper_replaced,
    scalar_type_changed,
    equality_defined,
    globals_change,
    global_array_contents,
    helper_replaced,
    own_function_changed,
    builtins_shadowed,
    numpy_replaced,
    closure_changed,
    attributes_changed,
    slots_changed,
    base_class_changed,
    inherited_by_a_class,
    containers_changed,
)


def agree(fn: Any, fast: Any, make_args: Callable[[], tuple[Any, ...]], what: str) -> None:
    """One plain and one compiled call of functions that share their state, and so must not change it."""
    differences = compare(observe(fn, make_args(), Conditions()), observe(fast, make_args(), Conditions()))
    assert not differences, f"{what}:\n" + "\n".join(map(str, differences))


@pytest.fixture(autouse=True)
def cleared_layer() -> Iterator[None]:
    yield
    if "later" in vars(Layer):
        del Layer.later  # type: ignore[attr-defined]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("warm", [1, 3])
def test_a_changed_fact_is_seen(case: Callable[[], Case], warm: int, backend: str, compiler: Compile) -> None:
    fn, make_args, changes = case()
    fast = compiler(fn, backend=backend, recompile_limit=100)
    for _ in range(warm):
        agree(fn, fast, make_args, "before any change")
    for number, change in enumerate(changes):
        change()
        for _ in range(warm):
            agree(fn, fast, make_args, f"after change {number}")
    assert fast.stats()["native_calls"] > 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_what_does_not_change_is_not_compiled_again(case: Callable[[], Case], compiler: Compile) -> None:
    fn, make_args, _ = case()
    fast = compiler(fn)
    agree(fn, fast, make_args, "the first call")
    agree(fn, fast, make_args, "the second call")  # where callees are compiled that have waited
    first = fast.stats()
    for _ in range(5):
        agree(fn, fast, make_args, "a call like the first")
    assert fast.stats()["compiles"] == first["compiles"]
    assert fast.stats()["hits"] >= first["hits"] + 5


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_each_change_alone_is_seen(case: Callable[[], Case], compiler: Compile) -> None:
    for number in range(len(case()[2])):
        fn, make_args, changes = case()
        fast = compiler(fn)
        for _ in range(2):
            agree(fn, fast, make_args, "before the change")
        try:
            changes[number]()
        except (AttributeError, KeyError):
            continue  # this change needs an earlier one
        for _ in range(2):
            agree(fn, fast, make_args, f"after change {number} alone")


def pair(x: Any, y: Any) -> Any:
    return x * 2.0 + y, (x + y).sum(axis=-1)


def shared_memory() -> list[tuple[Any, ...]]:
    memory = np.arange(8.0)
    return [(memory[:6], memory[2:]), (memory[2:], memory[:6]), (memory, memory), (memory[::-1], memory)]


ARGUMENTS: list[tuple[Any, ...]] = [
    (np.ones(3), np.ones(3)),
    (np.ones(3), np.ones(1)),
    (np.ones(1), np.ones(3)),
    (np.ones(1), np.ones(1)),
    (np.ones((2, 3)), np.ones(3)),
    (np.ones((3, 3)), np.ones((3, 1))),
    (np.ones((3, 3)), np.ones((3, 3))),
    (np.ones((3, 4)), np.ones((3, 4))),
    (np.ones((3, 4)), np.ones((4, 3)).T),
    (np.ones((3, 4)).T, np.ones((3, 4)).T),
    (np.ones((3, 4), order="F"), np.ones((3, 4))),
    (np.ones((6, 4))[::2], np.ones((3, 4))[:, ::-1]),
    (np.ones(3, np.float32), np.ones(3)),
    (np.ones(3, np.float32), np.ones(3, np.int8)),
    (np.ones(3, np.int64), np.ones(3, np.uint64)),
    (np.ones(3, bool), 2),
    (np.ones(3), 2),
    (np.ones(3), 2.0),
    (np.ones(3), True),
    (np.ones(3), 10**20),
    (np.ones(3, np.int8), 300),
    (np.ones(3), np.float32(2)),
    (np.ones(3), np.array(2.0)),
    (np.ones(3), None),
    (np.ones(3), [1.0, 2.0, 3.0]),
    (np.ones(0), np.ones(0)),
    (np.ones((0, 3)), np.ones((1, 3))),
    (np.ones((1, 0)), np.ones((5, 1))),
    (np.array(1.0), np.array(2.0)),
    (np.ones(3), np.ones(4)),
    (np.ones(3, ">f8"), np.ones(3)),
    (np.broadcast_to(np.ones(1), (3,)), np.ones(3)),
    *shared_memory(),
]


def test_every_argument_after_every_other(compiler: Compile, backend: str) -> None:
    """Types, ranks, layouts and relations between sizes, each met by entries compiled for all the others."""
    fast = compiler(pair, backend=backend, recompile_limit=1000)
    for _ in range(2):
        for args in [*ARGUMENTS, *ARGUMENTS[::-1]]:
            what = f"{[getattr(arg, 'shape', arg) for arg in args]}"
            agree(pair, fast, functools.partial(tuple, args), what)
    assert fast.stats()["hits"] > 0


def store_all(x: Any, y: Any) -> Any:
    x[...] = y * 2.0 + x
    return x


def test_written_arguments_in_every_order(compiler: Compile, backend: str) -> None:
    fast = compiler(store_all, backend=backend, recompile_limit=1000)
    for _ in range(2):
        for args in [*ARGUMENTS, *ARGUMENTS[::-1]]:
            if not isinstance(args[1], np.ndarray) or not args[0].flags.writeable:
                continue
            memory = args[0].copy(), args[1].copy()
            plain = observe(store_all, args, Conditions())
            kept = args[0].copy()
            args[0][...], args[1][...] = memory
            found = observe(fast, args, Conditions())
            assert kept.tobytes() == args[0].tobytes()
            assert type(plain.error) is type(found.error)
            assert plain.events == found.events
            args[0][...], args[1][...] = memory


def test_the_recompile_limit_warns_once_and_stays_right(compiler: Compile, backend: str) -> None:
    def scaled(x: Any, k: Any) -> Any:
        return x if k == "b" else x * len(k)  # what a string is matters where it is compared

    fast = compiler(scaled, backend=backend, recompile_limit=3)
    with pytest.warns() as seen:
        for length in range(1, 30):
            assert (fast(X, "a" * length) == X * length).all()
    assert len(seen) == 1, [str(warning.message) for warning in seen]
    assert fast.stats()["recompiles"] <= 3


def _appends(holder: Any, x: Any) -> Any:
    y = x * holder.w + 1.0
    holder.seen.append(y)
    return y * 2.0


def _extends(holder: Any, x: Any) -> Any:
    holder.seen.extend([x + 1.0, x * 2.0])
    return x - 1.0


def _takes(holder: Any, x: Any) -> Any:
    y = x + 1.0
    return holder.seen.pop() + y if holder.w[0] > 5.0 else y


def _assigns(holder: Any, x: Any) -> Any:
    holder.by_step[holder.step()] = x + 1.0
    return x * 2.0


def _updates(holder: Any, x: Any) -> Any:
    holder.by_step.update(last=x * 2.0, count=len(holder.seen))
    return x * 2.0 + 1.0


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("fn", [_appends, _extends, _takes, _assigns, _updates])
def test_a_container_that_grows_is_not_compiled_for_each_length(fn: Any, compiler: Compile) -> None:
    def holder() -> Any:
        made = types.SimpleNamespace(w=np.arange(6.0) + 6.0, seen=[X] * 40, by_step={}, number=iter(range(100)))
        made.step = lambda: next(made.number)
        return made

    fast = compiler(fn, options={"cost_model": False})
    plainly, compiled = holder(), holder()
    for _ in range(20):
        expected = observe(lambda *_: fn(plainly, X), (plainly.seen, plainly.by_step), Conditions())
        found = observe(lambda *_: fast(compiled, X), (compiled.seen, compiled.by_step), Conditions())
        assert not compare(expected, found)
    assert fast.stats()["compiles"] <= 6  # each segment, and once more where a call differed from the first

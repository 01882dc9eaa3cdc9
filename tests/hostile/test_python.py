"""Python in full around array code: frames, closures, generators, decorators, tracing, names that come and go.

A case takes a decorator and builds its program with it: once with the compiler, once with one that does nothing.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks import programs
from tests.copies import copies_of
from tests.oracle import require_equal

Compile = Callable[..., Any]
Decorator = Callable[[Any], Any]


def iterators_taken_step_by_step(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        parts = [x, x + 1.0, x + 2.0]
        for i, part in enumerate(parts):  # sees what it changes ahead of itself
            if i < 2:
                parts[i + 1] = part * 2.0
        it = iter(parts)
        for _part in it:
            break
        rest = [*it]
        shared = iter(parts)
        count = sum(1 for _pair in zip(shared, [1, 2], strict=False))
        y = x.copy()
        for grown in (y * k for k in range(3)):  # the generator runs between the stores
            y += grown
        back = reversed(parts)
        for _part in back:
            break
        parts.append(x * 5.0)
        return parts, rest, count, list(shared), y, list(back)

    return f


def iterators_across_a_break(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        d = {"a": x, "b": x + 1.0}
        items = enumerate(d.items(), 5)
        pairs = zip([x, x * 2.0], iter((1, 2, 3)), strict=False)
        ended = iter([x])
        for _x in ended:
            pass
        i = 0
        for i, _item in items:  # noqa: B007
            break
        for _pair in pairs:
            break
        print(end="")
        return i, list(items), list(pairs), list(ended), d.keys(), len(d.values()), "a" in d.keys()  # noqa: SIM118

    return f


def dictionary_views_are_live(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        d = {"a": x}
        keys = d.keys()
        d["b"] = x * 2.0
        try:
            for key in d:
                d[key + "c"] = x
        except RuntimeError as error:
            return keys, d, str(error)
        return keys

    return f


def two_functions_with_defaults(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        y, z = x * 2.0, x * 3.0
        return [(lambda a=y: a), (lambda a=z: a), (lambda a=y, b=z: a - b)]

    return lambda x: [g() for g in f(x)]


def not_a_number_in_containers(fast: Decorator) -> Any:
    @fast
    def f(x: Any, v: float = float("nan")) -> Any:
        return x * 2.0 if v in [1.0, v] and (v,) == (v,) and v != v else x

    return f


class _Falsy(type):
    def __bool__(cls) -> bool:
        return False


class _Nothing(metaclass=_Falsy):
    pass


def builtin_functions_and_classes_as_values(fast: Decorator) -> Any:
    @fast
    def f(x: Any, g: Any, kind: Any) -> Any:
        y = x * 2.0 if g is math.sin else x + 1.0
        return y if kind else -y

    return lambda x: [f(x, g, kind) for g in ([].append, math.sin, [].pop) for kind in (int, _Nothing)]


def classes_in_disguise(fast: Decorator) -> Any:
    class Proxy:
        __class__ = property(lambda self: float)  # type: ignore[assignment]

    @fast
    def f(x: Any, p: Any) -> Any:
        return x * 2.0 if isinstance(p, float) else x + 1.0

    return lambda x: [f(x, Proxy()), f(x, 1), f(x, 1.0)]


def builtins_called_wrongly(fast: Decorator) -> Any:
    def attempt(fn: Any, x: Any) -> Any:
        try:
            return fn(x)
        except TypeError as error:
            return str(error)

    fns = [
        fast(lambda x: (x + 1.0, isinstance(x))),  # type: ignore[call-arg]
        fast(lambda x: (x + 1.0, getattr(x, 3))),  # type: ignore[call-overload]
        fast(lambda x: (x + 1.0, list(enumerate(iterable=[x])))),
        fast(lambda x: (x + 1.0, issubclass(3, int))),  # type: ignore[arg-type]
        fast(lambda x: (x + 1.0, slice())),  # type: ignore[call-overload]
    ]
    return lambda x: [attempt(fn, x) for fn in fns]


def recursion(fast: Decorator) -> Any:
    @fast
    def f(x: Any, depth: int = 5) -> Any:
        return x if depth == 0 else f(x * 1.5, depth - 1) + 1.0

    return f


def mutual_recursion(fast: Decorator) -> Any:
    @fast
    def even(x: Any, n: int = 6) -> Any:
        return x if n == 0 else odd(x + 1.0, n - 1)

    @fast
    def odd(x: Any, n: int) -> Any:
        return even(x * 2.0, n - 1)

    return even


def generator(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        for k in range(3):
            got = yield x * k
            x = x + 1.0 if got is None else got
        return x

    return lambda x: list(f(x))


def generator_inside(fast: Decorator) -> Any:
    def rows(x: Any) -> Any:
        for k in range(3):
            yield x * k

    @fast
    def f(x: Any) -> Any:
        total = x * 0.0
        for row in rows(x):
            total = total + row
        return total, sum(row.sum() for row in rows(x)), [*rows(x)]

    return f


def coroutine(fast: Decorator) -> Any:
    @fast
    async def f(x: Any) -> Any:
        y = x * 2.0
        await asyncio.sleep(0)
        return y + 1.0

    return lambda x: asyncio.run(f(x))


def async_generator(fast: Decorator) -> Any:
    @fast
    async def f(x: Any) -> Any:
        for k in range(3):
            yield x + k

    async def gather(x: Any) -> Any:
        return [item async for item in f(x)]

    return lambda x: asyncio.run(gather(x))


def methods(fast: Decorator) -> Any:
    class Layer:
        k = 2.0

        @fast
        def method(self, x: Any) -> Any:
            return x * self.k

        @classmethod
        @fast
        def of_class(cls, x: Any) -> Any:
            return x * cls.k

        @staticmethod
        @fast
        def static(x: Any) -> Any:
            return x * 3.0

        @property
        @fast
        def prop(self) -> Any:
            return np.arange(3.0) * self.k

        @functools.cached_property
        @fast
        def cached(self) -> Any:
            return np.arange(3.0) + self.k

        @fast
        def __add__(self, other: Any) -> Any:
            return other * 2.0

        @fast
        def __call__(self, x: Any) -> Any:
            return self.method(x) + 1.0

    layer = Layer()
    return lambda x: (
        layer.method(x),
        Layer.method(layer, x),
        Layer.of_class(x),
        layer.static(x),
        Layer.static(x),
        layer.prop,
        layer.cached,
        layer + x,
        layer(x),
    )


def inheritance(fast: Decorator) -> Any:
    class Base:
        def __init__(self, k: float) -> None:
            self.k = k

        @fast
        def f(self, x: Any) -> Any:
            return x * self.k

    class Leaf(Base):
        @fast
        def f(self, x: Any) -> Any:
            return super().f(x) + __class__.__name__.__len__()  # type: ignore[name-defined]

    return Leaf(3.0).f


def decorators(fast: Decorator) -> Any:
    def logged(fn: Any) -> Any:
        @functools.wraps(fn)
        def wrapper(*args: Any, **keywords: Any) -> Any:
            print("enter", fn.__name__)
            return fn(*args, **keywords)

        return wrapper

    @logged
    @fast
    @logged
    def f(x: Any) -> Any:
        """Doc."""
        return x * 2.0

    return f


def closures(fast: Decorator) -> Any:
    count = 0
    history: list[Any] = []

    @fast
    def f(x: Any) -> Any:
        nonlocal count
        count += 1
        y = x * count
        history.append(y)

        def inner(z: Any) -> Any:
            nonlocal y
            y = y + z
            return y

        return inner(x) + inner(x), count, len(history), y

    return f


def cells_handed_on(fast: Decorator) -> Any:
    """What is defined with annotations gets the cells themselves, not what they hold."""
    scale, calls = 2.0, 0

    def make() -> Any:
        def scaled(z: Any) -> Any:
            return z * scale + calls

        return scaled

    @fast
    def f(x: Any) -> Any:
        y = np.sqrt(x * x + 1.0)

        def inner(z: Any) -> Any:
            nonlocal calls
            calls += 1
            return z * scale + calls

        return inner(y), make()(y), [type(cell) for cell in inner.__closure__ or ()], inner.__annotations__

    return f


def functions_made(fast: Decorator) -> Any:
    """All that a definition gives a function is there when it leaves the frame, or is looked at behind a break."""
    scale = 3.0

    @fast
    def f(x: Any) -> Any:
        y = np.sqrt(x * x + 1.0)

        def inner(z: Any, a: float = 2.0, *rest: Any, b: Any = y, c: int = 1) -> tuple[Any, ...]:
            """Of inner."""
            return z * scale + a, b, c

        def plain(z, *, b=scale):  # type: ignore[no-untyped-def]
            return z * b

        return y * 2.0, inner(y), inner, plain

    def looked_at(x: Any) -> Any:
        made = f(x)
        seen = []
        for function in made[2:]:
            seen += [function.__name__, function.__qualname__, function.__doc__, function.__module__]
            seen += [function.__defaults__, function.__kwdefaults__, function.__annotations__, function(x, b=2.5)]
        return made[:2], made[2](x), seen, made[2] is made[3]

    return looked_at


def cells_deleted(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        y = x * 2.0

        def inner() -> Any:
            return y + 1.0  # noqa: F821

        first = inner()
        del y
        try:
            inner()
        except NameError as error:
            return first, str(error)

    return f


def deleted(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        y = x * 2.0
        z = y + 1.0
        del y
        return z + y  # noqa: F821

    return f


def unbound(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        if x.shape[0] > 100:
            y = x
        return y * 2.0

    return f


def uses_locals(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        y = x * 2.0
        z = 3
        seen = sorted(locals())
        return y + z, seen, sorted(vars()), locals()["y"] is y

    return f


def uses_frames(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        y = x * 2.0
        frame = sys._getframe()
        names = frame.f_code.co_name, frame.f_lineno, sorted(frame.f_locals), sys._getframe(1).f_code.co_name
        return y, names, inspect.currentframe() is frame, callee(y)

    def callee(y: Any) -> Any:
        caller = sys._getframe(1)
        return caller.f_code.co_name, caller.f_lineno, sorted(caller.f_locals), caller.f_locals["y"] is y

    return f


def inspects_the_stack(fast: Decorator) -> Any:
    def here() -> Any:
        return [(info.function, info.lineno) for info in inspect.stack()[:3]]

    def middle(x: Any) -> Any:
        return x * 2.0, here()

    @fast
    def f(x: Any) -> Any:
        y = x + 1.0
        return middle(y), here()

    return f


def evaluates(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        y = eval("x * 2.0")
        space = {"x": x}
        exec("z = x + 1.0", space)
        return y, space["z"], eval("y + k", {"y": y, "k": 3})

    return f


def star_arguments(fast: Decorator) -> Any:
    def g(*args: Any, **keywords: Any) -> Any:
        return sum(args) + keywords.get("k", 0.0), sorted(keywords)

    @fast
    def f(x: Any, *rest: Any, **more: Any) -> Any:
        first, *middle, last = x, x * 2.0, x * 3.0, x * 4.0
        return g(*middle, *rest, k=last, **more), g(*[first], **{"k": 1, **more}), {**more, "x": 1}

    return lambda x: f(x, x + 1.0, a=2.0, b=x)


def comprehensions(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        k = 2.0
        rows = [x * i * k for i in range(3) if i != 1]
        table = {i: x + i for i in range(2)}
        nested = [[x * i + j for j in range(2)] for i in range(2)]
        return rows, table, nested, {n % 2 for n in (1, 2, 3)}, tuple(row.sum() for row in rows)

    return f


def walrus_and_match(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        if (n := x.shape[0]) > 2 and (y := x * n) is not None:
            x = y
        match (x.ndim, n, {"a": [1, x]}):
            case (1, int(m), {"a": [1, z]}) if m > 2:
                return z + m, "one"
            case (_, 0, _):
                return x, "none"
            case _:
                return x - 1.0, "other"

    return f


def handlers(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        log = []
        for k in range(4):
            try:
                y = x * k
                if k == 1:
                    continue
                if k == 2:
                    raise KeyError(k)
                log.append(y)
            except (KeyError, ValueError) as error:
                log.append(error.args)
            else:
                log.append("else")
            finally:
                log.append(k)
        try:
            raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
        except* ValueError as group:
            log.append(str(group.exceptions))
        except* TypeError:
            log.append(x + 1.0)
        return log

    return f


def contexts(fast: Decorator) -> Any:
    class Manager:
        def __init__(self, swallow: bool) -> None:
            self.swallow = swallow

        def __enter__(self) -> Any:
            print("enter")
            return np.ones(3)

        def __exit__(self, *what: Any) -> bool:
            print("exit", what[0])
            return self.swallow

    @fast
    def f(x: Any) -> Any:
        with Manager(False) as one, Manager(True) as two:
            x = x + one * two
            x @ np.ones(99)
        with Manager(False):
            return x * 2.0

    return f


def effects_in_order(fast: Decorator) -> Any:
    class Noisy:
        def __init__(self, name: str) -> None:
            self.name = name

        def __del__(self) -> None:
            print("del", self.name)

        def __setattr__(self, name: str, value: Any) -> None:
            print("set", name, np.shape(value))
            object.__setattr__(self, name, value)

    @fast
    def f(x: Any) -> Any:
        a = Noisy("a")
        a.y = x * 2.0
        x += 1.0
        b = Noisy("b")
        print("x", x.sum())
        a = b
        x *= a.name.__len__()
        del a, b
        print("end", x.sum())
        return x

    return f


def mutates_objects(fast: Decorator) -> Any:
    class Box:
        pass

    @fast
    def f(x: Any) -> Any:
        box, items, table = Box(), [x], {"x": x}
        box.y = x * 2.0  # type: ignore[attr-defined]
        items.append(box.y + 1.0)  # type: ignore[attr-defined]
        items[0] = items[1] * 2.0
        table["z"] = items.pop()
        table.update(w=x)
        items.extend([1, 2])
        items.reverse()
        return box.__dict__, items, table, table["w"] is x

    return f


def global_statement(fast: Decorator) -> Any:
    space: dict[str, Any] = {"np": np, "total": 0.0}
    exec("def f(x):\n    global total\n    total = total + x.sum()\n    return x * total\n", space)
    f = fast(space["f"])
    return lambda x: (f(x), space["total"])


def chained_comparison(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        n = x.shape[0]
        a = 0 < n <= 3 != n
        b = (n and x) or 5
        c = not n, n is None, n in (1, 2, 3), "a" not in "abc"
        return a, b, c, x if 1 < n < 5 else -x

    return f


def unpacks(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        a, b, c = x
        (d, *e), g = (x, x + 1.0, x + 2.0), "z"
        a, b = b, a
        try:
            p, _ = x
        except ValueError as error:
            p = str(error)
        return a, b, c, d, e, g, p

    return f


def strings(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        y = x * 2.0
        return f"{y!r:>40} {y.sum():.3f} {x.shape=}", "%s %d" % (y, 3), "{}".format(y), str(y), repr(y[0]), y.tolist()  # noqa: UP031, UP032

    return f


def lambdas_and_partials(fast: Decorator) -> Any:
    g = functools.partial(np.maximum, 2.0)
    k: Any = lambda x, by=2.0: x * by  # noqa: E731

    @fast
    def f(x: Any) -> Any:
        h: Any = lambda y: y + x  # noqa: E731
        return g(x), k(x), h(x), k(x, by=3), functools.reduce(np.add, [x, x, x]), list(map(h, [x]))

    return f


def sorts_and_maps(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        pairs = sorted(enumerate(x.tolist()), key=lambda pair: -pair[1])
        return pairs, [a + b for a, b in zip(x, x * 2.0, strict=True)], max(x), min(x[0], 2.0), any(x > 1), sum(x)

    return f


def imports_inside(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        import math
        from os import path

        return x * math.pi, path.join("a", "b")

    return f


def class_inside(fast: Decorator) -> Any:
    @fast
    def f(x: Any) -> Any:
        class Point:
            where = x * 2.0

            def get(self) -> Any:
                return self.where + x

        return Point().get(), Point.__qualname__

    return f


def lru_cached(fast: Decorator) -> Any:
    @functools.lru_cache(None)
    def table(n: int) -> Any:
        return np.arange(float(n))

    @fast
    def f(x: Any) -> Any:
        return x * table(x.shape[0]), table(3) is table(3)

    return f


def many_locals(fast: Decorator) -> Any:
    lines = [
        "def f(x):",
        *(f"    v{i} = x + {i}" for i in range(300)),
        "    return " + " + ".join(f"v{i}" for i in range(300)),
    ]
    space: dict[str, Any] = {}
    exec("\n".join(lines), space)
    return fast(space["f"])


def docstring_and_annotations(fast: Decorator) -> Any:
    @fast
    def f(x: np.ndarray[Any, Any], k: float = 2.0) -> Any:
        """Multiply."""
        y: Any = x * k
        return y

    return lambda x: (f(x), f.__name__, f.__qualname__, f.__doc__, f.__module__, str(inspect.signature(f)))


CASES = (
    recursion,
    mutual_recursion,
    iterators_taken_step_by_step,
    iterators_across_a_break,
    dictionary_views_are_live,
    two_functions_with_defaults,
    not_a_number_in_containers,
    builtin_functions_and_classes_as_values,
    builtins_called_wrongly,
    classes_in_disguise,
    generator,
    generator_inside,
    coroutine,
    async_generator,
    methods,
    inheritance,
    decorators,
    closures,
    cells_handed_on,
    functions_made,
    cells_deleted,
    deleted,
    unbound,
    uses_locals,
    uses_frames,
    inspects_the_stack,
    evaluates,
    star_arguments,
    comprehensions,
    walrus_and_match,
    handlers,
    contexts,
    effects_in_order,
    mutates_objects,
    global_statement,
    chained_comparison,
    unpacks,
    strings,
    lambdas_and_partials,
    sorts_and_maps,
    imports_inside,
    class_inside,
    lru_cached,
    many_locals,
    docstring_and_annotations,
)


def nothing(fn: Any) -> Any:
    return fn


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_python_as_it_was(case: Any, backend: str, compiler: Compile) -> None:
    fast = functools.partial(compiler, backend=backend)
    require_equal(
        case(fast),
        copies_of(np.arange(1.0, 4.0)),
        plain=case(nothing),
        variants=[copies_of(np.arange(1.0, 6.0)), copies_of(np.arange(6.0).reshape(3, 2)), copies_of(np.ones(0))],
        compile=nothing,
        name=case.__name__,
    )


def test_a_recursion_too_deep_is_plain_pythons(compiler: Compile) -> None:
    def deep(fast: Decorator) -> Any:
        @fast
        def f(x: Any) -> Any:
            return f(x + 1.0)

        return f

    for _ in range(2):
        with pytest.raises(RecursionError):
            deep(compiler)(np.ones(2))
    fast = compiler(programs.affine)
    assert (fast(np.ones(2)) == 3.0).all()

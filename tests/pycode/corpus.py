"""Functions that use every construct of the language, each with arguments to call it with.

Run as they are and re-encoded; those in CALLS that are plain functions are also resumed at every instruction. The
results are reprs, so they must not show addresses.
"""

# ruff: noqa: B023, C400, C416, F821, I001, RUF012, SIM208, UP008, UP032, UP050 (each is a construct to be tried)

import asyncio
import contextlib


def loops(n):
    total = 0
    for i in range(n):
        if i == 3:
            continue
        if i > 7:
            break
        total += i
    else:
        total = -total
    while total > 5:
        total -= 2
        if total == 9:
            break
    else:
        total += 100
    return total


def nested_loops(n):
    out = []
    for i in range(n):
        for j in range(i):
            if (i + j) % 3 == 0:
                continue
            for k in (i, j):
                out.append(i * j + k)
            if j == 4:
                break
    return out


def while_loops(n, words):
    out, words = [], list(words)
    while n > 0 and (n % 7 or len(out) < 2) and not (n == 5 and out):
        n -= 1
        if n % 2:
            continue
        k = n
        while k is not None and k < 20:
            k = None if k > 12 else k + n + 1
            try:
                out.append(1 // (k or 0))
            except ZeroDivisionError:
                if len(out) > 9:
                    break
                continue
        out.append(k)
    while words: words.pop()  # noqa: E701  # fmt: skip
    while (
        len(out) > 3  # which is tested in a line of its own
        and out[-1] != 0
    ):
        out.pop()
    else:
        out.append("else")
    for word in out:
        while word:
            word = word[1:] if isinstance(word, str) else 0
    return out, n


def try_finally(x):
    log = []
    try:
        log.append("try")
        try:
            log.append(1 / x)
        finally:
            log.append("inner")
    except ZeroDivisionError as error:
        log.append(str(error))
        return log
    else:
        log.append("else")
    finally:
        log.append("finally")
    return log


def try_in_loop(items):
    out = []
    for item in items:
        try:
            if item is None:
                continue
            out.append(int(item))
        except (ValueError, TypeError) as error:
            out.append(type(error).__name__)
            if item == "stop":
                break
        finally:
            out.append("f")
    return out


def reraise(x):
    try:
        try:
            raise KeyError(x)
        except KeyError as error:
            raise ValueError(x) from error
    except ValueError as error:
        return repr(error), repr(error.__cause__), error.__suppress_context__


def fails(x):
    a = [1, 2]
    return (a[0] +
            a[x])  # fmt: skip


def fails_in_handler(x):
    try:
        return [][x]
    except IndexError:
        return {}["missing"]


def exception_group(kinds):
    out = []
    try:
        raise ExceptionGroup("g", [kind("m") for kind in kinds])
    except* ValueError as group:
        out.append(("value", len(group.exceptions)))
    except* TypeError as group:
        out.append(("type", len(group.exceptions)))
    return out


@contextlib.contextmanager
def manager(log, swallow):
    log.append("enter")
    try:
        yield "value"
    except KeyError:
        log.append("caught")
        if not swallow:
            raise
    finally:
        log.append("exit")


def with_statement(swallow, error):
    log = []
    try:
        with manager(log, swallow) as value, contextlib.suppress(IndexError):
            log.append(value)
            if error == "key":
                raise KeyError("k")
            if error == "index":
                raise IndexError("i")
            if error == "return":
                return log
        log.append("after")
    except KeyError:
        log.append("outside")
    return log


def comprehensions(n):
    i = "kept"
    squares = [i * i for i in range(n) if i % 2]
    pairs = {(a, b): a + b for a in range(n) for b in range(a)}
    letters = {chr(97 + k) for k in range(n)}
    lazy = list(x + y for x in range(n) for y in (10, 20) if x != y)
    nested = [[row * col for col in range(2)] for row in range(n)]
    return i, squares, sorted(pairs.items()), sorted(letters), lazy, nested


def comprehension_that_fails(n):
    x = "kept"
    try:
        return [10 // (x - 2) for x in range(n)]
    except ZeroDivisionError:
        return x


def match(subject):
    match subject:
        case None | False:
            return "nothing"
        case int() | float() as number if number > 100:
            return f"big {number}"
        case int(number):
            return f"int {number}"
        case [first, *_, last]:
            return f"ends {first} {last}"
        case {"kind": kind, **rest}:
            return f"{kind} {sorted(rest)}"
        case str():
            return "text"
        case complex(real=re, imag=im):
            return re, im
    return "other"


def callee(a, b=2, /, c=3, *args, d=4, **kwargs):
    return a, b, c, args, d, sorted(kwargs.items())


def calls(x):
    args, kwargs = (x, 20), {"z": 1}
    return (
        callee(x),
        callee(x, 5, 6, 7, 8),
        callee(x, d=9),
        callee(x, c=1, e=2),
        callee(*args),
        callee(*args, 30, **kwargs),
        callee(x, *args, d=5, **kwargs, w=2),
        callee(*args, **{"d": x}),
        "".join(["a", "b"]).upper(),
        "{} {k}".format(1, k=2),
        (lambda *a, k=x: (a, k))(1, 2),
    )


def star_args(a, *rest, key="k", **others):
    return a, rest, key, others


def unpacking(items):
    a, b, *c = items
    *d, e = items
    f, (g, h) = a, (b, c)
    a, b = b, a
    [x, y, z] = (1, *d)[:3]
    return a, b, c, d, e, f, g, h, x, y, z, [*items, *c], {**{"a": 1}, "b": 2}, {*items}


def operators(a, b):
    out = [a + b, a - b, a * b, a / b, a // b, a % b, a**b, a << b, a >> b, a & b, a | b, a ^ b, -a, +a, ~a, not a]
    out += [a < b, a <= b, a == b, a != b, a > b, a >= b, a is b, a is not b, a in [b], a not in [b], 1 < a < b < 99]
    c = a
    c += b
    c -= 1
    c *= 2
    c //= 3
    c %= 7
    c <<= 2
    c |= 1
    return out, c, a and b, a or b, (a or 0) and (b if b > a else c), None if a else b


def subscripts(items):
    items = list(items)
    items[0] = 5
    items[1:3] = [7, 8, 9]
    items[-1] += 10
    items[1:2] += [4]
    del items[2]
    del items[3:4]
    return items, items[1], items[1:], items[:-1], items[::2], items[1:4:2]


def conditions(a):
    out = []
    if not a:
        out.append("falsy")
    if a is None:
        out.append("none")
    if a is not None and (a == 1 or a == 2):
        out.append("one or two")
    while a:
        a -= 1
        if a is None or not a:
            break
    return out, "x" if a else "y", bool(a), not not a


def strings(x):
    return f"{x}", f"{x!r:>8}", f"{x:>{3 + 4}}|{x!s}", f"a{x}b{x!a}", f"{x=}"


def closures(n):
    count = 0

    def add(k=1):
        nonlocal count
        count += k
        return count

    functions = [lambda i=i: i + n for i in range(2)]
    late = [lambda: j + count for j in range(2)]
    add()
    add(5)
    return count, [f() for f in functions], [f() for f in late], add.__name__


def shadowed_cell():
    x = 1
    read = lambda: x  # noqa: E731
    return [x for x in range(3)], read(), [(lambda: x)() for x in range(2)], x


def deleted(x):
    y = x
    del x
    try:
        return x
    except UnboundLocalError as error:
        return str(error), y


def unbound(flag):
    if flag:
        value = 1
    return value


def global_names():
    global _made
    _made = [len, print]
    out = _made[0]("abc")
    del _made
    try:
        return _made
    except NameError as error:
        return out, str(error)


def imports():
    import os.path as path
    from math import floor, pi as number  # fmt: skip

    return path.basename("a/b"), floor(number)


def classes():
    class Base:
        """Doc."""

        attribute: int = 1

        def __init__(self, value, *, scale=2):
            self.value = value * scale

        def method(self):
            return self.value, __class__.__name__

        @property
        def double(self):
            return self.value * 2

        names = [name for name in ("a", "b")]

    class Derived(Base, metaclass=type):
        def __init__(self, value):
            super().__init__(value, scale=3)

        def method(self):
            self.value += 1
            return super().method(), super(Derived, self).double

        def __eq__(self, other):
            return self.value == other

    made = Derived(4)
    return made.method(), made == 13, Base.__doc__, Base.names, Base.__annotations__, Derived.__mro__[1].__name__


def two_variables_of_one_name():
    __class__ = "outer"

    class Inner:
        x = __class__

        def method(self):
            return __class__.__name__

    class Stores:
        nonlocal __class__
        __class__ = "stored"

        def method(self):
            return __class__.__name__

    return Inner.x, Inner().method(), __class__, Stores().method()


def defaults():
    def function(a: int, b: "str" = "x", *, c: float = 1.5) -> list:
        """The doc."""
        return [a, b, c]

    return function(1), function.__annotations__, function.__kwdefaults__, function.__doc__


def generator(n):
    received = []
    try:
        for i in range(n):
            received.append((yield i))
    except ValueError as error:
        yield ("caught", str(error))
    finally:
        received.append("closed")
    return received


def delegating(n):
    result = yield from generator(n)
    yield ("result", result)


def generators(n):
    out = list(delegating(n))
    g = delegating(n)
    out.append(next(g))
    out.append(g.send("sent"))
    out.append(g.throw(ValueError("thrown")))
    g.close()
    g = generator(1)
    next(g)
    try:
        next(g)
    except StopIteration as stop:
        out.append(stop.value)
    return out


def stops_early():
    def inner():
        yield 1
        raise StopIteration(2)

    try:
        list(inner())
    except RuntimeError as error:
        return repr(error), repr(error.__cause__)


class Context:
    def __init__(self, log):
        self.log = log

    async def __aenter__(self):
        self.log.append("aenter")
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *info):
        self.log.append(("aexit", info[0] and info[0].__name__))
        return info[0] is KeyError


async def ticker(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


async def work(n, log):
    async with Context(log) as context:
        async for i in ticker(n):
            context.log.append(i)
            if i == 2:
                break
        else:
            context.log.append("exhausted")
    async with Context(log):
        raise KeyError("swallowed")
    log.append([i async for i in ticker(n) if i % 2])
    log.append(await asyncio.gather(*[asyncio.sleep(0, result=k) for k in range(2)]))
    try:
        async with Context(log):
            raise ValueError("through")
    except ValueError:
        log.append("caught")
    return log


def coroutines(n):
    return asyncio.run(work(n, []))


def assertion(x):
    assert x > 0, f"not {x}"
    return x


def chained(x):
    return 0 < x < 10 and x != 5


def passes(x):
    if x:
        pass
    else:
        pass
    for _ in range(x):
        pass
    while False:
        pass
    return x


def walrus(items):
    return [y for x in items if (y := x * 2) > 2], (n := len(items)), n


def many_locals(x):
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = a8 = a9 = b0 = b1 = b2 = b3 = b4 = b5 = b6 = b7 = x
    b6, b7 = b7 + 1, b6 + 2
    b5 = b4
    return a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + b0 + b1 + b2 + b3 + b4 + b5 + b6 + b7


CALLS = [
    *((loops, (n,)) for n in (0, 5, 20)),
    (nested_loops, (7,)),
    *((while_loops, (n, ("a", "bc"))) for n in (0, 6, 23)),
    *((try_finally, (x,)) for x in (0, 2)),
    (try_in_loop, (["1", None, "x", [], "stop", "2"],)),
    (reraise, (1,)),
    *((fails, (x,)) for x in (1, 2, "a")),
    *((fails_in_handler, (x,)) for x in (0, "a")),
    *((exception_group, (kinds,)) for kinds in ([ValueError], [TypeError, ValueError, ValueError], [KeyError])),
    *((with_statement, (s, e)) for s in (True, False) for e in (None, "key", "index", "return")),
    (comprehensions, (4,)),
    *((comprehension_that_fails, (n,)) for n in (2, 4)),
    *((match, (x,)) for x in (None, 7, 700, 7.5, [1, 2, 3], [1], {"kind": 1, "b": 2}, "s", 1 + 2j, b"", {})),
    (calls, (1,)),
    (star_args, (1, 2, 3)),
    *((unpacking, (x,)) for x in ((1, 2, 3, 4), (1,))),
    *((operators, (a, b)) for a, b in ((5, 3), (0, 7))),
    (subscripts, ((1, 2, 3, 4, 5),)),
    *((conditions, (a,)) for a in (0, 1, 2, None, 5)),
    *((strings, (x,)) for x in (12, "é")),
    (closures, (3,)),
    (shadowed_cell, ()),
    (deleted, (1,)),
    *((unbound, (flag,)) for flag in (True, False)),
    (global_names, ()),
    (imports, ()),
    (classes, ()),
    (two_variables_of_one_name, ()),
    (defaults, ()),
    (generators, (3,)),
    (stops_early, ()),
    (coroutines, (4,)),
    *((assertion, (x,)) for x in (1, -1)),
    *((chained, (x,)) for x in (-1, 5, 7, 20)),
    *((passes, (x,)) for x in (0, 2)),
    (walrus, ([1, 2, 3],)),
    (many_locals, (1,)),
]

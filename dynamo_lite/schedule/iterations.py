"""How many iterations a loop is expected to make, and what the numbers of its body are in the middle one.

Enters: what the symbols around are (``Env``), a loop's bounds, and what goes into its body. Leaves: a number of
iterations, and the Env of the body. All are guesses, for cost.py.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from dynamo_lite.graph.scalar import Number, Scalar, Symbol, evaluate, is_scalar, is_symbolic, symbols_of

OPEN_LENGTH = 4  # iterations of a loop of open length, at least
WHILE_LENGTH = 10  # iterations of a loop with a condition on what it computes
PAUSE_LENGTH = 1000  # iterations before a loop pauses, where nobody can tell
MOST_ITERATIONS = 1 << 40

Found = TypeVar("Found")


class Env(dict[str, Number]):
    """What the symbols are. counts: of shapes, by identity, with the shape, which so lives as long. charges: of graphs,
    by identity, with the graph; they hang on no symbol, and all sizes share them. known: by identity, with the object,
    what `of` was asked."""

    __slots__ = ("charges", "counts", "known")

    def __init__(self, values: Mapping[str, Number], around: Env | None = None) -> None:
        super().__init__(values)
        self.counts: dict[int, tuple[Sequence[Any], float]] = {}
        self.charges: dict[int, tuple[Any, Any]] = {} if around is None else around.charges
        self.known: dict[int, tuple[object, Any]] = {}

    def of(self, what: object, find: Callable[[], Found]) -> Found:
        """What `find` finds out about `what` under these numbers, once."""
        known = self.known.get(id(what))
        if known is None:
            known = self.known[id(what)] = what, find()
        found: Found = known[1]
        return found


def middle(
    bounds: Sequence[Any],
    values: Sequence[Any],
    symbols: Iterable[Symbol],
    env: Env,
    goes_on: Any,
    changing: int,
    pause: Sequence[Any] = (),
) -> tuple[int, Env]:
    """How many iterations a loop has, and what the numbers of its body are in the middle one. goes_on: the condition to
    go on, None without one; changing: from which input on numbers are carried. pause: the index, and the conditions for
    which it pauses.

    One of open length counts for a few at least: what is decided for a call without any serves the others too.
    """
    limits: list[Any] = [evaluate(bound, env) for bound in bounds]
    numbers = range(*limits) if limits[2] else range(0)
    if pause:
        number = _before_pause(numbers, pause, env)
        return number, env_of_body((limits[0], *values), symbols, env)
    symbols = tuple(symbols)
    if goes_on is not None:
        inside = env_of_body((limits[0], *values), symbols, env)
        numbers = numbers[: _while_length(numbers, goes_on, symbols, changing, inside)]
    index = numbers[len(numbers) // 2] if numbers else limits[0]
    least = OPEN_LENGTH if any(map(is_symbolic, bounds)) else 0
    return max(len(numbers), least), env_of_body((index, *values), symbols, env)


def _while_length(numbers: range, goes_on: Any, symbols: Iterable[Symbol], changing: int, env: Env) -> int:
    """For how many iterations a condition on the index holds, if for the first ones; WHILE_LENGTH for another."""
    index = next((symbol.name for symbol in symbols if symbol.input == 0), "")
    if not is_scalar(goes_on) or not is_of_index(goes_on, index, symbols, changing):
        return WHILE_LENGTH

    def ends(place: int) -> bool:
        return place >= MOST_ITERATIONS or not evaluate(goes_on, {**env, index: numbers.start + place * numbers.step})

    try:
        behind = 0
        while not ends(behind):
            behind = 2 * behind + 1
        return bisect_left(range(behind), True, key=ends) + 1
    except ArithmeticError:
        return WHILE_LENGTH


def is_of_index(condition: Scalar, index: str, symbols: Iterable[Symbol], changing: int) -> bool:
    """Whether it hangs on the index, and on nothing else that changes."""
    names = symbols_of(condition)
    kept = {symbol.name for symbol in symbols if 0 <= symbol.input < changing}
    return index in names and names <= kept


def _before_pause(numbers: range, pause: Sequence[Any], env: Env) -> int:
    """How many iterations are run before the loop pauses; the last ones say nothing of others."""
    index, *conditions = pause
    for place, number in enumerate(numbers[:PAUSE_LENGTH]):
        try:
            if any(evaluate(condition, {**env, index.name: number}) for condition in conditions):
                return max(place, 1)
        except ArithmeticError:  # the program declines
            break
    return max(len(numbers), PAUSE_LENGTH)


def env_of_body(values: Sequence[Any], symbols: Iterable[Symbol], env: Env) -> Env:
    """What the numbers of a body are, into which `values` go; of what it computes nobody knows."""
    inside = Env({}, env)
    for symbol in symbols:
        try:
            inside[symbol.name] = evaluate(values[symbol.input], env) if symbol.input >= 0 else 1
        except ArithmeticError:  # of the numbers that nobody knows
            inside[symbol.name] = 1
    return inside


__all__ = ["OPEN_LENGTH", "Env", "env_of_body", "is_of_index", "middle"]

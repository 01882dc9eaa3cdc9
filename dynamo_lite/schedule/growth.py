"""Which sizes grow where a function is called with larger arrays: the cost model looks at some around the example's.

    x: float64[s0, s1], 1000 points in space    ->    s0
    image: float64[s0, s1], 300 by 200          ->    s0, s1

A short axis beside a long one is taken for what an element is: coordinates, colours, a small matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dynamo_lite.graph.scalar import Dim, Symbol, symbols_of

SHORT = 16


def growing(sizes: Sequence[Symbol], shape: Sequence[Dim], example: Mapping[str, Any]) -> tuple[list[Symbol], int]:
    """Those of the sizes that grow, and along how many axes an array of that shape does."""
    long = [symbol for symbol in sizes if example[symbol.name] > SHORT]
    axes = _axes(long, shape)
    return (long, axes) if axes else (list(sizes), _axes(sizes, shape))


def own_sizes(sizes: Sequence[Symbol], shape: Sequence[Dim], example: Mapping[str, Any]) -> list[Symbol]:
    """Those of that shape, where all sizes are short and some are of other arrays alone; else none.

    Of such an example nobody can tell whether the others grow as well: five measurements beside matrices of 2 by 2."""
    names = {symbol for dim in shape for symbol in symbols_of(dim)}
    own = [symbol for symbol in sizes if symbol.name in names]
    is_short = all(example[symbol.name] <= SHORT for symbol in sizes)
    return own if is_short and len(own) < len(sizes) else []


def _axes(sizes: Sequence[Symbol], shape: Sequence[Dim]) -> int:
    names = {symbol.name for symbol in sizes}
    return len({dim for dim in shape if dim != 1 and symbols_of(dim) & names})

"""The reference backend: the graph run node by node with plain NumPy. The oracle of the others, and a fallback.

Enters: a verified graph. Leaves: a callable of the graph's inputs. It raises where plain NumPy raises, and under
runtime/transaction.py (which the pipeline puts around it) changes nothing then.

NB: where two NaNs with other bits are added or multiplied, NumPy keeps the one or the other by position, alignment and
whether it writes in place. A graph does not say how its operands were stored, so such a call declines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dynamo_lite._C import Declined
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.interpret import interpret


def compile_graph(graph: Graph, example_inputs: Sequence[Any]) -> Callable[..., list[Any]]:
    """A callable that interprets `graph`."""

    def run(*inputs: Any) -> list[Any]:
        return interpret(graph, list(inputs), _decline_where_nans_meet)

    return run


def _decline_where_nans_meet(op: str, args: tuple[Any, ...]) -> None:
    if op in ("add", "multiply") and args[0] is not args[1] and _nans_meet(*map(np.asarray, args)):
        raise Declined("two NaNs with different bits meet")


def _nans_meet(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    """Whether NaNs with other bits meet; long doubles and complex numbers are not compared by bits."""
    if left.dtype.kind not in "fc" or right.dtype.kind not in "fc":
        return False
    both = np.isnan(left) & np.isnan(right)
    if not both.any():
        return False
    if left.dtype.itemsize > 8 or right.dtype.itemsize > 8 or "c" in (left.dtype.kind, right.dtype.kind):
        return True
    # Converting keeps sign and payload.
    bits = (np.broadcast_to(side, both.shape)[both].astype(np.float64).view(np.uint64) for side in (left, right))
    return bool((next(bits) != next(bits)).any())

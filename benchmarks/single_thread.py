"""Starts a benchmark again with every thread pool set to one thread, which has to happen before NumPy is imported."""

from __future__ import annotations

import os
import sys

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NPROC",  # XLA's, and so JAX's
)


def restart(module: str, threads: int) -> None:
    """Replace this process by ``python -m module`` with the same arguments, unless the variables are set already."""
    wanted = dict.fromkeys(VARIABLES, str(threads))
    if all(os.environ.get(name) == value for name, value in wanted.items()):
        return
    os.environ.update(wanted)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]])

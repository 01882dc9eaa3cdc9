"""Build of the C extensions: every file of csrc/ is compiled into ``_C``, with NumPy's headers on the include path, and
what needs no NumPy into ``_first``.

Named by ``cmdclass`` of ``[tool.setuptools]`` in pyproject.toml, which cannot ask NumPy for its header folder itself.
What is built for a wheel is stripped of symbols; built in place, for work on it, it keeps them. The warnings that a
developer's build has to be free of are .ci/venv's: another compiler's must not keep a user from installing.
"""

from __future__ import annotations

import glob
import itertools
import os
import sys

import numpy
from setuptools.command.build_ext import build_ext

_RANDOM = os.path.join(os.path.dirname(numpy.random.__file__), "lib")


class BuildExt(build_ext):
    """Compile all C files of csrc/, those of `_C` against NumPy's headers."""

    def finalize_options(self) -> None:
        super().finalize_options()
        used = (glob.glob(f"csrc/**/*.{suffix}", recursive=True) for suffix in ("h", "def"))
        depends = sorted([*itertools.chain(*used), "csrc/build_ext.py"])
        for extension in self.extensions:
            extension.depends = depends
            extension.include_dirs.append("csrc")
            if extension.name == "dynamo_lite._first":
                extension.sources = ["csrc/first/first.c", "csrc/frame/pyframe.c"]
                continue
            extension.sources = sorted({*glob.glob("csrc/**/*.c", recursive=True)} - {"csrc/first/first.c"})
            extension.include_dirs.append(numpy.get_include())
            # Distributions of random numbers (csrc/random/variates.c); some distributors leave this library out.
            if os.path.exists(os.path.join(_RANDOM, "libnpyrandom.a")):
                extension.define_macros.append(("DL_HAS_NPYRANDOM", None))
                extension.library_dirs.append(_RANDOM)
                extension.libraries += ["npyrandom", "m"]

    def build_extensions(self) -> None:
        in_place = self.inplace or getattr(self, "editable_mode", False)
        if sys.platform.startswith("linux") and not in_place and not self.debug:
            for extension in self.extensions:
                extension.extra_link_args.append("-Wl,--strip-all")
        super().build_extensions()

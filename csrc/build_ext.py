"""Build of the C extension: every file of csrc/ is compiled, with NumPy's headers on the include path.

Named by ``cmdclass`` of ``[tool.setuptools]`` in pyproject.toml, which cannot ask NumPy for its header folder itself.
What is built for a wheel is stripped of symbols; built in place, for work on it, it keeps them. The warnings that a
developer's build has to be free of are .ci/venv's: another compiler's must not keep a user from installing.
"""

from __future__ import annotations

import glob
import sys

import numpy
from setuptools.command.build_ext import build_ext


class BuildExt(build_ext):
    """Compile all of csrc/*.c against NumPy's headers."""

    def finalize_options(self) -> None:
        super().finalize_options()
        for extension in self.extensions:
            extension.sources = sorted(glob.glob("csrc/*.c"))
            extension.depends = sorted(glob.glob("csrc/*.h") + glob.glob("csrc/*.def") + ["csrc/build_ext.py"])
            extension.include_dirs.append(numpy.get_include())

    def build_extensions(self) -> None:
        in_place = self.inplace or getattr(self, "editable_mode", False)
        if sys.platform.startswith("linux") and not in_place and not self.debug:
            for extension in self.extensions:
                extension.extra_link_args.append("-Wl,--strip-all")
        super().build_extensions()

"""Build of the C extension: every file of csrc/ is compiled, with NumPy's headers on the include path.

Named by ``[tool.setuptools.cmdclass]`` in pyproject.toml, which cannot ask NumPy for its header folder itself.
"""

from __future__ import annotations

import glob

import numpy
from setuptools.command.build_ext import build_ext


class BuildExt(build_ext):
    """Compile all of csrc/*.c against NumPy's headers."""

    def finalize_options(self) -> None:
        super().finalize_options()
        for extension in self.extensions:
            extension.sources = sorted(glob.glob("csrc/*.c"))
            extension.depends = sorted(glob.glob("csrc/*.h") + glob.glob("csrc/*.def"))
            extension.include_dirs.append(numpy.get_include())

"""Whose tests: one row a package, and what of them cannot come out the same."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Suite:
    """A package and its tests.

    requires: what is installed for it; package: its folder among the installed packages; files: patterns of test files
    in that folder; options: of pytest; known: ids of tests (or their beginnings) that may differ, and why.
    """

    requires: tuple[str, ...]
    package: str
    files: tuple[str, ...]
    options: tuple[str, ...] = ()
    known: dict[str, str] = field(default_factory=dict)


SUITES = {
    "scipy": Suite(("scipy",), "scipy", ("*/tests/test_*.py",)),
    "sklearn": Suite(("scikit-learn",), "sklearn", ("*/tests/test_*.py", "*/*/tests/test_*.py")),
    "statsmodels": Suite(("statsmodels",), "statsmodels", ("*/tests/test_*.py", "*/*/tests/test_*.py")),
    "pandas": Suite(("pandas", "hypothesis"), "pandas", ("tests/*/test_*.py", "tests/*/*/test_*.py")),
    "colour": Suite(("colour-science",), "colour", ("*/tests/test_*.py", "*/*/tests/test_*.py")),
    "hmmlearn": Suite(("hmmlearn",), "hmmlearn", ("tests/test_*.py",)),
    "dipy": Suite(("dipy",), "dipy", ("*/tests/test_*.py",)),
    "pint": Suite(("pint", "pytest-subtests"), "pint", ("testsuite/test_*.py",)),
    "skfuzzy": Suite(("scikit-fuzzy",), "skfuzzy", ("*/tests/test_*.py",)),
    "quantecon": Suite(("quantecon",), "quantecon", ("*/tests/test_*.py",)),
    "emcee": Suite(("emcee",), "emcee", ("tests/*/test_*.py",)),
    "control": Suite(("control",), "control", ("tests/*_test.py",)),
    "sympy": Suite(("sympy",), "sympy", ("*/tests/test_*.py", "*/*/tests/test_*.py")),
    "astropy": Suite(("astropy", "pytest-astropy"), "astropy", ("*/tests/test_*.py",)),
    "xarray": Suite(("xarray", "pytest-asyncio"), "xarray", ("tests/test_*.py",)),
    "numpy_financial": Suite(("numpy-financial",), "numpy_financial", ("tests/test_*.py",)),
    "shapely": Suite(("shapely",), "shapely", ("tests/test_*.py",)),
    "networkx": Suite(("networkx",), "networkx", ("*/tests/test_*.py", "*/*/tests/test_*.py")),
    "tensorly": Suite(("tensorly",), "tensorly", ("*/tests/test_*.py", "*/*/tests/test_*.py", "tests/test_*.py")),
    "quantities": Suite(("quantities",), "quantities", ("tests/test_*.py",)),
    "unyt": Suite(("unyt",), "unyt", ("tests/test_*.py",)),
    "pywt": Suite(("PyWavelets",), "pywt", ("tests/test_*.py",)),
    "opt_einsum": Suite(("opt-einsum",), "opt_einsum", ("tests/test_*.py",)),
    "nibabel": Suite(("nibabel",), "nibabel", ("*/tests/test_*.py", "tests/test_*.py")),
    "gplearn": Suite(("gplearn",), "gplearn", ("tests/test_*.py",)),
    "numdifftools": Suite(
        ("numdifftools", "hypothesis"),
        "numdifftools",
        ("tests/test_*.py",),
        known={
            f"numdifftools/tests/test_numdifftools.py::{test}": "has half a second, in which it is compiled"
            for test in ("TestDerivative::test_derivative_of_cos_x", "TestHessdiag::test_fixed_step")
        },
    ),
    "patsy": Suite(("patsy",), "patsy", ("test_*.py",)),
    "numpy": Suite(
        (),
        "numpy",
        ("*/tests/test_*.py",),
        known={
            "numpy/lib/tests/test_function_base.py::TestBincount::test_dtype_reference_leaks": (
                "counts references to a dtype around first calls, which are compiled in between: entries hold some"
            ),
        },
    ),
}

"""The loop programs as a user of JAX writes them by hand: pure functions of the same parameters, for jax.jit.

Each module holds the forms of the programs' module of its name and the tuple FORMS that says how to call them; FORMS
here joins them by the program's name. Importing this needs jax, so it is imported when a form is asked for.

What the forms keep to: the program's algorithm and its results up to rounding. Loops whose steps need one another are
lax.fori_loop, scan or while_loop; loops over elements that do not are array operations; slices of growing length are
whole rows with zeros, since shapes are fixed. No solver takes an algorithm's place that NumPy's user could have called.
"""

from __future__ import annotations

from benchmarks.loops.jax_forms import images, linear_algebra, sequences, stencils

FORMS = {form.fn.__name__: form for module in (stencils, linear_algebra, sequences, images) for form in module.FORMS}

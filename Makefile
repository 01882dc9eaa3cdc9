# Everything a developer runs. Each target makes its own environment first (.ci/venv): python3 with headers, pip and a
# C compiler are enough. PYTHON=/path/to/python3.12 selects an interpreter; each version has its own .venv/<version>.

.DEFAULT_GOAL := help
.PHONY: help setup demo quick test test-all bench overhead fuzz suites big golden lint docs clean

# Sets $$python for the rest of the recipe line.
venv = python=$$(.ci/venv "$(PYTHON)")

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' Makefile
	@echo "  variables: PYTHON=python3.12  ARGS='more arguments for pytest, the benchmark or the demo'"

setup:  ## make .venv/<version> ready (every other target does this too)
	@$(venv) && echo "$$python is ready"

demo:  ## what it does, on real programs: a report and a table against NumPy (one to three minutes)
	@$(venv) && "$$python" -m benchmarks.demo $(ARGS)

# The files that find most for their time; every stage of the compiler is among them.
QUICK = tests/test_api.py tests/test_compilation.py tests/test_layering.py tests/test_identity.py tests/graph tests/lower \
	tests/guards tests/capture/test_trace.py tests/report tests/ops/test_registry.py tests/backends/test_programs.py \
	tests/programs/test_programs.py tests/pycode/test_flow.py tests/schedule/test_fuse.py \
	tests/csrc/test_dispatch.py tests/fuzz/test_fuzz.py::test_random_programs_on_numba
quick:  ## the tests that find most within two minutes
	@$(venv) && "$$python" -m pytest -q $(QUICK) $(ARGS)

test:  ## the tests, on one Python
	@$(venv) && "$$python" -m pytest $(ARGS)

test-all:  ## the tests, on every CPython 3.11-3.14 found; SKIP="3.11" leaves versions out
	@SKIP="$(SKIP)" SHARE="$(SHARE)" DEBIAN="$(DEBIAN)" .ci/test-all $(ARGS)

bench:  ## time all programs against NumPy and the installed peers; saves benchmarks/results/*.json
	@$(venv) && "$$python" -m benchmarks $(ARGS)

overhead:  ## what one call costs on a 2x3 array, as a multiple of NumPy's x + 1.0
	@$(venv) && "$$python" -m benchmarks.overhead $(ARGS)

N ?= 2000
SEED ?= 0
BACKEND ?= reference
fuzz:  ## N=2000 random programs against plain Python; SEED=0 BACKEND=reference
	@$(venv) && "$$python" -m tests.fuzz --backend $(BACKEND) --count $(N) --seed $(SEED) $(ARGS)

suites:  ## other people's tests with every frame compiled: ARGS="scipy/ndimage hmmlearn"; without, what there is
	@$(venv) && "$$python" -m tests.suites $(or $(ARGS),--list)

big:  ## every kind of step and kernel over 2^31 elements on a stack of 1 MB (3-7 minutes, up to 5.5 GB)
	@$(venv) && "$$python" -m tests.soak big $(ARGS)

lint:  ## ruff and mypy --strict
	@python=$$(.ci/venv "$(PYTHON)" lint) && .ci/lint "$$python"

docs:  ## write the generated pages of docs/ and the outputs shown in README.md again, then check all pages
	@$(venv) && "$$python" -m tests.docs --write && "$$python" -m pytest -q tests/docs

golden:  ## write the golden files of the tests again; read the difference
	@$(venv) && "$$python" -m pytest -q tests/idioms tests/program/test_passes.py tests/program/test_routines.py --update-golden

clean:  ## remove environments and everything built
	rm -rf .venv build dynamo_lite/*.so dynamo_lite/*.pyd *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The steps of working with this checkout, by name. `make` alone lists them.
# SETUP=true skips installing packages; JOBS is how many tests run at once.

SETUP ?= scripts/setup-debian
JOBS ?= 2
CTEST = ctest --no-tests=error -j $(JOBS) --preset
# What the sampling tests said of how much they did.
COUNTS = grep -hE '^(conformance|long double|property|mutations|threads|interleavings|expressions|smt|views|symbolic views|passes|kernels|graphs|orders|packing|packing [a-z-]*|no memory|report|cli|indexing|plan cache|compiled|devices|examples|maths|safetensors|trainings|optimizers|layers|checkpoints|narrow|accumulated|recompute|patterns): ?|^[0-9]+ passed, ' \
    build/release/Testing/Temporary/LastTest.log
SOURCES = git ls-files -z '*.cpp' '*.h'

.PHONY: help demo test test-long python test-python bench bench-peers asan tsan coverage docs-check format format-check tidy clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

demo: build-release ## build, and show what Lazuli does
	build/release/bin/lazuli demo

test: build-release ## build, and run the tests
	$(CTEST) release
	@sed -n '/^checks of each op/,/^$$/p' build/release/Testing/Temporary/LastTest.log
	@$(COUNTS)

test-long: build-release ## build, and run the tests that take minutes
	$(CTEST) release -C Long -L long --output-on-failure
	@$(COUNTS)

# FILTER picks cases and work by a regular expression: make bench FILTER=softmax
FILTER ?=
bench: build-release ## build, and run the benchmarks; FILTER=softmax: some of them
	build/release/bin/lazuli bench --filter '$(FILTER)'
	@test -n '$(FILTER)' || \
	    for program in build/release/bin/bench-*; do echo "$$program"; $$program || exit 1; done

# Peers are for comparing only, and live in a folder of their own, with our module beside them.
PEERS = torch==2.13.0 jax 'mlx[cpu]' tinygrad numpy matplotlib nanobind scikit-build-core
ROUNDS ?= 9
bench-peers: ## Lazuli beside NumPy, PyTorch, JAX, MLX and tinygrad, turn by turn; FILTER and ROUNDS
	@$(SETUP) python3-dev python3-venv
	@test -d .venv-peers || python3 -m venv .venv-peers
	@.venv-peers/bin/python -c 'import torch, jax, mlx.core, tinygrad, matplotlib, nanobind, scikit_build_core' 2>/dev/null || \
	    .venv-peers/bin/pip install --quiet $(PEERS)
	.venv-peers/bin/pip install --quiet --no-build-isolation --no-deps .
	.venv-peers/bin/python bench/peers/compare.py --filter '$(FILTER)' --rounds $(ROUNDS) --json build/peers.json --plot build/peers

# pip brings what building needs; nothing else here needs it.
python: ## build the Python module, and install it into .venv/
	@$(SETUP) python3-dev python3-venv
	@test -d .venv || python3 -m venv .venv
	@.venv/bin/python -c 'import nanobind, numpy, scikit_build_core' 2>/dev/null || \
	    .venv/bin/pip install --quiet nanobind scikit-build-core numpy
	.venv/bin/pip install --quiet --no-build-isolation --no-deps .

test-python: python ## build the Python module, and test it
	@.venv/bin/python -c 'import pytest, ml_dtypes, safetensors' 2>/dev/null || .venv/bin/pip install --quiet pytest ml_dtypes safetensors
	LAZULI_CACHE=0 .venv/bin/python -m pytest -q tests/python

asan: build-asan ## the tests, watched for memory errors and undefined behaviour
	$(CTEST) asan

# The thread sanitizer of g++ 12 does not know the memory layouts of newer kernels; without randomisation they fit.
tsan: RUN = $(shell setarch -R true 2>/dev/null && echo setarch -R)
tsan: build-tsan ## the tests, watched for data races
	$(RUN) $(CTEST) tsan

coverage: build-coverage ## the tests, and the share of the lines of src/ that they run: at least 80 %
	$(SETUP) gcovr
	find build/coverage -name '*.gcda' -delete
	$(CTEST) coverage
	gcovr --root . --filter src/ --fail-under-line 80 --print-summary build/coverage

docs-check: ## whether every public symbol has a comment
	scripts/check-docs

format: ## lay out the sources as .clang-format says
	$(SETUP) clang-format-19
	$(SOURCES) | xargs -0 clang-format-19 -i

format-check: ## whether the sources are laid out so
	$(SETUP) clang-format-19
	$(SOURCES) | xargs -0 clang-format-19 --dry-run -Werror

tidy: build-release ## look for likely mistakes in src/
	$(SETUP) clang-tidy-19
	run-clang-tidy-19 -quiet -p build/release -extra-arg=-Wno-everything '$(CURDIR)/src/.*\.cpp'

clean: ## remove what was built
	rm -rf build

# Configures and builds a preset, and says how long that took.
build-%:
	@$(SETUP)
	@start=$$(date +%s) && $(RUN) cmake --preset $* && $(RUN) cmake --build --preset $* && \
	    echo "build: $$(($$(date +%s) - start)) s"

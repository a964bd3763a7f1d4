# Each target builds a virtual environment in .venv if there is none.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
ORACLES := .venv/.oracles
DEMO := build/demo
comma := ,
RUNS := $(addprefix $(DEMO)/,random_walk recurrency titer path_mixture)

.PHONY: help demo check format quick test campaigns coverage docs wheel container oracles clean

help:
	@echo "make demo       train on the built-in small world, compare models, forecast answers and events"
	@echo "make check      lint, formatting and types"
	@echo "make format     fix lint and formatting where ruff can"
	@echo "make quick      run the fast tests, in about a minute on two cores"
	@echo "make test       run every test (TITER_DATASETS=DIR adds the tests on the real benchmarks)"
	@echo "make campaigns  kill processes, damage files and send hostile input for SECONDS (300), from SEED (0)"
	@echo "make coverage   run every test and report the covered lines of src/titer"
	@echo "make docs       build the documentation site in build/site; warnings are errors"
	@echo "make wheel      build the wheel in dist/"
	@echo "make container  run the steps of the Dockerfile without Docker, and check the service"
	@echo "make oracles    install PyKEEN and TGB, which some tests compare against"

# With LOCKED=1, as in CI, all packages have the versions and checksums in requirements/. The files are complete; without
# --no-deps, pip would look for newer releases of packages that others require with extras, and refuse them.
ifdef LOCKED
install = $(BIN)/python -m pip install --quiet --require-hashes --no-deps --requirement requirements/$(1).txt && \
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
else
install = $(BIN)/python -m pip install --quiet --editable '.[$(2)]'
endif

$(INSTALLED): pyproject.toml $(if $(LOCKED),requirements/dev.txt)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(call install,dev,dev)
	touch $@

$(ORACLES): $(INSTALLED)
	$(call install,oracles,dev$(comma)oracles)
	touch $@

oracles: $(ORACLES)

# The models are small: threads that wait for each other would take longer than one.
demo: export OMP_NUM_THREADS ?= 1
demo: $(INSTALLED)
	@mkdir -p $(DEMO)
	$(BIN)/titer data info small-world
	$(BIN)/titer train small-world --model random_walk --out $(DEMO)/random_walk --overwrite
	$(BIN)/titer train small-world --model recurrency --out $(DEMO)/recurrency --overwrite
	$(BIN)/titer train small-world --config titer/small-world --out $(DEMO)/titer --overwrite
	$(BIN)/titer train small-world --config path_mixture/small-world --out $(DEMO)/path_mixture --overwrite
	@for run in $(RUNS); do $(BIN)/titer evaluate $$run > $$run.txt || exit 1; done
	$(BIN)/titer compare $(RUNS)
	$(BIN)/titer faithfulness $(RUNS)
	$(BIN)/titer forecast $(DEMO)/recurrency Aldoria "hold talks with" --at 2023-07-01 --top 3 --explain
	$(BIN)/titer forecast $(DEMO)/titer Caldera invite --at 2023-07-01 --top 3 --explain
	$(BIN)/titer forecast $(DEMO)/path_mixture "?" invite "Nadia Torvald" --at 2023-07-01 --top 3 --explain
	$(BIN)/titer forecast $(DEMO)/titer Caldera invite --at 2023-07-01 --top 3 --without "Caldera | sign contract with | Copperline Rail | 2023-06-28"
	$(BIN)/titer events $(DEMO)/path_mixture --within 7d --top 10
	$(BIN)/titer when $(DEMO)/path_mixture Aldoria "hold talks with" Brenmark

# One thread a process: the models are small, and the test processes share the cores.
quick test coverage docs: export OMP_NUM_THREADS ?= 1
# Tests start many processes, which would compile their modules again.
quick test coverage: export PYTHONDONTWRITEBYTECODE :=

quick: $(INSTALLED)
	$(BIN)/python -m pytest -n auto --dist loadgroup -m "not slow" -p no:schemathesis --hypothesis-profile=quick

test: $(INSTALLED)
	$(BIN)/python -m pytest -n auto --dist loadgroup

SECONDS ?= 300
SEED ?= 0
campaigns: export OMP_NUM_THREADS ?= 1
campaigns: $(INSTALLED)
	$(BIN)/python tests/campaigns/run_all.py --seconds $(SECONDS) --seed $(SEED)

coverage: $(INSTALLED)
	$(BIN)/python -m pytest -n auto --dist loadgroup --cov --cov-report=term-missing:skip-covered

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The notice of Material for MkDocs about MkDocs 2 does not apply: pyproject.toml excludes that version.
docs: export NO_MKDOCS_2_WARNING := 1
docs: $(INSTALLED)
	$(BIN)/mkdocs build --strict

wheel: $(INSTALLED)
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

container:
	$(PYTHON) .ci/container

clean:
	rm -rf build dist .venv

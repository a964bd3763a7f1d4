# Everything a newcomer needs: `make demo`, `make test`, `make check`.
# Each builds its own virtual environment in .venv when there is none.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
ORACLES := .venv/.oracles
DEMO := build/demo
RUNS := $(addprefix $(DEMO)/,random_walk recurrency titer path_mixture)

.PHONY: demo test check format oracles clean help

help:
	@echo "make demo     train on the small world that ships with titer, then ask it a question"
	@echo "make test     run every test (TITER_DATASETS=DIR adds the tests on the real benchmarks)"
	@echo "make check    lint, formatting and types"
	@echo "make format   let ruff mend what it can"
	@echo "make oracles  install the large packages that some tests compare against"

$(INSTALLED): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

$(ORACLES): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable '.[dev,oracles]'
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

test: $(INSTALLED)
	$(BIN)/python -m pytest -n auto --dist loadgroup

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf build dist .venv

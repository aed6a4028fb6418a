# `make run` and `make test` need nothing but Python 3.11 (or newer), pip and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
FIRST  := runs/first

.PHONY: run test golden mutants lint types venv figures lock clean

run: venv  ## set up, then do the main job
	test -e $(FIRST) && $(BIN)/qdpg resume $(FIRST) || $(BIN)/qdpg train point-maze --until-solved --steps 200000 --out $(FIRST)
	$(BIN)/qdpg show $(FIRST)
	$(BIN)/qdpg plot $(FIRST)

test: lint types  ## set up, then lint, types and tests
	$(BIN)/python -m pytest

golden: venv  ## every algorithm, preset and task of the paper does what it did, and other tests that take minutes
	$(BIN)/python -m pytest -m "golden or slow"

mutants: venv  ## errors put into QD-PG on purpose: each must be noticed by the tests named beside it
	$(BIN)/python tests/mutants.py

lint: venv
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples

types: venv
	$(BIN)/mypy

venv: $(VENV)/installed

# Installed once per content of the lock and of pyproject.toml.
$(VENV)/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

figures: venv  ## the pictures in docs/
	$(BIN)/qdpg tasks --draw docs/figures

lock: venv  ## write down the exact versions of this environment
	$(BIN)/python -m pip freeze --exclude-editable | grep -v '^qdpg' > requirements.lock

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache

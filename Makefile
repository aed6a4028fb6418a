# `make run` and `make test` need nothing but Python 3.11 (or newer), pip and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DOCS   := .venv-docs
FIRST  := runs/first

.PHONY: run test golden long slow attack mutants lint types venv figures tutorials quotes results pages wheel docs docs-serve lock clean

run: venv  ## set up, then do the main job
	test -e $(FIRST) && $(BIN)/qdpg resume $(FIRST) || $(BIN)/qdpg train point-maze --until-solved --steps 200000 --out $(FIRST)
	$(BIN)/qdpg show $(FIRST)
	$(BIN)/qdpg plot $(FIRST)

test: lint types  ## set up, then lint, types and tests
	$(BIN)/python -m pytest

golden: venv  ## every algorithm, preset and task of the paper does what it did
	$(BIN)/python -m pytest -m golden

long: venv  ## tests of half a minute or more
	$(BIN)/python -m pytest -m long

slow: venv  ## tests that take minutes: clusters, browsers, kills, long trainings
	$(BIN)/python -m pytest -m slow

attack: venv  ## kills, damaged files, odd command lines and settings, full disks …: `make attack SEED=1`; goes on where it was
	$(BIN)/python tests/attack --seed $(or $(SEED),0) --out runs/attack
	$(BIN)/python -m pytest -m slow tests/runs/test_ray_train.py tests/matrix/test_ray_compare.py  # nodes, actors, drivers

mutants: venv  ## errors put into QD-PG on purpose: each must be noticed by the tests named beside it
	$(BIN)/python tests/mutants.py

lint: venv
	$(BIN)/ruff check src tests benchmarks examples tools
	$(BIN)/ruff format --check src tests benchmarks examples tools

types: venv
	$(BIN)/mypy

venv: $(VENV)/installed

# Installed once per content of the lock and of pyproject.toml. The lock is complete, hence no dependencies beside it: viser
# declares that it wants rich < 15 and websockets < 17, but works with those in the lock, as the tests show.
$(VENV)/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

figures: venv  ## the pictures of tasks and algorithms in docs/; trains every algorithm for a little while, a quarter of an hour in all
	$(BIN)/qdpg tasks --draw docs/figures
	$(BIN)/python tools/algorithm_pictures.py

tutorials: venv  ## run the tutorials and write their pages: five minutes
	$(BIN)/python tools/tutorials.py

quotes: venv  ## numbers of docs/results, wherever other pages quote them
	$(BIN)/python tools/quotes.py

results: venv  ## the paper's tables beside ours: what is there, and what is missing with its cost
	$(BIN)/python tools/paper_tables.py

pages: run  ## offline pages of the two collections in docs/results and of the first run, into runs/pages: ten minutes
	mkdir -p runs/pages
	for run in $(FIRST) docs/results/ant-trap/seed-2 docs/results/ant-maze/seed-0; do \
	  $(BIN)/qdpg explore $$run --to runs/pages/$$(echo $$run | tr / -).html || exit 1; done

wheel: venv  ## build dist/qdpg-….whl, install it into an empty environment, and train with it
	$(BIN)/python tools/try_wheel.py

docs: $(DOCS)/installed  ## the site, into site/; any warning is an error
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict  # with --quiet, warnings would not count

docs-serve: $(DOCS)/installed  ## the site on this machine, made anew when a page changes
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs serve --livereload

# The site needs half of what the tests need, so it has a lock and an environment of its own.
$(DOCS)/installed: requirements-docs.lock pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r requirements-docs.lock
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

lock: venv  ## write down the exact versions of this environment, with digests of their files
	$(BIN)/python tools/lock.py

clean:
	rm -rf $(VENV) $(DOCS) site .mypy_cache .pytest_cache .ruff_cache

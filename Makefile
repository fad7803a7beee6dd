# Two commands for a newcomer: `make quickstart` measures, certifies and plans; `make test` proves the house.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export MLFLOW_DISABLE_TELEMETRY := true

.PHONY: quickstart test slow lint types contracts schemas docs site check clean

quickstart: $(STAMP)
	$(BIN)/layoutledger quickstart

test: $(STAMP)
	$(BIN)/python -m pytest

slow: $(STAMP)
	$(BIN)/python -m pytest -m slow $(PYTEST)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/pyright

contracts: $(STAMP)
	$(BIN)/lint-imports

schemas: $(STAMP)
	$(BIN)/python -m schemas._jsonschema

docs: $(STAMP)
	$(BIN)/python docs/make_reference.py
	$(MAKE) site

site: $(STAMP)
	$(BIN)/python -m mkdocs build --strict --quiet

check: lint types contracts test

# Seventeen thousand modules come along, most are never imported: each is compiled when it first is.
$(STAMP): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-compile -r requirements.lock
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --editable .
	touch $(STAMP)

clean:
	rm -rf $(VENV) .artifacts build dist *.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache

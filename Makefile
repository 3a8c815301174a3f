# Everything a contributor runs. Needs only make and Python >= 3.11; each target sets up .venv itself.

PYTHON ?= python3

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := $(VENV)/.demo
PEERS := $(VENV)/.peers
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist worksteal
BENCHMARKS := $(sort $(wildcard benchmarks/bench_*.py))

# Shows a command as a user would type it inside examples/, then runs it there.
define in-examples
@printf '\n$$ %s\n' '$(1)'; cd examples && PATH="$(CURDIR)/$(BIN):$$PATH" && $(1)
endef

# Checks the Python, and makes an empty environment of it.
define new-venv
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
  { echo 'Python 3.11 or newer is needed: name one with "make PYTHON=python3.12"' >&2; exit 1; }
@echo 'Making the environment $(VENV) ...'
@$(PYTHON) -m venv --clear $(VENV) || \
  { echo 'the venv module is missing: install it (Debian and Ubuntu: apt install python3-venv)' >&2; exit 1; }
endef

.DEFAULT_GOAL := help
.PHONY: help demo test coverage lint style types tests measured packages bench peers mutants

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Where everything is installed already, the demo runs with that.
demo: $(if $(wildcard $(READY)),,$(DEMO))  ## bundle examples/tools and answer a misspelt query
	$(call in-examples,mcpg bundle tools -o graph.mdld)
	$(call in-examples,mcpg search "shipmnt status")

# mypy runs on one core for a while, so the tests start beside it.
test: style  ## lint, types, and all tests
	@$(MAKE) --no-print-directory --jobs 2 types tests

# Takes about twice as long.
coverage: style  ## the same, and at least 95 % of branches covered
	@$(MAKE) --no-print-directory --jobs 2 types measured

lint: style types  ## ruff check, ruff format --check, mypy

style: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

tests: $(READY)
	$(PYTEST)

measured: $(READY)
	$(PYTEST) --cov

packages:  ## check the built wheel: extras, lowest and newest dependencies (PYTHON=..., 10 minutes)
	$(PYTHON) benchmarks/check_packages.py

bench: $(READY)  ## run every benchmark and print its table
	@set -e; for script in $(BENCHMARKS); do printf '\n%s\n' "$$script"; $(BIN)/python "$$script"; done

mutants: $(READY)  ## try how many mutants of the code the tests kill (an hour)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group mutation
	$(BIN)/python benchmarks/mutation.py

peers: $(PEERS)  ## install the engines that the benchmarks compare with

$(PEERS): $(READY)
	@echo 'Installing the peers of the benchmarks ...'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	@touch $(PEERS)

# Only mcpg, without the needs of tests and extras; modules are compiled on first use.
$(DEMO): pyproject.toml
	$(new-venv)
	@echo 'Installing mcpg and what it needs ...'
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --no-input --editable .
	@touch $(DEMO)

# The stamp is touched last, so an installation that broke off is made anew. What the demo has
# installed is kept.
$(READY): pyproject.toml
	$(if $(wildcard $(DEMO)),,$(new-venv))
	@echo 'Installing mcpg with all extras, and what its tests need ...'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[code,embeddings,faiss,llm,mcp,postgres,python,shacl,telemetry]' --group dev
	@touch $(READY)

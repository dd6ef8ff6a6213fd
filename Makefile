# Everything one does with a checkout. `make help` lists it; CI runs `check` and `test` as they are here.
#
# The targets set .venv up by themselves. A stamp in .venv says for which extras that is done; it is remade only when
# setup.cfg or pyproject.toml changed, or when the virtual environment lost its Python.

PYTHON ?= python3
NAMES ?=
ARGS ?=
export PYTHON

VENV_PYTHON := .venv/bin/python
READY_DEMO := .venv/ready-demo
READY_TEST := .venv/ready-test
READY_BENCH := .venv/ready-bench

# After a set-up that was stopped half-way no package can be trusted: set up again, whatever the stamps say.
ifneq ($(wildcard .venv/setup-under-way),)
.PHONY: $(READY_DEMO) $(READY_TEST) $(READY_BENCH)
endif

.DEFAULT_GOAL := help
.PHONY: help demo test campaign mutants check bench fresh clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: $(READY_DEMO) ## Show Ringcast at work: a ring, zones of brokers, two kills, the traces through Spark
	@$(VENV_PYTHON) -m experiments demo $(ARGS)

test: $(READY_TEST) ## Run the tests; ARGS="-k lookup" chooses among them
	@$(VENV_PYTHON) -m pytest -n 2 $(ARGS)

campaign: $(READY_TEST) ## Run what is too long for `test`: 100,000 chaos runs, every schedule of small rings, 500 rounds on real ones, ...
	@$(VENV_PYTHON) -m sim campaign --runs 100000
	@$(VENV_PYTHON) -m pytest tests/campaign $(ARGS)
	@$(VENV_PYTHON) -m experiments rounds --rounds 400
	@$(VENV_PYTHON) -m experiments rounds --rounds 100 --successors 4
	@$(VENV_PYTHON) -m experiments split --cut 60

mutants: $(READY_TEST) ## Run the tests on each mutant in tests/mutants, which they have to kill; NAMES="never_busy" chooses
	@$(VENV_PYTHON) -m tests.mutants $(NAMES)

check: $(READY_TEST) ## Check style (ruff), types (mypy --strict) and the import rule (lint-imports)
	$(VENV_PYTHON) -m ruff check .
	$(VENV_PYTHON) -m mypy --strict
	.venv/bin/lint-imports --no-logo

bench: $(READY_BENCH) ## Measure, and write the figures as JSON, to bench.json too; NAMES="a b" chooses among the benchmarks
	@$(VENV_PYTHON) -m experiments bench --json --out bench.json $(ARGS) $(NAMES)

fresh: ## Clone HEAD elsewhere, run demo and test there as a newcomer would, and print how long they took
	@scripts/fresh

clean: ## Remove the virtual environment and every cache; results under runs/ stay
	@rm -rf .venv build dist *.egg-info .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# $(error) is one line and exit 2; a command that fails would add make's own line to it. $(shell) sees no exported PYTHON.
require_python = $(if $(strip $(eval PROBLEM := $(shell PYTHON='$(PYTHON)' scripts/setup --missing))$(PROBLEM)),$(error $(PROBLEM)))

$(READY_DEMO): setup.cfg pyproject.toml $(VENV_PYTHON)
	$(require_python)@scripts/setup demo analysis,sim,brokers

# What is ready for the tests is ready for the demo.
$(READY_TEST): setup.cfg pyproject.toml $(VENV_PYTHON)
	$(require_python)@scripts/setup test,demo analysis,sim,brokers,test,dev

$(READY_BENCH): setup.cfg pyproject.toml $(VENV_PYTHON)
	$(require_python)@scripts/setup bench,demo analysis,sim,brokers,bench,numba

# Missing or dangling: the stamps above are out of date then, and their recipe makes it.
$(VENV_PYTHON): ;

# make demo [SECONDS=90]   everything on one machine, live prices, an audit at the end
# make test                all tests: pure ones first, then those that need Spark and the broker, crashes, demo and docs
# make check               format, lint, types and the fast tests
# make bench               figures side by side with peers
# make lock                pin requirements anew
# make clean               forget the environment (data in .tarnbeck/ and jars in the user's cache stay)

PYTHON ?= python3
BIN := .venv/bin
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/pip --quiet install
PYTEST := $(BIN)/python -m pytest
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate

.PHONY: demo test check bench lock clean setup setup-dev
.DELETE_ON_ERROR:

demo: setup
	$(BIN)/python -m tarnbeck.cli.main demo $(if $(SECONDS),--seconds $(SECONDS))

# Two at a time: one waits for Spark or Kafka while the other computes. The tests of a file stay together, because they
# share a node or a broker; those that take long come first (see tests/conftest.py). A group that has no tests (exit
# code 5) is no failure.
test: setup-dev .venv/.browser
	TARNBECK_EFFORT=all $(PYTEST) -n 2 -m "not spark and not broker and not crash and not demo and not browser"
	TARNBECK_EFFORT=all $(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder -m "(spark or broker) and not crash and not demo and not browser" || [ $$? -eq 5 ]
	$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder -m "crash or demo or browser" || [ $$? -eq 5 ]

check: setup-dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(PYTEST) -n 2 -m "not spark and not broker and not crash and not demo and not browser and not long"

bench: setup-dev .flink/.done
	$(BIN)/python -m bench

lock: setup-dev
	$(LOCK) $(UPGRADE) requirements-build.in -o requirements-build.txt
	$(LOCK) $(UPGRADE) pyproject.toml requirements.in -o requirements.txt
	$(LOCK) $(UPGRADE) requirements-dev.in -o requirements-dev.txt
	$(LOCK) $(UPGRADE) --no-deps bench/flink/requirements.in -o bench/flink/requirements.txt

clean:
	rm -rf .venv .flink build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find tarnbeck tests -name __pycache__ -type d -prune -exec rm -rf {} +

setup: .venv/.package .venv/.jars
setup-dev: setup .venv/.dev .venv/.classes

.venv/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "tarnbeck: needs Python 3.11 or newer, $(PYTHON) is older or missing: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/pip || { echo "tarnbeck: making .venv"; $(PYTHON) -m venv .venv; } || { rm -rf .venv; exit 1; }
	@touch $@

# PySpark comes as source: it is built by the pinned tools, which must be there before.
.venv/.run: .venv/.python requirements-build.txt requirements.txt
	@echo "tarnbeck: installing what it needs (PySpark is 400 MB, once)"
	@$(PIP) --require-hashes -r requirements-build.txt
	@$(PIP) --require-hashes --no-build-isolation -r requirements.txt
	@touch $@

.venv/.dev: .venv/.run requirements-dev.txt
	@echo "tarnbeck: installing what tests need"
	@$(PIP) --require-hashes -r requirements-dev.txt
	@touch $@

.venv/.package: .venv/.run pyproject.toml
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

# Tests look at the page with Debian's Chromium; any other one on the path will do.
CHROMIUM := apt-get install --yes --no-install-recommends chromium fonts-dejavu-core
.venv/.browser: .venv/.python
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { \
		echo "tarnbeck: installing Chromium, which tests look at the page with"; \
		test "$$(id -u)" -eq 0 && apt-get update --quiet=2 && DEBIAN_FRONTEND=noninteractive $(CHROMIUM) >/dev/null; } || { \
		echo "tarnbeck: tests of the page need Chromium: sudo $(CHROMIUM)" >&2; exit 1; }
	@touch $@

# A peer of the bench, in an environment of its own: what it needs conflicts with what tarnbeck needs.
.flink/.done: .venv/.python bench/flink/requirements.txt
	@echo "tarnbeck: installing Flink for the bench (330 MB, once)"
	@test -x .flink/bin/pip || $(PYTHON) -m venv .flink || { rm -rf .flink; exit 1; }
	@PIP_DISABLE_PIP_VERSION_CHECK=1 .flink/bin/pip --quiet install --no-deps --require-hashes -r bench/flink/requirements.txt
	@touch $@

.venv/.jars: .venv/.package tarnbeck/spark/ivy.xml
	@$(BIN)/python -c 'from tarnbeck.spark.jars import find_java; find_java()' 2>/dev/null \
		|| test "$$(id -u)" != 0 || test ! -e /etc/debian_version \
		|| { echo "tarnbeck: installing Java 17"; apt-get -qq update \
			&& { apt-get -qq install -y openjdk-17-jre-headless || apt-get -qq install -y default-jre-headless; } >/dev/null; }
	@$(BIN)/python -m tarnbeck.spark.jars
	@touch $@

# Tests start Java dozens of times; the archive makes each start a quarter shorter, and takes a minute to write.
.venv/.classes: .venv/.jars
	@$(BIN)/python -m tarnbeck.node.rehearse
	@touch $@

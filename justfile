# Development commands. `just` without arguments lists them. Requires uv, Node 20 or newer and just.

# `uv run` installs what is missing and runs from the project's environment; none needs to be active.
run := "uv run --locked"

unit_tests := "tests/domain tests/catalog tests/pipeline tests/bundles tests/packs tests/sdk tests/files tests/chat_models tests/conversation tests/identity tests/registry tests/settings tests/storage"

[private]
default:
    @just --list

# Install the development dependencies.
setup: web-packages
    uv sync --locked
    {{run}} pre-commit install --install-hooks || echo "pre-commit hooks were not installed; everything else works."

# Run tests: `just test tests/pipeline -k deadline`.
test *args:
    {{run}} pytest {{args}}

# Run the tests nearest to what differs from HEAD, or from another revision: `just test-changed main~3`.
test-changed *args:
    {{run}} python tests/development/changed.py {{args}}

# Lint and check formatting, import layers and file sizes.
lint: web-lint
    {{run}} ruff check .
    {{run}} ruff format --check .
    {{run}} lint-imports
    {{run}} python tests/development/file_sizes.py

# Format Python and TypeScript.
format:
    {{run}} ruff check --fix-only .
    {{run}} ruff format .
    cd web && npm run format

# Type-check Python.
types:
    {{run}} mypy

# Show which rows of the specification have a passing test.
spec:
    {{run}} pytest -q --no-header --spec

# Build the web UI from its packages.
web: web-packages web-build

# Install the packages of the web UI.
web-packages:
    cd web && npm ci --no-audit --no-fund

# Lint the web UI, if its packages are installed.
web-lint:
    if [ -d web/node_modules ]; then cd web && npm run lint; else echo "skipped: run just web-packages first"; fi

# Generate types from our OpenAPI document, type-check, test and build the web UI.
web-build:
    cd web && {{run}} npm run types && npm run check && npm test && npm run build

# Lint, check types, and run unit tests and the contract tests of stores.
check-fast: lint types
    {{run}} pytest -q {{unit_tests}}

# Run everything that CI checks.
check: web lint types check-tests

# Run all tests, check that they cover the core completely, and compare performance ratios with the committed ones.
check-tests:
    {{run}} pytest -q --cov=onetool.domain --cov=onetool.catalog --cov=onetool.pipeline --cov-report=
    {{run}} coverage report --skip-covered --fail-under=100
    {{run}} python -m benchmarks --smoke

# Run all tests in a random order and check the coverage of all of OneTool, which takes half as long again.
coverage:
    {{run}} pytest -q --shuffle "$(date +%j)" --cov --cov-report=
    {{run}} coverage report --skip-covered --precision=1 --fail-under=95

# Run crash, fuzz and fault tests at full size.
stress:
    {{run}} pytest -q --stress

# Run the load and chaos suite of hosted mode: `just stress-hosted --seeds 1-30 --results FILE`, or `--help`.
stress-hosted *args:
    {{run}} python tests/chaos {{args}}

# Change the code at random and count how often a test notices: `just mutants --count 100 --seed 1`.
mutants *args:
    {{run}} python tests/development/mutants.py {{args}}

# Measure ratios against the bare engines, side by side: `just bench --help` lists the options.
bench *args:
    {{run}} python -m benchmarks {{args}}

# Try real MCP servers from npm and PyPI and write docs/compatibility.md: `just compat --again` tries all of them.
compat *args:
    {{run}} python -m benchmarks.compatibility {{args}}

# Compare real MCP servers directly and through OneTool and write docs/fidelity.md.
fidelity *args:
    {{run}} python tests/fidelity/report.py {{args}}

# Run the official MCP conformance suite against a server of ours, directly and through OneTool.
conformance *options:
    {{run}} python tests/conformance/suite.py {{options}}

# List what an installed OneTool consists of: dist/sbom.json (CycloneDX) and dist/licenses.md.
sbom:
    mkdir -p dist
    uv export --preview-features sbom-export --frozen --no-dev --no-default-groups --format cyclonedx1.5 --quiet --output-file dist/sbom.json
    {{run}} python deploy/licenses.py > dist/licenses.md

# Generate the reference pages and build the documentation site. A warning is an error.
docs:
    {{run}} python docs/generate.py
    NO_MKDOCS_2_WARNING=1 {{run}} mkdocs build --strict

# Build the wheel and the source distribution with the web UI, and their SBOM.
release: web sbom
    uv build

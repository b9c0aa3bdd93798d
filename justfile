# Every command of the workshop; `just` alone lists them.
default:
    @just --list

# Install everything the workshop needs.
setup:
    uv sync --locked

# Run the tests.
test *args:
    pytest {{args}}

# Style, floors of the house, size of files.
lint:
    ruff check .
    ruff format --check .
    lint-imports
    python tests/file_sizes.py

# Types, strictly.
types:
    mypy

# Which rows of the spec have a passing test.
spec:
    pytest -q --no-header --spec

# The web screens, from their packages to the files that ours carries.
web: web-packages web-build

# The packages that the screens are built with.
web-packages:
    cd web && npm ci --no-audit --no-fund

# Types from our own document, checks, unit tests, and the files.
web-build:
    cd web && npm run types && npm run check && npm test && npm run build

# What CI runs.
check: lint types
    pytest -q --cov --cov-report=
    coverage report --skip-covered --fail-under=95
    coverage report --include='*/domain/*,*/catalog/*,*/pipeline/*' --fail-under=100
    python -m benchmarks --smoke

# Crash, fuzz and fault tests at full size.
torture:
    pytest -q --torture

# Ratios against the bare engines, measured side by side; `just bench --help` tells the options.
bench *args:
    python -m benchmarks {{args}}

# What an installed OneTool consists of: dist/sbom.json (CycloneDX) and dist/licences.md.
sbom:
    mkdir -p dist
    uv export --preview-features sbom-export --frozen --no-dev --no-default-groups --format cyclonedx1.5 --quiet --output-file dist/sbom.json
    python deploy/licences.py > dist/licences.md

# Write the pages that are made from the code, and build the site; a warning is an error.
docs:
    python docs/generate.py
    NO_MKDOCS_2_WARNING=1 mkdocs build --strict

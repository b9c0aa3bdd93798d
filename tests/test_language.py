"""The project's language: plain words, one meaning for each name, files that can be read."""

import ast
import re
import statistics
from collections import defaultdict
from pathlib import Path

import pytest

import onetool
from support.paths import PROJECT

PACKAGE = Path(onetool.__file__).parent
RETIRED = re.compile(
    r"\b(corridor|waist|whoever|nobody|somebody|rubbish|mend(s|ed)?|held back|left alone)\b", re.IGNORECASE
)
METAPHORS = re.compile(r"(?<!Math\.)(?<!math\.)\b(houses?|floors?|rooms?|doors?)\b", re.IGNORECASE)
PLAIN_USES = ("make room for", "leaves room")
"""Phrases in which one of these words is not a metaphor for a part of the project."""
SUFFIXES = {".py", ".ts", ".tsx", ".css", ".md", ".yaml", ".yml"}
MAX_MEDIAN_LINES = 120
SHARED_CLASS_NAMES: dict[str, str] = {}
"""Class names that two modules may share, each with the reason."""


def prose_files() -> list[Path]:
    folders = [PROJECT / "src", PROJECT / "web" / "src", PROJECT / "docs"]
    nested = [path for folder in folders for path in folder.rglob("*") if path.suffix in SUFFIXES]
    built = PACKAGE / "interfaces" / "web" / "static"
    files = [*PROJECT.glob("*.md"), *PROJECT.glob(".github/**/*.md"), *nested]
    return [path for path in files if not path.is_relative_to(built)]


@pytest.mark.parametrize("pattern", [RETIRED, METAPHORS], ids=["retired words", "metaphors"])
def test_no_retired_word_is_used(pattern):
    """docs/spec.tsv, which quotes the seed documents, is not searched."""
    found = [
        f"{path.relative_to(PROJECT)}:{number}: {line.strip()[:100]}"
        for path in prose_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line) and not any(phrase in line.lower() for phrase in PLAIN_USES)
    ]
    assert found == []


def test_class_names_are_unique():
    modules = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                modules[node.name.lstrip("_")].append(path.relative_to(PACKAGE).as_posix())
    shared = {name: paths for name, paths in modules.items() if len(paths) > 1}
    assert {name: paths for name, paths in shared.items() if name not in SHARED_CLASS_NAMES} == {}
    assert set(SHARED_CLASS_NAMES) <= set(shared), "a name that is no longer shared"


def test_files_stay_short():
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.rglob("*.py")]
    assert statistics.median(lengths) < MAX_MEDIAN_LINES

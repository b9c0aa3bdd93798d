"""What an installed OneTool brings with it."""

import runpy
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
LICENCES = runpy.run_path(str(ROOT / "deploy" / "licences.py"))
MOST = 60
RECORD = ROOT / "docs" / "decisions" / "0016-what-the-core-depends-on.md"


def test_the_core_install_stays_small():
    """Every door and every pack, in few distributions; each states a licence, and none a copyleft."""
    found = LICENCES["installed"]()
    assert len(found) <= MOST, sorted(found)
    stated = {name: LICENCES["licence"](known) for name, known in found.items()}
    assert [name for name, text in stated.items() if text == LICENCES["UNKNOWN"] or "GPL" in text] == []


def test_every_dependency_is_accounted_for():
    """Each has its job and its reason in the record, and nothing else has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {Requirement(text).name for text in project["dependencies"]}
    rows = [
        line.split("|")[1]
        for line in RECORD.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    named = {word.partition(" ")[0] for row in rows[2:] for word in row.strip().split(", ")}
    assert named == wanted

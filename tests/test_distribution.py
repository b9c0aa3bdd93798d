"""The dependencies of an installed OneTool."""

import re
import runpy
import subprocess
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

from support.paths import PROJECT as ROOT

LICENSES = runpy.run_path(str(ROOT / "deploy" / "licenses.py"))
PROJECT_TABLE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INSTALL = re.compile(
    r"(?:pip install|pipx install|uv tool install|uv pip install|uv add|uvx(?: --from)?)"
    r"(?: +--?[\w-]+)* +['\"]?([A-Za-z][\w.-]*\w)"
)
"""An install command, its options, and the first distribution."""
THIRD_PARTY = {"py-spy", "uv"}
"""Other people's packages that our pages recommend."""
MAX_DISTRIBUTIONS = 60
RECORD = ROOT / "docs" / "decisions" / "0016-core-dependencies.md"


def test_core_install_has_few_dependencies_and_no_copyleft():
    """Every dependency states a license, and none is copyleft."""
    distributions = LICENSES["installed"]()
    assert len(distributions) <= MAX_DISTRIBUTIONS, sorted(distributions)
    stated = {name: LICENSES["license_of"](dist) for name, dist in distributions.items()}
    assert [name for name, text in stated.items() if text == LICENSES["UNKNOWN"] or "GPL" in text] == []


def test_decision_record_lists_exactly_the_dependencies():
    """Each dependency has a purpose and a reason in the record."""
    declared = {Requirement(text).name for text in PROJECT_TABLE["dependencies"]}
    rows = [
        line.split("|")[1]
        for line in RECORD.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    recorded = {word.partition(" ")[0] for row in rows[2:] for word in row.strip().split(", ")}
    assert recorded == declared


TRIED_SERVERS = ("docs/compatibility.md", "docs/tutorial/assistant.md")
"""The page with the commands of servers that others have published."""


def _installing_files() -> list[Path]:
    folders = [ROOT / name for name in ("src", "docs", "examples", "deploy", ".github", ".ci", "web/src")]
    suffixes = {".py", ".md", ".yml", ".yaml", ".ts", ".tsx", ".service", ""}
    nested = [path for folder in folders for path in folder.rglob("*") if path.suffix in suffixes]
    return [path for path in [*ROOT.glob("*.md"), ROOT / "Dockerfile", *nested] if path.is_file()]


def test_documents_and_messages_install_only_our_distribution():
    """The name `onetool` on PyPI belongs to another project: installing it would run that project's code."""
    installed = {
        (name, path.relative_to(ROOT).as_posix())
        for path in _installing_files()
        for name in INSTALL.findall(path.read_text(encoding="utf-8"))
    }
    assert {name for name, _ in installed} & {PROJECT_TABLE["name"]}
    known = {PROJECT_TABLE["name"], *THIRD_PARTY}
    foreign = {(name, path) for name, path in installed if name not in known}
    tried = {(name, path) for name, path in foreign if path in TRIED_SERVERS and name != "onetool"}
    assert foreign == tried


def test_image_installs_the_locked_dependencies_by_their_hashes(tmp_path):
    """pip rejects a file whose hash is not in the lock, and our own wheel installs nothing else."""
    steps = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    (export,) = re.findall(r"(uv export .*?) --output-file", steps)
    locked, own = re.findall(r"pip install (.*?)(?:&&|$)", steps, re.MULTILINE)
    assert "--require-hashes" in locked
    assert "--no-deps" in own
    file = tmp_path / "locked.txt"
    subprocess.run([*export.split(), "--quiet", "--output-file", str(file)], cwd=ROOT, check=True)
    requirements = re.split(r"\n(?=\S)", file.read_text(encoding="utf-8").strip())
    pinned = [text for text in requirements if "==" in text]
    assert len(pinned) > 10
    assert [text for text in pinned if "--hash=sha256:" not in text] == []

"""Deterministic checks of the outcome of a task: the answer, files, SQLite databases and Git repositories."""

import json
import math
import re
import sqlite3
import subprocess
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.agents.samples import git

MAX_BYTES = 5_000_000
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
Check = Callable[[Mapping[str, Any], Path, str], bool]


def passes(checks: Sequence[Mapping[str, Any]], root: Path, answer: str) -> bool:
    """Whether all checks hold. `root` contains the directories `work` and `state`."""
    return all(CHECKS[kind](rule, root, answer) for check in checks for kind, rule in check.items())


def _answer(rule: Mapping[str, Any], root: Path, answer: str) -> bool:
    """Check the answer.

    number: the first or the last number in it. words, absent: texts that it has or has not, in any case.
    regex: a pattern that it contains. json: its value.
    """
    text = answer.casefold()
    if "number" in rule and not _has_number(answer, rule["number"]):
        return False
    if "regex" in rule and not re.search(rule["regex"], answer, re.IGNORECASE):
        return False
    if "json" in rule and _json_in(answer) != rule["json"]:
        return False
    has_words = all(word.casefold() in text for word in rule.get("words", ()))
    return has_words and not any(word.casefold() in text for word in rule.get("absent", ()))


def _has_number(answer: str, expected: float) -> bool:
    numbers = [float(found.replace(",", "")) for found in NUMBER.findall(answer)]
    return any(math.isclose(number, expected, abs_tol=0.005) for number in (*numbers[:1], *numbers[-1:]))


def _json_in(answer: str) -> Any:
    """Return the JSON value that the answer is, or that its code block contains."""
    block = re.search(r"```(?:json)?\n(.*?)```", answer, re.DOTALL)
    try:
        return json.loads(block[1] if block else answer)
    except ValueError:
        return None


def _file(rule: Mapping[str, Any], root: Path, answer: str) -> bool:
    """Check a file: `exists`, `equals` without whitespace at the ends, `lines`, `contains` and `without`."""
    text = _read(root / rule["path"])
    if text is None:
        return rule.get("exists") is False
    if rule.get("exists") is False or ("equals" in rule and text.strip() != rule["equals"].strip()):
        return False
    if "lines" in rule and [line.strip() for line in text.strip().splitlines()] != rule["lines"]:
        return False
    return all(part in text for part in rule.get("contains", ())) and not any(
        part in text for part in rule.get("without", ())
    )


def _json_lines(rule: Mapping[str, Any], root: Path, answer: str) -> bool:
    """Check that a file with one JSON object per line has objects with these fields, and none with others."""
    text = _read(root / rule["path"])
    try:
        found = [json.loads(line) for line in (text or "").splitlines() if line.strip()]
    except ValueError:
        return False
    return all(_count(found, fields) == 1 for fields in rule.get("each_once", ())) and not any(
        _count(found, fields) for fields in rule.get("none", ())
    )


def _count(objects: Sequence[Any], fields: Mapping[str, Any]) -> int:
    """Count the objects with these fields. Lists must contain the given items."""
    return sum(
        isinstance(found, dict) and all(_matches(found.get(name), value) for name, value in fields.items())
        for found in objects
    )


def _matches(found: Any, expected: Any) -> bool:
    if isinstance(expected, list) and isinstance(found, list):
        return all(item in found for item in expected)
    return bool(found == expected)


def _tasks(rule: Mapping[str, Any], root: Path, answer: str) -> bool:
    """Check the tasks of a request in the task list: their titles in order, and which are done."""
    try:
        requests = json.loads(_read(root / rule["path"]) or "{}").get("requests", [])
        found = [[(task["title"], bool(task["done"])) for task in request["tasks"]] for request in requests]
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
    return [(title, bool(done)) for title, done in rule["tasks"]] in found


def _sqlite(rule: Mapping[str, Any], root: Path, answer: str) -> bool:
    """Check the rows that a query returns."""
    file = root / rule["path"]
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database:
            rows = [list(row) for row in database.execute(rule["query"])]
    except sqlite3.Error:
        return False
    return bool(rows == rule["rows"])


def _git(rule: Mapping[str, Any], root: Path, answer: str) -> bool:
    """Check the output of a Git command in a repository."""
    try:
        return bool(git(root / rule["path"], *rule["command"]).strip() == rule["output"])
    except (subprocess.SubprocessError, OSError):
        return False


def _archive(rule: Mapping[str, Any], root: Path, answer: str) -> bool:
    """Check that the parts of a ZIP file, such as a workbook, together contain texts."""
    file = root / rule["path"]
    try:
        with zipfile.ZipFile(file) as archive:
            if sum(part.file_size for part in archive.infolist()) > MAX_BYTES:
                return False
            text = "".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False
    return all(part in text for part in rule["contains"])


def _read(file: Path) -> str | None:
    if not file.is_file() or file.stat().st_size > MAX_BYTES:
        return None
    return file.read_text(encoding="utf-8", errors="replace")


CHECKS: Mapping[str, Check] = {
    "answer": _answer,
    "file": _file,
    "json_lines": _json_lines,
    "tasks": _tasks,
    "sqlite": _sqlite,
    "git": _git,
    "archive": _archive,
}

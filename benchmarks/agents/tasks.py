"""The tasks: what a user asks, and how the outcome is checked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from benchmarks.agents.checks import CHECKS

FILE = Path(__file__).with_suffix(".yaml")
SOLUTIONS = FILE.with_name("solutions.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A question of a user with a checkable outcome."""

    id: str
    prompt: str
    checks: Sequence[Mapping[str, Any]]
    """All of them must hold. Each has one key, the kind of the check."""
    needs: Sequence[str] = ()
    """The MCP servers without which it cannot be done; packs and stored tools are always there."""
    files: Mapping[str, str] | None = None
    """Files in the working directory besides the samples: texts by path."""


def load_tasks(file: Path = FILE) -> dict[str, Task]:
    """Return the tasks by id.

    Raises:
        ValueError: The file contains an invalid task.
    """
    tasks = dict[str, Task]()
    for entry in yaml.safe_load(file.read_text(encoding="utf-8")):
        name = entry.get("id")
        unknown = set(entry) - {field.name for field in fields(Task)}
        kinds = [tuple(check) for check in entry.get("checks", ())]
        if name in tasks or unknown or not kinds or any(len(keys) != 1 for keys in kinds):
            raise ValueError(f"Invalid task {name!r}: its id is taken, or a key or its checks are invalid.")
        if wrong := {key for (key,) in kinds} - set(CHECKS):
            raise ValueError(f"Unknown check {min(wrong)!r} of task {name!r}. Valid: {', '.join(CHECKS)}.")
        tasks[name] = Task(**entry)
    return tasks


def load_solutions() -> dict[str, str]:
    """Return a program for each task that solves it with `run`."""
    solutions: dict[str, str] = yaml.safe_load(SOLUTIONS.read_text(encoding="utf-8"))
    return solutions


def select(tasks: Mapping[str, Task], names: Iterable[str]) -> list[Task]:
    """Return the tasks with these ids, or all.

    Raises:
        ValueError: There is no such task.
    """
    wanted = list(names) or list(tasks)
    for name in wanted:
        if name not in tasks:
            raise ValueError(f"Unknown task {name!r}. Valid: {', '.join(tasks)}.")
    return [tasks[name] for name in wanted]

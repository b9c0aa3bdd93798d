"""A home with many stored tools, written as they would be, without waiting for the disk."""

import random
import time
from pathlib import Path
from typing import Any

import orjson
from uuid_utils.compat import uuid7

from onetool.domain.bundle import Bundle, ToolVersion, rfc3339

IN_A_BUNDLE = 1_000
VERBS = ("get", "list", "create", "delete", "update", "search", "fetch", "export", "sync", "check")
NOUNS = ("page", "issue", "file", "user", "order", "ticket", "branch", "message", "report", "table")


def name_of(number: int) -> str:
    """The name by which code calls a tool."""
    return f"bundle_{number // IN_A_BUNDLE}.{_slug(number).replace('-', '_')}"


def queries(seed: int) -> list[str]:
    """What people search for: a word, two, and typing errors."""
    chance = random.Random(seed)
    two = [f"{chance.choice(VERBS)} {chance.choice(NOUNS)}" for _ in range(20)]
    return [chance.choice((chance.choice(NOUNS), pair, "raed flie")) for pair in two]


def fill(folder: Path, size: int) -> None:
    """Write so many tools."""
    at = rfc3339(time.time())
    for first in range(0, size, IN_A_BUNDLE):
        bundle = Bundle(id=str(uuid7()), slug=f"bundle-{first // IN_A_BUNDLE}", created_at=at, modified_at=at)
        _write(folder / bundle.id / "bundle.json", bundle.to_json())
        for number in range(first, min(first + IN_A_BUNDLE, size)):
            tool = new_tool(bundle.id, _slug(number), at)
            _write(folder / bundle.id / f"{tool.id}.json", tool.to_json())


def new_tool(bundle: str, slug: str, at: str) -> ToolVersion:
    """A tool that echoes."""
    return ToolVersion(
        id=str(uuid7()),
        bundle_id=bundle,
        slug=slug,
        version="v1",
        type="python",
        arg_schema={"type": "object", "properties": {"message": {}}},
        python_impl={"func": "tools.echo"},
        description=f"{slug.replace('-', ' ')} of the {NOUNS[len(slug) % 7]} service",
        created_at=at,
        modified_at=at,
    )


def _slug(number: int) -> str:
    return f"{VERBS[number % 10]}-{NOUNS[number // 10 % 10]}-{number}"


def _write(file: Path, said: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(orjson.dumps({"schemaVersion": 1, **said}))

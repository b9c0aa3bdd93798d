"""Generation of many stored tools, written without syncing to disk."""

import random
import time
from pathlib import Path
from typing import Any

import orjson
from uuid_utils.compat import uuid7

from onetool.domain.bundles.bundle import Bundle, ToolVersion, rfc3339

TOOLS_PER_BUNDLE = 1_000
VERBS = ("get", "list", "create", "delete", "update", "search", "fetch", "export", "sync", "check")
NOUNS = ("page", "issue", "file", "user", "order", "ticket", "branch", "message", "report", "table")


def name_of(number: int) -> str:
    """Return the qualified name of a tool."""
    return f"bundle_{number // TOOLS_PER_BUNDLE}.{_slug(number).replace('-', '_')}"


def queries(seed: int) -> list[str]:
    """Return typical queries: one word, two words, and typos."""
    rng = random.Random(seed)
    pairs = [f"{rng.choice(VERBS)} {rng.choice(NOUNS)}" for _ in range(20)]
    return [rng.choice((rng.choice(NOUNS), pair, "raed flie")) for pair in pairs]


def fill(directory: Path, size: int) -> None:
    """Write `size` tools in bundles."""
    at = rfc3339(time.time())
    for first in range(0, size, TOOLS_PER_BUNDLE):
        bundle = Bundle(
            id=str(uuid7()), slug=f"bundle-{first // TOOLS_PER_BUNDLE}", created_at=at, modified_at=at
        )
        _write(directory / bundle.id / "bundle.json", bundle.to_json())
        for number in range(first, min(first + TOOLS_PER_BUNDLE, size)):
            tool = new_tool(bundle.id, _slug(number), at)
            _write(directory / bundle.id / f"{tool.id}.json", tool.to_json())


def new_tool(bundle: str, slug: str, at: str) -> ToolVersion:
    """Return a tool that echoes its message."""
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


def _write(file: Path, data: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(orjson.dumps({"schemaVersion": 1, **data}))

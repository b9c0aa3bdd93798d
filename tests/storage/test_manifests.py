"""Contract suite of the manifest stores."""

import asyncio

import pytest

from onetool.domain.servers.manifest import merge
from onetool.domain.servers.server_tool import ServerTool
from onetool.storage.files.manifests import FileManifests
from onetool.storage.memory.manifests import MemoryManifests
from onetool.storage.postgres.manifests import PostgresManifests
from onetool.threads import Threads

TOOL = ServerTool(definition={"name": "a", "inputSchema": {}})


@pytest.fixture(params=["memory", "files", "postgres"])
def manifests(request, tmp_path):
    if request.param == "postgres":
        return PostgresManifests(request.getfixturevalue("workspace"), Threads())
    return MemoryManifests() if request.param == "memory" else FileManifests(tmp_path / "servers", Threads())


async def test_manifest_is_stored_per_server_and_changes_the_generation(manifests):
    before = manifests.generation("s")
    assert await manifests.read("s") is None
    stored = await manifests.change("s", lambda manifest: merge(manifest, [TOOL], 1.0))
    assert await manifests.read("s") == stored == merge(None, [TOOL], 1.0)
    assert await manifests.read("other") is None
    assert manifests.generation("s") != before


async def test_concurrent_changes_are_serialized(manifests):
    """Each change receives the result of the one before it."""

    async def add(number):
        added = ServerTool(definition={"name": f"t{number}", "inputSchema": {}})
        await manifests.change(
            "s", lambda manifest: merge(manifest, [*(manifest.tools if manifest else ()), added], 1.0)
        )

    await asyncio.gather(*(add(number) for number in range(8)))
    assert len((await manifests.read("s")).tools) == 8


@pytest.mark.parametrize("content", ["{", "[]", '{"tools": 1}', '{"previous": [1]}', "\x00"])
async def test_corrupt_file_is_moved(tmp_path, content):
    """The server counts as unknown, and the file remains for inspection."""
    (tmp_path / "s.json").write_text(content)
    store = FileManifests(tmp_path, Threads())
    assert await store.read("s") is None
    assert len(list(tmp_path.glob("s.json.corrupt-*"))) == 1

"""Formats of the user's directories: older ones are migrated, newer ones are refused."""

import json
import shutil
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from onetool.bootstrap.stores import open_file_stores
from onetool.domain.errors import StoreUnavailable
from onetool.domain.usage.summary import CallCounter
from onetool.settings.paths import find_paths
from onetool.storage.files import format as format_module
from onetool.threads import Threads
from onetool.version import __version__
from storage.interruption import Interruption
from support.onetool_process import onetool

OLD = Path(__file__).parent / "format_0"
"""Written by the version before format 1, which died while it changed the bundle."""
BUNDLE = "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"


@pytest.fixture
def old(home):
    shutil.copytree(OLD, home.root, dirs_exist_ok=True)
    return home


@asynccontextmanager
async def opened(home):
    stores = await open_file_stores(find_paths(home.env, home.cwd), Threads())
    try:
        yield stores
    finally:
        await stores.aclose()


async def check_content(home):
    async with opened(home) as stores:
        assert await stores.toggles.read() == {"shell-id": False}
        assert [item.tool.version for item in await stores.bundles.find("weather.get_rain")] == ["v2", "v1"]
        assert (await stores.bundles.tool((BUNDLE, "get-sun", "v1"))).name == "weather.get_sun"
        assert stores.bundles.problems == []
        assert await stores.sessions.read("talk") == [{"type": "title", "title": "A talk"}]
        assert "access_token" in await stores.tokens.read("gh")
        assert (await stores.activity.summarize(None)).tools["x.y"].calls == 1
        assert await stores.activity.counters(["id"]) == {"id": CallCounter(1, 1.79e9)}
        manifest = await stores.manifests.read("gh")
        assert (set(manifest.pins), set(manifest.previous)) == ({"echo"}, {"echo"})
    for folder in (home.root / "data", home.root / "state"):
        assert json.loads((folder / "format.json").read_text()) == {"format": 1, "writtenBy": __version__}
    assert not list((home.root / "data" / "bundles").glob("switches.json"))


async def test_directories_of_the_previous_version_are_migrated(old):
    """Nothing is lost: a disabled tool stays disabled, and definitions of servers stay pinned."""
    await check_content(old)
    await check_content(old)


@pytest.mark.parametrize("step", range(8))
async def test_migration_that_is_interrupted_continues(old, monkeypatch, step):
    """After any of its changes of files."""
    counted = Interruption(step).before
    with monkeypatch.context() as patch:
        patch.setattr(format_module, "write_atomic", counted(format_module.write_atomic))
        patch.setattr(Path, "rename", counted(Path.rename))
        patch.setattr(Path, "unlink", counted(Path.unlink))
        with pytest.raises(KeyboardInterrupt):
            format_module.prepare_directories(old.root / "data", old.root / "state")
    await check_content(old)


@pytest.mark.parametrize("kind", ["data", "state"])
def test_newer_format_is_refused(home, kind):
    """With the version that wrote it. Nothing is changed."""
    folder = home.root / kind
    folder.mkdir(exist_ok=True)
    (folder / "format.json").write_text('{"format": 2, "writtenBy": "7.8.9"}')
    done = onetool("tools", "list")
    assert done.returncode == 1
    assert f"{folder} has format 2, written by OneTool 7.8.9." in done.stderr
    assert "Install OneTool 7.8.9 or newer." in done.stderr
    assert (folder / "format.json").read_text() == '{"format": 2, "writtenBy": "7.8.9"}'


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"format": "x", "writtenBy": ""}', "{"])
async def test_corrupt_format_file_is_refused(home, content):
    (home.root / "data").mkdir()
    (home.root / "data" / "format.json").write_text(content)
    with pytest.raises(StoreUnavailable, match=r"format\.json is corrupt"):
        await open_file_stores(find_paths(home.env, home.cwd), Threads())


@pytest.mark.parametrize("content", ["{", "5", "null", "[]"])
async def test_corrupt_manifest_does_not_stop_the_start(old, content):
    """It is moved when it is read, as always."""
    (old.root / "state" / "servers" / "other.json").write_text(content)
    await check_content(old)


@pytest.mark.parametrize("content", ["{", "{}", "[]", "null"])
async def test_flags_that_cannot_be_migrated_stop_the_start(old, content):
    """Otherwise disabled tools would become enabled."""
    (old.root / "data" / "bundles" / "switches.json").write_text(content)
    with pytest.raises(StoreUnavailable, match="Cannot migrate"):
        await open_file_stores(find_paths(old.env, old.cwd), Threads())


async def test_flags_are_migrated_although_the_directory_cannot_be_locked(old):
    """Otherwise disabled tools would become enabled."""
    (old.root / "data" / ".format.lock").mkdir()
    async with opened(old) as stores:
        assert await stores.toggles.read() == {"shell-id": False}


async def test_flags_that_cannot_be_written_stop_the_start(old):
    (old.root / "data" / ".format.lock").mkdir()
    (old.root / "data" / "bundles" / "toggles.json").mkdir()
    (old.root / "data" / "bundles" / "switches.json").unlink()
    (old.root / "data" / "bundles" / "switches.json").mkdir()
    with pytest.raises(StoreUnavailable, match="Cannot migrate"):
        await open_file_stores(find_paths(old.env, old.cwd), Threads())


async def test_directory_that_cannot_be_created_is_reported_when_it_is_used(home, caplog):
    """The start goes on: most calls need no store."""
    (home.root / "data").write_text("a file")
    async with opened(home) as stores:
        assert "cannot write to" in caplog.text
        with pytest.raises(NotADirectoryError):
            await stores.toggles.set("x", False)

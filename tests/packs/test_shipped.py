"""The built-in packs: limits of the file tools, and time limits."""

import os

import pytest

from onetool.packs import fs
from onetool.testing import memory_runtime


async def test_listing_too_many_entries_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(fs, "MAX_ENTRIES", 10)
    for number in range(11):
        (tmp_path / f"f{number}").touch()
    async with memory_runtime(cwd=tmp_path) as ot:
        result = await ot.call("fs.list_dir", path=".")
    assert "more than 10 entries" in result.error.message


async def test_max_bytes_cannot_exceed_the_hard_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(fs, "MAX_BYTES", 10)
    (tmp_path / "f").write_text("x" * 11)
    async with memory_runtime(cwd=tmp_path) as ot:
        result = await ot.call("fs.read_file", path="f", maxBytes=10**9)
    assert "Larger files cannot be read." in result.error.message


async def test_reading_a_directory_names_the_path_as_given(tmp_path):
    (tmp_path / "d").mkdir()
    async with memory_runtime(cwd=tmp_path) as ot:
        result = await ot.call("fs.read_file", path="d")
    assert result.error.message == "IsADirectoryError: 'd' is a directory."


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
async def test_unreadable_subdirectory_is_listed_but_not_entered(tmp_path):
    (tmp_path / "closed").mkdir(mode=0)
    async with memory_runtime(cwd=tmp_path) as ot:
        result = await ot.call("fs.list_dir", path=".", recursive=True)
    assert [entry["path"] for entry in result.data] == ["closed"]


async def test_reading_from_servers_takes_as_long_as_their_tools_may():
    """The default of `servers.<name>.timeout_s`, not that of our own tools."""
    async with memory_runtime() as ot:
        limits = {tool.spec.name: tool.spec.timeout async for tool in ot.runtime.state.catalog.tools()}
    assert (limits["ot.read"], limits["ot.prompt"]) == (60.0, 60.0)

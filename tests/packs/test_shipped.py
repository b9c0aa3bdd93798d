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


@pytest.mark.parametrize("form", ["sub", "sub/", "./sub", "{cwd}/sub", "sub/../sub", "{outside}"])
async def test_listed_paths_can_be_read(tmp_path, form):
    """Whatever form the directory has; inside the working directory they are relative to it."""
    cwd, outside = tmp_path / "work", tmp_path / "outside"
    for folder in (cwd / "sub", outside):
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "f").write_text("content")
    path = form.format(cwd=cwd, outside=outside)
    async with memory_runtime(cwd=cwd) as ot:
        state = ot.runtime.state
        object.__setattr__(state.configuration, "roots", (cwd.resolve(), outside.resolve()))
        listed = (await ot.call("fs.list_dir", path=path, recursive=True)).data
        (file,) = [entry["path"] for entry in listed if entry["type"] == "file"]
        assert (await ot.call("fs.read_file", path=file)).data == "content"
    assert file.startswith("/") == (form == "{outside}")


async def test_a_listing_says_where_its_depth_cut_it(tmp_path):
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "f").touch()
    async with memory_runtime(cwd=tmp_path) as ot:
        for depth, cut in ((1, ["a"]), (2, ["a/b"]), (3, ["a/b/c"]), (4, [])):
            listed = (await ot.call("fs.list_dir", path=".", recursive=True, maxDepth=depth)).data
            assert [entry["path"] for entry in listed if entry.get("cut")] == cut
        assert not any("cut" in entry for entry in (await ot.call("fs.list_dir", path=".")).data)


@pytest.mark.parametrize("limit", [0, -1])
@pytest.mark.parametrize(
    ("name", "args"),
    [("list_dir", {"path": ".", "recursive": True}), ("read_file", {"path": "f"})],
)
async def test_limits_that_allow_nothing_are_refused(tmp_path, name, args, limit):
    (tmp_path / "f").touch()
    async with memory_runtime(cwd=tmp_path) as ot:
        limits = {"list_dir": "maxDepth", "read_file": "maxBytes"}
        result = await ot.call(f"fs.{name}", **args, **{limits[name]: limit})
    assert "must be at least 1, got " in result.error.message

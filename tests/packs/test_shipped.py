"""The tools we ship: their docstrings are read by models, so a change of words is seen here."""

import os

import pytest
from inline_snapshot import snapshot

from onetool.packs import fs
from onetool.testing import memory_runtime


async def test_what_models_read():
    """Names, descriptions and parameters of every shipped tool."""
    async with memory_runtime() as ot:
        shown = {
            tool.spec.name: (
                tool.spec.description,
                {
                    name: schema.get("description")
                    for name, schema in tool.spec.input_schema["properties"].items()
                },
            )
            async for tool in ot.runtime.catalog.tools()
        }
    assert shown == snapshot(
        {
            "fs.list_dir": (
                "List a directory. Links are shown, not followed.",
                {
                    "path": "The directory, absolute or relative to the working directory.",
                    "recursive": "Whether to list directories inside it too.",
                    "maxDepth": "How deep to go when recursive; direct children have depth 1.",
                },
            ),
            "fs.read_file": (
                "Read a text file.",
                {
                    "path": "The file, absolute or relative to the working directory.",
                    "maxBytes": "Refuse files that are larger than this many bytes.",
                },
            ),
            "ot.health": ("Check the parts of OneTool.", {}),
            "ot.result": (
                "Read lines of a large output that was stored aside.",
                {
                    "handle": "The handle that the summary named.",
                    "offset": "The first line to return, from 1 on.",
                    "limit": "How many lines to return at most.",
                    "search": "Only lines that match this regular expression; offset and limit count these.",
                    "fuzzy": "Take search as words that may be misspelt, best matches first.",
                    "path": "For JSON, the part to read, such as items.0.name.",
                },
            ),
            "ot.version": ("Tell the version of OneTool.", {}),
            "shell.pwd": ("Tell the current working directory; relative paths start there.", {}),
            "time.now": ("Tell the current time.", {}),
            "tools.echo": (
                "Give the message back exactly as it came, to check that calls get through.",
                {"message": "Any JSON value."},
            ),
        }
    )


async def test_a_huge_directory_is_refused(tmp_path, monkeypatch):
    """More entries than anybody reads are an error that says what to do."""
    monkeypatch.setattr(fs, "MAX_ENTRIES", 10)
    for number in range(11):
        (tmp_path / f"f{number}").touch()
    async with memory_runtime(cwd=tmp_path) as ot:
        result = await ot.call("fs.list_dir", path=".")
    assert "more than 10 entries" in result.error.message


async def test_a_file_beyond_every_limit_is_refused(tmp_path, monkeypatch):
    """No maxBytes lifts the limit of a result."""
    monkeypatch.setattr(fs, "MOST_BYTES", 10)
    (tmp_path / "f").write_text("x" * 11)
    async with memory_runtime(cwd=tmp_path) as ot:
        result = await ot.call("fs.read_file", path="f", maxBytes=10**9)
    assert "No more than that can be read." in result.error.message


async def test_reading_a_directory_says_so(tmp_path):
    """The message names the path as it was given."""
    (tmp_path / "d").mkdir()
    async with memory_runtime(cwd=tmp_path) as ot:
        result = await ot.call("fs.read_file", path="d")
    assert result.error.message == "IsADirectoryError: 'd' is a directory."


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
async def test_a_closed_directory_inside_is_shown_but_not_entered(tmp_path):
    """One directory without permission does not spoil the listing."""
    (tmp_path / "closed").mkdir(mode=0)
    async with memory_runtime(cwd=tmp_path) as ot:
        result = await ot.call("fs.list_dir", path=".", recursive=True)
    assert [entry["path"] for entry in result.data] == ["closed"]

"""The tools we ship: their docstrings are read by models, so a change of words is seen here."""

import os

import pytest
from inline_snapshot import snapshot

from onetool.packs import fs
from onetool.testing import memory_runtime


# ruff: noqa: E501 - sentences that models read
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
            "ot.config": ("Show the aliases, snippets and servers that are configured.", {}),
            "ot.health": ("Check the parts of OneTool, and whether other MCP servers answer.", {}),
            "ot.reload": (
                "Read all settings, secrets, prompts and packs again; a broken file leaves everything as it was.",
                {},
            ),
            "ot.notify": (
                "Leave a message for a person: it is appended to the file that is configured for the topic.",
                {
                    "topic": "What it is about, such as `notes`; the first configured pattern that matches decides.",
                    "message": "The text.",
                },
            ),
            "ot.check": (
                "Check the programs, libraries and secrets that tools need.",
                {"tool": "A pack or a tool, for only that one."},
            ),
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
            "ot.tools": (
                "List the tools that can be called.",
                {
                    "pattern": "Only tools whose names contain this, in upper or lower case.",
                    "info": "`list` for names, `min` for names with descriptions, `full` for signatures and arguments too.",
                },
            ),
            "ot.packs": (
                "List the packs: groups of tools under one name.",
                {
                    "pattern": "Only packs whose names contain this, in upper or lower case.",
                    "info": "`list` for names, `min` for where they come from, `full` for instructions and tools.",
                },
            ),
            "ot.aliases": (
                "List the aliases: short names of tools.",
                {
                    "pattern": "Only aliases whose name or target contains this, in upper or lower case.",
                    "info": "`list` for names, `min` for `name -> target`, `full` for entries of name and target.",
                },
            ),
            "ot.snippets": (
                "List the snippets: named pieces of code, used as `$name key=value`.",
                {
                    "pattern": "Only snippets whose name or description contains this, in upper or lower case.",
                    "info": "`list` for names, `min` for `name: description`, `full` for definitions with an example.",
                },
            ),
            "ot.help": (
                "Explain a tool, a pack, a `$snippet` or an alias; anything else is searched for, typos forgiven.",
                {
                    "query": "A name, or words that describe what is wanted; empty for an overview.",
                    "info": "`list` for names only, `min` for the usual text, `full` for all that is known.",
                },
            ),
            "ot.find": (
                "Find the tools that fit what you want to do; read more of one with ot.help.",
                {"query": "What you want to do, in your own words.", "limit": "How many tools at most."},
            ),
            "ot.stats": (
                "Show the statistics of calls: how many, how well, what was saved.",
                {
                    "period": "`day`, `week`, `month` (the last 24 hours, 7 days, 30 days) or `all`.",
                    "tool": "Only this tool.",
                    "output": "Write an HTML report to this path too; it ends in .html.",
                },
            ),
            "shell.pwd": ("Tell the current working directory; relative paths start there.", {}),
            "time.now": ("Tell the current time.", {}),
            "tools.echo": (
                "Give the message back exactly as it came, to check that calls get through.",
                {"message": "Any JSON value."},
            ),
            "brave.search": (
                "Search the web; read what is found with web.fetch.",
                {
                    "query": "What to look for.",
                    "count": "How many results, 20 at most.",
                    "country": "Prefer results from this country, by its two letters such as `de`.",
                    "freshness": "Only pages of the last `day`, `week`, `month` or `year`.",
                },
            ),
            "brave.news": (
                "Search the news.",
                {
                    "query": "What to look for.",
                    "count": "How many articles, 50 at most.",
                    "country": "Prefer articles from this country, by its two letters such as `de`.",
                    "freshness": "Only articles of the last `day`, `week`, `month` or `year`.",
                },
            ),
            "db.query": (
                "Ask a database with SQL; it is opened for reading only.",
                {
                    "sql": "One statement that reads. Values stand as ? in SQLite and as $1, $2 in PostgreSQL.",
                    "database": "A SQLite file, or the name of a secret that holds a postgresql:// URL.",
                    "params": "The values, in their order.",
                    "max_rows": "How many rows at most, up to 1000.",
                },
            ),
            "db.tables": (
                "List the tables and views of a database.",
                {"database": "A SQLite file, or the name of a secret that holds a postgresql:// URL."},
            ),
            "db.describe": (
                "List the columns of a table or view.",
                {
                    "table": "Its name; in PostgreSQL also schema.name.",
                    "database": "A SQLite file, or the name of a secret that holds a postgresql:// URL.",
                },
            ),
            "file.read": (
                "Show lines of a file by their numbers.",
                {
                    "path": "The file, absolute or relative to the working directory.",
                    "start_line": "The first line, from 1 on; -20 for the last 20.",
                    "lines": "How many lines at most.",
                },
            ),
            "file.search": (
                "Find the lines of one file that contain a text; ripgrep.search looks through many files.",
                {
                    "path": "The file, absolute or relative to the working directory.",
                    "text": "What to look for, literally.",
                    "ignore_case": "Whether upper and lower case are the same.",
                    "max_results": "How many lines at most.",
                },
            ),
            "file.edit": (
                "Replace a piece of text in a file; it must stand there exactly once.",
                {
                    "path": "The file, absolute or relative to the working directory.",
                    "old": "The text as it stands, with its white space; enough of it to be found once.",
                    "new": "What to put in its place; empty to delete.",
                },
            ),
            "file.write": (
                "Write a text file as a whole.",
                {
                    "path": "The file, absolute or relative to the working directory; its directory must be there.",
                    "content": "The text.",
                    "overwrite": "Whether a file that is there may be replaced.",
                },
            ),
            "file.diff": (
                "Compare two text files.",
                {
                    "path": "The one file, absolute or relative to the working directory.",
                    "other": "The other file.",
                },
            ),
            "llm.transform": (
                "Let a language model rewrite, extract, translate or summarise something.",
                {
                    "input": "A text, or any JSON value.",
                    "prompt": "What to do with it.",
                    "model": "Which model; empty for the usual one.",
                },
            ),
            "package.versions": (
                "Tell the newest version of packages, when it was released, and where their homepages are.",
                {
                    "names": "Names of packages, such as `requests` or `@types/node`; 100 at most.",
                    "index": "`pypi` for Python, `npm` for JavaScript.",
                },
            ),
            "package.outdated": (
                "Find the requirements that keep a newer version out.",
                {
                    "requirements_text": "Lines as in requirements.txt; options, URLs and comments are passed over."
                },
            ),
            "ripgrep.search": (
                "Find lines that match a pattern in files; hidden, binary and ignored (.gitignore) files are left out.",
                {
                    "pattern": "A regular expression in ripgrep's syntax; escape what is meant literally.",
                    "path": "Directory or file, absolute or relative to the working directory.",
                    "glob": "Only files that match, such as `*.py`; `!*.md` for all but these.",
                    "ignore_case": "Whether upper and lower case are the same.",
                    "context": "How many lines before and after each match to show too.",
                    "max_results": "How many matches at most; as many as that means that there may be more.",
                },
            ),
            "ripgrep.files": (
                "List the files of a directory and all below it; hidden and ignored (.gitignore) ones are left out.",
                {
                    "path": "The directory, absolute or relative to the working directory.",
                    "glob": "Only files that match, such as `**/test_*.py`.",
                    "max_results": "How many at most; as many as that means that there may be more.",
                },
            ),
            "web.fetch": (
                "Read a web page: its main content as Markdown, without navigation, scripts and styles.",
                {
                    "url": "An http or https address; other schemes and private addresses are refused.",
                    "format": "`markdown`, `text` without marks and links, or `html` as it came; other text stays as it is.",
                    "max_chars": "Longest text to return; the rest is cut off and counted.",
                },
            ),
            "web.fetch_all": (
                "Read several web pages at once, each under its address; one that fails says why and stops no other.",
                {
                    "urls": "The addresses, 50 at most.",
                    "format": "As for web.fetch.",
                    "max_chars": "Longest text to return of each page.",
                },
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

"""The built-in and starter packs: a snapshot of the descriptions that models read."""

import os

import pytest
from inline_snapshot import snapshot

from onetool.packs import fs
from onetool.testing import memory_runtime


# ruff: noqa: E501 - descriptions are single lines
async def test_tool_descriptions():
    """Names, descriptions and parameters of all built-in tools."""
    async with memory_runtime() as ot:
        described = {
            tool.spec.name: (
                tool.spec.description,
                {
                    name: schema.get("description")
                    for name, schema in tool.spec.input_schema["properties"].items()
                },
            )
            async for tool in ot.runtime.state.catalog.tools()
        }
    assert described == snapshot(
        {
            "fs.list_dir": (
                "List a directory. Symbolic links are listed but not followed.",
                {
                    "path": "The directory, absolute or relative to the working directory.",
                    "recursive": "Also list subdirectories.",
                    "maxDepth": "Maximum depth of a recursive listing; direct children have depth 1.",
                },
            ),
            "fs.read_file": (
                "Read a text file.",
                {
                    "path": "The file, absolute or relative to the working directory.",
                    "maxBytes": "Maximum file size in bytes; larger files are rejected.",
                },
            ),
            "ot.config": ("Show the configured aliases, snippets and servers.", {}),
            "ot.health": ("Check the health of OneTool and of the configured MCP servers.", {}),
            "ot.reload": (
                "Reload settings, secrets, prompts and packs. If a file is invalid, nothing changes.",
                {},
            ),
            "ot.notify": (
                "Leave a message for the user. It is appended to the file configured for the topic.",
                {
                    "topic": "The topic, such as `notes`. The first configured pattern that matches selects the file.",
                    "message": "The message text.",
                },
            ),
            "ot.check": (
                "Check the programs, libraries and secrets that tools need.",
                {"tool": "Check only this pack or tool."},
            ),
            "ot.result": (
                "Read lines of a stored large output, or stored media.",
                {
                    "handle": "The handle from the summary, or of media, for which the other arguments do not matter.",
                    "offset": "First line to return, counted from 1.",
                    "limit": "Maximum number of lines.",
                    "search": "Return only lines that match this regular expression; offset and limit count matches.",
                    "fuzzy": "Treat search as words with possible typos; best matches first.",
                    "path": "For JSON, the path of the part to read, such as items.0.name.",
                    "column": "First character of each line to return, counted from 1.",
                    "width": "Maximum number of characters of each line.",
                },
            ),
            "ot.version": ("Return the OneTool version.", {}),
            "ot.start": (
                "Start a tool that takes long, without waiting for it.",
                {
                    "tool": 'The name of the tool, such as "pack.function".',
                    "args": "Its arguments by name.",
                },
            ),
            "ot.wait": (
                "Wait for a job, and return its result if it has ended.",
                {
                    "id": "The id of the job.",
                    "seconds": "How long to wait at most. Many clients give up after 60 seconds.",
                },
            ),
            "ot.cancel": ("Cancel a job.", {"id": "The id of the job."}),
            "ot.tasks": ("List the jobs of the last day, newest first.", {}),
            "ot.resources": (
                "List the resources and resource templates of MCP servers.",
                {
                    "query": "List only those whose URI, name or description contains this text (case-insensitive).",
                    "server": "List only those of this server.",
                },
            ),
            "ot.prompts": (
                "List the prompts of MCP servers.",
                {
                    "query": "List only those whose name or description contains this text (case-insensitive).",
                    "server": "List only those of this server.",
                },
            ),
            "ot.read": (
                "Read a resource of an MCP server.",
                {"uri": "The URI as ot.resources() lists it, or from a template."},
            ),
            "ot.prompt": (
                "Return the messages of a prompt of an MCP server.",
                {
                    "name": "The name as ot.prompts() lists it.",
                    "arguments": "Arguments of the prompt whose names are not possible here, such as `name`.",
                },
            ),
            "ot.tools": (
                "List the available tools.",
                {
                    "pattern": "List only tools whose names contain this text (case-insensitive).",
                    "info": "`list` for names, `min` for names and descriptions, `full` to add signatures and arguments.",
                },
            ),
            "ot.packs": (
                "List the packs. A pack is a group of tools under one name.",
                {
                    "pattern": "List only packs whose names contain this text (case-insensitive).",
                    "info": "`list` for names, `min` for names and sources, `full` for instructions and tools.",
                },
            ),
            "ot.aliases": (
                "List the aliases. An alias is a short name for a tool.",
                {
                    "pattern": "List only aliases whose name or target contains this text (case-insensitive).",
                    "info": "`list` for names, `min` for `name -> target`, `full` for entries with name and target.",
                },
            ),
            "ot.snippets": (
                "List the snippets. A snippet is a named piece of code, used as `$name key=value`.",
                {
                    "pattern": "List only snippets whose name or description contains this text (case-insensitive).",
                    "info": "`list` for names, `min` for `name: description`, `full` for definitions with an example.",
                },
            ),
            "ot.help": (
                "Explain a tool, pack, `$snippet` or alias. Any other text is searched for, tolerating typos.",
                {
                    "query": "A name, or words that describe what you need; empty for an overview.",
                    "info": "`list` for names only, `min` for a summary, `full` for all details.",
                },
            ),
            "ot.find": (
                "Find tools for a task. Use ot.help to read more about one.",
                {"query": "What you want to do, in your own words.", "limit": "Maximum number of tools."},
            ),
            "ot.stats": (
                "Show call statistics: number of calls, success rate, tokens and time saved.",
                {
                    "period": "`day`, `week`, `month` (the last 24 hours, 7 days, 30 days) or `all`.",
                    "tool": "Include only this tool.",
                    "output": "Path of an HTML report to write; must end in .html.",
                },
            ),
            "shell.pwd": (
                "Return the current working directory, which relative paths are resolved against.",
                {},
            ),
            "time.now": ("Return the current time.", {}),
            "tools.echo": (
                "Return the message unchanged. Use it to test the connection.",
                {"message": "Any JSON value."},
            ),
            "brave.search": (
                "Search the web. Use web.fetch to read a result.",
                {
                    "query": "The search query.",
                    "count": "Number of results, at most 20.",
                    "country": "Prefer results from this country, a two-letter code such as `de`.",
                    "freshness": "Return only pages from the last `day`, `week`, `month` or `year`.",
                },
            ),
            "brave.news": (
                "Search the news.",
                {
                    "query": "The search query.",
                    "count": "Number of articles, at most 50.",
                    "country": "Prefer articles from this country, a two-letter code such as `de`.",
                    "freshness": "Return only articles from the last `day`, `week`, `month` or `year`.",
                },
            ),
            "db.query": (
                "Query a database with SQL. The database is opened read-only.",
                {
                    "sql": "One read-only statement. Placeholders are ? in SQLite and $1, $2 in PostgreSQL.",
                    "database": "A SQLite file, or the name of a secret with a postgresql:// URL.",
                    "params": "Values for the placeholders, in order.",
                    "max_rows": "Maximum number of rows, up to 1000.",
                },
            ),
            "db.tables": (
                "List the tables and views of a database.",
                {"database": "A SQLite file, or the name of a secret with a postgresql:// URL."},
            ),
            "db.describe": (
                "List the columns of a table or view.",
                {
                    "table": "The name of the table; in PostgreSQL, schema.name is also possible.",
                    "database": "A SQLite file, or the name of a secret with a postgresql:// URL.",
                },
            ),
            "file.read": (
                "Read lines of a text file by number.",
                {
                    "path": "The file, absolute or relative to the working directory.",
                    "start_line": "First line, counted from 1; -20 starts at the 20th line from the end.",
                    "lines": "Maximum number of lines.",
                },
            ),
            "file.search": (
                "Find the lines of one file that contain a text. Use ripgrep.search to search many files.",
                {
                    "path": "The file, absolute or relative to the working directory.",
                    "text": "The literal text to find.",
                    "ignore_case": "Ignore case.",
                    "max_results": "Maximum number of lines.",
                },
            ),
            "file.edit": (
                "Replace text in a file. The text must occur exactly once.",
                {
                    "path": "The file, absolute or relative to the working directory.",
                    "old": "The exact text to replace, including whitespace; long enough to be unique.",
                    "new": "The replacement; empty to delete the text.",
                },
            ),
            "file.write": (
                "Write a text file.",
                {
                    "path": "The file, absolute or relative to the working directory; its directory must exist.",
                    "content": "The complete text of the file.",
                    "overwrite": "Replace an existing file.",
                },
            ),
            "file.diff": (
                "Compare two text files.",
                {
                    "path": "The first file, absolute or relative to the working directory.",
                    "other": "The second file.",
                },
            ),
            "llm.transform": (
                "Rewrite, extract, translate or summarize a value with a language model.",
                {
                    "input": "A text, or any JSON value.",
                    "prompt": "The instruction for the model.",
                    "model": "The model; empty for the default.",
                },
            ),
            "package.versions": (
                "Return the latest version, release date and homepage of packages.",
                {
                    "names": "Package names, such as `requests` or `@types/node`; at most 100.",
                    "index": "`pypi` for Python, `npm` for JavaScript.",
                },
            ),
            "package.outdated": (
                "Find the requirements that exclude the latest version.",
                {
                    "requirements_text": "The content of a requirements.txt; options, URLs and comments are ignored."
                },
            ),
            "ripgrep.search": (
                "Search files for lines that match a pattern. Skips hidden, binary and ignored (.gitignore) files.",
                {
                    "pattern": "A regular expression in ripgrep syntax. Escape special characters to match them literally.",
                    "path": "Directory or file, absolute or relative to the working directory; an absolute path gives absolute paths.",
                    "glob": "Search only matching files, such as `*.py`; `!*.md` excludes files.",
                    "ignore_case": "Ignore case.",
                    "context": "Number of lines to include before and after each match.",
                    "max_results": "Maximum number of matches.",
                },
            ),
            "ripgrep.files": (
                "List the files in a directory and its subdirectories. Skips hidden and ignored (.gitignore) files.",
                {
                    "path": "The directory, absolute or relative to the working directory; an absolute path gives absolute paths.",
                    "glob": "List only matching files, such as `**/test_*.py`.",
                    "max_results": "Maximum number of files.",
                },
            ),
            "ripgrep.count": (
                "Count the files and lines that match a pattern; without a pattern, the files.",
                {
                    "pattern": "A regular expression in ripgrep syntax.",
                    "path": "Directory or file, absolute or relative to the working directory.",
                    "glob": "Count only matching files, such as `*.py`.",
                    "ignore_case": "Ignore case.",
                },
            ),
            "web.fetch": (
                "Read the main content of a web page as Markdown, without navigation, scripts and styles.",
                {
                    "url": "An http or https URL. Private addresses are rejected.",
                    "format": "`markdown`, `text` (no markup or links) or `html`. Content other than HTML is not converted.",
                    "max_chars": "Maximum length of the text; the rest is truncated.",
                },
            ),
            "web.fetch_all": (
                "Read several web pages at once. If a page fails, its section contains the error.",
                {
                    "urls": "The URLs, at most 50.",
                    "format": "As for web.fetch.",
                    "max_chars": "Maximum length of the text of each page.",
                },
            ),
        }
    )


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

"""The `ot` pack: configuration, health, notes, reload, version, and how results are rendered and logged."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import reduce
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

import onetool as onetool_package
from onetool import onetool_runtime, testing
from onetool.bootstrap import open_runtime
from onetool.domain.errors import Reason
from onetool.domain.text.yaml_text import to_yaml
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from onetool.storage.memory.activity import MemoryActivity
from onetool.testing import memory_runtime
from onetool.testing.runtime import MemoryClient
from support.activity import add, record
from support.onetool_process import onetool

FUNCTIONS = {
    *("tools", "config", "health", "notify", "reload", "stats"),
    *("packs", "aliases", "snippets", "help", "result", "version"),
}
SERVER = "proxy_package_version"
DISTRIBUTION = "onetool-gateway"
SETTINGS: dict[str, Any] = {
    "aliases": {"ws": "brave.web_search", "alias_f": "demo.foo"},
    "snippets": {
        "foon": {
            "description": "Get foo() for n items",
            "body": "demo.foo(n={{ n }})\n",
            "params": {"n": {"type": "int", "default": 2, "description": "How many"}},
        },
        "barn": {"body": "demo.bar()", "description": "Get bar() for n items"},
    },
    "servers": {SERVER: {"command": "no-such-program", "args": ["--stdio"]}},
}
CONFIG = """\
aliases: {ws: brave.web_search, alias_f: demo.foo}
snippets: {foon: {description: "Get foo() for n items"}, barn: {description: "Get bar() for n items"}}
servers: [proxy_package_version]"""
NO_CONFIG = "{aliases: {}, snippets: {}, servers: []}"

# Texts that a naive YAML writer does not restore.
TRICKY = [
    *("", " ", "~", "null", "Null", "yes", "No", "on", "OFF", "true", "False", "y", "n", "=", "<<"),
    *("0", "1", "-1", "+1", "1e3", "1.5e+3", "1.", ".5", "1_000", "010", "0o7", "0x1F", "0b1", "12:30:45"),
    *(".inf", "-.INF", ".nan", "2024-01-01", "2024-01-01T00:00:00Z", "2001-1-1 1:1:1 +1"),
    *("---", "--- x", "...", "-", "- x", "?", "? x", ":", ": x", "a: b", "a:", "#", "# x", "x #y", "PR #123"),
    *("{", "}", "[", "]", ",", "{a: b}", "[a]", "&a", "*a", "!t", "!!str x", "%TAG x", "@x", "`x", "|", ">"),
    *("'", '"', "''", '"x"', "\\", "\\n", "x\\", "\\\\", " x", "x ", "\tx", "x\t", "a\tb"),
    *("\n", "x\n", "\nx", "two\nlines", "two\n\n  lines\n", "\r", "a\r\nb", "a\x85b", "a\u2028b", "a\u2029b"),
    *("\0", "\x07", "\x1b[0m", "\x7f", "\x80", "\x9f", "\xa0", "\xad", "\ufeff", "a\ufeffb"),
    *("é", "漢字", "🎉", "👩‍👩‍👧", "\ue000", "\ufffd", "\ufffe", "\uffff", "\U0001fffe", "\U0010ffff"),
    *("word " * 100, "x" * 3000, "k" * 1025, "k y " * 400, "é🎉\n" * 400),
]
TEXTS = st.text() | st.sampled_from(TRICKY) | st.lists(st.sampled_from(TRICKY), max_size=4).map("".join)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
INTEGERS = st.integers() | st.sampled_from([10**400, -(10**4000), 2**64])
SCALARS = st.none() | st.booleans() | INTEGERS | FLOATS | TEXTS


def json_collections(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for lists and maps."""
    return st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)


def wrap(value: Any, keys: list[str | None]) -> Any:
    """Put a value into a list for each None, into a map for each key."""
    return reduce(lambda inner, key: [inner] if key is None else {key: inner}, keys, value)


VALUES = st.recursive(SCALARS, json_collections, max_leaves=12)
STRUCTURES = json_collections(VALUES) | st.builds(
    wrap, VALUES, st.lists(st.none() | st.sampled_from(["a", "b c", "x" * 1100]), min_size=1, max_size=30)
)


def flow_levels(text: str) -> int:
    """Return how deep flow style is nested in flow style, including empty brackets."""
    styles: list[bool] = []
    deepest = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            styles.append(bool(event.flow_style))
            deepest = max(deepest, sum(styles))
        elif isinstance(event, yaml.CollectionEndEvent):
            styles.pop()
    return deepest


def folded_nodes(text: str) -> list[Any]:
    """Return the scalars and flow collections that span more than one line."""
    starts: list[Any] = []
    found = []
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.ScalarEvent):
            if event.start_mark.line != event.end_mark.line or event.style in ("|", ">"):
                found.append(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            starts.append(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            start = starts.pop()
            if start.flow_style and start.start_mark.line != event.end_mark.line:
                found.append(start)
    return found


def check_round_trip(value: Any) -> str:
    """Check that YAML restores the value, unfolded and with at most two flow levels; return the text."""
    text = to_yaml(value)
    assert repr(yaml.safe_load(text)) == repr(value)
    assert flow_levels(text) <= 2, text
    assert folded_nodes(text) == []
    return text


def run_cli(code: str) -> str:
    """Return the output of `onetool run` for this code."""
    done = onetool("run", code)
    assert done.returncode == 0, done.stderr
    return done.stdout.removesuffix("\n")


async def run_rendered(ot: Any, code: str) -> str:
    """Run code and return the text that a model reads."""
    return (await ot.runtime.state.model_output.render_run(await ot.run(code))).text


def call_code(name: str, args: dict[str, Any]) -> str:
    """Return the code of a call to an `ot` function."""
    return f"ot.{name}({', '.join(f'{key}={value!r}' for key, value in args.items())})"


def make_server(name: str, connected: bool = True) -> Any:
    """Return a server with one tool."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    tool = testing.FakeMcpTool("latest", "Find the latest version.", schema, lambda args: {"found": args})
    return testing.fake_mcp_server(name, [tool], connected=connected)


def foo(n: int = 1, text: str = "a, b") -> list[str]:
    """Get foo: it returns "this", {that}; and more.

    Long description, with a colon: and a hash #1.

    Args:
        n: How many.
        text: The text to return.

    Returns:
        The items.

    Example:
        demo.foo(n=3)
    """
    return [text] * n


def read_notes(file: Path) -> list[Any]:
    """Return the documents of a notes file."""
    return list(yaml.safe_load_all(file.read_text(encoding="utf-8")))


# The pack


@pytest.mark.spec("OT-01")
async def test_ot_pack_has_every_function_in_run_and_on_the_command_line(home):
    code = "ot.tools(info='list', pattern='ot.')"
    async with memory_runtime() as ot:
        texts = [await run_rendered(ot, code), run_cli(code)]
    for text in texts:
        assert {f"ot.{name}" for name in FUNCTIONS} <= set(yaml.safe_load(text))


@pytest.mark.spec("OT-02")
async def test_ot_is_the_only_introspection_pack():
    """There is no pack `internal` or `info`."""
    async with memory_runtime() as ot:
        names = (await ot.call("ot.packs", info="list")).data
        assert yaml.safe_load(await run_rendered(ot, "ot.packs(info='list')")) == names
        for removed in ("internal.tools", "info.tools", "tool_info.tools"):
            assert not (await ot.call(removed)).ok
    assert names.count("ot") == 1
    assert not [name for name in names if re.search("internal|info", name)]


# Configuration


@pytest.mark.spec("OT-18", "OT-19")
async def test_config_returns_aliases_snippets_and_servers_in_file_order(home):
    """Snippets are reduced to their descriptions, servers to their names."""
    async with memory_runtime(settings=SETTINGS) as ot:
        config = (await ot.call("ot.config")).data
        assert await run_rendered(ot, "ot.config()") == CONFIG
    assert str(config) == CONFIG
    assert list(config) == ["aliases", "snippets", "servers"]
    assert config == yaml.safe_load(CONFIG)
    home.write("onetool.yaml", yaml.safe_dump(SETTINGS, sort_keys=False))
    assert run_cli("ot.config()") == CONFIG


@pytest.mark.spec("OT-18", "OT-20")
@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, NO_CONFIG),
        ({"aliases": {}, "snippets": {}, "servers": {}, "stats": {"enabled": True}}, NO_CONFIG),
        ({"servers": {"x": {"command": "x"}}}, "aliases: {}\nsnippets: {}\nservers: [x]"),
        ({"aliases": {"ws": "a.b"}}, "aliases: {ws: a.b}\nsnippets: {}\nservers: []"),
    ],
)
async def test_config_shows_empty_values_for_missing_settings(settings, text):
    """No defaults and no other keys appear."""
    async with memory_runtime(settings=settings) as ot:
        config = (await ot.call("ot.config")).data
        assert await run_rendered(ot, "ot.config()") == str(config) == text
    assert config == yaml.safe_load(text)


# Health


@pytest.mark.spec("OT-21", "OT-22")
def test_health_is_ok_without_any_configuration(home):
    text = run_cli("ot.health()")
    health = yaml.safe_load(text)
    assert health["registry"] == {"status": "ok", "tool_count": health["registry"]["tool_count"]}
    assert text.splitlines()[2:] == [
        f"cwd: {home.cwd}",
        f"registry: {{status: ok, tool_count: {health['registry']['tool_count']}}}",
        "proxy: {status: ok, server_count: 0, servers: {}}",
    ]


@pytest.mark.spec("OT-22")
async def test_health_connects_to_servers_and_counts_local_tools_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = {"servers": {SERVER: {"command": "x"}}}
    async with memory_runtime(
        {"demo": [foo]}, settings=settings, servers=[make_server(SERVER)], cwd=tmp_path
    ) as ot:
        text = await run_rendered(ot, "ot.health()")
        health = (await ot.call("ot.health")).data
        sources = [entry["source"] for entry in (await ot.call("ot.tools", info="full")).data]
    assert f"proxy:{SERVER}" in sources
    assert list(health) == ["version", "python", "cwd", "registry", "proxy"]
    assert text.split("\n") == [
        f'version: "{version(DISTRIBUTION)}"',
        f'python: "{".".join(map(str, sys.version_info[:3]))}"',
        f"cwd: {tmp_path}",
        f"registry: {{status: ok, tool_count: {sources.count('local')}}}",
        f"proxy: {{status: ok, server_count: 1, servers: {{{SERVER}: connected}}}}",
    ]
    assert str(health) == text


@pytest.mark.spec("OT-22", "OT-23", "OT-24")
async def test_health_is_degraded_by_a_server_that_cannot_connect():
    """The state of each server is reported; server_count includes those that are not connected.

    Disabled servers do not count.
    """
    names = ("good", "refuses", "missing", "off")
    settings = {"servers": {name: {"command": "x", "enabled": name != "off"} for name in names}}
    servers = [make_server("good"), make_server("refuses", connected=False)]
    async with memory_runtime(settings=settings, servers=servers) as ot:
        proxy = (await ot.call("ot.health")).data["proxy"]
        assert yaml.safe_load(await run_rendered(ot, "ot.health()"))["proxy"] == proxy
    states = {"good": "connected", "refuses": "disconnected", "missing": "disconnected"}
    assert proxy == {"status": "degraded", "server_count": 3, "servers": states}


@pytest.mark.spec("OT-23", "OT-24")
def test_health_returns_in_time_if_servers_exit_or_hang(home):
    python = {"command": sys.executable}
    hangs = {**python, "args": ["-c", "import sys; sys.stdin.read()"]}
    exits = {**python, "args": ["-c", "raise SystemExit(1)"]}
    servers = {"exits": exits, "hangs": hangs, "hangs_too": hangs, "missing": {"command": "no-such-program"}}
    home.write("onetool.yaml", json.dumps({"servers": servers}))
    proxy = yaml.safe_load(run_cli("ot.health()"))["proxy"]
    assert proxy == {
        "status": "degraded",
        "server_count": 4,
        "servers": dict.fromkeys(servers, "disconnected"),
    }


# Notes


@pytest.mark.spec("OT-25")
async def test_notify_requires_a_topic_and_a_message():
    async with memory_runtime() as ot:
        (entry,) = (await ot.call("ot.tools", pattern="ot.notify", info="full")).data
        assert entry["signature"].startswith("ot.notify(topic: str, message: str")
        for args in ({"topic": "notes"}, {"message": "x"}, {}):
            assert (await ot.call("ot.notify", **args)).error.code == "invalid_args"


@pytest.mark.spec("OT-25", "OT-26")
async def test_notify_writes_the_note_before_it_returns(tmp_path):
    file = tmp_path / "notes.yaml"
    settings = {"topics": [{"pattern": "notes*", "file": str(file)}]}
    message = "Remember to review PR #123"
    async with memory_runtime(settings=settings, cwd=tmp_path) as ot:
        assert (await ot.call("ot.notify", topic="notes", message=message)).data == f"OK: notes -> {file}"
        assert [note["message"] for note in read_notes(file)] == [message]
        code = f"ot.notify(topic='notes:run', message={message!r})"
        assert await run_rendered(ot, code) == f"OK: notes:run -> {file}"
    assert [(note["topic"], note["message"]) for note in read_notes(file)] == [
        ("notes", message),
        ("notes:run", message),
    ]


@pytest.mark.spec("OT-26")
def test_relative_topic_file_is_resolved_against_the_config_directory(home):
    home.write("onetool.yaml", "topics: [{pattern: notes, file: notes.yaml}]\n")
    assert run_cli("ot.notify(topic='notes', message='PR #123')").startswith("OK: notes -> ")
    assert [note["message"] for note in read_notes(home.config / "notes.yaml")] == ["PR #123"]
    assert list(home.cwd.iterdir()) == []


@pytest.mark.guards("model-files")
@pytest.mark.spec("OT-26")
@pytest.mark.parametrize(
    ("topic", "name"),
    [("notes", "a"), ("notes:x:y", "a"), ("team:notes", "b"), ("team:x:notes", "b"), ("note", "c")],
)
async def test_note_goes_to_the_file_of_the_first_matching_pattern(tmp_path, topic, name):
    """A star also matches colons."""
    patterns = {"a": "notes*", "b": "*:notes", "c": "*", "d": "no*"}
    topics = [{"pattern": pattern, "file": str(tmp_path / file)} for file, pattern in patterns.items()]
    async with memory_runtime(settings={"topics": topics}, cwd=tmp_path) as ot:
        assert (await ot.call("ot.notify", topic=topic, message="m")).ok
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert [note["topic"] for note in read_notes(tmp_path / name)] == [topic]


@pytest.mark.guards("model-files")
@pytest.mark.spec("OT-27")
@pytest.mark.parametrize("before", ["", "--- {message: old}\n", "--- {message: old}", "message: old\n"])
async def test_each_note_is_a_yaml_document_on_one_line(tmp_path, before):
    """Existing content of the file does not matter."""
    file = tmp_path / "notes.yaml"
    if before:
        file.write_text(before, encoding="utf-8")
    settings = {"topics": [{"pattern": "notes", "file": str(file)}]}
    async with memory_runtime(settings=settings, cwd=tmp_path) as ot:
        for message in TRICKY:
            assert (await ot.call("ot.notify", topic="notes", message=message)).ok, message
    existing = ["old"] if before else []
    assert [note["message"] for note in read_notes(file)] == existing + TRICKY
    assert all(list(note) == ["at", "topic", "message"] for note in read_notes(file)[len(existing) :])
    lines = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    assert len(lines) == len(existing) + len(TRICKY)
    assert all(line.startswith("--- {") for line in lines[len(existing) :])


@pytest.mark.spec("OT-27")
async def test_concurrent_notes_do_not_interleave(tmp_path):
    file = tmp_path / "notes.yaml"
    settings = {"topics": [{"pattern": "notes", "file": str(file)}]}
    messages = [f"{number}: {'x' * 5000}" for number in range(40)]
    async with memory_runtime(settings=settings, cwd=tmp_path) as ot:
        calls = [ot.call("ot.notify", topic="notes", message=message) for message in messages]
        assert all(result.ok for result in await asyncio.gather(*calls))
    assert sorted(note["message"] for note in read_notes(file)) == sorted(messages)


@pytest.mark.spec("OT-28")
@pytest.mark.parametrize("patterns", [[], ["notes", "notes:*"], ["unknown", "topic", "unknown:topic:*"]])
async def test_note_with_an_unmatched_topic_is_skipped(tmp_path, patterns):
    """No file is written."""
    topics = [{"pattern": pattern, "file": str(tmp_path / "notes.yaml")} for pattern in patterns]
    async with memory_runtime(settings={"topics": topics}, cwd=tmp_path) as ot:
        result = await ot.call("ot.notify", topic="unknown:topic", message="test")
        assert result.data == "SKIP: no matching topic"
        code = "ot.notify(topic='unknown:topic', message='test')"
        assert await run_rendered(ot, code) == "SKIP: no matching topic"
    assert list(tmp_path.iterdir()) == []


# Reload

RELOADED = "OK: Configuration reloaded"
PACK = '''"""mine: a pack of this user."""
from onetool.sdk import get_secret

def one() -> str:
    """One."""
    return "one"

def two() -> str:
    """Two."""
    return "two"

def secret() -> int:
    """Return the length of the secret."""
    return len(get_secret("KEY"))

def word() -> str:
    """Return the word."""
    return "{word}"
'''
OLD: dict[str, Any] = {
    "alias": "one",
    "aliases": ["short"],
    "is_added": False,
    "config": {"aliases": {"short": "mine.one"}, "snippets": {}, "servers": []},
    "secret": 12,
    "word": "old",
    "advice": ["Old advice."],
    "servers": {},
}
NEW: dict[str, Any] = {
    "alias": "two",
    "aliases": ["added", "short"],
    "is_added": True,
    "config": {
        "aliases": {"short": "mine.two", "added": "mine.one"},
        "snippets": {"s": {"description": "New one"}},
        "servers": ["gone"],
    },
    "secret": 20,
    "word": "new",
    "advice": ["New advice."],
    "servers": {"gone": "disconnected"},
}


def write_old(home: Any) -> None:
    home.write("onetool.yaml", "aliases: {short: mine.one}\n")
    home.write("secrets.yaml", "KEY: s3cret-value\n")
    home.write("prompts.yaml", "packs: {mine: Old advice.}\n")
    home.write("tools/mine.py", PACK.replace("{word}", "old"))


def write_new(home: Any) -> None:
    server = {"command": sys.executable, "args": ["-c", "raise SystemExit(1)"]}
    settings = {
        "aliases": {"short": "mine.two", "added": "mine.one"},
        "snippets": {"s": {"description": "New one", "body": "mine.one()"}},
        "servers": {"gone": server},
    }
    home.write("onetool.yaml", json.dumps(settings))
    home.write("secrets.yaml", "KEY: another-secret-value\n")
    home.write("prompts.yaml", "packs: {mine: New advice.}\n")
    home.write("tools/mine.py", PACK.replace("{word}", "new"))


async def observe_state(ot: Any) -> dict[str, Any]:
    """Return what a caller sees of every file that a reload reads."""

    async def data(tool: str, **args: Any) -> Any:
        result = await ot.call(tool, **args)
        assert result.ok, result
        return result.data

    advice = await data("ot.packs", pattern="mine", info="full")
    return {
        "alias": await data("short"),
        "aliases": sorted(await data("ot.aliases", info="list")),
        "is_added": (await ot.call("added")).ok,
        "config": await data("ot.config"),
        "secret": await data("mine.secret"),
        "word": await data("mine.word"),
        "advice": re.findall("(?:Old|New) advice.", advice),
        "servers": (await data("ot.health"))["proxy"]["servers"],
    }


@pytest.mark.spec("OT-29", "OT-32")
async def test_reload_takes_no_arguments_and_reports_success(home):
    async with memory_runtime(settings=SETTINGS) as ot:
        assert (await ot.call("ot.reload")).data == RELOADED
        assert await run_rendered(ot, "ot.reload()") == RELOADED
        assert str((await ot.call("ot.config")).data) == CONFIG
        assert (await ot.call("ot.reload", file="x")).error.code == "invalid_args"
    assert run_cli("ot.reload()") == RELOADED


@pytest.mark.spec("OT-29", "OT-30", "OT-31", "OT-32")
async def test_reload_applies_every_changed_file(home):
    """Settings, secrets, prompts, packs and servers change together, and only on reload."""
    write_old(home)
    async with onetool_runtime() as ot:
        assert await observe_state(ot) == OLD
        write_new(home)
        assert await observe_state(ot) == OLD
        assert (await ot.call("ot.reload")).data == RELOADED
        assert await observe_state(ot) == NEW
        write_old(home)
        assert await observe_state(ot) == NEW
        assert (await ot.call("ot.reload")).data == RELOADED
        assert await observe_state(ot) == OLD


@asynccontextmanager
async def user_runtime() -> AsyncIterator[MemoryClient]:
    """Start a runtime with the files of the user, and return a client that can also run code."""
    paths = find_paths(os.environ, Path.cwd())
    async with open_runtime(lambda: load_configuration(paths, os.environ)) as runtime:
        yield MemoryClient(runtime)


@pytest.mark.spec("OT-30")
async def test_reload_applies_changed_output_settings(home):
    """`max_inline_size` limits what a model reads in full, `max_bytes` what a call returns at all."""
    texts = ["x" * size for size in (500, 2_000, 20_000)]

    async def observe(ot: MemoryClient) -> list[tuple[bool, bool]]:
        """Return of each text whether a model reads it in full and whether a call returns it."""
        return [
            (await run_rendered(ot, repr(text)) == text, (await ot.call("tools.echo", message=text)).ok)
            for text in texts
        ]

    large, small = [(True, True)] * 3, [(True, True), (False, True), (False, False)]
    home.write("onetool.yaml", "aliases: {}\n")
    async with user_runtime() as ot:
        assert await observe(ot) == large
        home.write("onetool.yaml", "output: {max_inline_size: 1000, max_bytes: 10000}\n")
        assert await observe(ot) == large
        assert (await ot.call("ot.reload")).data == RELOADED
        assert await observe(ot) == small
        home.write("onetool.yaml", "aliases: {}\n")
        assert await observe(ot) == small
        assert (await ot.call("ot.reload")).data == RELOADED
        assert await observe(ot) == large


@pytest.mark.spec("OT-30", "OT-32")
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("onetool.yaml", "aliases: {short: mine.two}\nnonsense: 1\n"),
        ("onetool.yaml", "aliases: {short: mine.two}\nstats: 'x' y\n"),
        ("secrets.yaml", "OTHER: hunter2-canary\nKEY: 'hunter2-canary' y\n"),
        ("prompts.yaml", "instructions: x\npacks: 'x' y\n"),
    ],
)
async def test_reload_of_an_invalid_file_reports_its_line_and_changes_nothing(home, file, text):
    """The other files are not applied either."""
    write_old(home)
    async with onetool_runtime() as ot:
        assert await observe_state(ot) == OLD
        write_new(home)
        home.write(file, text)
        result = await ot.call("ot.reload")
        assert not result.ok
        assert result.data.startswith("Error: ")
        assert f"{file}:2" in result.data
        assert "hunter2" not in result.data
        assert await observe_state(ot) == OLD
        write_new(home)
        assert (await ot.call("ot.reload")).data == RELOADED
        assert await observe_state(ot) == NEW


# YAML

STRUCTURED = [
    *("tools", "tools info=list", "tools info=full", "tools pattern=nothing-like-this"),
    *("packs", "packs info=list", "aliases", "aliases info=list", "aliases info=full"),
    *("snippets", "snippets info=list", "help query=foo info=list", "config", "health"),
    *("stats tool=demo.foo", "result handle=HANDLE search=[abxy]"),
]


@pytest.mark.spec("OT-01", "OT-48", "OT-51", "OT-52")
@pytest.mark.parametrize("call", STRUCTURED)
async def test_structured_results_are_json_data_and_render_as_yaml(call):
    """A call and code give the same text: unfolded, with at most two flow levels.

    In code, `print`, `str` and f-strings give it too, and the value is an ordinary dict or list.
    """
    activity, ends = MemoryActivity(), (None, None, Reason.RAISED)
    await add(activity, *(record("demo.foo", 1.75e9, reason=reason) for reason in ends))
    packs, servers = {"demo": [foo]}, [make_server(SERVER)]
    async with memory_runtime(packs, settings=SETTINGS, servers=servers, activity=activity) as ot:
        await ot.run("1")
        handle = (
            await ot.runtime.state.results.put("a: b\n- x\nyes\n" + "more\n" * 9, "demo.tool", owner="local")
        ).handle
        name, *words = call.replace("HANDLE", handle).split()
        args = dict(word.split("=") for word in words)
        code = call_code(name, args)
        result = await ot.call(f"ot.{name}", **args)
        text = await run_rendered(ot, code)
        texts = "[str(value), f'{value}', f'{value!s}', f'<{value}>']"
        shown = await ot.run(f"import json\nvalue = {code}\nprint(value)\n[json.dumps(value), {texts}]")
        awaited = f"import asyncio\na, b = await asyncio.gather({code}, {code})\nf'{{a}}{{b}}'"
        twice = (await ot.run(awaited)).data
    assert result.ok, result
    assert isinstance(result.data, list | dict)
    assert json.loads(json.dumps(result.data)) == result.data
    assert yaml.safe_load(str(result.data)) == result.data
    assert text == str(result.data) == to_yaml(result.data)
    assert flow_levels(text) <= 2
    assert folded_nodes(text) == []
    assert shown.ok, shown
    dumped, in_code = shown.data
    assert json.loads(dumped) == result.data
    assert shown.printed == f"{text}\n"
    assert in_code == [text, text, text, f"<{text}>"]
    assert twice == text * 2


@pytest.mark.spec("OT-48")
@pytest.mark.parametrize("name", ["version", "help", "packs", "snippets", "reload"])
async def test_text_results_are_rendered_unchanged(name):
    args = {"info": "full"} if name in ("packs", "snippets") else {}
    async with memory_runtime({"demo": [foo]}, settings=SETTINGS, servers=[make_server(SERVER)]) as ot:
        text = (await ot.call(f"ot.{name}", **args)).data
        assert type(text) is str
        assert await run_rendered(ot, call_code(name, args)) == text
    assert to_yaml(text) == text


@pytest.mark.spec("OT-19", "OT-20", "OT-22", "OT-48", "OT-49", "OT-50", "OT-52")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"key": "value", "key2": "value2"}, "{key: value, key2: value2}"),
        ({"z": 1, "a": None, "m": True, "f": 0.5}, "{z: 1, a: null, m: true, f: 0.5}"),
        ({"aliases": {}, "snippets": {}, "servers": []}, NO_CONFIG),
        (yaml.safe_load(CONFIG), CONFIG),
        ({}, "{}"),
        ([], "[]"),
        (["a", "b/c.d-e", "b c", "1", "yes", 1], '[a, b/c.d-e, "b c", "1", "yes", 1]'),
        ([{"name": "a.b", "description": "Do it."}, {}], '- {name: a.b, description: "Do it."}\n- {}'),
        ([{"a": [1, 2]}, {"b": {"c": 1}}], "- {a: [1, 2]}\n- {b: {c: 1}}"),
        ({"v": "1.0.0", "dir": "/a/b", "m": {"s": "ok"}}, 'v: "1.0.0"\ndir: /a/b\nm: {s: ok}'),
        ({"text": "plain words", "m": {"s": "plain words"}}, 'text: plain words\nm: {s: "plain words"}'),
    ],
)
async def test_values_are_rendered_in_the_specified_yaml_format(value, text):
    """The format does not depend on the tool."""
    assert to_yaml(value) == text
    async with memory_runtime() as ot:
        assert await run_rendered(ot, repr(value)) == text
        assert await run_rendered(ot, f"tools.echo(message={value!r})") == text


@pytest.mark.spec("OT-50", "OT-51")
@pytest.mark.parametrize("info", ["min", "full"])
async def test_list_of_objects_is_rendered_one_per_line(info):
    """Long descriptions are not folded."""

    def verbose() -> None: ...

    verbose.__doc__ = "Long text: " + "many words, and more; " * 200
    async with memory_runtime({"demo": [foo, verbose]}) as ot:
        tools = (await ot.call("ot.tools", info=info)).data
        text = await run_rendered(ot, f"ot.tools(info={info!r})")
    lines = text.split("\n")
    assert len(lines) == len(tools) > 5
    assert all(re.fullmatch(r"- \{.*\}", line) for line in lines)
    assert max(map(len, lines)) > 2000


@pytest.mark.spec("OT-48", "OT-51", "OT-52")
@pytest.mark.parametrize(
    "text", TRICKY, ids=[f"{number}-{ascii(it)[:20]}" for number, it in enumerate(TRICKY)]
)
def test_ambiguous_text_survives_a_yaml_round_trip(text):
    """As value, key and item, in block and flow style, at any depth."""
    nested = {"m": {"x": 1}}
    for value in [
        *({"t": text}, {"t": text, **nested}, {text: 1}, {text: {"x": 1}}, {text: text, **nested}),
        *([text], [text, text], [{"a": text}], [{text: [text]}, {text: {text: text}}]),
        *([[text]], [[[[text]]]], {"a": {"b": {"c": {text: text}}}}, {text: [[{text: [text]}]]}),
    ]:
        check_round_trip(value)


@pytest.mark.spec("OT-48", "OT-51", "OT-52")
@pytest.mark.parametrize("levels", [3, 4, 5, 40, 100])
@pytest.mark.parametrize(
    "keys", [["a"], [None], ["a", None], [None, "b c"], ["x" * 1100, None, "é"]], ids=ascii
)
@pytest.mark.parametrize("inner", ["x", {}, [], [{}], {"a": 1, "b": {}}], ids=str)
def test_deep_nesting_has_at_most_two_flow_levels(inner, keys, levels):
    check_round_trip(wrap(inner, (keys * levels)[:levels]))


@pytest.mark.spec("OT-48", "OT-51", "OT-52")
@given(STRUCTURES)
@example([1.0, 1, True, 0.0, -0.0, 1e22, 5e-324, 1.5e300, -1e-7, 10**400])
@example({"a": {"b": {}}, "c": [[], [[]], [[[]]]]})
@example([{"a": {"b": {"c": [1]}}}, {}, {"d": []}])
@example([[], {}, [{}], {"": {"": ""}}])
def test_any_value_survives_a_yaml_round_trip(value):
    check_round_trip(value)


@pytest.mark.spec("OT-48", "OT-50", "OT-51")
@given(st.lists(st.dictionaries(TEXTS.filter(lambda key: len(key) < 100), SCALARS, max_size=4), min_size=1))
def test_any_list_of_flat_objects_is_rendered_one_per_line(items):
    lines = check_round_trip(items).split("\n")
    assert len(lines) == len(items)
    assert all(line.startswith("- {") and line.endswith("}") for line in lines)


# Logging

CALLS: dict[str, dict[str, Any]] = {
    **{name: {} for name in sorted(FUNCTIONS - {"notify", "result"})},
    "notify": {"topic": "notes", "message": "the key is s3cret-value"},
    "result": {"handle": "x", "limit": 0},
}


@pytest.mark.spec("OT-53", "OT-54")
async def test_every_ot_call_is_logged_once_with_span_status_and_duration(home):
    """No secret is logged."""
    home.write("secrets.yaml", "KEY: s3cret-value\n")
    async with onetool_runtime() as ot:
        for name, args in CALLS.items():
            await ot.call(f"ot.{name}", **args)
    calls = [record for record in home.log() if record["message"] == "call"]
    assert [record["span"] for record in calls] == [f"ot.{name}" for name in CALLS]
    assert {record["span"]: record["status"] for record in calls} == {
        f"ot.{name}": "FAILED" if name == "result" else "SUCCESS" for name in CALLS
    }
    assert all(0 <= record["duration"] < 60_000 for record in calls)
    assert {record["span"] for record in home.log() if "span" in record} == {f"ot.{name}" for name in CALLS}
    assert "s3cret-value" not in json.dumps(home.log())


@pytest.mark.spec("OT-53", "OT-54")
def test_calls_from_code_are_logged_the_same_way(home):
    run_cli("ot.tools()\not.health()")
    spans = [record["span"] for record in home.log() if record["message"] == "call"]
    assert [span for span in spans if span.startswith("ot.")] == ["ot.tools", "ot.health"]


# Version


def install_release(folder: Path, release: str) -> None:
    """Install OneTool into a folder as another release: links to the package, with its own version."""
    package, metadata = folder / "onetool", folder / f"{DISTRIBUTION.replace('-', '_')}-{release}.dist-info"
    package.mkdir(parents=True)
    for path in Path(onetool_package.__path__[0]).iterdir():
        if path.name not in ("version.py", "__pycache__"):
            (package / path.name).symlink_to(path)
    (package / "version.py").write_text(f'__version__ = "{release}"\n')
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {DISTRIBUTION}\nVersion: {release}\n")


@pytest.mark.spec("OT-130", "OT-131")
async def test_version_is_that_of_the_installed_distribution(home):
    async with memory_runtime() as ot:
        installed = (await ot.call("ot.version")).data
        texts = [installed, await run_rendered(ot, "ot.version()"), run_cli("ot.version()")]
        assert (await ot.call("ot.health")).data["version"] == installed
    assert type(installed) is str
    assert re.match(r"\d+\.\d+\.\d+", installed)
    assert set(texts) == {version(DISTRIBUTION)}


@pytest.mark.spec("OT-130")
def test_version_starts_no_server(home):
    """The server would leave a file when it starts, as it does for a call of one of its tools."""
    started = home.cwd / "started"
    server = {"command": sys.executable, "args": ["-c", f"open({str(started)!r}, 'w')"], "sandbox": False}
    home.write("onetool.yaml", json.dumps({"servers": {SERVER: server}}))
    assert run_cli("ot.version()") == version(DISTRIBUTION)
    assert not started.exists()
    onetool("run", f"{SERVER}.any_tool()")
    assert started.exists()


@pytest.mark.spec("OT-130", "OT-131")
def test_version_of_another_release_is_reported(home, tmp_path):
    """No release number is fixed in the code."""
    install_release(tmp_path / "site", "98.76.54")
    modules = os.pathsep.join(filter(None, [str(tmp_path / "site"), os.environ.get("PYTHONPATH")]))
    code = "[ot.version(), ot.health()['version']]"
    texts = [
        subprocess.run(
            [sys.executable, "-m", "onetool", *words],
            env=os.environ | {"PYTHONPATH": modules},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout.strip()
        for words in (["--version"], ["run", code])
    ]
    assert texts == ["onetool 98.76.54", '["98.76.54", "98.76.54"]']

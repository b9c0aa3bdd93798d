"""The `ot` pack: configuration, health, notes, reload, version; how its answers are written and logged."""

import asyncio
import json
import re
import sys
from functools import reduce
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from commands import onetool
from onetool import onetool_runtime, testing
from onetool.domain.usage import CallEvent
from onetool.domain.yaml_text import to_yaml
from onetool.storage.memory import MemoryUsage
from onetool.testing import memory_runtime

FUNCTIONS = {
    *("tools", "config", "health", "notify", "reload", "stats"),
    *("packs", "aliases", "snippets", "help", "result", "version"),
}
SERVER = "proxy_package_version"
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

# Texts that a careless writer of YAML gives back as something else.
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


def collections(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)


def wrap(value: Any, keys: list[str | None]) -> Any:
    """Put a value into a list for each None, into a map for each key."""
    return reduce(lambda inner, key: [inner] if key is None else {key: inner}, keys, value)


VALUES = st.recursive(SCALARS, collections, max_leaves=12)
STRUCTURES = collections(VALUES) | st.builds(
    wrap, VALUES, st.lists(st.none() | st.sampled_from(["a", "b c", "x" * 1100]), min_size=1, max_size=30)
)


def flow_levels(text: str) -> int:
    """How deep flow style is nested in flow style, empty brackets counted."""
    styles: list[bool] = []
    deepest = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            styles.append(bool(event.flow_style))
            deepest = max(deepest, sum(styles))
        elif isinstance(event, yaml.CollectionEndEvent):
            styles.pop()
    return deepest


def folded(text: str) -> list[Any]:
    """The texts and brackets that do not end on the line on which they began."""
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


def assert_faithful(value: Any) -> str:
    """The text gives the value back, with its types and its order, in at most two levels, unfolded."""
    text = to_yaml(value)
    assert repr(yaml.safe_load(text)) == repr(value)
    assert flow_levels(text) <= 2, text
    assert folded(text) == []
    return text


def printed(code: str) -> str:
    """What the command prints for this code."""
    done = onetool("run", code)
    assert done.returncode == 0, done.stderr
    return done.stdout.removesuffix("\n")


async def shown(ot: Any, code: str) -> str:
    """The text that a model reads after this code."""
    return await ot.runtime.text_of(await ot.run(code))


def code_of(name: str, args: dict[str, Any]) -> str:
    return f"ot.{name}({', '.join(f'{key}={value!r}' for key, value in args.items())})"


def proxied(name: str, connected: bool = True) -> Any:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    tool = testing.ProxyTool("latest", "Find the latest version.", schema, lambda args: {"found": args})
    return testing.proxy_server(name, [tool], connected=connected)


def foo(n: int = 1, text: str = "a, b") -> list[str]:
    """Get foo: it says "this", {that}; and more.

    Long description, with a colon: and a hash #1.

    Args:
        n: How many.
        text: What to say.

    Returns:
        The items.

    Example:
        demo.foo(n=3)
    """
    return [text] * n


def notes(file: Path) -> list[Any]:
    return list(yaml.safe_load_all(file.read_text(encoding="utf-8")))


# The pack


@pytest.mark.spec("OT-01")
async def test_the_pack_offers_every_function(home):
    """State, discovery, configuration and health are functions of `ot`, in `run` and on the command line."""
    code = "ot.tools(info='list', pattern='ot.')"
    async with memory_runtime() as ot:
        texts = [await shown(ot, code), printed(code)]
    for text in texts:
        assert {f"ot.{name}" for name in FUNCTIONS} <= set(yaml.safe_load(text))


@pytest.mark.spec("OT-02")
async def test_there_is_one_pack_for_all_of_it():
    """It is called `ot`, and no `internal` or `info` stands beside it."""
    async with memory_runtime() as ot:
        names = (await ot.call("ot.packs", info="list")).data
        assert yaml.safe_load(await shown(ot, "ot.packs(info='list')")) == names
        for gone in ("internal.tools", "info.tools", "tool_info.tools"):
            assert not (await ot.call(gone)).ok
    assert names.count("ot") == 1
    assert not [name for name in names if re.search("internal|info", name)]


# Configuration


@pytest.mark.spec("OT-18", "OT-19")
async def test_config_is_three_lines_of_what_was_configured(home):
    """Descriptions of snippets and names of servers only, in the order of the file, byte for byte."""
    async with memory_runtime(settings=SETTINGS) as ot:
        config = (await ot.call("ot.config")).data
        assert await shown(ot, "ot.config()") == CONFIG
    assert str(config) == CONFIG
    assert list(config) == ["aliases", "snippets", "servers"]
    assert config == yaml.safe_load(CONFIG)
    home.write("onetool.yaml", yaml.safe_dump(SETTINGS, sort_keys=False))
    assert printed("ot.config()") == CONFIG


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
async def test_config_shows_empty_what_is_not_configured(home, settings, text):
    """Nothing is merged in by default, and no other key appears."""
    async with memory_runtime(settings=settings) as ot:
        config = (await ot.call("ot.config")).data
        assert await shown(ot, "ot.config()") == str(config) == text
    assert config == yaml.safe_load(text)
    home.write("onetool.yaml", json.dumps(settings))
    assert printed("ot.config()") == text


# Health


@pytest.mark.spec("OT-21", "OT-22")
def test_a_fresh_install_is_healthy(home):
    """With no file at all: nothing fails, no server is there, and none is missed."""
    text = printed("ot.health()")
    health = yaml.safe_load(text)
    assert health["registry"] == {"status": "ok", "tool_count": health["registry"]["tool_count"]}
    assert text.splitlines()[2:] == [
        f"cwd: {home.cwd}",
        f"registry: {{status: ok, tool_count: {health['registry']['tool_count']}}}",
        "proxy: {status: ok, server_count: 0, servers: {}}",
    ]


@pytest.mark.spec("OT-22")
async def test_health_is_five_lines_and_connects_to_the_servers_first(tmp_path, monkeypatch):
    """Without an earlier call the server is connected; local tools are counted, proxied ones are not."""
    monkeypatch.chdir(tmp_path)
    settings = {"servers": {SERVER: {"command": "x"}}}
    async with memory_runtime(
        {"demo": [foo]}, settings=settings, servers=[proxied(SERVER)], cwd=tmp_path
    ) as ot:
        text = await shown(ot, "ot.health()")
        health = (await ot.call("ot.health")).data
        sources = [entry["source"] for entry in (await ot.call("ot.tools", info="full")).data]
    assert f"proxy:{SERVER}" in sources
    assert list(health) == ["version", "python", "cwd", "registry", "proxy"]
    assert text.split("\n") == [
        f'version: "{version("onetool")}"',
        f'python: "{".".join(map(str, sys.version_info[:3]))}"',
        f"cwd: {tmp_path}",
        f"registry: {{status: ok, tool_count: {sources.count('local')}}}",
        f"proxy: {{status: ok, server_count: 1, servers: {{{SERVER}: connected}}}}",
    ]
    assert str(health) == text


@pytest.mark.spec("OT-23", "OT-24")
async def test_a_server_that_is_not_connected_degrades_the_proxy():
    """Each server is told apart, whether it refuses or cannot be started."""
    settings = {"servers": {name: {"command": "x"} for name in ("good", "refuses", "missing")}}
    servers = [proxied("good"), proxied("refuses", connected=False)]
    async with memory_runtime(settings=settings, servers=servers) as ot:
        proxy = (await ot.call("ot.health")).data["proxy"]
        assert yaml.safe_load(await shown(ot, "ot.health()"))["proxy"] == proxy
    states = {"good": "connected", "refuses": "disconnected", "missing": "disconnected"}
    assert proxy == {"status": "degraded", "server_count": 3, "servers": states}


@pytest.mark.spec("OT-22", "OT-24")
async def test_a_server_that_is_switched_off_degrades_nothing():
    """Only enabled servers are asked how they are."""
    settings = {"servers": {"off": {"command": "x", "enabled": False}, "on": {"command": "x"}}}
    async with memory_runtime(settings=settings, servers=[proxied("on")]) as ot:
        proxy = (await ot.call("ot.health")).data["proxy"]
    assert (proxy["status"], proxy["servers"]["on"]) == ("ok", "connected")


@pytest.mark.spec("OT-23", "OT-24")
def test_programs_that_end_or_hang_are_disconnected_servers(home):
    """Health answers in time, however many of the servers never do."""
    python = {"command": sys.executable}
    hangs = {**python, "args": ["-c", "import sys; sys.stdin.read()"]}
    exits = {**python, "args": ["-c", "raise SystemExit(1)"]}
    servers = {"exits": exits, "hangs": hangs, "hangs_too": hangs, "missing": {"command": "no-such-program"}}
    home.write("onetool.yaml", json.dumps({"servers": servers}))
    proxy = yaml.safe_load(printed("ot.health()"))["proxy"]
    assert proxy == {
        "status": "degraded",
        "server_count": 4,
        "servers": dict.fromkeys(servers, "disconnected"),
    }


# Notes


@pytest.mark.spec("OT-25")
async def test_notify_takes_a_topic_and_a_message():
    """Both by keyword, both needed."""
    async with memory_runtime() as ot:
        (entry,) = (await ot.call("ot.tools", pattern="ot.notify", info="full")).data
        assert entry["signature"].startswith("ot.notify(topic: str, message: str")
        for args in ({"topic": "notes"}, {"message": "x"}, {}):
            assert (await ot.call("ot.notify", **args)).error.code == "invalid_args"


@pytest.mark.spec("OT-25", "OT-26")
async def test_a_note_is_in_the_file_when_the_call_returns(tmp_path):
    """With its topic, unshortened, from a call as from code."""
    file = tmp_path / "notes.yaml"
    settings = {"topics": [{"pattern": "notes*", "file": str(file)}]}
    message = "Remember to review PR #123"
    async with memory_runtime(settings=settings, cwd=tmp_path) as ot:
        assert (await ot.call("ot.notify", topic="notes", message=message)).data == f"OK: notes -> {file}"
        assert [note["message"] for note in notes(file)] == [message]
        code = f"ot.notify(topic='notes:run', message={message!r})"
        assert await shown(ot, code) == f"OK: notes:run -> {file}"
    assert [(note["topic"], note["message"]) for note in notes(file)] == [
        ("notes", message),
        ("notes:run", message),
    ]


@pytest.mark.spec("OT-26")
def test_a_relative_file_lies_beside_the_settings(home):
    """Wherever the command was started."""
    home.write("onetool.yaml", "topics: [{pattern: notes, file: notes.yaml}]\n")
    assert printed("ot.notify(topic='notes', message='PR #123')").startswith("OK: notes -> ")
    assert [note["message"] for note in notes(home.config / "notes.yaml")] == ["PR #123"]
    assert list(home.cwd.iterdir()) == []


@pytest.mark.spec("OT-26")
@pytest.mark.parametrize(
    ("topic", "name"),
    [("notes", "a"), ("notes:x:y", "a"), ("team:notes", "b"), ("team:x:notes", "b"), ("note", "c")],
)
async def test_the_first_pattern_that_matches_gets_the_note(tmp_path, topic, name):
    """A star also stands for colons; one file gets the note, and only one."""
    patterns = {"a": "notes*", "b": "*:notes", "c": "*", "d": "no*"}
    topics = [{"pattern": pattern, "file": str(tmp_path / file)} for file, pattern in patterns.items()]
    async with memory_runtime(settings={"topics": topics}, cwd=tmp_path) as ot:
        assert (await ot.call("ot.notify", topic=topic, message="m")).ok
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert [note["topic"] for note in notes(tmp_path / name)] == [topic]


@pytest.mark.spec("OT-27")
@pytest.mark.parametrize("before", ["", "--- {message: old}\n", "--- {message: old}", "message: old\n"])
async def test_each_note_is_a_document_of_its_own_on_one_line(tmp_path, before):
    """Whatever it says, and whatever stood in the file before."""
    file = tmp_path / "notes.yaml"
    if before:
        file.write_text(before, encoding="utf-8")
    settings = {"topics": [{"pattern": "notes", "file": str(file)}]}
    async with memory_runtime(settings=settings, cwd=tmp_path) as ot:
        for message in TRICKY:
            assert (await ot.call("ot.notify", topic="notes", message=message)).ok, message
    kept = ["old"] if before else []
    assert [note["message"] for note in notes(file)] == kept + TRICKY
    assert all(list(note) == ["at", "topic", "message"] for note in notes(file)[len(kept) :])
    lines = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    assert len(lines) == len(kept) + len(TRICKY)
    assert all(line.startswith("--- {") for line in lines[len(kept) :])


@pytest.mark.spec("OT-27")
async def test_notes_written_at_once_do_not_mix(tmp_path):
    """Every one of them is a whole document."""
    file = tmp_path / "notes.yaml"
    settings = {"topics": [{"pattern": "notes", "file": str(file)}]}
    messages = [f"{number}: {'x' * 5000}" for number in range(40)]
    async with memory_runtime(settings=settings, cwd=tmp_path) as ot:
        calls = [ot.call("ot.notify", topic="notes", message=message) for message in messages]
        assert all(result.ok for result in await asyncio.gather(*calls))
    assert sorted(note["message"] for note in notes(file)) == sorted(messages)


@pytest.mark.spec("OT-28")
@pytest.mark.parametrize("patterns", [[], ["notes", "notes:*"], ["unknown", "topic", "unknown:topic:*"]])
async def test_a_topic_that_nothing_matches_is_skipped(tmp_path, patterns):
    """It says so, and writes nothing anywhere."""
    topics = [{"pattern": pattern, "file": str(tmp_path / "notes.yaml")} for pattern in patterns]
    async with memory_runtime(settings={"topics": topics}, cwd=tmp_path) as ot:
        skipped = await ot.call("ot.notify", topic="unknown:topic", message="test")
        assert skipped.data == "SKIP: no matching topic"
        code = "ot.notify(topic='unknown:topic', message='test')"
        assert await shown(ot, code) == "SKIP: no matching topic"
    assert list(tmp_path.iterdir()) == []


# Reload

RELOADED = "OK: Configuration reloaded"
PACK = '''"""mine: what this user wrote."""
from onetool.sdk import get_secret

def one() -> str:
    """One."""
    return "one"

def two() -> str:
    """Two."""
    return "two"

def secret() -> int:
    """Tell how long the secret is."""
    return len(get_secret("KEY"))

def word() -> str:
    """Say the word."""
    return "{word}"
'''
OLD: dict[str, Any] = {
    "alias": "one",
    "aliases": ["short"],
    "config": {"aliases": {"short": "mine.one"}, "snippets": {}, "servers": []},
    "secret": 12,
    "word": "old",
    "advice": ["Old advice."],
    "servers": {},
}
NEW: dict[str, Any] = {
    "alias": "two",
    "aliases": ["added", "short"],
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
    gone = {"command": sys.executable, "args": ["-c", "raise SystemExit(1)"]}
    settings = {
        "aliases": {"short": "mine.two", "added": "mine.one"},
        "snippets": {"s": {"description": "New one", "body": "mine.one()"}},
        "servers": {"gone": gone},
    }
    home.write("onetool.yaml", json.dumps(settings))
    home.write("secrets.yaml", "KEY: another-secret-value\n")
    home.write("prompts.yaml", "packs: {mine: New advice.}\n")
    home.write("tools/mine.py", PACK.replace("{word}", "new"))


async def seen(ot: Any) -> dict[str, Any]:
    """What a caller sees of every file that a reload reads."""

    async def data(tool: str, **args: Any) -> Any:
        result = await ot.call(tool, **args)
        assert result.ok, result
        return result.data

    advice = await data("ot.packs", pattern="mine", info="full")
    return {
        "alias": await data("short"),
        "aliases": sorted(await data("ot.aliases", info="list")),
        "config": await data("ot.config"),
        "secret": await data("mine.secret"),
        "word": await data("mine.word"),
        "advice": re.findall("(?:Old|New) advice.", advice),
        "servers": (await data("ot.health"))["proxy"]["servers"],
    }


@pytest.mark.spec("OT-29", "OT-32")
async def test_reload_needs_no_arguments_and_says_that_it_is_done(home):
    """From a call, from code, from the command line, as often as wanted."""
    async with memory_runtime(settings=SETTINGS) as ot:
        assert (await ot.call("ot.reload")).data == RELOADED
        assert await shown(ot, "ot.reload()") == RELOADED
        assert str((await ot.call("ot.config")).data) == CONFIG
        assert (await ot.call("ot.reload", file="x")).error.code == "invalid_args"
    assert printed("ot.reload()") == RELOADED


@pytest.mark.spec("OT-29", "OT-30", "OT-32")
async def test_reload_brings_every_changed_file_into_force(home):
    """Settings, secrets, prompts, packs and servers: all old before it, all new after it."""
    write_old(home)
    async with onetool_runtime() as ot:
        assert await seen(ot) == OLD
        write_new(home)
        assert await seen(ot) == OLD
        assert (await ot.call("ot.reload")).data == RELOADED
        assert await seen(ot) == NEW
        write_old(home)
        assert await seen(ot) == NEW
        assert (await ot.call("ot.reload")).data == RELOADED
        assert await seen(ot) == OLD


@pytest.mark.spec("OT-31")
async def test_an_alias_added_to_the_file_is_there_after_reload(home):
    """Not before; and one taken out of the file is gone."""
    home.write("onetool.yaml", "aliases: {}\n")
    async with onetool_runtime() as ot:
        for text, names in [
            ("aliases: {now: time.now}\n", ["now"]),
            ("aliases: {now: time.now, say: tools.echo}\n", ["now", "say"]),
            ("aliases: {say: tools.echo}\n", ["say"]),
            ("", []),
        ]:
            before = (await ot.call("ot.aliases", info="list")).data
            home.write("onetool.yaml", text)
            assert (await ot.call("ot.aliases", info="list")).data == before
            await ot.call("ot.reload")
            assert (await ot.call("ot.aliases", info="list")).data == names
            assert (await ot.call("now")).ok == ("now" in names)


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
async def test_a_reload_of_a_broken_file_names_it_and_changes_nothing(home, file, text):
    """The answer says which file and line; not even what is sound in the other files comes into force."""
    write_old(home)
    async with onetool_runtime() as ot:
        assert await seen(ot) == OLD
        write_new(home)
        home.write(file, text)
        broken = await ot.call("ot.reload")
        assert not broken.ok
        assert broken.data.startswith("Error: ")
        assert f"{file}:2" in broken.data
        assert "hunter2" not in broken.data
        assert await seen(ot) == OLD
        write_new(home)
        assert (await ot.call("ot.reload")).data == RELOADED
        assert await seen(ot) == NEW


# YAML

STRUCTURED = [
    *("tools", "tools info=list", "tools info=full", "tools pattern=nothing-like-this"),
    *("packs", "packs info=list", "aliases", "aliases info=list", "aliases info=full"),
    *("snippets", "snippets info=list", "help query=foo info=list", "config", "health"),
    *("stats tool=demo.foo", "result handle=HANDLE search=[abxy]"),
]


@pytest.mark.spec("OT-01", "OT-48", "OT-51", "OT-52")
@pytest.mark.parametrize("question", STRUCTURED)
async def test_every_structured_answer_is_real_data_and_yaml_at_once(question):
    """A list or a map whose text gives it back; code shows the same bytes, in two levels, unfolded."""
    usage = MemoryUsage()
    usage.add([CallEvent(tool="demo.foo", at=1.75e9, ok=ok) for ok in (True, True, False)])
    packs, servers = {"demo": [foo]}, [proxied(SERVER)]
    async with memory_runtime(packs, settings=SETTINGS, servers=servers, usage=usage) as ot:
        await ot.run("1")
        handle = ot.runtime.results.put("a: b\n- x\nyes\n" + "more\n" * 9, "demo.tool").handle
        name, *words = question.replace("HANDLE", handle).split()
        args = dict(word.split("=") for word in words)
        result = await ot.call(f"ot.{name}", **args)
        text = await shown(ot, code_of(name, args))
    assert result.ok, result
    assert isinstance(result.data, list | dict)
    assert json.loads(json.dumps(result.data)) == result.data
    assert yaml.safe_load(str(result.data)) == result.data
    assert text == str(result.data) == to_yaml(result.data)
    assert flow_levels(text) <= 2
    assert folded(text) == []


@pytest.mark.spec("OT-48")
@pytest.mark.parametrize("name", ["version", "help", "packs", "snippets", "reload"])
async def test_an_answer_that_is_a_text_stays_as_it_is(name):
    """No quotes, no escapes, nothing around it."""
    args = {"info": "full"} if name in ("packs", "snippets") else {}
    async with memory_runtime({"demo": [foo]}, settings=SETTINGS, servers=[proxied(SERVER)]) as ot:
        said = (await ot.call(f"ot.{name}", **args)).data
        assert type(said) is str
        assert await shown(ot, code_of(name, args)) == said
    assert to_yaml(said) == said


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
async def test_values_are_written_in_this_form(value, text):
    """By the writer, and by code that ends with the value, whichever tool made it."""
    assert to_yaml(value) == text
    async with memory_runtime() as ot:
        assert await shown(ot, repr(value)) == text
        assert await shown(ot, f"tools.echo(message={value!r})") == text


@pytest.mark.spec("OT-50", "OT-51")
@pytest.mark.parametrize("info", ["min", "full"])
async def test_a_list_of_objects_is_one_line_for_each(info):
    """Each line an item in braces, however long its description is."""

    def wordy() -> None: ...

    wordy.__doc__ = "Say much: " + "many words, and more; " * 200
    async with memory_runtime({"demo": [foo, wordy]}) as ot:
        tools = (await ot.call("ot.tools", info=info)).data
        text = await shown(ot, f"ot.tools(info={info!r})")
    lines = text.split("\n")
    assert len(lines) == len(tools) > 5
    assert all(re.fullmatch(r"- \{.*\}", line) for line in lines)
    assert max(map(len, lines)) > 2000


@pytest.mark.spec("OT-48", "OT-51", "OT-52")
@pytest.mark.parametrize(
    "text", TRICKY, ids=[f"{number}-{ascii(it)[:20]}" for number, it in enumerate(TRICKY)]
)
def test_a_text_that_looks_like_something_else_comes_back_as_itself(text):
    """In block and in flow, as value, as key and as item, at any depth."""
    more = {"m": {"x": 1}}
    for value in [
        *({"t": text}, {"t": text, **more}, {text: 1}, {text: {"x": 1}}, {text: text, **more}),
        *([text], [text, text], [{"a": text}], [{text: [text]}, {text: {text: text}}]),
        *([[text]], [[[[text]]]], {"a": {"b": {"c": {text: text}}}}, {text: [[{text: [text]}]]}),
    ]:
        assert_faithful(value)


@pytest.mark.spec("OT-48", "OT-51", "OT-52")
@pytest.mark.parametrize("levels", [3, 4, 5, 40, 100])
@pytest.mark.parametrize(
    "keys", [["a"], [None], ["a", None], [None, "b c"], ["x" * 1100, None, "é"]], ids=ascii
)
@pytest.mark.parametrize("inside", ["x", {}, [], [{}], {"a": 1, "b": {}}], ids=str)
def test_deep_nesting_never_has_three_levels_in_flow(inside, keys, levels):
    """Above the last two, levels are written as blocks."""
    assert_faithful(wrap(inside, (keys * levels)[:levels]))


@pytest.mark.spec("OT-48", "OT-51", "OT-52")
@given(STRUCTURES)
@example([1.0, 1, True, 0.0, -0.0, 1e22, 5e-324, 1.5e300, -1e-7, 10**400])
@example({"a": {"b": {}}, "c": [[], [[]], [[[]]]]})
@example([{"a": {"b": {"c": [1]}}}, {}, {"d": []}])
@example([[], {}, [{}], {"": {"": ""}}])
def test_every_value_comes_back_from_its_text(value):
    """With its types and its order, in at most two levels of flow, with no line folded."""
    assert_faithful(value)


@pytest.mark.spec("OT-48", "OT-50", "OT-51")
@given(st.lists(st.dictionaries(TEXTS.filter(lambda key: len(key) < 100), SCALARS, max_size=4), min_size=1))
def test_lists_of_flat_objects_have_a_line_for_each(items):
    """Whatever the objects hold."""
    lines = assert_faithful(items).split("\n")
    assert len(lines) == len(items)
    assert all(line.startswith("- {") and line.endswith("}") for line in lines)


# Logging

CALLS: dict[str, dict[str, Any]] = {
    **{name: {} for name in sorted(FUNCTIONS - {"notify", "result"})},
    "notify": {"topic": "notes", "message": "the key is s3cret-value"},
    "result": {"handle": "x", "limit": 0},
}


@pytest.mark.spec("OT-53", "OT-54")
async def test_every_call_is_one_record_with_span_status_and_duration(home):
    """The span is called like the function; a call that fails says so; no secret is written."""
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
def test_calls_made_by_code_are_logged_the_same(home):
    """`ot.tools` and `ot.health`, once each."""
    printed("ot.tools()\not.health()")
    spans = [record["span"] for record in home.log() if record["message"] == "call"]
    assert [span for span in spans if span.startswith("ot.")] == ["ot.tools", "ot.health"]


# Version


@pytest.mark.spec("OT-130", "OT-131")
async def test_the_version_is_that_of_the_installed_distribution(home):
    """A text of numbers and dots, the same through every door."""
    async with memory_runtime() as ot:
        said = (await ot.call("ot.version")).data
        texts = [said, await shown(ot, "ot.version()"), printed("ot.version()")]
        assert (await ot.call("ot.health")).data["version"] == said
    assert type(said) is str
    assert re.match(r"\d+\.\d+\.\d+", said)
    assert set(texts) == {version("onetool")}

"""Attacks and accidents that once went through, each with the wall that now stands there."""

import asyncio
import json
import os
import subprocess
import sys
import time
from typing import Any

import pytest

from onetool import onetool_runtime
from onetool.bootstrap import open_runtime
from onetool.domain import Caller, Reason, Registry, Tool, ToolSpec
from onetool.domain.errors import InvalidTool, SettingsError
from onetool.domain.gemini_schema import gemini_schema
from onetool.domain.schemas import compile_schema
from onetool.domain.tool import Declaration
from onetool.domain.wire_names import wire_names
from onetool.sdk import call_tool, call_tool_async, tool
from onetool.settings.configuration import load_configuration
from onetool.settings.places import find_places
from onetool.settings.trust import save_trust
from onetool.sources.snapshot import Fixed, Snapshot
from onetool.testing import memory_runtime

PEM = "-----BEGIN KEY-----\nMIICdgIBADANBgkqhkiG9w0BAQ\n-----END KEY-----\n"


def opened(home):
    return open_runtime(lambda: load_configuration(find_places(home.env, home.cwd), {}))


def leave() -> None:
    sys.exit(7)


async def test_a_tool_that_exits_ends_only_its_call():
    """Also when another tool called it, from a thread or from the event loop."""

    def by_thread() -> None:
        call_tool("demo.leave")

    async def by_loop() -> None:
        await asyncio.gather(call_tool_async("demo.leave"))

    async with memory_runtime({"demo": [leave, by_thread, by_loop]}) as ot:
        assert (await ot.call("demo.by_thread")).error.message == "SystemExit: 7"
        assert "SystemExit" in (await ot.call("demo.by_loop")).error.message
        assert (await ot.call("tools.echo", message=1)).ok


class Slow:
    """A reader that takes its time, as the first look into pack files does."""

    name = "slow"

    def __init__(self) -> None:
        self.moved, self.answer = 0, "old"

    def generation(self) -> int:
        return self.moved

    async def read(self) -> Registry:
        answer = self.answer
        await asyncio.sleep(0.2)

        async def run(args: Any, invocation: Any) -> str:
            return answer

        registry = Registry()
        registry.register(
            Tool(ToolSpec(name="slow.f", description="x", input_schema={"type": "object"}), run)
        )
        return registry


async def test_a_caller_that_leaves_does_not_stop_the_reading_of_a_source():
    """The next caller finds the tools, and those that arrive meanwhile wait for them."""
    async with memory_runtime(sources=[Snapshot(Slow())]) as ot:
        first = asyncio.create_task(ot.call("slow.f"))
        await asyncio.sleep(0.05)
        second = asyncio.create_task(ot.call("slow.f"))
        await asyncio.sleep(0.05)
        first.cancel()
        assert (await second).data == "old"
        assert (await ot.call("slow.f")).data == "old"


async def test_a_call_during_a_change_does_not_keep_the_old_tool_alive():
    """What was found while a source was being read again is not remembered as the new one."""
    slow = Slow()
    async with memory_runtime(sources=[Snapshot(slow)]) as ot:
        await ot.call("slow.f")
        slow.answer, slow.moved = "new", 1
        await asyncio.gather(*(ot.call("slow.f") for _ in range(5)))
        assert (await ot.call("slow.f")).data == "new"


async def test_a_reload_is_not_lost_with_the_caller_that_met_it(home):
    """A process follows another's reload even if the first caller gives up while it does."""
    home.write("onetool.yaml", "aliases: {}")
    async with opened(home) as first, opened(home) as second:
        home.write("onetool.yaml", "approval: {deny: ['time.*']}")
        await second.reload()
        call = asyncio.create_task(
            first.call(first.new_call("time.now", {}, "python"), Caller(door="python"))
        )
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        later = await first.call(first.new_call("time.now", {}, "python"), Caller(door="python"))
    assert later.meta.reason is Reason.NEEDS_APPROVAL


@pytest.mark.parametrize("wrap", [str, json.dumps, repr, lambda text: json.dumps({"k": json.dumps(text)})])
async def test_a_secret_inside_written_text_is_masked(wrap, capsys):
    """A key of several lines, as JSON in a text, as repr, in a log line: no line of it comes out."""

    def give() -> str:
        import logging

        logging.getLogger("onetool.demo").warning("config %r", {"key": PEM})
        return wrap(PEM)

    async with memory_runtime({"demo": [give]}, secrets={"KEY": PEM}) as ot:
        result = await ot.call("demo.give")
    assert "MIICdg" not in json.dumps(result.to_json())
    assert "MIICdg" not in capsys.readouterr().err


def bomb(word: str, levels: int) -> dict[str, Any]:
    defs = {f"a{n}": {word: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/a0", "$defs": {**defs, f"a{levels}": {"type": "string"}}}


@pytest.mark.parametrize("word", ["anyOf", "allOf", "oneOf"])
def test_a_small_schema_cannot_become_a_huge_one(word):
    """References that double at each level are refused, and converted within bounds."""
    started = time.monotonic()
    with pytest.raises(InvalidTool, match="when its references are followed"):
        compile_schema(bomb(word, 40))
    gemini_schema({"type": "object", "properties": {"p": bomb(word, 40)}, "$defs": bomb(word, 40)["$defs"]})
    assert time.monotonic() - started < 2


def test_ordinary_schemas_with_references_are_taken():
    """Trees and shared parts are common, and a schema may contain itself."""
    node = {"$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"}
    assert compile_schema(node)
    deep: dict[str, Any] = {}
    for _ in range(3000):
        deep = {"not": deep}
    with pytest.raises(InvalidTool):
        compile_schema(deep)


@pytest.mark.parametrize(
    "bad",
    [
        "def g(x: int = 2**70): ...",
        'def g():\n    """\\ud800"""\n',
        "import json\njson.dumps = None\ndef g(): ...\n",
    ],
)
def test_one_bad_file_leaves_the_others(home, bad):
    """Whatever a pack file does to the index or to the child, the good one beside it works."""
    home.write("tools/a_bad.py", bad)
    home.write("tools/z_good.py", "def f() -> int:\n    return 1\n")
    (home.config / "tools" / "dir.py").mkdir()
    with onetool_runtime() as ot:
        assert ot.call("z_good.f").data == 1


def test_a_state_directory_that_cannot_be_written_stops_nothing(home, monkeypatch):
    """Nothing is remembered between processes then, and the log says so."""
    blocked = home.cwd / "file"
    blocked.write_text("")
    monkeypatch.setenv("ONETOOL_STATE_DIR", str(blocked / "state"))
    with onetool_runtime() as ot:
        assert ot.call("time.now").ok


@pytest.mark.parametrize(
    "values",
    [
        {"timeout": "5"},
        {"timeout": float("nan")},
        {"timeout": 0},
        {"max_concurrent": -1},
        {"max_concurrent": "2"},
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(values):
    """At the decorator, with the value and what would be right."""
    with pytest.raises(ValueError, match="should be"):
        Declaration(**values)
    with pytest.raises(ValueError, match="should be"):
        tool(**values)


@pytest.mark.parametrize("target", ["/dev/zero", "fifo"])
def test_a_project_cannot_hang_us_with_what_it_links_to(home, target):
    """A device or a pipe in the place of a settings file is not read."""
    project = home.cwd / ".onetool"
    project.mkdir()
    if target == "fifo":
        os.mkfifo(project / "onetool.yaml")
    else:
        (project / "onetool.yaml").symlink_to(target)
    assert load_configuration(find_places(home.env, home.cwd), {}).settings.aliases == {}


def test_a_linked_project_is_the_project_it_links_to(home, tmp_path):
    """Trust and paths belong to the directory itself, not to where a link to it lies."""
    real = tmp_path / "real" / ".onetool"
    real.mkdir(parents=True)
    (home.cwd / ".onetool").symlink_to(real)
    assert find_places(home.env, home.cwd).project == real.resolve()


@pytest.mark.parametrize(
    "text",
    [
        'docs_base: !!int ""',
        "docs_base: !!bool maybe",
        "docs_base: !!timestamp foo",
        'docs_base: !!float ""',
        "docs_base: 0x" + "F" * 5000,
        "fs: {roots: ['~nosuchuser/x']}",
        'fs: {roots: ["a\\0b"]}',
        "tools_dirs: ['~nosuchuser/x']",
    ],
)
def test_odd_values_are_settings_errors(home, text):
    """Never a traceback: file, line and what is wrong."""
    file = home.write("onetool.yaml", text)
    with pytest.raises(SettingsError) as caught:
        load_configuration(find_places(home.env, home.cwd), {})
    assert str(caught.value).startswith(f"{file}:1: ")


def test_an_odd_secret_is_not_repeated(home):
    """Not even in the error of a conversion."""
    home.write("secrets.yaml", "TOKEN: !!bool hunter2-canary\n")
    with pytest.raises(SettingsError) as caught:
        load_configuration(find_places(home.env, home.cwd), {})
    assert "hunter2" not in str(caught.value)


def test_python_m_imports_nothing_from_the_working_directory(home):
    """A file there cannot stand in for one of our modules."""
    (home.cwd / "click.py").write_text("print('owned')")
    done = subprocess.run(
        [sys.executable, "-m", "onetool", "--version"], capture_output=True, text=True, timeout=60
    )
    assert "owned" not in done.stdout
    assert done.returncode == 0


async def test_a_tool_whose_caller_has_left_calls_nobody():
    """What changes things does not run for a call that is over."""
    ran, over = [], asyncio.Event()
    loop = asyncio.get_running_loop()

    def late() -> None:
        time.sleep(0.4)
        try:
            call_tool("demo.change")
        finally:
            loop.call_soon_threadsafe(over.set)

    @tool(changes=True)
    def change() -> None:
        ran.append(1)

    async with memory_runtime({"demo": [late, change]}, settings={"execution": {"timeout_s": 0.1}}) as ot:
        assert (await ot.call("demo.late")).meta.reason is Reason.TIMEOUT
        await asyncio.wait_for(over.wait(), 5)
    assert not ran


async def test_whatever_stands_in_for_a_name_gets_an_answer():
    """A door that hands over nonsense is answered as well."""
    async with memory_runtime() as ot:
        for name in (None, 5, []):
            result = await ot.runtime.call(ot.runtime.new_call(name, {}, "rest"), ot.caller)
            assert not result.ok


async def test_a_sync_function_that_returns_an_awaitable_is_awaited():
    """A decorator may hide that a tool is async."""

    async def real() -> int:
        return 5

    def wrapped() -> Any:
        return real()

    async with memory_runtime({"demo": [wrapped]}) as ot:
        assert (await ot.call("demo.wrapped")).data == 5


def test_wire_names_never_meet():
    """Also where somebody has taken the name with a suffix already."""
    names = ["a__b", "a__b_2e7336", "a.b", *(f"{'x' * 70}.{n}" for n in range(3000))]
    assert len(set(wire_names(names).values())) == len(names)


MOCK = """
tools:
  - {{name: {name}, description: x, type: function, handler: x, parameters: {{type: object}},
     implementation: {{type: mock, mock_response: 1}}}}
"""


async def test_a_project_file_that_changes_while_we_run_is_held_back(home):
    """Trust holds for the tools that are read again between two calls, not only at the start."""
    project = home.cwd / ".onetool"
    project.mkdir()
    file = project / "onetool.yaml"
    file.write_text(MOCK.format(name="good"))
    save_trust(home.state, project.resolve(), [(file.resolve(), file.read_bytes())])
    async with opened(home) as runtime:
        person = Caller(door="python")
        assert (await runtime.call(runtime.new_call("good", {}, "python"), person)).ok
        file.write_text(MOCK.format(name="evil"))
        assert not (await runtime.call(runtime.new_call("evil", {}, "python"), person)).ok


async def test_denying_a_tool_denies_what_stands_for_it():
    """A configured tool that hands its work to a denied one is refused as well."""
    mine = {
        "name": "mine",
        "description": "x",
        "type": "function",
        "handler": "time.now",
        "parameters": {"type": "object"},
        "implementation": {"type": "builtin", "handler": "time.now"},
    }
    async with memory_runtime(settings={"tools": [mine], "approval": {"deny": ["time.*"]}}) as ot:
        assert (await ot.call("mine")).meta.reason is Reason.NEEDS_APPROVAL


async def test_a_secret_that_a_reload_brings_is_masked_at_once(home):
    """In the log as in replies."""
    code = "import logging\nfrom onetool.sdk import get_secret\nlog = logging.getLogger('onetool.mine')\n"
    code += "def f() -> str:\n    log.error('%s', get_secret('NEW'))\n    return 'ok'\n"
    home.write("tools/mine.py", code)
    async with opened(home) as runtime:
        home.write("secrets.yaml", "NEW: brand-new-canary\n")
        await runtime.reload()
        assert (await runtime.call(runtime.new_call("mine.f", {}, "python"), Caller(door="python"))).ok
    assert any(record["logger"] == "onetool.mine" for record in home.log())
    assert "brand-new-canary" not in json.dumps(home.log())


async def test_the_workers_own_timeout_holds_for_what_stands_for_it():
    """Whoever does the work knows how long it may take."""

    async def hang(args: Any, invocation: Any) -> None:
        await asyncio.Event().wait()

    worker = ToolSpec(name="a.worker", description="x", input_schema={"type": "object"}, timeout=0.1)
    front = ToolSpec(name="a.front", description="x", input_schema={"type": "object"}, handler="a.worker")
    registry = Registry()
    for made in (Tool(worker, hang), Tool(front)):
        registry.register(made)
    async with memory_runtime(sources=[Snapshot(Fixed("a", registry))]) as ot:
        started = time.monotonic()
        assert (await ot.call("a.front")).meta.reason is Reason.TIMEOUT
    assert time.monotonic() - started < 3


def test_trust_pins_what_was_shown_not_what_is_there_after_the_yes(home):
    """A file that is swapped while the question stands is held back."""
    project = home.cwd / ".onetool"
    project.mkdir()
    file = project / "onetool.yaml"
    file.write_text("aliases: {a: time.now}\n")
    child = subprocess.Popen(
        [sys.executable, "-m", "onetool", "trust"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    while "onetool.yaml" not in child.stdout.readline():
        pass
    file.write_text("aliases: {evil: time.now}\n")
    child.communicate("y\n", timeout=60)
    assert load_configuration(find_places(home.env, home.cwd), {}).settings.aliases == {}

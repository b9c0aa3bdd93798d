"""Regression tests for attacks and accidents that once succeeded."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from typing import Any

import pytest

from onetool import onetool_runtime
from onetool.bootstrap import open_runtime
from onetool.domain import Caller, Reason, Registry, Tool, ToolSpec
from onetool.domain.errors import InvalidTool, SettingsError
from onetool.domain.tools.gemini_schema import gemini_schema
from onetool.domain.tools.json_schema import compile_schema
from onetool.domain.tools.tool import ToolOptions
from onetool.domain.tools.wire_names import wire_names
from onetool.sdk import call_tool, call_tool_async, tool
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from onetool.settings.trust import save_trust
from onetool.sources.snapshot import SnapshotSource, StaticReader
from onetool.testing import memory_runtime
from support.cpu_time import growth
from support.waiting import HANG_S

PEM = "-----BEGIN KEY-----\nMIICdgIBADANBgkqhkiG9w0BAQ\n-----END KEY-----\n"


def open_home(home):
    return open_runtime(lambda: load_configuration(find_paths(home.env, home.cwd), {}))


def exit_process() -> None:
    sys.exit(7)


async def test_sys_exit_in_a_tool_fails_only_its_call():
    """The same applies to nested calls, from a thread or from the event loop."""

    def by_thread() -> None:
        call_tool("demo.exit_process")

    async def by_loop() -> None:
        await asyncio.gather(call_tool_async("demo.exit_process"))

    async with memory_runtime({"demo": [exit_process, by_thread, by_loop]}) as ot:
        assert (await ot.call("demo.by_thread")).error.message == "SystemExit: 7"
        assert "SystemExit" in (await ot.call("demo.by_loop")).error.message
        assert (await ot.call("tools.echo", message=1)).ok


class HeldReader:
    """A reader that reads until the test releases it, like the first scan of many pack files."""

    name = "slow"

    def __init__(self) -> None:
        self.current_generation, self.value, self.reads = 0, "old", 0
        self.reading, self.release = asyncio.Event(), asyncio.Event()

    def generation(self) -> int:
        return self.current_generation

    async def read(self) -> Registry:
        value = self.value
        self.reads += 1
        self.reading.set()
        await self.release.wait()

        async def run(args: Any, invocation: Any) -> str:
            return value

        registry = Registry()
        registry.register(
            Tool(ToolSpec(name="slow.f", description="x", input_schema={"type": "object"}), run)
        )
        return registry


async def let_others_run() -> None:
    """Let the other tasks run until each waits for an event."""
    for _ in range(50):
        await asyncio.sleep(0)


async def test_cancelled_caller_does_not_stop_the_reading_of_a_source():
    """Concurrent and later callers still get the tools, from the same reading."""
    reader = HeldReader()
    async with memory_runtime(sources=[SnapshotSource(reader)]) as ot, asyncio.timeout(HANG_S):
        first = asyncio.create_task(ot.call("slow.f"))
        await reader.reading.wait()
        second = asyncio.create_task(ot.call("slow.f"))
        await let_others_run()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        reader.release.set()
        assert (await second).data == "old"
        assert (await ot.call("slow.f")).data == "old"
    assert reader.reads == 1


async def test_call_during_a_change_does_not_cache_the_old_tool():
    """A tool resolved while its source is read again is not cached as the new one."""
    reader = HeldReader()
    reader.release.set()
    async with memory_runtime(sources=[SnapshotSource(reader)]) as ot, asyncio.timeout(HANG_S):
        await ot.call("slow.f")
        reader.value, reader.current_generation = "new", 1
        reader.reading.clear()
        reader.release.clear()
        first = asyncio.create_task(ot.call("slow.f"))
        await reader.reading.wait()
        others = [asyncio.create_task(ot.call("slow.f")) for _ in range(5)]
        await let_others_run()
        reader.release.set()
        await asyncio.gather(first, *others)
        assert (await ot.call("slow.f")).data == "new"


async def test_reload_completes_although_the_caller_that_triggered_it_is_cancelled(home):
    """The reload was signalled by another process."""
    home.write("onetool.yaml", "aliases: {}")
    async with open_home(home) as first, open_home(home) as second:
        home.write("onetool.yaml", "approval: {deny: ['time.*']}")
        await second.reload()
        call = asyncio.create_task(first.call_tool("time.now", {}, Caller(interface="python"), "python"))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        later = await first.call_tool("time.now", {}, Caller(interface="python"), "python")
    assert later.meta.reason is Reason.NEEDS_APPROVAL


@pytest.mark.parametrize("wrap", [str, json.dumps, repr, lambda text: json.dumps({"k": json.dumps(text)})])
async def test_multiline_secret_inside_serialized_text_is_masked(wrap, capsys):
    """No line of the key appears, whether the text is JSON, a repr or a log message."""

    def leak() -> str:
        import logging

        logging.getLogger("onetool.demo").warning("config %r", {"key": PEM})
        return wrap(PEM)

    async with memory_runtime({"demo": [leak]}, secrets={"KEY": PEM}) as ot:
        result = await ot.call("demo.leak")
    assert "MIICdg" not in json.dumps(result.to_json())
    assert "MIICdg" not in capsys.readouterr().err


def doubling_schema(keyword: str, levels: int) -> dict[str, Any]:
    """Return a schema whose size doubles with each level of references."""
    defs = {f"a{n}": {keyword: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/a0", "$defs": {**defs, f"a{levels}": {"type": "string"}}}


@pytest.mark.guards("tool-schema")
@pytest.mark.parametrize("keyword", ["anyOf", "allOf", "oneOf"])
def test_schema_that_expands_exponentially_is_rejected(keyword):
    """It costs no more than a schema that is a little too large, and neither does its Gemini schema."""

    def expand(levels: int) -> None:
        schema = doubling_schema(keyword, levels)
        with pytest.raises(InvalidTool, match="when its references are expanded"):
            compile_schema(schema)
        gemini_schema({"type": "object", "properties": {"p": schema}, "$defs": schema["$defs"]})

    assert growth(expand, 12, 16) < 4
    expand(40)


def test_recursive_schema_is_accepted_and_too_deep_one_rejected():
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
def test_bad_pack_file_does_not_affect_other_packs(home, bad):
    """The bad file breaks the index or the inspector process."""
    home.write("tools/a_bad.py", bad)
    home.write("tools/z_good.py", "def f() -> int:\n    return 1\n")
    (home.config / "tools" / "dir.py").mkdir()
    with onetool_runtime() as ot:
        assert ot.call("z_good.f").data == 1


def test_calls_work_with_an_unwritable_state_directory(home, monkeypatch):
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
def test_invalid_tool_options_raise_value_error(values):
    """The decorator and the options name the expected value."""
    with pytest.raises(ValueError, match="must be"):
        ToolOptions(**values)
    with pytest.raises(ValueError, match="must be"):
        tool(**values)


@pytest.mark.parametrize("target", ["/dev/zero", "fifo"])
def test_device_or_pipe_as_project_settings_file_is_not_read(home, target):
    """Reading it would block forever."""
    project = home.cwd / ".onetool"
    project.mkdir()
    if target == "fifo":
        os.mkfifo(project / "onetool.yaml")
    else:
        (project / "onetool.yaml").symlink_to(target)
    assert load_configuration(find_paths(home.env, home.cwd), {}).settings.aliases == {}


def test_symlinked_project_resolves_to_the_real_directory(home, tmp_path):
    """Trust and paths apply to the target of the link."""
    real = tmp_path / "real" / ".onetool"
    real.mkdir(parents=True)
    (home.cwd / ".onetool").symlink_to(real)
    assert find_paths(home.env, home.cwd).project == real.resolve()


@pytest.mark.parametrize(
    "text",
    [
        'docs_base_url: !!int ""',
        "docs_base_url: !!bool maybe",
        "docs_base_url: !!timestamp foo",
        'docs_base_url: !!float ""',
        "docs_base_url: 0x" + "F" * 5000,
        "fs: {roots: ['~nosuchuser/x']}",
        'fs: {roots: ["a\\0b"]}',
        "tools_dirs: ['~nosuchuser/x']",
    ],
)
def test_unusual_yaml_values_raise_settings_errors_with_file_and_line(home, text):
    file = home.write("onetool.yaml", text)
    with pytest.raises(SettingsError) as caught:
        load_configuration(find_paths(home.env, home.cwd), {})
    assert str(caught.value).startswith(f"{file}:1: ")


def test_settings_error_does_not_contain_the_invalid_secret(home):
    home.write("secrets.yaml", "TOKEN: !!bool hunter2-canary\n")
    with pytest.raises(SettingsError) as caught:
        load_configuration(find_paths(home.env, home.cwd), {})
    assert "hunter2" not in str(caught.value)


def test_python_m_onetool_imports_nothing_from_the_working_directory(home):
    """A file there cannot shadow an imported module."""
    (home.cwd / "click.py").write_text("print('owned')")
    done = subprocess.run(
        [sys.executable, "-m", "onetool", "--version"], capture_output=True, text=True, timeout=60
    )
    assert "owned" not in done.stdout
    assert done.returncode == 0


async def test_timed_out_tool_cannot_call_other_tools():
    """A tool that is not read-only must not run after its caller timed out."""
    ran, timed_out, finished = [], threading.Event(), threading.Event()

    def late() -> None:
        timed_out.wait(HANG_S)
        try:
            call_tool("demo.change")
        finally:
            finished.set()

    @tool(read_only=False)
    def change() -> None:
        ran.append(1)

    async with memory_runtime({"demo": [late, change]}, settings={"execution": {"timeout_s": 0.5}}) as ot:
        assert (await ot.call("demo.late")).meta.reason is Reason.TIMEOUT
        timed_out.set()
        assert await asyncio.to_thread(finished.wait, HANG_S)
    assert not ran


async def test_call_with_an_invalid_name_returns_an_error_result():
    """The name may have any type, for example from malformed JSON."""
    async with memory_runtime() as ot:
        for name in (None, 5, []):
            result = await ot.runtime.call_tool(name, {}, ot.caller, "rest")
            assert not result.ok


async def test_a_sync_function_that_returns_an_awaitable_is_awaited():
    """A decorator may hide that a tool is async."""

    async def real() -> int:
        return 5

    def wrapped() -> Any:
        return real()

    async with memory_runtime({"demo": [wrapped]}) as ot:
        assert (await ot.call("demo.wrapped")).data == 5


def test_wire_names_never_collide():
    """A tool name may already equal the suffixed wire name of another tool."""
    names = ["a__b", "a__b_2e7336", "a.b", *(f"{'x' * 70}.{n}" for n in range(3000))]
    assert len(set(wire_names(names).values())) == len(names)


MOCK = """
tools:
  - {{name: {name}, description: x, type: function, handler: x, parameters: {{type: object}},
     implementation: {{type: mock, mock_response: 1}}}}
"""


@pytest.mark.parametrize("pattern", ["evil", "ev*", "time.*"])
async def test_tool_and_the_pattern_that_denies_it_take_effect_together(home, pattern):
    """A new tool in the settings is visible without a reload, and so is its denial in the same edit."""
    tool = {"name": "evil", "description": "x", "type": "function", "handler": "time.now"}
    tool |= {"parameters": {"type": "object"}, "implementation": {"type": "builtin", "handler": "time.now"}}
    caller = Caller(interface="python")
    home.write("onetool.yaml", json.dumps({"tools": []}))
    async with open_home(home) as runtime:
        home.write("onetool.yaml", json.dumps({"tools": [tool]}))
        assert (await runtime.call_tool("evil", {}, caller, "python")).ok
        home.write("onetool.yaml", json.dumps({"tools": [tool], "approval": {"deny": [pattern]}}))
        denied = await runtime.call_tool("evil", {}, caller, "python")
    assert "denied by approval.deny" in denied.error.message


async def test_project_file_that_changes_at_runtime_is_untrusted(home):
    """Trust is checked whenever tools are read again, not only at the start."""
    project = home.cwd / ".onetool"
    project.mkdir()
    file = project / "onetool.yaml"
    file.write_text(MOCK.format(name="good"))
    save_trust(home.state, project.resolve(), [(file.resolve(), file.read_bytes())])
    async with open_home(home) as runtime:
        caller = Caller(interface="python")
        assert (await runtime.call_tool("good", {}, caller, "python")).ok
        file.write_text(MOCK.format(name="evil"))
        assert not (await runtime.call_tool("evil", {}, caller, "python")).ok


async def test_denying_a_tool_denies_configured_tools_that_delegate_to_it():
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


async def test_secret_added_by_a_reload_is_masked_in_the_log_at_once(home):
    code = "import logging\nfrom onetool.sdk import get_secret\nlog = logging.getLogger('onetool.mine')\n"
    code += "def f() -> str:\n    log.error('%s', get_secret('NEW'))\n    return 'ok'\n"
    home.write("tools/mine.py", code)
    async with open_home(home) as runtime:
        home.write("secrets.yaml", "NEW: brand-new-canary\n")
        await runtime.reload()
        assert (await runtime.call_tool("mine.f", {}, Caller(interface="python"), "python")).ok
    assert any(record["logger"] == "onetool.mine" for record in home.log())
    assert "brand-new-canary" not in json.dumps(home.log())


async def test_timeout_of_the_handler_applies_to_a_tool_that_delegates_to_it():
    """The handler hangs, and no other limit ends the call soon."""

    async def hang(args: Any, invocation: Any) -> None:
        await asyncio.Event().wait()

    worker = ToolSpec(name="a.worker", description="x", input_schema={"type": "object"}, timeout=0.1)
    front = ToolSpec(name="a.front", description="x", input_schema={"type": "object"}, handler="a.worker")
    registry = Registry()
    for definition in (Tool(worker, hang), Tool(front)):
        registry.register(definition)
    sources, settings = [SnapshotSource(StaticReader("a", registry))], {"execution": {"timeout_s": 3600}}
    async with memory_runtime(sources=sources, settings=settings) as ot, asyncio.timeout(HANG_S):
        assert (await ot.call("a.front")).meta.reason is Reason.TIMEOUT

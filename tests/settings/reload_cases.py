"""For each setting: two values, and an effect that shows which of them is in use."""

import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any, get_args, get_type_hints
from uuid import uuid4

from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from embeddings.tiny_model import write_model
from onetool.bootstrap import open_runtime
from onetool.conversation.conversation import AskRequest
from onetool.conversation.lifespan import open_conversation
from onetool.domain.activity.record import CallRecord
from onetool.domain.activity.rollup import RollUp
from onetool.domain.bundles.bundle import BundleConflict
from onetool.domain.calls.caller import Caller, never_approve
from onetool.domain.calls.effect import Effect
from onetool.domain.calls.question import Asker
from onetool.domain.content.media import Media
from onetool.domain.identity.principal import LOCAL
from onetool.interfaces.mcp.mcp_endpoint import McpEndpoint, create_endpoint
from onetool.interfaces.mcp.replies import media_block
from onetool.interfaces.mcp.server import create_server
from onetool.interfaces.mcp.transports import http_app
from onetool.runtime.active_call import current_call
from onetool.sdk import get_config, http_client, safe_request, tool
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from onetool.testing import HttpStub
from onetool.testing.runtime import MemoryClient, function_source
from support.paths import MCP_SERVERS
from support.rest_in_process import serve_rest
from support.user_home import Home
from support.waiting import HANG_S, until

log = logging.getLogger("onetool.reload_cases")
SCRIPT = str(MCP_SERVERS / "faulty_server.py")
DAY_S = 86_400


def setting_names(kind: Any, prefix: str = "") -> Iterator[str]:
    """Yield the name of every setting that is not a group of others."""
    hints = get_type_hints(kind)
    for declared in fields(kind):
        name = f"{prefix}{declared.name}"
        types = [hints[declared.name], *get_args(hints[declared.name])]
        groups = [group for group in types if is_dataclass(group)]
        separator = "." if groups and groups[0] is types[0] else ".*."
        yield from setting_names(groups[0], name + separator) if groups else [name]


@dataclass
class HeldCalls:
    """Calls of `demo.hold`, which end when they are released."""

    running: int = 0
    peak: int = 0
    released: asyncio.Event = field(default_factory=asyncio.Event)
    tasks: list["asyncio.Task[Any]"] = field(default_factory=list)

    async def hold(self) -> None:
        self.running += 1
        self.peak = max(self.peak, self.running)
        await self.released.wait()
        self.running -= 1

    def start(self, call: Callable[[], Any], count: int) -> None:
        self.tasks += [asyncio.ensure_future(call()) for _ in range(count)]

    async def until_running(self, count: int) -> None:
        await until(lambda: self.running >= count)


class World:
    """A running OneTool, the settings files of its user, and what it reaches."""

    def __init__(self, home: Home, capfd: Any, stub: HttpStub, stack: AsyncExitStack) -> None:
        self.home, self.stub, self._capfd, self._stack = home, stub, capfd, stack
        self.ot: MemoryClient
        self.steps: list[asyncio.Event] = []
        self._held: HeldCalls
        self._stderr = ""
        self._mcp: Any = None

    def write(self, settings: dict[str, Any]) -> None:
        """Write the settings; those under `prompts` to `prompts.yaml`. Secrets are in a file or a command."""
        is_command = settings.get("secrets", {}).get("backend") == "command"
        for file, content in (
            ("prompts.yaml", settings.get("prompts", {})),
            ("secrets.yaml", {"ONE": None} if is_command else {"ONE": "key-one", "TWO": "key-two"}),
            ("onetool.yaml", {key: value for key, value in settings.items() if key != "prompts"}),
        ):
            text = json.dumps(content).replace("{cwd}", str(self.home.cwd)).replace("{stub}", self.stub.url)
            self.home.write(file, text)

    def with_profile(self) -> MemoryClient:
        """Return a client that the profile `part` restricts."""
        return replace(self.ot, caller=replace(self.ot.caller, principal=LOCAL.with_profile("part")))

    @asynccontextmanager
    async def held_calls(self) -> AsyncIterator[HeldCalls]:
        """Release the calls at the end, and wait until all of them have succeeded."""
        self._held = HeldCalls()
        yield self._held
        self._held.released.set()
        assert all(result.ok for result in await asyncio.gather(*self._held.tasks))

    async def hold(self) -> None:
        """Run until the test releases the call."""
        await self._held.hold()

    async def step(self, number: int) -> bool:
        """Return whether the other step starts before this one ends."""
        self.steps[number].set()
        try:
            await asyncio.wait_for(self.steps[1 - number].wait(), 2)
        except TimeoutError:
            return False
        return True

    async def flush_log(self) -> str:
        """Wait until the log is written, and return everything that was written to stderr."""
        mark = uuid4().hex
        log.critical(mark)

        def is_written() -> bool:
            self._stderr += self._capfd.readouterr().err
            return mark in self._stderr

        await until(is_written)
        return self._stderr

    async def mcp_client(self) -> Client:
        """Connect a client to the MCP endpoint, which is created once."""
        if self._mcp is None:
            runtime = self.ot.runtime
            app = await self._stack.enter_async_context(
                http_app(create_server(runtime, runtime.state.configuration.settings.expose))
            )
            self._mcp = await self._stack.enter_async_context(serve_rest(runtime, mounts={"/mcp": app}))
        url = f"{str(self._mcp.base_url).rstrip('/')}/mcp"
        return await self._stack.enter_async_context(
            Client(streamable_http_client(url, http_client=self._mcp))
        )

    async def ask(self, text: str = "hi", **options: Any) -> Any:
        """Ask the default chat model."""
        async with open_conversation(self.ot.runtime, **options) as conversation:
            return await conversation.ask(AskRequest(text=text, default_effect=Effect.ALLOW))


def remaining() -> float:
    """Return the seconds until the deadline of this call."""
    return current_call().invocation.deadline - time.monotonic()


def greeting() -> Any:
    """Return a setting of this pack."""
    return get_config("packs.demo.greeting")


@tool(read_only=False)
def change() -> str:
    """Change something."""
    return "changed"


def fetch(url: str) -> bool:
    """Return whether a URL can be fetched."""
    return safe_request(http_client(), "GET", url)[0]


@asynccontextmanager
async def open_world(home: Home, capfd: Any, settings: dict[str, Any]) -> AsyncIterator[World]:
    """Start OneTool with these settings and the pack `demo`."""
    paths = find_paths(home.env, home.cwd)
    async with AsyncExitStack() as stack:
        stub = stack.enter_context(HttpStub({}))
        world = World(home, capfd, stub, stack)
        world.write(settings)

        async def hold() -> None:
            await world.hold()

        @tool(max_concurrent=1)
        async def hold_alone() -> None:
            await world.hold()

        @tool(parallel=True)
        async def step(number: int) -> bool:
            return await world.step(number)

        demo = function_source("demo", [remaining, greeting, change, fetch, hold, hold_alone, step])
        runtime = await stack.enter_async_context(
            open_runtime(lambda: load_configuration(paths, os.environ), sources=[demo])
        )
        world.ot = MemoryClient(runtime)
        yield world


Observe = Callable[[World], Awaitable[Any]]


ABSENT = object()
"""In place of a value: the base decides, or the default."""


@dataclass(frozen=True)
class Case:
    """Two values of a setting, and what is observed with each of them."""

    before: Any
    after: Any
    observe: Observe
    expected: tuple[Any, Any] = (False, True)
    base: Mapping[str, Any] | None = None
    """The other settings, if they are not those in `BASES`."""

    def settings(self, name: str) -> tuple[Any, Any]:
        """Return all settings before and after the change."""
        path = name.replace(": ", ".")
        base = BASES.get(path.partition(".")[0], {}) if self.base is None else self.base
        return with_value(base, path, self.before), with_value(base, path, self.after)


def with_value(group: Any, path: str, value: Any) -> Any:
    """Return settings with another value. In its path, `*` is the first entry of a group."""
    if value is ABSENT:
        return group
    first, _, rest = path.partition(".")
    if isinstance(group, list):
        return [with_value(group[0], rest, value), *group[1:]]
    key = next(iter(group)) if first == "*" else first
    return {**group, key: with_value(group.get(key, {}), rest, value) if rest else value}


def ok(start: Callable[[World], Awaitable[Any]]) -> Observe:
    async def observe(world: World) -> bool:
        return (await start(world)).ok

    return observe


def data(start: Callable[[World], Awaitable[Any]]) -> Observe:
    async def observe(world: World) -> Any:
        return (await start(world)).data

    return observe


def call_ok(name: str, **args: Any) -> Observe:
    return ok(lambda world: world.ot.call(name, **args))


def call_data(name: str, **args: Any) -> Observe:
    return data(lambda world: world.ot.call(name, **args))


def run_ok(code: str) -> Observe:
    return ok(lambda world: world.ot.run(code))


def run_data(code: str) -> Observe:
    return data(lambda world: world.ot.run(code))


def contains(observe: Observe, text: str) -> Observe:
    async def observe_text(world: World) -> bool:
        return text in str(await observe(world))

    return observe_text


def longer_than(observe: Observe, seconds: float) -> Observe:
    async def observe_number(world: World) -> bool:
        return await observe(world) > seconds

    return observe_number


def unapproved_ok(name: str, **args: Any) -> Observe:
    """Whether a call succeeds although its caller approves nothing."""
    caller = Caller(interface="python", approve=never_approve)
    return ok(lambda world: replace(world.ot, caller=caller).call(name, **args))


def profile_ok(name: str, **args: Any) -> Observe:
    """Whether a call succeeds for a caller with the profile."""
    return ok(lambda world: world.with_profile().call(name, **args))


async def profile_reads_file(world: World) -> bool:
    return await read_file(world, world.with_profile())


async def profile_expose(world: World) -> str:
    """Return what a new client with the profile is told."""
    instructions = create_endpoint(world.ot.runtime, McpEndpoint(profile="part")).instructions
    return next(words for words in ("find_tools", "every tool") if words in instructions)


def peak(call: Callable[[World], Awaitable[Any]], *, limits: tuple[int, int] = (1, 2)) -> Observe:
    """Return how many of four calls run at once. It cannot be more than the larger limit."""
    expected = iter(limits)

    async def observe(world: World) -> int:
        async with world.held_calls() as calls:
            calls.start(partial(call, world), 4)
            await calls.until_running(next(expected))
        return calls.peak

    return observe


async def pack_ok(world: World) -> bool:
    (world.home.cwd / "packs").mkdir(exist_ok=True)
    (world.home.cwd / "packs" / "mine.py").write_text("def one() -> int:\n    return 1\n")
    return (await world.ot.call("mine.one")).ok


async def notify(world: World) -> str:
    return str((await world.ot.call("ot.notify", topic="builds", message="done")).data)


async def time_saved(world: World) -> bool:
    await world.ot.run("tools.echo(message=1)\ntools.echo(message=2)")
    return (await world.ot.call("ot.stats")).data["time_saved_ms"] > 0


async def recorded_arguments(world: World) -> str | None:
    """Return what the record of a call has of its arguments, or None if there is no record."""
    result = await world.ot.call("tools.echo", message="a message")
    record = await (await world.ot.runtime.recorder.written()).get(result.meta.call_id)
    return None if record is None else record.arguments


def is_kept(age_s: float, size: int) -> Observe:
    """Return whether a record with its body is there after the next call."""

    async def observe(world: World) -> bool:
        store, ended, ids = await world.ot.runtime.recorder.written(), time.time() - age_s, list[str]()
        for _ in range(3):
            ids.append(str(uuid4()))
            await store.add([CallRecord(ids[-1], "x.y", ended, ended, arguments="x" * size)], RollUp())
        await world.ot.call("tools.echo", message=1)
        record = await (await world.ot.runtime.recorder.written()).get(ids[0])
        return record is not None and bool(record.arguments)

    return observe


async def is_stored_result_readable(world: World) -> bool:
    stored = await world.ot.runtime.state.model_output.render_value("x" * 60_000, "demo.tool")
    result = await world.ot.call("ot.result", handle=stored.handle)
    return result.ok and "expired" not in str(result.data)


async def is_result_inline(world: World) -> bool:
    return not (await world.ot.runtime.state.model_output.render_value("x" * 2_000, "demo.tool")).handle


async def are_media_sent(world: World) -> bool:
    return (await media_block(world.ot.runtime, Media(bytes(2_000), "image/png"), "demo.tool"))[
        "type"
    ] == "image"


async def can_store_a_tool(world: World) -> bool:
    bundles = world.ot.runtime.state.bundles
    bundle, _ = await bundles.put_bundle(world.ot.runtime.new_id(), {"slug": uuid4().hex[:8]})
    try:
        await bundles.put_tool((bundle.id, "a", "v1"), {"type": "python", "pythonImpl": {"func": "time.now"}})
    except BundleConflict:
        return False
    return True


async def read_file(world: World, ot: MemoryClient | None = None) -> bool:
    (world.home.cwd / "sub").mkdir(exist_ok=True)
    (world.home.cwd / "note.txt").write_text("note")
    return (await (ot or world.ot).call("fs.read_file", path=str(world.home.cwd / "note.txt"))).ok


async def fetch_stub(world: World) -> bool:
    await world.ot.call("demo.fetch", url=f"{world.stub.url}/page")
    return any(request.path == "/page" for request in world.stub.requests)


async def approval_timeout(world: World) -> str:
    async def never_decide(request: Any) -> bool:
        await asyncio.sleep(HANG_S)
        return True

    caller = Caller(interface="python", approve=never_decide)
    message = (await replace(world.ot, caller=caller).call("demo.change")).error.message
    return message.partition("within ")[2].partition(".")[0]


async def is_handed_over(world: World) -> bool:
    """Whether a run of an MCP client becomes a job although it takes only a moment."""
    command = "import asyncio\nawait asyncio.sleep(1)"
    result = await (await world.mcp_client()).call_tool("run", {"command": command})
    return "still running" in result.content[0].text


async def seen_by_server(world: World) -> list[str]:
    """Return what a server may ask the caller."""
    asker = Asker(capabilities={"elicitation": {}, "sampling": {}})
    caller = Caller(interface="mcp", default_effect=Effect.ALLOW, asker=asker)
    result = await world.ot.runtime.call_tool("s.capabilities", {}, caller, "mcp")
    return sorted(json.loads(result.data))


async def mcp_change(world: World) -> bool:
    result = await (await world.mcp_client()).call_tool("run", {"command": "demo.change()"})
    return not result.is_error


async def mcp_instructions(world: World) -> str:
    return (await world.mcp_client()).instructions.partition("\n")[2]


async def registry_url(world: World) -> str:
    """Return the setting itself: only commands use it, and each of them reads the settings."""
    return world.ot.runtime.state.configuration.settings.registry.base_url


async def secret_value(world: World) -> str:
    secrets = world.ot.runtime.state.configuration.secrets
    return secrets["ONE"].value if "ONE" in secrets else secrets.unavailable["ONE"]


async def exposed(world: World) -> str:
    names = [listed.name for listed in (await (await world.mcp_client()).list_tools()).tools]
    return {"run": "run", "find_tools": "search"}.get(names[0], "all")


async def info_on_stderr(world: World) -> bool:
    mark = uuid4().hex
    log.info(mark)
    return mark in await world.flush_log()


async def in_log_file(world: World) -> bool:
    mark = uuid4().hex
    log.error(mark)
    await world.flush_log()
    return any(record["message"] == mark for record in world.home.log())


async def is_log_rotated(world: World) -> bool:
    log.error("x" * 12_000)
    await world.flush_log()
    return (world.home.state / "onetool.1.jsonl").exists()


async def is_session_kept(world: World) -> bool:
    await world.ot.runtime.sessions.append("old", [{"kind": "title", "title": "old"}])
    file = world.home.root / "data" / "sessions" / "old.jsonl"
    os.utime(file, (time.time() - 10 * DAY_S,) * 2)
    await world.ask(provider="scripted")
    return file.exists()


async def do_steps_overlap(world: World) -> bool:
    world.steps = [asyncio.Event(), asyncio.Event()]
    calls = [{"name": "demo.step", "args": {"number": number}} for number in (0, 1)]
    script = world.home.cwd / "script.yaml"
    script.write_text(json.dumps([{"calls": calls}, {"text": "done"}]))
    result = await world.ask(provider="scripted", script=str(script))
    return "true" in str(result.results[0].data).lower()


async def embeds(world: World) -> bool:
    directory = world.home.cwd / "model"
    if not directory.exists():
        write_model(directory)
        return False
    await world.ot.call("ot.find", query="read a file")
    await until(lambda: list((world.home.state / "vectors").glob("*.vectors")))
    return True


async def scripted_answer(world: World) -> str:
    (world.home.cwd / "one").write_text(json.dumps([{"text": "one", "delay_s": 0.5}]))
    result = await world.ask()
    return result.failure.kind if result.failure else result.text


async def has_cost(world: World) -> bool:
    (world.home.cwd / "one").write_text(json.dumps([{"text": "a long answer " * 10}]))
    return bool((await world.ask()).cost)


def provider_request(part: str) -> Observe:
    """Return the path, the model or a header of the request that the provider receives."""

    async def observe(world: World) -> Any:
        await world.ask()
        request = world.stub.requests[-1]
        headers = {name.lower(): value for name, value in request.headers.items()}
        return (headers | {"path": request.path, "model": json.loads(request.body)["model"]})[part]

    return observe


async def takes_images(world: World) -> bool:
    model = world.ot.runtime.state.chat_models.open("p")
    await model.aclose()
    return bool(model.image_types)


def server_request(header: str) -> Observe:
    async def observe(world: World) -> str:
        world.stub.requests.clear()
        await world.ot.call("ot.health")
        first = world.stub.requests[0]
        return first.path if header == "path" else first.headers.get(header, "")

    return observe


async def credentials_of(world: World) -> str:
    """Return whose credentials the server is called with. With one user, it makes no other difference."""
    logins = world.ot.runtime.state.servers["s"].logins
    assert logins is not None
    return logins.credentials


async def server_log_exists(world: World) -> bool:
    await world.ot.call("s.echo", text="x")
    return (world.home.cwd / "server.log").exists()


async def hang_ends_first(world: World) -> bool:
    """Whether a call that hangs times out before two seconds have passed."""
    await world.ot.call("s.pid")
    hanging = asyncio.ensure_future(world.ot.call("s.hang"))
    waiting = asyncio.ensure_future(asyncio.sleep(2))
    done, pending = await asyncio.wait({hanging, waiting}, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    return hanging in done


async def restrictions(world: World) -> str:
    return await world.ot.runtime.state.servers["s"].restrictions()


async def is_network_restricted(world: World) -> bool:
    return "network not restricted" not in await restrictions(world)


async def runs_in_working_directory(world: World) -> bool:
    return (await world.ot.call("s.cwd")).data == str(world.home.cwd)


async def added_tool_ok(world: World) -> bool:
    """Call a tool that the server adds after its first listing."""
    listing = world.home.cwd / "listing.json"

    def write(*names: str) -> None:
        tools = [{"name": name, "description": name, "inputSchema": {"type": "object"}} for name in names]
        listing.write_text(json.dumps(tools))

    if not listing.exists():
        write("first")
        await world.ot.call("s.first")
    write("first", "second")
    await world.ot.call("s.first")  # starts the server if it is new
    return (await world.ot.call("s.second")).ok


def spec_of(field: str) -> Observe:
    """Return a field of the definition of `s.echo`."""

    async def observe(world: World) -> Any:
        found = await world.ot.runtime.state.catalog.find("s.echo")
        return found and getattr(found.spec, field)

    return observe


def server(mode: str = "good", *args: str, **settings: Any) -> dict[str, Any]:
    entry = {"command": sys.executable, "args": ["-I", SCRIPT, mode, *args], "sandbox": False}
    return {"servers": {"s": entry | settings}}


def sandboxed(*args: str, **settings: Any) -> dict[str, Any]:
    return server("good", *args, **{"sandbox": True, "paths": [{"path": SCRIPT}]} | settings)


def scripted(**settings: Any) -> dict[str, Any]:
    return {"providers": {"scripted": {"model": "one", **settings}}}


def secret_command(*command: str) -> dict[str, Any]:
    return {"secrets": {"backend": "command", "command": [*command]}}


MOCK = {
    "name": "mock",
    "description": "A mock.",
    "type": "function",
    "handler": "mock",
    "parameters": {"type": "object"},
    "implementation": {"type": "mock", "mock_response": 1},
}
ASKING_ARGS = ["-I", str(MCP_SERVERS / "asking_server.py"), "--modern", "{cwd}/log"]
ASKING = server(args=ASKING_ARGS)
REMOTE = {"servers": {"s": {"url": "{stub}/a"}}}
OVERRIDDEN = server(tools={"echo": {}})
SNIPPET = {"snippets": {"s": {"body": "1"}}}
BASES: Mapping[str, Any] = {
    "servers": server(),
    "snippets": {"snippets": {"s": {"body": "{{ x }}", "params": {"x": {}}}}},
    "providers": {"providers": {"p": {"base_url": "{stub}", "model": "m"}}},
    "profiles": {"profiles": {"part": {}}},
    "topics": {"topics": [{"pattern": "*", "file": "{cwd}/a"}]},
}
"""Settings without which a value has no effect, by group."""
HELP, TOOLS_HELP = call_data("ot.help", query="$s"), call_data("ot.help", query="tools")
ECHO, ECHO_MUCH = call_ok("s.echo", text="x"), call_ok("s.echo", text="x" * 20_000)
MESSAGE = '{"message":"a message"}'
URL = "https://docs.invalid/"

CASES: dict[str, Case] = {
    "tools": Case(ABSENT, [MOCK], call_ok("mock")),
    "tools_dirs": Case(ABSENT, ["{cwd}/packs"], pack_ok),
    "aliases": Case(ABSENT, {"say": "tools.echo"}, call_ok("say", message=1)),
    "snippets.*.body": Case("1", "2", run_data("$s"), (1, 2), SNIPPET),
    "snippets.*.description": Case(ABSENT, "New.", contains(HELP, "New."), base=SNIPPET),
    "snippets.*.params.*.type": Case(ABSENT, "str", run_data("$s x=1"), (1, "1")),
    "snippets.*.params.*.default": Case(1, 2, run_data("$s"), (1, 2)),
    "snippets.*.params.*.description": Case(ABSENT, "New.", contains(HELP, "New.")),
    "snippets.*.params.*.required": Case(ABSENT, False, run_ok("$s")),
    "snippets.*.params.*.example": Case(ABSENT, 42, contains(HELP, "x=42")),
    "servers.*.command": Case("missing-command", ABSENT, ECHO),
    "servers.*.args": Case(ABSENT, ["-I", SCRIPT, "good", "{cwd}/server.log"], server_log_exists),
    "servers.*.env": Case({"MARK": "1"}, {"MARK": "two"}, contains(call_data("s.env"), "two")),
    "servers.*.cwd": Case(ABSENT, "{cwd}", runs_in_working_directory),
    "servers.*.sandbox": Case(False, True, contains(call_data("s.env"), "server_homes"), base=sandboxed()),
    "servers.*.network": Case(ABSENT, False, is_network_restricted, base=sandboxed()),
    "servers.*.paths.*.path": Case("{cwd}", ABSENT, ECHO, base=sandboxed()),
    "servers.*.paths.*.write": Case(
        ABSENT,
        True,
        server_log_exists,
        base=sandboxed("{cwd}/server.log", paths=[{"path": "{cwd}"}, {"path": SCRIPT}]),
    ),
    "servers.*.image": Case(
        ABSENT, "alpine", contains(restrictions, "container"), base={"servers": {"s": {"command": "docker"}}}
    ),
    "servers.*.url": Case("{stub}/a", "{stub}/b", server_request("path"), ("/a", "/b"), REMOTE),
    "servers.*.credentials": Case(ABSENT, "person", credentials_of, ("workspace", "person"), REMOTE),
    "servers.*.headers": Case({"X-Mark": "1"}, {"X-Mark": "2"}, server_request("X-Mark"), ("1", "2"), REMOTE),
    "servers.*.enabled": Case(False, ABSENT, ECHO),
    "servers.*.include": Case(["pid"], ["echo"], ECHO),
    "servers.*.exclude": Case(["echo"], ABSENT, ECHO),
    "servers.*.tools.*.name": Case(ABSENT, "say", call_ok("s.say", text="x"), base=OVERRIDDEN),
    "servers.*.tools.*.title": Case("A", "B", spec_of("title"), ("A", "B"), OVERRIDDEN),
    "servers.*.tools.*.description": Case("A", "B", spec_of("description"), ("A", "B"), OVERRIDDEN),
    "servers.*.tools.*.fixed": Case(
        {"text": "a"}, {"text": "b"}, call_data("s.echo"), ("a", "b"), OVERRIDDEN
    ),
    "servers.*.tools.*.defaults": Case(
        {"text": "a"}, {"text": "b"}, call_data("s.echo"), ("a", "b"), OVERRIDDEN
    ),
    "servers.*.timeout_s": Case(ABSENT, 0.1, hang_ends_first),
    "servers.*.questions": Case("never", ABSENT, seen_by_server, ([], ["elicitation"]), ASKING),
    "servers.*.sampling": Case(
        ABSENT, "ask", seen_by_server, (["elicitation"], ["elicitation", "sampling"]), ASKING
    ),
    "servers.*.trust_annotations": Case(ABSENT, True, unapproved_ok("s.echo", text="x")),
    "servers.*.max_message_bytes": Case(9_000, ABSENT, ECHO_MUCH),
    "servers.*.max_message_values": Case(100, ABSENT, ECHO),
    "servers.*.new_tools": Case(
        ABSENT, "allow", added_tool_ok, base=server("from-file", "{cwd}/listing.json")
    ),
    "packs": Case(ABSENT, {"demo": {"greeting": "hi"}}, call_data("demo.greeting"), (None, "hi")),
    "topics.*.pattern": Case("other", "build*", contains(notify, "OK:")),
    "topics.*.file": Case(ABSENT, "{cwd}/new", contains(notify, "new")),
    "stats.enabled": Case(ABSENT, False, contains(call_data("ot.stats"), "Statistics are disabled")),
    "stats.round_trip_ms": Case(0, 1000, time_saved),
    "activity.enabled": Case(False, ABSENT, recorded_arguments, (None, MESSAGE)),
    "activity.bodies": Case(False, ABSENT, recorded_arguments, ("", MESSAGE)),
    "activity.max_body_bytes": Case(5, 10, recorded_arguments, ('{"mes ... (cut)', '{"message" ... (cut)')),
    "activity.retention_days": Case(5, ABSENT, is_kept(10 * DAY_S, 1)),
    "activity.max_bytes": Case(2**20, ABSENT, is_kept(0, 2**20)),
    "output.max_bytes": Case(1000, ABSENT, call_ok("tools.echo", message="x" * 2_000)),
    "output.max_inline_size": Case(1000, ABSENT, is_result_inline),
    "output.max_media_size": Case(1000, ABSENT, are_media_sent),
    "output.ttl_s": Case(0.0001, ABSENT, is_stored_result_readable),
    "execution.timeout_s": Case(ABSENT, 1000, longer_than(call_data("demo.remaining"), 8)),
    "execution.max_concurrent": Case(1, 2, peak(lambda world: world.ot.call("demo.hold")), (1, 2)),
    "execution.max_tools": Case(0, ABSENT, can_store_a_tool),
    "execution.max_args_bytes": Case(1000, ABSENT, call_ok("tools.echo", message="x" * 2_000)),
    "execution.run_timeout_s": Case(
        100.0,
        1000.0,
        longer_than(run_data("demo.remaining()"), 100),
        base={"execution": {"timeout_s": 1000.0}},
    ),
    "execution.handover": Case("never", ABSENT, is_handed_over, base={"execution": {"handover_s": 0.01}}),
    "execution.handover_s": Case(ABSENT, 0.01, is_handed_over),
    "execution.job_timeout_s": Case(
        ABSENT,
        10_000,
        longer_than(
            run_data('ot.wait(id=ot.start(tool="demo.remaining")["id"], seconds=5)["result"]'), 3_600
        ),
    ),
    "execution.run_cpu_s": Case(0.001, ABSENT, run_ok("n = 0\nfor i in range(1_000_000):\n    n += i\nn")),
    "execution.run_memory_bytes": Case(
        64 * 2**20,
        2**30,
        run_ok("len('x' * 600_000_000)"),  # more than the address space that the first value leaves
    ),
    "execution.run_max_calls": Case(2, 9, run_ok("[tools.echo(message=n) for n in range(5)]")),
    "execution.max_message_bytes": Case(9_000, ABSENT, ECHO_MUCH, base=server()),
    "execution.max_message_values": Case(100, ABSENT, ECHO, base=server()),
    "execution.max_concurrent_runs": Case(1, 2, peak(lambda world: world.ot.run("demo.hold()")), (1, 2)),
    "fs.roots": Case(["{cwd}/sub"], ["{cwd}"], read_file),
    "allowedHosts": Case(ABSENT, ["127.0.0.1"], fetch_stub),
    "providers.*.model": Case("m", "n", provider_request("model"), ("m", "n")),
    "providers.*.base_url": Case(
        "{stub}", "{stub}/v2", provider_request("path"), ("/chat/completions", "/v2/chat/completions")
    ),
    "providers.*.protocol": Case(
        ABSENT, "ollama", provider_request("path"), ("/chat/completions", "/api/chat")
    ),
    "providers.*.key_secret": Case(
        "ONE", "TWO", provider_request("authorization"), ("Bearer key-one", "Bearer key-two")
    ),
    "providers.*.timeout_s": Case(0.001, ABSENT, scripted_answer, ("timeout", "one"), scripted()),
    "providers.*.images": Case(ABSENT, True, takes_images),
    "providers.*.input_price": Case(ABSENT, 1_000_000, has_cost, base=scripted(output_price=0)),
    "providers.*.output_price": Case(ABSENT, 1_000_000, has_cost, base=scripted(input_price=0)),
    "ask.parallel": Case(ABSENT, True, do_steps_overlap),
    "approval.mcp": Case("deny", "allow", mcp_change),
    "approval.allow": Case(ABSENT, ["demo.*"], unapproved_ok("demo.change")),
    "approval.deny": Case(["demo.*"], ABSENT, call_ok("demo.change")),
    "approval.timeout_s": Case(1, 2, approval_timeout, ("1 s", "2 s")),
    "profiles.*.packs": Case(["time"], ["demo"], profile_ok("demo.greeting")),
    "profiles.*.servers": Case([], ["demo"], profile_ok("demo.greeting")),
    "profiles.*.exclude": Case(["demo.*"], ABSENT, profile_ok("demo.greeting")),
    "profiles.*.expose": Case("search", "all", profile_expose, ("find_tools", "every tool")),
    "profiles.*.approval.mode": Case("deny", ABSENT, profile_ok("demo.change")),
    "profiles.*.approval.allow": Case(
        ABSENT,
        ["demo.*"],
        profile_ok("demo.change"),
        base={"profiles": {"part": {"approval": {"mode": "deny"}}}},
    ),
    "profiles.*.approval.deny": Case(["demo.*"], ABSENT, profile_ok("demo.change")),
    "profiles.*.roots": Case(["{cwd}/sub"], ["{cwd}"], profile_reads_file),
    "search.model_dir": Case("{cwd}/missing", "{cwd}/model", embeds),
    "secrets.backend": Case(
        "file", "command", secret_value, ("key-one", "from-ONE"), secret_command("echo", "from-{name}")
    ),
    "secrets.command": Case(
        ["echo", "first-{name}"],
        ["echo", "second-{name}"],
        secret_value,
        ("first-ONE", "second-ONE"),
        secret_command(),
    ),
    "secrets.timeout_s": Case(
        0.05,
        0.06,
        secret_value,
        ("'sh' did not end within 0.05 s", "'sh' did not end within 0.06 s"),
        secret_command("sh", "-c", "exec sleep 600", "{name}"),
    ),
    "registry.base_url": Case(ABSENT, URL, registry_url, ("https://registry.modelcontextprotocol.io", URL)),
    "log.level": Case(ABSENT, "info", info_on_stderr),
    "log.file": Case(False, ABSENT, in_log_file),
    "log.max_bytes": Case(ABSENT, 10_000, is_log_rotated),
    "sessions.retention_days": Case(ABSENT, 5, is_session_kept, (True, False)),
    "docs_base_url": Case(ABSENT, URL, contains(TOOLS_HELP, URL)),
    "prompts: instructions": Case("One.", "Two.", mcp_instructions, ("One.", "Two.")),
    "prompts: packs": Case(ABSENT, {"tools": "Use with care."}, contains(TOOLS_HELP, "Use with care.")),
}
RESTART: dict[str, Case] = {"expose": Case("run", "search", exposed, ("run", "run"))}

"""One running OneTool: call, reload, health. The waist of the house: every door ends here."""

import asyncio
import logging
import platform
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from onetool.bundles.bundles import Bundles
from onetool.bundles.exchange import Exchange
from onetool.catalog.catalog import Catalog
from onetool.catalog.discovery import Discovery
from onetool.catalog.servers import Servers
from onetool.domain.call import Door, ToolCall, ToolResult
from onetool.domain.caller import Caller
from onetool.domain.errors import NoRuntime
from onetool.domain.health import Health
from onetool.domain.invocation import Invocation
from onetool.domain.readable import readable
from onetool.domain.stored import Shown, preview
from onetool.domain.usage import Tally
from onetool.files.bell import Bell
from onetool.files.stamp import Stamp
from onetool.network.client import HttpClients
from onetool.pipeline.code import CodeResult, CodeRuns, code_text
from onetool.pipeline.host import CodeHost
from onetool.pipeline.pipeline import Pipeline
from onetool.pipeline.record import Recorder
from onetool.pipeline.savings import Savings
from onetool.ports import ChatModels, ResultStore, SessionStore, UsageStore
from onetool.settings.configuration import Configuration
from onetool.threads import Threads
from onetool.version import __version__

__all__ = ["CodeResult", "Health", "Runtime", "Scope", "State", "current"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All that a reload replaces, whole; calls in flight keep the one they started with."""

    configuration: Configuration
    catalog: Catalog
    discovery: Discovery
    pipeline: Pipeline
    code: CodeRuns
    results: ResultStore
    bundles: Bundles
    exchange: Exchange
    http: HttpClients
    servers: Servers
    chat_models: ChatModels


class Scope(NamedTuple):
    """Where running code stands: in which runtime, in which call, on which event loop."""

    runtime: "Runtime"
    invocation: Invocation
    loop: asyncio.AbstractEventLoop


_current: "ContextVar[tuple[Runtime, Invocation]]" = ContextVar("onetool")


def current() -> Scope:
    """Return the scope of the running tool.

    Raises NoRuntime outside of any tool.
    """
    try:
        runtime, invocation = _current.get()
        return Scope(runtime, invocation, runtime.loop)
    except LookupError:
        raise NoRuntime(
            "No OneTool is running here. Call this inside a tool, or start one: "
            "with onetool_runtime() as ot: ot.call('tools.echo', message='hi'). "
            "In a thread of your own: start it with contextvars.copy_context().run."
        ) from None


class Runtime:
    """Answers calls with the state that stands at that moment."""

    def __init__(
        self,
        *,
        read: Callable[[], Configuration],
        build: Callable[[Configuration, "Runtime"], Awaitable[State]],
        recorder: Recorder,
        usage: UsageStore,
        sessions: SessionStore,
        threads: Threads,
        reload_file: Path | None,
        new_id: Callable[[], str],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._read, self._build = read, build
        self._recorder, self._usage = recorder, usage
        self.sessions = sessions
        """Conversations with chat models."""
        self.threads = threads
        """Where what blocks is done."""
        self._now = now
        self._bell = Bell(reload_file)
        self.new_id = new_id
        """Makes a name that nothing else has."""
        self._state: State
        self.loop: asyncio.AbstractEventLoop
        self._reloading = asyncio.Lock()
        self._following: asyncio.Task[None] | None = None
        self._savings = Savings(recorder, new_id(), now)

    async def start(self, configuration: Configuration) -> None:
        """Take the first state."""
        self.loop = asyncio.get_running_loop()
        self._bell.hear(self._bell.now())
        self._state = await self._build(configuration, self)

    @property
    def configuration(self) -> Configuration:
        """What the operator wrote, as it was last read."""
        return self._state.configuration

    @property
    def catalog(self) -> Catalog:
        """Which tools exist."""
        return self._state.catalog

    @property
    def discovery(self) -> Discovery:
        """Which tools fit a question."""
        return self._state.discovery

    async def text_of(self, result: CodeResult) -> str:
        """What a model reads of a run: prints and result, or a preview and a handle when that is large."""
        return (await self.shown(result)).text

    async def shown(self, result: CodeResult) -> Shown:
        """What a model reads of a run, and the handle of the whole where that is only a part."""
        limit = self.configuration.settings.output.max_inline_size
        return await self._shortened(await self.threads.run(code_text, result, limit), "run")

    async def text_of_data(self, data: Any, tool: str) -> str:
        """What a model reads of a tool's result."""
        limit = self.configuration.settings.output.max_inline_size
        return await self.shortened(await self.threads.run(readable, data, limit), tool)

    async def shortened(self, text: str, tool: str) -> str:
        """A text that goes to a model: as it is, or a preview and a handle when it is large."""
        return (await self._shortened(text, tool)).text

    async def _shortened(self, text: str, tool: str) -> Shown:
        limit = self.configuration.settings.output.max_inline_size
        if len(text.encode("utf-8", "replace")) <= limit:
            return Shown(text)
        stored = await self.threads.run(self.results.put, text, tool)
        shown = preview(stored, text)
        self._savings.count_result(stored.size_bytes, shown)
        return Shown(shown, stored.handle)

    @property
    def results(self) -> ResultStore:
        """Large outputs that were kept aside."""
        return self._state.results

    @property
    def bundles(self) -> Bundles:
        """Stored tools, and what may be done with them."""
        return self._state.bundles

    @property
    def exchange(self) -> Exchange:
        """Bundles in and out."""
        return self._state.exchange

    def masked(self, value: Any) -> Any:
        """Return a JSON value without secrets."""
        redactor = self.configuration.secrets.redactor
        return redactor.clean(value) if redactor else value

    @property
    def servers(self) -> Servers:
        """Other MCP servers whose tools are offered here."""
        return self._state.servers

    @property
    def chat_models(self) -> ChatModels:
        """Models that can hold a conversation."""
        return self._state.chat_models

    @property
    def http(self) -> HttpClients:
        """The guarded HTTP client."""
        return self._state.http

    def new_call(self, name: str, args: Mapping[str, Any], source: Door) -> ToolCall:
        """Make a call with an id of its own."""
        return ToolCall(id=self.new_id(), name=name, args=args, source=source)

    async def call(self, call: ToolCall, caller: Caller) -> ToolResult:
        """Answer a call, whichever door it came through."""
        if caller.depth == 0 and self._bell.has_rung:
            await self._follow_reload()
        return await self._state.pipeline.run(call, caller)

    async def run(self, code: str, caller: Caller) -> CodeResult:
        """Run code that a model wrote; every call of a tool inside it is a call of this caller."""
        if caller.depth == 0:
            await self.follow()
        execution = self.configuration.settings.execution
        inside = caller.inner(time.monotonic() + execution.run_timeout_s)
        host = CodeHost(partial(self._call_from_code, inside), self.loop, execution.max_args_bytes)
        result = await self._state.code.run(code, inside, host)
        if result.ok or host.calls:
            await self._savings.count_run(caller, host.calls, self.catalog)
        return result._replace(calls=tuple(host.made))

    async def _call_from_code(self, caller: Caller, name: str, args: Mapping[str, Any]) -> ToolResult:
        return await self.call(self.new_call(name, args, "run"), caller)

    async def follow(self) -> None:
        """Take what another process has reloaded, as every call does by itself."""
        if self._bell.has_rung:
            await self._follow_reload()

    async def reload(self) -> None:
        """Read everything again, here and, before their next call, in all other processes of this user.

        Raises SettingsError and keeps the old state when a file is broken.
        """
        async with self._reloading:
            await self.threads.run(self._bell.ring)
            await self._take(self._bell.now())

    async def flush(self) -> None:
        """Return when every finished call is remembered.

        Raises OSError when that cannot be: the disk is full, say.
        """
        await self._recorder.flush()

    async def usage(self, period_s: float | None = None) -> Tally:
        """Add up the calls of the last seconds, or all: those that have just ended too."""
        try:
            await self.flush()
        except OSError as error:
            log.error("calls that have just ended are missing in the statistics: %s", error)
        since = None if period_s is None else self._now() - period_s
        return await self.threads.run(self._usage.tally, since)

    async def health(self) -> Health:
        """Look at every part."""
        return Health(
            version=__version__,
            python=platform.python_version(),
            cwd=str(self.configuration.places.cwd),
            tool_count=await self.catalog.count_local(),
            failures=dict(self.catalog.failures),
            left_out=dict(self.catalog.left_out),
            held_back=self.configuration.held_back,
            abandoned=self.threads.abandoned,
            servers=await self.servers.answers(),
        )

    def enter(self, invocation: Invocation) -> Callable[[], None]:
        """Make a call the current one for the code that runs from here on; return what undoes that."""
        token = _current.set((self, invocation))
        return lambda: _current.reset(token)

    async def _follow_reload(self) -> None:
        """Another process has reloaded: do the same, or keep the old state if that fails here."""
        if self._following is None or self._following.done():
            self._following = self.loop.create_task(self._follow())
        await asyncio.shield(self._following)  # a caller that leaves does not stop it

    async def _follow(self) -> None:
        async with self._reloading:
            if not self._bell.has_rung:
                return
            asked_for = self._bell.now()
            try:
                await self._take(asked_for)
            except Exception as error:  # noqa: BLE001 - the root of a background task: the old state stands
                self._bell.hear(asked_for)
                log.error("the old configuration stays: %s", error)

    async def _take(self, asked_for: Stamp) -> None:
        """Read and build everything anew; the stamp was taken before, so that no later one is missed."""
        configuration = await self.threads.run(self._read)
        self._state = await self._build(configuration, self)
        self._bell.hear(asked_for)

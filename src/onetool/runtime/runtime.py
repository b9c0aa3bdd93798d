"""Runtime: runs calls and code with the current state."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from onetool.domain.calls.call import CallSource, ToolCall, ToolResult
from onetool.domain.calls.caller import Caller
from onetool.files.reload_signal import FileReloadSignal
from onetool.pipeline.code_runner import CodeResult
from onetool.pipeline.recorder import Recorder
from onetool.pipeline.sandbox_callbacks import SandboxCallbacks
from onetool.pipeline.token_savings import TokenSavings
from onetool.ports import SessionStore
from onetool.settings.configuration import Configuration
from onetool.threads import Threads

from .reload import Reloader
from .state import State

__all__ = ["CodeResult", "Runtime"]


class Runtime:
    """One running OneTool. Every interface sends its calls here."""

    def __init__(
        self,
        *,
        read: Callable[[], Configuration],
        build: Callable[[Configuration, "Runtime"], Awaitable[State]],
        recorder: Recorder,
        savings: TokenSavings,
        sessions: SessionStore,
        threads: Threads,
        signal: FileReloadSignal,
        new_id: Callable[[], str],
    ) -> None:
        self.recorder = recorder
        """Records finished calls; has their statistics."""
        self.sessions = sessions
        """Stored conversations with chat models."""
        self.threads = threads
        """Runs blocking work."""
        self.new_id = new_id
        """Returns a new unique id."""
        self.loop: asyncio.AbstractEventLoop
        self._savings = savings
        self._reloader = Reloader(
            read=read, build=lambda configuration: build(configuration, self), signal=signal, threads=threads
        )

    async def start(self, configuration: Configuration) -> None:
        """Build the first state, in the event loop that will run the calls."""
        self.loop = asyncio.get_running_loop()
        await self._reloader.start(configuration)

    @property
    def state(self) -> State:
        """The current state. Read it once per request."""
        return self._reloader.state

    async def call(self, call: ToolCall, caller: Caller) -> ToolResult:
        """Run a call through the pipeline. A failed call is a result too."""
        if caller.depth == 0 and self._reloader.is_pending:
            await self._reloader.reload_if_changed()
        return await self._reloader.state.pipeline.run(call, caller)

    async def call_tool(
        self, name: str, args: Mapping[str, Any], caller: Caller, source: CallSource
    ) -> ToolResult:
        """Call a tool by name, under a new call id."""
        return await self.call(ToolCall(id=self.new_id(), name=name, args=args, source=source), caller)

    async def run(self, code: str, caller: Caller) -> CodeResult:
        """Run code that a model wrote. Each tool call in it goes through the pipeline for the same caller."""
        if caller.depth == 0:
            await self.reload_if_changed()
        state = self.state
        execution = state.configuration.settings.execution
        nested = caller.nested(time.monotonic() + execution.run_timeout_s)
        callbacks = SandboxCallbacks(
            partial(self._call_from_code, nested), self.loop, execution.max_args_bytes
        )
        result = await state.code_runner.run(code, nested, callbacks)
        if result.ok or callbacks.call_count:
            await self._savings.count_run(caller, callbacks.call_count, state.catalog)
        finished = () if result.ok else tuple(callbacks.finished_calls)
        return result._replace(calls=tuple(callbacks.nested_calls), finished_calls=finished)

    async def reload_if_changed(self) -> None:
        """Follow a reload of another process, as every call does."""
        await self._reloader.reload_if_changed()

    async def reload(self) -> Mapping[str, Any]:
        """Reload the configuration here and, before their next call, in the user's other processes.

        Returns the names of the settings that only a restart applies, with the values that stay active.

        Raises:
            SettingsError: A file is invalid. The previous state stays active.
        """
        return await self._reloader.reload()

    async def _call_from_code(self, caller: Caller, name: str, args: Mapping[str, Any]) -> ToolResult:
        return await self.call_tool(name, args, caller, "run")

"""Calls to the tools of one MCP server."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.invocation import Invocation
from onetool.domain.errors import ExecutionError, LoginRequired, Reason, RequestRefused

from .endpoint import ServerEndpoint
from .errors import RequestNotSent, ServerUnavailable
from .manifest_cache import ManifestCache
from .questions import INPUT_REQUIRED, URL_REQUIRED, CallQuestions
from .request_options import RequestOptions
from .results import read_content
from .sessions import ServerSessions
from .tasks import TASK, UseSession, declared_to, wait_for_task

if TYPE_CHECKING:
    from .session import ServerSession

IDEMPOTENCY_KEY = "io.onetool/idempotency-key"
"""Name in `_meta` of a call: the same in all attempts to make it."""
LOGIN_WAIT_S, LOGIN_POLL_S = 300.0, 0.5
"""How long a call waits for a user who said that they would log in, and how often it looks, in seconds."""
T = TypeVar("T")
SessionsOf = Callable[[Caller | None], AbstractAsyncContextManager[ServerSessions]]
"""Finds the sessions for the requests of a caller, for a block; None: for those of the workspace."""


class ServerCalls:
    """Runs calls on the server's session. A request that was sent is never sent again."""

    def __init__(
        self,
        server: str,
        sessions_of: SessionsOf,
        manifests: ManifestCache,
        questions: Callable[[Caller], CallQuestions],
        endpoint: ServerEndpoint,
    ) -> None:
        self._server, self._sessions_of, self._manifests = server, sessions_of, manifests
        self._questions, self._endpoint = questions, endpoint
        self._running = 0
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    async def run(self, tool: str, args: Mapping[str, Any], invocation: Invocation) -> Any:
        """Call a tool by its name on the server, or wait for the task of an earlier call.

        URIs in the result are namespaced.

        Raises:
            ExecutionError: The server is unavailable, no longer lists the tool, or the tool is quarantined.
        """

        async def report(progress: float, total: float | None, message: str | None) -> None:
            invocation.report_progress(progress, total, message or "")

        questions, task = self._questions(invocation.caller), invocation.task
        if invocation.caller.depth == 0:
            questions.endpoint = self._endpoint.digest
        # While a question is open, the deadline moves: only the pipeline knows it.
        deadline = None if questions.capabilities else invocation.deadline
        options = RequestOptions(deadline, report, invocation.caller.on_log)

        caller = invocation.caller
        await self._endpoint.check(args, caller)
        use = partial(self._send, caller=caller)

        async def call(session: "ServerSession") -> dict[str, Any]:
            await self._check(tool, session)
            params: dict[str, Any] = {"name": tool, "arguments": dict(args)}
            if key := invocation.caller.idempotency_key:
                params["_meta"] = {IDEMPOTENCY_KEY: key}
            return await ask_along(session, questions, "tools/call", params, options, use=use)

        if task is None:
            result = await self._send_after_login(call, questions, caller)
        else:
            result = await wait_for_task(use, questions, {"taskId": task.id}, options)
        return read_content(result, tool, self._manifests.tools.output_schemas.get(tool), self._server)

    async def use(self, send: Callable[["ServerSession"], Awaitable[T]]) -> T:
        """Use the session of the workspace, opened if necessary.

        Raises:
            ExecutionError: The server is unavailable, or the request failed.
        """
        return await self._send(send)

    async def use_open(self, send: Callable[["ServerSession"], Awaitable[object]]) -> None:
        """Use the session of the workspace if there is one; failures are ignored."""
        with suppress(ServerUnavailable, ExecutionError):
            async with self._sessions_of(None) as sessions:
                await send(await sessions.current())

    async def request(
        self, method: str, params: Mapping[str, Any], deadline: float, caller: Caller | None = None
    ) -> dict[str, Any]:
        """Send another request and return its result as received.

        caller: whom the server may ask meanwhile.

        Raises:
            ExecutionError: The server is unavailable, refuses the request or does not respond in time.
        """
        await self._endpoint.check(params, caller)
        options = RequestOptions(deadline)
        if caller is None:
            return await self._send(lambda session: session.request(method, params, options))
        questions = self._questions(caller)
        if questions.capabilities:
            options = RequestOptions(None)  # only the pipeline knows how the deadline moves
        use = partial(self._send, caller=caller)
        return await self._send_after_login(
            lambda session: ask_along(session, questions, method, params, options, use=use), questions, caller
        )

    async def wait_until_idle(self) -> None:
        """Return when no call is in progress."""
        await self._is_idle.wait()

    async def _send_after_login(
        self, send: Callable[["ServerSession"], Awaitable[T]], questions: CallQuestions, caller: Caller
    ) -> T:
        """Send a request. If its caller must log in first, ask them to, and wait until they have."""
        try:
            return await self._send(send, questions, caller)
        except LoginRequired as error:
            required = error
        await questions.ask_to_log_in(required)
        end = time.monotonic() + LOGIN_WAIT_S
        async with caller.pauses.pause(caller.occupied):
            while not await self._has_sessions(caller):
                if time.monotonic() > end:
                    raise required
                await asyncio.sleep(LOGIN_POLL_S)
        return await self._send(send, questions, caller)

    async def _has_sessions(self, caller: Caller) -> bool:
        try:
            async with self._sessions_of(caller):
                return True
        except LoginRequired:
            return False

    async def _send(
        self,
        send: Callable[["ServerSession"], Awaitable[T]],
        questions: CallQuestions | None = None,
        caller: Caller | None = None,
    ) -> T:
        """Send a request. Retry once if nothing was sent because the connection had been lost."""
        self._running += 1
        self._is_idle.clear()
        try:
            async with self._sessions_of(caller) as sessions:
                session = await self._session(sessions, questions)
                try:
                    return await send(session)
                except RequestNotSent as error:
                    session.end(str(error))
                return await send(await self._session(sessions, questions))
        except RequestNotSent as error:
            raise self._unavailable(error) from error
        finally:
            self._running -= 1
            if not self._running:
                self._is_idle.set()

    async def _session(self, sessions: ServerSessions, questions: CallQuestions | None) -> "ServerSession":
        try:
            if questions is None:
                return await sessions.session()
            extensions = questions.extensions if self._manifests.tools.has_apps else {}
            return await sessions.for_call(questions.capabilities, extensions)
        except ServerUnavailable as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: ServerUnavailable) -> ExecutionError:
        return ExecutionError(Reason.UPSTREAM, f"Server {self._server!r} is unavailable: {error}.")

    async def _check(self, tool: str, session: "ServerSession") -> None:
        """Check the current listing: the caller may have resolved the tool before the server started."""
        reason = self._manifests.tools.quarantined.get(tool)
        if reason is None:
            raise ExecutionError(Reason.UPSTREAM, f"Server {self._server!r} no longer has a tool {tool!r}.")
        if reason:
            message = f"Tool {tool!r} of server {self._server!r} is quarantined: {reason}"
            raise ExecutionError(Reason.UPSTREAM, message)
        if session.check_tool is not None:
            manifest = self._manifests.manifest
            try:
                await session.check_tool(tool, manifest.pins.get(tool, "") if manifest else "")
            except ServerUnavailable as error:
                raise self._unavailable(error) from error


async def ask_along(
    session: "ServerSession",
    questions: CallQuestions,
    method: str,
    params: Mapping[str, Any],
    options: RequestOptions,
    *,
    use: UseSession,
) -> dict[str, Any]:
    """Send a request, answer what the server asks meanwhile, and return the result.

    use: uses the session that is open when a task is polled.

    Raises:
        RequestNotSent: The session ended before anything was sent.
        ExecutionError: The request failed, or the server asks what it must not.
    """
    is_opened = is_sent = False
    async with session.asking.call(questions):
        while True:
            request = session.request(method, params, options, declared_to(session, questions))
            try:
                result = await _unless_refused(request, questions)
            except RequestRefused as error:
                if is_opened or error.rpc_code != URL_REQUIRED:
                    raise
                await questions.open_pages(error)
                is_opened = is_sent = True
                continue
            except RequestNotSent as error:
                if not is_sent:
                    raise
                message = f"The connection was lost before the call went on: {error}."
                raise ExecutionError(Reason.UPSTREAM, message) from error
            is_sent = True
            if result.get("resultType") == TASK:
                result = await wait_for_task(use, questions, result, options)
            if result.get("resultType") != INPUT_REQUIRED:
                return _with_note(result, questions.note) if questions.note else result
            params = await questions.continue_call(params, result)


async def _unless_refused(
    request: Coroutine[Any, Any, dict[str, Any]], questions: CallQuestions
) -> dict[str, Any]:
    """Wait for a request, but cancel it if the server asks too much."""
    if not questions.capabilities:
        return await request
    task = asyncio.create_task(request)
    ends: set[asyncio.Future[Any]] = {task, questions.failure}
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not task.done():
            task.cancel()
    if questions.failure.done():
        await asyncio.wait({task})
        raise questions.failure.result()
    return task.result()


def _with_note(result: dict[str, Any], note: str) -> dict[str, Any]:
    content = result.get("content")
    block = {"type": "text", "text": note}
    return {**result, "content": [*content, block]} if isinstance(content, list) else result

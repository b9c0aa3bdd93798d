"""Calls to the tools of one MCP server."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.invocation import Invocation
from onetool.domain.errors import ExecutionError, Reason, RequestRefused

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
T = TypeVar("T")


class ServerCalls:
    """Runs calls on the server's session. A request that was sent is never sent again."""

    def __init__(
        self,
        server: str,
        sessions: ServerSessions,
        manifests: ManifestCache,
        questions: Callable[[Caller], CallQuestions],
        endpoint: str = "",
    ) -> None:
        """endpoint: a digest of the server's URL; empty if it has none."""
        self._server, self._sessions, self._manifests = server, sessions, manifests
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
            questions.endpoint = self._endpoint
        # While a question is open, the deadline moves: only the pipeline knows it.
        deadline = None if questions.capabilities else invocation.deadline
        options = RequestOptions(deadline, report, invocation.caller.on_log)

        async def call(session: "ServerSession") -> dict[str, Any]:
            self._check(tool)
            params: dict[str, Any] = {"name": tool, "arguments": dict(args)}
            if key := invocation.caller.idempotency_key:
                params["_meta"] = {IDEMPOTENCY_KEY: key}
            return await ask_along(session, questions, "tools/call", params, options, use=self.use)

        if task is None:
            result = await self._send(call, questions)
        else:
            result = await wait_for_task(self.use, questions, {"taskId": task.id}, options)
        return read_content(result, tool, self._manifests.tools.output_schemas.get(tool), self._server)

    async def use(self, send: Callable[["ServerSession"], Awaitable[T]]) -> T:
        """Use the session, opened if necessary.

        Raises:
            ExecutionError: The server is unavailable, or the request failed.
        """
        return await self._send(send)

    async def use_open(self, send: Callable[["ServerSession"], Awaitable[object]]) -> None:
        """Use the session if there is one; failures are ignored."""
        with suppress(ServerUnavailable, ExecutionError):
            await send(await self._sessions.current())

    async def request(
        self, method: str, params: Mapping[str, Any], deadline: float, caller: Caller | None = None
    ) -> dict[str, Any]:
        """Send another request and return its result as received.

        caller: whom the server may ask meanwhile.

        Raises:
            ExecutionError: The server is unavailable, refuses the request or does not respond in time.
        """
        options = RequestOptions(deadline)
        if caller is None:
            return await self._send(lambda session: session.request(method, params, options))
        questions = self._questions(caller)
        if questions.capabilities:
            options = RequestOptions(None)  # only the pipeline knows how the deadline moves
        return await self._send(
            lambda session: ask_along(session, questions, method, params, options, use=self.use), questions
        )

    async def wait_until_idle(self) -> None:
        """Return when no call is in progress."""
        await self._is_idle.wait()

    async def _send(
        self, send: Callable[["ServerSession"], Awaitable[T]], questions: CallQuestions | None = None
    ) -> T:
        """Send a request. Retry once if nothing was sent because the connection had been lost."""
        self._running += 1
        self._is_idle.clear()
        try:
            session = await self._session(questions)
            try:
                return await send(session)
            except RequestNotSent as error:
                session.end(str(error))
            return await send(await self._session(questions))
        except RequestNotSent as error:
            raise self._unavailable(error) from error
        finally:
            self._running -= 1
            if not self._running:
                self._is_idle.set()

    async def _session(self, questions: CallQuestions | None) -> "ServerSession":
        try:
            if questions is None:
                return await self._sessions.session()
            extensions = questions.extensions if self._manifests.tools.has_apps else {}
            return await self._sessions.for_call(questions.capabilities, extensions)
        except ServerUnavailable as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: ServerUnavailable) -> ExecutionError:
        return ExecutionError(Reason.UPSTREAM, f"Server {self._server!r} is unavailable: {error}.")

    def _check(self, tool: str) -> None:
        """Check the current listing: the caller may have resolved the tool before the server started."""
        reason = self._manifests.tools.quarantined.get(tool)
        if reason is None:
            raise ExecutionError(Reason.UPSTREAM, f"Server {self._server!r} no longer has a tool {tool!r}.")
        if reason:
            message = f"Tool {tool!r} of server {self._server!r} is quarantined: {reason}"
            raise ExecutionError(Reason.UPSTREAM, message)


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

"""Tasks of servers: calls that a server continues after it has answered. They are polled until they end."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from onetool.domain.calls.server_task import LEFT
from onetool.domain.errors import ExecutionError, Reason, RequestRefused
from onetool.domain.jobs.task_json import EXTENSION

from .questions import CallQuestions
from .request_options import RequestOptions

if TYPE_CHECKING:
    from .session import ServerSession

INTERNAL_ERROR = -32603
TASK = "task"
"""The type of a result that names a task."""
MIN_INTERVAL_S, MAX_INTERVAL_S = 0.2, 30.0
REQUEST_TIMEOUT_S = 30.0
CANCEL_TIMEOUT_S = 5.0
MAX_FAILED_POLLS, FAILED_POLL_WAIT_S = 3, 2.0
"""Requests for the state of a task that may fail one after the other."""
UseSession = Callable[[Callable[["ServerSession"], Awaitable[dict[str, Any]]]], Awaitable[dict[str, Any]]]
"""Calls a function with the session, which is opened again if it was lost."""


def declared_to(session: "ServerSession", questions: CallQuestions) -> Mapping[str, Any]:
    """Return what a server of the newer protocol is told about its caller: tasks only if it has them."""
    extensions, supported = dict(questions.extensions), session.capabilities.get("extensions")
    if isinstance(supported, Mapping) and EXTENSION in supported:
        extensions[EXTENSION] = {}
    return {**questions.capabilities, "extensions": extensions} if extensions else questions.capabilities


async def wait_for_task(
    use: UseSession, questions: CallQuestions, created: Mapping[str, Any], options: RequestOptions
) -> dict[str, Any]:
    """Wait until a task ends, answer what it asks, and return its result.

    If cancelled, cancel the task, unless another process will wait for it.

    Raises:
        ExecutionError: The task failed, or the server does not follow the protocol.
    """
    task = created.get("taskId")
    if not isinstance(task, str):
        raise ExecutionError(Reason.UPSTREAM, "The server has started a task without an id.")
    await questions.note_task(task)
    try:
        return await _poll_until_end(use, questions, created, options)
    except asyncio.CancelledError as error:
        if LEFT not in error.args:
            await asyncio.shield(_cancel(use, {"taskId": task}))
        raise


async def _poll_until_end(
    use: UseSession, questions: CallQuestions, state: Mapping[str, Any], options: RequestOptions
) -> dict[str, Any]:
    params, answered = {"taskId": state["taskId"]}, set[str]()
    while True:
        await asyncio.sleep(_interval(state))
        state = await _poll(use, params)
        status = state.get("status")
        if options.on_progress is not None and isinstance(text := state.get("statusMessage"), str):
            await options.on_progress(0.0, None, text)
        if status == "input_required":
            asked = state.get("inputRequests") or {}
            unanswered = {key: asked[key] for key in asked if key not in answered}
            if unanswered:
                responses = await questions.answer_requests(unanswered)
                answered |= responses.keys()
                await _request(use, "tasks/update", {**params, "inputResponses": responses})
        elif status != "working":
            return _result(state)


async def _cancel(use: UseSession, params: Mapping[str, Any]) -> None:
    with suppress(ExecutionError, TimeoutError):
        async with asyncio.timeout(CANCEL_TIMEOUT_S):
            await _request(use, "tasks/cancel", params, CANCEL_TIMEOUT_S)


async def _poll(use: UseSession, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of a task. The request changes nothing, so it is repeated if it fails."""
    for _ in range(MAX_FAILED_POLLS):
        try:
            return await _request(use, "tasks/get", params)
        except RequestRefused:
            raise
        except ExecutionError:
            await asyncio.sleep(FAILED_POLL_WAIT_S)
    return await _request(use, "tasks/get", params)


def _result(state: Mapping[str, Any]) -> dict[str, Any]:
    result, error = state.get("result"), state.get("error")
    if state.get("status") == "completed" and isinstance(result, dict):
        return result
    if isinstance(error, Mapping):
        raise RequestRefused(str(error.get("message")), error.get("code", INTERNAL_ERROR), error.get("data"))
    raise ExecutionError(Reason.UPSTREAM, f"The task of the server has ended: {state.get('status')}.")


def _interval(state: Mapping[str, Any]) -> float:
    """Return the seconds until the next request, as the server wishes, within limits."""
    wished = state.get("pollIntervalMs")
    seconds = wished / 1_000 if isinstance(wished, int | float) else 1.0
    return min(max(seconds, MIN_INTERVAL_S), MAX_INTERVAL_S)


async def _request(
    use: UseSession, method: str, params: Mapping[str, Any], timeout_s: float = REQUEST_TIMEOUT_S
) -> dict[str, Any]:
    options = RequestOptions(time.monotonic() + timeout_s)
    declared: dict[str, Any] = {"extensions": {EXTENSION: {}}}
    return await use(lambda session: session.request(method, params, options, declared))

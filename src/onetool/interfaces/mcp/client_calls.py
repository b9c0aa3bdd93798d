"""Calls of MCP clients: what they may be asked, how they are asked, and what happens if a call takes long."""

import asyncio
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from secrets import token_hex
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.question import CANCELLED, Answer, Asker
from onetool.domain.jobs.job import Job, OpenQuestion
from onetool.domain.jobs.job_errors import AnswerRefused, InvalidAnswer, JobNotFound
from onetool.domain.jobs.task_json import EXTENSION, task_json
from onetool.domain.servers.server_tool import APPS
from onetool.runtime.call_job import ANSWER_TIMEOUT_S
from onetool.runtime.job_answers import check_answer
from onetool.runtime.outcomes import Outcome
from onetool.runtime.runtime import Runtime
from onetool.telemetry.spans import name_requested_tool

from .client_sessions import ClientSession, RequestOfOurs
from .exposure import Exposure
from .replies import CallReply, PreparedCall

Context = ServerRequestContext[Any, Any]
ASKABLE = ("elicitation", "sampling", "roots")
CLIENT_SESSION = "client_session"
"""The session of a client that any process may serve, in the state of its connection."""
METHODS = {"sampling": "sampling/createMessage", "roots": "roots/list"}
MAX_INVALID_ANSWERS = 3
"""Answers that do not fit the form, after which a question is cancelled."""


class ClientCalls:
    """Runs the calls of the clients of one MCP server of ours."""

    def __init__(self, runtime: Runtime, exposure: Exposure, *, names_server: bool) -> None:
        """names_server: whether questions say which server asks."""
        self._runtime, self._exposure, self._names_server = runtime, exposure, names_server
        self.jobs = runtime.jobs

    def seal(self, endpoint: str, caller_of: Callable[[Context], Caller]) -> RequestStateBoundary:
        """Return the middleware that seals what clients send back with their answers."""
        security = RequestStateSecurity(
            keys=[self._runtime.request_key],
            ttl=ANSWER_TIMEOUT_S,
            bind_principal=lambda context: f"{caller_of(context).principal.id} {_credential(context)}",
        )
        return RequestStateBoundary(security, default_audience=endpoint)

    async def call(
        self, context: Context, params: types.CallToolRequestParams, caller: Caller
    ) -> Mapping[str, Any]:
        """Run a call, or continue one that has asked. Return the result of `tools/call`.

        Raises:
            MCPError: The answer cannot be used.
        """
        prepared = await self._exposure.prepare(params.name, params.arguments or {}, caller)
        if isinstance(prepared, CallReply):
            return prepared.to_json()
        name_requested_tool(params.name)
        outcome = await self.run(context, prepared, caller)
        if isinstance(outcome, Job):
            return self.unfinished(outcome, prepared, with_tasks=has_tasks(context))
        return (await self._exposure.render(prepared.tool, outcome)).to_json()

    async def outcome(self, job: Job) -> Mapping[str, Any]:
        """Return the result of `tools/call` of a job that has ended."""
        return (await self._exposure.render(job.tool, await self.jobs.outcome(job))).to_json()

    async def run(self, context: Context, prepared: PreparedCall, caller: Caller) -> Outcome | Job:
        """Run a call, or continue one that has asked. Return the job that it has become, if it is not done.

        Raises:
            MCPError: The answer cannot be used.
        """
        execution = self._runtime.state.configuration.settings.execution
        with_tasks = context.method == "tools/call" and has_tasks(context)
        can_hand_over = execution.handover == "auto" and (with_tasks or bool(prepared.wait))
        if can_hand_over:
            caller = replace(caller, handover_timeout=execution.job_timeout_s)
        handover_s = execution.handover_s if can_hand_over else None
        jobs, params = self.jobs, context.params or {}
        if is_modern(context) and isinstance(state := params.get("requestState"), str):
            asked, responses = json.loads(state), params.get("inputResponses")
            id, responses = asked["job"], responses if isinstance(responses, Mapping) else {}
            known = {key: response for key, response in responses.items() if key in asked["questions"]}
            if responses and not known:
                raise MCPError(types.INVALID_PARAMS, "The state does not belong to these questions.")
            answered = await self.deliver(id, caller, known)
            jobs.take_over_progress(id, caller.on_progress)
            wait_s = handover_s or ANSWER_TIMEOUT_S
            return await jobs.wait(id, caller.principal, wait_s, answered, with_tasks=with_tasks)
        return await jobs.run(
            prepared.work,
            caller,
            prepared.tool,
            prepared.digest,
            present=None if is_modern(context) else _Presenter(context, self).present,
            handover_s=handover_s,
            with_tasks=with_tasks,
        )

    async def deliver(self, id: str, caller: Caller, responses: Mapping[str, Any]) -> list[str]:
        """Deliver the answers of a client. Return the questions that are answered."""
        answered, jobs = list[str](), self.jobs
        try:
            job = await jobs.find(id, caller.principal)
            kinds = {question.id: question.kind for question in job.questions}
            for question, response in responses.items():
                answer = answer_of(kinds.get(question, "form"), response)
                try:
                    await jobs.answer(id, caller.principal, question, answer)
                    answered.append(question)
                except InvalidAnswer:
                    continue  # it is asked again
        except (JobNotFound, AnswerRefused) as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        return answered

    def unfinished(self, job: Job, prepared: PreparedCall, *, with_tasks: bool = False) -> Mapping[str, Any]:
        """Return the open questions of a job, or how the client can wait for it."""
        if with_tasks and not job.questions:
            return {"resultType": "task", **task_json(job, time.time())}
        if job.questions or not prepared.wait:
            requests = {question.id: self.request(question) for question in job.questions}
            state = json.dumps({"job": job.id, "questions": list(requests)})
            asked = {"inputRequests": requests} if requests else {}
            return {"resultType": "input_required", **asked, "requestState": state}
        how = prepared.wait.format(id=job.id)
        text = f"{prepared.tool} is still running, as job {job.id}. Wait for it with {how}."
        return CallReply(text, False).to_json()

    def request(self, question: OpenQuestion) -> dict[str, Any]:
        """Return the request of the protocol for a question."""
        if question.kind in METHODS:
            return {"method": METHODS[question.kind], "params": dict(question.params)}
        params: dict[str, Any] = dict(question.params)
        message = question.message
        if question.server and self._names_server:
            message = f"Server {question.server!r} asks: {message}"
        params |= {"message": message}
        if question.kind != "url":
            params |= {"requestedSchema": dict(question.schema)}
        return {"method": "elicitation/create", "params": params}


class _Presenter:
    """Asks a client of an earlier protocol version during its request."""

    def __init__(self, context: Context, calls: ClientCalls) -> None:
        self._context, self._calls = context, calls

    async def present(self, job: str, question: OpenQuestion) -> Answer | None:
        """Send a question to the client and wait for its answer. Ask again if it does not fit the form."""
        request = self._calls.request(question)
        for _ in range(MAX_INVALID_ANSWERS):
            answer = answer_of(question.kind, await self._send(job, request))
            try:
                check_answer(question, answer)
            except InvalidAnswer as error:
                message = f"{error}\n{request['params']['message']}"
                request = {**request, "params": {**request["params"], "message": message}}
                continue
            return answer
        return CANCELLED

    async def _send(self, job: str, request: Mapping[str, Any]) -> Any:
        """Send a request and return the result, posted to any process; None if it fails."""
        channel: Any = self._context.session._request_outbound
        session: ClientSession | None = self._context.session._connection.state.get(CLIENT_SESSION)
        elsewhere, options = None, None
        if session is not None:
            name = token_hex(8)
            id = session.request_id(RequestOfOurs(job, name))
            elsewhere, options = self._calls.jobs.expect(job, name), {"request_id": id}
            elsewhere.add_done_callback(lambda response: _resolve(channel, id, response))
        try:
            return await channel.send_raw_request(request["method"], request["params"] or None, options)
        except MCPError:
            return None
        finally:
            if elsewhere is not None:
                elsewhere.cancel()


def _resolve(channel: Any, id: str, response: "asyncio.Future[Answer]") -> None:
    """Give a request to a client the response that another process has received."""
    if response.cancelled():
        return
    answer, refused = response.result(), types.ErrorData(code=types.INTERNAL_ERROR, message="Refused.")
    channel._dispatcher._resolve_pending(id, refused if answer.content is None else dict(answer.content))


def answer_of(kind: str, response: Any) -> Answer:
    """Return the answer of a client. What is not an answer counts as a cancelled question."""
    if not isinstance(response, Mapping):
        return CANCELLED
    if kind in METHODS:
        return Answer("accept", response)
    action, content = response.get("action"), response.get("content")
    if action not in ("accept", "decline", "cancel"):
        return CANCELLED
    return Answer(action, content if isinstance(content, Mapping) else None)


def asker_of(context: Context) -> Asker:
    """Return what the client of a request can be asked, and whether it shows apps. Its job asks."""
    capabilities = context.session.client_capabilities
    if capabilities is None:
        return Asker()
    declared = capabilities.model_dump(by_alias=True, mode="json", exclude_none=True)
    known = {key: declared[key] for key in ASKABLE if key in declared}
    extensions = declared.get("extensions") or {}
    apps = {"extensions": {APPS: extensions[APPS]}} if APPS in extensions else {}
    return Asker(capabilities=known | apps)


def _credential(context: Context) -> str:
    """Return a digest of the token of a request; over stdio, the process, which has one client."""
    headers = getattr(context.request, "headers", None)
    if headers is None:
        return f"stdio:{os.getpid()}"
    return sha256(headers.get("authorization", "").encode()).hexdigest()


def has_tasks(context: Context) -> bool:
    """Return whether the client of a request can wait for a task."""
    capabilities = context.session.client_capabilities
    extensions = capabilities.extensions if capabilities is not None else None
    return is_modern(context) and EXTENSION in (extensions or {})


def is_modern(context: Context) -> bool:
    """Return whether the client asks again with the answers, instead of answering during its request."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS

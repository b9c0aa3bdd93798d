"""Jobs as tasks of MCP clients that declare the extension: `tasks/get`, `tasks/update` and `tasks/cancel`."""

import time
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel.server import Server
from mcp.shared.inbound import MCP_NAME_HEADER
from pydantic import ConfigDict, Field

from onetool.domain.jobs.job import Job
from onetool.domain.jobs.job_errors import JobNotFound
from onetool.domain.jobs.task_json import EXTENSION, task_json

from .client_calls import ClientCalls, has_tasks
from .contents import CallerOf, Context


class TaskParams(types.RequestParams):
    """Parameters of a request about a task."""

    model_config = ConfigDict(extra="allow")
    task_id: str = Field(alias="taskId")


class TaskHandlers:
    """Handlers of the requests of clients about their tasks."""

    def __init__(self, calls: ClientCalls, caller_of: CallerOf) -> None:
        self._calls, self._caller_of = calls, caller_of

    def add_to(self, server: Server[Any]) -> None:
        """Add the handlers and declare the extension to clients of the newer protocol."""
        for method, handler in (("get", self.get), ("update", self.update), ("cancel", self.cancel)):
            server.add_request_handler(f"tasks/{method}", TaskParams, handler)
        server.middleware.append(_declare)

    async def get(self, context: Context, params: TaskParams) -> dict[str, Any]:
        """Return a task: with its result once it has ended, with its questions while it waits."""
        return await self.describe(await self._find(context, params))

    async def describe(self, job: Job) -> dict[str, Any]:
        """Return a job as a task, with its result or its questions."""
        fields = task_json(job, time.time())
        if job.questions:
            fields["inputRequests"] = {item.id: self._calls.request(item) for item in job.questions}
        if fields["status"] == "completed":
            try:
                fields["result"] = {**await self._calls.outcome(job), "resultType": "complete"}
            except MCPError as error:  # the server refused the call: with `--only`, clients get its error
                fields |= {
                    "status": "failed",
                    "error": error.error.model_dump(mode="json", exclude_none=True),
                }
        elif fields["status"] == "failed":
            fields["error"] = {"code": types.INTERNAL_ERROR, "message": job.error}
        return fields

    async def update(self, context: Context, params: TaskParams) -> dict[str, Any]:
        """Answer questions of a task. While it asks, responses to anything else are ignored."""
        job = await self._find(context, params)
        responses = (context.params or {}).get("inputResponses")
        if not isinstance(responses, Mapping):
            raise MCPError(types.INVALID_PARAMS, "inputResponses must be an object.")
        asked = {question.id for question in job.questions} or responses.keys()
        responses = {key: response for key, response in responses.items() if key in asked}
        await self._calls.deliver(job.id, self._caller_of(context), responses)
        return {}

    async def cancel(self, context: Context, params: TaskParams) -> dict[str, Any]:
        """Cancel a task. One that has ended stays as it is."""
        job = await self._find(context, params)
        await self._calls.jobs.cancel(job.id, self._caller_of(context).principal)
        return {}

    async def find(self, context: Context, id: str) -> Job:
        """Return a job of the caller.

        Raises:
            JobNotFound: There is none.
        """
        return await self._calls.jobs.find(id, self._caller_of(context).principal)

    async def _find(self, context: Context, params: TaskParams) -> Job:
        check_declared(context)
        if context.request is not None and context.request.headers.get(MCP_NAME_HEADER) != params.task_id:
            raise MCPError(types.HEADER_MISMATCH, "The header Mcp-Name must be the same as taskId.")
        try:
            return await self.find(context, params.task_id)
        except JobNotFound as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error


def check_declared(context: Context) -> None:
    """Check that the client of a request can wait for tasks.

    Raises:
        MCPError: It has not declared it.
    """
    if not has_tasks(context):
        data: dict[str, Any] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, f"Declare {EXTENSION}.", data)


async def _declare(ctx: Context, call_next: CallNext) -> HandlerResult:
    result = await call_next(ctx)
    if ctx.method != "server/discover" or not isinstance(result, dict):
        return result
    capabilities = result.get("capabilities") or {}
    extensions = {**(capabilities.get("extensions") or {}), EXTENSION: {}}
    return {**result, "capabilities": {**capabilities, "extensions": extensions}}

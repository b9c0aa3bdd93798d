"""Tools of the everything server that continue as tasks, and the requests about tasks."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import mcp_types as types
from everything_rounds import NAME, ask, declared, form, require, responses
from everything_tools import NO_ARGS, Args, Context, Tools, text
from mcp import MCPError
from mcp.server.lowlevel.server import Server
from pydantic import ConfigDict, Field

EXTENSION = "io.modelcontextprotocol/tasks"
REQUIRED: Args = {"extensions": {EXTENSION: {}}}
TTL_MS, POLL_MS = 600_000, 200
FAILING_S = 1.0
"""How long the job that fails takes; the suite prescribes it."""


class Task:
    """A call that continues after the response, and what it asks the client."""

    def __init__(self) -> None:
        self.id = secrets.token_hex(16)
        self.status = "working"
        self.requests: Args = {}
        self.responses: Args = {}
        self.outcome: Args = {}
        self._created = self._updated = _now()
        self._answered = asyncio.Event()
        self._runner: asyncio.Task[None] | None = None

    def start(self, work: Awaitable[Args]) -> None:
        """Run the work in the background."""
        self._runner = asyncio.create_task(self._run(work))

    async def ask(self, requests: Args) -> Args:
        """Ask the client and return its responses when all are there."""
        self.requests = dict(requests)
        self._set("input_required")
        await self._answered.wait()
        self._set("working")
        return self.responses

    def answer(self, given: Args) -> None:
        """Accept responses to requests that have none."""
        for key in given.keys() & self.requests.keys():
            self.responses[key] = given[key]
            del self.requests[key]
        if self.responses and not self.requests:
            self._answered.set()

    def cancel(self) -> None:
        """Cancel the work, unless it has ended."""
        if self.status in ("working", "input_required") and self._runner is not None:
            self._runner.cancel()
            self._set("cancelled")

    def to_json(self) -> Args:
        """Return the fields that every response about the task has."""
        times = {"createdAt": self._created, "lastUpdatedAt": self._updated}
        return {"taskId": self.id, "status": self.status, "ttlMs": TTL_MS, "pollIntervalMs": POLL_MS} | times

    def details(self) -> Args:
        """Return the fields with the outcome and the open requests."""
        asked = {"inputRequests": self.requests} if self.status == "input_required" else {}
        return self.to_json() | asked | self.outcome

    async def _run(self, work: Awaitable[Args]) -> None:
        try:
            self.outcome = {"result": {"resultType": "complete"} | await work}
            self._set("completed")
        except MCPError as error:
            self.outcome = {"error": {"code": error.code, "message": error.message}}
            self._set("failed")

    def _set(self, status: str) -> None:
        self.status, self._updated = status, _now()


Work = Callable[[Task, Args], Awaitable[Args]]
_tasks: dict[str, Task] = {}


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _start(work: Work, args: Args) -> Args:
    task = Task()
    _tasks[task.id] = task
    task.start(work(task, args))
    return task.to_json() | {"resultType": "task"}


def _as_task(work: Work) -> Callable[[Context, Args], Awaitable[Args]]:
    """Return a tool that needs a client with tasks."""

    async def call(context: Context, args: Args) -> Args:
        require(context, REQUIRED)
        return _start(work, args)

    return call


async def greet(context: Context, args: Args) -> Args:
    return text(f"Hello, {args['name']}!")


async def slow_compute(context: Context, args: Args) -> Args:
    """Continue as a task if the client has tasks."""
    if EXTENSION in (declared(context).get("extensions") or {}):
        return _start(_compute, args)
    return await _compute(Task(), args)


async def task_after_input(context: Context, args: Args) -> Args:
    """Ask for a name in the call, then continue as a task."""
    require(context, REQUIRED)
    given = responses(context).get("user_name")
    if given is None:
        return ask({"user_name": NAME})
    return _start(_greet_later, given["content"])


async def _greet_later(task: Task, args: Args) -> Args:
    return text(f"Hello, {args['name']}!")


async def _compute(task: Task, args: Args) -> Args:
    await asyncio.sleep(args["seconds"])
    return text(f"Computed {args.get('label', '')} in {args['seconds']} s.")


async def _fail(task: Task, args: Args) -> Args:
    await asyncio.sleep(FAILING_S)
    return text("The job failed.") | {"isError": True}


async def _break(task: Task, args: Args) -> Args:
    raise MCPError(types.INTERNAL_ERROR, "The server failed.")


async def _confirm_delete(task: Task, args: Args) -> Args:
    given = await task.ask({"confirm": form(f"Delete {args['filename']}?", "confirm", "boolean")})
    return text(f"Deleted {args['filename']}: {given['confirm']['action']}")


async def _multi_input(task: Task, args: Args) -> Args:
    given = await task.ask({"first": form("First name?", "name"), "second": form("Second name?", "name")})
    return text(f"Received {sorted(given)}.")


class TaskParams(types.RequestParams):
    """Parameters of a request about a task."""

    model_config = ConfigDict(extra="allow")
    task_id: str = Field(alias="taskId")


async def get(context: Context, params: TaskParams) -> Args:
    return _find(context, params).details()


async def update(context: Context, params: TaskParams) -> Args:
    _find(context, params).answer(responses(context))
    return {}


async def cancel(context: Context, params: TaskParams) -> Args:
    _find(context, params).cancel()
    return {}


def _find(context: Context, params: TaskParams) -> Task:
    require(context, REQUIRED)
    if context.request is not None and context.request.headers.get("mcp-name") != params.task_id:
        raise MCPError(types.HEADER_MISMATCH, "The header Mcp-Name does not match taskId.")
    if params.task_id not in _tasks:
        raise MCPError(types.INVALID_PARAMS, f"Unknown task {params.task_id!r}.")
    return _tasks[params.task_id]


def add_tasks(server: Server[Any]) -> None:
    """Declare the extension and serve its requests."""
    server.extensions = {EXTENSION: {}}
    for name, handler in (("get", get), ("update", update), ("cancel", cancel)):
        server.add_request_handler(f"tasks/{name}", TaskParams, handler)


def _schema(required: str, **types_by_name: str) -> Args:
    properties = {name: {"type": kind} for name, kind in types_by_name.items()}
    return {"type": "object", "properties": properties, "required": [required]}


TOOLS: Tools = {
    "greet": (greet, "Greet at once", _schema("name", name="string")),
    "slow_compute": (slow_compute, "Wait", _schema("seconds", seconds="number", label="string")),
    "failing_job": (_as_task(_fail), "Fail as a tool", NO_ARGS),
    "protocol_error_job": (_as_task(_break), "Fail as a server", NO_ARGS),
    "confirm_delete": (_as_task(_confirm_delete), "Ask once", _schema("filename", filename="string")),
    "multi_input": (_as_task(_multi_input), "Ask for two inputs", NO_ARGS),
    "test_tool_with_task": (task_after_input, "Ask, then continue as a task", NO_ARGS),
}

"""Changes of tasks for clients that listen to them: `notifications/tasks`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.subscriptions import SUBSCRIPTION_ID_META_KEY

from onetool.domain.jobs.job import Job
from onetool.domain.jobs.job_errors import JobNotFound

from .contents import Context
from .tasks import TaskHandlers, check_declared

log = logging.getLogger(__name__)
INTERVAL_S = 0.5
"""Seconds between two looks at the tasks of a stream."""
MAX_TASKS = 100
"""Tasks that one stream can observe."""
TASK_IDS = "taskIds"
Listen = Callable[
    [Context, types.SubscriptionsListenRequestParams], Awaitable[types.SubscriptionsListenResult]
]


class TaskNotices:
    """Adds the tasks that a client names to its stream of changes."""

    def __init__(self, tasks: TaskHandlers, listen: Listen) -> None:
        """listen: serves a stream of all other changes."""
        self._tasks, self._listen = tasks, listen

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve a stream of changes, for as long as the client reads it.

        Raises:
            MCPError: The client names too many tasks, or has not declared that it can wait for tasks.
        """
        wanted = (params.notifications.model_extra or {}).get(TASK_IDS)
        if not wanted:
            return await self._listen(context, params)
        check_declared(context)
        if not isinstance(wanted, list) or len(wanted) > MAX_TASKS:
            raise MCPError(types.INVALID_PARAMS, f"{TASK_IDS} must be a list of at most {MAX_TASKS} ids.")
        ids = [id for id in dict.fromkeys(map(str, wanted)) if await self._find(context, id)]
        session: Any = _AcknowledgingSession(context.session, ids)
        watching = asyncio.create_task(self._watch(context, ids, session.acknowledged))
        try:
            return await self._listen(replace(context, session=session), params)
        finally:
            watching.cancel()

    async def _watch(self, context: Context, ids: Sequence[str], acknowledged: asyncio.Event) -> None:
        """Send each task when the stream begins, and whenever it has changed, until all have ended."""
        await acknowledged.wait()
        sent: dict[str, Job | None] = dict.fromkeys(ids)
        while sent:
            for id, before in list(sent.items()):
                job = await self._find(context, id)
                try:
                    if job is not None and (before is None or _seen(job) != _seen(before)):
                        await self._send(context, job)
                except Exception:  # root of a background task; the other tasks go on
                    log.exception("cannot tell a client about task %s", id)
                sent[id] = job
                if job is None or job.is_ended:
                    del sent[id]
            await asyncio.sleep(INTERVAL_S)

    async def _find(self, context: Context, id: str) -> Job | None:
        try:
            return await self._tasks.find(context, id)
        except JobNotFound:
            return None

    async def _send(self, context: Context, job: Job) -> None:
        fields = await self._tasks.describe(job)
        fields["_meta"] = {SUBSCRIPTION_ID_META_KEY: context.request_id}
        await context.session._request_outbound.notify("notifications/tasks", fields)


class _AcknowledgingSession:
    """A session that adds the observed tasks to the first message of a stream, which states what is sent."""

    def __init__(self, session: Any, ids: Sequence[str]) -> None:
        self._session, self._ids = session, ids
        self.acknowledged = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    async def send_notification(self, notification: Any, related_request_id: Any = None) -> None:
        """Send a notification of the stream."""
        if isinstance(notification, types.SubscriptionsAcknowledgedNotification):
            filters = notification.params.notifications.model_copy(update={TASK_IDS: list(self._ids)})
            params = notification.params.model_copy(update={"notifications": filters})
            notification = notification.model_copy(update={"params": params})
        await self._session.send_notification(notification, related_request_id)
        self.acknowledged.set()


def _seen(job: Job) -> tuple[Any, ...]:
    """Return what a client sees of a task."""
    return job.status, job.progress and job.progress.message, [question.id for question in job.questions]

"""Jobs as tasks of the MCP protocol."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from .job import RETENTION_S, Job

EXTENSION = "io.modelcontextprotocol/tasks"
"""The extension of the protocol that both sides declare."""
POLL_INTERVAL_MS = 1_000
STATUSES: Mapping[str, str] = {
    "queued": "working",
    "running": "working",
    "input_required": "input_required",
    "succeeded": "completed",
    "failed": "completed",
    "cancelled": "cancelled",
    "lost": "failed",
}
"""The status of a task. A tool that failed has a result, which says so."""


def task_json(job: Job, now: float) -> dict[str, Any]:
    """Return the fields of a task, without its result and questions."""
    fields: dict[str, Any] = {
        "taskId": job.id,
        "status": STATUSES[job.status],
        "createdAt": _timestamp(job.created_at),
        "lastUpdatedAt": _timestamp(now if job.ended_at is None else job.ended_at),
        "ttlMs": int(RETENTION_S * 1_000),
        "pollIntervalMs": POLL_INTERVAL_MS,
    }
    if job.progress is not None and job.progress.message:
        fields["statusMessage"] = job.progress.message
    return fields


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

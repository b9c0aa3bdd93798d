"""ot: jobs, which are calls that go on without waiting for them."""

from typing import Any

from onetool.sdk import YamlList, tool
from onetool.sdk.jobs import cancel_job, list_jobs, start_job, wait_for_job

pack = "ot"

MAX_WAIT_S = 3_600.0


async def start(tool: str, args: dict[str, Any] | None = None) -> dict[str, Any]:
    """Start a tool that takes long, without waiting for it.

    Args:
        tool: The name of the tool, such as "pack.function".
        args: Its arguments by name.

    Returns:
        The id of the job, for ot.wait and ot.cancel, and its status.

    Example:
        ot.start(tool="time.now", args={})
    """
    return await start_job(tool, args or {})


@tool(timeout=MAX_WAIT_S + 10)
async def wait(id: str, seconds: float = 30) -> dict[str, Any]:
    """Wait for a job, and return its result if it has ended.

    Args:
        id: The id of the job.
        seconds: How long to wait at most. Many clients give up after 60 seconds.

    Returns:
        The status: `succeeded` with the result, `failed` or `lost` with the error, `cancelled`, or `running`
        with the progress.

    Example:
        ot.wait(id="0123456789abcdef0123456789abcdef")
    """
    return await wait_for_job(id, min(max(seconds, 0.0), MAX_WAIT_S))


async def cancel(id: str) -> dict[str, Any]:
    """Cancel a job.

    Args:
        id: The id of the job.

    Returns:
        The job as it was before.

    Example:
        ot.cancel(id="0123456789abcdef0123456789abcdef")
    """
    return await cancel_job(id)


async def tasks() -> list[dict[str, Any]]:
    """List the jobs of the last day, newest first.

    Returns:
        For each: id, tool, status, when it started, and its progress or error.

    Example:
        ot.tasks()
    """
    return YamlList(await list_jobs())

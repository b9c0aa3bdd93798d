"""Jobs as tasks of the MCP protocol."""

import pytest

from onetool.domain.jobs.job import Job, Progress
from onetool.domain.jobs.task_json import task_json

JOB = Job("0" * 32, "local", "demo.tool", "", "owner", 0.0)
FIELDS = {
    "taskId": "0" * 32,
    "createdAt": "1970-01-01T00:00:00.000Z",
    "ttlMs": 86_400_000,
    "pollIntervalMs": 1_000,
}


@pytest.mark.spec("MCP-57")
@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ("queued", "working"),
        ("running", "working"),
        ("input_required", "input_required"),
        ("succeeded", "completed"),
        ("failed", "completed"),
        ("cancelled", "cancelled"),
        ("lost", "failed"),
    ],
)
def test_a_job_has_the_status_of_a_task(status, shown):
    task = task_json(JOB._replace(status=status), 1.5)
    assert task == FIELDS | {"status": shown, "lastUpdatedAt": "1970-01-01T00:00:01.500Z"}


@pytest.mark.spec("MCP-57")
def test_the_end_and_the_progress_of_a_job_are_shown():
    job = JOB._replace(status="succeeded", ended_at=1.0, progress=Progress(1, 2, "half"))
    task = task_json(job, 9.0)
    assert (task["lastUpdatedAt"], task["statusMessage"]) == ("1970-01-01T00:00:01.000Z", "half")
    assert "statusMessage" not in task_json(JOB._replace(progress=Progress(1)), 9.0)

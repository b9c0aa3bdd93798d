"""Files that are attached to a question over REST are used, or rejected before the model is asked."""

from base64 import b64encode

import pytest

from onetool.domain.chat.attachments import MAX_ATTACHMENTS, MAX_IMAGE_BYTES, MAX_TOTAL_IMAGE_BYTES
from support.chat_client import SETTINGS, collect_events, question, write_script
from support.images import PNG
from support.rest_in_process import serve_memory


@pytest.fixture
async def client(tmp_path):
    write_script(tmp_path, {"text": "Hi."})
    async with serve_memory(settings=SETTINGS, cwd=tmp_path) as client:
        yield client


def file(data, name="a"):
    return {"name": name, "data": b64encode(data).decode()}


LARGE = file(PNG.ljust(MAX_IMAGE_BYTES, b"x"))
WRONG = {
    "bad base64": ([{"name": "a.txt", "data": "%%%"}], "The data of file 'a.txt' is not valid base64."),
    "too many files": ([file(b"x")] * (MAX_ATTACHMENTS + 1), "attachments"),
    "too large together": ([LARGE] * 4, f"Attach at most {MAX_TOTAL_IMAGE_BYTES:,} bytes of images."),
    "as many and as large as allowed": ([LARGE] * MAX_ATTACHMENTS, "Attach at most"),
    "model without images": ([file(PNG)], "takes no images"),
}


async def test_wrong_attachments_are_rejected_before_the_stream(client):
    """Also the largest body within the limits of files is read, and its answer says what is wrong."""
    for case, (attachments, message) in WRONG.items():
        response = await client.post("/chat", json=question(session="s", attachments=attachments))
        assert (response.status_code, message in response.json()["detail"]) == (400, True), case


async def test_text_is_attached(client):
    events = await collect_events(client, question(session="s", attachments=[file(b"# Plan", "plan.md")]))
    assert events[-1][1]["answer"] == "Hi."
    messages = (await client.get("/sessions/s")).json()["messages"]
    assert "`plan.md`" in messages[0]["text"]

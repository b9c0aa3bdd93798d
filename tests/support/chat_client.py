"""A client of the chat route: logs in, asks, and reads the events of the response."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2

from support.rest_in_process import TOKEN

SCRIPT = "script.json"
SETTINGS = {"providers": {"scripted": {"model": SCRIPT}}}
"""The scripted model reads a file in the working directory; only settings can choose the file."""


def write_script(folder: Path, *turns: dict[str, Any]) -> None:
    """Write the turns of the scripted model, starting with the next question."""
    (folder / SCRIPT).write_text(json.dumps(turns))


def question(**fields: Any) -> dict[str, Any]:
    """Return the body of a question to the scripted model."""
    return {"text": "Go.", "provider": "scripted"} | fields


async def read_events(response: httpx2.Response) -> AsyncIterator[tuple[str, Any]]:
    """Parse server-sent events as a browser does, ignoring comments."""
    kind, data = "", []
    async for line in response.aiter_lines():
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            data.append(line.removeprefix("data: "))
        elif not line and data:
            yield kind, json.loads("\n".join(data))
            kind, data = "", []


async def collect_events(client: httpx2.AsyncClient, body: dict[str, Any]) -> list[tuple[str, Any]]:
    """Ask, and return every event up to the end of the stream."""
    async with client.stream("POST", "/chat", json=body) as response:
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        return [event async for event in read_events(response)]


async def open_browser_session(client: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """Log in to the same server as a web page does: with a cookie instead of a token header."""
    origin = str(client.base_url).rstrip("/")
    headers = {"Origin": origin, "X-OneTool": "1"}
    page = httpx2.AsyncClient(base_url=client.base_url, headers=headers, trust_env=False, verify=False)
    response = await page.post("/login", json={"token": TOKEN})
    assert response.status_code == 204, response.text
    return page

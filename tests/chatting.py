"""A page that talks to the REST door: logs in, asks, and reads the events that come back."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2

from rest_app import TOKEN

SCRIPT = "script.json"
SETTINGS = {"providers": {"scripted": {"model": SCRIPT}}}
"""The scripted model follows a file of the working directory: which one only the settings say."""


def write_script(folder: Path, *turns: dict[str, Any]) -> None:
    """Keep what the scripted model is to say from the next question on."""
    (folder / SCRIPT).write_text(json.dumps(turns))


def wants(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """A turn in which the model calls tools."""
    return {"calls": [{"name": name, "args": args} for name, args in calls]}


def question(**fields: Any) -> dict[str, Any]:
    """A question to the scripted model."""
    return {"text": "Go.", "provider": "scripted"} | fields


async def events(response: httpx2.Response) -> AsyncIterator[tuple[str, Any]]:
    """Read a stream as a browser does: event by event, comments left out."""
    kind, data = "", []
    async for line in response.aiter_lines():
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            data.append(line.removeprefix("data: "))
        elif not line and data:
            yield kind, json.loads("\n".join(data))
            kind, data = "", []


async def told(client: httpx2.AsyncClient, body: dict[str, Any]) -> list[tuple[str, Any]]:
    """Ask, and return all that is told up to the end."""
    async with client.stream("POST", "/chat", json=body) as response:
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        return [one async for one in events(response)]


async def page_of(client: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """A browser's page on the same server: logged in, without a token of its own."""
    origin = str(client.base_url).rstrip("/")
    headers = {"Origin": origin, "X-OneTool": "1"}
    page = httpx2.AsyncClient(base_url=client.base_url, headers=headers, trust_env=False)
    answer = await page.post("/login", json={"token": TOKEN})
    assert answer.status_code == 204, answer.text
    return page

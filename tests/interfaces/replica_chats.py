"""Questions to a chat model through the REST API, with answers to what it asks."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

ALLOW = {"action": "accept", "content": {"allow": True}}
ALWAYS = {"action": "accept", "content": {"allow": True, "always": True}}


@contextmanager
def open_chat(client: httpx2.Client, text: str, session: str) -> Iterator[Iterator[tuple[str, Any]]]:
    """Ask, and yield the events of the response."""
    body = {"text": text, "provider": "fake", "tools": "all", "session": session}
    with client.stream("POST", "/chat", json=body) as response:
        if response.status_code != 200:
            raise AssertionError(f"{response.status_code}: {response.read()!r}")
        yield _events(response)


def chat(client: httpx2.Client, text: str, session: str, *answers: Any) -> tuple[dict[str, Any], int]:
    """Ask, and answer what is asked. Return the result, and how many questions there were."""
    left = list(answers)
    with open_chat(client, text, session) as events:
        for kind, data in events:
            if kind == "question":
                body = {"answers": {data["id"]: left.pop(0)}}
                response = client.post(f"/jobs/{data['job']}/answers", json=body)
                assert response.status_code == 200, response.text
            elif kind == "done":
                return data, len(answers) - len(left)
    raise AssertionError("the stream has no end")


def _events(response: httpx2.Response) -> Iterator[tuple[str, Any]]:
    kind = ""
    for line in response.iter_lines():
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield kind, json.loads(line.removeprefix("data: "))

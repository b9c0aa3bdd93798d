"""Calls of a tool through every interface of a hosted server, and what the caller gets to see."""

import json
import re
from typing import Any, NamedTuple

import httpx2

from interfaces.rights_world import RightsWorld
from support.chat_client import read_events
from support.prompted_model import call_prompt

ACCEPT = {"Accept": "application/json, text/event-stream"}
VERSION = "2025-11-25"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}},
}
NOT_FOUND = re.compile(
    r"not found|'(probes|sealed)' is not defined|there is no tool|no tools that you may call", re.IGNORECASE
)
"""What callers learn of a tool that does not exist for them."""
WAIT_S = 30
"""Seconds after which an unfinished job is asked for again."""


class Probe(NamedTuple):
    """One call: by whom, where, of which tool, with which argument."""

    workspace: str
    holder: str
    tool: str
    mark: str


async def call_over_rest(world: RightsWorld, probe: Probe) -> str:
    """Call by name."""
    body = {"name": probe.tool, "args": {"mark": probe.mark}}
    return _view(await _send(world, probe, "POST", "/tools/call", json=body), probe)


async def call_with_approval(world: RightsWorld, probe: Probe) -> str:
    """Call by name, and approve what is asked."""
    body = {"name": probe.tool, "args": {"mark": probe.mark}, "interactive": True}
    response = await _send(world, probe, "POST", "/tools/call", json=body)
    if response.status_code == 202:
        job = response.json()
        answers = {question["id"]: answer(is_allowed=True) for question in job["questions"]}
        path, body = f"/jobs/{job['job']}/answers", {"answers": answers}
        response = await _send(world, probe, "POST", path, json=body)
        response = await _ended(world, probe, job["job"])
    return _view(response, probe)


async def call_in_code(world: RightsWorld, probe: Probe) -> str:
    """Run code that makes the call."""
    body = {"command": _code(probe)}
    return _view(await _send(world, probe, "POST", "/run", json=body), probe)


async def call_from_a_tool(world: RightsWorld, probe: Probe) -> str:
    """Call a tool that makes the call."""
    body = {"name": "relay.send", "args": {"name": probe.tool, "mark": probe.mark}}
    return _view(await _send(world, probe, "POST", "/tools/call", json=body), probe)


async def call_in_the_queue(world: RightsWorld, probe: Probe) -> str:
    """Let a worker make the call."""
    body, headers = {"name": probe.tool, "args": {"mark": probe.mark}}, {"Prefer": "respond-async"}
    response = await _send(world, probe, "POST", "/tools/call", json=body, headers=headers)
    if response.status_code == 202:
        response = await _ended(world, probe, response.json()["job"])
    return _view(response, probe)


async def call_in_chat(world: RightsWorld, probe: Probe, *, is_allowed: bool = False) -> str:
    """Let a model make the call. The user denies or approves what is asked."""
    text = call_prompt(probe.tool.replace(".", "__"), mark=probe.mark)
    body = {"text": text, "provider": "fake", "tools": "all", "session": probe.mark}
    async with world.stream(probe.workspace, probe.holder, "/chat", body) as response:
        if response.status_code != 200:
            await response.aread()
            return _view(response, probe)
        async for kind, data in read_events(response):
            if kind == "question":
                path, body = f"/jobs/{data['job']}/answers", {"answers": {data["id"]: answer(is_allowed)}}
                await _send(world, probe, "POST", path, json=body)
            elif kind == "done":
                (result,) = data["toolResults"]
                return view_of(json.dumps(result), probe.mark)
    raise AssertionError("the stream has no end")


async def call_in_approved_chat(world: RightsWorld, probe: Probe) -> str:
    """Let a model make the call, and approve what is asked."""
    return await call_in_chat(world, probe, is_allowed=True)


async def call_over_mcp(world: RightsWorld, probe: Probe, expose: str) -> str:
    """Call as an MCP client that cannot ask its user."""
    opened = await world.once((probe.workspace, probe.holder), lambda: _initialize(world, probe))
    if opened.status_code != 200:
        return _view(opened, probe)
    tool, args = probe.tool, {"mark": probe.mark}
    params = {
        "run": {"name": "run", "arguments": {"command": _code(probe)}},
        "search": {"name": "call_tool", "arguments": {"name": tool, "args": args}},
        "all": {"name": tool.replace(".", "__"), "arguments": args},
    }[expose]
    message = {"jsonrpc": "2.0", "id": probe.mark, "method": "tools/call", "params": params}
    headers = ACCEPT | {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    return _view(await _send(world, probe, "POST", "/mcp", json=message, headers=headers), probe)


async def _initialize(world: RightsWorld, probe: Probe) -> httpx2.Response:
    return await _send(world, probe, "POST", "/mcp", json=INITIALIZE, headers=ACCEPT)


def answer(is_allowed: bool) -> dict[str, Any]:
    """Return an answer to the question whether a call may run."""
    return {"action": "accept", "content": {"allow": is_allowed}}


def view_of(text: str, mark: str) -> str:
    """Return what a caller learns from a response: the outcome, or the response if it is none of them."""
    if f"done {mark}" in text:
        return "runs"
    if "is denied by" in text:
        return "denied"
    if "was not approved" in text:
        return "asked"
    return "unknown" if NOT_FOUND.search(text) else text


def _view(response: httpx2.Response, probe: Probe) -> str:
    is_problem = response.headers["content-type"] == "application/problem+json"
    if is_problem and response.status_code in (401, 403):
        return f"refused {response.status_code}"
    return view_of(response.text, probe.mark)


def _code(probe: Probe) -> str:
    return f"{probe.tool}(mark={probe.mark!r})"


async def _send(world: RightsWorld, probe: Probe, method: str, path: str, **fields: Any) -> httpx2.Response:
    return await world.request(probe.workspace, probe.holder, method, path, **fields)


async def _ended(world: RightsWorld, probe: Probe, job: str) -> httpx2.Response:
    """Return the response with a job that has ended."""
    while True:
        response = await _send(world, probe, "GET", f"/jobs/{job}?wait={WAIT_S}")
        if response.status_code != 200 or response.json()["endedAt"] is not None:
            return response

"""`/activity`: the calls of all interfaces."""

import base64
import json
from contextlib import asynccontextmanager

from onetool.sdk import call_tool, get_secret
from onetool.storage.memory.activity import MemoryActivity
from onetool.testing import memory_runtime
from support.activity import add, record
from support.rest_in_process import serve_rest

SECRET = "canary/4711-hidden"


def outer(text: str) -> str:
    """Call another tool."""
    return call_tool("demo.inner", text=text)


def inner(text: str) -> str:
    """Return a text twice."""
    return text * 2


def reveal() -> dict:
    """Return a secret in several forms."""
    secret = get_secret("KEY")
    return {"plain": secret, "encoded": base64.b64encode(secret.encode()).decode(), secret: [secret] * 2_000}


def fail(text: str) -> None:
    """Raise."""
    raise ValueError(text)


PACKS = {"demo": [outer, inner, reveal, fail]}


@asynccontextmanager
async def served(**options):
    async with memory_runtime(PACKS, **options) as ot, serve_rest(ot.runtime) as client:
        yield ot, client


async def listed(client, **params):
    response = await client.get("/activity", params=params)
    assert response.status_code == 200, response.text
    return response.json()


async def test_calls_are_listed_newest_first_and_shown_with_the_calls_inside():
    async with served() as (ot, client):
        called = await client.post("/tools/call", json={"name": "demo.outer", "args": {"text": "ab"}})
        await ot.run("demo.inner(text='x')")
        page = await listed(client)
        shown = [(item["tool"], item["kind"], item["interface"], item["ok"]) for item in page["records"]]
        assert shown == [
            ("run", "run", "python", True),
            ("demo.inner", "call", "python", True),
            ("demo.outer", "call", "rest", True),
            ("demo.inner", "call", "rest", True),
        ]
        assert page["next"] is None
        assert "arguments" not in page["records"][0]
        id_ = called.json()["meta"]["callId"]
        details = (await client.get(f"/activity/{id_}")).json()
        (nested,) = details["calls"]
        assert (details["id"], details["arguments"], details["result"]) == (id_, '{"text":"ab"}', "abab")
        assert (nested["tool"], nested["parent"], nested["calls"]) == ("demo.inner", id_, [])
        assert details["startedAt"] <= nested["startedAt"] + 0.1
        run = (await client.get(f"/activity/{page['records'][0]['id']}")).json()
        assert (run["arguments"], run["result"]) == ("demo.inner(text='x')", "xx")
        assert [call["tool"] for call in run["calls"]] == ["demo.inner"]


async def test_filters_and_pages():
    activity = MemoryActivity()
    records = [record("fs.read", 1000.0 + number, id=str(number), principal="local") for number in range(5)]
    await add(activity, *records, record("fs.read", 1100.0, id="foreign", principal="other"))
    async with served(activity=activity) as (_, client):
        first = await listed(client, limit=3)
        second = await listed(client, limit=3, cursor=first["next"])
        assert [item["id"] for item in first["records"] + second["records"]] == ["4", "3", "2", "1", "0"]
        assert second["next"] is None
        assert len((await listed(client, tool="fs.*", since=1002, until=1004))["records"]) == 2
        assert (await listed(client, ok=False))["records"] == []
        assert (await listed(client, reason="timeout"))["records"] == []
        assert len((await listed(client, parent=""))["records"]) == 5
        before = (await listed(client))["generation"]
        assert (await client.post("/tools/call", json={"name": "demo.fail", "args": {"text": "no"}})).json()
        after = await listed(client, ok=False, reason="raised", text="NO")
        assert after["generation"] != before
        assert [item["tool"] for item in after["records"]] == ["demo.fail"]


async def test_invalid_parameters_are_problems():
    async with served() as (_, client):
        for params in (
            {"cursor": "x"},
            {"tool": "*a*a*a*a*a"},
            {"limit": 0},
            {"limit": 100_000},
            {"reason": "unheard"},
            {"text": "x" * 1_000},
        ):
            response = await client.get("/activity", params=params)
            assert response.status_code == 400, response.text
            assert response.headers["content-type"] == "application/problem+json"


async def test_unknown_and_foreign_calls_are_not_found():
    activity = MemoryActivity()
    await add(activity, record("fs.read", 1.0, id="foreign", principal="other"))
    async with served(activity=activity) as (_, client):
        for id_ in ("missing", "foreign", "x" * 400):
            assert (await client.get(f"/activity/{id_}")).status_code == 404
        assert (await client.get("/activity/%00")).status_code == 400  # as in every path


async def test_records_contain_no_secret():
    """Neither in arguments nor in results, errors, code or names of tools; in no encoding, nor in part."""
    activity = MemoryActivity()
    async with served(secrets={"KEY": SECRET}, activity=activity) as (ot, client):
        await ot.call("demo.reveal")
        await ot.call("demo.inner", text=SECRET)
        await ot.call("demo.outer", text="x" * 16_370 + SECRET)  # at the cut
        await ot.call("demo.fail", text=SECRET)
        await ot.call(SECRET)
        await ot.call(f"demo.{SECRET}")
        await ot.run(f"print('{SECRET}')\n[demo.reveal(), '{SECRET}']")
        await ot.run(f"nothing('{SECRET}'")
        ids = [item["id"] for item in (await listed(client, limit=200))["records"]]
        texts = [(await client.get(f"/activity/{id_}")).text for id_ in ids]
    texts.append(json.dumps([[str(value) for value in item] for item in activity.records]))
    assert len(ids) >= 10
    canaries = {SECRET, SECRET[:9], SECRET[-8:], base64.b64encode(SECRET.encode()).decode()[:16]}
    assert [canary for canary in canaries for text in texts if canary in text] == []
    assert sum("[secret]" in text for text in texts) >= 8

"""A handle permits nothing: a principal that has one of someone else reads nothing, through any interface."""

import re
from contextlib import AsyncExitStack
from itertools import count
from urllib.parse import quote

import httpx2
import pytest
from pytest_asyncio import fixture as async_fixture

from onetool.domain.content.media import Media
from onetool.domain.identity.principal import LOCAL, Principal
from onetool.interfaces.mcp.transports import NamedApps
from onetool.interfaces.rest.app import create_app
from onetool.interfaces.rest.auth.credentials import profile_token
from onetool.testing import memory_runtime
from support.raw_mcp import HTTP_HEADERS, INITIALIZE
from support.rest_in_process import TOKEN

pytestmark = pytest.mark.asyncio(loop_scope="module")
CANARY = "canary4711"
UNKNOWN = "0123456789abcdef" * 2
SETTINGS = {"profiles": {name: {"packs": ["time"]} for name in ("part", "other")}}
PATTERNS = {"limited": ("time.*",), "other key": ("math.*", "time.now")}
ENCODED = "Y2FuYXJ5NDcxMQ=="
VARIABLE = re.compile(r'\\?"?([0-9a-f-]{20,}|\d+\.?\d*)\\?"?')
"""Ids, times and handles in responses, which are quoted if they could be numbers."""


class World:
    """Clients of several principals of one runtime or workspace."""

    def __init__(self, results, clients, principals, mcp_paths):
        self.results, self.clients, self.principals, self.mcp_paths = results, clients, principals, mcp_paths

    async def store(self, owner, kind):
        """Let a principal store a result or start a job. Return the handle or the id."""
        client = self.clients[owner]
        if kind == "text":
            body = (await client.post("/run", json={"command": f"'{CANARY} ' * 10_000"})).json()
            return body["handle"]
        if kind == "media":
            media = Media(CANARY.encode(), "text/plain")
            await self.results.put_media(media, "a.b", owner=self.principals[owner].scope)
            return media.handle
        args = {"tool": "ot.help", "args": {"query": CANARY}}
        started = await client.post("/tools/call", json={"name": "ot.start", "args": args})
        job = started.json()["value"]["id"]
        assert CANARY in await DOORS["job"](self, owner, job)
        return job


@async_fixture(scope="module", loop_scope="module")
async def local():
    """Return a local runtime: the user, two profiles, and the user at the endpoint of a profile."""
    async with memory_runtime(settings=SETTINGS) as ot, AsyncExitStack() as stack:
        mcp = NamedApps(ot.runtime)
        stack.push_async_callback(mcp.close)
        transport = httpx2.ASGITransport(
            app=create_app(ot.runtime, token=TOKEN, mounts={"/mcp": mcp, "/mcp/": mcp})
        )
        tokens = {"user": TOKEN, "user at part": TOKEN}
        tokens |= {name: profile_token(TOKEN, name) for name in ("part", "other")}
        clients = {
            name: await stack.enter_async_context(
                httpx2.AsyncClient(
                    transport=transport,
                    base_url="http://localhost",
                    headers={"Authorization": f"Bearer {token}"},
                )
            )
            for name, token in tokens.items()
        }
        principals = {name: LOCAL.with_profile("" if "user" in name else name) for name in clients}
        paths = {
            "user": "/mcp",
            "user at part": "/mcp/p/part",
            "part": "/mcp/p/part",
            "other": "/mcp/p/other",
        }
        yield World(ot.runtime.state.results, clients, principals, paths)


@async_fixture(scope="module", loop_scope="module")
async def hosted(server):
    """Return a workspace: two members, and keys of the first one that are limited to some tools."""
    slug, clients, principals = await server.new_workspace(), {}, {}
    async with AsyncExitStack() as stack:
        for name in ("anna", "ben", *PATTERNS):
            owner, patterns = ("anna" if name in PATTERNS else name), PATTERNS.get(name, ())
            key = (await server.new_key(slug, owner, patterns)).text
            clients[name] = await stack.enter_async_context(server.client(slug, key))
            principals[name] = Principal(owner, patterns)
        opened = await stack.enter_async_context(server.workspaces.use(slug))
        results = opened.runtime.state.results
        yield World(results, clients, principals, dict.fromkeys(clients, "/mcp"))


@pytest.fixture
def worlds(local, hosted):
    return {"local": local, "hosted": hosted}


# Interfaces through which a handle or the id of a job is used. Each returns what the reader gets.


async def get(world, reader, handle):
    response = await world.clients[reader].get(f"/results/{quote(handle)}")
    return f"{response.status_code} {response.text}"


async def head(world, reader, handle):
    response = await world.clients[reader].head(f"/results/{quote(handle)}")
    is_read = response.status_code == 200
    return f"{response.status_code} {CANARY if is_read else ''} {response.headers.get('etag')}"


async def get_range(world, reader, handle):
    response = await world.clients[reader].get(f"/results/{quote(handle)}", headers={"Range": "bytes=0-9"})
    return f"{response.status_code} {response.text}"


async def call(world, reader, handle):
    body = {"name": "ot.result", "args": {"handle": handle}}
    return (await world.clients[reader].post("/tools/call?media=inline", json=body)).text


async def stream(world, reader, handle):
    body, headers = {"name": "ot.result", "args": {"handle": handle}}, {"Accept": "text/event-stream"}
    return (await world.clients[reader].post("/tools/call", json=body, headers=headers)).text


async def run(world, reader, handle):
    body = {"command": f"ot.result(handle={handle!r})"}
    return (await world.clients[reader].post("/run?media=inline", json=body)).text.replace(ENCODED, CANARY)


async def run_nested(world, reader, handle):
    """In a job that code starts."""
    code = f"job = ot.start(tool='ot.result', args={{'handle': {handle!r}}})\not.wait(id=job['id'])"
    return (await world.clients[reader].post("/run", json={"command": code})).text


async def run_path(world, reader, handle):
    body = {"command": f"try:\n    x = ot.result(handle={handle!r}, search='4711', fuzzy=True)\n"}
    body["command"] += "except Exception as error:\n    x = str(error)\nstr(x)"
    return (await world.clients[reader].post("/run", json=body)).text


async def mcp(world, reader, method, **params):
    client, path = world.clients[reader], world.mcp_paths[reader]
    opened = await client.post(path, json=INITIALIZE, headers=HTTP_HEADERS)
    headers = HTTP_HEADERS | {"mcp-session-id": opened.headers["mcp-session-id"]}
    body = {"jsonrpc": "2.0", "id": next(NUMBERS), "method": method, "params": params}
    return (await client.post(path, json=body, headers=headers)).text.replace(ENCODED, CANARY)


async def mcp_run(world, reader, handle):
    arguments = {"command": f"ot.result(handle={handle!r})"}
    return await mcp(world, reader, "tools/call", name="run", arguments=arguments)


async def mcp_resource(world, reader, handle):
    return await mcp(world, reader, "resources/read", uri=f"ot.result://{handle}")


async def job(world, reader, id):
    return (await world.clients[reader].get(f"/jobs/{id}", params={"wait": 30})).text


async def job_events(world, reader, id):
    return (await world.clients[reader].get(f"/jobs/{id}", headers={"Accept": "text/event-stream"})).text


async def job_answer(world, reader, id):
    answers = {"answers": {"x": {"action": "accept"}}}
    return (await world.clients[reader].post(f"/jobs/{id}/answers", json=answers)).text


async def job_cancel(world, reader, id):
    return (await world.clients[reader].post(f"/jobs/{id}/cancel")).text


async def job_wait(world, reader, id):
    return (await world.clients[reader].post("/run", json={"command": f"ot.wait(id={id!r})"})).text


async def job_mcp_wait(world, reader, id):
    return await mcp(world, reader, "tools/call", name="run", arguments={"command": f"ot.wait(id={id!r})"})


NUMBERS = count(2)
DOORS = {
    "get": get,
    "head": head,
    "range": get_range,
    "call": call,
    "stream": stream,
    "run": run,
    "nested": run_nested,
    "search": run_path,
    "mcp run": mcp_run,
    "mcp resource": mcp_resource,
    "job": job,
    "job events": job_events,
    "job answer": job_answer,
    "job cancel": job_cancel,
    "job wait": job_wait,
    "job mcp wait": job_mcp_wait,
}
TEXT_DOORS = ("get", "range", "call", "run", "nested", "search", "mcp run")
ATTEMPTS = [
    # world, owner, reader, what, through
    ("local", "user", "part", "text", "get"),
    ("local", "user", "part", "text", "head"),
    ("local", "user", "part", "text", "range"),
    ("local", "user", "part", "text", "call"),
    ("local", "user", "part", "text", "stream"),
    ("local", "user", "part", "text", "run"),
    ("local", "user", "part", "text", "nested"),
    ("local", "user", "part", "text", "search"),
    ("local", "user", "part", "text", "mcp run"),
    ("local", "user", "user at part", "text", "mcp run"),
    ("local", "user", "part", "media", "get"),
    ("local", "user", "part", "media", "run"),
    ("local", "user", "part", "media", "mcp resource"),
    ("local", "user", "user at part", "media", "mcp resource"),
    ("local", "user", "part", "job", "job"),
    ("local", "user", "part", "job", "job events"),
    ("local", "user", "part", "job", "job answer"),
    ("local", "user", "part", "job", "job cancel"),
    ("local", "user", "part", "job", "job wait"),
    ("local", "user", "part", "job", "job mcp wait"),
    ("local", "user", "user at part", "job", "job mcp wait"),
    ("local", "other", "part", "text", "get"),
    ("local", "other", "part", "text", "run"),
    ("local", "other", "part", "media", "mcp resource"),
    ("local", "other", "part", "job", "job"),
    ("hosted", "anna", "ben", "text", "get"),
    ("hosted", "anna", "ben", "text", "head"),
    ("hosted", "anna", "ben", "text", "call"),
    ("hosted", "anna", "ben", "text", "run"),
    ("hosted", "anna", "ben", "text", "nested"),
    ("hosted", "anna", "ben", "text", "mcp run"),
    ("hosted", "anna", "ben", "media", "get"),
    ("hosted", "anna", "ben", "media", "mcp resource"),
    ("hosted", "anna", "ben", "job", "job"),
    ("hosted", "anna", "ben", "job", "job wait"),
    ("hosted", "anna", "limited", "text", "get"),
    ("hosted", "anna", "limited", "text", "run"),
    ("hosted", "anna", "limited", "text", "mcp run"),
    ("hosted", "anna", "limited", "media", "mcp resource"),
    ("hosted", "anna", "limited", "job", "job"),
    ("hosted", "limited", "other key", "text", "get"),
    ("hosted", "limited", "other key", "media", "get"),
    ("hosted", "limited", "other key", "job", "job wait"),
    ("hosted", "limited", "ben", "text", "run"),
]


@pytest.mark.guards("client-profile", "client-results")
@pytest.mark.parametrize(("where", "owner", "reader", "kind", "door"), ATTEMPTS)
async def test_handle_of_someone_else_is_answered_like_an_unknown_one(
    where, owner, reader, kind, door, worlds
):
    world = worlds[where]
    handle, use = await world.store(owner, kind), DOORS[door]
    if door in ("job answer", "job cancel"):
        assert "not found" not in await use(world, owner, handle)
    else:
        assert CANARY in await use(world, owner, handle)  # the attempt is a real one
    foreign, unknown = await use(world, reader, handle), await use(world, reader, UNKNOWN)
    assert CANARY not in foreign
    assert VARIABLE.sub("_", foreign) == VARIABLE.sub("_", unknown)


@pytest.mark.parametrize("door", TEXT_DOORS)
@pytest.mark.parametrize(
    "change", ["{}\n", " {}", "{}/", "local/{}", "{}.txt", "{}\0", "owners/../{}", "UPPER"]
)
async def test_other_forms_of_a_handle_are_unknown(local, change, door):
    handle = await local.store("part", "text")
    changed = handle.upper() if change == "UPPER" else change.format(handle)
    assert changed != handle
    assert CANARY not in await DOORS[door](local, "other", changed)
    if "/" not in change and door not in ("get", "range"):  # a client of HTTP may change the path itself
        assert CANARY not in await DOORS[door](local, "part", changed)


@pytest.mark.parametrize(
    ("where", "owner", "reader"),
    [
        ("local", "part", "user"),
        ("local", "part", "part"),
        ("local", "part", "user at part"),
        ("hosted", "limited", "anna"),
        ("hosted", "limited", "limited"),
    ],
)
async def test_owner_without_limits_reads_what_its_own_keys_and_profiles_have_stored(
    where, owner, reader, worlds
):
    world = worlds[where]
    text, media, id = [await world.store(owner, kind) for kind in ("text", "media", "job")]
    assert CANARY in await mcp_run(world, reader, text)
    assert CANARY in await mcp_resource(world, reader, media)
    assert CANARY in await job_mcp_wait(world, reader, id)


@pytest.mark.parametrize(
    ("where", "owner", "reader"), [("local", "user", "part"), ("hosted", "anna", "limited")]
)
async def test_list_of_jobs_has_only_those_of_the_reader(where, owner, reader, worlds):
    world = worlds[where]
    id = await world.store(owner, "job")
    own = await world.store(reader, "job")
    body = {"command": "[job['id'] for job in ot.tasks()]"}
    listed = [(await world.clients[name].post("/run", json=body)).json()["data"] for name in (owner, reader)]
    assert {id, own} <= set(listed[0])
    assert own in listed[1]
    assert id not in listed[1]

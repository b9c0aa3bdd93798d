"""A hosted server, worker and chat model in one process, with a principal for each combination of rights."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import httpx2
import psycopg

from onetool.bootstrap.hosted import open_hosted
from onetool.bootstrap.hosted_admin import WorkspaceContents, new_key, open_contents, workspace_admin
from onetool.bootstrap.worker import Worker
from onetool.domain.calls.effect import Effect
from onetool.domain.identity.roles import Role
from onetool.domain.policy.member import Member, MemberKind
from onetool.interfaces.rest.server import create_server
from onetool.settings.configuration import operator_packs
from onetool.settings.paths import Paths
from support.hosted_server import HostedServer
from support.postgres import new_database
from support.rest_process import write_private
from support.waiting import HANG_S

RING = new_key("rights")
DAY = timedelta(days=1)
AUDITOR = "auditor-of-the-tests"
"""A member whose key sees the recorded calls of all members."""
OWNER = "owner-of-the-tests"
PROBES = '''"""Tools that write a file when they run."""

from pathlib import Path

from onetool.sdk import tool

pack = {pack!r}


def read(mark: str) -> str:
    """Write a file, although the pack says that nothing changes."""
    return _write_mark(mark)


@tool(read_only=False)
def write(mark: str) -> str:
    """Write a file."""
    return _write_mark(mark)


def _write_mark(mark: str) -> str:
    """Write a file."""
    Path({folder!r}, mark).touch(exist_ok=False)
    return f"done {{mark}}"
'''
RELAY = '''"""A tool that calls another one."""

from onetool.sdk import call_tool

pack = "relay"


def send(name: str, mark: str) -> str:
    """Call a tool."""
    return call_tool(name, mark=mark)
'''


class MemberGroup(NamedTuple):
    """A group of one person, which is a member."""

    name: str
    role: str
    patterns: tuple[str, ...] = ()
    grants: tuple[tuple[str, str], ...] = ()
    """Effects and patterns."""


class Holder(NamedTuple):
    """A principal with rights: a person if there are groups, otherwise a service."""

    name: str
    role: str = ""
    """Its own; empty: it has those of its groups."""
    patterns: tuple[str, ...] = ()
    grants: tuple[tuple[str, str], ...] = ()
    groups: tuple[MemberGroup, ...] = ()
    key: tuple[str, ...] = ()
    """Patterns of its API key."""
    loses: str = ""
    """What it loses before it makes calls: its `membership`, or its `groups`."""


class Place(NamedTuple):
    """A workspace, with the API key of each holder."""

    slug: str
    keys: Mapping[str, str]


class RightsServer(HostedServer):
    """A hosted server on the loopback interface, which opens workspaces of one database."""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Serve, and yield the URL."""
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        server = create_server(self.app)
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving
            await self.workspaces.aclose()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Run queued jobs."""
        stop = asyncio.Event()
        running = asyncio.create_task(Worker(self.parts, self.url, self.workspaces.use).run(stop))
        try:
            yield
        finally:
            stop.set()
            async with asyncio.timeout(HANG_S):
                await running


class RightsWorld:
    """A running server, with a client for its workspaces."""

    def __init__(self, client: httpx2.AsyncClient, places: Mapping[str, Place], marks: Path) -> None:
        self._client, self._places, self._marks = client, places, marks
        self._done: dict[Hashable, asyncio.Task[Any]] = {}

    def ran(self, mark: str) -> bool:
        """Return whether a tool has run with this argument."""
        return (self._marks / mark).exists()

    async def once(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Do some work when it is first asked for, and return its result."""
        if key not in self._done:
            self._done[key] = asyncio.create_task(work())
        return await self._done[key]

    def url(self, workspace: str, path: str) -> str:
        """Return the path of a request to a workspace."""
        return f"/w/{self._places[workspace].slug}{path}"

    def headers(self, workspace: str, holder: str) -> dict[str, str]:
        """Return the header with the API key of a holder."""
        return {"Authorization": f"Bearer {self._places[workspace].keys[holder]}"}

    async def request(
        self, workspace: str, holder: str, method: str, path: str, *, headers: Any = None, **fields: Any
    ) -> httpx2.Response:
        """Send a request with the API key of a holder."""
        sent = self.headers(workspace, holder) | (headers or {})
        return await self._client.request(method, self.url(workspace, path), headers=sent, **fields)

    def stream(self, workspace: str, holder: str, path: str, body: Any) -> Any:
        """Send a request whose response is a stream of events."""
        headers = self.headers(workspace, holder)
        return self._client.stream("POST", self.url(workspace, path), headers=headers, json=body)


@asynccontextmanager
async def open_world(
    folder: Path, holders: Mapping[str, Iterable[Holder]], settings: Mapping[str, dict[str, Any]]
) -> AsyncIterator[RightsWorld]:
    """Serve workspaces.

    holders: who has rights in each of them.
    settings: of each of them.
    """
    marks = folder / "marks"
    marks.mkdir()
    for pack in ("probes", "sealed"):
        text = PROBES.format(pack=pack, folder=str(marks))
        write_private(folder / "config" / "tools" / f"{pack}.py", text)
    write_private(folder / "config" / "tools" / "relay.py", RELAY)
    paths = Paths(config=folder / "config", data=folder, state=folder, cwd=folder)
    async with AsyncExitStack() as stack:
        url = stack.enter_context(new_database())
        ids = _add_people(url, {holder.name: holder for items in holders.values() for holder in items})
        adding = (_add_workspace(url, ids, holders[name], settings[name]) for name in settings)
        places = dict(zip(settings, await asyncio.gather(*adding), strict=True))
        _remove_people(url, {holder.name: holder for items in holders.values() for holder in items}, ids)
        parts = await stack.enter_async_context(open_hosted(url, RING, pack_dirs=operator_packs(paths)))
        server = RightsServer(parts, url)
        base = await stack.enter_async_context(server.serving())
        await stack.enter_async_context(server.working())
        # The server closes a connection that was unused for some seconds, perhaps just when it is used again.
        limits = httpx2.Limits(max_connections=100, max_keepalive_connections=0)
        client = httpx2.AsyncClient(
            base_url=base, trust_env=False, verify=False, timeout=HANG_S, limits=limits
        )
        yield RightsWorld(await stack.enter_async_context(client), places, marks)


def _add_people(url: str, holders: Mapping[str, Holder]) -> Mapping[str, str]:
    """Store the people with their groups, as a login would. Return the ids of holders and groups by name."""
    ids = {name: str(uuid4()) if holder.groups else name for name, holder in holders.items()}
    with psycopg.connect(url, autocommit=True) as connection:
        for name, holder in holders.items():
            if holder.groups:
                connection.execute("insert into home.people (id, name) values (%s, %s)", (ids[name], name))
            for group in holder.groups:
                ids[group.name] = str(uuid4())
                row = (ids[group.name], "https://issuer.test", group.name)
                connection.execute("insert into home.groups (id, issuer, name) values (%s, %s, %s)", row)
                row = (ids[group.name], ids[name])
                connection.execute("insert into home.group_people values (%s, %s)", row)
    return ids


def _remove_people(url: str, holders: Mapping[str, Holder], ids: Mapping[str, str]) -> None:
    """Remove people from their groups, as a login with other groups would."""
    people = [ids[name] for name, holder in holders.items() if holder.loses == "groups"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("delete from home.group_people where person_id = any(%s::uuid[])", (people,))


async def _add_workspace(
    url: str, ids: Mapping[str, str], holders: Iterable[Holder], settings: dict[str, Any]
) -> Place:
    slug = f"w{uuid4().hex}"
    await asyncio.to_thread(workspace_admin(url, RING).create, slug)
    async with open_contents(url, RING, slug) as contents:
        await contents.replace_settings(settings, "operator")
        await contents.members.put(Member(MemberKind.SERVICE, OWNER, Role.OWNER))
        await contents.members.put(Member(MemberKind.SERVICE, AUDITOR, Role.AUDITOR))
        keys = {name: (await contents.keys.create(name, name, DAY)).text for name in (OWNER, AUDITOR)}
        for holder in holders:
            keys[holder.name] = await _add_holder(contents, ids, holder)
    return Place(slug, keys)


async def _add_holder(contents: WorkspaceContents, ids: Mapping[str, str], holder: Holder) -> str:
    """Give a principal its rights, and return the text of its API key."""
    kind = MemberKind.PERSON if holder.groups else MemberKind.SERVICE
    if holder.role:
        await _add_member(contents, kind, ids[holder.name], holder.role, holder.patterns, holder.grants)
    for group in holder.groups:
        id = ids[group.name]
        await _add_member(contents, MemberKind.GROUP, id, group.role, group.patterns, group.grants)
    key = await contents.keys.create(ids[holder.name], "tests", DAY, holder.key)
    if holder.loses == "membership":
        assert await contents.members.remove(kind, ids[holder.name])
    return key.text


async def _add_member(
    contents: WorkspaceContents,
    kind: MemberKind,
    id: str,
    role: str,
    patterns: tuple[str, ...],
    grants: Sequence[tuple[str, str]],
) -> None:
    await contents.members.put(Member(kind, id, Role(role), patterns))
    for effect, pattern in grants:
        await contents.members.put_grant(kind, id, Effect[effect.upper()], pattern, "operator")

"""Clients that use a workspace: each repeats one kind of request."""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from chaos.client import ACCEPT, ChaosClient, Reply
from chaos.ledger import OK, QueuedJob
from onetool.interfaces.mcp.http_sessions import MAX_HELD
from support.openid_stub import OpenIdStub
from support.prompted_model import call_prompt
from support.rest_process import new_id

LEGACY, MODERN = "2025-11-25", "2026-07-28"
META = "io.modelcontextprotocol"
BUNDLE = "bb"
"""The bundle with the tools that all clients of a workspace call."""
ASYNC = {"Prefer": "respond-async"}
JOB_ATTEMPTS = 5
Steps = Sequence[Callable[[], Awaitable[Any]]]


class User:
    """One client that repeats one kind of work."""

    def __init__(self, client: ChaosClient) -> None:
        self.client = client
        self.rng, self.ledger = client.rng, client.ledger
        self.number = 0

    async def step(self) -> None:
        """Make one of the requests."""
        await self.rng.choice(self.steps())()

    def steps(self) -> Steps:
        """Return what the client may do next."""
        raise NotImplementedError

    def new_name(self) -> str:
        """Return a name that no other client uses."""
        return f"n{new_id().replace('-', '')[-16:]}"

    async def call_upstream(self, id: str, reply: Awaitable[Reply]) -> Reply:
        """Make a call that the upstream counts, and record its outcome."""
        self.ledger.calls[id] = "broken"
        found = await reply
        self.ledger.calls[id] = found.outcome
        if found.outcome == OK and id not in found.text:
            self.ledger.others_results.append(f"call {id} of {self.client.place.slug}: {found.text[:500]}")
        return found


class RestCaller(User):
    """Calls tools and code over REST, and searches."""

    def steps(self) -> Steps:
        return (self._record, self._read, self._pack, self._server, self._run, self._search, self._jobs)

    async def _record(self) -> None:
        id = self.new_name()
        body = {"name": f"{BUNDLE}.rec", "args": {"id": id}}
        await self.call_upstream(id, self.client.request("call http", "POST", "/tools/call", json=body))

    async def _read(self) -> None:
        body = {"name": f"{BUNDLE}.get", "args": {}}
        await self.client.request("call http", "POST", "/tools/call", json=body)

    async def _pack(self) -> None:
        body = {"name": "tools.echo", "args": {"message": self.client.place.canary}}
        await self.client.request("call pack", "POST", "/tools/call", json=body)

    async def _server(self) -> None:
        id = self.new_name()
        body = {"name": "up.note", "args": {"id": id}}
        await self.call_upstream(id, self.client.request("call mcp", "POST", "/tools/call", json=body))

    async def _run(self) -> None:
        id = self.new_name()
        body = {"command": f"x = tools.echo(message='x')\n{BUNDLE}.rec(id={id!r})"}
        await self.call_upstream(id, self.client.request("run", "POST", "/run", json=body))

    async def _search(self) -> None:
        params = {"q": self.rng.choice(["rec", "canary", "get", self.client.place.canary[:12]])}
        await self.client.request("search", "GET", "/tools/tools/search", params=params)

    async def _jobs(self) -> None:
        await self.client.request("list jobs", "GET", "/jobs")


class McpCaller(User):
    """Calls tools over MCP, in the version 2025-11-25, with the same session at all servers."""

    session = ""

    def __init__(self, client: ChaosClient) -> None:
        super().__init__(client)
        self.sessions: deque[str] = deque(maxlen=MAX_HELD)
        """Sessions that it has opened. Like many clients, it does not end them during the run."""

    def steps(self) -> Steps:
        return (self._list, self._call, self._call, self._open)

    async def end_sessions(self) -> None:
        """End all sessions, at each server: others would keep a session that they have served before."""
        for session in self.sessions:
            headers = {"MCP-Protocol-Version": LEGACY, "Mcp-Session-Id": session}
            for server in self.client.servers:
                await self.client.request(
                    "end session", "DELETE", "/mcp", server=server, headers=headers, expected=("404",)
                )

    async def _open(self) -> None:
        info = {"name": "chaos", "version": "1"}
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": info}
        reply = await self._send("initialize", params)
        if reply.outcome == OK:
            self.session = reply.headers["mcp-session-id"]
            self.sessions.append(self.session)

    async def _list(self) -> None:
        await self._in_session("tools/list", {})

    async def _call(self) -> None:
        id = self.new_name()
        command = self.rng.choice([f"{BUNDLE}.rec(id={id!r})", f"up.note(id={id!r})"])
        params = {"name": "run", "arguments": {"command": command}}
        await self.call_upstream(id, self._in_session("tools/call", params))

    async def _in_session(self, method: str, params: dict[str, Any]) -> Reply:
        if not self.session:
            await self._open()
        if not self.session:
            return Reply("broken")
        return await self._send(method, params)

    async def _send(self, method: str, params: dict[str, Any]) -> Reply:
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        headers = ACCEPT | {"MCP-Protocol-Version": LEGACY}
        if self.session and method != "initialize":
            headers["Mcp-Session-Id"] = self.session
        return await self.client.request(f"mcp {LEGACY}", "POST", "/mcp", json=message, headers=headers)


class ModernMcpCaller(McpCaller):
    """Calls through MCP in the version 2026-07-28, which has no sessions."""

    async def _open(self) -> None:
        await self._send("server/discover", {})

    async def _in_session(self, method: str, params: dict[str, Any]) -> Reply:
        return await self._send(method, params)

    async def _send(self, method: str, params: dict[str, Any]) -> Reply:
        self.number += 1
        fields = {"protocolVersion": MODERN, "clientInfo": {"name": "chaos", "version": "1"}}
        meta = {f"{META}/{name}": value for name, value in (fields | {"clientCapabilities": {}}).items()}
        body = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params | {"_meta": meta}}
        headers = ACCEPT | {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if "name" in params:
            headers["Mcp-Name"] = params["name"]
        return await self.client.request(f"mcp {MODERN}", "POST", "/mcp", json=body, headers=headers)


class ChatUser(User):
    """Asks the scripted model, which calls a tool."""

    session = ""

    def steps(self) -> Steps:
        return (self._ask,)

    async def _ask(self) -> None:
        self.session = self.session or self.new_name()
        id = self.new_name()
        text = call_prompt(f"{BUNDLE}__rec", id=id)
        body = {"text": text, "provider": "fake", "tools": "all", "session": self.session}
        reply = await self.call_upstream(id, self.client.request("ask", "POST", "/chat", json=body))
        if reply.outcome != OK or self.rng.random() < 0.3:
            self.session = ""


class JobUser(User):
    """Queues calls, with a key that makes repeated attempts one job, and reads the jobs."""

    def steps(self) -> Steps:
        return (self._queue, self._look)

    async def _queue(self) -> None:
        job = QueuedJob(self.client.place.slug, self.new_name(), self.new_name())
        self.ledger.jobs.append(job)
        name = self.rng.choice([f"{BUNDLE}.rec", "up.note"])
        body, headers = {"name": name, "args": {"id": job.call}}, ASYNC | {"Idempotency-Key": job.key}
        is_repeated = self.rng.random() < 0.3
        for _ in range(JOB_ATTEMPTS):
            reply = await self.client.request("queue job", "POST", "/tools/call", json=body, headers=headers)
            if reply.outcome == OK:
                job.ids.add(reply.body["job"])
                if not is_repeated:
                    break
            elif 400 <= reply.status < 500:
                break

    async def _look(self) -> None:
        known = [job for job in self.ledger.jobs if job.ids and job.place == self.client.place.slug]
        if known:
            job = self.rng.choice(known[-5:])
            path = f"/jobs/{next(iter(job.ids))}"
            reply = await self.client.request("read job", "GET", path, headers={"Prefer": "wait=2"})
            if reply.outcome == OK:
                job.statuses.add(reply.body["status"])


class LoginUser(User):
    """Logs in at the OpenID provider, and uses the session."""

    issuer: OpenIdStub

    def steps(self) -> Steps:
        return (self._log_in,)

    async def _log_in(self) -> None:
        server = self.rng.choice(self.client.servers)
        begun = await self.client.request(
            "log in", "GET", f"//auth/login?next=/w/{self.client.place.slug}/", server=server
        )
        if begun.outcome != OK or begun.status != 303:
            return
        query = {
            name: values[0] for name, values in parse_qs(urlsplit(begun.headers["location"]).query).items()
        }
        self.issuer._nonce = query["nonce"]
        cookie = begun.headers["set-cookie"].partition(";")[0]
        path = f"//auth/callback?code={self.new_name()}&state={query['state']}"
        await self.client.request("log in", "GET", path, server=server, headers={"Cookie": cookie})

"""A OneTool server in a process of its own, and an upstream that remembers what reached it."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

import httpx2
import pytest
import uuid_utils

TOKEN = "token-of-the-tests"
KEY, BOUND = "s3cret-of-the-upstream", "s3cret-of-another-host"
# `localhost` leads to the upstream as well, but is not listed: what must not be reached would answer.
SETTINGS = 'allowedHosts: ["127.0.0.1", "allowed.test", "*.wild.test"]\n'
SECRETS = f"API_KEY: {KEY}\nBOUND: {{value: {BOUND}, hosts: [allowed.test]}}\n"
PROBES = '''"""Functions that tests call."""

import time
from pathlib import Path

from onetool.sdk import report_progress

pack = "probes"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def one() -> int:
    """Return one."""
    return 1


def two() -> int:
    """Return two."""
    return 2


def fail(why: str) -> None:
    """Raise an error."""
    raise RuntimeError(why)


def mark(path: str) -> str:
    """Leave a file behind."""
    Path(path).write_text("called")
    return path


def context(ctx, n: int) -> dict:
    """Tell what the call is."""
    left, args = ctx.deadline - time.monotonic(), dict(ctx.args)
    return {"n": n, "call_id": ctx.call_id, "left": left, "cancelled": bool(ctx.cancelled), "args": args}


def stepwise(gate: str) -> str:
    """Report a step, go on when the gate is open."""
    report_progress(1, 2, "half")
    end = time.monotonic() + 5
    while not Path(gate).exists() and time.monotonic() < end:
        time.sleep(0.01)
    report_progress(2, 2, "whole")
    return "opened" if Path(gate).exists() else "gave up"
'''
OPEN = {"type": "object"}
NO_NETWORK = """import errno, sys

def refuse(event, args):
    if event == "socket.connect" and isinstance(args[1], tuple):
        raise OSError(errno.ENETUNREACH, "the network is blocked")

sys.addaudithook(refuse)
"""


def new_id() -> str:
    return str(uuid_utils.uuid7())


def new_slug(stem: str = "b") -> str:
    """A slug that no other test on this server has."""
    return f"{stem}-{new_id()[-12:]}"


def python_tool(func: str = "probes.one", **fields: Any) -> dict[str, Any]:
    """The body of a tool that runs a registered function."""
    common = {"displayName": "Probe", "description": "Probes.", "tags": [], "isEnabled": True}
    return common | {"type": "python", "argSchema": OPEN, "pythonImpl": {"func": func}} | fields


def http_tool(url: str, *args: str, request: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """The body of a tool that sends one request; `args` are its arguments, any of which may be left out."""
    sent = {"method": "GET", "urlTemplate": url} | (request or {})
    known = {"type": "object", "properties": {name: {} for name in args}, "additionalProperties": False}
    body = python_tool(type="http", argSchema=known, httpImpl={"request": sent})
    del body["pythonImpl"]
    return body | fields


def write_private(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)


class Server:
    """`onetool serve` with its own directories, and what tests ask of it."""

    def __init__(
        self, root: Path, *options: str, settings: str = SETTINGS, probes: bool = True, **env: str
    ) -> None:
        self.root, self.options, self.env = root, options, env
        self.config, self.bundles = root / "config", root / "data" / "bundles"
        self.client: Any = None
        (root / "work").mkdir(parents=True, exist_ok=True)
        files = {"onetool.yaml": settings, "secrets.yaml": SECRETS} | (
            {"tools/probes.py": PROBES} if probes else {}
        )
        for name, text in files.items():
            write_private(self.config / name, text)

    def launch(self) -> "Server":
        """Begin to start; `ready` waits for it."""
        places = {f"ONETOOL_{it.upper()}_DIR": str(self.root / it) for it in ("config", "data", "state")}
        self.errors = self.root / f"stderr-{new_id()}.txt"
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "onetool", "serve", "--port", "0", *self.options],
                env=os.environ | places | {"ONETOOL_TOKEN": TOKEN} | self.env,
                cwd=self.root / "work",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        return self

    def ready(self) -> "Server":
        assert self.process.stdout
        watchdog = threading.Timer(60, self.process.kill)
        watchdog.start()
        line = self.process.stdout.readline()
        watchdog.cancel()
        start, _, self.url = line.strip().rpartition(" ")
        if start != "OneTool listens on":
            self.stop()
            pytest.fail(f"the server did not start: {line!r} {self.errors.read_text()[-2000:]}")
        self.client = self.new_client()
        return self

    def new_client(self, token: str | None = TOKEN) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx2.Client(base_url=self.url, headers=headers, trust_env=False, timeout=30)

    def stop(self) -> None:
        """End it as a service manager does; may be done twice."""
        if self.client:
            self.client.close()
        self.process.terminate()
        try:
            self.exit_code = self.process.wait(timeout=20)
        finally:
            self.process.kill()
            if self.process.stdout:
                self.process.stdout.close()

    def __enter__(self) -> "Server":
        return self.launch().ready()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # Bundles

    def put_bundle(self, bundle_id: str | None = None, **fields: Any) -> httpx2.Response:
        body = {"slug": new_slug(), "displayName": "B", "description": "", "isEnabled": True} | fields
        return self.client.put(f"/tools/bundles/{bundle_id or new_id()}", json=body)

    def bundle(self, **fields: Any) -> str:
        """Create a bundle and give its id."""
        response = self.put_bundle(**fields)
        assert response.status_code == 201, response.text
        return response.json()["id"]

    def find_bundle(self, bundle_id: str) -> dict[str, Any] | None:
        query = {"bundleIDs": bundle_id, "includeDisabled": "true"}
        found = self.client.get("/tools/bundles", params=query).json()["toolBundles"]
        assert len(found) <= 1
        return found[0] if found else None

    def shipped(self, slug: str) -> dict[str, Any]:
        """The bundle of a pack, by its slug."""
        every = self.every("/tools/bundles", includeDisabled="true")
        (found,) = [it for it in every if it["slug"] == slug and it["origin"] in ("builtin", "pack")]
        return found

    def switch(self, url: str, on: bool, status: int = 200) -> httpx2.Response:
        response = self.client.patch(url, json={"isEnabled": on})
        assert response.status_code == status, response.text
        return response

    def record(self, bundle_id: str) -> dict[str, Any]:
        return json.loads((self.bundles / bundle_id / "bundle.json").read_bytes())

    def tool_files(self, bundle_id: str) -> list[Path]:
        folder = self.bundles / bundle_id
        return [it for it in folder.glob("*.json") if it.name != "bundle.json" and it.name[0] != "."]

    # Tools

    def tool_url(self, bundle_id: str, slug: str, version: str = "v1") -> str:
        return f"/tools/bundles/{bundle_id}/tools/{quote(slug, safe='')}/version/{quote(version, safe='')}"

    def put_tool(self, bundle_id: str, slug: str, version: str = "v1", **fields: Any) -> httpx2.Response:
        body = fields if "type" in fields else python_tool(**fields)
        return self.client.put(self.tool_url(bundle_id, slug, version), json=body)

    def tool(
        self, bundle_id: str | None = None, slug: str = "probe", version: str = "v1", **fields: Any
    ) -> Any:
        """Create a tool version, in a bundle of its own if none is given."""
        response = self.put_tool(bundle_id or self.bundle(), slug, version, **fields)
        assert response.status_code == 201, response.text
        return response.json()

    def url_of(self, tool: dict[str, Any]) -> str:
        return self.tool_url(tool["bundleID"], tool["slug"], tool["version"])

    def get(self, tool: dict[str, Any]) -> dict[str, Any]:
        response = self.client.get(self.url_of(tool))
        assert response.status_code == 200, response.text
        return response.json()

    def file(self, tool: dict[str, Any]) -> Path:
        return self.bundles / tool["bundleID"] / f"{tool['id']}.json"

    def invoke(self, tool: dict[str, Any], **args: Any) -> httpx2.Response:
        return self.client.post(f"{self.url_of(tool)}/invoke", json={"args": args})

    def value(self, tool: dict[str, Any], **args: Any) -> Any:
        """Invoke what must succeed."""
        response = self.invoke(tool, **args)
        assert (response.status_code, response.json()["ok"]) == (200, True), response.text
        return response.json()["value"]

    def error(self, tool: dict[str, Any], status: int | None = None, **args: Any) -> dict[str, Any]:
        """Invoke what must fail, and give the body."""
        response = self.invoke(tool, **args)
        body = response.json()
        assert (body["ok"], "value" in body) == (False, False), response.text
        assert status is None or response.status_code == status, response.text
        assert body["error"]["message"]
        assert body["error"]["code"] in ("tool_not_found", "invalid_args", "execution_error")
        return body

    # Lists

    def pages(self, path: str, **query: Any) -> list[list[dict[str, Any]]]:
        """All pages of a listing; the token alone leads from one to the next."""
        found, more = [], query
        for _ in range(2_000):
            response = self.client.get(path, params=more)
            assert response.status_code == 200, response.text
            body = response.json()
            found.append(body["toolBundles" if path.endswith("/bundles") else "toolListItems"])
            if "nextPageToken" not in body:
                return found
            assert body["nextPageToken"]
            more = {"pageToken": body["nextPageToken"]}
        raise AssertionError(f"{path} has no last page")

    def every(self, path: str, **query: Any) -> list[dict[str, Any]]:
        size = "recommendedPageSize" if path.endswith("/tools") else "pageSize"
        return [item for page in self.pages(path, **{size: "256"} | query) for item in page]

    def slugs(self, bundle_id: str, **query: str) -> list[str]:
        """The slugs that a listing shows of one bundle."""
        return [it["slug"] for it in self.every("/tools/tools", bundleIDs=bundle_id, **query)]

    def search(self, bundle_id: str, q: str, **query: str) -> list[str]:
        """What a search finds in one bundle, best first."""
        found = self.every("/tools/tools/search", q=q, **query)
        return [it["slug"] for it in found if it["bundleID"] == bundle_id]


class Answer(NamedTuple):
    """What the upstream says: JSON, or a text as it is."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed
    wait: float = 0.0


@dataclass(frozen=True)
class Seen:
    """A request that reached the upstream."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    at: float = field(default_factory=time.monotonic)

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def raw_query(self) -> str:
        return urlsplit(self.target).query

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.raw_query, keep_blank_values=True))

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode()))


class Upstream(ThreadingHTTPServer):
    """Answers as scripted, by the first part of the path, and remembers every request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.scripts: dict[str, list[Answer | Callable[[Seen], Answer]]] = {}
        self.requests: list[Seen] = []
        self.names, self.lock = count(), threading.Lock()

    def script(self, *answers: Answer | Callable[[Seen], Answer]) -> str:
        """A new path with these answers in turn, the last one for ever."""
        path = f"/p{next(self.names)}"
        self.scripts[path] = list(answers) or [Answer(body={"fine": True})]
        return path

    def seen(self, path: str) -> list[Seen]:
        with self.lock:
            return [it for it in self.requests if first_part(it.path) == path]

    def answer(self, request: Seen) -> Answer:
        with self.lock:
            self.requests.append(request)
            script = self.scripts.get(first_part(request.path), [Answer(404, "no such path")])
            answer = script.pop(0) if len(script) > 1 else script[0]
        return answer if isinstance(answer, Answer) else answer(request)


def first_part(path: str) -> str:
    return "/" + path.split("/")[1]


class Exchange(BaseHTTPRequestHandler):
    """One request and its scripted answer."""

    server: Upstream

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:  # the caller may leave before the answer
            self.close_connection = True

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.answer(Seen(self.command, self.path, headers, body))
        time.sleep(answer.wait)
        text = isinstance(answer.body, str)
        content = (answer.body if text else json.dumps(answer.body)).encode()
        self.send_response(answer.status)
        known = {"Content-Type": "text/plain" if text else "application/json", "Content-Length": len(content)}
        for name, value in (known | answer.headers).items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="session", name="server")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that tests of one worker share; each keeps to bundles of its own."""
    with Server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="session", name="upstream")
def shared_upstream() -> Iterator[Upstream]:
    """A local HTTP server that records what it gets."""
    with Upstream() as upstream:
        thread = threading.Thread(target=upstream.serve_forever, args=(0.01,))
        thread.start()
        yield upstream
        upstream.shutdown()
        thread.join()

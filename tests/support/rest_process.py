"""`onetool serve` as a process, and an upstream HTTP server that records its requests."""

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

import httpx2
import pytest
import uuid_utils

from onetool.testing.http_stub import HttpStub, StubResponse
from onetool.testing.http_stub import RecordedRequest as StubbedRequest
from support.onetool_process import start_onetool
from support.pack_index import remember_index, write_index
from support.waiting import HANG_S

TOKEN = "token-of-the-tests"
API_KEY, BOUND_KEY = "s3cret-of-the-upstream", "s3cret-of-another-host"
# `localhost` also resolves to the upstream but is not allowed: a forbidden request would get a response.
SETTINGS = 'allowedHosts: ["127.0.0.1", "allowed.test", "*.wild.test"]\n'
SECRETS = f"API_KEY: {API_KEY}\nBOUND: {{value: {BOUND_KEY}, hosts: [allowed.test]}}\n"
PROBES = '''"""Functions for tests to call."""

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
    """Write a file."""
    Path(path).write_text("called")
    return path


def context(ctx, n: int) -> dict:
    """Return the context of the call."""
    left, args = ctx.deadline - time.monotonic(), dict(ctx.args)
    return {"n": n, "call_id": ctx.call_id, "left": left, "cancelled": bool(ctx.cancelled), "args": args}


def stepwise(gate: str) -> str:
    """Report progress, then wait until the gate file exists."""
    report_progress(1, 2, "half")
    while not Path(gate).exists():
        time.sleep(0.01)
    report_progress(2, 2, "whole")
    return "opened"
'''
ANY_OBJECT = {"type": "object"}
BLOCK_NETWORK = """import errno, sys

def refuse(event, args):
    if event == "socket.connect" and isinstance(args[1], tuple):
        raise OSError(errno.ENETUNREACH, "the network is blocked")

sys.addaudithook(refuse)
"""


def new_id() -> str:
    """Return a new bundle id."""
    return str(uuid_utils.uuid7())


def new_slug(stem: str = "b") -> str:
    """Return a slug that no other test uses."""
    return f"{stem}-{new_id()[-12:]}"


def python_tool(func: str = "probes.one", **fields: Any) -> dict[str, Any]:
    """Return the body of a tool that runs a registered function."""
    metadata = {"displayName": "Probe", "description": "Probes.", "tags": [], "isEnabled": True}
    return metadata | {"type": "python", "argSchema": ANY_OBJECT, "pythonImpl": {"func": func}} | fields


def http_tool(url: str, *args: str, request: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Return the body of a tool that sends one request; `args` are its optional arguments."""
    spec = {"method": "GET", "urlTemplate": url} | (request or {})
    schema = {"type": "object", "properties": {name: {} for name in args}, "additionalProperties": False}
    body = python_tool(type="http", argSchema=schema, httpImpl={"request": spec})
    del body["pythonImpl"]
    return body | fields


def code_tool(program: str | None = None, *args: str, steps: Any = None, **fields: Any) -> dict[str, Any]:
    """Return the body of a tool made of code or of steps; `args` are its optional arguments."""
    schema = {"type": "object", "properties": {name: {} for name in args}, "additionalProperties": False}
    impl = {"program": program, "steps": steps}
    body = python_tool(type="code", argSchema=schema)
    del body["pythonImpl"]
    return body | {"codeImpl": {key: value for key, value in impl.items() if value is not None}} | fields


def write_private(file: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)


class RestProcess:
    """`onetool serve` with its own directories, and requests to it."""

    command: Sequence[str] = ("serve", "--port", "0")
    path = ""
    """Where the API is on the server."""
    token = TOKEN
    is_measured = False

    def __init__(
        self,
        root: Path,
        *options: str,
        settings: str = SETTINGS,
        probes: bool = True,
        wrapper: Sequence[str] = (),
        **env: str,
    ) -> None:
        self.root, self.options, self.wrapper, self.env = root, options, wrapper, env
        self.config, self.bundles = root / "config", root / "data" / "bundles"
        self.client: Any = None
        (root / "work").mkdir(parents=True, exist_ok=True)
        self.write_settings(settings)
        self.write_secrets()
        if probes:
            write_private(self.config / "tools" / "probes.py", PROBES)

    def write_settings(self, text: str) -> None:
        """Replace the settings."""
        write_private(self.config / "onetool.yaml", text)

    def write_secrets(self) -> None:
        """Store the secrets of the tests."""
        write_private(self.config / "secrets.yaml", SECRETS)

    def start(self) -> "RestProcess":
        """Start the process without waiting until it listens."""
        directories = ("config", "data", "state")
        paths = {f"ONETOOL_{name.upper()}_DIR": str(self.root / name) for name in directories}
        state = self.root / "state"
        state.mkdir(mode=0o700, exist_ok=True)
        write_index(state, (self.config / "tools").glob("*.py"))
        self.errors = self.root / f"stderr-{new_id()}.txt"
        with self.errors.open("wb") as errors:
            self.process = start_onetool(
                *self.command,
                *self.options,
                wrapper=self.wrapper,
                is_measured=self.is_measured,
                env=os.environ | paths | {"ONETOOL_TOKEN": TOKEN} | self.env,
                cwd=self.root / "work",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        return self

    def wait_until_ready(self) -> "RestProcess":
        """Wait until the server listens, and connect a client."""
        line = self.read_line()
        start, _, address = line.strip().rpartition(" ")
        if start != "OneTool listens on":
            self.stop()
            pytest.fail(f"the server did not start: {line!r} {self.errors.read_text()[-2000:]}")
        self.origin = "{0.scheme}://{0.netloc}".format(urlsplit(address))
        self.url = f"{self.origin}{self.path}"
        self.client = self.new_client()
        return self

    def read_line(self) -> str:
        """Return the next line that the process prints."""
        assert self.process.stdout
        watchdog = threading.Timer(HANG_S, self.process.kill)
        watchdog.start()
        line: str = self.process.stdout.readline()
        watchdog.cancel()
        return line

    @property
    def port(self) -> int:
        """The port of the server."""
        return int(self.origin.rpartition(":")[2])

    def new_client(self, token: str | None = TOKEN) -> httpx2.Client:
        """Return a client that connects for every request: the server closes connections that are idle."""
        sent = self.token if token == TOKEN else token
        headers = {"Authorization": f"Bearer {sent}"} if sent else {}
        limits = httpx2.Limits(max_keepalive_connections=0)
        return httpx2.Client(
            base_url=self.url, headers=headers, trust_env=False, verify=False, timeout=HANG_S, limits=limits
        )

    def stop(self) -> int:
        """Terminate the process as a service manager does, and return its exit code; may be called twice."""
        if self.client:
            self.client.close()
        self.process.terminate()
        try:
            self.exit_code: int = self.process.wait(timeout=HANG_S)
        finally:
            self.process.kill()
            if self.process.stdout:
                self.process.stdout.close()
        remember_index(self.root / "state")
        return self.exit_code

    def __enter__(self) -> "RestProcess":
        return self.start().wait_until_ready()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # Bundles

    def put_bundle(self, bundle_id: str | None = None, **fields: Any) -> httpx2.Response:
        body = {"slug": new_slug(), "displayName": "B", "description": "", "isEnabled": True} | fields
        return self.client.put(f"/tools/bundles/{bundle_id or new_id()}", json=body)

    def create_bundle(self, **fields: Any) -> str:
        """Create a bundle and return its id."""
        response = self.put_bundle(**fields)
        assert response.status_code == 201, response.text
        return response.json()["id"]

    def find_bundle(self, bundle_id: str) -> dict[str, Any] | None:
        query = {"bundleIDs": bundle_id, "includeDisabled": "true"}
        found = self.client.get("/tools/bundles", params=query).json()["toolBundles"]
        assert len(found) <= 1
        return found[0] if found else None

    def pack_bundle(self, slug: str) -> dict[str, Any]:
        """Return the virtual bundle of a pack."""
        bundles = self.list_all("/tools/bundles", includeDisabled="true")
        (bundle,) = [
            entry for entry in bundles if entry["slug"] == slug and entry["origin"] in ("builtin", "pack")
        ]
        return bundle

    def set_enabled(self, url: str, enabled: bool, status: int = 200) -> httpx2.Response:
        response = self.client.patch(url, json={"isEnabled": enabled})
        assert response.status_code == status, response.text
        return response

    def is_stored(self, bundle_id: str) -> bool:
        """Return whether there is a record of a bundle, which may be a deleted one."""
        return (self.bundles / bundle_id / "bundle.json").exists()

    def read_bundle_record(self, bundle_id: str) -> dict[str, Any]:
        return json.loads((self.bundles / bundle_id / "bundle.json").read_bytes())

    def replace_bundle_record(self, record: dict[str, Any]) -> None:
        """Replace what is stored of a bundle."""
        complete = self.root / "bundle.json"  # a running server must not read half of it
        complete.write_text(json.dumps(record))
        complete.replace(self.bundles / record["id"] / "bundle.json")

    def tool_files(self, bundle_id: str) -> list[Path]:
        folder = self.bundles / bundle_id
        return [file for file in folder.glob("*.json") if file.name != "bundle.json" and file.name[0] != "."]

    def stored_tools(self, bundle_id: str) -> dict[str, str]:
        """Return what is stored of the tools of a bundle, as JSON by their ids."""
        return {file.stem: file.read_text(encoding="utf-8") for file in self.tool_files(bundle_id)}

    def stored_tool(self, tool: dict[str, Any]) -> str | None:
        """Return what is stored of a tool."""
        return self.stored_tools(tool["bundleID"]).get(tool["id"])

    # Tools

    def tool_url(self, bundle_id: str, slug: str, version: str = "v1") -> str:
        return f"/tools/bundles/{bundle_id}/tools/{quote(slug, safe='')}/version/{quote(version, safe='')}"

    def put_tool(self, bundle_id: str, slug: str, version: str = "v1", **fields: Any) -> httpx2.Response:
        body = fields if "type" in fields else python_tool(**fields)
        return self.client.put(self.tool_url(bundle_id, slug, version), json=body)

    def create_tool(
        self, bundle_id: str | None = None, slug: str = "probe", version: str = "v1", **fields: Any
    ) -> Any:
        """Create a tool version, in a new bundle if none is given."""
        response = self.put_tool(bundle_id or self.create_bundle(), slug, version, **fields)
        assert response.status_code == 201, response.text
        return response.json()

    def url_of(self, tool: dict[str, Any]) -> str:
        return self.tool_url(tool["bundleID"], tool["slug"], tool["version"])

    def get_tool(self, tool: dict[str, Any]) -> dict[str, Any]:
        response = self.client.get(self.url_of(tool))
        assert response.status_code == 200, response.text
        return response.json()

    def tool_file(self, tool: dict[str, Any]) -> Path:
        return self.bundles / tool["bundleID"] / f"{tool['id']}.json"

    def invoke(self, tool: dict[str, Any], **args: Any) -> httpx2.Response:
        return self.client.post(f"{self.url_of(tool)}/invoke", json={"args": args})

    def invoke_value(self, tool: dict[str, Any], **args: Any) -> Any:
        """Invoke a tool that must succeed, and return the value."""
        response = self.invoke(tool, **args)
        assert (response.status_code, response.json()["ok"]) == (200, True), response.text
        return response.json()["value"]

    def invoke_error(self, tool: dict[str, Any], status: int | None = None, **args: Any) -> dict[str, Any]:
        """Invoke a tool that must fail, and return the body."""
        response = self.invoke(tool, **args)
        body = response.json()
        assert (body["ok"], "value" in body) == (False, False), response.text
        assert status is None or response.status_code == status, response.text
        assert body["error"]["message"]
        assert body["error"]["code"] in ("tool_not_found", "invalid_args", "execution_error")
        return body

    # Lists

    def list_pages(self, path: str, **query: Any) -> list[list[dict[str, Any]]]:
        """Return all pages of a listing, following only the page tokens."""
        pages, params = [], query
        for _ in range(2_000):
            response = self.client.get(path, params=params)
            assert response.status_code == 200, response.text
            body = response.json()
            pages.append(body["toolBundles" if path.endswith("/bundles") else "toolListItems"])
            if "nextPageToken" not in body:
                return pages
            assert body["nextPageToken"]
            params = {"pageToken": body["nextPageToken"]}
        raise AssertionError(f"{path} has no last page")

    def list_all(self, path: str, **query: Any) -> list[dict[str, Any]]:
        """Return the items of all pages of a listing."""
        size = "recommendedPageSize" if path.endswith("/tools") else "pageSize"
        return [item for page in self.list_pages(path, **{size: "256"} | query) for item in page]

    def list_slugs(self, bundle_id: str, **query: str) -> list[str]:
        """Return the slugs of the tools listed in one bundle."""
        return [entry["slug"] for entry in self.list_all("/tools/tools", bundleIDs=bundle_id, **query)]

    def search_slugs(self, bundle_id: str, q: str, **query: str) -> list[str]:
        """Return the slugs that a search finds in one bundle, best match first."""
        found = self.list_all("/tools/tools/search", q=q, **query)
        return [entry["slug"] for entry in found if entry["bundleID"] == bundle_id]


class RestReply(NamedTuple):
    """A response of the upstream; the body is sent as JSON, or unchanged if it is text."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = {}  # noqa: RUF012 - never modified


@dataclass(frozen=True)
class RecordedRequest:
    """A request that reached the upstream."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    received_at: float = field(default_factory=time.monotonic)

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


class Upstream(HttpStub):
    """Sends scripted replies, selected by the first path segment, and records every request."""

    def __init__(self) -> None:
        super().__init__({})
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that hangs up
        self.scripts: dict[str, list[RestReply | Callable[[RecordedRequest], RestReply]]] = {}
        self.received: list[RecordedRequest] = []
        self.names, self.lock = count(), threading.Lock()
        self.server_port: int = self._server.server_port

    def script(self, *replies: RestReply | Callable[[RecordedRequest], RestReply]) -> str:
        """Return a new path that sends these replies in turn and repeats the last one."""
        path = f"/p{next(self.names)}"
        self.scripts[path] = list(replies) or [RestReply(body={"fine": True})]
        return path

    def requests_to(self, path: str) -> list[RecordedRequest]:
        """Return the requests to a scripted path, in order."""
        with self.lock:
            return [request for request in self.received if first_segment(request.path) == path]

    def respond(self, stubbed: StubbedRequest) -> StubResponse:
        """Record a request and return its scripted reply."""
        headers = {name.lower(): value for name, value in stubbed.headers.items()}
        request = RecordedRequest(stubbed.method, stubbed.path, headers, stubbed.body)
        with self.lock:
            self.received.append(request)
            script = self.scripts.get(first_segment(request.path), [RestReply(404, "unknown path")])
            reply = script.pop(0) if len(script) > 1 else script[0]
        found = reply if isinstance(reply, RestReply) else reply(request)
        return StubResponse(found.body, found.status, found.headers)


def first_segment(path: str) -> str:
    return "/" + path.split("/")[1]


@pytest.fixture(scope="session", name="upstream")
def shared_upstream() -> Iterator[Upstream]:
    """Return an HTTP server that the tests of one worker share and that records its requests."""
    with Upstream() as upstream:
        yield upstream

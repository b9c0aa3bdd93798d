"""The API of the MCP registry and the pages of package indexes, on the loopback interface."""

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from onetool.testing import HttpStub
from onetool.testing.http_stub import RecordedRequest, StubResponse

from .paths import MCP_SERVERS

OFFICIAL = "io.modelcontextprotocol.registry/official"
FILESYSTEM, TIME = "io.github.modelcontextprotocol/server-filesystem", "io.github.modelcontextprotocol/time"
NOTES = "io.github.owner/notes"
INTEGRITY = "sha512-" + "A" * 86 + "=="
SHA256 = "2c6a25e3877b13a135efe0546989722b37469b1287e8310c27709048d3e79722"


def entry(name: str, version: str = "1.0.0", *, status: str = "active", **server: Any) -> dict[str, Any]:
    """Return an entry as the API returns it."""
    fields = {"name": name, "description": f"About {name}", "version": version, **server}
    return {"server": fields, "_meta": {OFFICIAL: {"status": status, "isLatest": True}}}


def npm_package(identifier: str, version: str, **fields: Any) -> dict[str, Any]:
    transport = {"type": "stdio"}
    return {
        "registryType": "npm",
        "identifier": identifier,
        "version": version,
        "transport": transport,
        **fields,
    }


def filesystem_entry(version: str = "2025.8.21") -> dict[str, Any]:
    """Return an entry for a package that exists on npm."""
    directory = {
        "type": "positional",
        "valueHint": "directory",
        "description": "Directory to access",
        "isRequired": True,
        "isRepeated": True,
    }
    package = npm_package(
        "@modelcontextprotocol/server-filesystem",
        version,
        registryBaseUrl="https://registry.npmjs.org",
        runtimeHint="npx",
        packageArguments=[directory],
    )
    repository = {"url": "https://github.com/modelcontextprotocol/servers", "source": "github"}
    return entry(FILESYSTEM, version, packages=[package], repository=repository)


def time_entry(version: str = "0.5.1") -> dict[str, Any]:
    """Return an entry for a package that exists on PyPI."""
    zone = {"type": "named", "name": "--local-timezone", "description": "Time zone"}
    package = {
        "registryType": "pypi",
        "identifier": "mcp-server-time",
        "version": version,
        "transport": {"type": "stdio"},
        "packageArguments": [zone],
    }
    return entry(TIME, version, packages=[package])


def notes_entry(version: str = "1.0.0", *, variables: Iterable[Any] = (), **package: Any) -> dict[str, Any]:
    """Return an entry for an npm package that needs a secret."""
    declared = [
        {"name": "NOTES_TOKEN", "isSecret": True, "isRequired": True, "description": "Token"},
        *variables,
    ]
    return entry(
        NOTES,
        version,
        packages=[npm_package("notes-server", version, environmentVariables=declared, **package)],
    )


class RegistryStub(HttpStub):
    """A registry with these entries, an npm registry and a PyPI index."""

    def __init__(self, *entries: Any) -> None:
        super().__init__({})
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that hangs up
        self.entries: list[Any] = list(entries)
        self.page_size = 100
        self.failure: StubResponse | None = None
        """The response to every request to the registry, if it is set."""
        self.integrity: Any = INTEGRITY
        self.files = {f"mcp_server_time-{version}-py3-none-any.whl": SHA256 for version in ("0.5.1", "0.6.0")}
        self.index_status = 200

    @property
    def env(self) -> dict[str, str]:
        """The environment in which commands use the package indexes of the stub."""
        return {**os.environ, **self.indexes}

    @property
    def indexes(self) -> dict[str, str]:
        """The variables that name the package indexes of the stub."""
        return {"npm_config_registry": f"{self.url}/npm", "PIP_INDEX_URL": f"{self.url}/simple"}

    def respond(self, request: RecordedRequest) -> StubResponse:
        self.requests.append(request)
        parts = urlsplit(request.path)
        if parts.path.startswith("/npm/"):
            return StubResponse({"dist": {"integrity": self.integrity}}, self.index_status)
        if parts.path.startswith("/simple/"):
            links = "".join(f'<a href="/f/{name}#sha256={digest}">' for name, digest in self.files.items())
            return StubResponse(links, self.index_status)
        if self.failure is not None:
            return self.failure
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        return self._list(query) if parts.path == "/v0.1/servers" else self._read(parts.path)

    def _list(self, query: dict[str, str]) -> StubResponse:
        start = int(query.get("cursor", 0))
        found = [item for item in self.entries if query["search"].lower() in json.dumps(item).lower()]
        page = found[start : start + self.page_size]
        end = start + len(page)
        metadata = {"count": len(page)} | ({"nextCursor": str(end)} if end < len(found) else {})
        return StubResponse({"servers": page, "metadata": metadata})

    def _read(self, path: str) -> StubResponse:
        for item in reversed(self.entries):
            server = item["server"]
            for version in ("latest", quote(str(server["version"]), safe="")):
                if path == f"/v0.1/servers/{quote(server['name'], safe='')}/versions/{version}":
                    return StubResponse(item)
        return StubResponse({"error": f"Server not found: {unquote(path)}"}, 404)


def write_npx(directory: Path) -> None:
    """Write a program `npx` that serves the tools in `VERSION.json` of the directory, by package version."""
    directory.mkdir(exist_ok=True)
    script = MCP_SERVERS / "faulty_server.py"
    program = directory / "npx"
    program.write_text(
        f'#!/bin/sh\necho "$@" >> "{directory}/started"\n'
        f'exec "{sys.executable}" -I "{script}" from-file "{directory}/${{2##*@}}.json"\n'
    )
    program.chmod(0o755)

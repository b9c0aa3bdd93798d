"""The OpenAPI document matches the API: no undocumented responses, and no 5xx."""

import asyncio
import json
import re
import sys
import uuid
from pathlib import Path
from typing import Any

import httpx2
import jsonschema_rs
import pytest

from onetool.interfaces.rest.auth.wrong_tokens import WrongTokens
from onetool.testing import memory_runtime
from support.paths import MCP_SERVERS
from support.registry_stub import NOTES, RegistryStub, filesystem_entry, notes_entry
from support.rest_in_process import TOKEN, serve_memory, serve_rest

WEATHER = "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"
PHASES = {False: "examples,fuzzing,stateful", True: "examples,coverage,fuzzing,stateful"}
QUERIES = {
    "/tools/search": {"q": "e"},
    "/tools/tools/search": {"q": "e"},
    "/registry/servers": {"search": "notes"},
    "/resources/read": {"uri": "ot.one+memo:x"},
}
"""The queries of the routes that need one."""
EXCLUDED_CHECKS = "positive_data_acceptance,negative_data_rejection"
"""The document cannot describe allowed hosts and registered functions, and any text is a valid tag."""


@pytest.fixture
def registry(monkeypatch):
    """A registry on this machine, so that no request leaves it."""
    with RegistryStub(filesystem_entry(), notes_entry()) as stub:
        for name, value in stub.indexes.items():
            monkeypatch.setenv(name, value)
        yield stub


@pytest.mark.stress
async def test_responses_to_generated_requests_match_the_document(size, tmp_path, registry):
    """Runs Schemathesis over a socket."""
    program = Path(sys.executable).with_name("schemathesis")
    settings = {"allowedHosts": ["127.0.0.1"], "registry": {"base_url": registry.url}}
    async with (
        memory_runtime(settings=settings, cwd=tmp_path) as ot,
        serve_rest(ot.runtime, wrong_tokens=WrongTokens(max_delay_s=0)) as client,
    ):
        await client.put(f"/tools/bundles/{WEATHER}", json={"slug": "weather"})
        process = await asyncio.create_subprocess_exec(
            str(program),
            "run",
            f"{str(client.base_url).rstrip('/')}/openapi.json",
            f"--header=Authorization: Bearer {TOKEN}",
            f"--max-examples={size(3, 200)}",
            *size(["--seed=1"], []),  # at random, some URLs are longer than the server reads
            f"--phases={PHASES[size(0, 1) == 1]}",
            "--checks=all",
            f"--exclude-checks={EXCLUDED_CHECKS}",
            "--no-color",
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
    assert process.returncode == 0, output.decode(errors="replace")[-6000:]


async def test_every_route_is_documented():
    """Every operation has a description and a success response. There are no routes for built-ins."""
    async with serve_memory() as client:
        document = (await client.get("/openapi.json")).json()
    operations = [
        (path, operation) for path, methods in document["paths"].items() for operation in methods.values()
    ]
    assert len(operations) >= 17
    for path, operation in operations:
        assert operation["description"], path
        assert "422" not in operation["responses"], path
        assert {"200", "201", "204"} & operation["responses"].keys(), path
    assert not [path for path, _ in operations if "builtin" in path.lower()]


class DocumentedClient:
    """Sends requests and checks each response against the published document.

    A field that the document does not describe is an error, although clients must ignore unknown fields.
    """

    def __init__(self, client: httpx2.AsyncClient, document: dict[str, Any]) -> None:
        self._client, self.document = client, document
        for schema in document["components"]["schemas"].values():
            if "properties" in schema:
                schema["additionalProperties"] = False

    async def send(self, method: str, path: str, **options: Any) -> Any:
        """Send a request, check the response and return its JSON."""
        response = await self._client.request(method, path, **options)
        assert response.is_success, response.text
        operation = self._operation(method, path.partition("?")[0])
        (media_type, content), *_ = operation["responses"][str(response.status_code)]["content"].items()
        assert response.headers["content-type"].partition(";")[0] == media_type, path
        schema = {**content["schema"], "components": self.document["components"]}
        errors = jsonschema_rs.validator_for(schema).iter_errors(response.json())
        assert [f"{method} {path} {error.instance_path}: {error.message}" for error in errors] == []
        return response.json()

    def _operation(self, method: str, path: str) -> Any:
        for template, operations in sorted(self.document["paths"].items(), key=lambda item: "{" in item[0]):
            if method.lower() in operations and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
                return operations[method.lower()]
        raise AssertionError(f"{method} {path} is not in the document")


HTTP_TOOL = {
    "type": "http",
    "tags": ["rain"],
    "httpImpl": {
        "request": {
            "urlTemplate": "https://127.0.0.1/${city}",
            "query": {"q": [1, None, {"a": "b"}]},
            "auth": {"type": "apiKey", "in": "query", "name": "key", "value": "${KEY}"},
        },
        "response": {"successCodes": [200], "errorMode": "value"},
    },
    "outputSchema": {"type": "object"},
    "limits": {"timeoutMS": 5_000, "maxRetries": 1},
}
PYTHON_TOOL = {"type": "python", "pythonImpl": {"func": "tools.echo"}, "argSchema": {"type": "object"}}
API = {
    "openapi": "3.1.0",
    "info": {"title": "Pets", "version": "1"},
    "servers": [{"url": "https://127.0.0.1"}],
    "paths": {"/pets": {"get": {"operationId": "list", "responses": {}}}},
}


async def test_responses_have_exactly_the_documented_fields(tmp_path):
    """The two ids have the names of the path parameters, beside `id`."""
    bundle_path = f"/tools/bundles/{WEATHER}"
    version = f"{bundle_path}/tools/{{}}/version/v1".format
    async with serve_memory(settings={"allowedHosts": ["127.0.0.1"]}, cwd=tmp_path) as rest:
        client = DocumentedClient(rest, (await rest.get("/openapi.json")).json())
        bundle = await client.send("PUT", bundle_path, json={"slug": "weather"})
        assert bundle["bundleID"] == bundle["id"] == WEATHER
        for slug, body in (("rain", HTTP_TOOL), ("echo", PYTHON_TOOL)):
            tool = await client.send("PUT", version(slug), json=body)
            assert {key: tool[key] for key in body if key != "httpImpl"} | body == body
            assert (tool["toolID"], tool["bundleID"]) == (tool["id"], WEATHER)
            assert uuid.UUID(tool["toolID"]).version == 7
            assert await client.send("GET", version(slug)) == tool
        await client.send("POST", version("echo") + "/invoke", json={"args": {"message": "hi"}})
        await client.send("PATCH", version("rain"), json={"isEnabled": False})
        for path in ("/tools", "/tools/tools", "/tools/search", "/tools/tools/search"):
            query = {"q": "rain"} if "search" in path else {}
            page = await client.send("GET", path, params={**query, "includeDisabled": True, "pageSize": 200})
            assert "rain" in {item["slug"] for item in page["toolListItems"]}, path
        await client.send("PATCH", bundle_path, json={"isEnabled": False})
        await client.send("GET", "/tools/bundles", params={"includeDisabled": True})
        archive = (await rest.get(f"{bundle_path}/export")).content
        for path in (version("rain"), version("echo"), bundle_path):
            assert (await rest.delete(path)).status_code == 204
        await client.send("POST", "/tools/import", content=archive)
        await client.send("POST", "/tools/import/openapi", json=API)


async def test_listings_have_exactly_the_documented_fields(tmp_path, registry):
    """Every GET route without path parameters that returns JSON. Servers may add fields of their own."""
    offer = {"resources": [{"uri": "memo:x", "name": "memo"}], "resourceTemplates": [], "prompts": []}
    (tmp_path / "one").write_text(json.dumps(offer))
    args = ["-I", str(MCP_SERVERS / "contents_server.py"), str(tmp_path / "one")]
    server = {"command": sys.executable, "args": args, "sandbox": False}
    settings = {"registry": {"base_url": registry.url}, "servers": {"one": server}}
    async with (
        memory_runtime(settings=settings, cwd=tmp_path) as ot,
        serve_rest(ot.runtime, edit_servers=True) as rest,
    ):
        client = DocumentedClient(rest, (await rest.get("/openapi.json")).json())
        paths = [path for path, item in client.document["paths"].items() if "get" in item and "{" not in path]
        assert {"/tools", "/tools/search"} <= set(paths)
        for path in ("/metrics", "/audit", "/audit/export"):  # text, and what only a hosted server has
            paths.remove(path)
        for path in paths:
            await client.send("GET", path, params=QUERIES.get(path))
        await client.send("POST", "/registry/plan", json={"name": NOTES})
        await client.send("POST", "/registry/plan", json={"name": NOTES, "values": {"NOTES_TOKEN": "x"}})

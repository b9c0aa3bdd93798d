"""Stored bundles over REST: data model, routes and rules; rows BND-02 to BND-64."""

import hashlib
import json
import os
import re
import unicodedata
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier
from typing import Any, NamedTuple

import httpx2
import pytest

import onetool
from onetool.domain.bundles.page_tokens import write_token
from support.hosted_process import HostedProcess, Installation
from support.processes import wait_until
from support.rest_process import (
    BLOCK_NETWORK,
    RestProcess,
    Upstream,
    http_tool,
    new_id,
    new_slug,
    python_tool,
)
from support.rest_process import shared_upstream as shared_upstream

NewServer = Callable[..., RestProcess]
DISABLE = {"isEnabled": False}
REMOVED_PACK = 'pack = "fleeting"\n\n\ndef once() -> str:\n    """Return a text."""\n    return "here"\n'


def problem_of(response: httpx2.Response, *statuses: int) -> dict[str, Any]:
    """Return the problem details of a response that must have one of these statuses."""
    assert response.status_code in statuses, (response.status_code, response.text)
    assert response.headers["content-type"].startswith("application/problem+json")
    problem = response.json()
    assert {"type", "title", "status", "detail"} <= set(problem)
    assert problem["status"] == response.status_code
    return problem


def bundle_url(bundle_id: str) -> str:
    return f"/tools/bundles/{bundle_id}"


@pytest.fixture(scope="session")
def server_without_fts5(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestProcess]:
    """Return a server whose SQLite has no FTS5."""
    with RestProcess(tmp_path_factory.mktemp("without_fts5"), ONETOOL_NO_FTS5="1") as server:
        yield server


SEARCH_SERVERS = {
    "fts5": "local_server",
    "without fts5": "server_without_fts5",
    "postgresql": "hosted_server",
}


@pytest.fixture(params=SEARCH_SERVERS.values(), ids=SEARCH_SERVERS)
def search_server(request: pytest.FixtureRequest) -> RestProcess:
    """Return servers that search with FTS5, without it, and in PostgreSQL."""
    return request.getfixturevalue(request.param)


# Terminology and objectives


@pytest.mark.spec("BND-02")
@pytest.mark.parametrize(
    ("kind", "status"),
    [("python", 201), ("http", 201), ("ftp", 400), ("go", 400), ("", 400), ("Python", 400), (None, 400)],
)
def test_tool_type_must_be_python_or_http(server: RestProcess, kind: Any, status: int) -> None:
    """Any other type is a 400, and nothing is stored."""
    body = http_tool("http://127.0.0.1/x") if kind == "http" else python_tool()
    bundle = server.create_bundle()
    response = server.put_tool(bundle, "typed", **body | {"type": kind})
    assert (response.status_code, len(server.stored_tools(bundle))) == (status, status == 201), response.text


@pytest.mark.spec("BND-03", "BND-07", "BND-13", "BND-49")
def test_disabling_a_bundle_hides_its_tools_and_enabling_restores_them(server: RestProcess) -> None:
    """Each tool retains its own enabled flag."""
    bundle = server.create_bundle()
    tools = [server.create_tool(bundle, slug) for slug in ("first", "second", "third")]
    server.set_enabled(server.url_of(tools[2]), False)
    before = [server.get_tool(tool)["isEnabled"] for tool in tools]
    server.set_enabled(bundle_url(bundle), False)
    assert (server.list_slugs(bundle), sorted(server.list_slugs(bundle, includeDisabled="true"))) == (
        [],
        ["first", "second", "third"],
    )
    assert {server.invoke_error(tool, 409)["error"]["code"] for tool in tools} == {"tool_not_found"}
    server.set_enabled(bundle_url(bundle), True)
    assert sorted(server.list_slugs(bundle)) == ["first", "second"]
    assert [server.get_tool(tool)["isEnabled"] for tool in tools] == before == [True, True, False]
    assert [server.invoke_value(tool) for tool in tools[:2]] == [1, 1]
    server.invoke_error(tools[2], 409)


@pytest.mark.spec("BND-05", "BND-25")
def test_tool_name_resolves_to_the_newest_enabled_version(server: RestProcess) -> None:
    """The newest is the one that was created last. `name@version` selects a specific version."""
    bundle = server.create_bundle()
    versions = (("2.0", "two"), ("1.0", "one"))
    tools = [server.create_tool(bundle, "pick", label, func=f"probes.{name}") for label, name in versions]
    name = tools[0]["name"]

    def call(name: str) -> Any:
        return server.client.post("/tools/call", json={"name": name, "args": {}}).json().get("value")

    assert (call(name), call(f"{name}@2.0"), call(f"{name}@1.0"), call(f"{name}@x")) == (1, 2, 1, None)
    server.set_enabled(server.url_of(tools[1]), False)
    assert (call(name), call(f"{name}@1.0")) == (2, None)


@pytest.mark.spec("BND-06", "BND-43", "BND-44", "BND-45", "BND-46")
@pytest.mark.parametrize(("pack", "slug"), [("tools", "echo"), ("probes", "one")])
def test_only_the_enabled_flag_of_packs_can_change(server: RestProcess, pack: str, slug: str) -> None:
    """PUT, DELETE and any other PATCH are rejected and change nothing."""
    bundle = server.pack_bundle(pack)
    assert (bundle["isBuiltIn"], bundle["origin"]) == (
        (True, "builtin") if pack == "tools" else (False, "pack")
    )
    assert uuid.UUID(bundle["id"]).version == 7
    url, home, client = (
        server.tool_url(bundle["id"], slug, "current"),
        bundle_url(bundle["id"]),
        server.client,
    )

    def state() -> Any:
        tools = server.list_all("/tools/tools", bundleIDs=bundle["id"], includeDisabled="true")
        for tool in (tools := [*tools, client.get(url).json()]):
            del tool["callCount"]
            tool.pop("lastCalledAt", None)
        return server.find_bundle(bundle["id"]), tools

    before = state()
    problem_of(server.put_bundle(bundle["id"], slug=pack), 403)
    problem_of(server.put_tool(bundle["id"], slug, "current"), 403)
    problem_of(server.put_tool(bundle["id"], "brand-new"), 403)
    problem_of(client.delete(home), 403)
    problem_of(client.delete(url), 403)
    for target in (home, url):
        for body in ({"displayName": "x"}, {"isEnabled": False, "displayName": "x"}, {"slug": "x"}):
            problem_of(client.patch(target, json=body), 400, 403)
    assert state() == before
    for target in (url, home):
        assert server.set_enabled(target, False).json()["isEnabled"] is False
        assert slug not in server.list_slugs(bundle["id"])
        assert server.set_enabled(target, True).json()["isEnabled"] is True
    assert state() == before


@pytest.mark.spec("BND-39")
def test_invoke_calls_the_version_in_the_path(server: RestProcess) -> None:
    """Neither the newest nor the latest called version replaces it; an unknown version is a 404."""
    bundle = server.create_bundle()
    first, second = (
        server.create_tool(bundle, "many", version, func=f"probes.{func}")
        for version, func in (("v1", "one"), ("v2", "two"))
    )
    assert [server.invoke_value(tool) for tool in (first, second, first)] == [1, 2, 1]
    server.set_enabled(server.url_of(second), False)
    assert (server.invoke_value(first), server.invoke_error(second, 409)["ok"]) == (1, False)
    server.set_enabled(server.url_of(second), True)
    server.set_enabled(server.url_of(first), False)
    assert (server.invoke_value(second), server.invoke_error(first, 409)["ok"]) == (2, False)
    assert server.invoke_error(first | {"version": "v3"}, 404)["error"]["code"] == "tool_not_found"


@pytest.mark.spec("BND-11", "BND-14", "BND-47")
def test_everything_except_http_calls_works_without_a_network(
    new_server: NewServer, tmp_path: Path, upstream: Upstream
) -> None:
    path = upstream.script()
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / "sitecustomize.py").write_text(BLOCK_NETWORK)
    modules = os.pathsep.join([str(tmp_path / "blocked"), os.environ.get("PYTHONPATH", "")]).rstrip(
        os.pathsep
    )
    with new_server(tmp_path / "home", PYTHONPATH=modules) as server:
        local, bundle = server.create_tool(slug="local"), server.create_bundle()
        remote = server.create_tool(bundle, "remote", **http_tool(upstream.url + path))
        assert (server.list_slugs(bundle), server.search_slugs(bundle, "remote")) == (["remote"], ["remote"])
        assert (server.invoke_value(local), server.tool_file(remote).exists()) == (1, True)
        server.invoke_error(remote, 200)
        server.set_enabled(server.url_of(remote), False)
        assert (server.search_slugs(bundle, "remote"), server.list_slugs(bundle)) == ([], [])
        assert server.client.delete(server.url_of(remote)).status_code == 204
        assert server.search_slugs(bundle, "remote", includeDisabled="true") == []
        assert server.client.delete(bundle_url(bundle)).status_code == 204
    assert upstream.requests_to(path) == []


# Restart


def delete_index(server: RestProcess) -> None:
    """Delete the search index of a stopped server."""
    for file in server.bundles.glob("index.sqlite3*"):
        file.unlink()


class RestartedServer(NamedTuple):
    """A restarted server and what was stored before."""

    server: RestProcess
    removed: dict[str, Any]
    removed_content: str | None
    remote: dict[str, Any]
    path: str
    package: str
    had_index: bool


def package_hash() -> str:
    """Return one hash of all files of the package."""
    digest = hashlib.sha256()
    for file in sorted(Path(str(onetool.__file__)).parent.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(str(file).encode() + file.read_bytes())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def local_restarted(
    tmp_path_factory: pytest.TempPathFactory, upstream: Upstream
) -> Iterator[RestartedServer]:
    with restart(RestProcess(tmp_path_factory.mktemp("restarted")), upstream) as restarted:
        yield restarted


@pytest.fixture(scope="module")
def hosted_restarted(
    tmp_path_factory: pytest.TempPathFactory, upstream: Upstream, installation: Installation
) -> Iterator[RestartedServer]:
    server = HostedProcess(tmp_path_factory.mktemp("restarted"), installation=installation)
    with restart(server, upstream) as restarted:
        yield restarted


@pytest.fixture
def restarted(server_kind: str, request: pytest.FixtureRequest) -> RestartedServer:
    """Return a server that restarted after a function, an allowed host and the index were removed."""
    return request.getfixturevalue(f"{server_kind}_restarted")


@contextmanager
def restart(server: RestProcess, upstream: Upstream) -> Iterator[RestartedServer]:
    path, package = upstream.script(), package_hash()
    pack = server.config / "tools" / "fleeting.py"
    pack.write_text(REMOVED_PACK)
    with server:
        removed = server.create_tool(slug="fleeting", func="fleeting.once")
        remote = server.create_tool(slug="remote", **http_tool(upstream.url + path))
        assert (server.invoke_value(removed), server.invoke_value(remote)) == ("here", {"fine": True})
        server.set_enabled(server.tool_url(server.pack_bundle("tools")["id"], "echo", "current"), False)
        server.set_enabled(bundle_url(server.pack_bundle("web")["id"]), False)
        assert server.search_slugs(remote["bundleID"], "remote") == ["remote"]
        had_index = (server.bundles / "index.sqlite3").exists()
    assert server.exit_code == 0
    content = server.stored_tool(removed)
    delete_index(server)
    pack.unlink()
    server.write_settings('allowedHosts: ["allowed.test"]\n')
    with server:
        yield RestartedServer(server, removed, content, remote, path, package, had_index)


@pytest.mark.spec("BND-15")
def test_tool_of_a_removed_function_is_disabled_and_its_record_unchanged(restarted: RestartedServer) -> None:
    """The API reports the reason; when the function returns, the tool is enabled again."""
    server, tool = restarted.server, restarted.removed
    current = server.get_tool(tool)
    assert (current["isEnabled"], current["disabledReason"]) == (False, "function not registered")
    assert server.list_slugs(tool["bundleID"]) == []
    assert server.list_slugs(tool["bundleID"], includeDisabled="true") == ["fleeting"]
    response = server.invoke(tool)
    assert response.status_code in (404, 409)
    assert (response.json()["ok"], response.json()["error"]["code"]) == (False, "tool_not_found")
    assert server.stored_tool(tool) == restarted.removed_content
    assert json.loads(restarted.removed_content or "")["isEnabled"] is True
    (server.config / "tools" / "fleeting.py").write_text(REMOVED_PACK)
    assert wait_until(lambda: server.get_tool(tool)["isEnabled"])
    assert (server.invoke_value(tool), "disabledReason" in server.get_tool(tool)) == ("here", False)
    assert server.stored_tool(tool) == restarted.removed_content


def test_tool_file_that_is_copied_into_a_running_server_is_available(server: RestProcess) -> None:
    """Without a restart."""
    bundle = server.create_bundle()
    tool = server.create_tool(bundle, "original")
    data = json.loads(server.tool_file(tool).read_text()) | {"id": new_id(), "slug": "copied"}
    server.tool_file(tool).with_name(f"{data['id']}.json").write_text(json.dumps(data))
    url = server.tool_url(bundle, "copied", tool["version"])
    assert wait_until(lambda: server.client.get(url).status_code == 200)
    assert server.invoke(server.client.get(url).json()).status_code == 200


@pytest.mark.spec("BND-46")
def test_disabled_built_ins_stay_disabled_after_a_restart(restarted: RestartedServer) -> None:
    """Nothing is written to the package."""
    server = restarted.server
    bundle = server.pack_bundle("tools")
    assert server.client.get(server.tool_url(bundle["id"], "echo", "current")).json()["isEnabled"] is False
    assert (server.pack_bundle("web")["isEnabled"], server.pack_bundle("time")["isEnabled"]) == (
        False,
        True,
    )
    call = server.client.post("/tools/call", json={"name": "tools.echo", "args": {"message": 1}})
    assert (call.status_code, call.json()["ok"]) == (409, False)
    assert package_hash() == restarted.package


@pytest.mark.spec("BND-47")
def test_deleted_search_index_is_rebuilt(restarted: RestartedServer) -> None:
    assert restarted.had_index
    server, bundle = restarted.server, restarted.remote["bundleID"]
    assert wait_until(lambda: server.search_slugs(bundle, "remote") == ["remote"])
    assert (server.bundles / "index.sqlite3").exists()


@pytest.mark.spec("BND-19")
def test_host_removed_from_allowed_hosts_is_not_reached(
    restarted: RestartedServer, upstream: Upstream
) -> None:
    """The list is checked on every call, not only when a tool is stored."""
    body = restarted.server.invoke_error(restarted.remote)
    assert (body["error"]["code"], body["meta"]["reason"]) == ("execution_error", "host_not_allowed")
    assert len(upstream.requests_to(restarted.path)) == 1


# Data model


@pytest.mark.spec("BND-16")
def test_ids_are_version_7_uuids(server: RestProcess) -> None:
    """The client provides the id of a bundle, the server the id of a tool."""
    tool, bundle = server.create_tool(), server.pack_bundle("time")
    assert (tool["id"], bundle["id"]) == (tool["toolID"], bundle["bundleID"])
    for value in (tool["toolID"], tool["bundleID"], bundle["bundleID"]):
        assert (uuid.UUID(value).version, uuid.UUID(value).variant) == (7, uuid.RFC_4122)


@pytest.mark.spec("BND-16")
@pytest.mark.parametrize(
    "bundle_id",
    [
        "2cd11218-e3e4-4984-a559-31d24dbb98d8",
        "ec63ec06-e0ac-11f1-a97f-02fc00000001",
        "0190c7a2-0000-7000-0000-000000000000",
        "x",
        "0" * 32,
        "a_b",
    ],
)
def test_bundle_id_that_is_not_a_version_7_uuid_is_rejected(server: RestProcess, bundle_id: str) -> None:
    problem_of(server.put_bundle(bundle_id), 400)
    assert not server.is_stored(bundle_id)


@pytest.mark.spec("BND-20", "BND-38")
@pytest.mark.parametrize("text", ["readfile", "读文件-2", "été", "٣", "-", "ǅ", "a-B-3", "e\u0301te\u0301"])
def test_slugs_and_versions_allow_letters_digits_and_dashes(server: RestProcess, text: str) -> None:
    """Letters and digits of any script are allowed; the text is normalized to NFC."""
    composed = unicodedata.normalize("NFC", text)
    slug = new_slug(text)
    bundle = server.create_bundle(slug=slug)
    tool = server.create_tool(bundle, text, text)
    assert (tool["slug"], tool["version"]) == (composed, composed)
    for spelling in (text, composed):
        assert server.client.get(server.tool_url(bundle, spelling, spelling)).json()["id"] == tool["id"]
    found = server.find_bundle(bundle)
    assert found
    assert found["slug"] == unicodedata.normalize("NFC", slug)


FORBIDDEN = [
    "a_b",
    "a b",
    "a+b",
    "a\tb",
    "a\u00a0b",
    "a\\b",
    "a²",
    "Ⅷ",
    "a😀",
    "a\u0301\u0323x\u200d",
    "a—b",
    "a:b",
]


@pytest.mark.spec("BND-21", "BND-22", "BND-31")
@pytest.mark.parametrize("slug", [*FORBIDDEN, "a/b", "", "a.b", "a\x00", "a\n", " a", 5, None], ids=repr)
def test_bundle_slug_with_other_characters_is_rejected(server: RestProcess, slug: Any) -> None:
    bundle = new_id()
    problem_of(server.put_bundle(bundle, slug=slug), 400)
    assert (server.find_bundle(bundle), server.is_stored(bundle)) == (None, False)


@pytest.mark.spec("BND-21", "BND-22")
@pytest.mark.parametrize("text", [*FORBIDDEN, "a\t", "a\x00", "a\n"], ids=repr)
def test_tool_slug_or_version_with_other_characters_is_rejected(server: RestProcess, text: str) -> None:
    """The characters are percent-encoded in the path."""
    bundle = server.create_bundle()
    problem_of(server.put_tool(bundle, text), 400)
    problem_of(server.put_tool(bundle, "fine", text), 400)
    assert (server.stored_tools(bundle), server.list_slugs(bundle, includeDisabled="true")) == ({}, [])


@pytest.mark.spec("BND-21", "BND-22")
@pytest.mark.parametrize("slug", ["a/b", "a%2Fb", "", "%2F", "%2E%2E"])
@pytest.mark.parametrize("part", ["slug", "version"])
def test_slash_or_empty_text_as_slug_or_version_is_rejected(
    server: RestProcess, slug: str, part: str
) -> None:
    """The status is 400 or 404, and nothing is stored."""
    bundle = server.create_bundle()
    path = f"tools/{slug}/version/v1" if part == "slug" else f"tools/fine/version/{slug}"
    response = server.client.put(f"{bundle_url(bundle)}/{path}", json=python_tool())
    assert (response.status_code in (400, 404), server.stored_tools(bundle)) == (True, {}), response.text


@pytest.mark.spec("BND-22")
def test_dots_are_allowed_in_versions_only(server: RestProcess) -> None:
    """A version cannot consist of dots only."""
    bundle = server.create_bundle()
    assert server.create_tool(bundle, "dotted", "1.0.0")["version"] == "1.0.0"
    problem_of(server.put_tool(bundle, "a.b"), 400)
    problem_of(server.put_tool(bundle, "dotted", "..."), 400)
    assert len(server.stored_tools(bundle)) == 1


@pytest.mark.spec("BND-23")
def test_slugs_and_versions_are_case_sensitive(server: RestProcess) -> None:
    bundle = server.create_bundle()
    pairs = [("Abc", "v1"), ("abc", "v1"), ("abc", "V1")]
    ids = {pair: server.create_tool(bundle, *pair)["id"] for pair in pairs}
    assert {pair: server.client.get(server.tool_url(bundle, *pair)).json()["id"] for pair in pairs} == ids
    problem_of(server.client.get(server.tool_url(bundle, "ABC")), 404)
    assert len(set(ids.values())) == len(server.stored_tools(bundle)) == 3


@pytest.mark.spec("BND-24")
@pytest.mark.parametrize("letter", ["文", "a", "𝒂"], ids=["3 bytes", "1 byte", "4 bytes"])
def test_slugs_and_versions_are_limited_to_64_code_points(server: RestProcess, letter: str) -> None:
    bundle, fits, over = server.create_bundle(), letter * 64, letter * 65
    assert server.create_tool(bundle, fits, fits)["slug"] == fits
    problem_of(server.put_tool(bundle, over), 400)
    problem_of(server.put_tool(bundle, "short", over), 400)
    assert server.put_bundle(slug=fits).status_code == 201
    problem_of(server.put_bundle(slug=over), 400)


@pytest.mark.spec("BND-26", "BND-35", "BND-42")
def test_second_put_of_a_version_returns_409_and_changes_nothing(server: RestProcess) -> None:
    response = server.put_tool(server.create_bundle(), "once", "v1", description="The first.")
    assert response.status_code == 201
    tool = response.json()
    before, stored = server.get_tool(tool), server.stored_tools(tool["bundleID"])
    for body in (
        python_tool("probes.two", description="Another."),
        python_tool(description="The first.", tags=["new"], isEnabled=False, displayName="New"),
        python_tool(description="The first."),
    ):
        problem_of(server.put_tool(tool["bundleID"], "once", "v1", **body), 409)
        assert (server.get_tool(tool), server.stored_tools(tool["bundleID"])) == (before, stored)
    assert len(stored) == 1
    assert server.invoke_value(tool) == 1


@pytest.mark.spec("BND-27")
def test_slug_and_version_are_unique_per_bundle_only(server: RestProcess) -> None:
    tools = [
        server.create_tool(slug="shared", version="v1", func=f"probes.{func}") for func in ("one", "two")
    ]
    assert [server.invoke_value(tool) for tool in tools] == [1, 2]
    assert tools[0]["bundleID"] != tools[1]["bundleID"]


@pytest.mark.spec("BND-28", "BND-31")
def test_put_replaces_a_bundle_and_preserves_created_at(server: RestProcess) -> None:
    """modifiedAt changes, and the tools remain."""
    bundle, slug, before = new_id(), new_slug(), datetime.now(UTC)
    first = server.put_bundle(bundle, slug=slug, displayName="One", description="d1")
    assert first.status_code == 201
    tool = server.create_tool(bundle, "inside")
    second = server.put_bundle(bundle, slug=f"{slug}-2", displayName="Two", description="d2", isEnabled=False)
    assert second.status_code == 200
    old, new = first.json(), server.find_bundle(bundle)
    assert new == second.json()
    assert {key: new[key] for key in ("id", "slug", "displayName", "description", "isEnabled")} == {
        "id": bundle,
        "slug": f"{slug}-2",
        "displayName": "Two",
        "description": "d2",
        "isEnabled": False,
    }
    assert (old["createdAt"], old["isBuiltIn"]) == (new["createdAt"], False)
    times = [
        datetime.fromisoformat(text) for text in (old["createdAt"], old["modifiedAt"], new["modifiedAt"])
    ]
    assert before <= times[0] <= times[1] < times[2] <= datetime.now(UTC)
    assert server.stored_tool(tool)


@pytest.mark.spec("BND-29")
def test_enabling_and_calling_do_not_change_modified_at(server: RestProcess) -> None:
    tool = server.create_tool()
    bundle = tool["bundleID"]
    before, slug = server.find_bundle(bundle), server.read_bundle_record(bundle)["slug"]
    assert before
    server.invoke_value(tool)
    for url in (server.url_of(tool), bundle_url(bundle)):
        server.set_enabled(url, False)
        server.set_enabled(url, True)
    assert wait_until(lambda: server.get_tool(tool)["callCount"] == 1)
    assert (server.get_tool(tool)["modifiedAt"], server.find_bundle(bundle)) == (tool["modifiedAt"], before)
    server.put_bundle(bundle, slug=slug, description="new")
    after = server.find_bundle(bundle)
    assert after
    assert datetime.fromisoformat(after["modifiedAt"]) > datetime.fromisoformat(before["modifiedAt"])


# Routes


@pytest.mark.spec("BND-30", "BND-64")
def test_all_bundle_routes_are_under_tools(server: RestProcess) -> None:
    """There are no separate routes for built-in tools."""
    paths = server.client.get("/openapi.json").json()["paths"]
    routes = {re.sub(r"{[^}]*}", "{}", path): set(verbs) for path, verbs in paths.items()}
    expected = {
        "/tools/bundles/{}": {"put", "patch", "delete"},
        "/tools/bundles": {"get"},
        "/tools/bundles/{}/tools/{}/version/{}": {"put", "patch", "delete", "get"},
        "/tools/bundles/{}/tools/{}/version/{}/invoke": {"post"},
        "/tools/tools": {"get"},
        "/tools/tools/search": {"get"},
    }
    assert {route: verbs & routes.get(route, set()) for route, verbs in expected.items()} == expected
    assert not [path for path in paths if re.search(r"built.?in", path, re.IGNORECASE)]
    assert "toolBundles" not in server.client.get("/bundles").text


@pytest.mark.spec("BND-64", "BND-41")
def test_built_in_tools_use_the_same_routes_as_stored_ones(server: RestProcess) -> None:
    bundle = server.pack_bundle("time")
    assert (bundle["isBuiltIn"], bundle["isEnabled"]) == (True, True)
    (listed,) = [
        entry for entry in server.list_all("/tools/tools", bundleIDs=bundle["id"]) if entry["slug"] == "now"
    ]
    assert (listed["isBuiltIn"], listed["version"], listed["name"]) == (True, "current", "time.now")
    assert "now" in server.search_slugs(bundle["id"], "now")
    tool = server.client.get(server.url_of(listed)).json()
    assert (tool["id"], uuid.UUID(tool["id"]).version) == (listed["id"], 7)
    called = server.client.post("/tools/call", json={"name": "time.now", "args": {}}).json()
    assert called["value"].keys() == server.invoke_value(listed).keys() == {"iso", "timestamp"}


@pytest.mark.spec("BND-32", "BND-36")
@pytest.mark.parametrize("kind", ["bundle", "tool"])
def test_patch_accepts_only_the_enabled_flag(server: RestProcess, kind: str) -> None:
    """An unknown bundle or version is a 404, any other body a 400."""
    tool = server.create_tool()
    bundle = tool["bundleID"]
    urls = {"bundle": bundle_url(bundle), "tool": server.url_of(tool)}
    unknown = {"bundle": bundle_url(new_id()), "tool": server.tool_url(bundle, "unknown")}

    def current() -> Any:
        return server.find_bundle(bundle) if kind == "bundle" else server.get_tool(tool)

    before = current()
    for body in ({"isEnabled": "no"}, {"isEnabled": 0}, {"isEnabled": False, "slug": "x"}, {"slug": "x"}):
        problem_of(server.client.patch(urls[kind], json=body), 400)
    for malformed in ([], None):
        problem_of(server.client.patch(urls[kind], json=malformed), 400)
    assert current() == before
    for enabled in (False, True):
        patched = server.set_enabled(urls[kind], enabled).json()
        assert patched == current() == before | {"isEnabled": enabled}
    problem_of(server.client.patch(unknown[kind], json=DISABLE), 404)


@pytest.mark.spec("BND-33", "BND-50")
def test_deleted_bundle_is_hidden_but_its_records_remain(server: RestProcess) -> None:
    """Its routes return 404; only its tools can still be deleted."""
    tool = server.create_tool(slug="orphan")
    bundle, url, before = tool["bundleID"], server.url_of(tool), datetime.now(UTC)
    assert server.client.delete(bundle_url(bundle)).status_code == 204
    assert server.find_bundle(bundle) is None
    assert server.list_slugs(bundle, includeDisabled="true") == []
    assert server.search_slugs(bundle, "orphan", includeDisabled="true") == []
    assert (
        before
        <= datetime.fromisoformat(server.read_bundle_record(bundle)["softDeletedAt"])
        <= datetime.now(UTC)
    )
    problem_of(server.client.get(url), 404)
    problem_of(server.put_tool(bundle, "another"), 404)
    problem_of(server.client.patch(url, json=DISABLE), 404)
    problem_of(server.client.patch(bundle_url(bundle), json=DISABLE), 404)
    assert server.invoke_error(tool, 404)["error"]["code"] == "tool_not_found"
    assert server.stored_tool(tool)
    assert server.client.delete(url).status_code == 204
    assert server.stored_tools(bundle) == {}
    problem_of(server.client.delete(bundle_url(new_id())), 404)


@pytest.mark.spec("BND-33")
def test_put_restores_a_deleted_bundle_with_its_tools(server: RestProcess) -> None:
    tool = server.create_tool(slug="back")
    bundle = tool["bundleID"]
    before = server.find_bundle(bundle)
    server.client.delete(bundle_url(bundle))
    assert server.put_bundle(bundle).is_success
    after = server.find_bundle(bundle)
    assert before
    assert after
    assert (after["createdAt"], server.read_bundle_record(bundle).get("softDeletedAt")) == (
        before["createdAt"],
        None,
    )
    assert (server.list_slugs(bundle), server.invoke_value(tool)) == (["back"], 1)


@pytest.mark.spec("BND-34")
def test_bundles_are_filtered_and_paged(server: RestProcess) -> None:
    """Every bundle is on exactly one page; disabled ones are listed on request only."""
    ids = [server.create_bundle(isEnabled=enabled) for enabled in (True, True, False)]

    def listed(**query: Any) -> set[str]:
        return {bundle["id"] for bundle in server.list_all("/tools/bundles", **query)}

    assert listed(bundleIDs=",".join(ids[:2])) == listed(bundleIDs=ids[:2]) == set(ids[:2])
    assert listed(bundleIDs=ids) == set(ids[:2])
    assert listed(bundleIDs=ids, includeDisabled="true") == set(ids)
    assert (listed() & set(ids), listed(includeDisabled="true") & set(ids)) == (set(ids[:2]), set(ids))
    pages = server.list_pages("/tools/bundles", bundleIDs=ids, includeDisabled="true", pageSize="1")
    assert sorted(len(page) for page in pages if page) == [1, 1, 1]
    assert {page[0]["id"] for page in pages if page} == set(ids)
    paged_ids = [
        bundle["id"] for page in server.list_pages("/tools/bundles", pageSize="7") for bundle in page
    ]
    assert (len(paged_ids), set(paged_ids)) == (len(set(paged_ids)), listed())


@pytest.mark.spec("BND-34", "BND-40", "BND-41")
@pytest.mark.parametrize(
    "path", ["/tools/bundles", "/tools/tools", "/tools/tools/search", "/tools", "/tools/search"]
)
def test_invalid_query_parameters_return_400(server: RestProcess, path: str) -> None:
    required = {"q": "x"} if path.endswith("search") else {}
    for invalid in ({"pageToken": "made-up"}, {"pageSize": "many"}, {"includeDisabled": "perhaps"}):
        problem_of(server.client.get(path, params=required | invalid), 400)


@pytest.mark.spec("BND-37")
def test_deleted_tool_version_can_be_created_again(server: RestProcess) -> None:
    """Its record is removed, and other versions remain."""
    tool = server.create_tool(slug="short-lived", version="v1")
    other = server.create_tool(tool["bundleID"], "short-lived", "v2")
    assert server.client.delete(server.url_of(tool)).status_code == 204
    assert set(server.stored_tools(tool["bundleID"])) == {other["id"]}
    problem_of(server.client.get(server.url_of(tool)), 404)
    problem_of(server.client.delete(server.url_of(tool)), 404)
    recreated = server.create_tool(tool["bundleID"], "short-lived", "v1")
    assert recreated["id"] not in (tool["id"], other["id"])


@pytest.mark.spec("BND-38")
def test_get_returns_a_tool_as_it_was_stored(server: RestProcess) -> None:
    """An unknown slug, version or bundle is a 404."""
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    request = {"method": "POST", "headers": {"X-A": "1"}, "query": {"q": "${id}"}}
    body = http_tool(
        "http://127.0.0.1/${id}", request=request, argSchema=schema, outputSchema={"type": "object"}
    )
    body |= {"displayName": "Read it", "description": "Reads.", "tags": ["a", "b"]}
    bundle = server.create_bundle(slug=(slug := new_slug("my-pack")))
    tool = server.create_tool(bundle, "read-it", "v1", **body)
    current = server.get_tool(tool)
    assert current == tool
    request = current.pop("httpImpl")["request"]
    assert {key: request[key] for key in body["httpImpl"]["request"]} == body.pop("httpImpl")["request"]
    assert {key: current[key] for key in body} == body
    assert (current["bundleID"], current["slug"], current["version"]) == (bundle, "read-it", "v1")
    assert (current["name"], current["isBuiltIn"]) == (f"{slug.replace('-', '_')}.read_it", False)
    assert (current["callCount"], current.get("lastCalledAt")) == (0, None)
    assert datetime.fromisoformat(current["createdAt"]) == datetime.fromisoformat(current["modifiedAt"])
    for unknown in ((bundle, "read-it", "v2"), (bundle, "read", "v1"), (new_id(), "read-it", "v1")):
        problem_of(server.client.get(server.tool_url(*unknown)), 404)
        assert server.client.post(f"{server.tool_url(*unknown)}/invoke", json={"args": {}}).status_code == 404


@pytest.mark.spec("BND-40")
@pytest.mark.parametrize("path", ["/tools/tools", "/tools"])
def test_tools_are_filtered_by_tags_and_bundles_and_paged(server: RestProcess, path: str) -> None:
    """Every tool is on exactly one page."""
    one, two = server.create_bundle(slug=(slug := new_slug())), server.create_bundle()
    red, blue, rare = (f"{color}-{slug}" for color in ("red", "blue", "rare"))
    for bundle, name, tags in [
        (one, "a", [red]),
        (one, "b", [blue]),
        (one, "c", [red, rare]),
        (two, "d", [red]),
    ]:
        server.create_tool(bundle, name, tags=tags)
    server.create_tool(one, "e", tags=[red], isEnabled=False)

    def listed(**query: Any) -> str:
        return "".join(sorted(entry["slug"] for entry in server.list_all(path, **query)))

    assert (listed(tags=red), listed(tags=rare), listed(tags=f"{blue},{rare}")) == ("acd", "c", "bc")
    assert (listed(tags=[blue, rare]), listed(tags=f"none-{slug}")) == ("bc", "")
    assert (listed(bundleIDs=one), listed(bundleIDs=f"{one},{two}"), listed(bundleIDs=[one, two])) == (
        "abc",
        "abcd",
        "abcd",
    )
    assert (listed(bundleIDs=one, includeDisabled="true"), listed(tags=red, bundleIDs=two)) == ("abce", "d")
    for size in ("recommendedPageSize", "pageSize"):
        pages = server.list_pages(path, bundleIDs=[one, two], includeDisabled="true", **{size: "2"})
        assert sorted(entry["slug"] for page in pages for entry in page) == list("abcde")
        assert len(pages) > 1
    assert {entry["bundleSlug"] for entry in server.list_all(path, bundleIDs=one)} == {slug}
    paged_ids = [entry["id"] for page in server.list_pages(path, recommendedPageSize="9") for entry in page]
    assert (len(paged_ids), set(paged_ids)) == (
        len(set(paged_ids)),
        {entry["id"] for entry in server.list_all(path)},
    )


# Search


@pytest.mark.spec("BND-04", "BND-41", "BND-47", "BND-49", "BND-62")
def test_search_covers_slug_name_description_and_tags(search_server: RestProcess) -> None:
    """Every change applies to the next search."""
    bundle = search_server.create_bundle()
    words = {"displayName": "Quokka of the day", "description": "Counts wombats.", "tags": ["numbat", "读取"]}
    tool = search_server.create_tool(bundle, "zebra-crossing", **words)
    for q in ("zebra", "+zebra", "crossing", "Quokka", "quokka", "wombats", "numbat", "读取"):
        assert search_server.search_slugs(bundle, q) == ["zebra-crossing"], q
    assert search_server.search_slugs(bundle, "xylophone") == []
    search_server.set_enabled(search_server.url_of(tool), False)
    assert search_server.search_slugs(bundle, "zebra") == []
    assert search_server.search_slugs(bundle, "zebra", includeDisabled="true") == ["zebra-crossing"]
    search_server.client.delete(search_server.url_of(tool))
    assert search_server.search_slugs(bundle, "zebra", includeDisabled="true") == []


@pytest.mark.spec("BND-41", "BND-62")
@pytest.mark.parametrize("path", ["/tools/tools/search", "/tools/search"])
def test_search_requires_a_query_and_returns_pages(server: RestProcess, path: str) -> None:
    for query in ({}, {"q": ""}, {"includeDisabled": "true"}):
        problem_of(server.client.get(path, params=query), 400)
    bundle, word = server.create_bundle(), f"pangolin{new_id()[-8:]}"
    slugs = [f"{word}-{number}" for number in range(5)]
    for slug in slugs:
        server.create_tool(bundle, slug)
    ((*found,),) = server.list_pages(path, q=word, pageSize="256")
    assert sorted(entry["slug"] for entry in found if entry["bundleID"] == bundle) == slugs
    for size in range(1, len(found) + 1):
        pages = server.list_pages(path, q=word, pageSize=str(size))
        assert pages == [found[start : start + size] for start in range(0, len(found), size)]
    for after in ("nonsense", "9|a|b"):
        token = write_token({"kind": "search", "q": word, "off": False, "after": after, "size": 5})
        problem_of(server.client.get(path, params={"q": word, "pageToken": token}), 400)
    for q in ('"', "a OR b", "*", "NEAR(", "slug:x", "'; --", "+readfile", "%"):
        assert server.client.get(path, params={"q": q}).status_code == 200, q


@pytest.mark.spec("BND-48", "BND-62")
def test_search_ranks_prefix_before_word_before_similarity(server: RestProcess) -> None:
    """Among equal matches the newest tool is first."""
    bundle = server.create_bundle()
    for slug in ("readfile", "file-read", "raed", "readone", "readtwo", "readabc"):
        server.create_tool(bundle, slug, displayName=slug, description="")
    best = ["readabc", "readtwo", "readone", "readfile", "file-read", "raed"]
    assert server.search_slugs(bundle, "read") == best
    assert server.search_slugs(bundle, "READ") == best


# Deletion and disabled bundles


@pytest.mark.spec("BND-51")
def test_deleted_empty_bundles_are_reaped_after_two_days(new_server: NewServer, tmp_path: Path) -> None:
    """Younger, non-empty and restored bundles remain."""

    def age(bundle: str, hours: float) -> None:
        deleted_at = (datetime.now(UTC) - timedelta(hours=hours)).isoformat().replace("+00:00", "Z")
        server.replace_bundle_record(server.read_bundle_record(bundle) | {"softDeletedAt": deleted_at})

    with new_server(tmp_path, "--reap-interval", "3600") as server:
        old, young, restored, full, alive, next_one = (server.create_bundle() for _ in range(6))
        used, remaining = server.create_tool(old), server.create_tool(full)
        server.invoke_value(used)
        assert wait_until(lambda: server.get_tool(used)["callCount"] == 1)
        server.client.delete(server.url_of(used))
        for bundle in (old, young, restored, full, next_one):
            assert server.client.delete(bundle_url(bundle)).status_code == 204
        age(restored, 49)
        assert server.put_bundle(restored).is_success
    for bundle, hours in ((old, 49), (young, 47), (full, 49)):
        age(bundle, hours)
    delete_index(server)
    server.options = ("--reap-interval", "0.1")
    with server:
        assert server.find_bundle(restored)  # a workspace opens with its first request
        assert wait_until(lambda: not server.is_stored(old))
        age(next_one, 49)
        assert wait_until(lambda: not server.is_stored(next_one)), "the reaper runs again"
        assert server.stored_tool(remaining)
        assert server.client.delete(server.url_of(remaining)).status_code == 204
        assert wait_until(lambda: not server.is_stored(full)), "the bundle is empty and old enough"
        assert server.find_bundle(restored)
    assert [path for path in tmp_path.rglob("*") if old in path.name or used["id"] in path.name] == []
    assert [server.is_stored(bundle) for bundle in (young, restored, alive)] == [True] * 3


@pytest.mark.spec("BND-52")
def test_tools_of_a_disabled_bundle_cannot_be_created_or_changed(server: RestProcess) -> None:
    """GET and DELETE still work."""
    bundle = server.create_bundle()
    tool, deleted = server.create_tool(bundle, "stays"), server.create_tool(bundle, "goes")
    server.set_enabled(bundle_url(bundle), False)
    before = server.stored_tools(bundle)
    problem_of(server.put_tool(bundle, "another"), 409)
    problem_of(server.client.patch(server.url_of(tool), json=DISABLE), 409)
    assert server.stored_tools(bundle) == before
    assert server.client.get(server.url_of(tool)).status_code == 200
    assert server.client.delete(server.url_of(deleted)).status_code == 204
    server.set_enabled(bundle_url(bundle), True)
    assert server.put_tool(bundle, "another").status_code == 201
    assert server.set_enabled(server.url_of(tool), False).json()["isEnabled"] is False


# Storage and server


@pytest.mark.spec("BND-61", "BND-14")
def test_bundles_and_tools_are_stored_as_json_files_named_by_id(server: RestProcess) -> None:
    tool = server.create_tool(slug="été", func="probes.add", tags=["x"])
    other = server.create_tool(tool["bundleID"], "été", "v2")
    record = server.read_bundle_record(tool["bundleID"])
    listed = server.find_bundle(tool["bundleID"])
    assert listed
    assert {key: record[key] for key in ("id", "slug", "displayName", "isEnabled")} == {
        key: listed[key] for key in ("id", "slug", "displayName", "isEnabled")
    }
    stored = json.loads(server.tool_file(tool).read_bytes())
    same = ("id", "slug", "version", "type", "argSchema", "tags", "isEnabled", "pythonImpl")
    assert {key: stored[key] for key in same} == {key: tool[key] for key in same}
    assert datetime.fromisoformat(stored["createdAt"]) == datetime.fromisoformat(tool["createdAt"])
    assert ("schemaVersion" in record, "schemaVersion" in stored) == (True, True)
    assert set(server.tool_files(tool["bundleID"])) == {server.tool_file(tool), server.tool_file(other)}


@pytest.mark.spec("BND-63")
def test_concurrent_puts_of_several_servers_create_one_tool(new_server: NewServer, tmp_path: Path) -> None:
    """One server returns 201, the others return 409."""
    count = 3
    servers = [new_server(tmp_path, probes=False) for _ in range(count)]
    for server in servers:
        server.start()
    barrier = Barrier(count)

    def put(server: RestProcess, bundle: str, slug: str) -> int:
        barrier.wait(30)
        return server.put_tool(bundle, slug, func="time.now", description=server.url).status_code

    try:
        for server in servers:
            server.wait_until_ready()
        bundle = servers[0].create_bundle()
        with ThreadPoolExecutor(count) as pool:
            for number in range(5):
                slug = f"race-{number}"
                results = list(pool.map(lambda server, slug=slug: put(server, bundle, slug), servers))
                assert sorted(results) == [201] + [409] * (count - 1)
                winner = servers[results.index(201)]
                descriptions = {
                    server.client.get(server.tool_url(bundle, slug)).json()["description"]
                    for server in servers
                }
                assert descriptions == {winner.url}
        stored = [json.loads(text) for text in servers[0].stored_tools(bundle).values()]
        assert sorted(record["slug"] for record in stored) == [f"race-{number}" for number in range(5)]
        assert [sorted(server.list_slugs(bundle)) for server in servers] == [
            sorted(record["slug"] for record in stored)
        ] * count
    finally:
        for server in servers:
            server.process.terminate()
        for server in servers:
            server.stop()


def test_server_responds_as_soon_as_it_prints_its_address(new_server: NewServer, tmp_path: Path) -> None:
    """SIGTERM ends it cleanly, even right after the start."""
    with new_server(tmp_path, probes=False) as server:
        assert server.client.get(f"{server.origin}/healthz").status_code == 200
    assert server.exit_code == 0
    with server:
        pass
    assert server.exit_code == 0


@pytest.mark.parametrize("token", [None, "wrong", ""], ids=["none", "wrong", "empty"])
def test_every_route_except_health_requires_the_token(server: RestProcess, token: str | None) -> None:
    tool = server.create_tool()
    with server.new_client(token) as client:
        for path in ("/tools/bundles", "/tools/tools", "/tools", "/tools/search?q=x", server.url_of(tool)):
            assert client.get(path).status_code == 401, path
        assert client.post(f"{server.url_of(tool)}/invoke", json={"args": {}}).status_code == 401
        assert client.delete(server.url_of(tool)).status_code == 401
        for path in ("/healthz", "/readyz"):
            assert client.get(f"{server.origin}{path}").status_code == 200, path
    assert server.get_tool(tool)["id"] == tool["id"]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'"x"', b"\xff", b"{}", b"[" * 100_000],
    ids=lambda content: repr(content[:9]),
)
def test_malformed_body_returns_400(server: RestProcess, content: bytes) -> None:
    bundle = server.create_bundle()
    json_type = {"Content-Type": "application/json"}
    for url in (bundle_url(new_id()), server.tool_url(bundle, "torn")):
        problem_of(server.client.put(url, content=content, headers=json_type), 400)
    assert server.stored_tools(bundle) == {}

"""Stored bundles over REST: data, routes and rules, held to rows BND-02 to BND-64."""

import hashlib
import json
import os
import re
import time
import unicodedata
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier
from typing import Any, NamedTuple

import httpx2
import pytest

import onetool
from rest_server import NO_NETWORK, PROBES, Server, Upstream, http_tool, new_id, new_slug, python_tool
from rest_server import shared_server as shared_server
from rest_server import shared_upstream as shared_upstream

SWITCH_OFF, SWITCH_ON = {"isEnabled": False}, {"isEnabled": True}
FLEETING = 'pack = "fleeting"\n\n\ndef once() -> str:\n    """Answer once."""\n    return "here"\n'


def refused(response: httpx2.Response, *statuses: int) -> dict[str, Any]:
    """The problem that the server reports, with one of these statuses."""
    assert response.status_code in statuses, (response.status_code, response.text)
    assert response.headers["content-type"].startswith("application/problem+json")
    problem = response.json()
    assert {"type", "title", "status", "detail"} <= set(problem)
    assert problem["status"] == response.status_code
    return problem


def moment(text: str) -> datetime:
    """Read an RFC 3339 time; one without a zone would not compare."""
    return datetime.fromisoformat(text)


def eventually(true: Callable[[], Any], seconds: float = 10) -> Any:
    """Ask until it is so; for what happens in another process."""
    end = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def bundle_url(bundle_id: str) -> str:
    return f"/tools/bundles/{bundle_id}"


@pytest.fixture(scope="session")
def plain_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("plain"), ONETOOL_NO_FTS5="1") as server:
        yield server


@pytest.fixture(params=["server", "plain_server"], ids=["fts5", "without fts5"])
def finder(request: pytest.FixtureRequest) -> Server:
    """A server that searches with FTS5, and one that has to do without."""
    return request.getfixturevalue(request.param)


# Terminology and objectives


@pytest.mark.spec("BND-02")
@pytest.mark.parametrize(
    ("kind", "status"),
    [("python", 201), ("http", 201), ("ftp", 400), ("go", 400), ("", 400), ("Python", 400), (None, 400)],
)
def test_a_tool_is_of_type_python_or_http(server: Server, kind: Any, status: int) -> None:
    """Both types are accepted, any other is a 400, and then nothing is stored."""
    body = http_tool("http://127.0.0.1/x") if kind == "http" else python_tool()
    bundle = server.bundle()
    response = server.put_tool(bundle, "typed", **body | {"type": kind})
    assert (response.status_code, len(server.tool_files(bundle))) == (status, status == 201), response.text


@pytest.mark.parametrize("func", ["probes.unheard_of", "unheard_of.one", "probes", ""])
def test_a_function_must_be_registered(server: Server, func: str) -> None:
    """A python tool of a function that nobody registered is a 400."""
    refused(server.put_tool(server.bundle(), "lost", pythonImpl={"func": func}), 400)


@pytest.mark.spec("BND-03", "BND-13", "BND-49")
def test_a_bundle_is_one_switch_for_its_tools(server: Server) -> None:
    """One PATCH hides all tools and refuses their calls, another brings them back, each with its own flag."""
    bundle = server.bundle()
    tools = [server.tool(bundle, slug) for slug in ("first", "second", "third")]
    server.switch(server.url_of(tools[2]), False)
    before = [server.get(it)["isEnabled"] for it in tools]
    server.switch(bundle_url(bundle), False)
    assert (server.slugs(bundle), sorted(server.slugs(bundle, includeDisabled="true"))) == (
        [],
        ["first", "second", "third"],
    )
    assert {server.error(it, 409)["error"]["code"] for it in tools} == {"tool_not_found"}
    server.switch(bundle_url(bundle), True)
    assert sorted(server.slugs(bundle)) == ["first", "second"]
    assert [server.get(it)["isEnabled"] for it in tools] == before == [True, True, False]
    assert [server.value(it) for it in tools[:2]] == [1, 1]
    server.error(tools[2], 409)


@pytest.mark.spec("BND-04")
def test_the_plus_is_no_part_of_a_slug(server: Server) -> None:
    """`readfile` is stored as it is, `+readfile` is refused, and search overlooks a dash."""
    tool, bundle = server.tool(slug="readfile"), server.bundle()
    assert (tool["slug"], json.loads(server.file(tool).read_bytes())["slug"]) == ("readfile", "readfile")
    refused(server.put_tool(bundle, "+readfile"), 400)
    refused(server.put_bundle(slug="+readfile"), 400)
    server.tool(bundle, "read-file")
    assert server.search(bundle, "readfile") == ["read-file"]


@pytest.mark.spec("BND-05", "BND-25")
def test_versions_of_a_slug_stand_side_by_side(server: Server) -> None:
    """Any labels coexist, a lower number may come later, and a list does not sort by their text."""
    rounds = [("2.0", "v1", "banana", "1.0"), ("banana", "1.0", "2.0", "v1")]
    orders = []
    for labels in rounds:
        bundle = server.bundle()
        made = [server.tool(bundle, "same", label)["id"] for label in labels]
        listed = server.every("/tools/tools", bundleIDs=bundle)
        assert {it["version"] for it in listed} == set(labels)
        orders.append([made.index(it["id"]) for it in listed])
    assert orders[0] == orders[1]


@pytest.mark.spec("BND-05")
def test_a_name_leads_to_the_newest_enabled_version(server: Server) -> None:
    """The label that was created last is called by name, any other by `@version`."""
    bundle = server.bundle()
    tools = [server.tool(bundle, "pick", label, func=f"probes.{label}") for label in ("two", "one")]
    name = tools[0]["name"]

    def call(name: str) -> Any:
        return server.client.post("/tools/call", json={"name": name, "args": {}}).json().get("value")

    assert (call(name), call(f"{name}@two"), call(f"{name}@one"), call(f"{name}@x")) == (1, 2, 1, None)
    server.switch(server.url_of(tools[1]), False)
    assert (call(name), call(f"{name}@one")) == (2, None)


@pytest.mark.spec("BND-06", "BND-43", "BND-44", "BND-45", "BND-46")
@pytest.mark.parametrize(("pack", "slug"), [("tools", "echo"), ("probes", "one")])
def test_of_what_is_not_stored_only_the_flag_changes(server: Server, pack: str, slug: str) -> None:
    """PUT, DELETE and any other PATCH are refused and change nothing; the enabled flag of both can change."""
    bundle = server.shipped(pack)
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
        tools = server.every("/tools/tools", bundleIDs=bundle["id"], includeDisabled="true")
        for tool in (tools := [*tools, client.get(url).json()]):
            del tool["callCount"]
            tool.pop("lastCalledAt", None)
        return server.find_bundle(bundle["id"]), tools

    before = state()
    refused(server.put_bundle(bundle["id"], slug=pack), 403)
    refused(server.put_tool(bundle["id"], slug, "current"), 403)
    refused(server.put_tool(bundle["id"], "brand-new"), 403)
    refused(client.delete(home), 403)
    refused(client.delete(url), 403)
    for target in (home, url):
        for body in ({"displayName": "x"}, {"isEnabled": False, "displayName": "x"}, {"slug": "x"}):
            refused(client.patch(target, json=body), 400, 403)
    assert state() == before
    for target in (url, home):
        assert server.switch(target, False).json()["isEnabled"] is False
        assert slug not in server.slugs(bundle["id"])
        assert server.switch(target, True).json()["isEnabled"] is True
    assert state() == before


@pytest.mark.spec("BND-07", "BND-39")
def test_tools_are_listed_switched_and_invoked(server: Server) -> None:
    """A user finds a tool in the list, switches it off and on, and calls it."""
    tool = server.tool(slug="daily", func="probes.add")
    assert server.slugs(tool["bundleID"]) == ["daily"]
    assert server.value(tool, a=2, b=3) == 5
    assert server.switch(server.url_of(tool), False).json()["isEnabled"] is False
    assert server.slugs(tool["bundleID"]) == []
    assert server.error(tool, 409, a=2, b=3)["error"]["code"] == "tool_not_found"
    assert server.switch(server.url_of(tool), True).json()["isEnabled"] is True
    assert server.value(tool, a=2, b=4) == 6


@pytest.mark.spec("BND-11", "BND-14", "BND-47")
def test_only_an_http_call_needs_the_network(tmp_path: Path, upstream: Upstream) -> None:
    """Without a network all is stored, found, changed, called and deleted; only an HTTP call fails."""
    path = upstream.script()
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / "sitecustomize.py").write_text(NO_NETWORK)
    modules = os.pathsep.join([str(tmp_path / "blocked"), os.environ.get("PYTHONPATH", "")]).rstrip(
        os.pathsep
    )
    with Server(tmp_path / "home", PYTHONPATH=modules) as server:
        local, bundle = server.tool(slug="local"), server.bundle()
        remote = server.tool(bundle, "remote", **http_tool(upstream.url + path))
        assert (server.slugs(bundle), server.search(bundle, "remote")) == (["remote"], ["remote"])
        assert (server.value(local), server.file(remote).exists()) == (1, True)
        server.error(remote, 200)
        server.switch(server.url_of(remote), False)
        assert (server.search(bundle, "remote"), server.slugs(bundle)) == ([], [])
        assert server.client.delete(server.url_of(remote)).status_code == 204
        assert server.search(bundle, "remote", includeDisabled="true") == []
        assert server.client.delete(bundle_url(bundle)).status_code == 204
    assert upstream.seen(path) == []


# What outlives a restart


def forget_index(server: Server) -> None:
    for file in server.bundles.glob("index.sqlite3*"):
        file.unlink()


class Aged(NamedTuple):
    """A server that was stopped and started again, and what was stored before."""

    server: Server
    fleeting: dict[str, Any]
    stored: bytes
    remote: dict[str, Any]
    path: str
    package: str
    index_was_there: bool


def package_hash() -> str:
    """One hash of all that is shipped."""
    digest = hashlib.sha256()
    for file in sorted(Path(str(onetool.__file__)).parent.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(str(file).encode() + file.read_bytes())
    return digest.hexdigest()


@pytest.fixture(scope="session")
def aged(tmp_path_factory: pytest.TempPathFactory, upstream: Upstream) -> Iterator[Aged]:
    """Before the second start: a function has gone, a host is no longer listed, the index was deleted."""
    server, path, package = Server(tmp_path_factory.mktemp("aged")), upstream.script(), package_hash()
    pack = server.config / "tools" / "fleeting.py"
    pack.write_text(FLEETING)
    with server:
        fleeting = server.tool(slug="fleeting", func="fleeting.once")
        remote = server.tool(slug="remote", **http_tool(upstream.url + path))
        assert (server.value(fleeting), server.value(remote)) == ("here", {"fine": True})
        server.switch(server.tool_url(server.shipped("tools")["id"], "echo", "current"), False)
        server.switch(bundle_url(server.shipped("shell")["id"]), False)
        assert server.search(remote["bundleID"], "remote") == ["remote"]
        index_was_there = (server.bundles / "index.sqlite3").exists()
    assert server.exit_code == 0
    stored = server.file(fleeting).read_bytes()
    forget_index(server)
    pack.unlink()
    (server.config / "onetool.yaml").write_text('allowedHosts: ["allowed.test"]\n')
    with server:
        yield Aged(server, fleeting, stored, remote, path, package, index_was_there)


@pytest.mark.spec("BND-15")
def test_a_function_that_is_gone_disables_and_changes_nothing(aged: Aged) -> None:
    """The file stays byte for byte, the API says disabled and why; the function's return heals it."""
    server, tool = aged.server, aged.fleeting
    shown = server.get(tool)
    assert (shown["isEnabled"], shown["disabledReason"]) == (False, "function not registered")
    assert server.slugs(tool["bundleID"]) == []
    assert server.slugs(tool["bundleID"], includeDisabled="true") == ["fleeting"]
    response = server.invoke(tool)
    assert response.status_code in (404, 409)
    assert (response.json()["ok"], response.json()["error"]["code"]) == (False, "tool_not_found")
    assert server.file(tool).read_bytes() == aged.stored
    assert json.loads(aged.stored)["isEnabled"] is True
    (server.config / "tools" / "fleeting.py").write_text(FLEETING)
    assert eventually(lambda: server.get(tool)["isEnabled"])
    assert (server.value(tool), "disabledReason" in server.get(tool)) == ("here", False)
    assert server.file(tool).read_bytes() == aged.stored


@pytest.mark.spec("BND-46")
def test_the_flag_of_a_built_in_outlives_a_restart(aged: Aged) -> None:
    """A built-in tool and a built-in bundle stay off, and nothing of the package was written."""
    server = aged.server
    bundle = server.shipped("tools")
    assert server.client.get(server.tool_url(bundle["id"], "echo", "current")).json()["isEnabled"] is False
    assert (server.shipped("shell")["isEnabled"], server.shipped("time")["isEnabled"]) == (False, True)
    call = server.client.post("/tools/call", json={"name": "tools.echo", "args": {"message": 1}})
    assert (call.status_code, call.json()["ok"]) == (409, False)
    assert package_hash() == aged.package


@pytest.mark.spec("BND-47")
def test_a_deleted_index_is_made_again(aged: Aged) -> None:
    """The index is a file in the data directory, and without it search finds what is stored all the same."""
    assert aged.index_was_there
    found = eventually(lambda: aged.server.search(aged.remote["bundleID"], "remote"))
    assert (found, (aged.server.bundles / "index.sqlite3").exists()) == (["remote"], True)


@pytest.mark.spec("BND-19")
def test_a_host_that_is_listed_no_more_is_not_reached(aged: Aged, upstream: Upstream) -> None:
    """The list holds at every call, not only when a tool is stored."""
    body = aged.server.error(aged.remote)
    assert (body["error"]["code"], body["meta"]["reason"]) == ("execution_error", "host_not_allowed")
    assert len(upstream.seen(aged.path)) == 1


# Data model


@pytest.mark.spec("BND-16")
def test_ids_are_uuids_of_version_7(server: Server) -> None:
    """The client's id of the bundle is kept, the server makes that of the tool."""
    tool = server.tool()
    for value in (tool["id"], tool["bundleID"], server.shipped("time")["id"]):
        assert (uuid.UUID(value).version, uuid.UUID(value).variant) == (7, uuid.RFC_4122)


@pytest.mark.spec("BND-16")
@pytest.mark.parametrize(
    "wrong",
    [
        "2cd11218-e3e4-4984-a559-31d24dbb98d8",
        "ec63ec06-e0ac-11f1-a97f-02fc00000001",
        "0190c7a2-0000-7000-0000-000000000000",
        "x",
        "0" * 32,
        "a_b",
    ],
)
def test_any_other_id_is_refused(server: Server, wrong: str) -> None:
    """A bundle id of another version or variant, or none at all, is a 400 and leaves no file."""
    refused(server.put_bundle(wrong), 400)
    assert not (server.bundles / wrong).exists()


@pytest.mark.spec("BND-17")
@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("http://127.0.0.1/x", 201),
        ("https://127.0.0.1/x", 201),
        *((url, 400) for url in ("ftp://127.0.0.1/x", "//127.0.0.1/x", "HTTPX://127.0.0.1/x", "127.0.0.1/x")),
        *(
            (url, 400)
            for url in (" http://127.0.0.1/x", "http:/127.0.0.1/x", "file:///etc/passwd", "http://", "")
        ),
        *((url, 400) for url in ("${a}://127.0.0.1/x", "http://${a}/x", "http://127.0.0.1:${a}/x", "${a}")),
        ("http://127.0.0.1${a}/x", 400),
    ],
)
def test_a_url_starts_with_http_or_https(server: Server, url: str, status: int) -> None:
    """Any other scheme, and a placeholder in scheme, host or port, is a 400."""
    response = server.put_tool(server.bundle(), "web", **http_tool(url, "a"))
    assert response.status_code == status, response.text


@pytest.mark.spec("BND-19")
@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(
            (it, 201)
            for it in ("allowed.test", "ALLOWED.Test", "allowed.test:8443", "a.wild.test", "127.0.0.1:1")
        ),
        *(
            (it, 400)
            for it in ("evil.test", "localhost", "allowed.test.evil.test", "notallowed.test", "127.0.0.2")
        ),
        *(
            (it, 400)
            for it in ("allowed.test@evil.test", "user:pw@evil.test", "wild.test.evil.test", "evil.test:80")
        ),
        *(
            (it, 400)
            for it in ("allowed.test\\@evil.test", "evil.test#allowed.test", "evil.test?allowed.test")
        ),
    ],
)
def test_a_tool_is_stored_only_for_a_listed_host(server: Server, host: str, status: int) -> None:
    """The parsed host must be listed, whatever its case and port; look-alikes are not."""
    response = server.put_tool(server.bundle(), "web", **http_tool(f"http://{host}/x"))
    assert response.status_code == status, response.text


@pytest.mark.spec("BND-20", "BND-38")
@pytest.mark.parametrize("text", ["readfile", "读文件-2", "été", "٣", "-", "ǅ", "a-B-3", "e\u0301te\u0301"])
def test_letters_digits_and_dashes_are_allowed(server: Server, text: str) -> None:
    """Letters and digits of any script and the dash name everything; spelling is composed."""
    composed = unicodedata.normalize("NFC", text)
    slug = new_slug(text)
    bundle = server.bundle(slug=slug)
    tool = server.tool(bundle, text, text)
    assert (tool["slug"], tool["version"]) == (composed, composed)
    for spelling in (text, composed):
        assert server.client.get(server.tool_url(bundle, spelling, spelling)).json()["id"] == tool["id"]
    found = server.find_bundle(bundle)
    assert found
    assert found["slug"] == unicodedata.normalize("NFC", slug)


BAD = [
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
@pytest.mark.parametrize("slug", [*BAD, "a/b", "", "a.b", "a\x00", "a\n", " a", 5, None], ids=repr)
def test_a_bundle_has_no_other_characters_in_its_slug(server: Server, slug: Any) -> None:
    """Underscore, space, slash, dot, control and symbol are a 400, and no bundle comes into being."""
    bundle = new_id()
    refused(server.put_bundle(bundle, slug=slug), 400)
    assert (server.find_bundle(bundle), (server.bundles / bundle / "bundle.json").exists()) == (None, False)


@pytest.mark.spec("BND-21", "BND-22")
@pytest.mark.parametrize("text", [*BAD, "a\t", "a\x00", "a\n"], ids=repr)
def test_nor_has_a_tool_in_slug_or_version(server: Server, text: str) -> None:
    """The same holds in the path, percent-encoded or not, and nothing is stored."""
    bundle = server.bundle()
    refused(server.put_tool(bundle, text), 400)
    refused(server.put_tool(bundle, "fine", text), 400)
    assert (server.tool_files(bundle), server.slugs(bundle, includeDisabled="true")) == ([], [])


@pytest.mark.spec("BND-21", "BND-22")
@pytest.mark.parametrize("slug", ["a/b", "a%2Fb", "", "%2F", "%2E%2E"])
@pytest.mark.parametrize("place", ["slug", "version"])
def test_a_slash_in_the_path_leads_nowhere(server: Server, slug: str, place: str) -> None:
    """What is cut in two by a slash, or empty, is a 400 or a 404, and nothing is stored."""
    bundle = server.bundle()
    end = f"tools/{slug}/version/v1" if place == "slug" else f"tools/fine/version/{slug}"
    response = server.client.put(f"{bundle_url(bundle)}/{end}", json=python_tool())
    assert (response.status_code in (400, 404), server.tool_files(bundle)) == (True, []), response.text


@pytest.mark.spec("BND-22")
def test_only_a_version_has_dots(server: Server) -> None:
    """`1.0.0` is a version, `a.b` no slug, and dots alone are no version."""
    bundle = server.bundle()
    assert server.tool(bundle, "dotted", "1.0.0")["version"] == "1.0.0"
    refused(server.put_tool(bundle, "a.b"), 400)
    refused(server.put_tool(bundle, "dotted", "..."), 400)
    assert len(server.tool_files(bundle)) == 1


@pytest.mark.spec("BND-23")
def test_case_makes_a_difference(server: Server) -> None:
    """`Abc` and `abc`, `V1` and `v1` are different tools, and each is got by its own spelling."""
    bundle = server.bundle()
    pairs = [("Abc", "v1"), ("abc", "v1"), ("abc", "V1")]
    made = {pair: server.tool(bundle, *pair)["id"] for pair in pairs}
    assert {pair: server.client.get(server.tool_url(bundle, *pair)).json()["id"] for pair in pairs} == made
    refused(server.client.get(server.tool_url(bundle, "ABC")), 404)
    assert len(set(made.values())) == len(server.tool_files(bundle)) == 3


@pytest.mark.spec("BND-24")
@pytest.mark.parametrize("letter", ["文", "a", "𝒂"], ids=["3 bytes", "1 byte", "4 bytes"])
def test_64_characters_are_the_most(server: Server, letter: str) -> None:
    """Length is counted in code points: 64 fit whatever their bytes, 65 do not."""
    bundle, fits, over = server.bundle(), letter * 64, letter * 65
    assert server.tool(bundle, fits, fits)["slug"] == fits
    refused(server.put_tool(bundle, over), 400)
    refused(server.put_tool(bundle, "short", over), 400)
    assert server.put_bundle(slug=fits).status_code == 201
    refused(server.put_bundle(slug=over), 400)


@pytest.mark.spec("BND-26", "BND-35", "BND-42")
def test_a_version_is_written_once(server: Server) -> None:
    """A second PUT of the pair is a 409, and the tool stays as it was, on disk too."""
    response = server.put_tool(server.bundle(), "once", "v1", description="The first.")
    assert response.status_code == 201
    tool = response.json()
    before, stored = server.get(tool), server.file(tool).read_bytes()
    for body in (python_tool("probes.two", description="Another."), python_tool(description="The first.")):
        refused(server.put_tool(tool["bundleID"], "once", "v1", **body), 409)
    assert (server.get(tool), server.file(tool).read_bytes()) == (before, stored)
    assert len(server.tool_files(tool["bundleID"])) == 1


@pytest.mark.spec("BND-27")
def test_two_bundles_may_have_the_same_pair(server: Server) -> None:
    """Slug and version are unique in a bundle only; each tool runs its own function."""
    tools = [server.tool(slug="shared", version="v1", func=f"probes.{func}") for func in ("one", "two")]
    assert [server.value(it) for it in tools] == [1, 2]
    assert tools[0]["bundleID"] != tools[1]["bundleID"]


@pytest.mark.spec("BND-28", "BND-31")
def test_a_replaced_bundle_keeps_its_birthday(server: Server) -> None:
    """PUT creates, then replaces: new values are read, createdAt stays, modifiedAt moves, files stay."""
    bundle, slug = new_id(), new_slug()
    first = server.put_bundle(bundle, slug=slug, displayName="One", description="d1")
    assert first.status_code == 201
    tool = server.tool(bundle, "inside")
    time.sleep(0.05)
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
    assert moment(old["createdAt"]) <= moment(old["modifiedAt"]) < moment(new["modifiedAt"])
    assert abs(moment(old["createdAt"]) - datetime.now(UTC)) < timedelta(minutes=1)
    assert server.file(tool).exists()


@pytest.mark.spec("BND-29")
def test_switching_and_calling_is_no_modification(server: Server) -> None:
    """modifiedAt of tool and bundle stays through PATCH and calls; a replaced bundle has a later one."""
    tool = server.tool()
    bundle = tool["bundleID"]
    before, slug = server.find_bundle(bundle), server.record(bundle)["slug"]
    assert before
    time.sleep(0.05)
    server.value(tool)
    for url in (server.url_of(tool), bundle_url(bundle)):
        server.switch(url, False)
        server.switch(url, True)
    assert eventually(lambda: server.get(tool)["callCount"] == 1)
    assert (server.get(tool)["modifiedAt"], server.find_bundle(bundle)) == (tool["modifiedAt"], before)
    server.put_bundle(bundle, slug=slug, description="new")
    after = server.find_bundle(bundle)
    assert after
    assert moment(after["modifiedAt"]) > moment(before["modifiedAt"])


# Routes


@pytest.mark.spec("BND-30", "BND-64")
def test_all_routes_lie_under_tools(server: Server) -> None:
    """The OpenAPI document has each route of the API below /tools, and no special one for built-ins."""
    paths = server.client.get("/openapi.json").json()["paths"]
    found = {re.sub(r"{[^}]*}", "{}", path): set(verbs) for path, verbs in paths.items()}
    wanted = {
        "/tools/bundles/{}": {"put", "patch", "delete"},
        "/tools/bundles": {"get"},
        "/tools/bundles/{}/tools/{}/version/{}": {"put", "patch", "delete", "get"},
        "/tools/bundles/{}/tools/{}/version/{}/invoke": {"post"},
        "/tools/tools": {"get"},
        "/tools/tools/search": {"get"},
    }
    assert {route: verbs & found.get(route, set()) for route, verbs in wanted.items()} == wanted
    assert not [path for path in paths if re.search(r"built.?in", path, re.IGNORECASE)]
    assert "toolBundles" not in server.client.get("/bundles").text


@pytest.mark.spec("BND-64", "BND-41")
def test_built_ins_are_served_as_any_other_tool(server: Server) -> None:
    """A shipped tool is listed, found, got and invoked by the same routes, and called by name."""
    bundle = server.shipped("time")
    assert (bundle["isBuiltIn"], bundle["isEnabled"]) == (True, True)
    (listed,) = [it for it in server.every("/tools/tools", bundleIDs=bundle["id"]) if it["slug"] == "now"]
    assert (listed["isBuiltIn"], listed["version"], listed["name"]) == (True, "current", "time.now")
    assert "now" in server.search(bundle["id"], "now")
    tool = server.client.get(server.url_of(listed)).json()
    assert (tool["id"], uuid.UUID(tool["id"]).version) == (listed["id"], 7)
    called = server.client.post("/tools/call", json={"name": "time.now", "args": {}}).json()
    assert called["value"].keys() == server.value(listed).keys() == {"iso", "timestamp"}


@pytest.mark.spec("BND-32")
def test_a_bundle_is_switched(server: Server) -> None:
    """PATCH answers with the bundle, GET shows it, an unknown id is a 404, anything else in it a 400."""
    bundle = server.bundle()
    before = server.find_bundle(bundle)
    assert before
    for on in (False, True):
        assert (
            server.switch(bundle_url(bundle), on).json()
            == server.find_bundle(bundle)
            == before | {"isEnabled": on}
        )
    refused(server.client.patch(bundle_url(new_id()), json=SWITCH_OFF), 404)
    for body in ({"isEnabled": "no"}, {"isEnabled": False, "slug": "x"}, {"displayName": "x"}, [], None):
        refused(server.client.patch(bundle_url(bundle), json=body), 400)
    assert server.find_bundle(bundle) == before


@pytest.mark.spec("BND-33", "BND-50")
def test_a_deleted_bundle_is_hidden_and_kept(server: Server) -> None:
    """It and its tools are seen nowhere and answer 404; its record says when, its tools can be deleted."""
    tool = server.tool(slug="orphan")
    bundle, url = tool["bundleID"], server.url_of(tool)
    assert server.client.delete(bundle_url(bundle)).status_code == 204
    assert server.find_bundle(bundle) is None
    assert server.slugs(bundle, includeDisabled="true") == []
    assert server.search(bundle, "orphan", includeDisabled="true") == []
    deleted = moment(server.record(bundle)["softDeletedAt"])
    assert abs(deleted - datetime.now(UTC)) < timedelta(minutes=1)
    refused(server.client.get(url), 404)
    refused(server.put_tool(bundle, "another"), 404)
    refused(server.client.patch(url, json=SWITCH_OFF), 404)
    refused(server.client.patch(bundle_url(bundle), json=SWITCH_OFF), 404)
    assert server.error(tool, 404)["error"]["code"] == "tool_not_found"
    assert server.file(tool).exists()
    assert server.client.delete(url).status_code == 204
    assert server.tool_files(bundle) == []
    refused(server.client.delete(bundle_url(new_id())), 404)


@pytest.mark.spec("BND-33")
def test_putting_a_deleted_bundle_brings_it_back(server: Server) -> None:
    """PUT undoes the deletion: the tools inside are there again, createdAt as before."""
    tool = server.tool(slug="back")
    bundle = tool["bundleID"]
    before = server.find_bundle(bundle)
    server.client.delete(bundle_url(bundle))
    assert server.put_bundle(bundle).is_success
    after = server.find_bundle(bundle)
    assert before
    assert after
    assert (after["createdAt"], server.record(bundle).get("softDeletedAt")) == (before["createdAt"], None)
    assert (server.slugs(bundle), server.value(tool)) == (["back"], 1)


@pytest.mark.spec("BND-34")
def test_bundles_are_filtered_and_paged(server: Server) -> None:
    """By ids, without the disabled unless asked for, and page by page, each bundle once."""
    ids = [server.bundle(isEnabled=on) for on in (True, True, False)]

    def listed(**query: Any) -> set[str]:
        return {it["id"] for it in server.every("/tools/bundles", **query)}

    assert listed(bundleIDs=",".join(ids[:2])) == listed(bundleIDs=ids[:2]) == set(ids[:2])
    assert listed(bundleIDs=ids) == set(ids[:2])
    assert listed(bundleIDs=ids, includeDisabled="true") == set(ids)
    assert (listed() & set(ids), listed(includeDisabled="true") & set(ids)) == (set(ids[:2]), set(ids))
    pages = server.pages("/tools/bundles", bundleIDs=ids, includeDisabled="true", pageSize="1")
    assert sorted(len(page) for page in pages if page) == [1, 1, 1]
    assert {page[0]["id"] for page in pages if page} == set(ids)
    walked = [it["id"] for page in server.pages("/tools/bundles", pageSize="7") for it in page]
    assert (len(walked), set(walked)) == (len(set(walked)), listed())


@pytest.mark.spec("BND-34", "BND-40", "BND-41")
@pytest.mark.parametrize(
    "path", ["/tools/bundles", "/tools/tools", "/tools/tools/search", "/tools", "/tools/search"]
)
def test_a_query_that_cannot_be_read_is_refused(server: Server, path: str) -> None:
    """A page token that we did not make, a size that is no number and a flag that is none are a 400 each."""
    needed = {"q": "x"} if path.endswith("search") else {}
    for wrong in ({"pageToken": "made-up"}, {"pageSize": "many"}, {"includeDisabled": "perhaps"}):
        refused(server.client.get(path, params=needed | wrong), 400)


@pytest.mark.spec("BND-36")
def test_a_tool_is_only_switched(server: Server) -> None:
    """PATCH takes isEnabled and nothing else: any other field is a 400 and nothing changes."""
    tool = server.tool()
    url, before = server.url_of(tool), server.get(tool)
    for body in ({"displayName": "x"}, {"isEnabled": False, "displayName": "x"}, {"isEnabled": 0}, [], None):
        refused(server.client.patch(url, json=body), 400)
    assert server.get(tool) == before
    for on in (False, True):
        assert server.switch(url, on).json() == server.get(tool) == before | {"isEnabled": on}
    refused(server.client.patch(server.tool_url(tool["bundleID"], "nobody"), json=SWITCH_ON), 404)


@pytest.mark.spec("BND-37")
def test_a_deleted_tool_is_gone(server: Server) -> None:
    """Its file is removed, GET is a 404, the pair is free again, and other versions stay."""
    tool = server.tool(slug="short-lived", version="v1")
    other = server.tool(tool["bundleID"], "short-lived", "v2")
    assert server.client.delete(server.url_of(tool)).status_code == 204
    assert (server.file(tool).exists(), server.file(other).exists()) == (False, True)
    refused(server.client.get(server.url_of(tool)), 404)
    refused(server.client.delete(server.url_of(tool)), 404)
    again = server.tool(tool["bundleID"], "short-lived", "v1")
    assert again["id"] not in (tool["id"], other["id"])


@pytest.mark.spec("BND-38")
def test_a_tool_is_read_as_it_was_written(server: Server) -> None:
    """GET has all that was put and what the server made; an unknown slug, version or bundle is a 404."""
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    request = {"method": "POST", "headers": {"X-A": "1"}, "query": {"q": "${id}"}}
    body = http_tool(
        "http://127.0.0.1/${id}", request=request, argSchema=schema, outputSchema={"type": "object"}
    )
    body |= {"displayName": "Read it", "description": "Reads.", "tags": ["a", "b"]}
    bundle = server.bundle(slug=(slug := new_slug("my-pack")))
    tool = server.tool(bundle, "read-it", "v1", **body)
    shown = server.get(tool)
    assert shown == tool
    sent = shown.pop("httpImpl")["request"]
    assert {key: sent[key] for key in body["httpImpl"]["request"]} == body.pop("httpImpl")["request"]
    assert {key: shown[key] for key in body} == body
    assert (shown["bundleID"], shown["slug"], shown["version"]) == (bundle, "read-it", "v1")
    assert (shown["name"], shown["isBuiltIn"]) == (f"{slug.replace('-', '_')}.read_it", False)
    assert (shown["callCount"], shown.get("lastCalledAt")) == (0, None)
    assert moment(shown["createdAt"]) == moment(shown["modifiedAt"])
    for wrong in ((bundle, "read-it", "v2"), (bundle, "read", "v1"), (new_id(), "read-it", "v1")):
        refused(server.client.get(server.tool_url(*wrong)), 404)
        assert server.client.post(f"{server.tool_url(*wrong)}/invoke", json={"args": {}}).status_code == 404


def test_the_older_of_two_bundles_keeps_the_name(server: Server) -> None:
    """Bundles may share a slug; the tools of the later have eight digits of its id in their name."""
    slug = new_slug("twin")
    older, later = (server.tool(server.bundle(slug=slug), "act") for _ in range(2))
    pack = slug.replace("-", "_")
    assert older["name"] == f"{pack}.act"
    digits = later["name"].removeprefix(f"{pack}__").removesuffix(".act")
    assert (len(digits), digits in later["bundleID"].replace("-", "")) == (8, True), later["name"]


@pytest.mark.spec("BND-40")
@pytest.mark.parametrize("path", ["/tools/tools", "/tools"])
def test_tools_are_filtered_and_paged(server: Server, path: str) -> None:
    """By tags (any of them), bundles and the flag, alone and together; pages visit each tool once and end."""
    one, two = server.bundle(slug=(slug := new_slug())), server.bundle()
    red, blue, rare = (f"{colour}-{slug}" for colour in ("red", "blue", "rare"))
    for bundle, name, tags in [
        (one, "a", [red]),
        (one, "b", [blue]),
        (one, "c", [red, rare]),
        (two, "d", [red]),
    ]:
        server.tool(bundle, name, tags=tags)
    server.tool(one, "e", tags=[red], isEnabled=False)

    def listed(**query: Any) -> str:
        return "".join(sorted(it["slug"] for it in server.every(path, **query)))

    assert (listed(tags=red), listed(tags=rare), listed(tags=f"{blue},{rare}")) == ("acd", "c", "bc")
    assert (listed(tags=[blue, rare]), listed(tags=f"none-{slug}")) == ("bc", "")
    assert (listed(bundleIDs=one), listed(bundleIDs=f"{one},{two}"), listed(bundleIDs=[one, two])) == (
        "abc",
        "abcd",
        "abcd",
    )
    assert (listed(bundleIDs=one, includeDisabled="true"), listed(tags=red, bundleIDs=two)) == ("abce", "d")
    for size in ("recommendedPageSize", "pageSize"):
        pages = server.pages(path, bundleIDs=[one, two], includeDisabled="true", **{size: "2"})
        assert sorted(it["slug"] for page in pages for it in page) == list("abcde")
        assert len(pages) > 1
    assert {it["bundleSlug"] for it in server.every(path, bundleIDs=one)} == {slug}
    walked = [it["id"] for page in server.pages(path, recommendedPageSize="9") for it in page]
    assert (len(walked), set(walked)) == (len(set(walked)), {it["id"] for it in server.every(path)})


# Search


@pytest.mark.spec("BND-41", "BND-47", "BND-62")
def test_a_tool_is_found_by_all_that_describes_it(finder: Server) -> None:
    """Slug, displayName, description and tags are searched, and every change holds for the next search."""
    bundle = finder.bundle()
    words = {"displayName": "Quokka of the day", "description": "Counts wombats.", "tags": ["numbat", "读取"]}
    tool = finder.tool(bundle, "zebra-crossing", **words)
    for q in ("zebra", "crossing", "Quokka", "quokka", "wombats", "numbat", "读取"):
        assert finder.search(bundle, q) == ["zebra-crossing"], q
    assert finder.search(bundle, "xylophone") == []
    finder.switch(finder.url_of(tool), False)
    assert finder.search(bundle, "zebra") == []
    assert finder.search(bundle, "zebra", includeDisabled="true") == ["zebra-crossing"]
    finder.client.delete(finder.url_of(tool))
    assert finder.search(bundle, "zebra", includeDisabled="true") == []


@pytest.mark.spec("BND-41", "BND-62")
@pytest.mark.parametrize("path", ["/tools/tools/search", "/tools/search"])
def test_a_search_needs_words_and_has_pages(finder: Server, path: str) -> None:
    """Without q, or with an empty one, it is a 400; five hits on pages of two are each seen once."""
    for query in ({}, {"q": ""}, {"includeDisabled": "true"}):
        refused(finder.client.get(path, params=query), 400)
    bundle, word = finder.bundle(), f"pangolin{new_id()[-8:]}"
    slugs = [f"{word}-{number}" for number in range(5)]
    for slug in slugs:
        finder.tool(bundle, slug)
    pages = finder.pages(path, q=word, pageSize="2")
    assert max(map(len, pages)) == 2
    assert sorted(it["slug"] for page in pages for it in page if it["bundleID"] == bundle) == slugs
    for q in ('"', "a OR b", "*", "NEAR(", "slug:x", "'; --", "+readfile", "%"):
        assert finder.client.get(path, params={"q": q}).status_code == 200, q


@pytest.mark.spec("BND-48", "BND-62")
def test_hits_are_ranked_by_how_they_match(finder: Server) -> None:
    """A prefix comes before a whole word, that before a likeness; among equals the newest is first."""
    bundle = finder.bundle()
    for slug in ("readfile", "file-read", "raed", "readone", "readtwo", "readabc"):
        finder.tool(bundle, slug, displayName=slug, description="")
        time.sleep(0.005)
    best = ["readabc", "readtwo", "readone", "readfile", "file-read", "raed"]
    assert finder.search(bundle, "read") == best
    assert finder.search(bundle, "READ") == best


@pytest.mark.spec("BND-49", "BND-62")
def test_disabled_tools_are_found_only_on_request(finder: Server) -> None:
    """A disabled tool, and any of a disabled bundle, is in neither search nor list unless asked for."""
    bundle, off = finder.bundle(), finder.bundle()
    finder.tool(bundle, "okapi-on")
    finder.tool(bundle, "okapi-off", isEnabled=False)
    finder.tool(off, "okapi-away")
    finder.switch(bundle_url(off), False)
    everything = {"includeDisabled": "true"}
    assert (finder.search(bundle, "okapi"), finder.search(off, "okapi")) == (["okapi-on"], [])
    assert sorted(finder.search(bundle, "okapi", **everything)) == ["okapi-off", "okapi-on"]
    assert finder.search(off, "okapi", **everything) == ["okapi-away"]
    assert (finder.slugs(bundle), finder.slugs(off)) == (["okapi-on"], [])
    assert (sorted(finder.slugs(bundle, **everything)), finder.slugs(off, **everything)) == (
        ["okapi-off", "okapi-on"],
        ["okapi-away"],
    )


# Deletion and disabled bundles


@pytest.mark.spec("BND-51")
def test_empty_bundles_are_reaped_after_two_days(tmp_path: Path) -> None:
    """After 49 hours nothing is left of an empty one; younger, not empty or put again, it stays."""

    def age(bundle: str, hours: float) -> None:
        at = (datetime.now(UTC) - timedelta(hours=hours)).isoformat().replace("+00:00", "Z")
        record = server.record(bundle) | {"softDeletedAt": at}
        (server.bundles / bundle / "bundle.json").write_text(json.dumps(record))

    with Server(tmp_path, "--reap-interval", "3600") as server:
        old, young, again, full, alive = (server.bundle() for _ in range(5))
        used, kept = server.tool(old), server.tool(full)
        server.value(used)
        assert eventually(lambda: server.get(used)["callCount"] == 1)
        server.client.delete(server.url_of(used))
        for bundle in (old, young, again, full):
            assert server.client.delete(bundle_url(bundle)).status_code == 204
        age(again, 49)
        assert server.put_bundle(again).is_success
    for bundle, hours in ((old, 49), (young, 47), (full, 49)):
        age(bundle, hours)
    forget_index(server)
    server.options = ("--reap-interval", "0.1")
    with server:
        assert eventually(lambda: not (server.bundles / old).exists())
        time.sleep(0.5)  # some more sweeps
        assert server.file(kept).exists()
        assert server.client.delete(server.url_of(kept)).status_code == 204
        assert eventually(lambda: not (server.bundles / full).exists()), "empty now, and old enough"
        assert server.find_bundle(again)
    assert [it for it in tmp_path.rglob("*") if old in it.name or used["id"] in it.name] == []
    assert [(server.bundles / it / "bundle.json").exists() for it in (young, again, alive)] == [True] * 3


@pytest.mark.spec("BND-52")
def test_nothing_is_written_inside_a_disabled_bundle(server: Server) -> None:
    """PUT and PATCH inside are a 409 and write nothing, GET and DELETE work; enabled, both work again."""
    bundle = server.bundle()
    tool, spare = server.tool(bundle, "stays"), server.tool(bundle, "goes")
    server.switch(bundle_url(bundle), False)
    before = {file: file.read_bytes() for file in server.tool_files(bundle)}
    refused(server.put_tool(bundle, "another"), 409)
    refused(server.client.patch(server.url_of(tool), json=SWITCH_OFF), 409)
    assert {file: file.read_bytes() for file in server.tool_files(bundle)} == before
    assert server.client.get(server.url_of(tool)).status_code == 200
    assert server.client.delete(server.url_of(spare)).status_code == 204
    server.switch(bundle_url(bundle), True)
    assert server.put_tool(bundle, "another").status_code == 201
    assert server.switch(server.url_of(tool), False).json()["isEnabled"] is False


@pytest.mark.spec("BND-52", "BND-46")
def test_that_holds_for_built_ins_too(server: Server) -> None:
    """A built-in tool is not switched inside a disabled bundle; the bundle itself always is."""
    home = bundle_url(bundle := server.shipped("shell")["id"])
    (tool, *_) = server.every("/tools/tools", bundleIDs=bundle)
    server.switch(home, False)
    try:
        refused(server.client.patch(server.url_of(tool), json=SWITCH_OFF), 409)
    finally:
        server.switch(home, True)
    assert server.get(tool)["isEnabled"] is True


# Storage and the door


@pytest.mark.spec("BND-61", "BND-14")
def test_every_record_is_a_json_file(server: Server) -> None:
    """A bundle and each of its tools is one JSON object, named by its id, with the fields of the API."""
    tool = server.tool(slug="été", func="probes.add", tags=["x"])
    other = server.tool(tool["bundleID"], "été", "v2")
    record = server.record(tool["bundleID"])
    shown = server.find_bundle(tool["bundleID"])
    assert shown
    assert {key: record[key] for key in ("id", "slug", "displayName", "isEnabled")} == {
        key: shown[key] for key in ("id", "slug", "displayName", "isEnabled")
    }
    stored = json.loads(server.file(tool).read_bytes())
    same = ("id", "slug", "version", "type", "argSchema", "tags", "isEnabled", "pythonImpl")
    assert {key: stored[key] for key in same} == {key: tool[key] for key in same}
    assert moment(stored["createdAt"]) == moment(tool["createdAt"])
    assert ("schemaVersion" in record, "schemaVersion" in stored) == (True, True)
    assert set(server.tool_files(tool["bundleID"])) == {server.file(tool), server.file(other)}


@pytest.mark.spec("BND-63")
def test_of_eight_processes_one_wins(tmp_path: Path) -> None:
    """Eight servers on one store get the same PUT at once: one 201, seven 409, one whole file."""
    servers = [Server(tmp_path, probes=False) for _ in range(8)]
    for server in servers:
        server.launch()
    together = Barrier(8)

    def put(server: Server, bundle: str, slug: str) -> int:
        together.wait(30)
        return server.put_tool(bundle, slug, func="time.now", description=server.url).status_code

    try:
        for server in servers:
            server.ready()
        bundle = servers[0].bundle()
        with ThreadPoolExecutor(8) as pool:
            for number in range(5):
                slug = f"race-{number}"
                results = list(pool.map(lambda it, slug=slug: put(it, bundle, slug), servers))
                assert sorted(results) == [201] + [409] * 7
                winner = servers[results.index(201)]
                seen = {it.client.get(it.tool_url(bundle, slug)).json()["description"] for it in servers}
                assert seen == {winner.url}
        stored = [json.loads(file.read_bytes()) for file in servers[0].tool_files(bundle)]
        assert sorted(it["slug"] for it in stored) == [f"race-{number}" for number in range(5)]
        assert [sorted(it.slugs(bundle)) for it in servers] == [sorted(it["slug"] for it in stored)] * 8
    finally:
        for server in servers:
            server.process.terminate()
        for server in servers:
            server.stop()


def test_a_server_that_says_it_listens_does(tmp_path: Path) -> None:
    """From the moment of its line it answers, and SIGTERM, however early, is a clean end."""
    with Server(tmp_path, probes=False) as server:
        assert server.client.get("/healthz").status_code == 200
    assert server.exit_code == 0
    with server:
        pass
    assert server.exit_code == 0


@pytest.mark.parametrize("token", [None, "wrong", ""], ids=["none", "wrong", "empty"])
def test_without_the_token_nothing_is_told(server: Server, token: str | None) -> None:
    """Every route asks for the token, only the two health pages do not."""
    tool = server.tool()
    with server.new_client(token) as stranger:
        for path in ("/tools/bundles", "/tools/tools", "/tools", "/tools/search?q=x", server.url_of(tool)):
            assert stranger.get(path).status_code == 401, path
        assert stranger.post(f"{server.url_of(tool)}/invoke", json={"args": {}}).status_code == 401
        assert stranger.delete(server.url_of(tool)).status_code == 401
        assert [stranger.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]
    assert server.get(tool)["id"] == tool["id"]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'"x"', b"\xff", b"{}", b"[" * 100_000],
    ids=lambda it: repr(it[:9]),
)
def test_a_body_that_is_none_is_a_400(server: Server, content: bytes) -> None:
    """What is no JSON object of the right shape is refused as a problem, never as a fault of the server."""
    bundle = server.bundle()
    json_type = {"Content-Type": "application/json"}
    for url in (bundle_url(new_id()), server.tool_url(bundle, "torn")):
        refused(server.client.put(url, content=content, headers=json_type), 400)
    assert server.tool_files(bundle) == []


@pytest.mark.parametrize(
    "fields", [{"argSchema": {"type": "nonsense"}}, {"tags": "x"}, {"pythonImpl": None}], ids=str
)
def test_a_tool_that_could_never_run_is_not_stored(server: Server, fields: dict[str, Any]) -> None:
    """A schema that is none, tags that are no list and a type without its part are a 400 each."""
    refused(server.put_tool(server.bundle(), "never", **python_tool() | fields), 400)


@pytest.mark.spec("BND-16")
def test_a_new_pack_file_is_a_bundle(server: Server) -> None:
    """A pack file that is added while the server runs is served as a bundle that cannot be written."""
    name = "late" + new_id()[-12:]
    file = server.config / "tools" / f"{name}.py"
    file.write_text(PROBES.replace('pack = "probes"', f'pack = "{name}"'))
    try:
        assert eventually(lambda: [it for it in server.every("/tools/bundles") if it["slug"] == name])
        bundle = server.shipped(name)
        assert (bundle["origin"], bundle["isBuiltIn"], uuid.UUID(bundle["id"]).version) == ("pack", False, 7)
        tool = server.client.get(server.tool_url(bundle["id"], "add", "current")).json()
        assert server.value(tool, a=1, b=2) == 3
    finally:
        file.unlink()

"""Servers are told that apps can be shown only on behalf of clients that declare it."""

import json

import pytest

from support.asking_client import FORM, accept, text_of
from support.asking_world import AskingWorld
from support.raw_mcp import LEGACY, MODERN

UI = {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}
APPS = {"extensions": UI}
OTHER = {"extensions": {"com.example/other": {}}}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with AskingWorld(tmp_path_factory.mktemp("apps"), "old", "new") as world:
        yield world


@pytest.fixture(params=[LEGACY, MODERN])
def version(request):
    """The protocol version of the client."""
    return request.param


@pytest.fixture(params=["old", "new"])
def server(request):
    """A server of the legacy or of the modern protocol."""
    return request.param


def declared(world, server, version, capabilities):
    """Return what the server is told about a client with these capabilities."""
    client = world.client(version, "http", capabilities)
    return json.loads(text_of(client.call(f"{server}__capabilities", {})))


@pytest.mark.spec("MCP-60")
def test_a_server_learns_of_apps_from_calls_of_clients_that_declare_them(world, version, server):
    """Also while clients that do not declare them use the same process, before and after."""
    for capabilities in ({}, APPS, FORM, FORM | APPS, OTHER):
        expected = UI if "io.modelcontextprotocol/ui" in capabilities.get("extensions", {}) else None
        assert declared(world, server, version, capabilities).get("extensions") == expected


@pytest.mark.spec("MCP-60")
def test_a_rest_caller_declares_no_apps(world, server):
    assert declared(world, server, LEGACY, APPS)["extensions"] == UI
    response = world.serve().client.post("/tools/call", json={"name": f"{server}.capabilities", "args": {}})
    assert "extensions" not in json.loads(response.json()["value"])


@pytest.mark.spec("MCP-60", "MCP-41")
def test_a_client_with_apps_that_cannot_be_asked_declares_only_apps(world, version, server):
    """Also to a legacy server that has asked another client with apps."""
    able = world.client(LEGACY, "http", FORM | APPS).answers(accept(name="Ada"))
    assert text_of(able.call(f"{server}__ask_name", {})) == "hello Ada"
    assert declared(world, server, version, APPS) == APPS
    assert text_of(world.client(version, "http", APPS).call(f"{server}__ask_name", {})) == "cannot ask"


@pytest.mark.spec("MCP-60")
def test_a_legacy_server_without_apps_gets_no_further_session(tmp_path):
    with AskingWorld(tmp_path, "old", server_settings={"exclude": ["image"]}) as world:
        assert "extensions" not in declared(world, "old", LEGACY, APPS)

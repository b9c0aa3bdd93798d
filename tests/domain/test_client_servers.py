"""Servers of MCP clients, taken over."""

import pytest

from onetool.domain.client_servers import NotAdopted, adopt

KEY = "ghp_0123456789abcdef"


def test_a_program_is_taken_over_with_its_secrets_set_apart():
    """What anybody may read stays; what nobody should read is named only."""
    said = {
        "command": "npx",
        "args": ["-y", 1, True],
        "env": {"GITHUB_TOKEN": KEY, "MODE": "fast"},
        "type": "stdio",
    }
    found = adopt("git-hub", said)
    assert found.name == "git_hub"
    assert found.server == {
        "command": "npx",
        "args": ["-y", "1", "true"],
        "env": {"GITHUB_TOKEN": "${GIT_HUB_GITHUB_TOKEN}", "MODE": "fast"},
    }
    assert found.secrets == {"GIT_HUB_GITHUB_TOKEN": KEY}
    assert KEY not in repr(found)


@pytest.mark.parametrize("url", ["url", "serverUrl", "httpUrl"])
@pytest.mark.parametrize("headers", ["headers", "http_headers"])
def test_an_address_is_taken_over_however_its_client_spells_it(url, headers):
    """Clients agree on what a server is, not on the words."""
    found = adopt("docs", {url: "https://a.example/mcp", headers: {"X-Api-Key": KEY}, "disabled": True})
    assert found.server == {
        "url": "https://a.example/mcp",
        "headers": {"X-Api-Key": "${DOCS_X_API_KEY}"},
        "enabled": False,
    }


def test_names_that_are_taken_are_left_to_those_who_have_them():
    """Neither a pack nor a secret is replaced by one that is moved in."""
    said = {"command": "x", "env": {"KEY": KEY, "MY-KEY": KEY + "2", "MY.KEY": KEY + "3"}}
    found = adopt("fs", said, taken={"fs", "fs_2"}, secrets={"FS_3_KEY"})
    assert found.name == "fs_3"
    assert list(found.secrets) == ["FS_3_KEY_2", "FS_3_MY_KEY", "FS_3_MY_KEY_2"]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("npx", "not a map"),
        ({}, "neither"),
        ({"command": "x", "url": "http://a"}, "or both"),
        ({"type": "sse", "url": "http://a"}, "SSE"),
        ({"command": ["x"]}, "no text"),
        ({"url": "http://a", "httpUrl": "http://b"}, "or both"),
        ({"command": "", "url": None}, "neither"),
        ({"command": "x", "type": "ws"}, "its type 'ws'.* Valid: stdio, http"),
        ({"command": "x", "type": {"a": 1}}, "no text"),
        ({"command": "x", "cwd": "/srv"}, "no setting for its 'cwd'"),
        ({"command": "x", "envFile": ".env"}, "'envFile'"),
        ({"command": "x", "headers": {"A": "b"}}, "'headers'"),
        ({"url": "http://a", "bearer_token_env_var": "T"}, "'bearer_token_env_var'"),
        ({"url": "http://a", "env": {"A": "b"}}, "'env'"),
        ({"command": "x", "disabledTools": "echo"}, "disabledTools are not a list"),
        ({"command": "x", "args": "y"}, "not a list"),
        ({"command": "x", "env": ["A"]}, "not a map"),
        ({"command": "x", "env": {"A": None}}, "no text"),
        ({"command": "${env:HOME}/x"}, "only its client"),
    ],
)
def test_what_cannot_be_taken_over_says_why(said, why):
    """A server that would not work is left where it works."""
    with pytest.raises(NotAdopted, match=why):
        adopt("x", said)


def test_what_is_about_the_client_alone_is_left_to_it():
    """A server is not refused for its icon, nor for what its client allows it or how long it waits."""
    about = {"name": "a", "description": "b", "icon": "c", "gallery": True, "version": "1", "timeout": 9}
    more = {
        "alwaysAllow": ["x"],
        "autoApprove": [],
        "startup_timeout_sec": 9,
        "enabled": True,
        "disabled": False,
    }
    for kind in ("http", "streamable-http", "streamableHttp"):
        found = adopt("x", {"url": "http://a", "type": kind, **about, **more, "env": {}, "args": []})
        assert (found.server, found.notes) == ({"url": "http://a"}, ())


@pytest.mark.parametrize("shown", ["enabled_tools", "enabledTools"])
@pytest.mark.parametrize("hidden", ["disabled_tools", "disabledTools"])
def test_the_choice_of_tools_moves_in_too(shown, hidden):
    """Nobody gets more tools of a server than before, least of all those who had none."""
    found = adopt("x", {"command": "x", shown: ["a", "b"], hidden: ["b"]})
    assert found.server == {"command": "x", "include": ["a", "b"], "exclude": ["b"]}
    assert adopt("x", {"command": "x", shown: [], hidden: []}).server == {"command": "x", "include": []}


@pytest.mark.parametrize(
    ("said", "note"),
    [
        (
            {"command": "x", "args": ["--api-key", KEY]},
            "its argument --api-key stays readable in onetool.yaml",
        ),
        ({"url": f"https://a/mcp?token={KEY}"}, "token in its url stays readable in onetool.yaml"),
        ({"url": "https://me:hunter22@a/mcp"}, "the login in its url stays readable in onetool.yaml"),
    ],
)
def test_what_cannot_be_set_apart_is_said(said, note):
    """Arguments and addresses have no place for a secret's name: their owner is told."""
    found = adopt("x", said)
    assert (found.server, found.notes) == (said, (note,))

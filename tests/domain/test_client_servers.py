"""Servers of MCP clients, taken over."""

import pytest

from onetool.domain.client_servers import NotAdopted, adopt, looks_secret

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


@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        ("API_KEY", KEY, True),
        ("Authorization", "Bearer x-1234", True),
        ("DB_PASSWORD", "hunter22", True),
        ("KEY_FILE", "/etc/key.pem", False),
        ("AUTH_URL", "https://login.example", False),
        ("TOKEN_URL", "https://user:pw@login.example", True),
        ("KEY_COUNT", "12", False),
        ("HOME", KEY, False),
    ],
)
def test_what_looks_secret(name, value, is_secret):
    """Places, numbers and switches are no secrets, whatever they are called."""
    assert looks_secret(name, value) is is_secret

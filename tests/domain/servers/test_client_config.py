"""Import of servers from MCP clients."""

import pytest

from onetool.domain.servers.client_config import UnsupportedServer, import_server, move_secrets_out

KEY = "ghp_0123456789abcdef"


def test_command_is_imported_with_its_secrets_moved_out():
    config = {
        "command": "npx",
        "args": ["-y", 1, True],
        "env": {"GITHUB_TOKEN": KEY, "MODE": "fast"},
        "type": "stdio",
    }
    imported = import_server("git-hub", config)
    assert imported.name == "git_hub"
    assert imported.server == {
        "command": "npx",
        "args": ["-y", "1", "true"],
        "env": {"GITHUB_TOKEN": "${GIT_HUB_GITHUB_TOKEN}", "MODE": "fast"},
    }
    assert imported.secrets == {"GIT_HUB_GITHUB_TOKEN": KEY}
    assert KEY not in repr(imported)


@pytest.mark.parametrize("url", ["url", "serverUrl", "httpUrl"])
@pytest.mark.parametrize("headers", ["headers", "http_headers"])
def test_url_and_headers_are_imported_under_the_keys_of_every_client(url, headers):
    imported = import_server(
        "docs", {url: "https://a.example/mcp", headers: {"X-Api-Key": KEY}, "disabled": True}
    )
    assert imported.server == {
        "url": "https://a.example/mcp",
        "headers": {"X-Api-Key": "${DOCS_X_API_KEY}"},
        "enabled": False,
    }


def test_taken_names_get_a_number():
    """An import replaces neither a pack nor a secret."""
    config = {"command": "x", "env": {"KEY": KEY, "MY-KEY": KEY + "2", "MY.KEY": KEY + "3"}}
    imported = import_server("fs", config, taken={"fs", "fs_2"}, secrets={"FS_3_KEY"})
    assert imported.name == "fs_3"
    assert list(imported.secrets) == ["FS_3_KEY_2", "FS_3_MY_KEY", "FS_3_MY_KEY_2"]


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ("npx", "not an object"),
        ({}, "either a command or one URL"),
        ({"command": "x", "url": "http://a"}, "either a command or one URL"),
        ({"type": "sse", "url": "http://a"}, "SSE"),
        ({"command": ["x"]}, "not a string"),
        ({"url": "http://a", "httpUrl": "http://b"}, "either a command or one URL"),
        ({"command": "", "url": None}, "either a command or one URL"),
        ({"command": "x", "type": "ws"}, "its type 'ws'.* Valid: stdio, http"),
        ({"command": "x", "type": {"a": 1}}, "not a string"),
        ({"command": "x", "envFile": "/srv/env"}, "no setting for its 'envFile'"),
        ({"command": "x", "envFile": ".env"}, "'envFile'"),
        ({"command": "x", "headers": {"A": "b"}}, "'headers'"),
        ({"url": "http://a", "bearer_token_env_var": "T"}, "'bearer_token_env_var'"),
        ({"url": "http://a", "env": {"A": "b"}}, "'env'"),
        ({"command": "x", "disabledTools": "echo"}, "disabledTools is not a list"),
        ({"command": "x", "args": "y"}, "not a list"),
        ({"command": "x", "env": ["A"]}, "not an object"),
        ({"command": "x", "env": {"A": None}}, "not a string"),
        ({"command": "${env:HOME}/x"}, "only its client"),
    ],
)
def test_unsupported_server_is_rejected_with_a_reason(config, problem):
    with pytest.raises(UnsupportedServer, match=problem):
        import_server("x", config)


def test_keys_that_concern_only_the_client_are_ignored():
    metadata = {"name": "a", "description": "b", "icon": "c", "gallery": True, "version": "1", "timeout": 9}
    options = {
        "alwaysAllow": ["x"],
        "autoApprove": [],
        "startup_timeout_sec": 9,
        "enabled": True,
        "disabled": False,
    }
    for kind in ("http", "streamable-http", "streamableHttp"):
        imported = import_server(
            "x", {"url": "http://a", "type": kind, **metadata, **options, "env": {}, "args": []}
        )
        assert (imported.server, imported.warnings) == ({"url": "http://a"}, ())


@pytest.mark.parametrize("include", ["enabled_tools", "enabledTools"])
@pytest.mark.parametrize("exclude", ["disabled_tools", "disabledTools"])
def test_tool_filter_is_imported(include, exclude):
    """An empty include list stays empty: the import never enables more tools."""
    imported = import_server("x", {"command": "x", include: ["a", "b"], exclude: ["b"]})
    assert imported.server == {"command": "x", "include": ["a", "b"], "exclude": ["b"]}
    assert import_server("x", {"command": "x", include: [], exclude: []}).server == {
        "command": "x",
        "include": [],
    }


@pytest.mark.parametrize(
    ("config", "warning"),
    [
        (
            {"command": "x", "args": ["--api-key", KEY]},
            "its argument --api-key stays readable in onetool.yaml",
        ),
        ({"url": f"https://a/mcp?token={KEY}"}, "token in its url stays readable in onetool.yaml"),
        ({"url": "https://me:hunter22@a/mcp"}, "the login in its url stays readable in onetool.yaml"),
    ],
)
def test_secret_in_an_argument_or_url_gives_a_warning(config, warning):
    """Arguments and URLs cannot contain references to secrets."""
    imported = import_server("x", config)
    assert (imported.server, imported.warnings) == (config, (warning,))


def test_secrets_are_moved_out_of_settings_and_references_stay():
    server = {
        "command": "x",
        "env": {"GITHUB_TOKEN": KEY, "OTHER_TOKEN": "${OTHER}", "MODE": "fast", "PORT": 1},
        "headers": None,
    }
    moved, secrets = move_secrets_out("s", server, {"S_GITHUB_TOKEN"})
    assert moved["env"] == server["env"] | {"GITHUB_TOKEN": "${S_GITHUB_TOKEN_2}"}
    assert (moved["headers"], secrets) == (None, {"S_GITHUB_TOKEN_2": KEY})
    assert server["env"]["GITHUB_TOKEN"] == KEY


def test_other_values_are_moved_out_too_if_that_is_wanted():
    """But none that consists of references, and none that is no text."""
    env = {"MODE": "fast", "A": "${A}", "B": "Bearer ${B}", "MIXED": "x ${C}", "EMPTY": "", "N": 3}
    moved, secrets = move_secrets_out("s", {"env": env}, set(), also=lambda value: True)
    assert moved["env"] == {**env, "MODE": "${S_MODE}", "MIXED": "${S_MIXED}"}
    assert secrets == {"S_MODE": "fast", "S_MIXED": "x ${C}"}
    assert move_secrets_out("s", {"env": env}, set(), also=lambda value: value == "fast")[1] == {
        "S_MODE": "fast"
    }

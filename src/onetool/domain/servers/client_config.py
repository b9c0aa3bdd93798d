"""Import of server entries from the settings of MCP clients, with secrets moved out of the entry."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from onetool.domain.secrets.detection import USERINFO, is_probably_secret, secret_arguments, secret_name_in
from onetool.domain.text.identifiers import safe_name

CLIENTS = (
    *("claude-desktop", "cursor", "vscode", "codex"),
    *("windsurf", "zed", "gemini", "cline", "opencode"),
)
"""MCP clients whose settings can be imported."""
URL_KEYS, HEADER_KEYS = ("url", "serverUrl", "httpUrl"), ("headers", "http_headers")
COMMAND_KEYS = ("command", "args", "env", "cwd")
INCLUDE_KEYS, EXCLUDE_KEYS = ("enabled_tools", "enabledTools"), ("disabled_tools", "disabledTools")
METADATA_KEYS = ("type", "enabled", "disabled", "description", "name", "icon", "gallery", "version")
TIMEOUT_KEYS = ("timeout", "startup_timeout_sec", "startup_timeout_ms", "tool_timeout_sec")
APPROVAL_KEYS = ("alwaysAllow", "autoApprove")
COMMON_KEYS = (*INCLUDE_KEYS, *EXCLUDE_KEYS, *METADATA_KEYS, *TIMEOUT_KEYS, *APPROVAL_KEYS)
"""Keys allowed for any server; those that concern only the client are ignored."""
EMPTY: tuple[Any, ...] = (None, "", [], {})
REFERENCES = re.compile(r"(?:(?:Bearer|Basic|Token|Bot)\s+)?(?:\$\{[\w.-]+\})+|", re.IGNORECASE)
"""A value without anything that is written out."""
SSE, TRANSPORTS = "sse", ("stdio", "http", "streamablehttp")


class UnsupportedServer(Exception):
    """A server entry cannot be imported; the user has to add the server manually."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedServer:
    """An entry for the OneTool settings, the secrets that it refers to, and warnings for the user."""

    name: str
    server: dict[str, Any]
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    warnings: tuple[str, ...] = ()


def import_server(
    name: str, config: Any, *, taken: Collection[str] = (), secrets: Collection[str] = ()
) -> ImportedServer:
    """Convert a server entry of a client.

    The new server name is not in `taken`, and the names of its secrets are not in `secrets`.

    Raises:
        UnsupportedServer: OneTool cannot represent the entry.
    """
    if not isinstance(config, Mapping):
        raise UnsupportedServer("it is not an object")
    tool_filter = _tool_filter(config)
    config = {key: value for key, value in config.items() if value not in EMPTY}
    _check_transport(_text(config.get("type", TRANSPORTS[0]), "type"))
    server_name = _unused_name(re.sub(r"[^A-Za-z0-9_]", "_", safe_name(name)), taken)
    collector = _SecretCollector(server_name, secrets)
    urls = [config[key] for key in URL_KEYS if key in config]
    if len(urls) + ("command" in config) != 1:
        raise UnsupportedServer("it needs either a command or one URL")
    _check_keys(config, (*URL_KEYS, *HEADER_KEYS) if urls else COMMAND_KEYS)
    server = _http_server(urls[0], config, collector) if urls else _stdio_server(config, collector)
    server = {key: value for key, value in server.items() if value not in EMPTY} | tool_filter
    if config.get("disabled") is True or config.get("enabled") is False:
        server["enabled"] = False
    return ImportedServer(
        name=server_name,
        server=server,
        secrets=collector.secrets,
        warnings=tuple(import_warnings(server)),
    )


def move_secrets_out(
    name: str,
    server: Mapping[str, Any],
    taken: Collection[str],
    *,
    also: Callable[[str], bool] = lambda value: False,
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings of a server with probable secrets in `env` and `headers` replaced, and the secrets.

    Values that refer to secrets, `${NAME}`, are unchanged. New names of secrets are not in `taken`.

    also: which other values are replaced.
    """
    collector, moved = _SecretCollector(name, taken), dict(server)
    for key in ("env", "headers"):
        if isinstance(values := server.get(key), Mapping):
            moved[key] = {
                field: collector.move(field, value)
                if isinstance(value, str) and also(value)
                else collector.replace(field, value)
                for field, value in values.items()
            }
    return moved, collector.secrets


def import_warnings(server: Mapping[str, Any]) -> Iterator[str]:
    """Yield a warning for each probable secret that cannot be moved out of an entry, without its value."""
    for name in secret_arguments(server.get("args", ())):
        yield f"its argument {name} stays readable in onetool.yaml"
    url = server.get("url", "")
    if name := secret_name_in(url):
        yield f"{name} in its url stays readable in onetool.yaml"
    if USERINFO.search(url):
        yield "the login in its url stays readable in onetool.yaml"


def _check_transport(transport: str) -> None:
    if transport == SSE:
        raise UnsupportedServer("it uses SSE, which MCP has deprecated. Use its streamable HTTP URL")
    if re.sub(r"[-_]", "", transport).lower() not in TRANSPORTS:
        raise UnsupportedServer(f"its type {transport!r} is not supported. Valid: stdio, http")


def _check_keys(config: Mapping[str, Any], supported: Collection[str]) -> None:
    """Reject unsupported keys: without its working directory or key, the server would behave differently."""
    if unsupported := [key for key in config if key not in (*supported, *COMMON_KEYS)]:
        raise UnsupportedServer(
            f"OneTool has no setting for its {unsupported[0]!r}. Add it manually: onetool servers add"
        )


def _http_server(url: Any, config: Mapping[str, Any], collector: "_SecretCollector") -> dict[str, Any]:
    headers: dict[str, str] = {}
    for key in HEADER_KEYS:
        headers |= collector.extract(config.get(key, {}), "headers")
    return {"url": _text(url, "url"), "headers": headers}


def _stdio_server(config: Mapping[str, Any], collector: "_SecretCollector") -> dict[str, Any]:
    return {
        "command": _text(config["command"], "command"),
        "args": _texts(config.get("args", []), "args"),
        "env": collector.extract(config.get("env", {}), "env"),
        "cwd": _text(config.get("cwd", ""), "cwd"),
    }


def _tool_filter(config: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the included and excluded tools; an empty include list excludes all tools."""
    include_keys = [key for key in INCLUDE_KEYS if config.get(key) is not None]
    included = [name for key in include_keys for name in _texts(config[key], key)]
    excluded = [name for key in EXCLUDE_KEYS for name in _texts(config.get(key) or [], key)]
    return ({"include": included} if include_keys else {}) | ({"exclude": excluded} if excluded else {})


class _SecretCollector:
    """Replaces secret values by references and collects the values."""

    def __init__(self, server: str, taken: Collection[str]) -> None:
        self._server, self._taken = server, set(taken)
        self.secrets: dict[str, str] = {}

    def extract(self, values: Any, key: str) -> dict[str, str]:
        """Return the values of an object with secrets replaced by `${NAME}`."""
        if not isinstance(values, Mapping):
            raise UnsupportedServer(f"its {key} is not an object")
        return {str(name): self.replace(str(name), _text(value, key)) for name, value in values.items()}

    def replace(self, name: str, value: Any) -> Any:
        """Return a reference instead of a probable secret, and any other value unchanged."""
        if not isinstance(value, str) or "${" in value or not is_probably_secret(name, value):
            return value
        return self.move(name, value)

    def move(self, name: str, value: str) -> str:
        """Return a reference instead of a value, unless it consists of references and a scheme."""
        if REFERENCES.fullmatch(value):
            return value
        secret = _unused_name(re.sub(r"\W", "_", f"{self._server}_{name}").upper(), self._taken)
        self._taken.add(secret)
        self.secrets[secret] = value
        return f"${{{secret}}}"


def _unused_name(name: str, taken: Collection[str]) -> str:
    number, candidate = 2, name
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    return candidate


def _text(value: Any, key: str) -> str:
    if isinstance(value, bool | int | float):
        value = str(value).lower() if isinstance(value, bool) else str(value)
    if not isinstance(value, str):
        raise UnsupportedServer(f"its {key} contains a value that is not a string")
    if "${" in value:
        raise UnsupportedServer(f"its {key} contains a ${{...}} that only its client can resolve")
    return value


def _texts(values: Any, key: str) -> list[str]:
    if not isinstance(values, list):
        raise UnsupportedServer(f"its {key} is not a list")
    return [_text(value, key) for value in values]

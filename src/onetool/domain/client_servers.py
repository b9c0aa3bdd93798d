"""A server as an MCP client's settings describe it, taken over into ours; what looks secret is set apart."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .manifest import safe_name
from .secrecy import USERINFO, looks_secret, secret_arguments, secret_name_in

CLIENTS = ("claude", "cursor", "vscode", "codex")
"""Programs whose settings are known."""
URLS, HEADERS = ("url", "serverUrl", "httpUrl"), ("headers", "http_headers")
PROGRAM = ("command", "args", "env")
INCLUDES, EXCLUDES = ("enabled_tools", "enabledTools"), ("disabled_tools", "disabledTools")
ABOUT = ("type", "enabled", "disabled", "description", "name", "icon", "gallery", "version")
PATIENCE = ("timeout", "startup_timeout_sec", "startup_timeout_ms", "tool_timeout_sec")
UNASKED = ("alwaysAllow", "autoApprove")
ANYWHERE = (*INCLUDES, *EXCLUDES, *ABOUT, *PATIENCE, *UNASKED)
"""Keys that any server may have; those that are about the client alone are left to it."""
EMPTY: tuple[Any, ...] = (None, "", [], {})
OLD_TRANSPORT, TRANSPORTS = "sse", ("stdio", "http", "streamablehttp")


class NotAdopted(Exception):
    """A server that has to be written by hand; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """An entry for our settings, the secrets that it names, and what its owner should know of it."""

    name: str
    server: dict[str, Any]
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()


def adopt(name: str, said: Any, *, taken: Collection[str] = (), secrets: Collection[str] = ()) -> Adopted:
    """Make an entry of a client's; its name and those of its secrets are not among those taken.

    Raises NotAdopted.
    """
    if not isinstance(said, Mapping):
        raise NotAdopted("it is not a map")
    choice = _choice(said)
    said = {key: value for key, value in said.items() if value not in EMPTY}
    _check_transport(_text(said.get("type", TRANSPORTS[0]), "type"))
    called = _free(re.sub(r"[^A-Za-z0-9_]", "_", safe_name(name)), taken)
    vault = _Vault(called, secrets)
    urls = [said[key] for key in URLS if key in said]
    if len(urls) + ("command" in said) != 1:
        raise NotAdopted("it has neither a command nor a URL, or both")
    _check_keys(said, (*URLS, *HEADERS) if urls else PROGRAM)
    server = _address(urls[0], said, vault) if urls else _program(said, vault)
    server = {key: value for key, value in server.items() if value not in EMPTY} | choice
    if said.get("disabled") is True or said.get("enabled") is False:
        server["enabled"] = False
    return Adopted(name=called, server=server, secrets=vault.secrets, notes=tuple(notes_on(server)))


def notes_on(server: Mapping[str, Any]) -> Iterator[str]:
    """Say what of an entry looks secret and cannot be set apart, without repeating it."""
    for name in secret_arguments(server.get("args", ())):
        yield f"its argument {name} stays readable in onetool.yaml"
    url = server.get("url", "")
    if name := secret_name_in(url):
        yield f"{name} in its url stays readable in onetool.yaml"
    if USERINFO.search(url):
        yield "the login in its url stays readable in onetool.yaml"


def _check_transport(said: str) -> None:
    if said == OLD_TRANSPORT:
        raise NotAdopted("it is served over SSE, which MCP has given up; use its streamable HTTP address")
    if re.sub(r"[-_]", "", said).lower() not in TRANSPORTS:
        raise NotAdopted(f"its type {said!r} is not one that OneTool speaks. Valid: stdio, http")


def _check_keys(said: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse what would be lost: a server without its directory or its key is another server."""
    if lost := [key for key in said if key not in (*known, *ANYWHERE)]:
        raise NotAdopted(f"OneTool has no setting for its {lost[0]!r}. Add it by hand: onetool servers add")


def _address(url: Any, said: Mapping[str, Any], vault: "_Vault") -> dict[str, Any]:
    headers: dict[str, str] = {}
    for key in HEADERS:
        headers |= vault.put(said.get(key, {}), "headers")
    return {"url": _text(url, "url"), "headers": headers}


def _program(said: Mapping[str, Any], vault: "_Vault") -> dict[str, Any]:
    return {
        "command": _text(said["command"], "command"),
        "args": _texts(said.get("args", []), "args"),
        "env": vault.put(said.get("env", {}), "env"),
    }


def _choice(said: Mapping[str, Any]) -> dict[str, list[str]]:
    """Which tools are shown; an empty list of those that are shows none."""
    given = [key for key in INCLUDES if said.get(key) is not None]
    shown = [name for key in given for name in _texts(said[key], key)]
    hidden = [name for key in EXCLUDES for name in _texts(said.get(key) or [], key)]
    return ({"include": shown} if given else {}) | ({"exclude": hidden} if hidden else {})


class _Vault:
    """Takes secret values out of a map and leaves their names."""

    def __init__(self, server: str, taken: Collection[str]) -> None:
        self._server, self._taken = server, set(taken)
        self.secrets: dict[str, str] = {}

    def put(self, values: Any, where: str) -> dict[str, str]:
        if not isinstance(values, Mapping):
            raise NotAdopted(f"its {where} are not a map")
        return {str(key): self._kept(str(key), _text(value, where)) for key, value in values.items()}

    def _kept(self, key: str, value: str) -> str:
        if not looks_secret(key, value):
            return value
        name = _free(re.sub(r"\W", "_", f"{self._server}_{key}").upper(), self._taken)
        self._taken.add(name)
        self.secrets[name] = value
        return f"${{{name}}}"


def _free(name: str, taken: Collection[str]) -> str:
    number, found = 2, name
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    return found


def _text(value: Any, where: str) -> str:
    if isinstance(value, bool | int | float):
        value = str(value).lower() if isinstance(value, bool) else str(value)
    if not isinstance(value, str):
        raise NotAdopted(f"its {where} hold something that is no text")
    if "${" in value:
        raise NotAdopted(f"its {where} hold a ${{...}} that only its client can fill in")
    return value


def _texts(values: Any, where: str) -> list[str]:
    if not isinstance(values, list):
        raise NotAdopted(f"its {where} are not a list")
    return [_text(value, where) for value in values]

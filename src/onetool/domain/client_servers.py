"""A server as an MCP client's settings describe it, taken over into ours; what looks secret is set apart."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from .manifest import safe_name

SECRET = re.compile(
    r"token|key|secret|passw|pwd|auth|credential|cookie|bearer|dsn|signature|private", re.IGNORECASE
)
"""Names whose values nobody else should read."""
HARMLESS = re.compile(r"[a-z]{2,10}://[^@]*|[/.~][^ ]*|\d{1,6}|true|false|.{0,3}", re.IGNORECASE)
"""Values that are no secrets, whatever they are called: places, numbers, switches."""
URLS, HEADERS = ("url", "serverUrl", "httpUrl"), ("headers", "http_headers")
OLD_TRANSPORT = "sse"


class NotAdopted(Exception):
    """A server that has to be written by hand; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """An entry for our settings, and the secrets that it names."""

    name: str
    server: dict[str, Any]
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


def adopt(name: str, said: Any, *, taken: Collection[str] = (), secrets: Collection[str] = ()) -> Adopted:
    """Make an entry of a client's; its name and those of its secrets are not among those taken.

    Raises NotAdopted.
    """
    if not isinstance(said, Mapping):
        raise NotAdopted("it is not a map")
    if said.get("type") == OLD_TRANSPORT:
        raise NotAdopted("it is served over SSE, which MCP has given up; use its streamable HTTP address")
    called = _free(re.sub(r"[^A-Za-z0-9_]", "_", safe_name(name)), taken)
    vault = _Vault(called, secrets)
    url = next((said[key] for key in URLS if key in said), None)
    if (url is None) == ("command" not in said):
        raise NotAdopted("it has neither a command nor a URL, or both")
    server: dict[str, Any] = {}
    if url is not None:
        server["url"] = _text(url, "url")
        headers: Any = next((said[key] for key in HEADERS if key in said), {})
        server["headers"] = vault.put(headers, "headers")
    else:
        server["command"] = _text(said["command"], "command")
        server["args"] = [_text(word, "args") for word in _list(said.get("args", []))]
        server["env"] = vault.put(said.get("env", {}), "env")
    if said.get("disabled") is True or said.get("enabled") is False:
        server["enabled"] = False
    kept = {key: value for key, value in server.items() if value not in ({}, [])}
    return Adopted(name=called, server=kept, secrets=vault.secrets)


def looks_secret(name: str, value: str) -> bool:
    """Whether a value belongs among the secrets."""
    return bool(SECRET.search(name)) and not HARMLESS.fullmatch(value)


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


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise NotAdopted("its args are not a list")
    return value

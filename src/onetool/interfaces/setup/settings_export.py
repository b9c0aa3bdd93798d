"""The settings of a user without secrets and without what belongs to one machine."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onetool.domain.secrets.detection import (
    USERINFO,
    is_probably_secret,
    redact_server,
    replace_secret_arguments,
    secret_name_in,
)
from onetool.domain.secrets.token_forms import known_tokens, random_strings, without_tokens
from onetool.domain.servers.client_config import move_secrets_out

from .contents import SETUP_KEYS

REMOVED = "REMOVED"
"""Takes the place of a secret in an argument, where a server cannot refer to one by name."""
REFERENCE = re.compile(r"\$\{([A-Za-z0-9_][A-Za-z0-9_.-]*)\}")
"""The name of a secret in a text."""
MACHINE_PATH = re.compile(r"(?:^|[=:,\s])(~/|/(?:home|Users|root|tmp|mnt|media|var/folders)/|[A-Za-z]:[\\/])")
"""A path that another machine probably does not have."""


@dataclass(slots=True)
class CleanSettings:
    """Collects settings that can be shared."""

    taken: set[str]
    """The names of the user's secrets."""
    settings: dict[str, Any] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    """Names for the secrets that were written out, and where they were. The values are not stored."""
    removed: list[str] = field(default_factory=list)
    has_values: bool = False
    """Whether values of variables and headers are included that do not look like secrets."""

    def add(self, raw: Mapping[str, Any]) -> None:
        """Add the settings of a file."""
        for key, value in raw.items():
            if key in SETUP_KEYS and value not in (None, {}, []):
                self.settings[key] = self._clean(key, value)

    def _clean(self, key: str, value: Any) -> Any:
        if key == "servers":
            return {name: self._server(str(name), dict(server)) for name, server in value.items()}
        if key == "packs":
            return self._without_secrets(value, "packs")
        if key == "providers":
            return {
                name: {
                    field: self._url(f"providers.{name}.{field}", item) if field == "base_url" else item
                    for field, item in provider.items()
                }
                for name, provider in value.items()
            }
        if key == "registry":
            return {field: self._url(f"registry.{field}", item) for field, item in value.items()}
        return self._url(key, value) if key == "docs_base_url" else self._without_tokens(value, key)

    def _server(self, name: str, server: dict[str, Any]) -> dict[str, Any]:
        where, before = f"servers.{name}", len(self.removed)
        server = self._move(name, server, where)
        if isinstance(tools := server.get("tools"), Mapping):
            server["tools"] = {
                tool: self._override(f"{name}_{tool}", dict(override), f"{where}.tools.{tool}")
                for tool, override in tools.items()
            }
        if "url" in server:
            server["url"] = self._url(f"{where}.url", server["url"])
        args = [str(arg) for arg in server.get("args") or ()]
        cleaned = [without_tokens(arg, REMOVED) for arg in replace_secret_arguments(args, REMOVED)]
        if cleaned != args:
            server["args"] = cleaned
            numbers = [
                number for number, pair in enumerate(zip(args, cleaned, strict=True), 1) if pair[0] != pair[1]
            ]
            self.removed += [f"{where}.args: argument {number}" for number in numbers]
        if len(self.removed) > before:  # it cannot work until the user adds what was removed
            server["enabled"] = False
        return server

    def _move(self, name: str, values: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Replace the values of variables and headers by references: no name says what is in them."""
        cleaned, secrets = move_secrets_out(
            name, values, self.taken, also=has_token if self.has_values else lambda value: True
        )
        self.taken |= secrets.keys()
        self.moved |= dict.fromkeys(secrets, where)
        return cleaned

    def _override(self, name: str, override: dict[str, Any], where: str) -> dict[str, Any]:
        if override.get("fixed"):
            fixed, secrets = move_secrets_out(name, {"env": override["fixed"]}, self.taken, also=has_token)
            self.taken |= secrets.keys()
            self.moved |= dict.fromkeys(secrets, where)
            override["fixed"] = self._without_tokens(fixed["env"], f"{where}.fixed")
        if override.get("defaults"):
            override["defaults"] = self._without_secrets(override["defaults"], f"{where}.defaults")
        return override

    def _url(self, where: str, value: Any) -> Any:
        if isinstance(value, str) and (USERINFO.search(value) or secret_name_in(value)):
            self.removed.append(where)
            value = redact_server(value, None, ())
        return self._without_tokens(value, where)

    def _without_tokens(self, value: Any, where: str) -> Any:
        """Return a value without the tokens and random strings in its texts, which stay otherwise."""
        if isinstance(value, Mapping):
            return {name: self._without_tokens(item, f"{where}.{name}") for name, item in value.items()}
        if isinstance(value, list):
            return [self._without_tokens(item, where) for item in value]
        if isinstance(value, str) and has_token(value):
            self.removed.append(where)
            return without_tokens(value, REMOVED)
        return value

    def _without_secrets(self, value: Any, where: str, key: str = "") -> Any:
        """Return a free-form value without the texts that look like secrets."""
        if isinstance(value, Mapping):
            cleaned = {
                name: self._without_secrets(item, f"{where}.{name}", str(name))
                for name, item in value.items()
            }
            return {name: item for name, item in cleaned.items() if item is not _SECRET}
        if isinstance(value, list):
            items = [self._without_secrets(item, where, key) for item in value]
            return [item for item in items if item is not _SECRET]
        if isinstance(value, str) and _has_secret(key, value):
            self.removed.append(where)
            return _SECRET
        return value


_SECRET: Any = object()


def has_token(text: str) -> bool:
    """Whether a text contains a token of a known service, or a random string."""
    return any(known_tokens(text)) or any(random_strings(text))


def _has_secret(key: str, value: str) -> bool:
    """Whether a text contains a secret that is written out, beside those that it refers to by name."""
    if has_token(value):
        return True
    if "${" not in value:
        return is_probably_secret(key, value)
    return is_probably_secret("", REFERENCE.sub("", value))


def machine_paths(value: Any, where: str = "") -> Iterator[str]:
    """Yield where settings contain paths that another machine probably does not have, with the path."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from machine_paths(item, f"{where}.{key}" if where else str(key))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from machine_paths(item, where)
    elif isinstance(value, str) and MACHINE_PATH.search(value):
        yield f"{where}: {value}"

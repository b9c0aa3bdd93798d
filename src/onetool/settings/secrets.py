"""Secrets from `secrets.yaml`, a file that only its owner can read. No repr shows a value."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onetool.domain.chat.providers import PROVIDERS
from onetool.domain.errors import SettingsError
from onetool.files.own_files import check_owner

FORMAT = "Write NAME: value, or NAME: {value: ..., hosts: [...]}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A secret value and the hosts it may be sent to; None means any host."""

    name: str
    value: str = field(repr=False)
    hosts: tuple[str, ...] | None = None


class Secrets(Mapping[str, Secret]):
    """Secrets by name. The repr shows only names."""

    def __init__(self, secrets: Mapping[str, Secret] | None = None, redact: Iterable[str] = ()) -> None:
        """Store secrets. `redact`: further values to redact that are not available by name."""
        self._secrets = dict(secrets or {})
        self.redacted = (*(secret.value for secret in self._secrets.values()), *redact)
        """Every value to redact."""

    def __getitem__(self, name: str) -> Secret:
        return self._secrets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._secrets)

    def __len__(self) -> int:
        return len(self._secrets)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._secrets)})"


def load_secrets(file: Path, env: Mapping[str, str]) -> Secrets:
    """Read the secrets file. A missing file contains no secrets.

    Raises:
        SettingsError: Other users can read the file, or it is not a map of names to values. The message
            quotes nothing from the file except names of secrets.
    """
    keys = [env[name] for provider in PROVIDERS.values() for name in provider.keys if env.get(name)]
    try:
        with file.open("rb") as stream:
            _check_private(file, os.fstat(stream.fileno()))
            content = stream.read()
    except FileNotFoundError:
        return Secrets(redact=keys)
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}.") from None
    from onetool.files.safe_yaml import parse_yaml

    document = parse_yaml(file, content, quote=False)
    if document.value is None:
        return Secrets(redact=keys)
    if not isinstance(document.value, dict):
        raise SettingsError(f"{file}:1: not a map of secrets. {FORMAT}")
    secrets = {
        name: _secret(document.location((name,)), name, raw, env) for name, raw in document.value.items()
    }
    return Secrets(secrets, redact=keys)


def _check_private(file: Path, status: os.stat_result) -> None:
    if os.name == "nt":  # pragma: no cover - Windows has no mode bits
        return
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        raise SettingsError(
            f"{file}: other users can read this file (mode {mode:04o}). Run: chmod 600 {file}"
        )
    check_owner(file, status)


def _secret(location: str, name: Any, raw: Any, env: Mapping[str, str]) -> Secret:
    entry = raw if isinstance(raw, dict) else {"value": raw}
    value, hosts = entry.get("value"), entry.get("hosts")
    is_list = hosts is None or (isinstance(hosts, list) and all(isinstance(host, str) for host in hosts))
    if not (
        isinstance(name, str) and isinstance(value, str) and is_list and set(entry) <= {"value", "hosts"}
    ):
        raise SettingsError(f"{location}: not a secret. {FORMAT} Put numbers in quotes.")
    return Secret(
        name=name, value=_expand(location, value, env), hosts=None if hosts is None else tuple(hosts)
    )


def _expand(location: str, value: str, env: Mapping[str, str]) -> str:
    """Replace a value that is exactly `${NAME}` with that environment variable."""
    if not (value.startswith("${") and value.endswith("}")):
        return value
    variable = value[2:-1]
    if variable not in env:
        raise SettingsError(f"{location}: environment variable {variable!r} is not set.")
    return env[variable]

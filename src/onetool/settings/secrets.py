"""Secrets: their own file, readable by its owner alone, and values that no repr shows."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onetool.domain.errors import SettingsError
from onetool.domain.providers import PROVIDERS
from onetool.domain.redaction import Redactor

SHAPE = "Write NAME: value, or NAME: {value: ..., hosts: [...]}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A value, and the hosts it may be sent to; None for any."""

    name: str
    value: str = field(repr=False)
    hosts: tuple[str, ...] | None = None


class Secrets(Mapping[str, Secret]):
    """Secrets by name; shows names only."""

    def __init__(self, secrets: Mapping[str, Secret] | None = None, also: Iterable[str] = ()) -> None:
        """Hold secrets; `also`: values that are shown nowhere, though nobody can ask for them by name."""
        self._secrets = dict(secrets or {})
        self.redactor = Redactor([*(secret.value for secret in self._secrets.values()), *also])

    def __getitem__(self, name: str) -> Secret:
        return self._secrets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._secrets)

    def __len__(self) -> int:
        return len(self._secrets)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._secrets)})"


def load_secrets(file: Path, env: Mapping[str, str]) -> Secrets:
    """Read the secrets file; a file that is not there holds none.

    Raises SettingsError when others can read it, or when it is not a map of names to values. No
    message repeats a word of the file but names of secrets.
    """
    keys = [env[name] for known in PROVIDERS.values() for name in known.keys if env.get(name)]
    try:
        with file.open("rb") as stream:
            _check_private(file, os.fstat(stream.fileno()))
            content = stream.read()
    except FileNotFoundError:
        return Secrets(also=keys)
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}.") from None
    from .yaml_file import parse_yaml

    document = parse_yaml(file, content, quote=False)
    if document.value is None:
        return Secrets(also=keys)
    if not isinstance(document.value, dict):
        raise SettingsError(f"{file}:1: not a map of secrets. {SHAPE}")
    found = {name: _secret(document.place((name,)), name, raw, env) for name, raw in document.value.items()}
    return Secrets(found, also=keys)


def _check_private(file: Path, status: os.stat_result) -> None:
    if os.name == "nt":  # pragma: no cover - permissions there are not mode bits
        return
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        raise SettingsError(f"{file}: others can read it (mode {mode:04o}). Run: chmod 600 {file}")
    if status.st_uid not in (os.getuid(), 0):
        raise SettingsError(f"{file}: belongs to another user. Make it your own.")


def _secret(place: str, name: Any, raw: Any, env: Mapping[str, str]) -> Secret:
    entry = raw if isinstance(raw, dict) else {"value": raw}
    value, hosts = entry.get("value"), entry.get("hosts")
    is_list = hosts is None or (isinstance(hosts, list) and all(isinstance(host, str) for host in hosts))
    if not (
        isinstance(name, str) and isinstance(value, str) and is_list and set(entry) <= {"value", "hosts"}
    ):
        raise SettingsError(f"{place}: not a secret. {SHAPE} Put numbers in quotes.")
    return Secret(name=name, value=_expand(place, value, env), hosts=None if hosts is None else tuple(hosts))


def _expand(place: str, value: str, env: Mapping[str, str]) -> str:
    """`${NAME}` as the whole value stands for a variable of the environment."""
    if not (value.startswith("${") and value.endswith("}")):
        return value
    variable = value[2:-1]
    if variable not in env:
        raise SettingsError(f"{place}: the environment has no variable {variable!r}.")
    return env[variable]

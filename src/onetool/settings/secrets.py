"""Secrets that `secrets.yaml` names, a file that only its owner can read. No repr shows a value.

The values are in the file, in the key store of the system, or printed by a command (`secrets.backend`).
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onetool.domain.chat.providers import PROVIDERS
from onetool.domain.errors import SettingsError
from onetool.domain.secrets.secret import Secret
from onetool.files.own_files import check_owner

from .key_store import KeyStore
from .schema import SecretsSettings
from .secret_command import SecretCommand

FORMAT = "Write NAME: value, or NAME: {value: ..., hosts: [...]}."
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""Names of secrets that commands write, or whose values are not in the file: no options and no paths."""
VALID_NAME = "Use letters, digits, _, . and -, and none of the last two at the start."


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretEntry:
    """An entry of the secrets file."""

    name: str
    location: str
    """The file and the line."""
    value: str | None = field(repr=False)
    """None: the value is not in the file."""
    hosts: tuple[str, ...] | None = None

    @property
    def variable(self) -> str | None:
        """The environment variable with the value, if the entry is exactly `${NAME}`."""
        return _variable(self.value or "")


class Secrets(Mapping[str, Secret]):
    """Secrets by name. The repr shows only names."""

    def __init__(
        self,
        secrets: Mapping[str, Secret] | None = None,
        redact: Iterable[str] = (),
        unavailable: Mapping[str, str] | None = None,
        place: str = "secrets.yaml",
        add_with: str = "with: onetool secrets set NAME",
    ) -> None:
        """Store secrets.

        redact: further values to redact that are not available by name.
        place: where they are, for messages: a file, or a route.
        add_with: how the secret NAME is added, for messages.
        """
        self.place, self._add_with = place, add_with
        self._secrets = dict(secrets or {})
        self.unavailable = dict(unavailable or {})
        """Secrets without a value because a command failed, with the reason."""
        self.redacted = (*(secret.value for secret in self._secrets.values()), *redact)
        """Every value to redact."""

    @property
    def names(self) -> frozenset[str]:
        """All names, also those of secrets that are unavailable."""
        return frozenset(self._secrets) | frozenset(self.unavailable)

    def how_to_add(self, name: str) -> str:
        """Return what follows "Add it" in a message about a missing secret."""
        return self._add_with.replace("NAME", name)

    def __getitem__(self, name: str) -> Secret:
        return self._secrets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._secrets)

    def __len__(self) -> int:
        return len(self._secrets)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._secrets)})"


def load_secrets(file: Path, env: Mapping[str, str], settings: SecretsSettings | None = None) -> Secrets:
    """Read the secrets file, and the values that are elsewhere. It blocks. A missing file has no secrets.

    Raises:
        SettingsError: Other users can read the file, it is not a map of names to values, a value is not in
            the key store, or a command cannot be started. The message quotes nothing from the file except
            names of secrets.
    """
    settings = settings or SecretsSettings()
    keys = [env[name] for provider in PROVIDERS.values() for name in provider.keys if env.get(name)]
    entries = read_entries(file)
    elsewhere = [entry for entry in entries if entry.value is None]
    values = {entry.name: _expand(entry, env) for entry in entries if entry.value is not None}
    found, unavailable = _read_elsewhere(elsewhere, settings, file.parent) if elsewhere else ({}, {})
    values |= found
    secrets = {
        entry.name: Secret(name=entry.name, value=values[entry.name], hosts=entry.hosts)
        for entry in entries
        if entry.name in values
    }
    return Secrets(secrets, redact=keys, unavailable=unavailable)


def read_entries(file: Path) -> tuple[SecretEntry, ...]:
    """Return the entries of a secrets file, in order. A missing file has none.

    Raises:
        SettingsError: Other users can read the file, or it is not a map of secrets.
    """
    try:
        with file.open("rb") as stream:
            _check_private(file, os.fstat(stream.fileno()))
            content = stream.read()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}.") from None
    from onetool.files.safe_yaml import parse_yaml

    document = parse_yaml(file, content, quote=False)
    if document.value is None:
        return ()
    if not isinstance(document.value, dict):
        raise SettingsError(f"{file}:1: not a map of secrets. {FORMAT}")
    return tuple(_entry(document.location((name,)), name, raw) for name, raw in document.value.items())


def _check_private(file: Path, status: os.stat_result) -> None:
    if os.name == "nt":  # pragma: no cover - Windows has no mode bits
        return
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        raise SettingsError(
            f"{file}: other users can read this file (mode {mode:04o}). Run: chmod 600 {file}"
        )
    check_owner(file, status)


def _entry(location: str, name: Any, raw: Any) -> SecretEntry:
    entry = raw if isinstance(raw, dict) else {"value": raw}
    value, hosts = entry.get("value"), entry.get("hosts")
    is_list = hosts is None or (isinstance(hosts, list) and all(isinstance(host, str) for host in hosts))
    is_text = isinstance(name, str) and isinstance(value, str | None)
    if not (is_text and is_list and set(entry) <= {"value", "hosts"}):
        raise _not_a_secret(location)
    return SecretEntry(
        name=name, location=location, value=value, hosts=None if hosts is None else tuple(hosts)
    )


def _not_a_secret(location: str) -> SettingsError:
    return SettingsError(f"{location}: not a secret. {FORMAT} Put numbers in quotes.")


def _expand(entry: SecretEntry, env: Mapping[str, str]) -> str:
    """Return the value, or that of the environment variable that it refers to."""
    if entry.variable is None:
        return entry.value or ""
    if entry.variable not in env:
        raise SettingsError(f"{entry.location}: environment variable {entry.variable!r} is not set.")
    return env[entry.variable]


def _read_elsewhere(
    entries: Sequence[SecretEntry], settings: SecretsSettings, directory: Path
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the values that are not in the file, and why others are unavailable."""
    if settings.backend == "file":
        raise _not_a_secret(entries[0].location)
    names = [entry.name for entry in entries]
    for entry in entries:
        check_name(entry.name, f"{entry.location}: ")
    if settings.backend == "command":
        command = SecretCommand(settings.command, directory, settings.timeout_s)
        outcomes = command.read(names)
        values = {name: value for name, value in outcomes.items() if isinstance(value, str)}
        return values, {name: str(why) for name, why in outcomes.items() if not isinstance(why, str)}
    values = KeyStore(settings.timeout_s).read(names)
    if missing := [entry for entry in entries if entry.name not in values]:
        raise SettingsError("\n".join(_missing_message(entry) for entry in missing))
    return values, {}


def check_name(name: str, location: str = "") -> None:
    """Check the name of a secret.

    Raises:
        SettingsError: It could be an option of a command or a path.
    """
    if not NAME.fullmatch(name):
        raise SettingsError(f"{location}{name!r} is not a name of a secret. {VALID_NAME}")


def check_variable(name: str, value: str, env: Mapping[str, str]) -> None:
    """Check that a value does not stand for an environment variable that is not set.

    Raises:
        SettingsError: It does, so no process could start with it.
    """
    variable = _variable(value)
    if variable is not None and variable not in env:
        raise SettingsError(
            f"The value of {name} stands for the environment variable {variable[:100]!r}, which is not set. "
            "Set it first, or enter the value itself."
        )


def _variable(value: str) -> str | None:
    return value[2:-1] if value.startswith("${") and value.endswith("}") else None


def _missing_message(entry: SecretEntry) -> str:
    return (
        f"{entry.location}: secret {entry.name!r} has no value in the key store. "
        f"Run: onetool secrets set {entry.name}"
    )

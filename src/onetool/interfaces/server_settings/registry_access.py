"""The configured registry, its entries, and the records of servers that were installed from it."""

import time
from collections.abc import Callable

from onetool.domain.servers.registry_entry import RegistryEntry
from onetool.files.safe_yaml import parse_yaml
from onetool.registry.answer_cache import AnswerCache
from onetool.registry.client import OfflineNote, RegistryClient
from onetool.registry.install_records import InstallRecords
from onetool.settings.configuration import Configuration
from onetool.settings.documents import SECRETS_FILE
from onetool.settings.paths import Paths


class InstallationRefused(Exception):
    """A server of the registry cannot be installed or updated. The message says why."""


def open_client(configuration: Configuration, on_offline: Callable[[OfflineNote], None]) -> RegistryClient:
    """Return a client of the configured registry. Its methods block.

    Raises:
        RegistryError: The base URL is not allowed.
    """
    cache = AnswerCache(configuration.paths.state / "registry")
    base_url = configuration.settings.registry.base_url
    return RegistryClient(base_url, cache, now=time.time, on_offline=on_offline)


def install_records(paths: Paths) -> InstallRecords:
    """Return the records of installed servers."""
    return InstallRecords(paths.data / "registry")


def stored_secrets(paths: Paths) -> frozenset[str]:
    """Return the names of the secrets in the user's file, also of those not loaded yet. It blocks.

    Raises:
        SettingsError: The file is not valid YAML.
    """
    file = paths.config / SECRETS_FILE
    try:
        value = parse_yaml(file, file.read_bytes(), quote=False).value
    except FileNotFoundError:
        return frozenset()
    return frozenset(value) if isinstance(value, dict) else frozenset()


def read_entry(client: RegistryClient, name: str, version: str) -> RegistryEntry:
    """Return an entry of the registry. It blocks.

    Raises:
        RegistryError: There is none.
        InstallationRefused: It was deleted.
    """
    entry = client.entry(name, version)
    if entry.status == "deleted":
        raise InstallationRefused(f"{entry.name} {entry.version} was deleted. {entry.status_message}")
    return entry

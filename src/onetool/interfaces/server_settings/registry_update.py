"""Updates of servers that were installed from the registry."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onetool.domain.errors import SettingsError
from onetool.domain.servers.registry_entry import RegistryEntry, is_older
from onetool.files.safe_yaml import parse_yaml
from onetool.registry.install_records import InstallRecord
from onetool.registry.package_digests import DigestUnavailable, PackageMismatch, package_digests
from onetool.settings.configuration import Configuration
from onetool.settings.documents import SETTINGS_FILE
from onetool.settings.paths import Paths
from onetool.settings.yaml_editor import add_entries, remove_entry

from .installation import SECTION, PlanChanged, PlannedInstallation, check_new_secrets
from .registry_access import InstallationRefused, install_records
from .settings_file import edit_settings


def read_installed(configuration: Configuration, server: str) -> InstallRecord | None:
    """Return the record of a server that still has the command or URL of its installation. It blocks.

    Raises:
        InstallationRefused: The server was changed in the settings, or its record cannot be read.
    """
    try:
        record = install_records(configuration.paths).read(server)
    except ValueError as error:
        raise InstallationRefused(str(error)) from None
    active = configuration.settings.servers[server]
    if record is not None and (active.command, list(active.args), active.url) != record.endpoint:
        raise InstallationRefused(
            "its command or URL was changed in the settings. Edit it there, or remove and install it again."
        )
    return record


def is_newer(entry: RegistryEntry, record: InstallRecord) -> bool:
    """Return whether an entry is another version than the installed one, and not an older one."""
    return entry.version != record.version and not is_older(entry.version, record.version)


def check_installed_package(record: InstallRecord) -> str:
    """Compare the digests of the installed version with those that its index publishes now. It blocks.

    Returns a remark for the user; empty if there is none.

    Raises:
        InstallationRefused: They differ, or cannot be compared.
    """
    if not record.digests:
        return ""
    package = f"{record.identifier} {record.package_version}"
    try:
        digests = package_digests(record.package(), os.environ)
    except PackageMismatch:
        return f"{package} was removed from its index."
    except DigestUnavailable as error:
        raise InstallationRefused(f"the installed package cannot be checked: {error}.") from None
    if digests != record.digests:
        raise InstallationRefused(
            f"the files of {package} have changed in the package index "
            "since you installed them. Do not trust this package: onetool servers remove"
        )
    return ""


def updated_entry(paths: Paths, server: str, planned: PlannedInstallation) -> dict[str, Any]:
    """Return the settings of a server after an update. It blocks.

    Raises:
        SettingsError: The server is not in the user's settings.
    """
    file = paths.config / SETTINGS_FILE
    return _merge_entry(file, file.read_bytes() if file.exists() else b"", server, planned.server)


def write_update(
    paths: Paths, server: str, planned: PlannedInstallation, reviewed: Mapping[str, Any] | None = None
) -> None:
    """Replace the command or URL of a server in the settings, and its record. It blocks.

    reviewed: the settings of the server that the user accepted, if they were shown.

    Raises:
        SettingsError: The settings cannot be changed.
        PlanChanged: The server was changed meanwhile, or a secret of the plan exists.
        TimeoutError: Another process holds the lock.
    """

    def change(file: Path, text: str) -> str:
        check_new_secrets(paths, planned)
        entry = _merge_entry(file, text.encode(), server, planned.server)
        if reviewed is not None and entry != reviewed:
            raise PlanChanged(f"The settings of server {server!r} were changed meanwhile.")
        return add_entries(file, remove_entry(file, text, SECTION, server), SECTION, {server: entry})

    edit_settings(paths, change, planned.secrets)
    install_records(paths).write(server, planned.record())


def _merge_entry(file: Path, content: bytes, server: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the command or URL and the variables, and keep every other setting of the server."""
    document = parse_yaml(file, content).value
    servers = document.get(SECTION) if isinstance(document, dict) else None
    if not isinstance(servers, dict) or server not in servers:
        raise SettingsError(f"{file}: {SECTION}: there is no {server!r}.")
    current = servers[server]
    merged = {key: {**(current.get(key) or {}), **settings.get(key, {})} for key in ("env", "headers")}
    kept = {key: value for key, value in current.items() if key not in ("command", "args", "url")}
    return dict(settings) | kept | {key: value for key, value in merged.items() if value}

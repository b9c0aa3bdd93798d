"""The installation of a server of the registry: what would be written, before anything is written."""

import json
import os
import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from onetool.domain.servers.registry_entry import RegistryEntry
from onetool.domain.servers.registry_inputs import UnsupportedEntry
from onetool.domain.servers.registry_launch import ServerLaunch, with_variable
from onetool.domain.servers.registry_packages import find_launch
from onetool.domain.text.suggestions import did_you_mean
from onetool.registry.install_records import InstallRecord
from onetool.registry.package_digests import DigestUnavailable, PackageMismatch, package_digests
from onetool.settings.documents import SECRETS_FILE
from onetool.settings.paths import Paths
from onetool.settings.validation import IDENTIFIER
from onetool.settings.yaml_editor import add_entries

from .path_grants import grant_paths
from .registry_access import InstallationRefused, install_records, stored_secrets
from .registry_values import ValueCollector
from .settings_file import edit_settings

SECTION = "servers"


class PlanChanged(Exception):
    """What would be written is not what the user reviewed."""


class UnknownInput(Exception):
    """A value was given for an input that the server does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPackage:
    """One way to use an entry of the registry, with the digests of its files."""

    entry: RegistryEntry
    launch: ServerLaunch
    digests: dict[str, str]
    digest_problem: str = ""
    """Why there are no digests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedInstallation:
    """What would be written if the user confirms."""

    package: ServerPackage
    server: dict[str, Any]
    """The entry for the settings."""
    values: dict[str, list[str]]
    secrets: dict[str, str] = field(repr=False)

    def record(self) -> InstallRecord:
        """Return the record to store with it."""
        entry, launch = self.package.entry, self.package.launch
        return InstallRecord(
            name=entry.name,
            version=entry.version,
            kind=launch.kind,
            identifier=launch.identifier,
            package_version=launch.version,
            values=self.values,
            server=self.server,
            digests=self.package.digests,
        )

    def digest(self, server: str, written: Mapping[str, Any]) -> str:
        """Return a hash of the settings of a server to write, and of its record. Secrets are references."""
        content = {"name": server, "settings": written, "record": asdict(self.record())}
        return sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def find_name_problem(name: str, servers: Collection[str], packs: Collection[str]) -> str:
    """Return why a new server cannot have this name; empty if it can."""
    if not re.fullmatch(IDENTIFIER, name):
        return f"{name!r} is not a Python identifier."
    if name in servers:
        return f"A server {name!r} already exists."
    return f"A pack {name!r} already exists." if name in packs else ""


def choose_package(entry: RegistryEntry, kind: str | None, names: Collection[str]) -> ServerPackage:
    """Return the package or URL to use. It blocks.

    names: inputs with a value. Those that the entry does not declare become environment variables.

    Raises:
        InstallationRefused: There is none that can be used, or its files are not those of the registry.
        UnknownInput: A server with a URL has no such input.
        UnsupportedEntry: A variable with such a name cannot be set.
    """
    try:
        launch = find_launch(entry, kind)
    except UnsupportedEntry as error:
        raise InstallationRefused(f"{entry.name} {entry.version} cannot be used: {error}.") from None
    launch = _add_variables(launch, names)
    if launch.kind == "remote":
        return ServerPackage(entry=entry, launch=launch, digests={})
    try:
        return ServerPackage(entry=entry, launch=launch, digests=package_digests(launch, os.environ))
    except PackageMismatch as error:
        raise InstallationRefused(str(error)) from None
    except DigestUnavailable as error:
        if launch.sha256:
            raise InstallationRefused(f"The hash of the package cannot be checked: {error}.") from None
        return ServerPackage(entry=entry, launch=launch, digests={}, digest_problem=str(error))


def plan_installation(package: ServerPackage, collector: ValueCollector) -> PlannedInstallation:
    """Return what would be written with the collected values. It blocks.

    Raises:
        InstallationRefused: The values give a command or a URL that is not allowed.
    """
    try:
        settings = package.launch.settings_entry(collector.values)
    except UnsupportedEntry as error:
        raise InstallationRefused(f"The server cannot be used: {error}.") from None
    grant_paths(settings, [text for texts in collector.values.values() for text in texts])
    return PlannedInstallation(
        package=package, server=settings, values=collector.values, secrets=collector.secrets
    )


def write_installation(paths: Paths, server: str, planned: PlannedInstallation) -> None:
    """Add the server to the settings, and store its secrets and its record. It blocks.

    Raises:
        SettingsError: The settings cannot be changed.
        PlanChanged: A secret of the plan exists meanwhile.
        TimeoutError: Another process holds the lock.
    """

    def change(file: Path, text: str) -> str:
        check_new_secrets(paths, planned)
        return add_entries(file, text, SECTION, {server: planned.server})

    edit_settings(paths, change, planned.secrets)
    install_records(paths).write(server, planned.record())


def check_new_secrets(paths: Paths, planned: PlannedInstallation) -> None:
    """Check that no secret of a plan replaces another one. It blocks.

    Raises:
        PlanChanged: There is one with the same name.
    """
    if taken := stored_secrets(paths) & planned.secrets.keys():
        raise PlanChanged(f"A secret {min(taken)!r} was added to {SECRETS_FILE} meanwhile. Try again.")


def format_command(server: Mapping[str, Any]) -> str:
    """Return the command as a shell would read it, or the URL."""
    if "url" in server:
        return str(server["url"])
    return shlex.join([server["command"], *server.get("args", ())])


def _add_variables(launch: ServerLaunch, names: Collection[str]) -> ServerLaunch:
    """Add variables that the user passes and the entry does not declare."""
    declared = {found.name for found in launch.inputs}
    for name in names:
        if name not in declared and launch.kind == "remote":
            raise UnknownInput(f"The server wants no {name!r}.{did_you_mean(name, declared)}")
        if name not in declared:
            launch = with_variable(launch, name)
    return launch

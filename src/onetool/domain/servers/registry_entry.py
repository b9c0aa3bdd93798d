"""Entries of the MCP registry: what a server is called, who publishes it and how it can be used."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onetool.domain.text.identifiers import safe_name
from onetool.domain.text.strings import escape_invisible

from .registry_inputs import UnsupportedEntry, mapping_field, object_list, shown_text, text_field

LATEST = "latest"
MAX_NAME, MAX_VERSION = 200, 255
SERVER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]*")
OFFICIAL = "io.modelcontextprotocol.registry/official"
REMOTE = "remote"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryEntry:
    """A version of a server. `packages` and `remotes` are validated when one of them is chosen."""

    name: str
    version: str
    description: str = ""
    repository: str = ""
    status: str = "active"
    status_message: str = ""
    packages: tuple[Mapping[str, Any], ...] = ()
    remotes: tuple[Mapping[str, Any], ...] = ()

    @property
    def publisher(self) -> str:
        """The namespace, whose owner the registry has verified."""
        return self.name.partition("/")[0]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of packages, and `remote` if the server has a URL."""
        kinds = [shown_text(package.get("registryType")) or "?" for package in self.packages]
        return tuple(dict.fromkeys([*kinds, *([REMOTE] if self.remotes else [])]))

    @property
    def pack(self) -> str:
        """The default name of the pack."""
        return safe_name(re.sub(r"[^A-Za-z0-9_]", "_", self.name.partition("/")[2]))


def check_name(name: str) -> str:
    """Return the name of a server.

    Raises:
        UnsupportedEntry: The name cannot be one of the registry.
    """
    if len(name) > MAX_NAME or not SERVER_NAME.fullmatch(name):
        shown = escape_invisible(name[:MAX_NAME])
        raise UnsupportedEntry(f"{shown!r} is not a name of the registry, such as 'io.github.owner/server'")
    return name


def check_version(version: str) -> str:
    """Return a version.

    Raises:
        UnsupportedEntry: The text cannot be a version.
    """
    if len(version) > MAX_VERSION or not VERSION.fullmatch(version):
        raise UnsupportedEntry(
            f"{escape_invisible(version[:MAX_VERSION])!r} is not a version, such as '1.2.3'"
        )
    return version


def parse_entry(raw: Any) -> RegistryEntry:
    """Read an entry as the registry returns it.

    Raises:
        UnsupportedEntry: A field is invalid.
    """
    if not isinstance(raw, Mapping):
        raise UnsupportedEntry("it is not an object")
    server = mapping_field(raw, "server")
    official = mapping_field(mapping_field(raw, "_meta"), OFFICIAL)
    return RegistryEntry(
        name=check_name(text_field(server, "name")),
        version=check_version(text_field(server, "version")),
        description=shown_text(server.get("description")),
        repository=shown_text(mapping_field(server, "repository").get("url")),
        status=shown_text(official.get("status")) or "active",
        status_message=shown_text(official.get("statusMessage")),
        packages=tuple(object_list(server, "packages")),
        remotes=tuple(object_list(server, "remotes")),
    )


def is_older(version: str, other: str) -> bool:
    """Whether a version is certainly older: the numbers at its start are lower.

    >>> is_older("1.9.0", "1.10.0"), is_older("2025.1", "beta")
    (True, False)
    """
    first, second = _numbers(version), _numbers(other)
    return bool(first and second) and first < second


def _numbers(version: str) -> tuple[int, ...]:
    start = re.match(r"v?(\d{1,9}(?:\.\d{1,9})*)", version)
    return tuple(int(number) for number in start[1].split(".")) if start else ()

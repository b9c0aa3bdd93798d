"""Records of the servers that were installed from the registry, one JSON file each."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from onetool.domain.servers.registry_launch import LaunchKind, ServerLaunch
from onetool.files.atomic import write_atomic


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallRecord:
    """What was installed: an entry of the registry, the user's values and the digests of the package."""

    name: str
    version: str
    kind: LaunchKind
    identifier: str
    package_version: str
    values: dict[str, list[str]]
    """The values by input. Secrets are references such as `${NAME}`."""
    server: dict[str, Any]
    """The command or the URL that was approved, with variables and headers."""
    digests: dict[str, str] = field(default_factory=dict)

    @property
    def endpoint(self) -> tuple[str | None, list[str], str | None]:
        """The command, its arguments and the URL, as they were written to the settings."""
        return self.server.get("command"), self.server.get("args", []), self.server.get("url")

    def package(self) -> ServerLaunch:
        """Return the package that was installed, without the inputs of its command."""
        return ServerLaunch(kind=self.kind, identifier=self.identifier, version=self.package_version)


class InstallRecords:
    """The records by server name. Server names are Python identifiers."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read(self, server: str) -> InstallRecord | None:
        """Return the record of a server; None if there is none.

        Raises:
            ValueError: The file cannot be read as a record.
        """
        file = self._file(server)
        try:
            data = json.loads(file.read_bytes())
            data.pop("schemaVersion")
            record = InstallRecord(**data)
        except FileNotFoundError:
            return None
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise ValueError(f"{file}: not a record of an installed server. Delete it.") from None
        return record

    def write(self, server: str, record: InstallRecord) -> None:
        """Store the record of a server."""
        write_atomic(
            self._file(server), json.dumps({"schemaVersion": 1, **asdict(record)}, indent=2).encode()
        )

    def _file(self, server: str) -> Path:
        return self._directory / f"{server}.json"

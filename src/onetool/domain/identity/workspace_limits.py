"""What a workspace of a hosted OneTool may use: set by the operator, and not by the workspace."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from onetool.domain.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceLimits:
    """Limits of one workspace. None: no limit."""

    calls_per_minute: int | None = None
    """Of all principals together, with the calls that code and tools make."""
    principal_calls_per_minute: int | None = None
    """Of each principal."""
    concurrent_calls: int | None = None
    """In each replica. Further calls wait."""
    concurrent_runs: int | None = 8
    """Of code, in each replica. Further runs wait."""
    stored_tools: int | None = 200_000
    """Tool versions in bundles."""
    secrets: int | None = 1_000
    result_bytes: int | None = 2**30
    """Of stored results that have not expired."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            minimum = 0 if name in QUOTAS else 1
            if value is not None and (type(value) is not int or value < minimum):
                message = (
                    f"The limit {name} is {value!r}. It must be an integer of at least {minimum}, or none."
                )
                raise SettingsError(message)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "WorkspaceLimits":
        """Return the limits of a JSON object. Those that it does not name have their defaults.

        Raises:
            SettingsError: A limit is no number.
        """
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in names})

    def to_json(self) -> dict[str, int | None]:
        """Return all limits by name."""
        return asdict(self)


QUOTAS = frozenset({"stored_tools", "secrets", "result_bytes"})
"""Limits of what is stored, which may be 0."""

"""Bundles of stored tools and the immutable versions of each tool."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal, NamedTuple

from onetool.domain.errors import OneToolError
from onetool.domain.search.matching import contains
from onetool.domain.text.strings import to_camel_case

BUNDLE_TYPES: Mapping[str, type] = dict.fromkeys(
    (
        "id",
        "slug",
        "display_name",
        "description",
        "origin",
        "created_at",
        "modified_at",
        "soft_deleted_at",
        "imported_at",
    ),
    str,
) | dict.fromkeys(("is_enabled", "is_built_in"), bool)
TOOL_TYPES: Mapping[str, type] = (
    dict.fromkeys(
        (
            "id",
            "bundle_id",
            "slug",
            "version",
            "type",
            "display_name",
            "description",
            "created_at",
            "modified_at",
        ),
        str,
    )
    | dict.fromkeys(("is_enabled", "is_built_in"), bool)
    | dict.fromkeys(("arg_schema", "output_schema", "python_impl", "http_impl", "code_impl", "limits"), dict)
)
ToolType = Literal["python", "http", "code"]
SCHEMA_VERSION = 1
"""Version of the file format in which bundles are stored."""

ToolKey = tuple[str, str, str]
"""Bundle id, slug and version, which together identify a tool version."""


class StoredTool(NamedTuple):
    """A stored tool version, its bundle, and the qualified name under which code calls it."""

    tool: "ToolVersion"
    bundle: "Bundle"
    name: str
    has_app: bool = False
    """Its MCP server has an app that shows the results."""

    @property
    def is_enabled(self) -> bool:
        """Whether the tool and its bundle are both enabled."""
        return self.tool.is_enabled and self.bundle.is_enabled


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleFilter:
    """Selects bundles or tools; deleted ones never match."""

    bundle_ids: frozenset[str] | None = None
    tags: frozenset[str] | None = None
    """Match tools that have any of these tags."""
    include_disabled: bool = False
    active_only: bool = False
    """Match only the active version of each tool."""
    name_contains: str = ""
    """Match tools whose names in code contain this text, ignoring case."""

    def matches_bundle(self, bundle: "Bundle") -> bool:
        """Whether a bundle matches."""
        if bundle.soft_deleted_at or (self.bundle_ids is not None and bundle.id not in self.bundle_ids):
            return False
        return self.include_disabled or bundle.is_enabled

    def matches(self, stored: StoredTool) -> bool:
        """Whether a tool matches."""
        has_tag = self.tags is None or bool(self.tags & set(stored.tool.tags))
        return (
            has_tag
            and contains(self.name_contains, stored.name)
            and self.matches_bundle(stored.bundle)
            and (self.include_disabled or stored.tool.is_enabled)
        )


class BundleError(OneToolError):
    """An operation on a bundle failed."""


class FieldError(NamedTuple):
    """What is wrong with one field."""

    path: str
    """Names and indexes from the body to the field, joined by dots: `httpImpl.requests.0.urlTemplate`."""
    message: str


class InvalidBundle(BundleError, ValueError):
    """A bundle, a tool version or a request about them is invalid.

    Args:
        path: Path of the field that the message is about.
        errors: Errors of several fields, or with other words than the message.
    """

    def __init__(self, message: str, *, path: str = "", errors: Sequence[FieldError] = ()) -> None:
        super().__init__(message)
        self.errors = (FieldError(path, message),) if path else tuple(errors)


def invalid_field(path: str, message: str) -> InvalidBundle:
    """Return the error for one field. Its message starts with the path."""
    return InvalidBundle(f"{path}: {message}", errors=[FieldError(path, message)])


class BundleNotFound(BundleError, LookupError):
    """The bundle does not exist, or has no such tool."""


class ReadOnlyBundle(BundleError):
    """The bundle is not stored; only its enabled flag can be changed."""


class BundleConflict(BundleError):
    """The current state does not allow the operation: name in use, bundle disabled, or limit reached."""


def active_version(versions: Iterable["ToolVersion"]) -> "ToolVersion | None":
    """Return the version that an unversioned name refers to: the newest enabled one, else the newest."""
    return max(
        versions, key=lambda version: (version.is_enabled, version.created_at, version.id), default=None
    )


class AlreadyExists(BundleConflict):
    """A tool with this slug and version already exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A set of tools that is enabled or disabled as one."""

    id: str
    slug: str
    display_name: str = ""
    description: str = ""
    is_enabled: bool = True
    is_built_in: bool = False
    origin: str = "bundle"
    created_at: str = ""
    """Time of creation, in RFC 3339 format; never changes."""
    modified_at: str = ""
    """Time of the last change to anything except `is_enabled`."""
    soft_deleted_at: str | None = None
    imported_at: str | None = None
    """Time of import, for a bundle created in another store."""

    @property
    def first_stored_at(self) -> str:
        """Time at which the bundle entered this store; the earlier of two bundles gets a contested name."""
        return self.imported_at or self.created_at

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form used by the API and the files."""
        return {to_camel_case(key): value for key, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Bundle":
        """Read the output of `to_json`.

        Raises:
            TypeError: A field is missing or has the wrong type.
        """
        return cls(**_read_fields(cls, BUNDLE_TYPES, data))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolVersion:
    """One version of a tool; only `is_enabled` ever changes."""

    id: str
    bundle_id: str
    slug: str
    version: str
    type: ToolType
    arg_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    display_name: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    is_enabled: bool = True
    is_built_in: bool = False
    python_impl: Mapping[str, Any] | None = None
    http_impl: Mapping[str, Any] | None = None
    code_impl: Mapping[str, Any] | None = None
    """The program of a tool of type `code`, and the steps from which it was written."""
    limits: Mapping[str, Any] | None = None
    created_at: str = ""
    modified_at: str = ""

    @property
    def key(self) -> ToolKey:
        """The key that identifies this version."""
        return self.bundle_id, self.slug, self.version

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form used by the API and the files."""
        values = {name: getattr(self, key) for key, name in _json_names(self.__slots__)}
        return {key: value for key, value in values.items() if value is not None} | {"tags": list(self.tags)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ToolVersion":
        """Read the output of `to_json`.

        Raises:
            TypeError: A field is missing or has the wrong type.
        """
        values = _read_fields(cls, TOOL_TYPES, data)
        tags = values.get("tags", ())
        if not isinstance(tags, list | tuple) or not all(isinstance(tag, str) for tag in tags):
            raise TypeError("tags must be a list of strings")
        values["tags"] = tuple(tags)
        return cls(**values)


def rfc3339(timestamp: float) -> str:
    """Format a timestamp so that text order equals time order."""
    return datetime.fromtimestamp(timestamp, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _read_fields(cls: Any, types: Mapping[str, type], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a dataclass that are present in its JSON form.

    Rejects wrong types early: a file edited by hand must fail here, not later while others are listed. A null
    counts as missing, but not for a flag, whose default could enable what the user disabled.
    """
    values = {}
    for key, name in _json_names(cls.__slots__):
        value, kind = data.get(name), types.get(key, object)
        if value is None and (kind is not bool or name not in data):
            continue
        if not isinstance(value, kind):
            raise TypeError(f"{key} must be a {kind.__name__}, not {value!r:.80}")
        values[key] = value
    return values


@cache
def _json_names(fields: Iterable[str]) -> Sequence[tuple[str, str]]:
    """Return each field with its name in the JSON form."""
    return [(field, to_camel_case(field)) for field in fields]

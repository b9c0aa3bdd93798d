"""Stored tools: bundles that are switched as one, and immutable versions of tools inside them."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from .errors import OneToolError
from .texts import camel

FLAGS = ("is_enabled", "is_built_in")
BUNDLE_TEXTS = (
    "id",
    "slug",
    "display_name",
    "description",
    "origin",
    "created_at",
    "modified_at",
    "soft_deleted_at",
    "imported_at",
)
TOOL_TEXTS = (
    "id",
    "bundle_id",
    "slug",
    "version",
    "type",
    "display_name",
    "description",
    "created_at",
    "modified_at",
)
TOOL_MAPS = ("arg_schema", "output_schema", "python_impl", "http_impl", "limits")
ToolType = Literal["python", "http"]
SCHEMA_VERSION = 1
"""Of the files in which they are kept."""


Pair = tuple[str, str, str]
"""Bundle id, slug and version: what is unique of a tool version."""


class Listed(NamedTuple):
    """A stored tool with its bundle, and the name by which code calls it."""

    tool: "ToolVersion"
    bundle: "Bundle"
    name: str

    @property
    def is_enabled(self) -> bool:
        """Whether tool and bundle are both switched on."""
        return self.tool.is_enabled and self.bundle.is_enabled


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which bundles or tools are wanted; deleted ones never are."""

    bundle_ids: frozenset[str] | None = None
    tags: frozenset[str] | None = None
    """Any of these."""
    include_disabled: bool = False
    active_only: bool = False
    """Of each tool only the version that its name stands for."""

    def takes_bundle(self, bundle: "Bundle") -> bool:
        """Whether a bundle is wanted."""
        if bundle.soft_deleted_at or (self.bundle_ids is not None and bundle.id not in self.bundle_ids):
            return False
        return self.include_disabled or bundle.is_enabled

    def takes(self, listed: Listed) -> bool:
        """Whether a tool is wanted."""
        tagged = self.tags is None or bool(self.tags & set(listed.tool.tags))
        return (
            tagged and self.takes_bundle(listed.bundle) and (self.include_disabled or listed.tool.is_enabled)
        )


class BundleError(OneToolError):
    """Something that cannot be done with a bundle: the message says what is wrong and what would be right."""


class InvalidBundle(BundleError, ValueError):
    """It is not written as it should be."""


class NoSuchBundle(BundleError, LookupError):
    """There is no such bundle, or no such tool in it."""


class ReadOnly(BundleError):
    """It is not stored here; only its switch can be changed."""


class Refused(BundleError):
    """The state of things forbids it: taken, switched off, or too many."""


def active(versions: Iterable["ToolVersion"]) -> "ToolVersion | None":
    """The version that a tool's name stands for: the newest that is switched on, else the newest."""
    return max(versions, key=lambda one: (one.is_enabled, one.created_at, one.id), default=None)


class Taken(Refused):
    """This slug and version are taken; the first tool stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A named container of tools with one switch."""

    id: str
    slug: str
    display_name: str = ""
    description: str = ""
    is_enabled: bool = True
    is_built_in: bool = False
    origin: str = "bundle"
    created_at: str = ""
    """First insertion, RFC 3339; never changes."""
    modified_at: str = ""
    """Last change of anything but the switch."""
    soft_deleted_at: str | None = None
    imported_at: str | None = None
    """When it came from elsewhere: its own `created_at` says nothing of how long it has been here."""

    @property
    def known_since(self) -> str:
        """When it was first stored here: the elder of two keeps a name that both want."""
        return self.imported_at or self.created_at

    def to_json(self) -> dict[str, Any]:
        """As the API and the files have it."""
        return {camel(key): value for key, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> "Bundle":
        """Read what `to_json` wrote.

        Raises KeyError or TypeError for anything else.
        """
        known = _fields(cls, said)
        _check_types(known, texts=BUNDLE_TEXTS, flags=FLAGS)
        return cls(**known)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolVersion:
    """One revision of a tool; only its switch ever changes."""

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
    limits: Mapping[str, Any] | None = None
    created_at: str = ""
    modified_at: str = ""

    @property
    def pair(self) -> Pair:
        """What no other tool version has."""
        return self.bundle_id, self.slug, self.version

    def to_json(self) -> dict[str, Any]:
        """As the API and the files have it."""
        said = {camel(key): getattr(self, key) for key in type(self).__slots__}
        return {key: value for key, value in said.items() if value is not None} | {"tags": list(self.tags)}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> "ToolVersion":
        """Read what `to_json` wrote.

        Raises KeyError or TypeError for anything else.
        """
        known = _fields(cls, said)
        _check_types(known, texts=TOOL_TEXTS, flags=FLAGS, maps=TOOL_MAPS)
        tags = known.get("tags", ())
        if not isinstance(tags, list | tuple) or not all(isinstance(tag, str) for tag in tags):
            raise TypeError("tags are texts")
        return replace(cls(**known), tags=tuple(tags))


def rfc3339(now: float) -> str:
    """A moment as text that sorts as time does."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _check_types(
    known: Mapping[str, Any], *, texts: Iterable[str], flags: Iterable[str], maps: Iterable[str] = ()
) -> None:
    """Refuse what somebody has written into a file by hand, and mistaken: one odd file must harm no other."""
    for kind, names in ((str, texts), (bool, flags), (dict, maps)):
        for name in names:
            if known.get(name) is not None and not isinstance(known[name], kind):
                raise TypeError(f"{name} is a {kind.__name__}, not {known[name]!r:.80}")


def _fields(kind: Any, said: Mapping[str, Any]) -> dict[str, Any]:
    return {key: said[camel(key)] for key in kind.__slots__ if camel(key) in said}

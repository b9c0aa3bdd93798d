"""What an MCP server lists besides tools, with the definitions that the user has accepted."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .server_item import ItemKind, ServerItem
from .tool_names import assign_names

MAX_ITEMS: Mapping[ItemKind, int] = {"resource": 10_000, "template": 1_000, "prompt": 1_000}
"""Maximum number of listed items, and of removed items that stay pinned."""
CHANGED = "changed since you approved it"
NEW = "new since the server was first used"
INSTRUCTIONS = "its description contains instructions for the model"


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedList:
    """The last listing of one kind and the pinned definitions. Resources are pinned when first listed."""

    kind: ItemKind
    items: tuple[ServerItem, ...] = ()
    pins: Mapping[str, str] = field(default_factory=dict)
    """The accepted hash of each item, in the order of first listing."""
    previous: Mapping[str, ServerItem] = field(default_factory=dict)
    """Pinned definitions that differ from the current listing."""
    approved: frozenset[str] = frozenset()
    """Hashes that the user has approved."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The Python name of each item; used for prompts."""

    def merge(self, listed: Iterable[ServerItem], *, allow_new: bool) -> "PinnedList":
        """Apply a new listing. New resources are accepted: a list of resources changes with the data."""
        items: dict[str, ServerItem] = {}
        for item in listed:
            items.setdefault(item.key, item)
        accepts_new = allow_new or not self.pins or self.kind == "resource"
        new = {key: item.pin for key, item in items.items() if key not in self.pins} if accepts_new else {}
        pins = self._prune({**self.pins, **new}, items)
        pinned = dict(self.previous) | {
            item.key: item for item in self.items if item.pin == self.pins.get(item.key)
        }
        previous = {key: item for key, item in pinned.items() if key in items and items[key].pin != pins[key]}
        names = assign_names({key: name for key, name in self.names.items() if key in pins}, items)
        return replace(self, items=tuple(items.values()), pins=pins, previous=previous, names=names)

    def approve(self, pins: Collection[str]) -> "PinnedList":
        """Pin the current definitions with these hashes."""
        chosen = {item.key: item.pin for item in self.items if item.pin in pins}
        return replace(
            self,
            pins={**self.pins, **chosen},
            previous={key: item for key, item in self.previous.items() if key not in chosen},
            approved=self.approved | frozenset(chosen.values()),
        )

    def reason(self, item: ServerItem, findings: Iterable[str]) -> str:
        """Return why an item is quarantined, or an empty string if it is not."""
        if item.key not in self.pins:
            return NEW
        if self.pins[item.key] != item.pin:
            return CHANGED
        found = "" if item.pin in self.approved else "; ".join(findings)
        return f"{INSTRUCTIONS}: {found}" if found else ""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form that is stored."""
        return {
            "items": [item.definition for item in self.items],
            "pins": dict(self.pins),
            "previous": [item.definition for item in self.previous.values()],
            "approved": sorted(self.approved),
            "names": dict(self.names),
        }

    @classmethod
    def from_json(cls, kind: ItemKind, data: Mapping[str, Any]) -> "PinnedList":
        """Read the output of `to_json`.

        Raises:
            KeyError: A field is missing.
            TypeError: A field has the wrong type.
        """
        previous = [ServerItem(kind=kind, definition=item) for item in data["previous"]]
        return cls(
            kind=kind,
            items=tuple(ServerItem(kind=kind, definition=item) for item in data["items"]),
            pins=dict(data["pins"]),
            previous={item.key: item for item in previous},
            approved=frozenset(data["approved"]),
            names=dict(data["names"]),
        )

    def _prune(self, pins: dict[str, str], listed: Collection[str]) -> dict[str, str]:
        """Drop the oldest pins of removed items, so that a server cannot fill the disk."""
        removed = [key for key in pins if key not in listed]
        dropped = set(removed[: max(len(removed) - MAX_ITEMS[self.kind], 0)])
        return {key: pin for key, pin in pins.items() if key not in dropped}

"""The tools that an MCP server lists: Python names, pinned definitions and changes."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from typing import Any

from onetool.domain.text.identifiers import safe_name
from onetool.domain.text.strings import pluralize

from .instructions import ServerInstructions
from .pinned_list import PinnedList
from .prompt_texts import PromptText, PromptTexts
from .server_item import KEYS, ItemKind, ServerItem
from .server_tool import ServerTool
from .tool_names import assign_in_order, assign_names

MAX_TOOLS = 10_000
"""Maximum number of listed tools, and of removed tools that stay pinned."""
SCHEMA_VERSION = 2
"""Version 1 stored five fields of each definition."""
CHANGED = "changed since you approved it"
NEW = "new since the server was first used"
NAME_CONFLICT = "its name conflicts with a known tool"
INSTRUCTIONS = "its description contains instructions for the model"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerManifest:
    """The last listing of a server and the pinned definitions of its tools."""

    listed_at: float
    tools: tuple[ServerTool, ...]
    pins: Mapping[str, str]
    """The accepted hash of each tool, in the order of first listing."""
    previous: Mapping[str, ServerTool] = field(default_factory=dict)
    """Pinned definitions that differ from the current listing."""
    approved: frozenset[str] = frozenset()
    """Hashes that the user has approved."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The Python name of each listed or pinned tool."""
    instructions: ServerInstructions | None = None
    """None if no handshake was recorded, as in earlier versions."""
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    """What the server declared in its last handshake."""
    items: Mapping[ItemKind, PinnedList] = field(default_factory=dict)
    """Resources, templates and prompts; none before they were first listed."""
    prompt_texts: PromptTexts = field(default_factory=PromptTexts)

    def find(self, name: str) -> ServerTool | None:
        """Return the tool with this name on the server, or None."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def reviewable(self) -> Iterator[tuple[str, str]]:
        """Yield the name in a review and the hash of everything that a user may have to approve."""
        yield from ((tool.name, tool.pin) for tool in self.tools)
        for listed in self.items.values():
            yield from ((item.label, item.pin) for item in listed.items)
        yield from ((text.label, text.pin) for text in self.prompt_texts.refused)

    def is_approved(self, tool: ServerTool) -> bool:
        """Whether the user has approved this definition, now or in an earlier version."""
        return tool.pin in self.approved or tool.old_pin in self.approved

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form that is stored."""
        return {
            "schemaVersion": SCHEMA_VERSION,
            "listedAt": self.listed_at,
            "tools": [tool.definition for tool in self.tools],
            "pins": dict(self.pins),
            "previous": [tool.definition for tool in self.previous.values()],
            "approved": sorted(self.approved),
            "names": dict(self.names),
            "instructions": self.instructions.to_json() if self.instructions else None,
            "capabilities": dict(self.capabilities),
            "items": {kind: listed.to_json() for kind, listed in self.items.items()},
            "promptTexts": self.prompt_texts.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ServerManifest":
        """Read the output of `to_json`, also of earlier versions.

        Raises:
            KeyError: A field is missing.
            TypeError: A field has the wrong type.
        """
        is_old = data["schemaVersion"] < SCHEMA_VERSION
        read = ServerTool.from_old_json if is_old else _read_tool
        replaced, received = [read(tool) for tool in data["previous"]], data.get("instructions")
        return cls(
            listed_at=data["listedAt"],
            tools=tuple(read(tool) for tool in data["tools"]),
            pins=dict(data["pins"]),
            previous={tool.name: tool for tool in replaced},
            approved=frozenset(data["approved"]),
            instructions=ServerInstructions.from_json(received) if received else None,
            names=_old_names(data) if is_old else assign_names(data["names"], _listed_names(data)),
            capabilities=data.get("capabilities", {}),
            items=_read_items(data.get("items", {})),
            prompt_texts=PromptTexts.from_json(data["promptTexts"])
            if "promptTexts" in data
            else PromptTexts(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedTool:
    """A tool, or another item of a server, that is disabled until the user approves it."""

    name: str
    """The name of a tool; the label of a resource, a template, a prompt or the text of a prompt."""
    reason: str
    old: ServerTool | ServerItem | None
    new: ServerTool | ServerItem | PromptText

    @property
    def kind(self) -> str:
        """What it is: tool, resource, template, prompt or prompt text."""
        if isinstance(self.new, ServerItem):
            return self.new.kind
        return "tool" if isinstance(self.new, ServerTool) else "prompt text"

    def difference(self) -> str:
        """Return a line diff from the old to the new definition; all lines are new if there is no old one."""
        old, new = (_json_lines(tool) if tool else [] for tool in (self.old, self.new))
        return "\n".join(list(unified_diff(old, new, lineterm="", n=1))[2:])


def count_kinds(quarantined: Iterable[QuarantinedTool]) -> list[str]:
    """Return how many there are of each kind, such as `["2 tools", "1 prompt"]`."""
    counts = Counter(tool.kind for tool in quarantined)
    return [pluralize(count, kind) for kind, count in counts.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAccess:
    """Whether a server's tool is treated as read-only, and why."""

    tool: ServerTool
    read_only: bool
    reason: str
    function: str = ""
    """The name of its function in the pack of the server."""
    problem: str = ""
    """Why its settings disable it; empty if they do not."""

    @property
    def is_claim_unaccepted(self) -> bool:
        """Whether the server declares the tool as read-only, but the user has not accepted that."""
        return self.tool.claims_read_only and not self.read_only


def tool_access(manifest: ServerManifest, tool: ServerTool, trust_annotations: bool) -> ToolAccess:
    """Return how a tool is treated: a server's claim counts only if the user accepted it."""
    if not tool.claims_read_only:
        return ToolAccess(tool=tool, read_only=False, reason="the server does not declare it as read-only")
    if trust_annotations:
        return ToolAccess(tool=tool, read_only=True, reason="the settings trust the server's annotations")
    if manifest.is_approved(tool):
        return ToolAccess(tool=tool, read_only=True, reason="you approved this definition")
    reason = "the server declares it as read-only, which you have not approved"
    return ToolAccess(tool=tool, read_only=False, reason=reason)


def merge(
    old: ServerManifest | None, tools: Iterable[ServerTool], now: float, *, allow_new: bool = False
) -> ServerManifest:
    """Apply a new listing: changed tools keep their old pin, and new tools have none unless `allow_new`.

    All tools of the first listing that has any are pinned.
    """
    listed: dict[str, ServerTool] = {}
    for tool in tools:
        listed.setdefault(tool.name, tool)
    if old is None or not old.pins:
        pins = {name: tool.pin for name, tool in listed.items()}
        first = old or ServerManifest(listed_at=now, tools=(), pins={})
        names = assign_names({}, listed)
        return replace(first, listed_at=now, tools=tuple(listed.values()), pins=pins, names=names)
    old = _carry_over(old, listed)
    pins = _prune_pins(_pin_new_tools(old.pins, listed) if allow_new else dict(old.pins), listed)
    pinned = dict(old.previous) | {
        tool.name: tool for tool in old.tools if tool.has_pin(old.pins.get(tool.name, ""))
    }
    return replace(
        old,
        listed_at=now,
        tools=tuple(listed.values()),
        pins=pins,
        previous={
            name: tool
            for name, tool in pinned.items()
            if name in pins and (name not in listed or listed[name].pin != pins[name])
        },
        names=assign_names({name: old.names[name] for name in pins if name in old.names}, listed),
    )


def merge_items(
    manifest: ServerManifest, listed: Mapping[ItemKind, Sequence[ServerItem]], *, allow_new: bool = False
) -> ServerManifest:
    """Apply a new listing of resources, templates or prompts. Kinds that are not in it stay."""
    merged = {
        kind: manifest.items.get(kind, PinnedList(kind=kind)).merge(items, allow_new=allow_new)
        for kind, items in listed.items()
    }
    return replace(manifest, items={**manifest.items, **merged})


def receive_instructions(manifest: ServerManifest, text: str) -> ServerManifest:
    """Record the instructions of a handshake. Those of the first one are accepted."""
    old = manifest.instructions or ServerInstructions(received=text, accepted=text)
    return replace(manifest, instructions=old.receive(text))


def refuse_prompt_text(
    manifest: ServerManifest | None, prompt: str, text: str, reason: str
) -> ServerManifest:
    """Record the text of a prompt that needs an approval."""
    manifest = manifest or ServerManifest(listed_at=0.0, tools=(), pins={})
    return replace(manifest, prompt_texts=manifest.prompt_texts.refuse(prompt, text, reason))


def new_tool_names(old: ServerManifest | None, new: ServerManifest) -> list[str]:
    """Return the tools that a known server lists for the first time and that are pinned."""
    return [] if old is None else [name for name in new.pins if name not in old.pins]


def quarantine_reason(
    manifest: ServerManifest, tool: ServerTool, findings: Iterable[str] = (), *, allow_new: bool = False
) -> str:
    """Return why a tool is quarantined, or an empty string if it is not."""
    if tool.name not in manifest.pins:
        return NAME_CONFLICT if allow_new else NEW
    if not tool.has_pin(manifest.pins[tool.name]):
        return CHANGED
    found = list(findings)
    reasons = "" if found and manifest.is_approved(tool) else "; ".join(found)
    return f"{INSTRUCTIONS}: {reasons}" if reasons else ""


def approve(manifest: ServerManifest, names: Collection[str]) -> ServerManifest:
    """Pin the current definitions with these names in a review."""
    chosen = {tool.name: tool.pin for tool in manifest.tools if tool.name in names}
    pins = {pin for name, pin in manifest.reviewable() if name in names}
    return replace(
        manifest,
        pins=dict(manifest.pins) | chosen,
        previous={name: tool for name, tool in manifest.previous.items() if name not in chosen},
        approved=manifest.approved | frozenset(chosen.values()),
        items={kind: listed.approve(pins) for kind, listed in manifest.items.items()},
        prompt_texts=manifest.prompt_texts.approve(pins),
    )


def _json_lines(tool: ServerTool | ServerItem | PromptText) -> list[str]:
    return json.dumps(tool.definition, indent=2, ensure_ascii=False).splitlines()


def _read_items(data: Mapping[ItemKind, Any]) -> dict[ItemKind, PinnedList]:
    return {kind: PinnedList.from_json(kind, listed) for kind, listed in data.items() if kind in KEYS}


def _old_names(data: Mapping[str, Any]) -> dict[str, str]:
    listed = dict.fromkeys(_listed_names(data))
    return assign_in_order([*(name for name in data["pins"] if name in listed), *listed])


def _listed_names(data: Mapping[str, Any]) -> list[str]:
    return [tool["name"] for tool in data["tools"]]


def _read_tool(definition: Mapping[str, Any]) -> ServerTool:
    return ServerTool(definition=definition)


def _carry_over(old: ServerManifest, listed: Mapping[str, ServerTool]) -> ServerManifest:
    """Replace hashes of earlier versions by those of the listed definitions, if what they cover is equal."""
    carried = {
        name: listed[name].pin
        for name, pin in old.pins.items()
        if name in listed and pin != listed[name].pin and listed[name].has_pin(pin)
    }
    approved = {carried[name] for name in carried if old.pins[name] in old.approved}
    replaced = {old.pins[name] for name in carried}
    return replace(old, pins={**old.pins, **carried}, approved=frozenset(old.approved - replaced | approved))


def _pin_new_tools(pins: Mapping[str, str], listed: Mapping[str, ServerTool]) -> dict[str, str]:
    """Pin tools that are listed for the first time, unless their Python name belongs to a known tool."""
    taken = {safe_name(name) for name in pins}
    new = {
        name: tool.pin for name, tool in listed.items() if name not in pins and safe_name(name) not in taken
    }
    return dict(pins) | new


def _prune_pins(pins: dict[str, str], listed: Mapping[str, ServerTool]) -> dict[str, str]:
    """Drop the oldest pins of removed tools, so that a server cannot fill the disk."""
    removed = [name for name in pins if name not in listed]
    dropped = set(removed[: max(len(removed) - MAX_TOOLS, 0)])
    return {name: pin for name, pin in pins.items() if name not in dropped}

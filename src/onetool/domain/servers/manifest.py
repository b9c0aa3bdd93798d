"""The tools that an MCP server lists: Python names, pinned definitions and changes."""

import json
import keyword
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from hashlib import sha256
from typing import Any, Literal

from onetool.domain.tools.tool import JsonSchema

ServerState = Literal["configured", "idle", "connected", "failed"]
MAX_TOOLS = 10_000
"""Maximum number of listed tools, and of removed tools that stay pinned."""
MAX_NAME_LENGTH = 128
"""Maximum length in MCP; longer names are truncated in Python names."""
CHANGED = "changed since you approved it"
NEW = "new since the server was first used"
NAME_CONFLICT = "its name conflicts with a known tool"
INSTRUCTIONS = "its description contains instructions for the model"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTool:
    """A tool as defined by the server."""

    name: str
    description: str = ""
    input_schema: JsonSchema
    output_schema: JsonSchema | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    pin: str = field(init=False, repr=False)
    """Hash of everything that a model or a user can read."""

    def __post_init__(self) -> None:
        canonical = json.dumps(self.to_json(), sort_keys=True)
        object.__setattr__(self, "pin", sha256(canonical.encode()).hexdigest())

    @property
    def claims_read_only(self) -> bool:
        """Whether the server declares the tool as read-only. Nothing proves that it is."""
        hints = self.annotations
        return hints.get("readOnlyHint") is True and hints.get("destructiveHint") is not True

    def texts(self) -> Iterator[str]:
        """Yield every string that a model may read."""
        yield from _strings([self.description, self.input_schema, self.output_schema, self.annotations])

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form that is stored and hashed."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": self.output_schema,
            "annotations": self.annotations,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ServerTool":
        """Read the output of `to_json`.

        Raises:
            KeyError: A field is missing.
            TypeError: A field has the wrong type.
        """
        return cls(
            name=data["name"],
            description=data["description"],
            input_schema=dict(data["inputSchema"]),
            output_schema=data["outputSchema"],
            annotations=dict(data["annotations"]),
        )


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

    def find(self, name: str) -> ServerTool | None:
        """Return the tool with this name on the server, or None."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form that is stored."""
        return {
            "schemaVersion": 1,
            "listedAt": self.listed_at,
            "tools": [tool.to_json() for tool in self.tools],
            "pins": dict(self.pins),
            "previous": [tool.to_json() for tool in self.previous.values()],
            "approved": sorted(self.approved),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ServerManifest":
        """Read the output of `to_json`.

        Raises:
            KeyError: A field is missing.
            TypeError: A field has the wrong type.
        """
        replaced = [ServerTool.from_json(tool) for tool in data["previous"]]
        return cls(
            listed_at=data["listedAt"],
            tools=tuple(ServerTool.from_json(tool) for tool in data["tools"]),
            pins=dict(data["pins"]),
            previous={tool.name: tool for tool in replaced},
            approved=frozenset(data["approved"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedTool:
    """A tool that is disabled until the user approves it: old and new definition, and the reason."""

    name: str
    reason: str
    old: ServerTool | None
    new: ServerTool

    def difference(self) -> str:
        """Return a line diff from the old to the new definition; all lines are new if there is no old one."""
        old, new = (_json_lines(tool) if tool else [] for tool in (self.old, self.new))
        return "\n".join(list(unified_diff(old, new, lineterm="", n=1))[2:])


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAccess:
    """Whether a server's tool is treated as read-only, and why."""

    tool: ServerTool
    read_only: bool
    reason: str

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
    if tool.pin in manifest.approved:
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
        approved = old.approved if old else frozenset()
        return ServerManifest(listed_at=now, tools=tuple(listed.values()), pins=pins, approved=approved)
    pins = _prune_pins(_pin_new_tools(old.pins, listed) if allow_new else dict(old.pins), listed)
    pinned = dict(old.previous) | {
        tool.name: tool for tool in old.tools if old.pins.get(tool.name) == tool.pin
    }
    return ServerManifest(
        listed_at=now,
        tools=tuple(listed.values()),
        pins=pins,
        previous={
            name: tool
            for name, tool in pinned.items()
            if name in pins and (name not in listed or listed[name].pin != pins[name])
        },
        approved=old.approved,
    )


def new_tool_names(old: ServerManifest | None, new: ServerManifest) -> list[str]:
    """Return the tools that a known server lists for the first time and that are pinned."""
    return [] if old is None else [name for name in new.pins if name not in old.pins]


def quarantine_reason(
    manifest: ServerManifest, tool: ServerTool, findings: Iterable[str] = (), *, allow_new: bool = False
) -> str:
    """Return why a tool is quarantined, or an empty string if it is not."""
    pin = tool.pin
    if tool.name not in manifest.pins:
        return NAME_CONFLICT if allow_new else NEW
    if manifest.pins[tool.name] != pin:
        return CHANGED
    reasons = "" if pin in manifest.approved else "; ".join(findings)
    return f"{INSTRUCTIONS}: {reasons}" if reasons else ""


def approve(manifest: ServerManifest, names: Collection[str]) -> ServerManifest:
    """Pin the current definitions of these tools."""
    chosen = {tool.name: tool.pin for tool in manifest.tools if tool.name in names}
    return replace(
        manifest,
        pins=dict(manifest.pins) | chosen,
        previous={name: tool for name, tool in manifest.previous.items() if name not in chosen},
        approved=manifest.approved | frozenset(chosen.values()),
    )


def python_names(manifest: ServerManifest) -> dict[str, str]:
    """Return a unique Python name for each listed tool; the first one seen gets the plain name."""
    listed = [tool.name for tool in manifest.tools]
    present = set(listed)
    names: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys([name for name in manifest.pins if name in present] + listed):
        plain = unique = safe_name(name)
        digest, length = sha256(name.encode("utf-8", "surrogatepass")).hexdigest(), 6
        while unique in taken:
            unique, length = f"{plain}_{digest[:length]}", length + 2
        names[name] = unique
        taken.add(unique)
    return names


def safe_name(name: str) -> str:
    """Return a valid Python identifier for a name; never a keyword or a dunder name."""
    text = re.sub(r"\W", "_", unicodedata.normalize("NFKC", name[:MAX_NAME_LENGTH]))
    if text.startswith("__"):
        text = text.strip("_")
    if text.isidentifier() and not keyword.iskeyword(text):
        return text
    text = f"_{text}"
    return text if text.isidentifier() else re.sub(r"[^A-Za-z0-9_]", "_", text)


def _json_lines(tool: ServerTool) -> list[str]:
    return json.dumps(tool.to_json(), indent=2, ensure_ascii=False).splitlines()


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


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _strings([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)

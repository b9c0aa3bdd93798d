"""What another MCP server has said of its tools: names that code can call, pins, and what has changed."""

import json
import keyword
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from hashlib import sha256
from typing import Any, Literal

from .tool import JsonSchema

ServerState = Literal["configured", "known", "started", "failed"]
MOST_TOOLS = 10_000
"""Also how many tools that are gone stay pinned."""
LONGEST_NAME = 128
"""What MCP allows; what is longer is cut where code calls it."""
CHANGED = "changed since you approved it"
SHADOWS = "its name looks like that of a tool you know"
ORDERS = "its description gives orders to the model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A tool as the server describes it."""

    name: str
    description: str = ""
    input_schema: JsonSchema
    output_schema: JsonSchema | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    pin: str = field(init=False, repr=False)
    """A hash of everything that a model or a person is told."""

    def __post_init__(self) -> None:
        said = json.dumps(self.to_json(), sort_keys=True)
        object.__setattr__(self, "pin", sha256(said.encode()).hexdigest())

    @property
    def changes(self) -> bool:
        """Whether it may change things: it does, unless it says that it only reads."""
        said = self.annotations
        return said.get("readOnlyHint") is not True or said.get("destructiveHint") is True

    def texts(self) -> Iterator[str]:
        """Every text that a model may come to read."""
        yield from _texts([self.description, self.input_schema, self.output_schema, self.annotations])

    def to_json(self) -> dict[str, Any]:
        """As it is kept, and hashed."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": self.output_schema,
            "annotations": self.annotations,
        }

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> "Definition":
        """Read what `to_json` wrote.

        Raises KeyError or TypeError where it did not.
        """
        return cls(
            name=said["name"],
            description=said["description"],
            input_schema=dict(said["inputSchema"]),
            output_schema=said["outputSchema"],
            annotations=dict(said["annotations"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What was listed last, and what was seen first."""

    listed_at: float
    tools: tuple[Definition, ...]
    pins: Mapping[str, str]
    """The hash that each tool may have, in the order in which they were first seen."""
    replaced: Mapping[str, Definition] = field(default_factory=dict)
    """What was pinned, where that is not what is listed now."""
    approved: frozenset[str] = frozenset()
    """Hashes that a person has looked at."""

    def find(self, name: str) -> Definition | None:
        """Return the tool that the server calls so."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """As it is kept."""
        return {
            "schemaVersion": 1,
            "listedAt": self.listed_at,
            "tools": [tool.to_json() for tool in self.tools],
            "pins": dict(self.pins),
            "replaced": [tool.to_json() for tool in self.replaced.values()],
            "approved": sorted(self.approved),
        }

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> "Manifest":
        """Read what `to_json` wrote.

        Raises KeyError or TypeError where it did not.
        """
        replaced = [Definition.from_json(tool) for tool in said["replaced"]]
        return cls(
            listed_at=said["listedAt"],
            tools=tuple(Definition.from_json(tool) for tool in said["tools"]),
            pins=dict(said["pins"]),
            replaced={tool.name: tool for tool in replaced},
            approved=frozenset(said["approved"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """A tool that is not used until somebody approves it: what it was, what it is, and why."""

    name: str
    reason: str
    old: Definition | None
    new: Definition

    def difference(self) -> str:
        """What has changed, line by line; all of it where nothing is known of before."""
        old, new = (_lines(tool) if tool else [] for tool in (self.old, self.new))
        return "\n".join(list(unified_diff(old, new, lineterm="", n=1))[2:])


def merge(old: Manifest | None, tools: Iterable[Definition], now: float) -> Manifest:
    """Take in a new listing: what is seen first is pinned, what has changed is not."""
    listed: dict[str, Definition] = {}
    for tool in tools:
        listed.setdefault(tool.name, tool)
    if old is None:
        pins = {name: tool.pin for name, tool in listed.items()}
        return Manifest(listed_at=now, tools=tuple(listed.values()), pins=pins)
    pins = _kept(_with_new(old.pins, listed), listed)
    known = dict(old.replaced) | {
        tool.name: tool for tool in old.tools if old.pins.get(tool.name) == tool.pin
    }
    return Manifest(
        listed_at=now,
        tools=tuple(listed.values()),
        pins=pins,
        replaced={
            name: tool
            for name, tool in known.items()
            if name in pins and (name not in listed or listed[name].pin != pins[name])
        },
        approved=old.approved,
    )


def new_names(old: Manifest | None, new: Manifest) -> list[str]:
    """Tools that a known server has not shown before, and that may be used."""
    return [] if old is None else [name for name in new.pins if name not in old.pins]


def why_held_back(manifest: Manifest, tool: Definition, findings: Iterable[str] = ()) -> str:
    """Say why a tool may not be used; nothing where it may."""
    pin = tool.pin
    if manifest.pins.get(tool.name) != pin:
        return CHANGED if tool.name in manifest.pins else SHADOWS
    found = "" if pin in manifest.approved else "; ".join(findings)
    return f"{ORDERS}: {found}" if found else ""


def approve(manifest: Manifest, names: Collection[str]) -> Manifest:
    """Pin these tools as they are listed now."""
    chosen = {tool.name: tool.pin for tool in manifest.tools if tool.name in names}
    return replace(
        manifest,
        pins=dict(manifest.pins) | chosen,
        replaced={name: tool for name, tool in manifest.replaced.items() if name not in chosen},
        approved=manifest.approved | frozenset(chosen.values()),
    )


def python_names(manifest: Manifest) -> dict[str, str]:
    """How code calls each tool that is listed; who was there first keeps the plain name."""
    listed = [tool.name for tool in manifest.tools]
    present = set(listed)
    names: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys([name for name in manifest.pins if name in present] + listed):
        plain = called = safe_name(name)
        digest, length = sha256(name.encode("utf-8", "surrogatepass")).hexdigest(), 6
        while called in taken:
            called, length = f"{plain}_{digest[:length]}", length + 2
        names[name] = called
        taken.add(called)
    return names


def safe_name(name: str) -> str:
    """A name that Python can call: no dashes and dots, no keyword, no digit in front, no special name."""
    text = re.sub(r"\W", "_", unicodedata.normalize("NFKC", name[:LONGEST_NAME]))
    if text.startswith("__"):
        text = text.strip("_")
    if text.isidentifier() and not keyword.iskeyword(text):
        return text
    text = f"_{text}"
    return text if text.isidentifier() else re.sub(r"[^A-Za-z0-9_]", "_", text)


def _lines(tool: Definition) -> list[str]:
    return json.dumps(tool.to_json(), indent=2, ensure_ascii=False).splitlines()


def _with_new(pins: Mapping[str, str], listed: Mapping[str, Definition]) -> dict[str, str]:
    """Pin what was never seen, unless it would be called like something that was."""
    taken = {safe_name(name) for name in pins}
    new = {
        name: tool.pin for name, tool in listed.items() if name not in pins and safe_name(name) not in taken
    }
    return dict(pins) | new


def _kept(pins: dict[str, str], listed: Mapping[str, Definition]) -> dict[str, str]:
    """All pins of what is listed, and the newest of what is gone: a server cannot fill the disk."""
    gone = [name for name in pins if name not in listed]
    dropped = set(gone[: max(len(gone) - MOST_TOOLS, 0)])
    return {name: pin for name, pin in pins.items() if name not in dropped}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)

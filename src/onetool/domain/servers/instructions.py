"""Instructions that an MCP server sends in its handshake: pinned like its tools, and shown under its name."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from hashlib import sha256
from typing import Any

from onetool.domain.text.strings import pluralize

CHANGED = "changed since you approved them"
NEW = "new since the server was first used"
SUSPICIOUS = "they look like prompt injection"
MAX_STORED_LENGTH = 64_000
MAX_BYTES, MAX_TOTAL_BYTES = 2_000, 8_000
"""Limits of what clients receive of one server and of all servers, in bytes of UTF-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInstructions:
    """The instructions of a server: as it last sent them, and those that are accepted."""

    received: str
    accepted: str
    """Those of the first handshake, or the ones that the user approved last."""
    is_approved: bool = False
    """Whether the user has approved them, and not only the first handshake."""

    def receive(self, text: str) -> "ServerInstructions":
        """Apply what the server sent in a new handshake."""
        return ServerInstructions(received=text, accepted=self.accepted, is_approved=self.is_approved)

    def approve(self) -> "ServerInstructions":
        """Accept what the server sent last."""
        return ServerInstructions(received=self.received, accepted=self.received, is_approved=True)

    def review(self, scan: Callable[[str], list[str]]) -> "InstructionsReview":
        """Return which text is in use and why another one is not. `scan` finds signs of prompt injection."""
        findings = [] if self.is_approved else scan(self.accepted)
        text = "" if findings or not self.received else self.accepted
        reason = f"{SUSPICIOUS}: {'; '.join(findings)}" if findings and self.received else ""
        if self.received and self.received != self.accepted:
            reason = CHANGED if self.accepted else NEW
        return InstructionsReview(
            text=text,
            reason=reason,
            difference=_difference(text, self.received) if reason else "",
            pin=pin_of(self.received),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form that is stored."""
        return {"received": self.received, "accepted": self.accepted, "isApproved": self.is_approved}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ServerInstructions":
        """Read the output of `to_json`.

        Raises:
            KeyError: A field is missing.
        """
        return cls(received=data["received"], accepted=data["accepted"], is_approved=data["isApproved"])


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionsReview:
    """The instructions in use, and those that are quarantined until the user approves them."""

    text: str = ""
    """The instructions in use; empty if there are none."""
    reason: str = ""
    """Why the last received ones are quarantined; empty if they are not."""
    difference: str = ""
    """A line diff from the instructions in use to the quarantined ones."""
    pin: str = ""
    """Hash of the last received instructions."""


def pin_of(text: str) -> str:
    """Return the hash of instructions."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def join_instructions(by_server: Iterable[tuple[str, str]]) -> str:
    """Return the instructions of several servers under their names, within the limits.

    Lines are indented, so that no server can write under the name of another.
    """
    parts, size, omitted = list[str](), 0, 0
    reserved = len(_omitted(10**9).encode())
    for server, text in by_server:
        lines = "\n".join(f"  {line}".rstrip() for line in text.splitlines())
        part = f"\n\nInstructions of server {server}:\n{_cut(lines, server)}"
        if size + len(part.encode()) > MAX_TOTAL_BYTES - reserved:
            omitted += 1
            continue
        parts.append(part)
        size += len(part.encode())
    return "".join([*parts, _omitted(omitted) if omitted else ""])


def _omitted(count: int) -> str:
    servers = pluralize(count, "more server")
    return f'\n\nInstructions of {servers} are omitted: ot.help(query="NAME") shows them.'


def _cut(text: str, server: str) -> str:
    data = text.encode("utf-8", "replace")
    notice = f'\n  ... cut: ot.help(query="{server}") shows all of it.'
    if len(data) <= MAX_BYTES:
        return data.decode()
    return data[: MAX_BYTES - len(notice.encode())].decode(errors="ignore") + notice


def _difference(old: str, new: str) -> str:
    return "\n".join(list(unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=1))[2:])

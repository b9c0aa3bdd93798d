"""Entries of the audit log of a workspace: who, through what, did what to which."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple


class AuditAction(StrEnum):
    """What was done. The part before the dot says to what kind of thing."""

    BUNDLE_CREATE = "bundle.create"
    BUNDLE_CHANGE = "bundle.change"
    BUNDLE_DELETE = "bundle.delete"
    BUNDLE_IMPORT = "bundle.import"
    TOOL_ADD = "tool.add"
    TOOL_CHANGE = "tool.change"
    TOOL_DELETE = "tool.delete"
    TOGGLE_SET = "toggle.set"
    SERVER_APPROVE = "server.approve"
    LOGIN_STORE = "login.store"
    LOGIN_DELETE = "login.delete"
    SETTINGS_REPLACE = "settings.replace"
    SECRET_PUT = "secret.put"  # noqa: S105 - no password
    SECRET_DELETE = "secret.delete"  # noqa: S105 - no password
    KEY_CREATE = "key.create"
    KEY_REVOKE = "key.revoke"
    MEMBER_PUT = "member.put"
    MEMBER_REMOVE = "member.remove"
    GRANT_PUT = "grant.put"
    GRANT_REMOVE = "grant.remove"
    INVITATION_CREATE = "invitation.create"
    INVITATION_REVOKE = "invitation.revoke"
    INVITATION_ACCEPT = "invitation.accept"
    OWN_SECRET_PUT = "own_secret.put"  # noqa: S105 - no password
    OWN_SECRET_DELETE = "own_secret.delete"  # noqa: S105 - no password
    CLIENT_ALLOW = "client.allow"
    CLIENT_REVOKE = "client.revoke"
    CLIENT_REPLAY = "client.replay"
    WORKSPACE_CREATE = "workspace.create"
    WORKSPACE_LIMITS = "workspace.limits"
    WORKSPACE_DELETE = "workspace.delete"
    WORKSPACE_MOVE = "workspace.move"
    KEYS_REWRAP = "keys.rewrap"
    KEYS_ROTATE = "keys.rotate"


class AuditEntry(NamedTuple):
    """One change."""

    id: str
    """A UUID of version 7: entries sort by time."""
    at: float
    """Seconds since the epoch, in milliseconds."""
    actor: str
    """The id of the principal."""
    interface: str
    """Through which the request came: `rest`, `mcp`, `cli`, `job`, or `process` without a request."""
    action: str
    """One of AuditAction, or of a later version."""
    target: str
    """What was changed: an id, or a name. A tool is `BUNDLE/SLUG/VERSION`."""
    detail: Mapping[str, Any]
    """More about the change. Never the value of a secret."""


class AuditFilter(NamedTuple):
    """Which entries a listing contains. None: any."""

    actor: str | None = None
    action: str | None = None
    """An action, or all of a kind, such as `bundle`."""
    target: str | None = None
    """A target, or all that is below it, such as the tools of a bundle."""
    since: float | None = None
    until: float | None = None
    """Entries before this time."""


def entry_json(entry: AuditEntry) -> dict[str, Any]:
    """Return an entry as JSON, for the CLI and REST."""
    return entry._asdict()

"""The settings of a setup, merged into the user's: what is new, what differs, what is less strict."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from onetool.files.safe_yaml import parse_yaml
from onetool.settings.schema import Settings
from onetool.settings.server_schema import ServerSettings
from onetool.settings.yaml_editor import set_value

Status = Literal["new", "changed", "same"]
UNITED = frozenset((("allowedHosts",), ("approval", "allow"), ("approval", "deny")))
"""Lists to which a setup adds items; nothing of the user is removed."""
TOOLS = "tools"
"""The key with a list of definitions, which are compared by name."""
STRICTNESS = ("allow", "ask", "deny")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """One entry of the settings: a top-level key, or an entry of a map."""

    path: tuple[str, ...]
    status: Status
    value: Any
    """The value to write."""

    @property
    def name(self) -> str:
        """The key as it is shown."""
        return ".".join(self.path)


def plan_changes(current: Mapping[str, Any], setup: Mapping[str, Any]) -> list[SettingChange]:
    """Return every entry of a setup, compared with the present settings."""
    changes: list[SettingChange] = []
    for key, value in setup.items():
        if isinstance(value, Mapping):
            present = current.get(key) or {}
            changes += [_compare((key, name), present.get(name), item) for name, item in value.items()]
        elif key == TOOLS:
            present = {_tool_name(tool): tool for tool in current.get(key) or ()}
            changes += [
                _compare((key, name), present.get(name), tool)
                for tool in value or ()
                if (name := _tool_name(tool))
            ]
        else:
            changes.append(_compare((key,), current.get(key), value))
    return changes


def select_changes(changes: Sequence[SettingChange], *, replace: bool) -> list[SettingChange]:
    """Return the changes to write: what is new, and what differs only if the user wants to replace it."""
    statuses = ("new", "changed") if replace else ("new",)
    return [change for change in changes if change.status in statuses]


def apply_changes(file: Path, text: str, changes: Sequence[SettingChange]) -> str:
    """Return the text of a settings file with the changes. Everything else stays, including comments.

    Raises:
        SettingsError: The file uses a style that cannot be edited.
    """
    current = parse_yaml(file, text.encode()).value or {}
    merged = merged_settings(current, changes)
    for change in changes:
        key = change.path[0]
        if len(change.path) == 1 or key == TOOLS:
            text = set_value(file, text, (key,), merged[key])
        else:
            text = set_value(file, text, change.path, change.value)
    return text


def merged_settings(current: Mapping[str, Any], changes: Sequence[SettingChange]) -> dict[str, Any]:
    """Return the settings with the changes."""
    merged = dict(current)
    for change in changes:
        key = change.path[0]
        if len(change.path) == 1:
            merged[key] = change.value
        elif key == TOOLS:
            merged[key] = _with_tool(merged.get(key) or [], change.path[1], change.value)
        else:
            merged[key] = {**(merged.get(key) or {}), change.path[1]: change.value}
    return merged


def _with_tool(tools: Sequence[Any], name: str, definition: Any) -> list[Any]:
    """Return the definitions of tools with one replaced or added."""
    if name in map(_tool_name, tools):
        return [definition if _tool_name(tool) == name else tool for tool in tools]
    return [*tools, definition]


def _tool_name(tool: Any) -> str:
    return str(tool.get("name", "")) if isinstance(tool, Mapping) else ""


def loosened_rules(own: Settings, merged: Settings) -> Iterator[str]:
    """Yield what would be less strict than before: approval, sandboxes and the review of definitions."""
    for pattern in merged.approval.allow:
        if pattern not in own.approval.allow:
            yield f"approval.allow: tools that match {pattern!r} would run without approval"
    if STRICTNESS.index(merged.approval.mcp) < STRICTNESS.index(own.approval.mcp):
        yield f"approval.mcp: {merged.approval.mcp} instead of {own.approval.mcp}"
    yield from _loosened_records_and_hosts(own, merged)
    for name, server in merged.servers.items():
        before = own.servers.get(name, ServerSettings())
        if server != own.servers.get(name):
            yield from _loosened_server(name, server)
            yield from (*_removed_limits(name, before, server), *_removed_values(name, before, server))
    for name in merged.profiles.keys() & own.profiles.keys():
        if merged.profiles[name] != own.profiles[name]:
            yield f"profiles.{name}: your profile would be replaced"


def _loosened_records_and_hosts(own: Settings, merged: Settings) -> Iterator[str]:
    for key, was, is_now in (
        ("stats.enabled", own.stats.enabled, merged.stats.enabled),
        ("activity.enabled", own.activity.enabled, merged.activity.enabled),
    ):
        if was and not is_now:
            yield f"{key}: false, so calls would not be recorded"
    for host in merged.allowedHosts:
        if "*" in host and host not in own.allowedHosts:
            yield f"allowedHosts: stored HTTP tools could reach all hosts that match {host!r}"


def _loosened_server(name: str, server: ServerSettings) -> Iterator[str]:
    if server.command and not server.sandbox:
        yield f"servers.{name}: the command would run without a sandbox, with all your rights"
    for grant in server.paths:
        may = "read and change" if grant.write else "read"
        yield f"servers.{name}: the command could {may} {grant.path}"
    if server.trust_annotations:
        yield f"servers.{name}: its tools would count as read-only if the server says so"
    if server.new_tools == "allow":
        yield f"servers.{name}: tools that the server adds later would not be quarantined"
    if server.sampling == "ask":
        yield f"servers.{name}: the server could ask to use your model"


def _removed_limits(name: str, before: ServerSettings, server: ServerSettings) -> Iterator[str]:
    """Yield which tools and arguments of a server would not be limited any more."""
    if server.enabled and not before.enabled:
        yield f"servers.{name}: the server, which you disabled, would be enabled"
    for pattern in before.exclude:
        if pattern not in server.exclude:
            yield f"servers.{name}.exclude: tools that match {pattern!r} would not be hidden any more"
    if before.include is not None and (
        server.include is None or not set(server.include) <= set(before.include)
    ):
        yield f"servers.{name}.include: more tools would be available"


def _removed_values(name: str, before: ServerSettings, server: ServerSettings) -> Iterator[str]:
    for tool, override in before.tools.items():
        fixed = server.tools[tool].fixed if tool in server.tools else {}
        for argument, value in override.fixed.items():
            if argument not in fixed or fixed[argument] != value:
                yield f"servers.{name}.tools.{tool}.fixed: your value of {argument} would be removed"
        if tool not in server.tools:
            yield f"servers.{name}.tools.{tool}: your changes of the tool would be removed"


def _compare(path: tuple[str, ...], present: Any, value: Any) -> SettingChange:
    if path in UNITED:
        added = [item for item in value or () if item not in (present or ())]
        return SettingChange(path=path, status="new" if added else "same", value=[*(present or ()), *added])
    status: Status = "new" if present is None else "same" if present == value else "changed"
    return SettingChange(path=path, status=status, value=value)

"""Tools built from the definitions of a server."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from onetool.domain.content.text_results import is_text_schema, text_output_schema
from onetool.domain.page import Page
from onetool.domain.policy.name_filter import NameFilter
from onetool.domain.servers.instructions import InstructionsReview, ServerInstructions
from onetool.domain.servers.manifest import (
    ServerManifest,
    ToolAccess,
    quarantine_reason,
    tool_access,
)
from onetool.domain.servers.pinned_list import PinnedList
from onetool.domain.servers.server_item import ItemKind, ListedItem, ServerItem
from onetool.domain.servers.server_tool import ServerTool
from onetool.domain.text.json_text import encode
from onetool.domain.tools.registry import Registry
from onetool.domain.tools.tool import JsonSchema, Runner, Tool, ToolSpec
from onetool.settings.server_schema import ServerSettings

Scan = Callable[[str], list[str]]
"""Returns the signs of prompt injection in a text."""
MAX_FINDINGS = 3
DEFAULT_TIMEOUT_S = 60.0


def no_findings(text: str) -> list[str]:
    """Return no findings."""
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTools:
    """The tools of a server and their quarantine reasons."""

    registry: Registry = field(default_factory=Registry)
    quarantined: Mapping[str, str] = field(default_factory=dict)
    """The quarantine reason of each tool, by its name on the server; empty if it is not quarantined."""
    access: Sequence[ToolAccess] = ()
    """Which tools are treated as read-only, and why."""
    output_schemas: Mapping[str, JsonSchema | None] = field(default_factory=dict)
    """The output schema of each tool as the server declares it, by its name on the server."""
    by_name: Mapping[str, Tool] = field(default_factory=dict)
    """Each tool by its name on the server."""
    instructions: InstructionsReview = field(default_factory=InstructionsReview)
    """The instructions of the server that are in use or quarantined."""
    items: Mapping[ItemKind, Mapping[str, ListedItem]] = field(default_factory=dict)
    """Resources, templates and prompts, by their URI, URI template or name on the server."""
    listed: Collection[str] | None = None
    """The names of all tools that the server lists, also excluded ones; None if it never listed any."""
    has_apps: bool = False
    """Whether a tool has an app."""

    def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        """Return up to `limit` tools after an opaque cursor, in the server's order."""
        start = int(cursor or 0)
        end = start + limit
        return Page(self.registry.slice(start, end), str(end) if end < len(self.registry) else None)


class ToolFactory:
    """Builds tools from definitions, filtered by the server's settings."""

    def __init__(
        self, server: str, settings: ServerSettings, scan: Scan, make_runner: Callable[[str], Runner]
    ) -> None:
        self._server, self._settings, self._scan, self._make_runner = server, settings, scan, make_runner
        self.endpoint = server_endpoint(settings)
        """A digest of the server's URL; empty if it has none."""
        self._findings: Mapping[str, list[str]] = {}
        """Findings by the pin of the definition."""

    def scan(self, definitions: Sequence[ServerTool | ServerItem]) -> None:
        """Scan definitions in advance: a scan is slow, and `build` runs while the manifest is locked."""
        findings = {
            item.pin: self._find(item)
            for item in definitions
            if isinstance(item, ServerItem) or self._is_included(item.name)
        }
        self._findings = {**self._findings, **findings}

    def build(self, manifest: ServerManifest | None) -> ServerTools:
        """Return the included tools. Quarantined ones are disabled."""
        if manifest is None:
            return ServerTools()
        registry, quarantined = Registry(), dict[str, str]()
        included = [tool for tool in manifest.tools if self._is_included(tool.name)]
        definitions: list[ServerTool | ServerItem] = [*included]
        definitions += [item for listed in manifest.items.values() for item in listed.items]
        self._findings = {item.pin: self._find(item) for item in definitions}
        access = [
            replace(
                tool_access(manifest, tool, self._settings.trust_annotations),
                function=manifest.names[tool.name],
            )
            for tool in included
        ]
        for tool, granted in zip(included, access, strict=True):
            reason = quarantine_reason(
                manifest, tool, self._findings[tool.pin], allow_new=self._settings.new_tools == "allow"
            )
            quarantined[tool.name] = f"{reason}: onetool servers approve {self._server}" if reason else ""
            spec = self._spec(granted, manifest.names[tool.name], quarantined[tool.name])
            runner = self._make_runner(tool.name)
            registry.add(Tool(spec, runner, definition=tool.definition, endpoint=self.endpoint))
        return ServerTools(
            registry=registry,
            quarantined=quarantined,
            access=access,
            output_schemas={tool.name: tool.output_schema for tool in included},
            by_name={tool.name: built for tool, built in zip(included, registry, strict=True)},
            listed=[tool.name for tool in manifest.tools],
            has_apps=any(tool.has_app for tool in included),
            instructions=self._review(manifest.instructions),
            items={kind: self._list(listed) for kind, listed in manifest.items.items()},
        )

    def _list(self, listed: PinnedList) -> Mapping[str, ListedItem]:
        entries = {}
        for item in listed.items:
            reason = listed.reason(item, self._findings[item.pin])
            command = f"{reason}: onetool servers approve {self._server}" if reason else ""
            entries[item.key] = ListedItem(item, listed.names.get(item.key, ""), command)
        return entries

    def _spec(self, access: ToolAccess, name: str, reason: str) -> ToolSpec:
        tool, schema = access.tool, access.tool.output_schema
        is_text = is_text_schema(schema)
        return ToolSpec(
            name=f"{self._server}.{name}",
            title=tool.title,
            description=tool.description,
            input_schema=tool.input_schema,
            output_schema=text_output_schema(schema) if schema and is_text else schema,
            return_type="str" if is_text else "",
            impl="proxy",
            origin="proxy",
            source=f"proxy:{self._server}",
            enabled=not reason,
            disabled_reason=reason,
            timeout=self._settings.timeout_s,
            default_timeout=DEFAULT_TIMEOUT_S,
            read_only=access.read_only,
            app_only=tool.is_app_only,
            has_app=tool.has_app,
        )

    def _review(self, instructions: ServerInstructions | None) -> InstructionsReview:
        review = instructions.review(self._scan) if instructions else InstructionsReview()
        command = f": onetool servers approve {self._server}"
        return replace(review, reason=review.reason + command) if review.reason else review

    def _is_included(self, name: str) -> bool:
        filter = NameFilter(self._settings.include, self._settings.exclude)
        return filter.hiding_rule(name, "servers") is None

    def find(self, text: str) -> list[str]:
        """Return the signs of prompt injection in a text."""
        return self._scan(text)[:MAX_FINDINGS]

    def _find(self, item: ServerTool | ServerItem) -> list[str]:
        if item.pin in self._findings:
            return self._findings[item.pin]
        findings = dict.fromkeys(finding for text in item.texts() for finding in self._scan(text))
        return list(findings)[:MAX_FINDINGS]


def server_endpoint(settings: ServerSettings) -> str:
    """Return a digest of the URL and the headers of a server, without secrets; empty if it has no URL."""
    if settings.url is None:
        return ""
    return sha256(encode([settings.url, sorted(settings.headers.items())])).hexdigest()

"""Tools built from the definitions of a server."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from onetool.domain.servers.manifest import (
    ServerManifest,
    ServerTool,
    ToolAccess,
    python_names,
    quarantine_reason,
    tool_access,
)
from onetool.domain.servers.text_results import is_text_schema, text_output_schema
from onetool.domain.tools.registry import Registry
from onetool.domain.tools.tool import JsonSchema, Runner, Tool, ToolSpec
from onetool.settings.schema import ServerSettings

Scan = Callable[[str], list[str]]
"""Returns the signs of prompt injection in a text."""
MAX_FINDINGS = 3


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


class ToolFactory:
    """Builds tools from definitions, filtered by the server's settings."""

    def __init__(
        self, server: str, settings: ServerSettings, scan: Scan, make_runner: Callable[[str], Runner]
    ) -> None:
        self._server, self._settings, self._scan, self._make_runner = server, settings, scan, make_runner
        self._findings: Mapping[str, list[str]] = {}
        """Findings by the pin of the definition."""

    def scan(self, tools: Sequence[ServerTool]) -> None:
        """Scan definitions in advance: a scan is slow, and `build` runs while the manifest is locked."""
        findings = {tool.pin: self._scan_tool(tool) for tool in tools if self._is_included(tool.name)}
        self._findings = {**self._findings, **findings}

    def build(self, manifest: ServerManifest | None) -> ServerTools:
        """Return the included tools. Quarantined ones are disabled."""
        if manifest is None:
            return ServerTools()
        names, registry, quarantined = python_names(manifest), Registry(), {}
        included = [tool for tool in manifest.tools if self._is_included(tool.name)]
        self._findings = {tool.pin: self._scan_tool(tool) for tool in included}
        access = [tool_access(manifest, tool, self._settings.trust_annotations) for tool in included]
        for tool, granted in zip(included, access, strict=True):
            reason = quarantine_reason(
                manifest, tool, self._findings[tool.pin], allow_new=self._settings.new_tools == "allow"
            )
            quarantined[tool.name] = f"{reason}: onetool servers approve {self._server}" if reason else ""
            spec = self._spec(granted, names[tool.name], quarantined[tool.name])
            registry.register(Tool(spec, self._make_runner(tool.name)))
        schemas = {tool.name: tool.output_schema for tool in included}
        return ServerTools(registry=registry, quarantined=quarantined, access=access, output_schemas=schemas)

    def _spec(self, access: ToolAccess, name: str, reason: str) -> ToolSpec:
        tool, schema = access.tool, access.tool.output_schema
        is_text = is_text_schema(schema)
        return ToolSpec(
            name=f"{self._server}.{name}",
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
            read_only=access.read_only,
        )

    def _is_included(self, name: str) -> bool:
        include, exclude = self._settings.include, self._settings.exclude
        matches = include is None or any(fnmatchcase(name, pattern) for pattern in include)
        return matches and not any(fnmatchcase(name, pattern) for pattern in exclude)

    def _scan_tool(self, tool: ServerTool) -> list[str]:
        if tool.pin in self._findings:
            return self._findings[tool.pin]
        findings = dict.fromkeys(finding for text in tool.texts() for finding in self._scan(text))
        return list(findings)[:MAX_FINDINGS]

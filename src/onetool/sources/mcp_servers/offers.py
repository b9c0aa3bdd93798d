"""The tools of a server as OneTool offers them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from onetool.domain.manifest import Definition, Manifest, python_names, why_held_back
from onetool.domain.registry import Registry
from onetool.domain.tool import Runner, Tool, ToolSpec
from onetool.settings.schema import Server

Scan = Callable[[str], list[str]]
"""Finds what in a text gives orders to the model."""
MOST_FINDINGS = 3


def nothing_found(text: str) -> list[str]:
    """Find nothing."""
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """What there is to call, and what may not be called."""

    registry: Registry = field(default_factory=Registry)
    held: Mapping[str, str] = field(default_factory=dict)
    """For each tool, by its name at the server, why it may not be used; nothing where it may."""


class Offers:
    """Makes tools of definitions, by the operator's rules."""

    def __init__(
        self, server: str, settings: Server, scan: Scan, make_runner: Callable[[str], Runner]
    ) -> None:
        self._server, self._settings, self._scan, self._make_runner = server, settings, scan, make_runner
        self._found: Mapping[str, list[str]] = {}

    def look_at(self, tools: Sequence[Definition]) -> None:
        """Scan definitions beforehand: that takes a while, and whoever keeps them holds others up."""
        found = {tool.pin: self._findings(tool) for tool in tools if self._is_wanted(tool.name)}
        self._found = {**self._found, **found}

    def of(self, manifest: Manifest | None) -> Offered:
        """Return all tools that the operator lets through, disabled where they are held back."""
        if manifest is None:
            return Offered()
        names, registry, held = python_names(manifest), Registry(), {}
        wanted = [tool for tool in manifest.tools if self._is_wanted(tool.name)]
        self._found = {tool.pin: self._findings(tool) for tool in wanted}
        for tool in wanted:
            why = why_held_back(manifest, tool, self._found[tool.pin])
            held[tool.name] = f"{why}: onetool servers approve {self._server}" if why else ""
            spec = self._spec(tool, names[tool.name], held[tool.name])
            registry.register(Tool(spec, self._make_runner(tool.name)))
        return Offered(registry=registry, held=held)

    def _spec(self, tool: Definition, called: str, held: str) -> ToolSpec:
        return ToolSpec(
            name=f"{self._server}.{called}",
            description=tool.description,
            input_schema=tool.input_schema,
            output_schema=tool.output_schema,
            impl="proxy",
            origin="proxy",
            source=f"proxy:{self._server}",
            enabled=not held,
            disabled_reason=held,
            timeout=self._settings.timeout_s,
            changes=tool.changes,
        )

    def _is_wanted(self, name: str) -> bool:
        include, exclude = self._settings.include, self._settings.exclude
        is_included = include is None or any(fnmatchcase(name, pattern) for pattern in include)
        return is_included and not any(fnmatchcase(name, pattern) for pattern in exclude)

    def _findings(self, tool: Definition) -> list[str]:
        if tool.pin in self._found:
            return self._found[tool.pin]
        found = dict.fromkeys(finding for text in tool.texts() for finding in self._scan(text))
        return list(found)[:MOST_FINDINGS]

"""The tools of a server with the changes that the settings make to them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onetool.domain.errors import InvalidTool
from onetool.domain.http.urls import InvalidUrl, parse_url
from onetool.domain.text.identifiers import MAX_NAME_LENGTH, safe_name
from onetool.domain.text.suggestions import did_you_mean
from onetool.domain.tools.json_schema import compile_schema, describe_problems
from onetool.domain.tools.preset_args import PresetArgs, parameter_names, unknown_names
from onetool.domain.tools.registry import Registry
from onetool.domain.tools.tool import JsonSchema, Tool
from onetool.settings.secrets import Secrets
from onetool.settings.server_schema import ServerSettings, ToolOverride

from .errors import ServerUnavailable, as_fragment
from .tool_factory import ServerTools
from .transport.secret_values import resolve_fixed


@dataclass(frozen=True, slots=True, kw_only=True)
class OverriddenTools:
    """The tools of a server as callers see them, and what is wrong with their overrides."""

    tools: ServerTools
    problems: Sequence[str] = ()
    """Overrides that disable their tool: the setting, and what is wrong."""
    warnings: Sequence[str] = ()
    """Overrides of tools that the server does not list."""


class _InvalidOverride(ValueError):
    """An override disables its tool. The message is a fragment without a full stop."""


class ToolOverrides:
    """Applies the overrides of one server. Their keys are the names on the server."""

    def __init__(
        self, server: str, settings: ServerSettings, secrets: Secrets, redact: Callable[[str], str]
    ) -> None:
        self._server, self._settings, self._secrets, self._redact = server, settings, secrets, redact

    def apply(self, original: ServerTools) -> OverriddenTools:
        """Return the tools with the new definitions. A tool whose override is invalid is disabled."""
        shown = original.by_name
        problems: dict[str, str] = {}
        names = self._names(shown, problems)
        registry = Registry()
        for name, tool in shown.items():
            registry.add(self._override(name, tool, names[name], problems))
        access = [
            replace(item, function=names[item.tool.name], problem=problems.get(item.tool.name, ""))
            for item in original.access
        ]
        return OverriddenTools(
            tools=replace(original, registry=registry, access=access),
            problems=[problems[name] for name in shown if name in problems],
            warnings=self._warnings(original),
        )

    def _names(self, shown: Mapping[str, Tool], problems: dict[str, str]) -> dict[str, str]:
        """Return the function name of each tool. A tool whose new name is invalid or taken keeps its own."""
        own = {name: _function(tool) for name, tool in shown.items()}
        names, new = dict(own), {name: text for name in shown if (text := self._get(name).name) is not None}
        wanted = Counter(new.values())
        for name, text in new.items():
            others = [other for other in shown if other != name and own[other] == text]
            if safe_name(text) != text:
                problem = f"the new name {text[:MAX_NAME_LENGTH]!r} is not valid: use a Python identifier"
            elif others or wanted[text] > 1:
                taken = f"by the tool {others[0]!r}" if others else "twice in these settings"
                problem = f"the new name {text!r} is taken {taken}"
            else:
                names[name] = text
                continue
            problems[name] = self._describe(name, problem)
        return names

    def _override(self, name: str, tool: Tool, function: str, problems: dict[str, str]) -> Tool:
        override = self._get(name)
        changes: dict[str, Any] = {"name": f"{self._server}.{function}", "handler": ""}
        fields: dict[str, Any] = {} if override.name is None else {"name": override.name}
        if override.title is not None:
            changes["title"] = fields["title"] = override.title
        if override.description is not None:
            changes["description"] = fields["description"] = override.description
        preset = None
        if override.fixed or override.defaults:
            try:
                preset = self._preset(override, tool.spec.input_schema)
                changes["input_schema"] = fields["inputSchema"] = preset.shown_schema()
            except _InvalidOverride as error:
                problems.setdefault(name, self._describe(name, str(error)))
        if name in problems:
            changes |= {"enabled": False, "disabled_reason": tool.spec.disabled_reason or problems[name]}
        definition = {**(tool.definition or {}), **fields}
        return replace(tool, spec=replace(tool.spec, **changes), preset=preset, definition=definition)

    def _preset(self, override: ToolOverride, schema: JsonSchema) -> PresetArgs:
        """Return the added arguments, checked as far as they can be without those of a caller."""
        try:
            validator = compile_schema(schema)
            fixed = resolve_fixed(override.fixed, self._secrets, self._host())
        except (ServerUnavailable, InvalidUrl, InvalidTool) as error:
            raise _InvalidOverride(as_fragment(error)) from None
        added = {**fixed, **override.defaults}
        if unknown := unknown_names(schema, added):
            names = parameter_names(schema)
            hint = did_you_mean(unknown[0], names) or f" Valid: {', '.join(names) or 'none'}."
            raise _InvalidOverride(f"the tool has no parameter {unknown[0]!r}.{hint}".removesuffix("."))
        if problem := describe_problems(validator, schema, added, is_complete=False):
            raise _InvalidOverride(f"a value does not match the schema of the tool: {problem}")
        return PresetArgs(schema=schema, fixed=fixed, defaults=override.defaults)

    def _warnings(self, original: ServerTools) -> list[str]:
        listed = original.listed
        if listed is None:
            return []
        return [
            self._describe(
                name, f"the server lists no such tool.{did_you_mean(name, listed)}".removesuffix(".")
            )
            for name in self._settings.tools
            if name not in listed
        ]

    def _host(self) -> str | None:
        return None if self._settings.url is None else parse_url(self._settings.url).host

    def _get(self, name: str) -> ToolOverride:
        return self._settings.tools.get(name, NO_OVERRIDE)

    def _describe(self, name: str, problem: str) -> str:
        return self._redact(f"servers.{self._server}.tools.{name}: {problem}")


NO_OVERRIDE = ToolOverride()


def _function(tool: Tool) -> str:
    return tool.spec.name.partition(".")[2]

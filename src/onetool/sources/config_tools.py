"""Tools defined in the settings. Each is validated on its own; invalid ones are skipped."""

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

from onetool.domain.calls.invocation import Invocation
from onetool.domain.errors import DuplicateTool, InvalidTool, SettingsError
from onetool.domain.text.json_text import is_json
from onetool.domain.text.suggestions import did_you_mean
from onetool.domain.tools.registry import Registry, check_input_schema
from onetool.domain.tools.tool import Tool, ToolSpec, any_matches
from onetool.files.fingerprint import fingerprint
from onetool.settings.configuration import ConfiguredTool
from onetool.threads import Threads

log = logging.getLogger(__name__)

HTTP_UNSUPPORTED = "HTTP tools not yet supported (coming in v2)"
HTTP_INSTEAD = "Put it into a bundle, or describe its API with OpenAPI, and run: onetool import FILE"
DENIED = "denied by approval.deny in the settings"
KEYS = ("name", "description", "type", "handler", "parameters", "implementation")
MAX_NAME_LENGTH = 128

Handlers = Mapping[str, Set[str]]
"""Valid handlers by implementation type: `builtin` for packaged tools, `internal` for services."""


class ConfigToolReader:
    """Reads the `tools:` of the settings files."""

    name = "config"

    def __init__(
        self,
        definitions: Sequence[ConfiguredTool],
        *,
        files: Sequence[Path],
        read: Callable[[], Sequence[ConfiguredTool]],
        handlers: Handlers,
        threads: Threads,
    ) -> None:
        self._definitions: Sequence[ConfiguredTool] | None = definitions
        self._files, self._reload = [str(file) for file in files], read
        self._handlers, self._threads = handlers, threads
        self._registry = Registry()
        self._start_generation = self.generation()

    def generation(self) -> Hashable:
        """Return a value that changes when a settings file changes."""
        return tuple([fingerprint(file) for file in self._files])

    async def read(self) -> Registry:
        """Register every valid definition. If a file became invalid, return the previous tools."""
        definitions, self._definitions = self._definitions, None
        try:
            if definitions is None or self.generation() != self._start_generation:
                definitions = await self._threads.run(self._reload)
        except SettingsError as error:
            log.error("settings are invalid; previous configured tools stay active: %s", error)
            return self._registry
        self._registry = await self._threads.run(register, definitions, self._handlers)
        return self._registry


def register(definitions: Sequence[ConfiguredTool], handlers: Handlers) -> Registry:
    """Validate and register definitions in order. Log, skip and list the invalid ones."""
    registry = Registry()
    for definition in definitions:
        try:
            tool = make_tool(definition.value, handlers)
            registry.add(_denied(tool) if _is_denied(tool.spec, definition.deny) else tool)
        except InvalidTool as error:
            name = definition.value.get("name") if isinstance(definition.value, dict) else None
            kind = "duplicate tool" if isinstance(error, DuplicateTool) else "tool"
            message = f"{definition.location}: skipped {kind} {name!r}: {error}"
            log.error("%s", message)
            if str(error) == HTTP_UNSUPPORTED:
                log.error("%s: %r: %s", definition.location, name, HTTP_INSTEAD)
                message = f"{message}. {HTTP_INSTEAD}"
            registry.skipped_tools.append(message)
    return registry


def make_tool(definition: Any, handlers: Handlers) -> Tool:
    """Build a tool from one definition.

    Raises:
        InvalidTool: The definition is invalid.
    """
    if not isinstance(definition, dict):
        raise InvalidTool(f"a tool must be a mapping with {', '.join(KEYS)}, not {definition!r}")
    implementation = definition.get("implementation")
    kind = implementation.get("type") if isinstance(implementation, dict) else None
    if kind == "http":
        raise InvalidTool(HTTP_UNSUPPORTED)
    _check_fields(definition)
    if not isinstance(implementation, dict) or not isinstance(kind, str):
        raise InvalidTool("implementation must be a mapping with a type: mock, builtin or internal")
    check_input_schema(definition.get("parameters"))
    if kind == "mock":
        return _mock_tool(definition, implementation)
    if kind not in handlers:
        raise InvalidTool(f"unknown implementation type {kind!r}. Valid: mock, {', '.join(handlers)}.")
    return _handler_tool(definition, kind, implementation, handlers[kind])


def _is_denied(spec: ToolSpec, deny: Sequence[str]) -> bool:
    return any_matches(deny, (*spec.names, spec.handler))


def _denied(tool: Tool) -> Tool:
    return replace(tool, spec=replace(tool.spec, enabled=False, disabled_reason=DENIED))


def _check_fields(definition: Mapping[str, Any]) -> None:
    for field in ("name", "description", "handler"):
        value = definition.get(field)
        if not isinstance(value, str) or not value.strip():
            raise InvalidTool(f"{field} must be a non-empty string, not {value!r}")
    name = definition["name"]
    if len(name) > MAX_NAME_LENGTH or not name.isprintable() or "@" in name:
        raise InvalidTool(f"name must be printable, without @, and at most {MAX_NAME_LENGTH} characters")
    if definition.get("type") != "function":
        raise InvalidTool(f"type must be 'function', not {definition.get('type')!r}")
    if unknown := [key for key in definition if key not in KEYS]:
        raise InvalidTool(f"unknown key {unknown[0]!r}.{did_you_mean(str(unknown[0]), KEYS)}")


def _mock_tool(definition: Mapping[str, Any], implementation: Mapping[str, Any]) -> Tool:
    if "mock_response" not in implementation:
        raise InvalidTool("an implementation of type 'mock' requires mock_response")
    response = implementation["mock_response"]
    if not is_json(response):
        raise InvalidTool("mock_response contains a value that JSON cannot represent, such as a date or .nan")

    async def run(args: Mapping[str, Any], invocation: Invocation) -> Any:
        return deepcopy(response)

    return Tool(_spec(definition, "mock"), run)


def _handler_tool(
    definition: Mapping[str, Any], kind: str, implementation: Mapping[str, Any], handlers: Set[str]
) -> Tool:
    handler = implementation.get("handler")
    if not isinstance(handler, str) or not handler:
        raise InvalidTool(f"an implementation of type {kind!r} requires a handler")
    if handler not in handlers:
        raise InvalidTool(f"unknown {kind} handler {handler!r}.{did_you_mean(handler, handlers)}")
    if definition["handler"] != handler:
        log.warning(
            "tool %r: implementation.handler %r overrides handler %r",
            definition["name"],
            handler,
            definition["handler"],
        )
    return Tool(_spec(definition, kind, handler))


def _spec(definition: Mapping[str, Any], impl: Any, handler: str = "") -> ToolSpec:
    return ToolSpec(
        name=definition["name"],
        description=definition["description"],
        input_schema=definition["parameters"],
        handler=handler,
        impl=impl,
        origin="config",
    )

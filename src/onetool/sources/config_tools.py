"""Tools defined in the settings: checked one by one, so that a broken one harms no other."""

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from copy import deepcopy
from pathlib import Path
from typing import Any

from onetool.domain.errors import DuplicateTool, InvalidTool, SettingsError
from onetool.domain.invocation import Invocation
from onetool.domain.json_text import is_json
from onetool.domain.nearest import did_you_mean
from onetool.domain.registry import Registry
from onetool.domain.schemas import compile_schema
from onetool.domain.tool import Tool, ToolSpec
from onetool.files.stamp import stamp
from onetool.settings.configuration import Definition
from onetool.threads import Threads

log = logging.getLogger(__name__)

HTTP_REFUSED = "HTTP tools not yet supported (coming in v2)"
KNOWN = ("name", "description", "type", "handler", "parameters", "implementation")
LONGEST_NAME = 128

Handlers = Mapping[str, Set[str]]
"""The functions that each implementation type may name: `builtin` packaged tools, `internal` services."""


class ConfigTools:
    """The `tools:` of the settings files, read again when one of them changes."""

    name = "config"

    def __init__(
        self,
        definitions: Sequence[Definition],
        *,
        files: Sequence[Path],
        read: Callable[[], Sequence[Definition]],
        handlers: Handlers,
        threads: Threads,
    ) -> None:
        self._definitions: Sequence[Definition] | None = definitions
        self._files, self._read_again = [str(file) for file in files], read
        self._handlers, self._threads = handlers, threads
        self._last = Registry()

    def generation(self) -> Hashable:
        """Moves when a settings file does."""
        return tuple([stamp(file) for file in self._files])

    async def read(self) -> Registry:
        """Register every valid definition; a file that became unreadable leaves the last ones standing."""
        definitions, self._definitions = self._definitions, None
        try:
            if definitions is None:
                definitions = await self._threads.run(self._read_again)
        except SettingsError as error:
            log.error("the tools in the settings stay as they were: %s", error)
            return self._last
        self._last = await self._threads.run(register, definitions, self._handlers)
        return self._last


def register(definitions: Sequence[Definition], handlers: Handlers) -> Registry:
    """Check and register definitions in order; what is invalid is logged as an error and left out."""
    registry = Registry()
    for definition in definitions:
        try:
            tool = make_tool(definition.value, handlers)
            registry.register(tool)
        except InvalidTool as error:
            name = definition.value.get("name") if isinstance(definition.value, dict) else None
            kind = "duplicate tool" if isinstance(error, DuplicateTool) else "tool"
            log.error("%s: %s %r is left out: %s", definition.place, kind, name, error)
            if str(error) == HTTP_REFUSED:
                log.error("%s: store %r as a bundle instead: that takes HTTP tools", definition.place, name)
    return registry


def make_tool(definition: Any, handlers: Handlers) -> Tool:
    """Turn one definition into a tool.

    Raises InvalidTool that says what is wrong, and what would be right.
    """
    if not isinstance(definition, dict):
        raise InvalidTool(f"a tool is a map with {', '.join(KNOWN)}, not {definition!r}")
    implementation = definition.get("implementation")
    kind = implementation.get("type") if isinstance(implementation, dict) else None
    if kind == "http":
        raise InvalidTool(HTTP_REFUSED)
    _check_shape(definition)
    if not isinstance(implementation, dict) or not isinstance(kind, str):
        raise InvalidTool("implementation must be a map with a type: mock, builtin or internal")
    _check_parameters(definition.get("parameters"))
    if kind == "mock":
        return _mock(definition, implementation)
    if kind not in handlers:
        raise InvalidTool(f"unknown implementation type {kind!r}. Valid: mock, {', '.join(handlers)}.")
    return _delegating(definition, kind, implementation, handlers[kind])


def _check_shape(definition: Mapping[str, Any]) -> None:
    for field in ("name", "description", "handler"):
        value = definition.get(field)
        if not isinstance(value, str) or not value.strip():
            raise InvalidTool(f"{field} must be a text that is not empty, not {value!r}")
    name = definition["name"]
    if len(name) > LONGEST_NAME or not name.isprintable() or "@" in name:
        raise InvalidTool(f"name must be printable, without @, and at most {LONGEST_NAME} characters long")
    if definition.get("type") != "function":
        raise InvalidTool(f"type must be 'function', not {definition.get('type')!r}")
    if unknown := [key for key in definition if key not in KNOWN]:
        raise InvalidTool(f"unknown key {unknown[0]!r}.{did_you_mean(str(unknown[0]), KNOWN)}")


def _check_parameters(parameters: Any) -> None:
    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        raise InvalidTool("parameters must be a JSON Schema of type 'object'")
    if not is_json(parameters):
        raise InvalidTool("parameters hold a value that JSON lacks; put it in quotes")
    try:
        compile_schema(parameters)
    except InvalidTool as error:
        raise InvalidTool(f"parameters are not valid JSON Schema: {error}") from None


def _mock(definition: Mapping[str, Any], implementation: Mapping[str, Any]) -> Tool:
    if "mock_response" not in implementation:
        raise InvalidTool("implementation of type 'mock' must have a mock_response")
    response = implementation["mock_response"]
    if not is_json(response):
        raise InvalidTool("mock_response holds a value that JSON lacks (a date, .nan, a key that is no text)")

    async def answer(args: Mapping[str, Any], invocation: Invocation) -> Any:
        return deepcopy(response)

    return Tool(_spec(definition, "mock"), answer)


def _delegating(
    definition: Mapping[str, Any], kind: str, implementation: Mapping[str, Any], known: Set[str]
) -> Tool:
    handler = implementation.get("handler")
    if not isinstance(handler, str) or not handler:
        raise InvalidTool(f"implementation of type {kind!r} must have a handler")
    if handler not in known:
        raise InvalidTool(f"unknown {kind} handler {handler!r}.{did_you_mean(handler, known)}")
    if definition["handler"] != handler:
        log.warning(
            "tool %r: implementation.handler %r is used, not handler %r",
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

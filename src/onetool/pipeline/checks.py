"""Arguments and output against their JSON Schemas; the arguments against their size."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from onetool.catalog.catalog import Resolved
from onetool.domain.errors import ExecutionError, InvalidArgs, InvalidTool, Reason, ToolNotFound
from onetool.domain.json_text import encode, jsonable
from onetool.domain.schemas import compile_schema, problems
from onetool.domain.tool import JsonSchema, Tool

if TYPE_CHECKING:
    from jsonschema_rs import Validator

    Compiled = dict[Tool, Validator]

KEPT = 4096
"""Compiled schemas that are kept at most."""


class Checks:
    """Checks with schemas that are compiled once."""

    def __init__(self, max_args_bytes: int) -> None:
        self._max_args_bytes = max_args_bytes
        self._inputs: Compiled = {}
        self._outputs: Compiled = {}

    def check_args(self, resolved: Resolved, args: Mapping[str, Any]) -> int:
        """Check the arguments against the tool's schema, and its worker's; return their size as JSON.

        Raises InvalidArgs, or ToolNotFound when a schema itself is broken.
        """
        size = self._size(resolved, args)
        self._check_input(resolved.tool, args)
        if resolved.worker is not resolved.tool:
            self._check_input(resolved.worker, args)
        return size

    def check_output(self, resolved: Resolved, output: Any) -> None:
        """Check what the tool returned, where there is a schema for it.

        Raises ExecutionError.
        """
        for tool in {resolved.tool, resolved.worker}:
            schema = tool.spec.output_schema
            if schema is None:
                continue
            if wrong := _output_problems(_compiled(self._outputs, tool, schema), schema, output):
                message = (
                    f"{resolved.tool.spec.name} returned something else than its output schema says: {wrong}"
                )
                raise ExecutionError(Reason.BAD_OUTPUT, message)

    def _check_input(self, tool: Tool, args: Mapping[str, Any]) -> None:
        schema = tool.spec.input_schema
        if wrong := problems(_compiled(self._inputs, tool, schema), schema, args):
            raise InvalidArgs(Reason.BAD_ARGS, f"Invalid arguments for {tool.spec.name}: {wrong}")

    def _size(self, resolved: Resolved, args: Mapping[str, Any]) -> int:
        name = resolved.tool.spec.name
        if not isinstance(args, dict):
            message = (
                f"Invalid arguments for {name}: a map of names to values is needed, not {type(args).__name__}"
            )
            raise InvalidArgs(Reason.BAD_ARGS, message)
        try:
            size = len(encode(args))
        except ValueError as error:
            raise InvalidArgs(Reason.BAD_ARGS, f"Invalid arguments for {name}: {error}") from None
        if size > self._max_args_bytes:
            message = (
                f"The arguments for {name} are {size} bytes long, "
                f"over execution.max_args_bytes ({self._max_args_bytes})."
            )
            raise InvalidArgs(Reason.TOO_LARGE_IN, message)
        return size


def _output_problems(validator: "Validator", schema: JsonSchema, output: Any) -> str:
    try:
        return problems(validator, schema, jsonable(output))
    except Exception as error:  # noqa: BLE001 - the text of a foreign object may raise anything
        return f"it cannot be written as JSON ({type(error).__name__})"


def _compiled(kept: "Compiled", tool: Tool, schema: JsonSchema) -> "Validator":
    if (validator := kept.get(tool)) is None:
        if len(kept) >= KEPT:
            kept.clear()
        try:
            validator = kept[tool] = compile_schema(schema)
        except InvalidTool as error:
            message = f"Tool not found: {tool.spec.name!r}, its schema is not valid JSON Schema: {error}"
            raise ToolNotFound(Reason.NOT_REGISTERED, message) from None
    return validator

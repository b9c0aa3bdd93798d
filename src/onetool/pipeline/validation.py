"""Validation of arguments and output against JSON Schemas, and the size limit of arguments."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from onetool.catalog.catalog import ResolvedTool
from onetool.domain.errors import ExecutionError, InvalidArgs, InvalidTool, Reason, ToolNotFound
from onetool.domain.text.json_text import encode, jsonable
from onetool.domain.tools.json_schema import compile_schema, describe_problems
from onetool.domain.tools.tool import JsonSchema, Tool

if TYPE_CHECKING:
    from jsonschema_rs import Validator

    ValidatorCache = dict[Tool, Validator]

MAX_CACHED = 4096
"""Maximum number of compiled schemas in each cache."""


class SchemaValidator:
    """Validates calls. Each schema is compiled once."""

    def __init__(self, max_args_bytes: int) -> None:
        self._max_args_bytes = max_args_bytes
        self._input_validators: ValidatorCache = {}
        self._output_validators: ValidatorCache = {}

    def validate_args(self, resolved: ResolvedTool, args: Mapping[str, Any]) -> int:
        """Validate arguments for the tool and for its implementation. Return their size as JSON in bytes.

        Raises:
            InvalidArgs: The arguments are too large or do not match a schema.
            ToolNotFound: A schema is invalid.
        """
        size = self._check_size(resolved, args)
        self._check_input(resolved.tool, args)
        if resolved.implementation is not resolved.tool:
            self._check_input(resolved.implementation, args)
        return size

    def validate_output(self, resolved: ResolvedTool, output: Any) -> None:
        """Validate the output of a tool, if it has an output schema.

        Raises:
            ExecutionError: The output does not match.
        """
        for tool in {resolved.tool, resolved.implementation}:
            schema = tool.spec.output_schema
            if schema is None:
                continue
            validator = _get_validator(self._output_validators, tool, schema)
            if problem := _output_problems(validator, schema, output):
                message = (
                    f"{resolved.tool.spec.name} returned a value that does not match its output schema: "
                    f"{problem}"
                )
                raise ExecutionError(Reason.BAD_OUTPUT, message)

    def _check_input(self, tool: Tool, args: Mapping[str, Any]) -> None:
        schema = tool.spec.input_schema
        if problem := describe_problems(_get_validator(self._input_validators, tool, schema), schema, args):
            raise InvalidArgs(Reason.BAD_ARGS, f"Invalid arguments for {tool.spec.name}: {problem}")

    def _check_size(self, resolved: ResolvedTool, args: Mapping[str, Any]) -> int:
        name = resolved.tool.spec.name
        if not isinstance(args, dict):
            message = (
                f"Invalid arguments for {name}: expected an object that maps names to values, "
                f"not {type(args).__name__}"
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
        return describe_problems(validator, schema, jsonable(output))
    except Exception as error:  # noqa: BLE001 - converting a foreign object may raise anything
        return f"it cannot be serialized as JSON ({type(error).__name__})"


def _get_validator(cache: "ValidatorCache", tool: Tool, schema: JsonSchema) -> "Validator":
    if (validator := cache.get(tool)) is None:
        if len(cache) >= MAX_CACHED:
            cache.clear()
        try:
            validator = cache[tool] = compile_schema(schema)
        except InvalidTool as error:
            message = (
                f"Tool not found: {tool.spec.name!r} has a schema that is not valid JSON Schema: {error}"
            )
            raise ToolNotFound(Reason.NOT_REGISTERED, message) from None
    return validator

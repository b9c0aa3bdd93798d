"""Validation of arguments and output against JSON Schemas, and the size limit of arguments."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from onetool.catalog.catalog import ResolvedTool
from onetool.domain.content.media import Media, find_media
from onetool.domain.errors import ExecutionError, InvalidArgs, InvalidTool, Reason, ToolNotFound
from onetool.domain.text.json_text import encode, encode_plain, jsonable
from onetool.domain.tools.json_schema import compile_schema, describe_problems
from onetool.domain.tools.media_args import encode_media
from onetool.domain.tools.tool import JsonSchema, Tool

if TYPE_CHECKING:
    from jsonschema_rs import Validator

    ValidatorCache = dict[Tool, Validator]

MAX_CACHED = 4096
"""Maximum number of compiled schemas in each cache."""


class ValidArgs(NamedTuple):
    """Arguments of a call that match the schema of its tool."""

    args: Mapping[str, Any]
    """The arguments, with those that the settings add, as they are approved and recorded."""
    encoded: Mapping[str, Any]
    """The same, or a copy with texts in place of media."""
    size: int
    """Size as JSON in bytes."""

    @property
    def plain(self) -> Mapping[str, Any]:
        """The encoded arguments for the validator, which accepts no subclasses of `str`."""
        return self.encoded if self.encoded is self.args else json.loads(encode(self.encoded))


class SchemaValidator:
    """Validates calls. Each schema is compiled once."""

    def __init__(self, max_args_bytes: int) -> None:
        self._max_args_bytes = max_args_bytes
        self._input_validators: ValidatorCache = {}
        self._output_validators: ValidatorCache = {}

    def validate_args(self, resolved: ResolvedTool, args: Mapping[str, Any]) -> ValidArgs:
        """Validate arguments for the tool and for its implementation. Add those of the settings.

        Raises:
            InvalidArgs: The arguments are too large, do not match a schema, or are fixed by the settings.
            ToolNotFound: A schema is invalid.
        """
        implementation = resolved.implementation
        preset = implementation.preset
        schema = implementation.spec.input_schema if preset is None else preset.schema
        valid = self._encode(resolved, schema, args)
        if implementation is not resolved.tool:
            self._check_input(resolved.tool, resolved.tool.spec.input_schema, valid.plain)
        if preset is not None:
            complete = preset.complete(resolved.tool.spec.name, args)
            valid = self._encode(resolved, schema, complete)
        self._check_input(implementation, schema, valid.plain)
        return valid

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

    def _check_input(self, tool: Tool, schema: JsonSchema, args: Mapping[str, Any]) -> None:
        if problem := describe_problems(_get_validator(self._input_validators, tool, schema), schema, args):
            raise InvalidArgs(Reason.BAD_ARGS, f"Invalid arguments for {tool.spec.name}: {problem}")

    def _encode(self, resolved: ResolvedTool, schema: JsonSchema, args: Mapping[str, Any]) -> ValidArgs:
        """Return arguments that are an object and not too large, with texts in place of media."""
        name = resolved.tool.spec.name
        if not isinstance(args, dict):
            message = (
                f"Invalid arguments for {name}: expected an object that maps names to values, "
                f"not {type(args).__name__}"
            )
            raise InvalidArgs(Reason.BAD_ARGS, message)
        encoded = args
        try:
            if (plain := encode_plain(args)) is None:
                if find_media(args):
                    args = jsonable(args, keep=Media)  # a copy that nothing else can change
                    encoded = encode_media(schema, args)
                plain = encode(encoded)
        except ValueError as error:
            raise InvalidArgs(Reason.BAD_ARGS, f"Invalid arguments for {name}: {error}") from None
        size = len(plain)
        if size > self._max_args_bytes:
            message = (
                f"The arguments for {name} are {size} bytes long, "
                f"over execution.max_args_bytes ({self._max_args_bytes})."
            )
            raise InvalidArgs(Reason.TOO_LARGE_IN, message)
        return ValidArgs(args, encoded, size)


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

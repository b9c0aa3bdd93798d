"""Runs stored tools that are made of code."""

import logging
from collections.abc import Mapping
from typing import Any, NoReturn

from onetool.domain.calls.caller import LogEntry
from onetool.domain.calls.invocation import Invocation
from onetool.domain.code.parameters import variables_of
from onetool.domain.errors import ExecutionError, Reason
from onetool.pipeline.code_runner import CodeError

from .runtime import Runtime

log = logging.getLogger(__name__)
MAX_LOGGED_LENGTH = 2_000
"""Characters of what a program prints that are in the log file."""
KEPT_REASONS = frozenset({Reason.TIMEOUT, Reason.BUSY, Reason.UNAVAILABLE})
"""Reasons of a failed program that are also those of the call. Other failures are errors of the tool."""


class CodeToolRunner:
    """Runs the program of one tool in the sandbox. Its calls have the permissions of the tool's caller."""

    def __init__(self, runtime: Runtime, program: str, arg_schema: Mapping[str, Any]) -> None:
        self._runtime, self._program, self._arg_schema = runtime, program, arg_schema

    async def run(self, args: Mapping[str, Any], invocation: Invocation) -> Any:
        """Return the value of the last line. What the program prints is logged to the caller.

        Raises:
            ExecutionError: The program failed. The message names the line.
        """
        variables = variables_of(self._arg_schema, args)
        result = await self._runtime.run_program(self._program, variables, invocation)
        if result.printed:
            log.info("printed", extra={"tool": invocation.tool, "text": result.printed[:MAX_LOGGED_LENGTH]})
            invocation.caller.on_log(LogEntry("info", invocation.tool, result.printed))
        if result.error is not None:
            _raise(invocation.tool, result.error)
        return result.data


def _raise(tool: str, error: CodeError) -> NoReturn:
    reason = error.reason if error.reason in KEPT_REASONS else Reason.RAISED
    raise ExecutionError(reason, f"{tool} failed: {error.message}")

"""Running code that a model wrote: parsing, the sandbox, and checks of the result."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from onetool.catalog.catalog import Catalog
from onetool.catalog.snippets import expand_snippet
from onetool.domain.calls.call import ToolResult
from onetool.domain.calls.caller import Caller
from onetool.domain.code.program import InvalidProgram, Program, parse_program
from onetool.domain.code.sandbox import CallOutcome, SandboxHost, SandboxJob, SandboxLimits, SandboxResult
from onetool.domain.errors import CODE_BY_REASON, ExecutionError, Reason
from onetool.domain.text.json_text import jsonable
from onetool.domain.text.strings import truncate_middle
from onetool.domain.tools.signature import pack_stubs
from onetool.domain.tools.tool import ToolSpec
from onetool.ports import Sandbox
from onetool.settings.schema import Snippet
from onetool.threads import Threads

from .pipeline import MAX_MESSAGE_LENGTH, Pipeline
from .slots import Slots

TOOL_NAME = "run"
NO_TOOLS = "it has no tools that you may call"
NOW_READY = "it was still starting and is ready now; run the code again"
EXCEPTIONS = {Reason.TIMEOUT: "TimeoutError", Reason.NEEDS_APPROVAL: "PermissionError"}
"""Exceptions that the code sees instead of ValueError."""


class CodeError(NamedTuple):
    """Why a run failed. The message names the line, the problem and the fix."""

    code: str
    reason: Reason
    message: str


class NestedCall(NamedTuple):
    """A tool call that the code made."""

    name: str
    ok: bool
    duration_ms: float


class SuccessfulCall(NamedTuple):
    """A successful tool call that the code made, with its result."""

    name: str
    args: Mapping[str, Any]
    value: Any
    size_bytes: int


class CodeResult(NamedTuple):
    """The value of the last line, or an error, and what the code printed."""

    ok: bool
    data: Any = None
    printed: str = ""
    error: CodeError | None = None
    calls: tuple[NestedCall, ...] = ()
    """The first calls that finished, in the order in which they finished."""
    finished_calls: tuple[SuccessfulCall, ...] = ()
    """The last successful calls, with their results, if the run failed."""

    def to_json(self) -> dict[str, Any]:
        """Return `ok`, `data` or `error`, and `printed` if it is not empty."""
        body: dict[str, Any] = {"ok": self.ok}
        body |= {"error": {"tool": TOOL_NAME, **self.error._asdict()}} if self.error else {"data": self.data}
        return body | ({"printed": self.printed} if self.printed else {})


class CodeRunner:
    """Runs code that calls the tools of a catalog."""

    def __init__(
        self,
        catalog: Catalog,
        pipeline: Pipeline,
        sandbox: Sandbox,
        threads: Threads,
        *,
        slots: Slots,
        limits: SandboxLimits,
        snippets: Mapping[str, Snippet],
    ) -> None:
        self._catalog, self._pipeline, self._sandbox = catalog, pipeline, sandbox
        self._threads, self._slots = threads, slots
        self._limits, self._snippets = limits, snippets

    async def run(self, code: str, caller: Caller, host: SandboxHost) -> CodeResult:
        """Run the code until the caller's deadline. Failures of the code are results."""
        try:
            async with asyncio.timeout_at(caller.deadline):
                job = await self._prepare(code, caller, host)
                result = await self._run_in_slot(job)
            return await self._check_result(result, host)
        except InvalidProgram as error:
            return _failure(Reason.BAD_ARGS, self._pipeline.mask(str(error)))
        except TimeoutError:
            return _failure(Reason.TIMEOUT, "The code timed out.")

    async def restrictions(self) -> Mapping[str, bool]:
        """Return the restrictions of the processes that run code, and whether this system supports each."""
        return await self._sandbox.restrictions()

    async def _run_in_slot(self, job: SandboxJob) -> SandboxResult:
        if not self._slots.try_acquire():
            await self._slots.wait(None)  # until the deadline of the run
        try:
            return await self._sandbox.run(job)
        finally:
            self._slots.release()

    async def _prepare(self, code: str, caller: Caller, host: SandboxHost) -> SandboxJob:
        packs = await self._catalog.packs(caller)
        program = await self._threads.run(self._parse, code, packs)
        aliases = self._used_aliases(program)
        used = program.names | {target.partition(".")[0] for target in aliases.values()}
        specs = {name: await self._catalog.pack(name, caller) for name in used & packs}
        specs = {name: tools for name, tools in specs.items() if not _is_variable(name, tools, program)}
        modules = await self._threads.run(_stubs, specs)
        aliases = {alias: target for alias, target in aliases.items() if target.partition(".")[0] in modules}
        known_names = dict.fromkeys([*packs, *self._catalog.aliases], "")
        for name in (specs.keys() - modules.keys()) | (used & self._catalog.skipped.keys() - packs):
            known_names[name] = await self._empty_reason(name, caller)
        return SandboxJob(
            program=program,
            modules=modules,
            aliases=aliases,
            known_names=known_names,
            host=host,
            limits=self._limits,
        )

    async def _empty_reason(self, pack: str, caller: Caller) -> str:
        if reason := await self._catalog.unavailable_reason(pack):
            return reason
        return NOW_READY if await self._catalog.pack(pack, caller) else NO_TOOLS

    def _parse(self, code: str, packs: Collection[str]) -> Program:
        return parse_program(expand_snippet(code, self._snippets), packs)

    def _used_aliases(self, program: Program) -> dict[str, str]:
        aliases = self._catalog.aliases
        return {name: aliases[name] for name in program.names & aliases.keys() if "@" not in aliases[name]}

    async def _check_result(self, result: SandboxResult, host: SandboxHost) -> CodeResult:
        printed = self._pipeline.mask(result.printed)
        if result.error:
            reason = Reason.TIMEOUT if result.exception == "TimeoutError" else Reason.RAISED
            return _failure(reason, self._pipeline.mask(result.error), printed)
        try:
            data, _ = await self._pipeline.check_output(TOOL_NAME, result.output)
        except ExecutionError as error:
            return _failure(error.reason, str(error), printed)
        return CodeResult(True, host.restore(jsonable(data)), printed)


def _is_variable(name: str, tools: Sequence[ToolSpec], program: Program) -> bool:
    """Return whether the code uses the name of a pack only for a variable, such as `files = [...]`."""
    calls = {(name, tool.name.partition(".")[2]) for tool in tools}
    return name in program.variables and not calls & program.attributes


def _stubs(packs: Mapping[str, Sequence[ToolSpec]]) -> dict[str, str]:
    return {name: pack_stubs(specs) for name, specs in packs.items() if specs}


def to_call_outcome(result: ToolResult) -> CallOutcome:
    """Convert a result to what the code sees: the value, or an exception of the type that the tool raised."""
    if result.error is None or result.meta.reason is Reason.RETURNED_ERROR:
        return CallOutcome(jsonable(result.data))
    kind = result.meta.exception or EXCEPTIONS.get(result.meta.reason or Reason.RAISED, "ValueError")
    message = result.error.message.removeprefix(f"{type(result.raised).__name__}: ")
    return CallOutcome(None, kind, message[1:-1] if kind == "KeyError" else message)  # its text is a repr


def _failure(reason: Reason, message: str, printed: str = "") -> CodeResult:
    error = CodeError(CODE_BY_REASON[reason], reason, truncate_middle(message, MAX_MESSAGE_LENGTH))
    return CodeResult(False, None, printed, error)

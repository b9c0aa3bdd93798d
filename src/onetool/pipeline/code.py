"""Code that a model wrote: read, checked, run in the sandbox; what comes out is masked and measured."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from onetool.catalog.catalog import Catalog
from onetool.catalog.snippets import expand_snippet
from onetool.domain.call import ToolResult
from onetool.domain.caller import Caller
from onetool.domain.errors import CODE_OF, ExecutionError, Reason
from onetool.domain.json_text import jsonable
from onetool.domain.program import InvalidProgram, Program, parse_program
from onetool.domain.readable import readable
from onetool.domain.sandbox import Answer, Host, Outcome, SandboxJob, SandboxLimits
from onetool.domain.signature import pack_stubs
from onetool.domain.texts import cut
from onetool.domain.tool import ToolSpec
from onetool.ports import Sandbox
from onetool.settings.schema import Snippet
from onetool.threads import Threads

from .pipeline import LONGEST_MESSAGE, Pipeline

NAME = "run"
NOTHING = "it has no tools that you may call"
JUST_READY = "it was still starting, and is ready now; run the code again"
EXCEPTIONS = {Reason.TIMEOUT: "TimeoutError", Reason.NEEDS_APPROVAL: "PermissionError"}
"""What code sees of a refusal, where that is not a ValueError."""


class CodeError(NamedTuple):
    """Why a run failed: the line, what was wrong, what would be right."""

    code: str
    reason: Reason
    message: str


class CallMade(NamedTuple):
    """A call of a tool that the code has made."""

    name: str
    ok: bool
    duration_ms: float


class CodeResult(NamedTuple):
    """The value of the last line, what was printed on the way, or an error."""

    ok: bool
    data: Any = None
    printed: str = ""
    error: CodeError | None = None
    calls: tuple[CallMade, ...] = ()
    """The first calls that have ended, in the order in which they did."""

    def to_json(self) -> dict[str, Any]:
        """`ok`, `data` or `error`, and `printed` when there is any."""
        body: dict[str, Any] = {"ok": self.ok}
        body |= {"error": {"tool": NAME, **self.error._asdict()}} if self.error else {"data": self.data}
        return body | ({"printed": self.printed} if self.printed else {})


class CodeRuns:
    """Runs code against the packs of a catalog."""

    def __init__(
        self,
        catalog: Catalog,
        pipeline: Pipeline,
        sandbox: Sandbox,
        threads: Threads,
        *,
        limits: SandboxLimits,
        snippets: Mapping[str, Snippet],
    ) -> None:
        self._catalog, self._pipeline, self._sandbox = catalog, pipeline, sandbox
        self._threads = threads
        self._limits, self._snippets = limits, snippets

    async def run(self, code: str, caller: Caller, host: Host) -> CodeResult:
        """Run the code up to the caller's deadline; whatever it does, the end is a result."""
        try:
            async with asyncio.timeout_at(caller.deadline):
                job = await self._job(code, caller, host)
                outcome = await self._sandbox.run(job)
            return await self._leaving(outcome)
        except InvalidProgram as error:
            return _failure(Reason.BAD_ARGS, str(error))
        except TimeoutError:
            return _failure(Reason.TIMEOUT, "The code took too long and was ended.")

    async def _job(self, code: str, caller: Caller, host: Host) -> SandboxJob:
        packs = await self._catalog.packs(caller)
        program = await self._threads.run(self._read, code, packs)
        aliases = self._aliases(program)
        named = program.names | {target.partition(".")[0] for target in aliases.values()}
        specs = {name: await self._catalog.pack(name, caller) for name in named & packs}
        modules = await self._threads.run(_stubs, specs)
        aliases = {alias: target for alias, target in aliases.items() if target.partition(".")[0] in modules}
        known = dict.fromkeys([*packs, *self._catalog.aliases], "")
        for name in (specs.keys() - modules.keys()) | (named & self._catalog.left_out.keys() - packs):
            known[name] = await self._why_empty(name, caller)
        return SandboxJob(
            program=program, modules=modules, aliases=aliases, known=known, host=host, limits=self._limits
        )

    async def _why_empty(self, pack: str, caller: Caller) -> str:
        if trouble := await self._catalog.trouble(pack):
            return trouble
        return JUST_READY if await self._catalog.pack(pack, caller) else NOTHING

    def _read(self, code: str, packs: Collection[str]) -> Program:
        return parse_program(expand_snippet(code, self._snippets), packs)

    def _aliases(self, program: Program) -> dict[str, str]:
        known = self._catalog.aliases
        return {name: known[name] for name in program.names & known.keys() if "@" not in known[name]}

    async def _leaving(self, outcome: Outcome) -> CodeResult:
        printed = self._pipeline.masked(outcome.printed)
        if outcome.error:
            reason = Reason.TIMEOUT if outcome.exception == "TimeoutError" else Reason.RAISED
            return _failure(reason, self._pipeline.masked(outcome.error), printed)
        try:
            data, _ = await self._pipeline.leaving(NAME, outcome.output)
        except ExecutionError as error:
            return _failure(error.reason, str(error), printed)
        return CodeResult(True, jsonable(data), printed)


def _stubs(packs: Mapping[str, Sequence[ToolSpec]]) -> dict[str, str]:
    return {name: pack_stubs(specs) for name, specs in packs.items() if specs}


def code_text(result: CodeResult, most_bytes: int) -> str:
    """A result as text: what was printed, then the value."""
    if result.error is not None:
        return f"{result.printed}Error: {result.error.message}"
    if result.data is None:
        return result.printed
    return result.printed + readable(result.data, most_bytes)


def answer_of(result: ToolResult) -> Answer:
    """What a call inside the code sees: what the tool returned, or an exception of the type it raised."""
    if result.error is None or result.meta.reason is Reason.RETURNED_ERROR:
        return Answer(jsonable(result.data))
    kind = result.meta.exception or EXCEPTIONS.get(result.meta.reason or Reason.RAISED, "ValueError")
    message = result.error.message.removeprefix(f"{type(result.raised).__name__}: ")
    return Answer(None, kind, message[1:-1] if kind == "KeyError" else message)  # whose text is a repr


def _failure(reason: Reason, message: str, printed: str = "") -> CodeResult:
    return CodeResult(False, None, printed, CodeError(CODE_OF[reason], reason, cut(message, LONGEST_MESSAGE)))

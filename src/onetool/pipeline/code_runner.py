"""Running code that a model wrote: parsing, the sandbox, and checks of the result."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from onetool.catalog.catalog import Catalog
from onetool.catalog.snippets import expand_snippet, visible_snippets
from onetool.domain.activity.record import RUN
from onetool.domain.calls.call import ToolResult
from onetool.domain.calls.caller import Caller
from onetool.domain.code.check import check_program
from onetool.domain.code.program import InvalidProgram, Program, parse_program
from onetool.domain.code.sandbox import (
    CallOutcome,
    SandboxHost,
    SandboxJob,
    SandboxLimits,
    SandboxResult,
    ToolFunction,
)
from onetool.domain.content.media import Media
from onetool.domain.errors import CODE_BY_REASON, ExecutionError, Reason, WorkspaceUnavailable
from onetool.domain.text.json_text import jsonable
from onetool.domain.text.strings import truncate_middle
from onetool.domain.tools.signature import tool_function
from onetool.domain.tools.tool import ToolSpec
from onetool.ports import Sandbox
from onetool.settings.schema import Snippet
from onetool.threads import Threads

from .admission import MAX_DEPTH
from .pipeline import MAX_MESSAGE_LENGTH, Pipeline
from .run_slots import RunSlots
from .run_timeout import timeout_of
from .slots import AnySlots, SlotLease

T = TypeVar("T")
NO_VARIABLES: Mapping[str, Any] = {}
MAX_SHORT_LENGTH = 500
"""Maximum length of code that is parsed on the event loop. A thread costs more than parsing such code."""
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
    beside: Sequence[Media] = ()
    """Media that the tool returned beside the value."""


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
    media: Sequence[Media] = ()
    """The media in `data`, in order, each once, and those of `beside`."""
    beside: Sequence[Media] = ()
    """If `data` is the whole result of a call: the media that its tool returned beside structured content."""
    size_bytes: int = 0
    """Size of `data` as JSON."""

    def to_json(self) -> dict[str, Any]:
        """Return `ok`, `data` or `error`, and `printed` if it is not empty."""
        body: dict[str, Any] = {"ok": self.ok}
        body |= {"error": {"tool": RUN, **self.error._asdict()}} if self.error else {"data": self.data}
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
        slots: RunSlots,
        shared: AnySlots | None = None,
        limits: SandboxLimits,
        snippets: Mapping[str, Snippet],
    ) -> None:
        """shared: slots of a process that runs code of other workspaces too."""
        self._catalog, self._pipeline, self._sandbox = catalog, pipeline, sandbox
        self._threads, self._slots, self._shared_slots = threads, slots, shared
        self._limits, self._snippets = limits, snippets

    async def run(self, code: str, caller: Caller, host: SandboxHost, lease: SlotLease) -> CodeResult:
        """Run the code of a model in the slots of a lease, until the caller's deadline.

        Failures of the code are results.
        """

        async def parse() -> Program:
            packs = await self._catalog.packs(caller)
            snippets = visible_snippets(self._snippets, await self._catalog.hidden_packs(caller))
            return await self._process(code, _parse, code, packs, snippets)

        return await self._run(parse, NO_VARIABLES, caller, host, lease)

    async def run_stored(
        self, source: str, variables: Mapping[str, Any], caller: Caller, host: SandboxHost, lease: SlotLease
    ) -> CodeResult:
        """Run a stored program with these variables, as `run` does. It cannot be a snippet."""

        async def parse() -> Program:
            packs = frozenset(await self._catalog.packs(caller)) - variables.keys()
            return await self._process(source, parse_program, source, packs)

        return await self._run(parse, variables, caller, host, lease)

    def lease(self, caller: Caller, *, is_stored: bool = False) -> SlotLease:
        """Return the slots for code of this caller.

        is_stored: whether it is the program of a tool, whose call has the slots that calls need.

        Raises:
            ExecutionError: Programs are nested too deeply.
        """
        slots = self._slots.level(caller.programs)
        if slots is None:
            message = f"Programs call each other more than {MAX_DEPTH} levels deep."
            raise ExecutionError(Reason.BUSY, message)
        shared = () if is_stored or self._shared_slots is None else (self._shared_slots,)
        return SlotLease((slots, *shared), None if caller.depth else caller.pauses)

    async def _run(
        self,
        parse: Callable[[], Awaitable[Program]],
        variables: Mapping[str, Any],
        caller: Caller,
        host: SandboxHost,
        lease: SlotLease,
    ) -> CodeResult:
        try:
            async with timeout_of(caller):
                try:
                    job = await self._prepare(await parse(), variables, caller, host)
                except WorkspaceUnavailable as error:
                    return _failure(Reason.UNAVAILABLE, f"The code did not run: {error} Try again later.")
                if problem := await self._process(job.program.code, check_program, job):
                    return _failure(Reason.RAISED, self._pipeline.mask(problem))
                result = await self._run_in_slot(job, lease)
            return await self._check_result(result, host)
        except InvalidProgram as error:
            return _failure(Reason.BAD_ARGS, self._pipeline.mask(str(error)))
        except TimeoutError:
            if lease.blocked_by is None:
                return _failure(Reason.TIMEOUT, "The code timed out.")
            limit = f"Not more than {self._slots.size} run at a time. Try again later."
            return _failure(Reason.BUSY, f"The code did not run: too many runs are in progress. {limit}")

    async def expand(self, code: str, caller: Caller) -> str:
        """Return the code of a snippet, `$name ...`. Other code is returned unchanged.

        Raises:
            InvalidProgram: There is no such snippet, or its values are invalid.
        """
        snippets = visible_snippets(self._snippets, await self._catalog.hidden_packs(caller))
        return await self._process(code, expand_snippet, code, snippets)

    async def restrictions(self) -> Mapping[str, bool]:
        """Return the restrictions of the processes that run code, and whether this system supports each."""
        return await self._sandbox.restrictions()

    async def _run_in_slot(self, job: SandboxJob, lease: SlotLease) -> SandboxResult:
        await lease.open()  # until the deadline of the run
        try:
            return await self._sandbox.run(job)
        finally:
            lease.close()

    async def _prepare(
        self, program: Program, variables: Mapping[str, Any], caller: Caller, host: SandboxHost
    ) -> SandboxJob:
        packs = frozenset(await self._catalog.packs(caller)) - variables.keys()
        aliases = self._used_aliases(program, variables)
        used = program.names | {target.partition(".")[0] for target in aliases.values()}
        specs = {name: await self._catalog.pack(name, caller) for name in used & packs}
        specs = {name: tools for name, tools in specs.items() if not _is_variable(name, tools, program)}
        tools = {name: {_function(spec): spec for spec in tools} for name, tools in specs.items() if tools}
        known_names = dict.fromkeys([*packs, *self._visible_aliases(packs)], "")
        skipped = self._catalog.skipped_packs(caller).keys()
        for name in (specs.keys() - tools.keys()) | (used & skipped - packs):
            known_names[name] = await self._empty_reason(name, caller)
        return SandboxJob(
            program=program,
            modules=tools,
            tools=_tool_functions(tools, program, aliases.values()),
            aliases={name: target for name, target in aliases.items() if _has_tool(tools, target)},
            known_names=known_names,
            variables=variables,
            host=host,
            limits=self._limits,
        )

    async def _process(self, code: str, function: Callable[..., T], *args: Any) -> T:
        """Run a function whose time grows with the code: on a thread, unless the code is short."""
        if len(code) <= MAX_SHORT_LENGTH and not code.lstrip().startswith("$"):  # not a snippet
            return function(*args)
        return await self._threads.run(function, *args)

    async def _empty_reason(self, pack: str, caller: Caller) -> str:
        if reason := await self._catalog.unavailable_reason(pack):
            return reason
        return NOW_READY if await self._catalog.pack(pack, caller) else NO_TOOLS

    def _visible_aliases(self, packs: Collection[str]) -> list[str]:
        """Return the aliases of tools in these packs."""
        return [name for name, tool in self._catalog.aliases.items() if tool.partition(".")[0] in packs]

    def _used_aliases(self, program: Program, variables: Mapping[str, Any]) -> dict[str, str]:
        aliases = self._catalog.aliases
        used = (program.names & aliases.keys()) - variables.keys()
        return {name: aliases[name] for name in used if "@" not in aliases[name]}

    async def _check_result(self, result: SandboxResult, host: SandboxHost) -> CodeResult:
        printed = self._pipeline.mask(result.printed)
        if result.error:
            reason = Reason.TIMEOUT if result.exception == "TimeoutError" else Reason.RAISED
            return _failure(reason, self._pipeline.mask(result.error), printed)
        try:
            checked = await self._pipeline.check_output(RUN, result.output)
        except ExecutionError as error:
            return _failure(error.reason, str(error), printed)
        data = host.restore(jsonable(checked.value, keep=Media))
        return CodeResult(True, data, printed, media=checked.media, size_bytes=checked.size)


def _parse(code: str, packs: Collection[str], snippets: Mapping[str, Snippet]) -> Program:
    return parse_program(expand_snippet(code, snippets), packs)


def _is_variable(name: str, tools: Sequence[ToolSpec], program: Program) -> bool:
    """Return whether the code uses the name of a pack only for a variable, such as `files = [...]`."""
    if any(use.id == name for use in program.bindings.free) or not program.bindings.counts[name]:
        return False
    return program.attributes.isdisjoint((name, _function(spec)) for spec in tools)


def _has_tool(packs: Mapping[str, Mapping[str, ToolSpec]], name: str) -> bool:
    pack, _, function = name.partition(".")
    return function in packs.get(pack, ())


def _function(spec: ToolSpec) -> str:
    return spec.qualified_name.partition(".")[2]


def _tool_functions(
    packs: Mapping[str, Mapping[str, ToolSpec]], program: Program, aliased: Collection[str]
) -> dict[str, ToolFunction]:
    """Return the tools that the program may call, by name."""
    functions = {function for _, function in program.attributes} | {
        name.partition(".")[2] for name in aliased
    }
    return {
        f"{pack}.{function}": tool_function(tools[function])
        for pack, tools in packs.items()
        for function in functions & tools.keys()
    }


def to_call_outcome(result: ToolResult) -> CallOutcome:
    """Convert a result to what the code sees: the value, or an exception of the type that the tool raised."""
    if result.error is None or result.meta.reason is Reason.RETURNED_ERROR:
        return CallOutcome(jsonable(result.data, keep=Media), has_media=bool(result.media))
    kind = result.meta.exception or EXCEPTIONS.get(result.meta.reason or Reason.RAISED, "ValueError")
    message = result.error.message.removeprefix(f"{type(result.raised).__name__}: ")
    is_quoted = kind == "KeyError" and message[:1] == message[-1:]  # its text is a repr
    return CallOutcome(None, kind, message[1:-1] if is_quoted else message)


def _failure(reason: Reason, message: str, printed: str = "") -> CodeResult:
    error = CodeError(CODE_BY_REASON[reason], reason, truncate_middle(message, MAX_MESSAGE_LENGTH))
    return CodeResult(False, None, printed, error)

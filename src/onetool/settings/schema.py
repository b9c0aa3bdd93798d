"""What the operator may set."""

from dataclasses import dataclass
from typing import Any, Literal

from .check import IDENTIFIER, TOOL_NAME, setting

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """Limits of every call."""

    timeout_s: float = setting(8.0, "Seconds a tool may take.", over=0, most=86_400)
    max_concurrent: int = setting(64, "Calls from outside that run at once.", least=1, most=10_000)
    max_tools: int = setting(1_000_000, "How many tools may be stored in bundles.", least=0)
    max_args_bytes: int = setting(16 * 2**20, "Size of the arguments, as JSON.", least=1)
    run_timeout_s: float = setting(
        120.0, "Seconds that code given to `run` may take, waiting included.", over=0
    )
    run_cpu_s: float = setting(10.0, "Seconds of computing that it may use.", over=0)
    run_memory_bytes: int = setting(256 * 2**20, "Memory that it may use.", least=2**20)
    run_max_calls: int = setting(1000, "Tool calls that it may make.", least=1)
    max_runs: int = setting(16, "How many such runs go on at once.", least=1, most=1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What becomes of a result."""

    max_bytes: int = setting(64 * 2**20, "Largest result, as JSON, through any door.", least=1)
    max_inline_size: int = setting(50_000, "Largest text, in bytes, that goes to a model whole.", least=100)
    ttl_s: float = setting(3600.0, "Seconds a stored result is kept.", over=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fs:
    """What the fs pack may open."""

    roots: Names | None = setting(None, "Directories; none given: the working directory.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """Which tools that change things run without asking."""

    mcp: Literal["allow", "ask", "deny"] = setting("allow", "What MCP clients may do.")
    allow: Names = setting((), "Patterns of tool names that never ask.")
    deny: Names = setting((), "Patterns of tool names that never run.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Where events are written."""

    level: Literal["debug", "info", "warning", "error", "critical"] = setting(
        "warning", "What goes to stderr."
    )
    file: bool = setting(True, "Whether events from info on go to a file in the state directory.")
    max_bytes: int = setting(10 * 2**20, "Size at which the file is rotated.", least=10_000)
    sessions_days: float = setting(90.0, "Days that a conversation is kept after its last word.", over=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Statistics of calls."""

    enabled: bool = setting(True, "Whether calls are counted.")
    round_trip_ms: float = setting(
        1500.0, "Time that a model would need for each call that `run` made in its place.", least=0
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How tools are found by meaning."""

    model_dir: str | None = setting(
        None, "Directory of the embedding model; none given: `model` in the data directory."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SnippetParam:
    """A value that a snippet takes."""

    type: str = setting("", "Its type, as shown.")
    default: Any = setting(None, "Its value when none is given.")
    description: str = setting("", "What it is for.")
    required: bool = setting(False, "Whether it must be given.")
    example: Any = setting(None, "A value to show.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A named piece of code with holes."""

    body: str
    description: str = setting("", "What it does.")
    params: dict[str, SnippetParam] = setting(dict, "Its holes.", keys=IDENTIFIER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Where a note goes."""

    pattern: str
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A chat model."""

    model: str | None = setting(None, "Name of the model.")
    base_url: str | None = setting(None, "Where it is served.")
    key: str | None = setting(None, "Name of the secret that holds the key.")
    timeout_s: float = setting(120.0, "Seconds a reply may take.", over=0, most=86_400)
    price_in: float | None = setting(None, "What a million tokens cost that it reads.", least=0)
    price_out: float | None = setting(None, "What a million tokens cost that it writes.", least=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Another MCP server: a command to start, or a URL."""

    command: str | None = setting(None, "Program to start.")
    args: Names = setting((), "Its arguments.")
    env: dict[str, str] = setting(dict, "Its environment; ${NAME} stands for a secret.")
    url: str | None = setting(None, "Where it is served.")
    headers: dict[str, str] = setting(dict, "Headers to send; ${NAME} stands for a secret.")
    enabled: bool = setting(True, "Whether it is used.")
    include: Names | None = setting(None, "Patterns of the only tools to show.")
    exclude: Names = setting((), "Patterns of tools to hide.")
    timeout_s: float = setting(60.0, "Seconds a call of it may take.", over=0)

    def problem(self) -> str:
        """What a server lacks."""
        return "give either command or url" if (self.command is None) == (self.url is None) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """Everything that `prompts.yaml` may hold: what models are told."""

    instructions: str = setting("", "What a model is told of this OneTool as a whole.")
    packs: dict[str, str] = setting(dict, "What it is told of a pack.", keys=IDENTIFIER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that `onetool.yaml` may hold."""

    tools: tuple[Any, ...] = setting((), "Tool definitions.")
    tools_dirs: Names = setting((), "More directories with pack files.")
    aliases: dict[str, str] = setting(dict, "Short names of tools.", keys=IDENTIFIER, values=TOOL_NAME)
    snippets: dict[str, Snippet] = setting(dict, "Named pieces of code.", keys=IDENTIFIER)
    servers: dict[str, Server] = setting(dict, "Other MCP servers.", keys=IDENTIFIER)
    packs: dict[str, dict[str, Any]] = setting(dict, "What packs are told, by pack.", keys=IDENTIFIER)
    topics: tuple[Topic, ...] = setting((), "Files that notes go to.")
    stats: Stats = setting(Stats, "Statistics of calls.")
    output: Output = setting(Output, "What becomes of a result.")
    execution: Execution = setting(Execution, "Limits of every call.")
    fs: Fs = setting(Fs, "What the fs pack may open.")
    allowedHosts: Names = setting((), "Hosts that stored HTTP tools may reach.")  # noqa: N815 - as in the file
    providers: dict[str, Provider] = setting(dict, "Chat models by name.")
    approval: Approval = setting(Approval, "Which tools that change things run without asking.")
    search: Search = setting(Search, "How tools are found by meaning.")
    log: Log = setting(Log, "Where events are written.")
    expose: Literal["run", "search", "all"] = setting("run", "How MCP clients see the tools.")
    docs_base: str = setting(
        "https://onetool.beycom.online/reference/tools/", "Where the documentation of packs lies."
    )

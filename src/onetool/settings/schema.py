"""What the operator may set. Strict: an unknown key or a wrong type is an error, never a guess."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, StringConstraints, model_validator

Names = Annotated[tuple[str, ...], Strict(False)]
"""A YAML list of strings, kept as a tuple."""
Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
QualifiedName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)?(@\S+)?$")]
Level = Literal["debug", "info", "warning", "error", "critical"]


class Part(BaseModel):
    """A frozen group of settings."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class Execution(Part):
    """Limits of every call."""

    timeout_s: float = Field(default=8.0, gt=0, le=86_400, description="Seconds a tool may take.")
    max_concurrent: int = Field(
        default=64, ge=1, le=10_000, description="Calls from outside that run at once."
    )
    max_args_bytes: int = Field(default=16 * 2**20, ge=1, description="Size of the arguments, as JSON.")


class Output(Part):
    """What becomes of a result."""

    max_bytes: int = Field(default=64 * 2**20, ge=1, description="Largest result, as JSON, through any door.")
    max_inline_size: int = Field(
        default=50_000, ge=100, description="Largest text that goes to a model whole."
    )
    ttl_s: float = Field(default=3600.0, gt=0, description="Seconds a stored result is kept.")


class Fs(Part):
    """What the fs pack may open."""

    roots: Names | None = Field(default=None, description="Directories; none given: the working directory.")


class Approval(Part):
    """Which tools that change things run without asking."""

    mcp: Literal["allow", "ask", "deny"] = Field(default="allow", description="What MCP clients may do.")
    allow: Names = Field(default=(), description="Patterns of tool names that never ask.")
    deny: Names = Field(default=(), description="Patterns of tool names that never run.")


class Log(Part):
    """Where events are written."""

    level: Level = Field(default="warning", description="What goes to stderr.")
    file: bool = Field(
        default=True, description="Whether events from info on go to a file in the state directory."
    )
    max_bytes: int = Field(default=10 * 2**20, ge=10_000, description="Size at which the file is rotated.")


class Stats(Part):
    """Statistics of calls."""

    enabled: bool = Field(default=True, description="Whether calls are counted.")


class Search(Part):
    """How tools are found by meaning."""

    model_dir: str | None = Field(default=None, description="Directory of the embedding model.")


class SnippetParam(Part):
    """A value that a snippet takes."""

    type: str = ""
    default: Any = None
    description: str = ""
    required: bool = False
    example: Any = None


class Snippet(Part):
    """A named piece of code with holes."""

    description: str = ""
    params: dict[Identifier, SnippetParam] = {}
    body: str


class Topic(Part):
    """Where a note goes."""

    pattern: str
    file: str


class Provider(Part):
    """A chat model."""

    model: str | None = None
    base_url: str | None = None
    key: str | None = Field(default=None, description="Name of the secret that holds the key.")


class Server(Part):
    """Another MCP server: a command to start, or a URL."""

    command: str | None = None
    args: Names = ()
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}
    enabled: bool = True
    include: Names | None = None
    exclude: Names = ()
    timeout_s: float = Field(default=60.0, gt=0)

    @model_validator(mode="after")
    def _one_way_in(self) -> "Server":
        if (self.command is None) == (self.url is None):
            raise ValueError("give either command or url")
        return self


class Settings(Part):
    """Everything that `onetool.yaml` may hold."""

    tools: list[Any] = Field(default=[], description="Tool definitions.")
    tools_dirs: Names = Field(default=(), description="More directories with pack files.")
    aliases: dict[Identifier, QualifiedName] = Field(default={}, description="Short names of tools.")
    snippets: dict[Identifier, Snippet] = Field(default={}, description="Named pieces of code.")
    servers: dict[Identifier, Server] = Field(default={}, description="Other MCP servers.")
    topics: list[Topic] = Field(default=[], description="Files that notes go to.")
    stats: Stats = Stats()
    output: Output = Output()
    execution: Execution = Execution()
    fs: Fs = Fs()
    allowedHosts: Names = Field(default=(), description="Hosts that stored HTTP tools may reach.")  # noqa: N815 - as written in the file
    providers: dict[str, Provider] = Field(default={}, description="Chat models by name.")
    approval: Approval = Approval()
    search: Search = Search()
    log: Log = Log()
    docs_base: str = Field(
        default="https://onetool.beycom.online/reference/tools/", description="Where the docs of packs lie."
    )

"""The settings in `onetool.yaml` and `prompts.yaml`. The reference documentation is generated from here."""

from dataclasses import MISSING, dataclass
from typing import Any, Literal

from onetool.domain.chat.providers import ChatProtocol
from onetool.domain.results.stored_result import DEFAULT_TTL_S

from .profile_schema import ProfileSettings
from .server_schema import MAX_MESSAGE_BYTES, MAX_MESSAGE_VALUES, ServerSettings
from .validation import IDENTIFIER, PROFILE_NAME, TOOL_NAME, Names, setting

PLACEHOLDER = "{name}"
"""What the name of a secret replaces in `secrets.command`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionSettings:
    """Limits for tool calls and for code in `run`."""

    timeout_s: float = setting(
        8.0, "Time limit of a tool call in seconds, for tools that declare none.", gt=0, le=86_400
    )
    max_concurrent: int = setting(
        64,
        "Maximum number of concurrent calls from clients. Further calls wait, and fail as busy when their "
        "time limit ends. Calls that tools make do not count.",
        ge=1,
        le=10_000,
    )
    max_tools: int = setting(1_000_000, "Maximum number of tool versions stored in bundles.", ge=0)
    max_args_bytes: int = setting(16 * 2**20, "Maximum size of a call's arguments as JSON, in bytes.", ge=1)
    run_timeout_s: float = setting(
        120.0, "Time limit of a `run` in seconds, including the time its tool calls take.", gt=0
    )
    handover: Literal["auto", "never"] = setting(
        "auto",
        "Whether a call that takes longer than `handover_s` becomes a job, so that the client gets its id "
        "before it gives up: `auto` or `never`.",
    )
    handover_s: float = setting(
        45.0, "Seconds after which a call of an MCP client becomes a job.", gt=0, le=86_400
    )
    job_timeout_s: float = setting(
        3600.0, "Time limit of a job in seconds, for tools that declare none.", gt=0, le=7 * 86_400
    )
    run_cpu_s: float = setting(10.0, "CPU time limit of a `run` in seconds, without its tool calls.", gt=0)
    run_memory_bytes: int = setting(256 * 2**20, "Memory limit of a `run`, in bytes.", ge=2**20)
    run_max_calls: int = setting(1000, "Maximum number of tool calls in a `run`.", ge=1)
    max_concurrent_runs: int = setting(16, "Maximum number of concurrent `run` calls.", ge=1, le=1000)
    max_message_bytes: int = setting(
        MAX_MESSAGE_BYTES,
        "Maximum size of a message from an MCP server in bytes. A call with a larger result fails.",
        ge=1_000,
    )
    max_message_values: int = setting(
        MAX_MESSAGE_VALUES,
        "Maximum number of JSON values in a message from an MCP server. A call with more fails.",
        ge=100,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSettings:
    """Size and lifetime of results."""

    max_bytes: int = setting(
        64 * 2**20, "Maximum size of a result as JSON, in bytes. A call with a larger result fails.", ge=1
    )
    max_inline_size: int = setting(
        50_000,
        "Maximum size of a result that a model receives in full, in bytes. A larger result is stored, and "
        "the model receives a preview and a handle for `ot.result`.",
        ge=100,
    )
    max_media_size: int = setting(
        8 * 2**20,
        "Maximum size of an image, a sound or a file that an MCP client receives as such, in bytes. A larger "
        "one is stored, and the client receives a link to it.",
        ge=0,
    )
    ttl_s: float = setting(DEFAULT_TTL_S, "How long a stored result can be read, in seconds.", gt=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FsSettings:
    """File access of packs."""

    roots: Names | None = setting(
        None,
        "Directories that the `fs` pack can access. Default: the working directory, unless it is `/` or the "
        "home directory.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalSettings:
    """Approval of tools that are not read-only."""

    mcp: Literal["allow", "ask", "deny"] = setting(
        "allow",
        "How calls from MCP clients are approved: `allow` approves all of them, so that only the client asks "
        "its user; `ask` asks the user through the client (elicitation), and rejects them if the client "
        "cannot ask; `deny` rejects them.",
    )
    allow: Names = setting((), "Name patterns of tools that run without approval, such as `fs.*`.")
    deny: Names = setting((), "Name patterns of tools that never run. Takes precedence over `allow`.")
    timeout_s: float = setting(
        300.0, "Seconds to wait for the user's decision. A call without one is denied.", ge=1, le=86_400
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """Logging."""

    level: Literal["debug", "info", "warning", "error", "critical"] = setting(
        "warning", "Minimum level of messages on stderr."
    )
    file: bool = setting(
        True, "Also write messages of level `info` and above to `onetool.jsonl` in the state directory."
    )
    max_bytes: int = setting(10 * 2**20, "Size at which the log file is rotated, in bytes.", ge=10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """Stored conversations."""

    retention_days: float = setting(90.0, "Days a session is stored after its last message.", gt=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskSettings:
    """Conversations with a chat model."""

    parallel: bool = setting(
        False,
        "Run consecutive calls of one turn at the same time if their tools are `parallel` and read-only. "
        "Otherwise each call starts after the previous one has ended.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivitySettings:
    """The record of every call."""

    enabled: bool = setting(
        True,
        "Record every call, for `onetool activity`. Requires `stats.enabled`; statistics do not require it.",
    )
    bodies: bool = setting(True, "Record arguments and results too, without secrets and without base64.")
    max_body_bytes: int = setting(
        16 * 2**10, "Length at which recorded arguments and results are cut, in characters.", ge=0, le=2**20
    )
    retention_days: int = setting(35, "Days after which records are deleted. Statistics stay.", ge=1)
    max_bytes: int = setting(
        256 * 2**20,
        "Size at which the oldest arguments and results are deleted, and then the oldest records, in bytes.",
        ge=2**20,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsSettings:
    """Usage statistics."""

    enabled: bool = setting(True, "Store usage statistics. The call counters of tools are always stored.")
    round_trip_ms: float = setting(
        1500.0,
        "Estimated duration of a model round trip in milliseconds. The reported time saved is this duration "
        "for each round trip that `run` made unnecessary.",
        ge=0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Semantic tool search."""

    model_dir: str | None = setting(
        None,
        "Directory of the embedding model, relative to the working directory. Default: `model` in the data "
        "directory.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SnippetParam:
    """A parameter of a snippet."""

    type: str = setting(
        "",
        "Type shown in the help. Unless it is `str`, numbers, `true`, `false` and `null` are converted.",
    )
    default: Any = setting(None, "Value used if the call passes none.")
    description: str = setting("", "Description shown in the help.")
    required: bool | None = setting(
        None,
        "Reject calls that do not pass this parameter. Default: `true` if there is no `default`. An optional "
        "parameter without a default is `None`, and empty inside a text.",
    )
    example: Any = setting(None, "Example value shown in the help.")

    @property
    def is_required(self) -> bool:
        """Whether a call must pass this parameter."""
        return self.default is None if self.required is None else self.required


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A named code template for `run`."""

    body: str = setting(MISSING, "Required. The code, a Jinja template with the parameters as variables.")
    description: str = setting("", "Description shown in the help.")
    params: dict[str, SnippetParam] = setting(dict, "The parameters by name.", keys=IDENTIFIER)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """A file that receives the notifications of matching topics."""

    pattern: str = setting(MISSING, "Required. Pattern of topic names, such as `build.*`.")
    file: str = setting(MISSING, "Required. File that the messages are appended to.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSettings:
    """A chat model provider."""

    model: str | None = setting(
        None, "Model name. Required for providers that OneTool does not know, unless `protocol` is set."
    )
    base_url: str | None = setting(
        None,
        "Base URL of the API. Required for providers that OneTool does not know, unless `protocol` is set.",
    )
    protocol: ChatProtocol | None = setting(
        None,
        "API of the provider: `openai`, `anthropic`, `gemini` or `ollama`. Default: that of a provider that "
        "OneTool knows by name, `openai` for any other name. If it is set, `base_url` and `model` default to "
        "those of the provider with this name.",
    )
    key_secret: str | None = setting(
        None,
        "Name of the secret that contains the API key. Default: the provider's usual name, such as "
        "`OPENAI_API_KEY`, in `secrets.yaml` or the environment.",
    )
    timeout_s: float = setting(120.0, "Time limit of a model response in seconds.", gt=0, le=86_400)
    images: bool | None = setting(
        None,
        "Whether images in the results of tools are sent to the model. Otherwise it reads one line for each, "
        "with type, size and handle. Default: `true` for the APIs of Anthropic and Gemini and for OpenAI "
        "itself, `false` for Ollama and for other servers with the API of OpenAI.",
    )
    input_price: float | None = setting(
        None, "Price of a million input tokens. Costs are reported if both prices are set.", ge=0
    )
    output_price: float | None = setting(None, "Price of a million output tokens.", ge=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretsSettings:
    """Where the values of secrets are. Not available in project settings."""

    backend: Literal["file", "keyring", "command"] = setting(
        "file",
        "Where the values are that `secrets.yaml` names without a value: `keyring` is the key store of the "
        "system, `command` the output of `secrets.command`. With `file`, every secret has a value there.",
    )
    command: Names = setting(
        (),
        "Program and arguments that print the value of a secret, such as "
        '`["op", "read", "op://tools/{name}/credential"]`. It runs without a shell, once for each name, '
        "which replaces `{name}`.",
    )
    timeout_s: float = setting(
        30.0, "Time limit of one run of `command`, and of the key store, in seconds.", gt=0, le=600
    )

    def problem(self) -> str:
        """Return what is wrong with the settings together, or an empty string."""
        if self.backend == "command" and not self.command:
            return "`backend: command` needs a `command`"
        if self.command and not any(PLACEHOLDER in argument for argument in self.command[1:]):
            return f"no argument of `command` contains {PLACEHOLDER}, the name of the secret"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySettings:
    """The MCP registry, where `onetool servers search` and `install` find servers."""

    base_url: str = setting(
        "https://registry.modelcontextprotocol.io",
        "Base URL of a registry with the API version v0.1. It must use https, except on this machine.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSettings:
    """The contents of `prompts.yaml`: texts that models read."""

    instructions: str = setting(
        "", "Instructions for models, added to the built-in ones. MCP clients read them when they connect."
    )
    packs: dict[str, str] = setting(
        dict, "Additional instructions for a pack, by pack name.", keys=IDENTIFIER
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The contents of `onetool.yaml`."""

    tools: tuple[Any, ...] = setting((), "Definitions of additional tools.")
    tools_dirs: Names = setting(
        (), "Additional directories with pack files. Not available in project settings."
    )
    aliases: dict[str, str] = setting(
        dict, "Short names for tools: `alias: pack.tool`.", keys=IDENTIFIER, values=TOOL_NAME
    )
    snippets: dict[str, Snippet] = setting(
        dict, "Named code templates for `run`, called as `$name param=value`.", keys=IDENTIFIER
    )
    servers: dict[str, ServerSettings] = setting(
        dict,
        "MCP servers whose tools are available as a pack with the server's name. Names that differ only in "
        "case are an error.",
        keys=IDENTIFIER,
        case_sensitive=False,
    )
    packs: dict[str, dict[str, Any]] = setting(
        dict, "Settings of packs, by pack name. Packs read them with `get_config`.", keys=IDENTIFIER
    )
    topics: tuple[TopicSettings, ...] = setting(
        (), "Files that receive notifications. The first matching topic is used."
    )
    stats: StatsSettings = setting(StatsSettings, "Usage statistics.")
    activity: ActivitySettings = setting(ActivitySettings, "The record of every call.")
    output: OutputSettings = setting(OutputSettings, "Size and lifetime of results.")
    execution: ExecutionSettings = setting(ExecutionSettings, "Limits for tool calls and for code in `run`.")
    fs: FsSettings = setting(FsSettings, "File access of packs.")
    allowedHosts: Names = setting(  # noqa: N815 - the key in the file
        (),
        "Hosts that stored HTTP tools can reach: `api.example.com`, `*.example.com` or `*`. A host with a "
        "private address must be listed by its exact name.",
    )
    providers: dict[str, ProviderSettings] = setting(
        dict, "Chat model providers by name. The first one is the default unless the user chose another."
    )
    ask: AskSettings = setting(AskSettings, "Conversations with a chat model.")
    approval: ApprovalSettings = setting(ApprovalSettings, "Approval of tools that are not read-only.")
    profiles: dict[str, ProfileSettings] = setting(
        dict,
        "Named parts of the tools, for `onetool mcp --profile NAME` and `/mcp/p/NAME`. A project can add "
        "profiles, but not change yours.",
        keys=PROFILE_NAME,
    )
    search: SearchSettings = setting(SearchSettings, "Semantic tool search.")
    secrets: SecretsSettings = setting(
        SecretsSettings, "Where the values of secrets are. Not available in project settings."
    )
    registry: RegistrySettings = setting(RegistrySettings, "The MCP registry.")
    log: LogSettings = setting(LogSettings, "Logging.")
    sessions: SessionSettings = setting(SessionSettings, "Stored conversations.")
    expose: Literal["run", "search", "all"] = setting(
        "run",
        "Tools that MCP clients see: `run` exposes one tool that runs code, `search` exposes `find_tools` "
        "and `call_tool`, `all` exposes every tool. Clients list the tools when they connect.",
        restart=True,
    )
    docs_base_url: str = setting(
        "https://onetool.beycom.online/reference/tools/",
        "Base URL of the pack documentation that `ot.help` links to.",
    )

"""The settings of one MCP server: `servers.<name>` in `onetool.yaml`."""

from dataclasses import MISSING, dataclass, replace
from typing import Any, Literal

from onetool.domain.text.json_text import encode

from .validation import Names, setting

MAX_MESSAGE_BYTES, MAX_MESSAGE_VALUES = 16 * 2**20, 100_000
"""Default limits of a message from an MCP server."""
CONTAINER_COMMANDS = ("docker", "podman")


@dataclass(frozen=True, slots=True, kw_only=True)
class PathSettings:
    """A file or directory that the program of a server may access."""

    path: str = setting(MISSING, "Required. The file or directory.")
    write: bool = setting(False, "Whether the program may change it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOverride:
    """Changes to a tool of a server."""

    name: str | None = setting(None, "New name of the tool, a Python identifier.")
    title: str | None = setting(None, "New title, which clients show to people.")
    description: str | None = setting(None, "New description, which models read.")
    fixed: dict[str, Any] = setting(
        dict,
        "Values of parameters that every call gets. Callers neither see nor pass these parameters. `${NAME}` "
        "inserts the secret `NAME`.",
    )
    defaults: dict[str, Any] = setting(dict, "Values of parameters that the caller omits.")

    @property
    def fixed_texts(self) -> dict[str, str]:
        """The fixed values that are texts, by parameter."""
        return {name: value for name, value in self.fixed.items() if isinstance(value, str)}

    def problem(self) -> str:
        """Return what is wrong with the combination of settings, or an empty string."""
        if both := [name for name in self.fixed if name in self.defaults]:
            return f"{both[0]!r} is both in fixed and in defaults"
        if b"${" in encode(self.defaults):
            return "defaults cannot insert secrets with ${NAME}, because models see them; use fixed"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Another MCP server: a command to start, or a URL."""

    command: str | None = setting(
        None, "Command that starts the server over stdio. Set either `command` or `url`."
    )
    args: Names = setting((), "Arguments of the command.")
    env: dict[str, str] = setting(
        dict, "Environment variables of the command. `${NAME}` inserts the secret `NAME`."
    )
    cwd: str | None = setting(
        None,
        "Working directory of the command. Default: the project, for a server in the settings of a project; "
        "otherwise the server's own directory.",
    )
    sandbox: bool = setting(
        True,
        "Restrict the command: it can access the system, its own directory and `paths`. If false, it runs "
        "with all your rights.",
    )
    network: bool = setting(
        True, "Let the command use the network. If false, packages are downloaded in a step of their own."
    )
    paths: tuple[PathSettings, ...] = setting(
        (), "Files and directories that the command may access in its sandbox: `{path: ..., write: true}`."
    )
    image: str | None = setting(
        None,
        "Image of a container in which `args` run, if `command` is `docker` or `podman`, instead of the "
        "sandbox of the system.",
    )
    url: str | None = setting(None, "URL of a server over streamable HTTP.")
    headers: dict[str, str] = setting(
        dict, "Headers sent with every request. `${NAME}` inserts the secret `NAME`."
    )
    credentials: Literal["workspace", "person", "either"] = setting(
        "workspace",
        "Whose login, or secrets in `headers`, calls of a hosted OneTool use: those of the `workspace`, of "
        "the calling `person`, or `either`: those of the person, or else those of the workspace. Only for "
        "servers with a `url`.",
    )
    enabled: bool = setting(True, "Use the server. If false, its tools are not available.")
    include: Names | None = setting(None, "Name patterns of the tools to use. Default: all tools.")
    exclude: Names = setting((), "Name patterns of tools to hide. Takes precedence over `include`.")
    tools: dict[str, ToolOverride] = setting(
        dict, "Changes to tools of the server, by the name that the server lists. A reload applies them."
    )
    timeout_s: float | None = setting(
        None,
        "Time limit of a call to the server in seconds. Default: 60, and for jobs `execution.job_timeout_s`.",
        gt=0,
    )
    questions: Literal["auto", "never"] = setting(
        "auto",
        "Whether the server may ask the user during a call: `auto`, if the client can ask its user, or "
        "`never`.",
    )
    sampling: Literal["never", "ask"] = setting(
        "never",
        "Whether the server may use the model of the client or of `onetool ask`: `never`, or `ask`, if the "
        "user is asked before.",
    )
    trust_annotations: bool = setting(
        False,
        "Treat tools that the server declares as read-only as such. If false, only those whose definition "
        "you approved.",
    )
    max_message_bytes: int | None = setting(
        None,
        "Maximum size of a message from the server in bytes. Default: `execution.max_message_bytes`.",
        ge=1_000,
    )
    max_message_values: int | None = setting(
        None,
        "Maximum number of JSON values in a message from the server. Default: "
        "`execution.max_message_values`.",
        ge=100,
    )
    new_tools: Literal["quarantine", "allow"] = setting(
        "quarantine", "What happens to tools that the server adds after its first listing."
    )

    def problem(self) -> str:
        """Return what is wrong with the combination of settings, or an empty string."""
        if bool(self.command) == bool(self.url):
            return "set either command or url"
        if self.image is not None and (self.command or "").rpartition("/")[2] not in CONTAINER_COMMANDS:
            return "an image needs the command docker or podman"
        if self.credentials != "workspace" and self.url is None:
            return f"credentials: {self.credentials} needs a url, because a command has one login for all"
        return ""

    def with_defaults(self, max_message_bytes: int, max_message_values: int) -> "ServerSettings":
        """Return the settings with the general limits in place of those that the server does not set."""
        return replace(
            self,
            max_message_bytes=self.max_message_bytes or max_message_bytes,
            max_message_values=self.max_message_values or max_message_values,
        )

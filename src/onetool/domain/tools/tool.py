"""A tool: its definition (ToolSpec) and its runner, which only the pipeline calls."""

import math
import re
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from onetool.domain.calls.invocation import Invocation
from onetool.domain.text.strings import to_camel_case

from .preset_args import PresetArgs
from .requirement import Requirement

JsonSchema = Mapping[str, Any]
Runner = Callable[[Mapping[str, Any], Invocation], Coroutine[Any, Any, Any]]
Impl = Literal["python", "http", "code", "mock", "builtin", "internal", "proxy"]
Origin = Literal["builtin", "pack", "config", "bundle", "proxy"]

OWN_PACK = "ot"
"""The pack of OneTool itself: it finds and describes only what the caller may call."""
CURRENT = "current"
"""Version label of every tool that is not stored."""
DEPRECATED = "deprecated"
DEPRECATED_PATTERN = re.compile(
    r"\bDEPRECATED\b|(?i:(?:^|[.!?]\s+)[\W_]*deprecated\b(?:\s+(?:in|since|use)\b|\s*[^\w\s]|\s*$)"
    r"|\bthis \w+ (?:is|has been) (?:now )?deprecated\b)"
)
"""Deprecation notices. A tool that lists deprecated items is not deprecated itself."""


def any_matches(patterns: Iterable[str], names: Iterable[str]) -> bool:
    """Whether a pattern from the settings, such as `notes.*`, matches one of the names."""
    names = tuple(names)
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """The definition of a tool, from which every interface derives its own format."""

    name: str
    description: str
    input_schema: JsonSchema
    title: str = ""
    """A name for people; empty if it has none."""
    id: str = ""
    """Id of a stored version; empty for tools that are not stored."""
    output_schema: JsonSchema | None = None
    handler: str = ""
    """Name of the tool that runs the call; its own name by default."""
    impl: Impl = "python"
    origin: Origin = "pack"
    source: str = "local"
    version: str = CURRENT
    enabled: bool = True
    disabled_reason: str = ""
    timeout: float | None = None
    """Time limit of a call in seconds; None if none was set."""
    default_timeout: float | None = None
    """Time limit in place of `execution.timeout_s`, which jobs may exceed."""
    cacheable: bool = False
    read_only: bool = True
    app_only: bool = False
    """Only the app of its MCP server calls it: models do not see it."""
    has_app: bool = False
    """Its MCP server has an app that shows the results."""
    parallel: bool = False
    max_concurrent: int | None = None
    max_calls_per_minute: int | None = None
    tags: tuple[str, ...] = ()
    requires: tuple[Requirement, ...] = ()
    returns: str = ""
    return_type: str = ""
    """The return type as a Python annotation."""
    example: str = ""
    docs_url: str | None = None
    """The URL of its pack's documentation; empty if there is none; None to derive it from the pack's name."""

    def __post_init__(self) -> None:
        if not self.handler:
            object.__setattr__(self, "handler", self.name)

    @property
    def versioned_name(self) -> str:
        """The name as `name@version` if the tool is stored in versions; otherwise the name."""
        is_stored = bool(self.id) or self.version != CURRENT  # also with a version that is called `current`
        return f"{self.name}@{self.version}" if is_stored else self.name

    @property
    def qualified_name(self) -> str:
        """The name as `pack.func`; a configured tool without a dot belongs to the pack `config`."""
        return self.name if "." in self.name else f"config.{self.name}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names that match in allow-lists and patterns."""
        return self.name, self.qualified_name

    @property
    def access(self) -> str:
        """Whether the tool changes something: `read-only` or `changes`."""
        return "read-only" if self.read_only else "changes"

    @property
    def is_deprecated(self) -> bool:
        """Whether its tags or its description say that the tool is deprecated."""
        return DEPRECATED in self.tags or DEPRECATED_PATTERN.search(self.description) is not None

    @property
    def pack(self) -> str:
        """The pack: the part of the name before the dot."""
        return self.qualified_name.partition(".")[0]

    def summary(self) -> dict[str, Any]:
        """Return the fields shown in listings."""
        return {"name": self.name, "description": self.description, "inputSchema": dict(self.input_schema)}

    def details(self) -> dict[str, Any]:
        """Return the summary and all other fields that are not empty."""
        fields = {
            to_camel_case(key): value for key, value in asdict(self).items() if value not in ("", None, ())
        }
        return {**self.summary(), **fields}


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A definition and its runner; None if the handler runs the call."""

    spec: ToolSpec
    runner: Runner | None = None
    preset: PresetArgs | None = field(default=None, repr=False)
    """Arguments that the settings add to every call."""
    definition: Mapping[str, Any] | None = field(default=None, repr=False)
    """The definition that an MCP server sent, with the changes of the settings; None for other tools."""
    endpoint: str = field(default="", repr=False)
    """A digest of the URL of its server, whose tasks any process can wait for; empty for other tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOptions:
    """The options of the `@tool(...)` decorator."""

    timeout: float | None = None
    cacheable: bool = False
    read_only: bool = True
    parallel: bool = False
    tags: tuple[str, ...] = ()
    max_concurrent: int | None = None

    def __post_init__(self) -> None:
        timeout, max_concurrent = self.timeout, self.max_concurrent
        if timeout is not None and not (isinstance(timeout, int | float) and 0 < timeout < math.inf):
            raise ValueError(f"@tool(timeout={timeout!r}): must be a positive number of seconds")
        if max_concurrent is not None and not (isinstance(max_concurrent, int) and max_concurrent >= 1):
            raise ValueError(f"@tool(max_concurrent={max_concurrent!r}): must be a positive integer")


TOOL_OPTIONS = "__onetool__"
"""Function attribute in which the SDK stores ToolOptions for the pack loader."""

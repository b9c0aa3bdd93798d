"""What a tool is: the spec that everybody may read, and the runner that only dispatch touches."""

import math
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from .invocation import Invocation
from .requirement import Requirement
from .texts import camel

JsonSchema = Mapping[str, Any]
Runner = Callable[[Mapping[str, Any], Invocation], Coroutine[Any, Any, Any]]
Impl = Literal["python", "http", "mock", "builtin", "internal", "proxy"]
Origin = Literal["builtin", "pack", "config", "bundle", "proxy"]

CURRENT = "current"
"""Version label of every tool that is not a stored, versioned one."""


def any_matches(patterns: Iterable[str], names: Iterable[str]) -> bool:
    """Whether a pattern of the operator's (`notes.*`) fits one of the names."""
    names = tuple(names)
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """The one definition of a tool that every door projects."""

    name: str
    description: str
    input_schema: JsonSchema
    id: str = ""
    """Of a stored version; a tool that is not stored is known by its name alone."""
    output_schema: JsonSchema | None = None
    handler: str = ""
    """Name of the tool that does the work: its own, unless another one was given."""
    impl: Impl = "python"
    origin: Origin = "pack"
    source: str = "local"
    version: str = CURRENT
    enabled: bool = True
    disabled_reason: str = ""
    timeout: float | None = None
    cacheable: bool = False
    changes: bool = False
    parallel: bool = False
    max_concurrent: int | None = None
    max_calls_per_minute: int | None = None
    tags: tuple[str, ...] = ()
    requires: tuple[Requirement, ...] = ()
    returns: str = ""
    return_type: str = ""
    """As Python writes it."""
    example: str = ""

    def __post_init__(self) -> None:
        if not self.handler:
            object.__setattr__(self, "handler", self.name)

    @property
    def qualified_name(self) -> str:
        """`pack.func`; a configured tool without a dot lives in the pack `config`."""
        return self.name if "." in self.name else f"config.{self.name}"

    @property
    def names(self) -> tuple[str, ...]:
        """Every name under which lists and patterns may mean it."""
        return self.name, self.qualified_name

    @property
    def pack(self) -> str:
        """The namespace before the dot."""
        return self.qualified_name.partition(".")[0]

    def summary(self) -> dict[str, Any]:
        """What a listing shows of a tool."""
        return {"name": self.name, "description": self.description, "inputSchema": dict(self.input_schema)}

    def details(self) -> dict[str, Any]:
        """The summary with everything else that is known and not empty."""
        known = {camel(key): value for key, value in asdict(self).items() if value not in ("", None, ())}
        return {**self.summary(), **known}


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A spec with its runner, or with the name of the tool that runs for it."""

    spec: ToolSpec
    runner: Runner | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What a pack author says about a function with `@tool(...)`."""

    timeout: float | None = None
    cacheable: bool = False
    changes: bool = False
    parallel: bool = False
    tags: tuple[str, ...] = ()
    max_concurrent: int | None = None

    def __post_init__(self) -> None:
        timeout, most = self.timeout, self.max_concurrent
        if timeout is not None and not (isinstance(timeout, int | float) and 0 < timeout < math.inf):
            raise ValueError(f"@tool(timeout={timeout!r}): should be a number of seconds greater than 0")
        if most is not None and not (isinstance(most, int) and most >= 1):
            raise ValueError(f"@tool(max_concurrent={most!r}): should be a whole number from 1 on")


DECLARATION = "__onetool__"
"""Attribute in which the SDK leaves a Declaration for the source that reads packs."""

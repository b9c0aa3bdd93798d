"""One pack file: imported when a tool of it is first called, and turned into runnable tools."""

import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from onetool.domain.invocation import Context, Invocation
from onetool.domain.requirement import Requirement
from onetool.domain.tool import Declaration, Origin, Tool, ToolSpec
from onetool.threads import Threads

from .description import Description

Load = Callable[[], ModuleType]


def import_named(name: str) -> Load:
    """Import a module that is installed."""
    return lambda: importlib.import_module(name)


def execute(file: Path, content: bytes, digest: str) -> Load:
    """Run exactly this content as a module: what was checked is what runs."""

    def load() -> ModuleType:
        name = f"onetool_pack_{file.stem}_{digest[:12]}"
        module = ModuleType(name)
        module.__file__ = str(file)
        sys.modules[name] = module  # dataclasses and annotations look their module up
        try:
            exec(compile(content, file, "exec", dont_inherit=True), vars(module))  # noqa: S102 - a pack is code
        except BaseException:
            del sys.modules[name]
            raise
        return module

    return load


@dataclass(slots=True)
class PackFile:
    """The module of a pack, loaded once."""

    load: Load
    _module: ModuleType | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def module(self) -> ModuleType:
        """Return the module; the first call imports it, on the thread that asks."""
        if self._module is None:
            with self._lock:
                if self._module is None:
                    self._module = self.load()
        return self._module


def make_tools(file: PackFile, described: Description, threads: Threads, origin: Origin) -> list[Tool]:
    """Return the tools of a described pack file."""
    return [_tool(file, described.pack, entry, threads, origin) for entry in described.tools]


def _tool(file: PackFile, pack: str, entry: Mapping[str, Any], threads: Threads, origin: Origin) -> Tool:
    declared = Declaration(**{**entry["declaration"], "tags": tuple(entry["declaration"]["tags"])})
    spec = ToolSpec(
        name=f"{pack}.{entry['name']}",
        description=entry["description"],
        input_schema=entry["input_schema"],
        returns=entry["returns"],
        return_type=entry["return_type"],
        example=entry["example"],
        origin=origin,
        timeout=declared.timeout,
        cacheable=declared.cacheable,
        changes=declared.changes,
        parallel=declared.parallel,
        tags=declared.tags,
        requires=tuple(Requirement(**one) for one in entry["requires"]),
        max_concurrent=declared.max_concurrent,
    )
    return Tool(spec, _Function(file, entry, threads).run)


class _Function:
    """Calls one function of a pack with JSON arguments."""

    def __init__(self, file: PackFile, entry: Mapping[str, Any], threads: Threads) -> None:
        self._file, self._threads = file, threads
        self._name, self._context, self._plain = entry["name"], entry["context"], entry["plain"]
        self._adapter: Any = None
        self._function: Callable[..., Any] | None = None
        self._is_async = False

    async def run(self, args: Mapping[str, Any], invocation: Invocation) -> Any:
        """Await an async function here, run any other on a thread."""
        function = self._function
        if function is None:
            function = await self._threads.run(self._load)
        if self._is_async:
            return await function(**self._keywords(function, args, invocation))
        output = await self._threads.run(self._call, function, args, invocation)
        return await output if inspect.isawaitable(output) else output

    def _load(self) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(self._file.module(), self._name)
        self._is_async = inspect.iscoroutinefunction(function)
        self._function = function
        return function

    def _call(self, function: Callable[..., Any], args: Mapping[str, Any], invocation: Invocation) -> Any:
        return function(**self._keywords(function, args, invocation))

    def _keywords(
        self, function: Callable[..., Any], args: Mapping[str, Any], invocation: Invocation
    ) -> dict[str, Any]:
        keywords = dict(args) if self._plain else self._convert(function, args)
        if self._context:
            keywords[self._context] = Context(invocation)
        return keywords

    def _convert(self, function: Callable[..., Any], args: Mapping[str, Any]) -> dict[str, Any]:
        from pydantic_core import ArgsKwargs

        from .describe import argument_adapter

        if self._adapter is None:
            self._adapter = argument_adapter(function)
        converted: dict[str, Any] = self._adapter.validate_python(ArgsKwargs((), dict(args)))
        return converted

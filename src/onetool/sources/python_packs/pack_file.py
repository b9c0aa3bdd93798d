"""One pack file and its tools. It is imported when one of them is first called."""

import asyncio
import importlib
import inspect
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from onetool.domain.calls.call import ErrorNote
from onetool.domain.calls.invocation import Context, Invocation
from onetool.domain.tools.requirement import Requirement
from onetool.domain.tools.tool import Origin, Runner, Tool, ToolOptions, ToolSpec
from onetool.threads import Threads

from .description import PackDescription
from .library_hints import missing_library_hint

log = logging.getLogger(__name__)
Load = Callable[[], ModuleType]
MISTAKES = (LookupError, NameError, AttributeError, TypeError, ImportError)
"""Errors that usually are mistakes in a file. Others, such as ValueError, are messages of its author."""


def import_named(name: str) -> Load:
    """Return a loader that imports an installed module."""
    return lambda: importlib.import_module(name)


def execute(file: Path, content: bytes, digest: str) -> Load:
    """Return a loader that executes exactly this content as a module, not what the file holds by then."""

    def load() -> ModuleType:
        name = f"onetool_pack_{file.stem}_{digest[:12]}"
        module = ModuleType(name)
        module.__file__ = str(file)
        sys.modules[name] = module  # dataclasses and annotations look up their module
        try:
            exec(compile(content, file, "exec", dont_inherit=True), vars(module))  # noqa: S102 - a pack is code
        except BaseException:
            del sys.modules[name]
            raise
        return module

    return load


@dataclass(slots=True)
class PackFile:
    """The module of a pack, loaded once. Thread-safe."""

    load: Load
    path: Path | None = None
    """The user's file, whose name and lines are shown in errors; None: they are not."""
    has_metadata: bool = False
    """Whether the file declares its libraries."""
    _module: ModuleType | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def module(self) -> ModuleType:
        """Return the module. The first call imports it, on the calling thread."""
        if self._module is None:
            with self._lock:
                if self._module is None:
                    self._module = self.load()
        return self._module

    def add_note(self, error: Exception) -> None:
        """Add the line of the file to a mistake in it, and how it gets a library that is missing."""
        if self.path is None or not isinstance(error, MISTAKES) or hasattr(error, "__notes__"):
            return
        frames = traceback.walk_tb(error.__traceback__)
        lines = [line for frame, line in frames if frame.f_code.co_filename == str(self.path)]
        if not lines:
            return
        note = f"(in {self.path.name}, line {lines[-1]})"
        if isinstance(error, ModuleNotFoundError) and error.name:
            note += f". {missing_library_hint(error.name, has_metadata=self.has_metadata)}"
        error.add_note(ErrorNote(note))


def make_tools(file: PackFile, description: PackDescription, threads: Threads, origin: Origin) -> list[Tool]:
    """Return the tools of a described pack file, which run in this process."""
    return [
        make_tool(description, entry, FunctionRunner(file, entry, threads).run, origin)
        for entry in description.tools
    ]


def make_tool(description: PackDescription, entry: Mapping[str, Any], runner: Runner, origin: Origin) -> Tool:
    """Return one tool of a described pack file."""
    options = ToolOptions(**{**entry["options"], "tags": tuple(entry["options"]["tags"])})
    spec = ToolSpec(
        name=f"{description.pack}.{entry['name']}",
        description=entry["description"],
        input_schema=entry["input_schema"],
        returns=entry["returns"],
        return_type=entry["return_type"],
        example=entry["example"],
        origin=origin,
        timeout=options.timeout,
        cacheable=options.cacheable,
        read_only=options.read_only,
        parallel=options.parallel,
        tags=options.tags,
        requires=tuple(Requirement(**requirement) for requirement in entry["requires"]),
        max_concurrent=options.max_concurrent,
        docs_url=description.docs_url,
    )
    return Tool(spec, runner)


class FunctionRunner:
    """Calls one function of a pack with JSON arguments."""

    def __init__(self, file: PackFile, entry: Mapping[str, Any], threads: Threads) -> None:
        self._file, self._threads = file, threads
        self._name, self._context, self._plain = entry["name"], entry["context"], entry["plain"]
        self._adapter: Any = None
        self._function: Callable[..., Any] | None = None
        self.is_async = False
        """Whether the function is a coroutine function, once it is loaded."""

    async def run(self, args: Mapping[str, Any], invocation: Invocation) -> Any:
        """Await an async function, or run any other function on a thread."""
        try:
            return await self._run(args, invocation)
        except Exception as error:
            self._file.add_note(error)
            log.debug("%s raised an exception", invocation.tool, exc_info=error)
            raise

    async def _run(self, args: Mapping[str, Any], invocation: Invocation) -> Any:
        function = self._function
        if function is None:
            function = await self._threads.run(self._load)
        if invocation.cancelled.is_set:  # while the file was imported
            raise asyncio.CancelledError
        if self.is_async:
            return await function(**self._kwargs(function, args, invocation))
        output = await self._threads.run(self._call, function, args, invocation)
        return await output if inspect.isawaitable(output) else output

    def _load(self) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(self._file.module(), self._name)
        self.is_async = inspect.iscoroutinefunction(function)
        self._function = function
        return function

    def _call(self, function: Callable[..., Any], args: Mapping[str, Any], invocation: Invocation) -> Any:
        return function(**self._kwargs(function, args, invocation))

    def _kwargs(
        self, function: Callable[..., Any], args: Mapping[str, Any], invocation: Invocation
    ) -> dict[str, Any]:
        kwargs = dict(args) if self._plain else self._convert(function, args)
        if self._context:
            kwargs[self._context] = Context(invocation)
        return kwargs

    def _convert(self, function: Callable[..., Any], args: Mapping[str, Any]) -> dict[str, Any]:
        from pydantic_core import ArgsKwargs

        from .function_specs import argument_adapter

        if self._adapter is None:
            self._adapter = argument_adapter(function)
        converted: dict[str, Any] = self._adapter.validate_python(ArgsKwargs((), dict(args)))
        return converted

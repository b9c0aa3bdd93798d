"""The sandbox: a pool of Monty interpreter processes without files, network or imports except packs."""

import math
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from typing import Any, get_args

from onetool.domain.code.sandbox import CallOutcome, SandboxJob, SandboxLimits, SandboxResult
from onetool.threads import Threads

from . import text_functions
from .launcher import Launcher, active_restrictions
from .media_values import wrap_media
from .runtime_errors import MODULE, explain_error, explain_tool

MAX_PROCESSES = 1_000
"""Upper bound of the workers. The host limits how many runs there are at a time."""
MAX_SUSPENSIONS = 1_000_000
"""Limit of all requests to the host, such as the text of a printed list. Tool calls have a lower limit."""

MAX_CACHED_MODULES = 256


class MontySandbox:
    """Pools of workers, one for each memory limit. Each run has a worker of its own.

    The first run starts a pool. A run with another memory limit replaces it.
    """

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._pools: list[_WorkerPool] = []
        """The pool of the last run, and those before it that still run code."""
        self._lock = threading.Lock()

    async def run(self, job: SandboxJob) -> SandboxResult:
        """Run the code, driven by a thread. Cancelling kills the worker."""
        run = _SandboxRun(job)
        try:
            return await self._threads.run(self._run, run, job.limits.memory_bytes)
        finally:
            run.stop()

    async def restrictions(self) -> Mapping[str, bool]:
        """Return the restrictions of the jail, and whether this system supports each; none outside Linux."""
        from pydantic_monty._binary import find_monty_binary

        return await self._threads.run(active_restrictions, str(find_monty_binary()))

    def close(self) -> None:
        """Stop all workers."""
        with self._lock:
            pools, self._pools = self._pools, []
        for pool in pools:
            pool.close()

    def _run(self, run: "_SandboxRun", memory_bytes: int) -> SandboxResult:
        with self._lock:
            if not self._pools or self._pools[-1].memory_bytes != memory_bytes:
                self._pools.append(_WorkerPool(memory_bytes))
            pool = self._pools[-1]
            pool.run_count += 1
            self._close_unused()
        try:
            return run(pool.workers)
        finally:
            with self._lock:
                pool.run_count -= 1
                self._close_unused()

    def _close_unused(self) -> None:
        """Close the pools that run nothing, except the last one."""
        for pool in [pool for pool in self._pools[:-1] if pool.run_count == 0]:
            self._pools.remove(pool)
            pool.close()


class _WorkerPool:
    """Workers with a memory limit."""

    def __init__(self, memory_bytes: int) -> None:
        from pydantic_monty import Monty
        from pydantic_monty._binary import find_monty_binary

        self.memory_bytes = memory_bytes
        self.run_count = 0
        self._launcher = Launcher(str(find_monty_binary()), memory_bytes)
        pool = Monty(binary_path=self._launcher.program, min_processes=1, max_processes=MAX_PROCESSES)
        self.workers: Any = pool.__enter__()

    def close(self) -> None:
        """Stop the workers."""
        self.workers.__exit__(None, None, None)
        self._launcher.close()


class _SandboxRun:
    """One program in one worker. Runs its calls on the host."""

    def __init__(self, job: SandboxJob) -> None:
        self._job = job
        self._pending: dict[int, Future[CallOutcome]] = {}
        self._worker: int | None = None
        self._printed: list[str] = []
        self._printed_bytes = 0
        self._call_count = 0
        self._is_stopped = False
        self._worker_lock = threading.Lock()

    def __call__(self, pool: Any) -> SandboxResult:
        import pydantic_monty as monty

        modules = {MODULE.format(name): _module(tuple(tools)) for name, tools in self._job.modules.items()}
        modules[text_functions.MODULE] = _module(text_functions.NAMES)
        session = pool.checkout(
            limits=_limits(self._job.limits),
            os_policy={"sleep_system_max": math.inf},
            external_modules=modules,
        )
        try:
            with session as worker, self._own(worker.worker_pid) as is_active:
                return self._run(monty, worker) if is_active else SandboxResult()
        except monty.MontyError as error:  # no worker could start, or it was lost at the end
            return self._failure(*self._explain(monty, error, None))

    @contextmanager
    def _own(self, worker: int) -> Iterator[bool]:
        """Allow `stop` to kill this worker until it returns to the pool, where another run may use it.

        Yields False if the run was cancelled while it was waiting for a worker.
        """
        with self._worker_lock:
            self._worker = worker
        try:
            yield not self._is_stopped
        finally:
            with self._worker_lock:
                self._worker = None

    def stop(self) -> None:
        """Kill the worker and cancel pending calls, if the run is still in progress."""
        with self._worker_lock:
            self._is_stopped = True
            if self._worker is not None:
                with suppress(OSError):
                    os.kill(self._worker, getattr(signal, "SIGKILL", signal.SIGTERM))
        for call in list(self._pending.values()):  # a copy, because the thread of the run may change it
            call.cancel()

    def _run(self, monty: Any, worker: Any) -> SandboxResult:
        try:
            output = self._drive(monty, worker)
        except monty.MontyError as error:
            return self._failure(*self._explain(monty, error, worker))
        if problem := explain_tool(output, self._job):
            return self._failure(problem, "TypeError")
        return SandboxResult(output, "".join(self._printed))

    def _failure(self, message: str, exception: str) -> SandboxResult:
        return SandboxResult(None, "".join(self._printed), message, exception)

    def _drive(self, monty: Any, worker: Any) -> Any:
        imports = [f"import {MODULE.format(name)} as {name}" for name in self._job.modules]
        imports += [f"{alias} = {target}" for alias, target in self._job.aliases.items()]
        if definitions := "\n".join([*imports, text_functions.functions_for(self._job.program)]):
            worker.feed_run(definitions)
        inputs = wrap_media(dict(self._job.variables)) or None
        step = worker.feed_start(self._job.program.source, inputs=inputs, print_callback=self._print)
        while not isinstance(step, monty.MontyComplete):
            step = self._advance(monty, step)
        return step.output

    def _advance(self, monty: Any, step: Any) -> Any:
        if isinstance(step, monty.FutureSnapshot):
            return step.resume(self._wait_for_any(step.pending_call_ids))
        if not isinstance(step, monty.FunctionSnapshot):
            return step.resume_auto()
        if step.function_name in ("system.sleep", "system.async_sleep"):
            self._start_call(step.call_id, partial(self._job.host.sleep, *step.args))
            return self._wait_for(step, is_async=step.function_name == "system.async_sleep")
        return step.resume_auto() if step.is_os_function else self._call(step)

    def _call(self, step: Any) -> Any:
        module, _, function = step.function_name.partition(".")
        if module == text_functions.MODULE:
            return step.resume(self._to_text(function, step.args))
        pack = module.removeprefix("pack_")
        if pack not in self._job.modules or not function:
            return step.resume({"exc_type": "NameError", "message": f"name {pack!r} is not defined"})
        name = f"{pack}.{function}"
        if step.args:
            message = f"{name}() takes keyword arguments only, such as {name}(query='x')"
            return step.resume({"exc_type": "TypeError", "message": message})
        self._call_count += 1
        if self._call_count > self._job.limits.calls:
            message = f"more than {self._job.limits.calls} tool calls (execution.run_max_calls)"
            return step.resume({"exc_type": "RuntimeError", "message": message})
        self._start_call(step.call_id, partial(self._job.host.call, name, step.kwargs))
        position = (step.position.start, step.position.end)
        return self._wait_for(step, is_async=position in self._job.program.awaited_calls)

    def _start_call(self, call_id: int, start: Callable[[], Future[CallOutcome]]) -> None:
        """Start a call that `stop` cancels, also if the run is stopped at this moment."""
        call = start()
        with self._worker_lock:
            self._pending[call_id] = call
            is_stopped = self._is_stopped
        if is_stopped:
            call.cancel()

    def _to_text(self, function: str, args: Sequence[Any]) -> dict[str, Any]:
        if len(args) != 1:  # the code called the function itself
            return {"exc_type": "TypeError", "message": f"{function}() takes one argument"}
        remaining = self._job.limits.printed_bytes - self._printed_bytes
        return {"return_value": text_functions.text_of(function, args[0], self._job.host, remaining)}

    def _wait_for(self, step: Any, *, is_async: bool) -> Any:
        """Answer with the result of a pending call, or with a future if the code awaits it."""
        if is_async:
            return step.resume({"future": ...})
        result = _to_monty(self._pending[step.call_id].result())
        del self._pending[step.call_id]  # only now, because `stop` cancels pending calls
        return step.resume(result)

    def _wait_for_any(self, ids: list[int]) -> dict[int, Any]:
        """Wait until at least one of these calls is done, and return the results of those that are."""
        calls = {call_id: self._pending[call_id] for call_id in ids}
        wait(calls.values(), return_when=FIRST_COMPLETED)
        return {
            call_id: _to_monty(self._pending.pop(call_id).result())
            for call_id, call in calls.items()
            if call.done()
        }

    def _print(self, stream: str, text: str) -> None:
        remaining = self._job.limits.printed_bytes - self._printed_bytes
        content = text.encode()
        self._printed_bytes += len(content)
        if remaining > 0:
            self._printed.append(content[:remaining].decode(errors="ignore"))
            if len(content) > remaining:
                self._printed.append("\n[output truncated]\n")

    def _explain(self, monty: Any, error: Any, worker: Any) -> tuple[str, str]:
        if isinstance(error, monty.MontyCrashedError):
            return "The code exceeded its memory or time limit and was stopped.", "MemoryError"
        raised = error.exception() if hasattr(error, "exception") else error
        frames = error.traceback() if hasattr(error, "traceback") else []
        in_program = [frame for frame in frames if frame.filename == frames[0].filename]
        return explain_error(raised, in_program, self._job, lambda name: _read_variable(monty, worker, name))


def _read_variable(monty: Any, worker: Any, name: str) -> Any:
    """Return the value of a global variable after the code failed.

    Raises:
        LookupError: There is no such variable.
    """
    try:
        return worker.feed_run(name)
    except monty.MontyError:
        raise LookupError(name) from None


@lru_cache(MAX_CACHED_MODULES)
def _module(functions: tuple[str, ...]) -> Any:
    from pydantic_monty import ExternalModule

    return ExternalModule(dict.fromkeys(functions, _placeholder))


def _placeholder(**kwargs: Any) -> None:
    """Represent a tool. It is never called: `_SandboxRun` runs the calls itself."""


def _limits(limits: SandboxLimits) -> dict[str, Any]:
    return {
        "max_feed_duration_secs": limits.cpu_s,
        "max_memory": limits.memory_bytes,
        "max_suspensions": MAX_SUSPENSIONS,
        "max_total_sleep_secs": limits.sleep_s,
    }


def _to_monty(outcome: CallOutcome) -> dict[str, Any]:
    if not outcome.exception:
        return {"return_value": wrap_media(outcome.value) if outcome.has_media else outcome.value}
    from pydantic_monty import ExcType

    kind = outcome.exception if outcome.exception in get_args(ExcType) else "RuntimeError"
    return {"exc_type": kind, "message": outcome.message}

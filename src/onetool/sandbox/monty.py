"""Runs code in pooled workers of the Monty interpreter: no files, no network, no imports but packs."""

import os
import re
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from typing import Any, get_args

from onetool.domain.sandbox import Answer, Outcome, SandboxJob, SandboxLimits
from onetool.threads import Threads

from .diagnostics import LACKS, MODULE, explain_check, explain_tool
from .launcher import Launcher


class MontySandbox:
    """A pool that is started by the first run; each run has a worker of its own while it lasts."""

    def __init__(self, threads: Threads, max_processes: int) -> None:
        self._threads, self._max_processes = threads, max_processes
        self._pool: Any = None
        self._launcher: Launcher | None = None
        self._lock = threading.Lock()

    async def run(self, job: SandboxJob) -> Outcome:
        """Run the code on a thread; cancelling the wait kills its worker."""
        run = _Run(job)
        try:
            return await self._threads.run(lambda: run(self._started_pool()))
        finally:
            run.end()

    def close(self) -> None:
        """End all workers."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.__exit__(None, None, None)
        if self._launcher is not None:
            self._launcher.close()

    def _started_pool(self) -> Any:
        from pydantic_monty import Monty
        from pydantic_monty._binary import find_monty_binary

        with self._lock:
            if self._pool is None:
                self._launcher = Launcher(find_monty_binary())
                pool = Monty(
                    binary_path=self._launcher.program, min_processes=1, max_processes=self._max_processes
                )
                self._pool = pool.__enter__()
            return self._pool


class _Run:
    """One program in one worker, driven from call to call."""

    def __init__(self, job: SandboxJob) -> None:
        self._job = job
        self._pending: dict[int, Future[Answer]] = {}
        self._worker: int | None = None
        self._printed: list[str] = []
        self._printed_bytes = 0
        self._is_over = False
        self._turn = threading.Lock()

    def __call__(self, pool: Any) -> Outcome:
        import pydantic_monty as monty

        modules = {MODULE.format(name): _module(monty, stubs) for name, stubs in self._job.modules.items()}
        session = pool.checkout(
            limits=_limits(self._job.limits),
            type_check=True,
            type_check_format="concise",
            external_modules=modules,
        )
        try:
            with session as worker, self._owning(worker.worker_pid) as is_wanted:
                output = self._drive(monty, worker) if is_wanted else None
                problem = explain_tool(output, self._job)
                return Outcome(
                    None if problem else output, "".join(self._printed), problem, problem and "TypeError"
                )
        except monty.MontyError as error:
            return Outcome(None, "".join(self._printed), *self._explain(monty, error))

    @contextmanager
    def _owning(self, worker: int) -> Iterator[bool]:
        """Let `end` kill this worker, but not when it is back with the others: another run may have it then.

        Yields False where the run was cancelled while it waited for a worker.
        """
        with self._turn:
            self._worker = worker
        try:
            yield not self._is_over
        finally:
            with self._turn:
                self._worker = None

    def end(self) -> None:
        """Stop whatever still runs: nobody waits for it."""
        with self._turn:
            self._is_over = True
            if self._worker is not None:
                with suppress(OSError):
                    os.kill(self._worker, getattr(signal, "SIGKILL", signal.SIGTERM))
        for call in list(self._pending.values()):  # whose own thread may be at it
            call.cancel()

    def _drive(self, monty: Any, worker: Any) -> Any:
        prelude = [f"import {MODULE.format(name)} as {name}" for name in self._job.modules]
        prelude += [f"{alias} = {target}" for alias, target in self._job.aliases.items()]
        worker.feed_run("\n".join(prelude))
        step = worker.feed_start(self._job.program.source, print_callback=self._print)
        while not isinstance(step, monty.MontyComplete):
            step = self._answer(monty, step)
        return step.output

    def _answer(self, monty: Any, step: Any) -> Any:
        if isinstance(step, monty.FutureSnapshot):
            return step.resume(self._finished(step.pending_call_ids))
        if not isinstance(step, monty.FunctionSnapshot):
            return step.resume_auto()
        if step.function_name == "system.async_sleep":
            self._pending[step.call_id] = self._job.host.sleep(*step.args)
            return step.resume({"future": ...})
        return step.resume_auto() if step.is_os_function else self._call(step)

    def _call(self, step: Any) -> Any:
        pack, _, function = step.function_name.removeprefix("pack_").partition(".")
        if pack not in self._job.modules or not function:
            return step.resume({"exc_type": "NameError", "message": f"name {pack!r} is not defined"})
        name = f"{pack}.{function}"
        if step.args:
            message = f"{name}() takes keyword arguments only, such as {name}(query='x')"
            return step.resume({"exc_type": "TypeError", "message": message})
        self._pending[step.call_id] = self._job.host.call(name, step.kwargs)
        if (step.position.start, step.position.end) in self._job.program.waits:
            return step.resume({"future": ...})
        answer = _result(self._pending[step.call_id].result())
        del self._pending[step.call_id]  # not before it is there: `end` cancels what is pending
        return step.resume(answer)

    def _finished(self, ids: list[int]) -> dict[int, Any]:
        """Wait for at least one of these calls, and return those that are done."""
        calls = {call_id: self._pending[call_id] for call_id in ids}
        wait(calls.values(), return_when=FIRST_COMPLETED)
        return {
            call_id: _result(self._pending.pop(call_id).result())
            for call_id, call in calls.items()
            if call.done()
        }

    def _print(self, stream: str, text: str) -> None:
        room = self._job.limits.printed_bytes - self._printed_bytes
        content = text.encode()
        self._printed_bytes += len(content)
        if room > 0:
            self._printed.append(content[:room].decode(errors="ignore"))
            if len(content) > room:
                self._printed.append("\n[more was printed than is kept]\n")

    def _explain(self, monty: Any, error: Any) -> tuple[str, str]:
        if isinstance(error, monty.MontyTypingError):
            return explain_check(str(error), self._job), "TypeError"
        if isinstance(error, monty.MontyCrashedError):
            return "The code used more memory or time than it may, and was ended.", "MemoryError"
        raised = error.exception() if hasattr(error, "exception") else error
        frames = error.traceback() if hasattr(error, "traceback") else []
        where = f"line {frames[-1].line}: " if frames else ""
        text = f"{type(raised).__name__}: {raised}"
        lacks = f" {LACKS}" if isinstance(raised, NotImplementedError) else ""
        return f"{where}{text}{lacks}", type(raised).__name__


def _module(monty: Any, stubs: str) -> Any:
    names = re.findall(r"^def (\w+)", stubs, re.M)
    return monty.ExternalModule(dict.fromkeys(names, _never_called), stubs=stubs)


def _never_called(**kwargs: Any) -> None:
    """Stand for a tool: the name is all that matters, calls are answered one by one."""


def _limits(limits: SandboxLimits) -> dict[str, Any]:
    return {
        "max_feed_duration_secs": limits.cpu_s,
        "max_memory": limits.memory_bytes,
        "max_suspensions": limits.calls,
        "max_total_sleep_secs": limits.sleep_s,
    }


def _result(answer: Answer) -> dict[str, Any]:
    if not answer.exception:
        return {"return_value": answer.value}
    from pydantic_monty import ExcType

    kind = answer.exception if answer.exception in get_args(ExcType) else "RuntimeError"
    return {"exc_type": kind, "message": answer.message}

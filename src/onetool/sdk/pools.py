"""Tasks of thread pools that packs create: each runs in the call that submitted it.

A task that belongs to no call could use no secret and call no tool. It must get exactly the call that
submitted it, not any call of its pack: a call has the permissions, the deadline and the secrets of its
caller. Only `submit` knows which call that is, so it is wrapped, once for the process. Tasks submitted
outside a call, and threads that are started without a pool, are as Python makes them: a thread that works
for several calls in turn must not act for the one that happened to start it.
"""

import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from typing import Any

from onetool.domain.calls.forwarding import FORWARDER
from onetool.runtime.active_call import is_in_call

_MARK = "_onetool_runs_tasks_in_calls"


def run_tasks_in_calls() -> None:
    """Make pools run each task that a call submits as a part of that call. The second time does nothing."""
    submit: Any = ThreadPoolExecutor.submit
    if hasattr(submit, _MARK):
        return

    @wraps(submit)
    def submit_in_call(
        self: ThreadPoolExecutor, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        if is_in_call() or FORWARDER.get() is not None:
            function = partial(contextvars.copy_context().run, function)
        return submit(self, function, *args, **kwargs)

    setattr(submit_in_call, _MARK, True)
    setattr(ThreadPoolExecutor, "submit", submit_in_call)  # noqa: B010 - mypy rejects a plain assignment

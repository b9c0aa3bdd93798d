"""Signals that stop a server, also one whose event loop is blocked."""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)
GRACE_S = 5.0
"""Time in which the event loop must notice a signal, in seconds."""
LOG_S = 0.5
"""Time for the last log records to be written, in seconds."""


def on_stop_signals(stop: Callable[[], object]) -> None:
    """Call `stop` on the running event loop when SIGTERM or SIGINT arrives.

    If the event loop is blocked and does not notice the signal, the process ends without it.
    """
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:  # pragma: no cover - event loops on Windows have no signal handlers
            signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
            return
        # asyncio is told through its descriptor. This function runs too, also if the loop is blocked.
        signal.signal(number, lambda number, _frame: _end_if_blocked(loop, number))
        signal.siginterrupt(number, False)  # as asyncio does, and the line before undoes


def _end_if_blocked(loop: asyncio.AbstractEventLoop, number: int) -> None:
    noticed = threading.Event()

    def wait() -> None:
        try:
            loop.call_soon_threadsafe(noticed.set)
        except RuntimeError:  # the loop is closed: the process is ending
            return
        if not noticed.wait(GRACE_S):
            log.error("the event loop is blocked; %s ends the process", signal.Signals(number).name)
            threading.Event().wait(LOG_S)
            os._exit(128 + number)

    threading.Thread(target=wait, name="onetool-stop", daemon=True).start()

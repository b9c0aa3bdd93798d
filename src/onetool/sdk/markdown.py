"""Conversion of web pages to Markdown, without blocking other calls."""

import json
import subprocess
import sys
import time
from pathlib import Path

from onetool.domain.errors import NoActiveRuntime
from onetool.runtime.active_call import current_call

from .forwarding import waits_in_runtime

PROGRAM = Path(__file__).with_name("page_converter.py")
MAX_INLINE_LENGTH = 50_000
"""Length of a page that is converted in this process. A hostile one takes less than 100 ms."""
TIMEOUT_S = 60.0


@waits_in_runtime
def html_to_markdown(html: str, url: str = "", *, plain: bool = False) -> str:
    """Return the main content of a page as Markdown, with links made absolute by `url`.

    The conversion holds the interpreter lock, so a child process converts a large page. It has limited memory
    and ends at the deadline of the call.

    plain: return text only, without markup and link targets.
    In an async tool, use `await to_thread(html_to_markdown, ...)`.

    Raises:
        RuntimeError: It is used on an event loop.
        TimeoutError: The conversion takes too long.
        ValueError: The page is too complex.
    """
    if len(html) > MAX_INLINE_LENGTH:
        return _convert_in_child({"html": html, "url": url, "plain": plain})
    from .page_converter import convert_page  # takes 60 ms to import

    return convert_page(html, url, plain=plain)


def _convert_in_child(request: dict[str, object]) -> str:
    command = [sys.executable, "-I", str(PROGRAM)]
    timeout_s = _time_left()
    try:
        done = subprocess.run(
            command, input=json.dumps(request).encode(), capture_output=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"Cannot convert the page in {timeout_s:.1f} s.") from None
    if done.returncode != 0:
        raise ValueError("Cannot convert the page: its markup is too complex.")
    return done.stdout.decode()


def _time_left() -> float:
    """Return the seconds until the deadline of the current call; the limit of a conversion outside a call."""
    try:
        return min(TIMEOUT_S, max(0.0, current_call().invocation.deadline - time.monotonic()))
    except NoActiveRuntime:
        return TIMEOUT_S

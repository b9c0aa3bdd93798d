"""The link of `onetool serve` that logs a browser in, and opening it."""

import asyncio
import html
import os
import sys
import threading
import webbrowser
from pathlib import Path

import click

from onetool.files.atomic import write_atomic

from .command import stdout

ALL_ADDRESSES = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - compared, not bound
PAGE = '<!doctype html><meta http-equiv="refresh" content="0; url={url}"><a href="{url}">Web UI</a>\n'
PAGE_FILE = "login.html"


def login_link(address: str, port: int, code: str) -> str:
    """Return the link. The code is in the fragment, which browsers do not send and the web UI removes."""
    host = ALL_ADDRESSES.get(address, f"[{address}]" if ":" in address else address)
    return f"http://{host}:{port}/#login={code}"


def open_link(link: str, state: Path) -> None:
    """Open the link in the browser, without waiting for it.

    Other users can see the arguments of programs, so the browser gets the path of a file of this user.
    """

    def open_page() -> None:
        file = state / PAGE_FILE
        write_atomic(file, PAGE.format(url=html.escape(link)).encode())
        webbrowser.open(file.as_uri())

    threading.Thread(target=open_page, daemon=True).start()  # some browsers run until they are closed


def show_link(link: str, state: Path, opens: bool | None) -> None:
    """Print the link if only a terminal shows it, and open it, or offer that, as the user has chosen."""
    is_shown = sys.stdin.isatty() and stdout().isatty()
    if is_shown:
        click.echo(f"Log in: {link} (works once, for 10 minutes)", file=stdout())
    if opens:
        open_link(link, state)
    elif opens is None and is_shown:
        _offer_link(link, state)


def _offer_link(link: str, state: Path) -> None:
    """Open the link when the user presses Enter, while the event loop continues."""
    loop = asyncio.get_running_loop()
    descriptor = sys.stdin.fileno()

    def on_input() -> None:
        loop.remove_reader(descriptor)
        if _is_in_foreground(descriptor):  # reading would stop a process in the background
            sys.stdin.readline()
            open_link(link, state)

    try:
        loop.add_reader(descriptor, on_input)
    except (NotImplementedError, OSError):  # event loops on Windows, and files
        return
    click.echo("Press Enter to open it in your browser.", file=stdout())


def _is_in_foreground(descriptor: int) -> bool:
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:  # not the terminal that controls this process
        return True

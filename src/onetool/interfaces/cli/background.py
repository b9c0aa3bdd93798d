"""`onetool up | down | status`: OneTool in the background, shared by all clients of the user."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from onetool.bootstrap import open_runtime, open_shared_parts
from onetool.bootstrap.factories import new_id
from onetool.files.atomic import make_private_dir, open_private
from onetool.files.lock import locked
from onetool.interfaces.background.address import NOT_RUNNING, NotReachable, check_private_dir, socket_path
from onetool.interfaces.background.attach import ask
from onetool.interfaces.background.runtimes import DirectoryRuntimes
from onetool.interfaces.background.service import BackgroundService
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from onetool.threads import Threads
from onetool.version import __version__

from .command import current_paths, json_option, load_current_configuration, print_json, stdout, use_json
from .stop_signals import on_stop_signals

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
POLL_INTERVAL_S = 0.05


@click.command()
@click.option("--foreground", is_flag=True, help="Run here instead of in the background, until Ctrl-C.")
def up(foreground: bool) -> None:
    """Run OneTool in the background. MCP clients and commands then share one process for each server.

    Without it, every client starts its own servers. It uses the environment of this command, for example
    for secrets that are environment variables.

    \b
    Examples:
      onetool up
      onetool status
      onetool down
    """
    if os.name == "nt":
        raise click.ClickException("OneTool runs in the background on Linux and macOS only.")
    path = socket_path(current_paths().state)
    with suppress(NotReachable):
        response = ask(path, attach="status")
        click.echo(f"OneTool is already running (process {response['pid']}).", file=stdout())
        return
    load_current_configuration()  # reports invalid settings here, not in a log
    if foreground:
        with _lock(path.parent):
            asyncio.run(_serve(path))
        return
    response = _start(path)
    click.echo(f"OneTool is running (process {response['pid']}). Stop it with: onetool down", file=stdout())


def ask_for_background() -> bool:
    """Ask whether to run OneTool in the background, unless it runs already."""
    if os.name == "nt":
        return False
    with suppress(NotReachable):
        ask(socket_path(current_paths().state), attach="status")
        return False
    click.echo(
        "\nEvery MCP client starts its own copy of every server. OneTool in the background shares them"
        "\nbetween clients, until you log out or run `onetool down`.",
    )
    return click.confirm("Run it now?", default=False)


def start_background() -> None:
    """Run OneTool in the background."""
    response = _start(socket_path(current_paths().state))
    click.echo(f"OneTool is running (process {response['pid']}). Stop it with: onetool down")


@click.command()
def down() -> None:
    """Stop OneTool in the background, and the servers it started."""
    path = socket_path(current_paths().state)
    try:
        response = ask(path, attach="stop")
    except NotReachable as error:
        raise click.ClickException(f"OneTool cannot be stopped: {error}.") from None
    end = time.monotonic() + STOP_TIMEOUT_S
    while _is_running(response["pid"]):
        if time.monotonic() > end:
            raise click.ClickException(f"Process {response['pid']} has not ended after {STOP_TIMEOUT_S:g} s.")
        time.sleep(POLL_INTERVAL_S)
    click.echo("OneTool has stopped.", file=stdout())


@click.command()
@json_option
def status(as_json: bool) -> None:
    """Show whether OneTool runs in the background, its clients and its servers."""
    try:
        response = ask(socket_path(current_paths().state), attach="status")
    except NotReachable as error:
        if use_json(as_json):
            print_json({"running": False, "reason": str(error)})
        else:
            reason = "" if str(error) == NOT_RUNNING else f": {error}"
            click.echo(f"Not running{reason}. Start it with: onetool up", file=stdout())
        raise SystemExit(1) from None
    if use_json(as_json):
        print_json({"running": True, **response})
        return
    minutes = (time.time() - response["since"]) / 60
    click.echo(
        f"OneTool {response['version']}, process {response['pid']}, for {minutes:.0f} min", file=stdout()
    )
    if response["version"] != __version__:
        click.echo(f"This is OneTool {__version__}. Restart it: onetool down && onetool up", err=True)
    _print_clients(response["clients"])
    _print_servers(response["servers"])


def _print_clients(clients: list[dict[str, Any]]) -> None:
    from .tables import table

    if not clients:
        click.echo("No clients.", file=stdout())
        return
    table(("CLIENT", "DIRECTORY"), [(f"process {client['pid']}", client["cwd"]) for client in clients])


def _print_servers(servers: dict[str, list[dict[str, Any]]]) -> None:
    from .tables import table

    described = [server for group in servers.values() for server in group]
    rows = {(server["name"], server["state"], server["endpoint"]) for server in described}
    if rows:
        table(("SERVER", "STATE", "ENDPOINT"), sorted(rows))


def _start(path: Path) -> dict[str, Any]:
    """Start the process and wait until it responds."""
    _make_checked_dir(path.parent)
    log = path.parent / "output.log"
    with open_private(log) as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "onetool", "up", "--foreground"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    end = time.monotonic() + START_TIMEOUT_S
    while process.poll() is None and time.monotonic() < end:
        with suppress(NotReachable):
            return ask(path, attach="status")
        time.sleep(POLL_INTERVAL_S)
    process.kill()
    lines = log.read_text("utf-8", "replace").strip().splitlines()
    raise click.ClickException("OneTool did not start. " + (lines[-1] if lines else f"See {log}."))


async def _serve(path: Path) -> None:
    threads = Threads()
    configuration = await threads.run(load_configuration, current_paths(), os.environ)
    async with open_shared_parts(configuration, threads, owns_process=True) as parts:

        def open_directory(cwd: Path) -> AbstractAsyncContextManager[Runtime]:
            paths = find_paths(os.environ, cwd)
            return open_runtime(
                lambda: load_configuration(paths, os.environ),
                shared=parts,
                asks_users=True,
                waits_for_libraries=False,
            )

        service = BackgroundService(DirectoryRuntimes(open_directory), new_id)
        on_stop_signals(service.stop)
        await service.serve(path)


@contextmanager
def _lock(directory: Path) -> Iterator[None]:
    """Make sure that only one process serves the socket in a directory."""
    _make_checked_dir(directory)
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with locked(descriptor, timeout_s=0.0):
            yield
    except TimeoutError:
        raise click.ClickException(
            "OneTool is already starting or stopping. Try again in a moment."
        ) from None
    finally:
        os.close(descriptor)


def _make_checked_dir(directory: Path) -> None:
    """Create a directory, or check that an existing one belongs to this user: nothing is written before."""
    make_private_dir(directory)
    try:
        check_private_dir(directory)
    except NotReachable as error:
        raise click.ClickException(f"OneTool cannot run in the background: {error}.") from None


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True

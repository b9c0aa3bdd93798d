"""A process that has imported the command line and forks once for each command, which saves start-up time.

It listens on a Unix socket. Each connection sends the arguments, the environment, the working directory and
three file descriptors, and receives the process id and later the exit code.
"""

import json
import os
import selectors
import socket
import sys
from importlib import import_module
from typing import Any

from onetool.interfaces.cli import main as command_line
from onetool.sources.mcp_servers import listing, source
from onetool.sources.python_packs import inspector

MAX_BYTES = 1 << 20
PATIENCE_S = 120.0
LAZY_MODULES = (
    *("jsonschema_rs", "pydantic.main", "pydantic.type_adapter"),
    *("onetool.sdk", "onetool.packs.time", "onetool.packs.tools"),
    *(
        "onetool.sources.http_tools",
        "onetool.sources.mcp_servers",
        "onetool.sources.python_packs.function_specs",
    ),
)
"""Modules that commands import lazily and that nearly all of them need."""


def measured_coverage() -> Any:
    """Return the running measurement, or None."""
    coverage = sys.modules.get("coverage")
    return coverage.Coverage.current() if coverage is not None else None


def save_coverage() -> None:
    """Save the coverage of the imports once, so that not every fork saves it again."""
    if current := measured_coverage():
        current.save()


def name_coverage(test: str) -> None:
    """Attribute what this fork executes to a test, if coverage is measured per test."""
    current = measured_coverage()
    if current and "ONETOOL_TEST_CONTEXTS" in os.environ:
        current.switch_context(test.rpartition(" (")[0])


def serve(listener: socket.socket) -> None:
    """Start a command for each connection and report its exit code."""
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.data is None:
                pid, client = start(listener)
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, client))
            else:
                pid, client = key.data
                selector.unregister(key.fd)
                os.close(key.fd)
                with client:
                    send_number(client, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def start(listener: socket.socket) -> tuple[int, socket.socket]:
    """Accept one connection and fork a process that runs its command."""
    client, _ = listener.accept()
    request, files, _, _ = socket.recv_fds(client, MAX_BYTES, 3)
    pid = os.fork()
    if not pid:
        run(json.loads(request), files)
    for file in files:
        os.close(file)
    send_number(client, pid)
    return pid, client


def send_number(client: socket.socket, number: int) -> None:
    """Send a number, unless the client has disconnected."""
    try:
        client.send(str(number).encode())
    except OSError:
        return


def wait_for_servers() -> None:
    """Wait for MCP servers as long as a busy machine needs to start them."""
    for module in (listing, source):
        module.LISTING_TIMEOUT_S = PATIENCE_S


def run(request: dict, files: list[int]) -> None:
    """Run one command in this process."""
    if "ONETOOL_TEST_WAIT_FOR_SERVERS" in request["env"]:
        wait_for_servers()
    name_coverage(request["env"].get("PYTEST_CURRENT_TEST", ""))
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    for descriptor, file in enumerate(files):
        os.dup2(file, descriptor)
    sys.argv = ["onetool", *request["words"]]
    command_line.main()


if __name__ == "__main__":
    command_modules = [
        f"onetool.interfaces.cli.{target.partition(':')[0]}" for target, _ in command_line.COMMANDS.values()
    ]
    for module in (*command_modules, *LAZY_MODULES):
        import_module(module)
    save_coverage()
    inspector.TIMEOUT_S = PATIENCE_S  # a busy machine imports slowly
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(sys.argv[1])
        listener.listen(64)
        print("ready", flush=True)
        serve(listener)

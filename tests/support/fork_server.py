"""A process that has imported all of OneTool and forks once for each `onetool` of the tests.

A fork starts in milliseconds where a new interpreter imports for a second or two.

It listens on a Unix socket. Each connection sends the arguments, the environment, the working directory and
three file descriptors, and receives the process id with a descriptor of the process, and later the exit code.
"""

import gc
import json
import os
import pkgutil
import selectors
import signal
import socket
import sys
import threading
import time
from importlib import import_module
from typing import Any

import onetool
from onetool.interfaces.cli import main as command_line
from onetool.sources.mcp_servers import listing, source
from onetool.sources.python_packs import inspector

MAX_BYTES = 1 << 20
PATIENCE_S = 120.0
ENTRY_POINTS = frozenset({"onetool.__main__"})
LAZY_LIBRARIES = (
    *("jsonschema_rs", "pydantic.main", "pydantic.type_adapter", "pydantic.v1"),
    *("httpx2", "mcp.server.stdio", "uvicorn.protocols.http.httptools_impl", "uvicorn.lifespan.on"),
)
"""What processes import lazily, apart from our own modules."""


def import_everything() -> None:
    """Import all modules of OneTool, except those whose libraries are not installed."""
    for module in pkgutil.walk_packages(onetool.__path__, "onetool."):
        if module.name not in ENTRY_POINTS:
            import_if_installed(module.name)
    for name in LAZY_LIBRARIES:
        import_module(name)


def import_if_installed(name: str) -> None:
    """Import a module unless it needs a library of an extra that is not installed."""
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("onetool"):
            raise


def measured_coverage() -> Any:
    """Return the running measurement, or None."""
    coverage = sys.modules.get("coverage")
    return coverage.Coverage.current() if coverage is not None else None


def save_coverage() -> None:
    """Save the coverage of the imports once, so that not every fork saves it again."""
    if current := measured_coverage():
        current.save()


def choose_coverage(is_measured: bool, test: str) -> None:
    """Stop measuring in a fork that is not to be measured; attribute it to a test if each has its own."""
    current = measured_coverage()
    if current and "ONETOOL_TEST_CONTEXTS" in os.environ:
        current.switch_context(test.rpartition(" (")[0])
    elif current and not is_measured:
        current.stop()


def serve(listener: socket.socket) -> None:
    """Start a process for each connection and report its exit code."""
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.data is None:
                pid, process, client = start(listener, selector)
                selector.register(process, selectors.EVENT_READ, (pid, client))
            else:
                pid, client = key.data
                selector.unregister(key.fd)
                os.close(key.fd)
                with client:
                    send(client, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def start(listener: socket.socket, selector: selectors.BaseSelector) -> tuple[int, int, socket.socket]:
    """Accept one connection and fork a process that runs its command."""
    client, _ = listener.accept()
    request, files, _, _ = socket.recv_fds(client, MAX_BYTES, 3)
    pid = os.fork()
    if not pid:
        client.close()
        close_all(selector)
        run(json.loads(request), files)
    for file in files:
        os.close(file)
    process = os.pidfd_open(pid)
    send(client, pid, process)
    return pid, process, client


def close_all(selector: selectors.BaseSelector) -> None:
    """Close what only the fork server needs, which a user's process does not have."""
    for key in list(selector.get_map().values()):
        os.close(key.fd)
        if key.data:
            key.data[1].close()
    selector.close()


def send(client: socket.socket, number: int, *files: int) -> None:
    """Send a number and files, unless the client has disconnected."""
    try:
        socket.send_fds(client, [str(number).encode()], files)
    except OSError:
        return


def wait_for_servers() -> None:
    """Wait for MCP servers as long as a busy machine needs to start them."""
    for module in (listing, source):
        module.LISTING_TIMEOUT_S = PATIENCE_S


def run(request: dict[str, Any], files: list[int]) -> None:
    """Run one command in this process."""
    if "ONETOOL_TEST_WAIT_FOR_SERVERS" in request["env"]:
        wait_for_servers()
    choose_coverage(request["is_measured"], request["env"].get("PYTEST_CURRENT_TEST", ""))
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    # Ignored in processes that a shell starts in the background, and therefore in those that they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["cwd"])
    for descriptor, file in enumerate(files):
        os.dup2(file, descriptor)
        os.close(file)
    sys.argv = ["onetool", *request["words"]]
    command_line.main()


if __name__ == "__main__":
    import_everything()
    save_coverage()
    inspector.TIMEOUT_S = PATIENCE_S  # a busy machine imports slowly
    # A fork has only the thread that forked: another one could hold a lock for ever.
    assert threading.active_count() == 1, threading.enumerate()
    gc.collect()
    gc.freeze()  # the garbage collector of a fork would copy all pages of what is imported
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(sys.argv[1])
        listener.listen(64)
        print("ready", flush=True)
        serve(listener)

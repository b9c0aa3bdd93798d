"""A process that has imported the command line, and forks for each command: started once, not once a command.

Given a socket to listen on; each connection brings the words, the environment, the directory and three files.
"""

import json
import os
import selectors
import socket
import sys
from importlib import import_module

from onetool.doors.cli import main as command_line

MOST_BYTES = 1 << 20
IMPORTED_LATE = (
    *("jsonschema_rs", "pydantic.main", "pydantic.type_adapter"),
    *("onetool.sdk", "onetool.packs.time", "onetool.packs.tools"),
    *("onetool.sources.http_tools", "onetool.sources.mcp_servers", "onetool.sources.python_packs.describe"),
)
"""What commands import only when they need it; nearly all of them do."""


def keep_measured() -> None:
    """Write down which lines the imports have run: otherwise every fork would do so again."""
    coverage = sys.modules.get("coverage")
    if coverage is not None and (measuring := coverage.Coverage.current()):
        measuring.save()


def serve(listening: socket.socket) -> None:
    waiting = selectors.DefaultSelector()
    waiting.register(listening, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.data is None:
                pid, client = start(listening)
                waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, client))
            else:
                pid, client = key.data
                waiting.unregister(key.fd)
                os.close(key.fd)
                with client:
                    tell(client, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def start(listening: socket.socket) -> tuple[int, socket.socket]:
    client, _ = listening.accept()
    request, files, _, _ = socket.recv_fds(client, MOST_BYTES, 3)
    pid = os.fork()
    if not pid:
        run(json.loads(request), files)
    for file in files:
        os.close(file)
    tell(client, pid)
    return pid, client


def tell(client: socket.socket, number: int) -> None:
    try:
        client.send(str(number).encode())
    except OSError:  # whoever asked has given up
        return


def run(request: dict, files: list[int]) -> None:
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    for place, file in enumerate(files):
        os.dup2(file, place)
    sys.argv = ["onetool", *request["words"]]
    command_line.main()


if __name__ == "__main__":
    commands = [target.partition(":")[0] for target, _ in command_line.COMMANDS.values()]
    for module in (*commands, *IMPORTED_LATE):
        import_module(module)
    keep_measured()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(sys.argv[1])
        listening.listen(64)
        print("ready", flush=True)
        serve(listening)

"""Several `onetool serve` processes of one user behind a proxy that sends each request to the next one."""

import secrets
import signal
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from support.asking_client import AskingClient, HttpTransport, Message
from support.asking_world import AskingWorld
from support.loopback_proxy import LoopbackProxy
from support.rest_process import TOKEN, RestProcess


class Replicas(AskingWorld):
    """One user with servers that ask, and processes with the names `a`, `b` and so on."""

    path, token = "", TOKEN
    """Where the API is at each process, and what requests to it need."""

    def __init__(self, root: Path, *servers: str, processes: int = 2, **options: Any) -> None:
        super().__init__(root, *servers, **options)
        self.process_names = "abcdef"[:processes]
        self._open = ExitStack()

    def __enter__(self) -> "Replicas":
        super().__enter__()
        ports = [process.port for process in self.start_all()]
        self.proxy = self._open.enter_context(LoopbackProxy(ports))
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()
        super().__exit__(*error)

    def start_all(self) -> Sequence[RestProcess]:
        """Start all processes."""
        return [self.serve(name) for name in self.process_names]

    def connect(self, version: str, capabilities: Message, at: str = "") -> AskingClient:
        """Open a client at a process, or at all of them in turn."""
        transport = HttpTransport(self.url(at), version, self.token)
        return self._open.enter_context(AskingClient(transport, version, capabilities))

    def url(self, at: str = "") -> str:
        """Return the URL of a process, or the one of the proxy."""
        return f"{self.serve(at).url if at else self.proxy.url + self.path}/mcp"

    def route(self, client: AskingClient, at: str = "") -> None:
        """Let a client send what follows to another process."""
        client.transport.route_to(self.url(at))

    def kill(self, name: str) -> None:
        """Kill a process without a chance to clean up."""
        process = self.serve(name).process
        process.send_signal(signal.SIGKILL)
        process.wait()


def new_id(stem: str) -> str:
    """Return an id for a call that no other call has."""
    return f"{stem}-{secrets.token_hex(6)}"

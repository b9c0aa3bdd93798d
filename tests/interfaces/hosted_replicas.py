"""Several `onetool serve --hosted` processes on one database, behind a proxy that sends each request to the
next one."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2

from interfaces.replicas import Replicas
from support.hosted_process import HostedProcess, Installation
from support.rest_process import RestProcess
from support.waiting import HANG_S

SERVERS = ("old_http", "new_http")


class HostedReplicas(Replicas):
    """A workspace with servers that ask, and processes with the names `a`, `b` and so on."""

    def __init__(
        self, root: Path, installation: Installation, *, processes: int = 3, **settings: Any
    ) -> None:
        super().__init__(root, *SERVERS, processes=processes, **settings)
        self.installation = installation
        self.workspace = installation.create_workspace(self.settings)
        self.path, self.token = self.workspace.path, self.workspace.key

    def prepare(self, *_: str) -> None:
        """Do nothing: the servers run before the processes start."""

    def start_all(self) -> Sequence[RestProcess]:
        """Start all processes at the same time."""
        for name in self.process_names:
            self._processes[name] = self._new_process(name).start()
            self._stack.callback(lambda name=name: self.stop(name))
        return [self.serve(name).wait_until_ready() for name in self.process_names]

    def restart(self, name: str) -> None:
        """Start a process in place of one that was killed."""
        old = self.serve(name)
        old.stop()
        self._processes[name] = self._new_process(name).start().wait_until_ready()
        self.proxy.replace_port(old.port, self.serve(name).port)

    def client(self, at: str = "", key: str = "") -> httpx2.Client:  # type: ignore[override]
        """Return a client of the REST API at a process, or at all of them in turn."""
        url = self.serve(at).url if at else f"{self.proxy.url}{self.path}"
        client = httpx2.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {key or self.token}"},
            trust_env=False,
            verify=False,
            timeout=HANG_S,
            limits=httpx2.Limits(max_keepalive_connections=0),
        )
        return self._open.enter_context(closing(client))

    def new_key(self, owner: str) -> str:
        """Create an API key of the workspace that acts on behalf of an owner."""
        return self.workspace.new_key(owner)

    def _new_process(self, name: str) -> HostedProcess:
        return HostedProcess(
            self.root / name, settings=self.settings, installation=self.installation, workspace=self.workspace
        )

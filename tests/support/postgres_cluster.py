"""A PostgreSQL server of a test's own, which can be killed and started again."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import psycopg

from support.postgres import postgres_program
from support.processes import wait_until

SETTINGS = ("listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "max_connections=60")


class PostgresCluster:
    """A server with its own files and port. It does not run as root, which PostgreSQL refuses."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="onetool-postgres-"))
        self._data = self._folder / "data"
        self._user = "postgres" if os.getuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port: int = listener.getsockname()[1]

    @property
    def url(self) -> str:
        """The URL of its superuser."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def __enter__(self) -> "PostgresCluster":
        if self._user:
            entry = pwd.getpwnam(self._user)
            os.chown(self._folder, entry.pw_uid, entry.pw_gid)
        self._run("initdb", "--username=postgres", "--auth=trust", "--no-sync", f"--pgdata={self._data}")
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Start the server, and wait until it accepts connections."""
        command = [postgres_program("postgres"), "-D", str(self._data), "-p", str(self.port)]
        for setting in SETTINGS:
            command += ["-c", setting]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, user=self._user, stdout=log, stderr=log, start_new_session=True
            )
        assert wait_until(self._accepts), (self._folder / "log").read_text()

    def kill(self) -> None:
        """Kill the server with all its processes."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _accepts(self) -> bool:
        with suppress(psycopg.OperationalError), psycopg.connect(self.url, connect_timeout=2):
            return True
        return False

    def _run(self, program: str, *words: str) -> None:
        command = [postgres_program(program), *words]
        subprocess.run(command, user=self._user, check=True, stdout=subprocess.DEVNULL, cwd="/")

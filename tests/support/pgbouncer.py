"""A PgBouncer in transaction mode, which can be killed and started again."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from support.processes import wait_until

SERVER_CONNECTIONS = 2
"""To the database. Fewer than there are clients, so that they share them."""


class PgBouncer:
    """A pooler before one database, whose roles need no password. It refuses to run as root."""

    def __init__(self, url: str, *logins: str) -> None:
        """url: of the database. logins: roles that may connect too."""
        self._program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
        if self._program is None:
            pytest.skip("no pgbouncer")
        self._user = "postgres" if os.getuid() == 0 else None
        self._folder = Path(tempfile.mkdtemp(prefix="onetool-pgbouncer-"))
        self._process: subprocess.Popen[bytes] | None = None
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        self.url = psycopg.conninfo.make_conninfo(url, host="127.0.0.1", port=port)
        database = psycopg.conninfo.conninfo_to_dict(url)
        names = [str(database["user"]), *logins]
        users, self._file = self._folder / "users.txt", self._folder / "pgbouncer.ini"
        users.write_text("".join(f'"{name}" ""\n' for name in names), encoding="utf-8")
        self._file.write_text(
            f"[databases]\n* = host={database['host']} port={database.get('port', 5432)}\n"
            "[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = trust\nauth_file = {users}\n"
            f"pool_mode = transaction\ndefault_pool_size = {SERVER_CONNECTIONS}\nserver_login_retry = 1\n",
            encoding="utf-8",
        )
        if self._user:
            entry = pwd.getpwnam(self._user)
            for path in (self._folder, self._file, users):
                os.chown(path, entry.pw_uid, entry.pw_gid)

    def __enter__(self) -> "PgBouncer":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        assert self._program is not None
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._program, str(self._file)], user=self._user, stdout=log, stderr=log
            )
        assert wait_until(self._accepts), (self._folder / "log").read_text()

    def kill(self) -> None:
        """Kill it: all connections break off."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        """Kill it and start it again."""
        self.kill()
        self.start()

    def _accepts(self) -> bool:
        with suppress(psycopg.OperationalError), psycopg.connect(self.url, connect_timeout=2):
            return True
        return False


@pytest.fixture
def pgbouncer(postgres_url: str) -> Iterator[PgBouncer]:
    """Return a PgBouncer before the database of the tests."""
    with PgBouncer(postgres_url) as pooler:
        yield pooler

"""PostgreSQL servers of a test's own: killed and started again, followed by a standby, and promoted."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import psycopg

from support.postgres import postgres_program
from support.processes import wait_until

SETTINGS = ("listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "max_connections=60")
IS_PRIMARY = "select not pg_is_in_recovery()"
STREAMING = "select count(*) from pg_stat_replication where state = 'streaming'"
SYNCHRONOUS = "select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum')"
USER = "postgres" if os.getuid() == 0 else None


@cache
def new_files() -> tempfile.TemporaryDirectory[str]:
    """Return a folder with the files of a new server, which others copy: creating them takes longer."""
    folder = tempfile.TemporaryDirectory(prefix="onetool-postgres-")
    give(Path(folder.name))
    words = ("--username=postgres", "--auth=trust", "--no-sync", f"--pgdata={folder.name}/data")
    run(postgres_program("initdb"), *words)
    return folder


def run(program: str, *words: str) -> None:
    """Run a program as the user of the servers."""
    subprocess.run([program, *words], user=USER, check=True, stdout=subprocess.DEVNULL, cwd="/")


def give(path: Path) -> None:
    """Make the user of the servers the owner of a file or folder."""
    if USER:
        entry = pwd.getpwnam(USER)
        os.chown(path, entry.pw_uid, entry.pw_gid)


class PostgresCluster:
    """A server with its own files and port. It does not run as root, which PostgreSQL refuses."""

    def __init__(self, *settings: str, primary: "PostgresCluster | None" = None) -> None:
        """settings: as `name=value`. primary: a server that this one follows, as its standby."""
        self._settings, self._primary = SETTINGS + settings, primary
        self.folder = Path(tempfile.mkdtemp(prefix="onetool-postgres-"))
        self.data = self.folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port: int = listener.getsockname()[1]

    @property
    def url(self) -> str:
        """The URL of its superuser."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def log(self) -> str:
        """What the server has logged."""
        return (self.folder / "log").read_text()

    def __enter__(self) -> "PostgresCluster":
        give(self.folder)
        if self._primary is None:
            run("cp", "-r", f"{new_files().name}/data", str(self.data))
        else:
            self._copy(self._primary)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        """Start the server, and wait until it accepts connections."""
        command = [postgres_program("postgres"), "-D", str(self.data), "-p", str(self.port)]
        for setting in self._settings:
            command += ["-c", setting]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, user=USER, stdout=log, stderr=log, start_new_session=True
            )
        assert wait_until(self._accepts), self.log

    def kill(self) -> None:
        """Kill the server with all its processes."""
        if self._process is not None:
            self.thaw()
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """Let the server and the processes of its connections hang."""
        for pid in self._pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a hanging server continue."""
        for pid in reversed(self._pids()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def wait_for_commits(self) -> None:
        """Let every commit from now on wait for the standby."""
        assert wait_until(lambda: self.select(STREAMING))
        self.execute("alter system set synchronous_standby_names = '*'")
        self.execute("select pg_reload_conf()")
        assert wait_until(lambda: self.select(SYNCHRONOUS))

    def promote(self) -> None:
        """Make a standby the primary, and wait until it accepts changes."""
        self.execute("select pg_promote(wait => false)")
        assert wait_until(lambda: self.select(IS_PRIMARY)), self.log

    def start_as_standby(self) -> None:
        """Start a server that was killed so that it accepts no changes until it is killed again."""
        marker = self.data / "standby.signal"
        marker.touch()
        give(marker)
        self.start()
        marker.unlink()

    def execute(self, statement: str) -> None:
        """Execute a statement outside of a transaction."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement.encode())

    def select(self, query: str) -> object:
        """Return the only value of a query."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            row = connection.execute(query.encode()).fetchone()
        return row and row[0]

    def give(self, path: Path) -> None:
        """Make the user of the server the owner of a file or folder."""
        give(path)

    def _copy(self, primary: "PostgresCluster") -> None:
        words = ("--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--dbname", primary.url)
        run(postgres_program("pg_basebackup"), *words, f"--pgdata={self.data}")

    def _pids(self) -> list[int]:
        assert self._process
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return [self._process.pid, *map(int, children.read_text().split())]

    def _accepts(self) -> bool:
        with suppress(psycopg.OperationalError), psycopg.connect(self.url, connect_timeout=2):
            return True
        return False


def url_of(*clusters: PostgresCluster) -> str:
    """Return the URL with which a client finds the primary among several servers."""
    hosts = ",".join(f"127.0.0.1:{cluster.port}" for cluster in clusters)
    return f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write&load_balance_hosts=random"

"""The PostgreSQL and Redis servers of a run: processes that are killed, frozen and started again."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

import psycopg
import redis

from support.postgres import postgres_program
from support.processes import wait_until

START_S = 60.0
DISK = "1g"
"""Size of the disk of the primary: enough for its data and some WAL."""
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",
    "max_connections": "80",
    "shared_buffers": "32MB",
    "min_wal_size": "32MB",
    "max_wal_size": "48MB",
    "wal_keep_size": "32MB",
    "hot_standby": "on",
    "wal_receiver_status_interval": "1s",
}


def free_port() -> int:
    """Return a free port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class PostgresNode:
    """A PostgreSQL server with its own files and port. It does not run as root, which PostgreSQL refuses."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder, self.data, self.port = folder, folder / "data", free_port()
        self.settings = SETTINGS | settings
        self.user = "postgres" if os.getuid() == 0 else None
        self.process: subprocess.Popen[bytes] | None = None
        self.has_small_disk = False
        self.is_frozen = False
        folder.mkdir(parents=True)
        self._own(folder)

    @property
    def url(self) -> str:
        """The URL of its superuser."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def create(self) -> None:
        """Create an empty cluster."""
        self._run("initdb", "--username=postgres", "--auth=trust", "--no-sync", f"--pgdata={self.data}")

    def mount_small_disk(self) -> bool:
        """Put the files on a small disk in memory. Return whether that is possible here."""
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(self.folder)]
        self.has_small_disk = subprocess.run(command, capture_output=True, check=False).returncode == 0
        self._own(self.folder)
        return self.has_small_disk

    def copy_from(self, template: "PostgresNode") -> None:
        """Copy the files of a server that does not run."""
        subprocess.run(["cp", "-a", str(template.data), str(self.data)], check=True)

    def follow(self, primary: "PostgresNode") -> None:
        """Become a standby of a running server."""
        self._run(
            "pg_basebackup",
            f"--dbname={primary.url}",
            f"--pgdata={self.data}",
            "--write-recovery-conf",
            "--checkpoint=fast",
            "--no-sync",
        )
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it accepts connections."""
        command = [postgres_program("postgres"), "-D", str(self.data), "-p", str(self.port)]
        for name, value in self.settings.items():
            command += ["-c", f"{name}={value}"]
        with (self.folder.parent / f"{self.folder.name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, user=self.user, stdout=log, stderr=log, start_new_session=True, cwd="/"
            )
        if not wait_until(self.accepts, START_S):
            raise RuntimeError(f"{self.folder.name} does not start")

    def accepts(self) -> bool:
        """Return whether the server accepts connections."""
        with suppress(psycopg.OperationalError), psycopg.connect(self.url, connect_timeout=2):
            return True
        return False

    def promote(self) -> None:
        """Make a standby the primary."""
        self._run("pg_ctl", "promote", f"--pgdata={self.data}", "--wait", f"--timeout={START_S:.0f}")

    @property
    def is_running(self) -> bool:
        """Whether the process of the server exists."""
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """Kill the server with all its processes."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process, self.is_frozen = None, False

    def stop(self) -> None:
        """Stop the server cleanly."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(START_S)
            self.process = None

    def freeze(self) -> None:
        """Let the server and the processes of its connections hang."""
        for pid in self._pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        self.is_frozen = True

    def thaw(self) -> None:
        """Let a hanging server continue."""
        for pid in reversed(self._pids()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.is_frozen = False

    def fill_disk(self) -> None:
        """Fill the small disk to the last block."""
        block = bytes(65_536)
        with (self.folder / "filler").open("ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(block)

    def free_disk(self) -> None:
        """Free the disk, and start the server if it has ended."""
        (self.folder / "filler").unlink(missing_ok=True)
        if not self.accepts():
            self.kill()
            self.start()

    def close(self) -> None:
        """Stop the server and delete its files."""
        if self.is_frozen:
            self.thaw()
        self.kill()
        if self.has_small_disk:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _pids(self) -> list[int]:
        assert self.process
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [self.process.pid, *map(int, children.read_text().split())]

    def _own(self, folder: Path) -> None:
        if self.user:
            entry = pwd.getpwnam(self.user)
            os.chown(folder, entry.pw_uid, entry.pw_gid)

    def _run(self, program: str, *words: str) -> None:
        command = [postgres_program(program), *words]
        subprocess.run(command, user=self.user, check=True, capture_output=True, cwd="/")


class RedisNode:
    """A Redis server with a port of its own. It stores nothing."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder, self.port = folder, free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and return when it responds."""
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(
            ["redis-server", *options, "--dir", str(self.folder)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if not wait_until(self._responds, START_S):
            raise RuntimeError("Redis does not start")

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        assert self.process
        self.process.send_signal(number)

    def kill(self) -> None:
        """Kill it, without a chance to clean up."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _responds(self) -> bool:
        with suppress(redis.RedisError), redis.Redis(port=self.port, socket_timeout=2) as client:
            return bool(client.ping())
        return False

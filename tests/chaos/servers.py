"""The PostgreSQL servers of a run, with a disk that can be full."""

import shutil
import signal
import socket
import subprocess
from contextlib import suppress

from support.postgres_cluster import PostgresCluster

STOP_S = 60.0
DISK = "1g"
"""Size of the disk of the primary: enough for its data and some WAL."""
SETTINGS = (
    "max_connections=80",
    "shared_buffers=32MB",
    "min_wal_size=32MB",
    "max_wal_size=48MB",
    "wal_keep_size=32MB",
    "wal_receiver_status_interval=1s",
)


def free_port() -> int:
    """Return a free port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class PostgresNode(PostgresCluster):
    """A PostgreSQL server that may have a copy of the files of another one, and a small disk."""

    def __init__(self, *settings: str, primary: "PostgresNode | None" = None) -> None:
        super().__init__(*SETTINGS, *settings, primary=primary)
        self.has_small_disk = False

    def mount_small_disk(self) -> None:
        """Put the files on a small disk in memory, if that is possible here."""
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(self.folder)]
        self.has_small_disk = subprocess.run(command, capture_output=True, check=False).returncode == 0

    def copy_files(self, template: "PostgresNode") -> None:
        """Copy the files of a server that does not run."""
        self.give(self.folder)
        subprocess.run(["cp", "-a", str(template.data), str(self.data)], check=True)

    def stop(self) -> None:
        """Stop the server cleanly."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(STOP_S)
            self._process = None

    def fill_disk(self) -> None:
        """Fill the small disk to the last block."""
        block = bytes(65_536)
        with (self.folder / "filler").open("ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(block)

    def free_disk(self) -> None:
        """Free the disk, and start the server if it has ended."""
        (self.folder / "filler").unlink(missing_ok=True)
        if not self._accepts():
            self.kill()
            self.start()

    def close(self) -> None:
        """Stop the server and delete its files."""
        self.kill()
        if self.has_small_disk:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

"""The socket of the background process. Only its user can reach it, on both sides.

It is imported by every `onetool mcp`, so it uses the standard library only.
"""

import hashlib
import os
import socket
import stat
import struct
from pathlib import Path

MAX_SOCKET_PATH = 100
"""Length of a path that every system accepts for a socket."""
CONNECT_TIMEOUT_S = 10.0
NOT_RUNNING = "it is not running"


class NotReachable(Exception):
    """The background process is not running, or does not belong to this user."""


def socket_path(state: Path) -> Path:
    """Return the path of the socket: in the state directory, or in a shorter one if that path is too long.

    Only this user can create something in the runtime directory, while anyone can take a name in /tmp.
    """
    path = state / "background" / "socket"
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH:
        return path
    digest = hashlib.sha256(os.fsencode(state)).hexdigest()[:16]
    # MCP clients start programs without XDG_RUNTIME_DIR, so its usual value counts as well
    for runtime in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{os.getuid()}"):
        path = Path(runtime) / f"onetool-{digest}" / "socket"
        if path.is_absolute() and len(os.fsencode(path)) <= MAX_SOCKET_PATH and _is_private(path.parents[1]):
            return path
    return Path("/tmp") / f"onetool-{os.getuid()}-{digest}" / "socket"  # noqa: S108 - owner and mode are checked


def check_private_dir(directory: Path) -> None:
    """Check that only this user can change a directory.

    Raises:
        NotReachable: It does not exist, is a link, belongs to another user, or others can access it.
    """
    try:
        status = os.lstat(directory)
    except OSError:
        raise NotReachable(NOT_RUNNING) from None
    if status.st_uid != os.getuid():
        raise NotReachable(
            f"{str(directory)!r} is not a private directory of this user: it belongs to another one "
            f"(uid {status.st_uid}); set XDG_RUNTIME_DIR to a private directory of yours"
        )
    if not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o077:
        raise NotReachable(f"{str(directory)!r} is not a private directory of this user; delete it")


def _is_private(directory: Path) -> bool:
    try:
        check_private_dir(directory)
    except NotReachable:
        return False
    return True


def connect(path: Path) -> socket.socket:
    """Connect to the background process of this user.

    Raises:
        NotReachable: It is not running, or does not belong to this user.
    """
    if not hasattr(socket, "AF_UNIX"):  # pragma: no cover - Windows
        raise NotReachable(NOT_RUNNING)
    check_private_dir(path.parent)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(CONNECT_TIMEOUT_S)
    try:
        connection.connect(str(path))
        check_peer(connection)
    except OSError as error:
        connection.close()
        raise NotReachable(NOT_RUNNING) from error
    except NotReachable:
        connection.close()
        raise
    return connection


def check_peer(connection: socket.socket) -> None:
    """Check that the process at the other end belongs to this user, where the system tells.

    Raises:
        NotReachable: It belongs to another user.
    """
    if not hasattr(socket, "SO_PEERCRED"):  # pragma: no cover - on macOS, the directory protects it
        return
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _pid, uid, _gid = struct.unpack("3i", credentials)
    if uid != os.getuid():
        raise NotReachable(f"the process at the socket belongs to another user (uid {uid})")

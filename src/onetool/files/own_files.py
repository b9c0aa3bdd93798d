"""Files that decide what OneTool runs: only the user and root may change them."""

import os
import shlex
import stat
from pathlib import Path

from onetool.domain.errors import SettingsError

ROOT = 0


def read_own_file(file: Path) -> bytes:
    """Read a file that only the user or root can change.

    Raises:
        SettingsError: The file belongs to another user, or other users can write it.
        OSError: The file cannot be read.
    """
    with file.open("rb") as stream:
        status = os.fstat(stream.fileno())
        check_owner(file, status)
        _check_writers(file, status)
        return stream.read()


def check_owner(file: Path, status: os.stat_result) -> None:
    """Check that a file belongs to the user or to root.

    Raises:
        SettingsError: It belongs to another user.
    """
    if os.name == "nt":  # pragma: no cover - Windows has no owner ids
        return
    if status.st_uid not in (os.getuid(), ROOT):
        raise SettingsError(
            f"{file}: the file belongs to another user (uid {status.st_uid}), who can change it. "
            f"If you trust its content, run: sudo chown {os.getuid()} {shlex.quote(str(file))}"
        )


def _check_writers(file: Path, status: os.stat_result) -> None:
    if os.name == "nt":  # pragma: no cover - Windows has no mode bits
        return
    others = status.st_mode & stat.S_IWOTH
    group = status.st_mode & stat.S_IWGRP and not _is_private_group(status.st_gid)
    if others or group:
        raise SettingsError(
            f"{file}: other users can change this file (mode {stat.S_IMODE(status.st_mode):04o}). "
            f"Check its content, then run: chmod go-w {shlex.quote(str(file))}"
        )


def _is_private_group(group_id: int) -> bool:
    """Return whether no other user is in a group.

    With the umask 0002, which many systems use, new files are writable by the group of the same name as the
    user. In a container, the group of a mounted volume often has no name and no members.
    """
    import grp
    import pwd

    if group_id == ROOT:
        return True
    try:
        group = grp.getgrgid(group_id)
    except KeyError:
        return True
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}

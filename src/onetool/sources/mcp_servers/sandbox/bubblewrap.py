"""Options of bubblewrap: namespaces of their own for a server, in which only its files exist."""

import os
from collections.abc import Iterator
from pathlib import Path

from .policy import MechanismSupport, Restrictions, SandboxPolicy
from .system_files import VisibleFile, is_system_file
from .visible_files import VisibleFiles

NAMESPACES = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
PROCESS = ("--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "localhost")
EMPTY = ("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp", "--tmpfs", "/run")  # noqa: S108
READ_ONLY = ("--remount-ro", "/", "--remount-ro", "/run", "--remount-ro", "/proc")
"""In /proc, root could otherwise change settings of the kernel, even without capabilities."""
FIRST_WITH_SCOPES = 6
"""Version of Landlock that restricts abstract Unix sockets."""
SOCKETS_IN_GRANTS = "Unix sockets inside granted paths"
ABSTRACT_SOCKETS = "abstract Unix sockets of other programs"
LOCAL_SERVICES = "services of this machine that listen on a port"


def bubblewrap_options(files: VisibleFiles, network: bool) -> tuple[str, ...]:
    """Return the options for a server. Later ones are mounted over earlier ones."""
    mounts = [
        *(option for file in files.system for option in _mount_system(file)),
        *EMPTY,
        *(option for file in files.runtime for option in _mount(file.source, file.target, False)),
        *(option for grant in files.grants for option in _mount(grant.path, grant.path, grant.write)),
        *(option for place in files.covered for option in _cover(place)),
        *_mount(files.home, files.home, True),
        *(word for place in files.covered if place.is_dir() for word in ("--remount-ro", str(place))),
        *READ_ONLY,
    ]
    return (
        *NAMESPACES,
        *(() if network else ("--unshare-net",)),
        *PROCESS,
        *mounts,
        "--chdir",
        str(files.cwd),
    )


def bubblewrap_restrictions(support: MechanismSupport, policy: SandboxPolicy) -> Restrictions:
    """Return what is in force."""
    limits: tuple[str, ...] = ()
    if policy.network:
        limits = (LOCAL_SERVICES, *((SOCKETS_IN_GRANTS,) if policy.paths else ()))
        limits += () if support.landlock_version >= FIRST_WITH_SCOPES else (ABSTRACT_SOCKETS,)
    return Restrictions(
        mechanism=support.mechanism, files=True, network=not policy.network, processes=True, limits=limits
    )


def _mount_system(file: VisibleFile) -> Iterator[str]:
    """Keep links of the system as links: programs read the name of the time zone from one."""
    if file.target.is_symlink() and is_system_file(file.source):
        yield from ("--symlink", os.readlink(file.target), str(file.target))  # noqa: PTH115 - the text is needed
    else:
        yield from _mount(file.source, file.target, False)


def _mount(source: Path, target: Path, write: bool) -> Iterator[str]:
    yield from ("--bind" if write else "--ro-bind", str(source), str(target))


def _cover(place: Path) -> Iterator[str]:
    """Put an empty directory over a directory, and a device that cannot be opened over a file."""
    if place.is_dir():
        yield from ("--tmpfs", str(place))
    else:
        yield from ("--ro-bind", os.devnull, str(place))

"""Rules of Landlock, for systems on which bubblewrap does not work."""

from pathlib import Path

from .policy import GrantRefused, MechanismSupport, PathGrant, Restrictions, SandboxPolicy
from .visible_files import VisibleFiles

FIRST_WITH_TRUNCATE, FIRST_WITH_SCOPES = 3, 6
"""Versions of Landlock: an older one cannot stop that files are emptied, or that processes get signals."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
PROCESS_FILES = (
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/uptime",
    "/proc/version",
    "/proc/sys/kernel/cap_last_cap",
    "/proc/sys/kernel/ngroups_max",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/pid_max",
    "/proc/sys/vm/overcommit_memory",
)
"""Facts about the machine. Other processes are not visible."""

LOCAL_SERVICES = "services of this machine that listen on a port"
FILE_ATTRIBUTES = "changes of permissions and times of your files"
FILE_METADATA = "reading the existence, sizes and times of your files"
PRIORITIES = "changes of priorities of your processes"
SIGNALS = "signals to your processes"
DETACHED = "detached children, if the process that watches them is killed"
LIMITS = (FILE_ATTRIBUTES, FILE_METADATA, PRIORITIES, DETACHED)
"""What no version of Landlock stops."""


def landlock_rules(files: VisibleFiles) -> list[tuple[str, str]]:
    """Return paths and how they may be accessed: `read` or `write`.

    Raises:
        GrantRefused: A grant contains a place that Landlock cannot exclude.
    """
    for place in files.covered:
        raise GrantRefused(
            f"cannot grant a path that contains {str(place)!r}: without bubblewrap, it cannot be hidden; "
            "install bubblewrap or grant directories beside it"
        )
    _check_nested(files.grants)
    readable = [file.source for file in (*files.system, *files.runtime)]
    readable += [Path(path) for path in PROCESS_FILES]
    granted = [(grant.path, grant.write) for grant in files.grants]
    access = [(path, False) for path in readable] + granted + [(files.home, True)]
    access += [(Path(device), True) for device in DEVICES]
    return [(str(path), "write" if write else "read") for path, write in access]


def landlock_restrictions(support: MechanismSupport, policy: SandboxPolicy) -> Restrictions:
    """Return what is in force."""
    scoped = support.landlock_version >= FIRST_WITH_SCOPES
    limits = (*LIMITS, *(() if scoped else (SIGNALS,)), *((LOCAL_SERVICES,) if policy.network else ()))
    return Restrictions(
        mechanism=support.mechanism, files=True, network=not policy.network, processes=scoped, limits=limits
    )


def _check_nested(grants: tuple[PathGrant, ...]) -> None:
    """Refuse what rules cannot express: they only add rights to those of the parent directory."""
    for grant in grants:
        for parent in grants:
            if parent.write and not grant.write and grant.path.is_relative_to(parent.path):
                raise GrantRefused(
                    f"cannot grant {str(grant.path)!r} read-only inside {str(parent.path)!r}, "
                    "which is writable: this needs bubblewrap"
                )

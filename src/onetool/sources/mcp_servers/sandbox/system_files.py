"""Files of the operating system that every server may read."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/sys/devices/system/cpu",
)
IN_ETC = (
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "chromium",
    "chromium.d",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "gitconfig",
    "group",
    "host.conf",
    "hosts",
    "java*",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "login.defs",
    "lsb-release",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "pip.conf",
    "pki/ca-trust",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "profile",
    "protocols",
    "resolv.conf",
    "services",
    "shells",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "static",
    "terminfo",
    "timezone",
    "xdg",
)
"""Patterns of what programs commonly read in /etc. A server sees nothing else there, such as /etc/shadow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleFile:
    """A file or directory that is visible at `target`, with the content of `source`, which is a real path."""

    source: Path
    target: Path


def list_system_files() -> Iterator[VisibleFile]:
    """Yield the directories of the system, and the parts of /etc without secrets."""
    etc = (path for pattern in IN_ETC for path in sorted(Path("/etc").glob(pattern)))
    for path in (*map(Path, SYSTEM), *etc):
        if path.exists():
            yield VisibleFile(source=path.resolve(), target=path)


def is_system_file(path: Path) -> bool:
    """Return whether a path belongs to the system, so that every server may read it."""
    return any(path.is_relative_to(directory) for directory in SYSTEM)

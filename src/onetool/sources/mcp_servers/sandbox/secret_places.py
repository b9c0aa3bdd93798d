"""Places that no server may access: keys, profiles, settings and sockets of the user."""

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from .policy import GrantRefused, PathGrant

if sys.platform != "win32":
    import pwd

IN_HOME = (
    ".1password",
    ".aws",
    ".azure",
    ".bash_history",
    ".boto",
    ".cargo/credentials.toml",
    ".claude",
    ".claude.json",
    ".codex",
    ".config",
    ".databrickscfg",
    ".docker",
    ".gem/credentials",
    ".gemini",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".m2/settings.xml",
    ".mozilla",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".oci",
    ".password-store",
    ".pgpass",
    ".pki",
    ".pypirc",
    ".python_history",
    ".ssh",
    ".terraform.d",
    ".thunderbird",
    ".var",
    ".vault-token",
    ".zsh_history",
    "Library/Application Support",
    "Library/Cookies",
    "Library/Keychains",
    "Library/Mail",
    "Library/Messages",
    "Library/Safari",
    "snap",
)
IN_SYSTEM = (
    "/boot",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/run/containerd",
    "/run/dbus",
    "/run/docker.sock",
    "/run/podman",
    "/run/secrets",
    "/run/systemd",
    "/run/user",
    "/tmp/.ICE-unix",  # noqa: S108 - sockets of the display
    "/tmp/.X11-unix",  # noqa: S108
    "/var/lib/docker",
    "/var/run/docker.sock",
)
DIRECTORY_VARIABLES = ("XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "GNUPGHOME", "DOCKER_CONFIG")
SOCKET_VARIABLES = (
    "SSH_AUTH_SOCK",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "XAUTHORITY",
)
"""Variables whose values name sockets or keys; a server does not get them."""
NEVER_GRANTED = ("/", "/etc", "/home", "/root", "/run", "/tmp", "/Users", "/var", "/var/run", "/private")  # noqa: S108
NOT_BELOW = ("/proc", "/sys", "/dev")


class SecretPlaces:
    """The secret places of a user. All paths are real paths, without links."""

    def __init__(self, extra: Iterable[Path], environment: Mapping[str, str] = os.environ) -> None:
        self.homes = frozenset({Path.home().resolve(), _account_home()})
        named = [Path(environment[name]) for name in DIRECTORY_VARIABLES if environment.get(name)]
        sockets = [_socket_path(environment.get(name, "")) for name in SOCKET_VARIABLES]
        in_home = [home / name for home in self.homes for name in IN_HOME]
        system = [Path(path) for path in IN_SYSTEM]
        listed = (*in_home, *system, *named, *(socket for socket in sockets if socket), *extra)
        self.paths = frozenset(place.resolve() for place in listed)

    def inside(self, path: Path) -> list[Path]:
        """Return the secret places below a path, or at it."""
        return sorted(place for place in self.paths if place.is_relative_to(path))

    def around(self, path: Path) -> list[Path]:
        """Return the secret places that contain a path, or are at it."""
        return sorted(place for place in self.paths if path.is_relative_to(place))

    def contains_home(self, path: Path) -> bool:
        """Return whether a path is the user's home directory or contains it."""
        return any(home.is_relative_to(path) for home in self.homes)


def resolve_grants(grants: Iterable[PathGrant], home: Path, places: SecretPlaces) -> tuple[PathGrant, ...]:
    """Return the grants with real paths, parents before their children.

    Raises:
        GrantRefused: A path does not exist, is too wide or belongs to a secret place.
    """
    given = tuple(grants)
    resolved = [PathGrant(path=_resolve(grant, given, home, places), write=grant.write) for grant in given]
    return tuple(sorted(resolved, key=lambda grant: (len(grant.path.parts), grant.write)))


def _resolve(grant: PathGrant, grants: tuple[PathGrant, ...], home: Path, places: SecretPlaces) -> Path:
    given = Path(os.path.normpath(grant.path.absolute()))
    path = given.resolve()
    if not path.exists():
        raise GrantRefused(f"cannot grant {str(given)!r}: it does not exist")
    if places.contains_home(path) or str(path) in NEVER_GRANTED:
        hint = "grant a directory inside it"
        raise GrantRefused(f"cannot grant {str(given)!r}: it is too wide, and exposes secrets; {hint}")
    if any(path.is_relative_to(parent) for parent in NOT_BELOW):
        raise GrantRefused(f"cannot grant {str(given)!r}: it belongs to the kernel")
    if places.around(path) and not path.is_relative_to(home):
        hint = "servers never get access to it"
        raise GrantRefused(f"cannot grant {str(given)!r}: {str(places.around(path)[0])!r} is secret; {hint}")
    _check_links(given, path, [home, *(other.path for other in grants if other.write)])
    return path


def _check_links(given: Path, path: Path, writable: Iterable[Path]) -> None:
    """Refuse a path that a server itself could have redirected with a link."""
    for parent in writable:
        root = Path(os.path.normpath(parent.absolute()))
        if given.is_relative_to(root) and not path.is_relative_to(root.resolve()):
            raise GrantRefused(f"cannot grant {str(given)!r}: it is a link, and a server can change it")


def _account_home() -> Path:
    """Return the home directory of the account, which may differ from the one in the environment."""
    if sys.platform != "win32":
        with suppress(KeyError):  # an account without an entry
            return Path(pwd.getpwuid(os.getuid()).pw_dir).resolve()
    return Path.home().resolve()


def _socket_path(value: str) -> Path | None:
    """Return the path in a value such as `unix:path=/run/user/1000/bus,guid=1`."""
    path = value.removeprefix("unix:").removeprefix("//").removeprefix("path=").partition(",")[0]
    return Path(path) if path.startswith("/") else None

"""Profiles of Seatbelt, the sandbox of macOS. They have not been tried on a Mac."""

import json
from collections.abc import Iterable
from pathlib import Path

from .policy import MechanismSupport, Restrictions, SandboxPolicy
from .visible_files import VisibleFiles

SYSTEM = (
    "/System",
    "/Library",
    "/usr",
    "/bin",
    "/sbin",
    "/opt",
    "/nix/store",
    "/private/etc",
    "/private/var/db/timezone",
    "/private/var/db/dyld",
    "/dev",
)
DENIED = ("/Library/Keychains", "/private/etc/master.passwd", "/private/etc/ssh", "/private/etc/sudoers")
BASE = """(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* (literal "/"))
(allow file-write* (literal "/dev/null") (literal "/dev/zero"))
(allow mach-lookup
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.logger"))
"""
NETWORK = """(allow network-outbound (remote ip))
(allow network-bind network-inbound (local ip))
(allow system-socket)
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.trustd.agent"))
"""
LIMITS = (
    "what this profile overlooks, as it is untried",
    "children that outlive the server",
    "reading the existence, sizes and times of your files",
)


def seatbelt_profile(files: VisibleFiles, network: bool) -> str:
    """Return a profile that denies everything but what a server needs. Later rules override earlier ones."""
    readable = [*map(Path, SYSTEM), *(file.source for file in files.runtime)]
    rules = [
        _rule("allow", "file-read*", [*readable, *(grant.path for grant in files.grants)]),
        _rule("allow", "file-write*", [grant.path for grant in files.grants if grant.write]),
        _rule("deny", "file-write*", [grant.path for grant in files.grants if not grant.write]),
        _rule("deny", "file-read* file-write*", [*map(Path, DENIED), *files.covered]),
        _rule("allow", "file-read* file-write*", [files.home]),
    ]
    return BASE + (NETWORK if network else "") + "".join(rules)


def seatbelt_restrictions(support: MechanismSupport, policy: SandboxPolicy) -> Restrictions:
    """Return what is in force."""
    return Restrictions(
        mechanism=support.mechanism, files=True, network=not policy.network, processes=False, limits=LIMITS
    )


def _rule(decision: str, operations: str, paths: Iterable[Path]) -> str:
    filters = "".join(f"\n  (subpath {json.dumps(str(path), ensure_ascii=False)})" for path in paths)
    return f"({decision} {operations}{filters})\n" if filters else ""

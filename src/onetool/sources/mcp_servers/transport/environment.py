"""Environment variables of a server's program: what programs need to work, and never secrets."""

import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

WINDOWS = (
    *("APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE"),
    *("PROGRAMDATA", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE"),
)
POSIX = ("LOGNAME", "PATH", "SHELL", "TERM", "TZ", "USER", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE")
CERTIFICATES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("PIP_CERT", "NIX_SSL_CERT_FILE"),
)
"""Files with the certificates of the organization."""
ADDRESSES = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy"),
    *("no_proxy", "NPM_CONFIG_REGISTRY", "npm_config_registry", "PIP_INDEX_URL", "UV_DEFAULT_INDEX"),
    *("UV_INDEX_URL",),
)
"""Where packages come from. Omitted if the address contains a password."""
HOME = "HOME"


def program_environment(
    inherited: Mapping[str, str], declared: Mapping[str, str], home: Path | None
) -> dict[str, str]:
    """Return the variables of a program: the safe ones of this process, and the declared ones.

    home: the directory of the server, which is its HOME; None for the home directory of the user.
    """
    names = (*(WINDOWS if sys.platform == "win32" else POSIX), *CERTIFICATES)
    safe = {name: inherited[name] for name in names if name in inherited}
    safe |= {name: inherited[name] for name in ADDRESSES if name in inherited and _is_public(inherited[name])}
    if home is not None:
        safe |= {HOME: str(home)} if sys.platform != "win32" else {}
    elif HOME in inherited:
        safe[HOME] = inherited[HOME]
    # A value that starts with () is a function that old shells would run.
    return {name: value for name, value in safe.items() if not value.startswith("()")} | dict(declared)


def _is_public(address: str) -> bool:
    """Whether an address contains no user name and password."""
    try:
        return "@" not in urlsplit(address).netloc and "@" not in address.partition("/")[0]
    except ValueError:
        return False

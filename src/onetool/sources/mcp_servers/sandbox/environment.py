"""The environment of a restricted server: its own directories, and no sockets of the user."""

from collections.abc import Mapping
from pathlib import Path

from .secret_places import SOCKET_VARIABLES

REMOVED = (*SOCKET_VARIABLES, "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR")
LOADER_PREFIXES = ("LD_", "DYLD_")
"""Variables that load code into every program, also into those that start the sandbox."""
LOCATIONS = {
    "HOME": "",
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "npm_config_cache": ".npm",
    "npm_config_userconfig": ".npmrc",
    "PIP_CACHE_DIR": ".cache/pip",
    "PLAYWRIGHT_BROWSERS_PATH": ".cache/ms-playwright",
    "UV_CACHE_DIR": ".cache/uv",
}


def server_environment(env: Mapping[str, str], home: Path, temporary: Path) -> dict[str, str]:
    """Return the environment of a server, whose directories are in its home."""
    kept = {name: value for name, value in env.items() if name not in REMOVED}
    own = {name: str(home / folder) for name, folder in LOCATIONS.items()}
    return kept | own | {"TMPDIR": str(temporary)}


def split_loader_variables(env: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the variables for every program, and those that only the server may get."""
    loading = {name: value for name, value in env.items() if name.startswith(LOADER_PREFIXES)}
    return {name: value for name, value in env.items() if name not in loading}, loading

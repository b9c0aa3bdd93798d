"""The environment of a restricted server: its own directories, and no sockets of the user."""

from collections.abc import Mapping
from pathlib import Path

from .secret_places import SOCKET_VARIABLES

REMOVED = (*SOCKET_VARIABLES, "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR")
LOADER_VARIABLES = frozenset(
    {
        "LD_ASSUME_KERNEL",
        "LD_AUDIT",
        "LD_BIND_NOT",
        "LD_BIND_NOW",
        "LD_DEBUG",
        "LD_DEBUG_OUTPUT",
        "LD_DYNAMIC_WEAK",
        "LD_HWCAP_MASK",
        "LD_LIBRARY_PATH",
        "LD_ORIGIN_PATH",
        "LD_POINTER_GUARD",
        "LD_PREFER_MAP_32BIT_EXEC",
        "LD_PRELOAD",
        "LD_PROFILE",
        "LD_PROFILE_OUTPUT",
        "LD_SHOW_AUXV",
        "LD_TRACE_LOADED_OBJECTS",
        "LD_TRACE_PRELINKING",
        "LD_USE_LOAD_BIAS",
        "LD_VERBOSE",
        "LD_WARN",
        "DYLD_FALLBACK_FRAMEWORK_PATH",
        "DYLD_FALLBACK_LIBRARY_PATH",
        "DYLD_FORCE_FLAT_NAMESPACE",
        "DYLD_FRAMEWORK_PATH",
        "DYLD_IMAGE_SUFFIX",
        "DYLD_INSERT_LIBRARIES",
        "DYLD_LIBRARY_PATH",
        "DYLD_ROOT_PATH",
        "DYLD_SHARED_REGION",
        "DYLD_VERSIONED_FRAMEWORK_PATH",
        "DYLD_VERSIONED_LIBRARY_PATH",
    }
)
"""Variables of the loader, which apply to every program, also to those that start the sandbox."""
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
    loading = {name: value for name, value in env.items() if name in LOADER_VARIABLES}
    return {name: value for name, value in env.items() if name not in loading}, loading

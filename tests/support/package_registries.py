"""The registries of npm and PyPI, for tests that start real servers."""

import os
import shutil
import urllib.request

import pytest

from onetool.sources.mcp_servers.sandbox.mechanisms import choose_mechanism
from onetool.sources.mcp_servers.sandbox.policy import Mechanism

REGISTRIES = {
    "npx": os.environ.get("NPM_CONFIG_REGISTRY") or "https://registry.npmjs.org",
    "uvx": os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL") or "https://pypi.org/simple",
}


def require_package(program: str, package: str) -> None:
    """Skip the test, with the reason, unless a program can download and sandbox a server."""
    require_download(program, package)
    if choose_mechanism().mechanism == Mechanism.NONE:
        pytest.skip("no sandbox works on this system")


def require_download(program: str, package: str) -> None:
    """Skip the test, with the reason, unless a program can download a package."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    url = f"{REGISTRIES[program].rstrip('/')}/{package.replace('/', '%2f')}"
    try:
        urllib.request.urlopen(url if program == "npx" else f"{url}/", timeout=30).close()
    except OSError as error:
        pytest.skip(f"{url} is not reachable: {error}")

"""The certified OpenID provider `oidc-provider` from npm, on a loopback port."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from support.paths import PROJECT
from support.postgres import IS_REQUIRED

PROGRAM = PROJECT / "tests/support/oidc_provider.mjs"
PACKAGE = PROJECT / "web/node_modules/oidc-provider"
PUBLIC_URL = "http://localhost"
"""Where the servers of the tests appear to be, unless they say something else."""
CLIENT = {"client_id": "onetool", "client_secret": "client secret: +%&"}
PUBLIC_CLIENT = {"client_id": "onetool-public"}
NAMES = {"client_id": "ONETOOL_OIDC_CLIENT_ID", "client_secret": "ONETOOL_OIDC_CLIENT_SECRET"}
MAX_STEPS = 10


def login_variables(issuer: str, public_url: str = PUBLIC_URL) -> dict[str, str]:
    """Return the environment of a hosted server at which people log in."""
    return {
        "ONETOOL_OIDC_ISSUER": issuer,
        "ONETOOL_OIDC_SCOPES": "openid profile email groups",
        "ONETOOL_OIDC_GROUPS_CLAIM": "groups",
        "ONETOOL_PUBLIC_URL": public_url,
        **{NAMES[name]: value for name, value in CLIENT.items()},
    }


class OidcServer:
    """A provider that knows the clients `onetool`, with a secret, and `onetool-public`, and all people."""

    def __init__(self, *public_urls: str, thin_id_tokens: bool = True) -> None:
        """thin_id_tokens: whether only the userinfo contains name, e-mail address and groups."""
        node = shutil.which("node")
        if node is None or not PACKAGE.exists():
            _give_up("no oidc-provider: run just web-packages")
        uris = [f"{url}/auth/callback" for url in public_urls or (PUBLIC_URL,)]
        options = {"redirectUris": uris, "thinIdTokens": thin_id_tokens}
        self._process = subprocess.Popen(
            [node, PROGRAM, json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.issuer = self._read_issuer()

    def _read_issuer(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("http://127.0.0.1:"):
                return line.strip()
        raise AssertionError(f"oidc-provider has ended with status {self._process.wait()}.")

    def __enter__(self) -> "OidcServer":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    async def authorize(self, url: str, person: dict[str, Any]) -> str:
        """Log in as a new browser would, and return the URL to which the provider sends it back."""
        headers = {"X-Person": json.dumps(person)}
        async with httpx2.AsyncClient(headers=headers, trust_env=False, verify=False) as browser:
            for _ in range(MAX_STEPS):
                response = await browser.get(url)
                assert response.is_redirect, response.text
                url = str(response.url.join(response.headers["location"]))
                if urlsplit(url).path == "/auth/callback":
                    return url
        raise AssertionError(f"The provider did not come to an end, but to {url}.")


@pytest.fixture(scope="session")
def oidc() -> Iterator[OidcServer]:
    """Return a provider that the tests of one worker share."""
    with OidcServer() as server:
        yield server


def _give_up(message: str) -> None:
    if os.environ.get(IS_REQUIRED):
        pytest.fail(message)
    pytest.skip(message)

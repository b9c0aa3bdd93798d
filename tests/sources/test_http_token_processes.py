"""The refresh token of a stored HTTP tool, used by several processes at once."""

import asyncio
import subprocess
import sys
import threading
from collections import Counter
from urllib.parse import parse_qs, urlsplit

import pytest

from onetool.bootstrap import open_runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from onetool.testing.http_stub import HttpStub, StubResponse
from support.rest_process import http_tool, new_id
from support.waiting import HANG_S

PROCESSES, CALLS = 3, 50
CALLER = """
import sys
from onetool import onetool_runtime
with onetool_runtime() as ot:
    for number in range(int(sys.argv[2])):
        if number == 25:
            assert ot.call("ot.reload").ok
        result = ot.call("api.call", process=sys.argv[1])
        print(result.ok, result.error, flush=True)
"""


class RotatingUpstream:
    """An API and its issuer. Each refresh token is valid once, and only the newest access token is valid.

    An access token expires after 20 calls, as soon as every process that is not done has used it.
    """

    def __init__(self):
        self.lock = threading.Lock()
        self.refresh_token, self.access_token = "configured-refresh-token", ""
        self.refreshes, self.expiries, self.reuses = 0, 0, 0
        self.done, self.current = Counter(), Counter()
        """Accepted calls by process: in total, and with the current access token."""

    def token(self, request):
        (used,) = parse_qs(request.body.decode())["refresh_token"]
        with self.lock:
            if used != self.refresh_token:
                self.reuses += 1
                return StubResponse({"error": "invalid_grant"}, 400)
            self.refreshes += 1
            self.access_token, self.refresh_token = f"access-{self.refreshes}", f"refresh-{self.refreshes}"
            self.current.clear()
            tokens = {"access_token": self.access_token, "refresh_token": self.refresh_token}
            return StubResponse(tokens | {"expires_in": 3600})

    def call(self, request):
        (process,) = parse_qs(urlsplit(request.path).query)["process"]
        with self.lock:
            if request.headers["Authorization"] != f"Bearer {self.access_token}":
                return StubResponse({"error": "invalid_token"}, 401)
            self.done[process] += 1
            self.current[process] += 1
            active = {name for name in map(str, range(PROCESSES)) if self.done[name] < CALLS}
            if self.current.total() >= 20 and active <= self.current.keys():
                self.access_token = "none"
                self.expiries += 1
            return StubResponse({"ok": True})


async def store_tool(home, url):
    """Store the tool `api.call` in the directories of the user."""
    auth = {"type": "oauth2", "grant": "refresh_token", "tokenUrl": f"{url}/token"}
    auth |= {"clientId": "me", "refreshToken": "${REFRESH}"}
    body = http_tool(f"{url}/call?process=${{process}}", "process", request={"auth": auth})
    paths, bundle = find_paths(home.env, home.cwd), new_id()
    async with open_runtime(lambda: load_configuration(paths, {})) as runtime:
        await runtime.state.bundles.put_bundle(bundle, {"slug": "api", "isEnabled": True})
        await runtime.state.bundles.put_tool((bundle, "call", "v1"), body)


@pytest.mark.spec("BND-65")
def test_processes_refresh_once_per_expiry(home):
    """Three processes with 50 calls each, which also reload. No refresh token is used twice or lost."""
    upstream = RotatingUpstream()
    with HttpStub({"/token": upstream.token, "/call": upstream.call}) as stub:
        home.write("onetool.yaml", "allowedHosts: [127.0.0.1]\nexecution: {timeout_s: 600}\n")
        home.write("secrets.yaml", "REFRESH: configured-refresh-token\n")
        asyncio.run(store_tool(home, stub.url))
        command = [sys.executable, "-c", CALLER]
        children = [
            subprocess.Popen([*command, str(number), str(CALLS)], stdout=subprocess.PIPE, text=True)
            for number in range(PROCESSES)
        ]
        outputs = [child.communicate(timeout=HANG_S)[0] for child in children]
    assert outputs == ["True None\n" * CALLS] * PROCESSES
    assert upstream.done == dict.fromkeys(map(str, range(PROCESSES)), CALLS)
    assert upstream.expiries >= 3
    has_pending_expiry = upstream.access_token == "none"
    assert (upstream.refreshes, upstream.reuses) == (upstream.expiries + 1 - has_pending_expiry, 0)
    (stored,) = (home.root / "data" / "http_tokens").glob("*.json")
    assert stored.stat().st_mode & 0o777 == 0o600

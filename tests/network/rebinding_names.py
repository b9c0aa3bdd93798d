"""A network of its own in which names change their address: `python rebinding_names.py`, see `COMMAND`.

The name server answers the first question for a name with a public address and all others with 127.0.0.1. A
web server listens on each. Prints as JSON what each client got and how many connections each server had.
"""

import asyncio
import fcntl
import json
import socket
import struct
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.invocation import CancelFlag, Invocation
from onetool.network.client import HttpClients
from onetool.settings.secrets import Secrets
from onetool.sources.http_tools import HttpToolRunner, TokenCache
from onetool.sources.mcp_servers.oauth.config import OAuthConfig
from onetool.sources.mcp_servers.oauth.metadata_client import open_client
from onetool.storage.memory.tokens import MemoryTokens
from onetool.threads import Threads

PUBLIC, PRIVATE, PORT = "93.184.216.34", "127.0.0.1", 8080
SCRIPT = 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"'
COMMAND = ["unshare", "--map-root-user", "--mount", "--net", "sh", "-c", SCRIPT, "sh"]
"""Followed by the path of a `resolv.conf` with the name server 127.0.0.1, and a command. Needs no root."""
SET_ADDRESS, SET_FLAGS, IS_UP = 0x8916, 0x8914, 1
ADDRESS_RECORD = 1


class Web(ThreadingHTTPServer):
    """Counts requests and sends its own address, or a redirect to the host that was asked for."""

    def __init__(self, address: str) -> None:
        super().__init__((address, PORT), WebHandler)
        self.connections = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def process_request(self, request, client_address) -> None:  # type: ignore[no-untyped-def]
        self.connections += 1
        super().process_request(request, client_address)


class WebHandler(BaseHTTPRequestHandler):
    """Closes each connection after its response, so that the next request resolves the name again."""

    def do_GET(self) -> None:
        is_redirect = self.path == "/redirect"
        self.send_response(302 if is_redirect else 200)
        if is_redirect:
            self.send_header("Location", f"http://{self.headers['Host']}/")
        self.end_headers()
        self.wfile.write(json.dumps(self.server.server_address[0]).encode())

    def log_message(self, *args: object) -> None:
        """Write nothing."""


def start_network() -> None:
    """Give the loopback interface the public address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for name, address in (("lo", PRIVATE), ("lo:1", PUBLIC)):
            fields = struct.pack(
                "16sH2s4s8s", name.encode(), socket.AF_INET, b"", socket.inet_aton(address), b""
            )
            fcntl.ioctl(control, SET_ADDRESS, fields)
            fcntl.ioctl(control, SET_FLAGS, struct.pack("16sh", name.encode(), IS_UP))


def serve_names(server: socket.socket) -> None:
    """Answer questions for addresses. Other questions have no answer."""
    asked: Counter[bytes] = Counter()
    while True:
        question, client = server.recvfrom(512)
        end = question.index(b"\0", 12) + 5
        name, (kind,) = question[12 : end - 4], struct.unpack(">H", question[end - 4 : end - 2])
        record = b""
        if kind == ADDRESS_RECORD:
            asked[name] += 1
            address = socket.inet_aton(PUBLIC if asked[name] == 1 else PRIVATE)
            record = b"\xc0\x0c" + struct.pack(">HHIH", ADDRESS_RECORD, 1, 0, 4) + address
        header = question[:2] + struct.pack(">HHHHH", 0x8180, 1, bool(record), 0, 0)
        server.sendto(header + question[12:end] + record, client)


async def call_tool(host: str, path: str = "/") -> object:
    """Call an HTTP tool whose host is listed by a pattern."""
    patterns, clients = ["*.test"], HttpClients(["*.test"])
    request = {"method": "GET", "urlTemplate": f"http://{host}:{PORT}{path}"}
    limits = {"maxRetries": 0}
    tool = HttpToolRunner(
        {"request": request},
        arg_schema={},
        limits=limits,
        secrets=Secrets(),
        http=clients,
        allowed_hosts=patterns,
        tokens=TokenCache(MemoryTokens()),
    )
    invocation = Invocation("id", "x.y", {}, Caller(interface="test"), time.monotonic() + 60, CancelFlag())
    return await tool.run({}, invocation)


async def fetch(host: str) -> object:
    """Send a request as packs do."""
    return (await HttpClients([]).async_client().get(f"http://{host}:{PORT}/")).json()


async def read_metadata(host: str) -> object:
    """Send a request as the login to a server does. TLS fails, because the web servers do not speak it."""
    config = OAuthConfig(server="x", url="https://login.test/", store=MemoryTokens(), threads=Threads())
    async with open_client(config) as client:
        return (await client.get(f"https://{host}:{PORT}/.well-known/oauth-authorization-server")).json()


async def attempt(request) -> str:  # type: ignore[no-untyped-def]
    try:
        return str(await request)
    except Exception as error:  # the test checks the message
        return f"{type(error).__name__}: {error}"


async def main() -> None:
    start_network()
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind((PRIVATE, 53))
    threading.Thread(target=serve_names, args=(names,), daemon=True).start()
    public, private = Web(PUBLIC), Web(PRIVATE)
    outcomes = {
        "tool": [await attempt(call_tool("a.test")), await attempt(call_tool("a.test"))],
        "redirect": [await attempt(call_tool("b.test", "/redirect"))],
        "pack": [await attempt(fetch("c.test")), await attempt(fetch("c.test"))],
        "login": [await attempt(read_metadata("d.test")), await attempt(read_metadata("d.test"))],
    }
    json.dump(
        {"outcomes": outcomes, "public": public.connections, "private": private.connections}, sys.stdout
    )


if __name__ == "__main__":
    asyncio.run(main())

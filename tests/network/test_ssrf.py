"""Protection against SSRF: no URL leads to a private server that the operator has not listed."""

import asyncio
import socket
import threading
import time
from collections import Counter

import httpcore2
import httpx2
import pytest

from onetool.domain.bundles.bundle import InvalidBundle
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.invocation import CancelFlag, Invocation
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.http.templates import check_http_impl
from onetool.network.addresses import is_reachable
from onetool.network.client import HttpClients
from onetool.network.resolution import HostNotAllowed, resolve
from onetool.network.transports import AsyncGuardedBackend, GuardedBackend
from onetool.settings.secrets import Secrets
from onetool.sources.http_tools import HttpToolRunner, TokenCache
from onetool.storage.memory.tokens import MemoryTokens
from support.raw_http import RawHttpServer, raw_response
from support.waiting import HANG_S

LISTED = ["allowed.test", "*.wild.test"]
PUBLIC = "2606:4700:4700::1111"
NAMES = {
    "allowed.test": "127.0.0.1",
    "evil.test": "127.0.0.1",
    "allowed.test.evil.test": "127.0.0.1",
    "loop.wild.test": "127.0.0.1",
    "six.wild.test": "::1",
    "mapped.wild.test": "::ffff:127.0.0.1",
    "nat64.wild.test": "64:ff9b::7f00:1",
    "zero.wild.test": "0.0.0.0",
    "127.0.0.1.nip.test": "127.0.0.1",
    "xn--tst-qla.test": "127.0.0.1",
}
URLS = [
    "http://127.0.0.1:{port}/",
    "http://127.1:{port}/",
    "http://127.0.1:{port}/",
    "http://2130706433:{port}/",
    "http://0x7f000001:{port}/",
    "http://0X7F.0.0.1:{port}/",
    "http://0x7f.1:{port}/",
    "http://017700000001:{port}/",
    "http://0177.0.0.1:{port}/",
    "http://0177.1:{port}/",
    "http://00000177.0x0.0.1:{port}/",
    "http://127.000.000.001:{port}/",
    "http://127.0.0.1.:{port}/",
    "http://localhost:{port}/",
    "http://LOCALHOST:{port}/",
    "http://localhost.:{port}/",
    "http://0.0.0.0:{port}/",
    "http://0:{port}/",
    "http://0x0:{port}/",
    "http://[::1]:{port}/",
    "http://[::]:{port}/",
    "http://[0:0:0:0:0:0:0:1]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/",
    "http://[::127.0.0.1]:{port}/",
    "http://[::ffff:0:127.0.0.1]:{port}/",
    "http://[64:ff9b::7f00:1]:{port}/",
    "http://[64:ff9b:1::7f00:1]:{port}/",
    "http://[2002:7f00:1::]:{port}/",
    "http://[2001:0:53aa:64c:0:0:80ff:fffe]:{port}/",
    "http://[::1%25lo]:{port}/",
    "http://[::1%lo]:{port}/",
    "http://[fe80::1%25lo]:{port}/",
    "http://127.0.0.1%00:{port}/",
    "http://127%2e0%2e0%2e1:{port}/",
    "http://%31%32%37.0.0.1:{port}/",
    "http://１２７.０.０.１:{port}/",
    "http://127。0。0。1:{port}/",
    "http://127．0．0．1:{port}/",
    "http://①②⑦.0.0.1:{port}/",
    "http://ⓛocalhost:{port}/",
    "http://tést.test:{port}/",
    "http://xn--tst-qla.test:{port}/",
    "http://allowed.test@127.0.0.1:{port}/",
    "http://allowed.test:80@127.0.0.1:{port}/",
    "http://allowed.test%40127.0.0.1:{port}/",
    "http://allowed.test@evil.test:{port}/",
    "http://allowed.test\\@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\@allowed.test/",
    "http://127.0.0.1:{port}#@allowed.test/",
    "http://127.0.0.1:{port}?@allowed.test/",
    "http://evil.test:{port}/",
    "http://allowed.test.evil.test:{port}/",
    "http://127.0.0.1.nip.test:{port}/",
    "http://loop.wild.test:{port}/",
    "http://six.wild.test:{port}/",
    "http://mapped.wild.test:{port}/",
    "http://nat64.wild.test:{port}/",
    "http://zero.wild.test:{port}/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://[::ffff:169.254.169.254]/",
    "http://168.63.129.16/",
    "http:127.0.0.1:{port}/",
    "http:///127.0.0.1:{port}/",
    "http://\t127.0.0.1:{port}/",
    "http://127.0.0.1\r\n:{port}/",
    "HTTP://127.0.0.1:{port}/",
    "gopher://127.0.0.1:{port}/",
    "file:///etc/hostname",
]


@pytest.fixture
def lookups(monkeypatch):
    """Fake name resolution that counts lookups. The system resolves addresses and localhost."""
    real, counts = socket.getaddrinfo, Counter()

    def getaddrinfo(host, port, *args, **kwargs):
        name = (host.decode() if isinstance(host, bytes) else host).lower()
        counts[name] += 1
        if name == "rebind.wild.test":
            return real(PUBLIC if counts[name] == 1 else "127.0.0.1", port, *args, **kwargs)
        if name in NAMES:
            return real(NAMES[name], port, *args, **kwargs)
        if name.strip(".") == "localhost" or name[:1] in "0123456789[:":
            return real(host, port, *args, **kwargs)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return counts


@pytest.fixture
async def forbidden():
    async with RawHttpServer(lambda seen: raw_response("inside")) as server:
        yield server


@pytest.fixture
async def http():
    clients = HttpClients(LISTED)
    yield clients
    await clients.aclose()


def http_impl(url):
    return {"request": {"method": "GET", "urlTemplate": url}}


async def call(url, http, seconds=HANG_S, **limits):
    tool = HttpToolRunner(
        http_impl(url),
        arg_schema={},
        limits=limits,
        secrets=Secrets(),
        http=http,
        allowed_hosts=LISTED,
        tokens=TokenCache(MemoryTokens()),
    )
    deadline = time.monotonic() + seconds
    invocation = Invocation("id", "x.y", {}, Caller(interface="test"), deadline, CancelFlag())
    return await tool.run({}, invocation)


@pytest.mark.guards("url-private")
@pytest.mark.spec("BND-19")
@pytest.mark.parametrize("form", URLS)
async def test_unlisted_private_server_is_not_reachable(form, lookups, forbidden, http):
    """The URL is rejected in a definition, in a call, and by both clients."""
    url = form.format(port=forbidden.port)
    matches_pattern = any(f"//{name}:" in url for name in NAMES if name.endswith(".wild.test"))
    if not matches_pattern:  # a host that matches a listed pattern is checked at the call only
        with pytest.raises(InvalidBundle):
            check_http_impl(http_impl(url), {}, LISTED)
    with pytest.raises(ExecutionError) as caught:
        await call(url, http)
    assert caught.value.reason is Reason.HOST_NOT_ALLOWED
    with pytest.raises((OSError, httpx2.HTTPError, httpx2.InvalidURL, UnicodeError)):
        await asyncio.wait_for(http.async_client().get(url), HANG_S)
    with pytest.raises((OSError, httpx2.HTTPError, httpx2.InvalidURL, UnicodeError)):
        await asyncio.to_thread(http.client().get, url)
    assert forbidden.connections == 0


@pytest.mark.guards("url-private", "upstream-response")
@pytest.mark.spec("BND-19")
@pytest.mark.parametrize("form", [form for form in URLS if "\r" not in form and form.isascii()])
async def test_redirect_to_an_unlisted_private_server_is_rejected(form, lookups, forbidden, http):
    location = form.format(port=forbidden.port)
    async with RawHttpServer(lambda seen: raw_response("", 302, Location=location)) as listed:
        with pytest.raises(ExecutionError) as caught:
            await call(f"http://allowed.test:{listed.port}/", http)
        targets = {seen.target for seen in listed.requests}
    is_relative = location.startswith(("http:1", "http:///"))  # a path on the listed server
    assert caught.value.reason is (Reason.UPSTREAM if is_relative else Reason.HOST_NOT_ALLOWED)
    assert ("/" in targets, forbidden.connections) == (True, 0)


async def test_listed_host_may_have_a_private_address(lookups, forbidden, http):
    """On any port; the case and a trailing dot do not matter."""
    for host in ("allowed.test", "ALLOWED.test."):
        assert await call(f"http://{host}:{forbidden.port}/", http) == "inside"
    assert (await http.async_client().get(f"http://allowed.test:{forbidden.port}/")).text == "inside"
    assert (await asyncio.to_thread(http.client().get, f"http://allowed.test:{forbidden.port}/")).is_success


@pytest.mark.guards("url-private")
async def test_host_is_resolved_once_and_the_checked_address_is_used(lookups, forbidden, http, monkeypatch):
    """A name that resolves differently the second time (DNS rebinding) gains nothing."""
    connect, hosts = httpcore2.AnyIOBackend.connect_tcp, []

    async def refuse_public(backend, host, *args, **kwargs):
        hosts.append(host)
        if host == PUBLIC:
            raise httpcore2.ConnectError("refused")
        return await connect(backend, host, *args, **kwargs)

    monkeypatch.setattr(httpcore2.AnyIOBackend, "connect_tcp", refuse_public)
    url = f"http://rebind.wild.test:{forbidden.port}/"
    with pytest.raises(ExecutionError) as first:
        await call(url, http, maxRetries=0)
    assert (first.value.reason, lookups["rebind.wild.test"], hosts) == (Reason.UPSTREAM, 1, [PUBLIC])
    with pytest.raises(ExecutionError, match=r"resolves to 127\.0\.0\.1, which is not public") as second:
        await call(url, http)
    assert (second.value.reason, forbidden.connections) == (Reason.HOST_NOT_ALLOWED, 0)


@pytest.mark.parametrize(
    ("address", "host", "allowed", "expected"),
    [
        ("8.8.8.8", "any.test", [], True),
        ("10.0.0.1", "in.test", ["in.test"], True),
        ("10.0.0.1", "in.test", ["*.test"], False),
        ("10.0.0.1", "in.test", ["*"], False),
        ("10.0.0.1", "in.test", ["10.0.0.1"], False),
        ("::1", "::1", ["[::1]"], True),
        ("169.254.169.254", "in.test", ["in.test"], False),
        ("169.254.169.254", "169.254.169.254", ["169.254.169.254"], True),
        ("169.254.169.254", "in.test", ["in.test", "169.254.169.254"], True),
        ("fe80::1%lo", "in.test", ["in.test"], False),
        ("fd00:ec2::254", "in.test", ["in.test"], False),
        ("100.100.100.200", "in.test", ["in.test"], False),
        ("::ffff:169.254.169.254", "in.test", ["in.test", "169.254.169.254"], False),
        ("64:ff9b::a9fe:a9fe", "in.test", ["in.test"], False),
        ("168.63.129.16", "in.test", ["in.test"], False),
    ],
)
def test_allowed_addresses_of_a_host(address, host, allowed, expected):
    """Private ones only if the host itself is listed, metadata services only if their address is."""
    assert is_reachable(address, host, allowed) is expected


def test_error_says_what_to_list(lookups):
    """The host, or the address if listing the host is not enough."""
    with pytest.raises(HostNotAllowed, match=r"add 'loop\.wild\.test' itself to the setting allowedHosts"):
        resolve("loop.wild.test", 80, LISTED)
    with pytest.raises(HostNotAllowed, match=r"add '169\.254\.169\.254' itself"):
        resolve("169.254.169.254", 80, [])


async def test_slow_name_resolution_times_out(lookups, monkeypatch, http):
    """A late response has no effect."""
    resolved = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: resolved.wait() and [])
    try:
        async with asyncio.timeout(HANG_S):
            with pytest.raises(httpx2.ConnectTimeout, match=r"resolving 'allowed\.test' timed out"):
                await http.async_client().get("http://allowed.test/", timeout=0.05)
            with pytest.raises(ExecutionError) as timed_out:
                await call("http://allowed.test/", http, 0.1)
    finally:
        resolved.set()
    assert timed_out.value.reason is Reason.TIMEOUT


async def test_host_without_addresses(lookups, monkeypatch, http):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: [])
    with pytest.raises(httpx2.ConnectError, match="has no address"):
        await http.async_client().get("http://allowed.test/")
    with pytest.raises(OSError, match="has no address"):
        await asyncio.to_thread(http.client().get, "http://allowed.test/")


async def test_async_client_stores_no_cookies_and_logs_no_urls(lookups, caplog, http):
    """It does not follow redirects either."""
    caplog.set_level("INFO")
    async with RawHttpServer(
        lambda seen: raw_response("", 302, Location="/next", Set_Cookie="a=b")
    ) as server:
        for _ in range(2):
            response = await http.async_client().get(f"http://allowed.test:{server.port}/?key=s3cret")
            assert response.status_code == 302
    assert (len(server.requests), server.connections) == (2, 1)
    assert not any("cookie" in seen.headers for seen in server.requests)
    assert "s3cret" not in caplog.text
    await http.aclose()
    await http.aclose()


async def test_client_for_threads_stores_no_cookies(lookups, http):
    """All packs share it, and a page must not set cookies for another site."""
    async with RawHttpServer(lambda seen: raw_response("", 200, Set_Cookie="a=b")) as server:
        for _ in range(2):
            await asyncio.to_thread(http.client().get, f"http://allowed.test:{server.port}/")
    assert len(server.requests) == 2
    assert not any("cookie" in seen.headers for seen in server.requests)


async def test_unix_sockets_are_rejected(http):
    """Each client is created once."""
    with pytest.raises(HostNotAllowed):
        GuardedBackend([]).connect_unix_socket("/run/x")
    with pytest.raises(HostNotAllowed):
        await AsyncGuardedBackend([]).connect_unix_socket("/run/x")
    assert http.client() is http.client()
    assert http.async_client() is http.async_client()

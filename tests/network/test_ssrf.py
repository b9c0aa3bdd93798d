"""No way of writing a URL leads to a server that the operator has not listed."""

import asyncio
import socket
import time
from collections import Counter

import httpx2
import pytest

from onetool.domain.bundle import InvalidBundle
from onetool.domain.caller import Caller
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.invocation import Flag, Invocation
from onetool.domain.templates import check_http_impl
from onetool.network.addresses import is_reachable
from onetool.network.client import HttpClients
from onetool.network.resolution import HostNotAllowed, resolve
from onetool.network.transports import AsyncBackend, Backend
from onetool.sources.http_tools import HttpTool, Tokens
from raw_http import RawServer, reply

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
FORMS = [
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
def asked(monkeypatch):
    """Names that no name server need know; addresses and localhost as the operating system reads them."""
    real, counted = socket.getaddrinfo, Counter()

    def getaddrinfo(host, port, *args, **kwargs):
        name = (host.decode() if isinstance(host, bytes) else host).lower()
        counted[name] += 1
        if name == "rebind.wild.test":
            return real(PUBLIC if counted[name] == 1 else "127.0.0.1", port, *args, **kwargs)
        if name in NAMES:
            return real(NAMES[name], port, *args, **kwargs)
        if name.strip(".") == "localhost" or name[:1] in "0123456789[:":
            return real(host, port, *args, **kwargs)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return counted


@pytest.fixture
async def forbidden():
    async with RawServer(lambda seen: reply("inside")) as server:
        yield server


@pytest.fixture
async def http():
    clients = HttpClients(LISTED)
    yield clients
    await clients.aclose()


def request(url):
    return {"request": {"method": "GET", "urlTemplate": url}}


async def called(url, http, seconds=5.0, **limits):
    tool = HttpTool(
        request(url),
        arg_schema={},
        limits=limits,
        secrets={},
        http=http,
        allowed_hosts=LISTED,
        tokens=Tokens(),
    )
    deadline = time.monotonic() + seconds
    call = Invocation("id", "x.y", {}, Caller(door="test"), deadline, Flag())
    return await tool.run({}, call)


@pytest.mark.spec("BND-19")
@pytest.mark.parametrize("form", FORMS)
async def test_no_form_reaches_a_server_that_is_not_listed(form, asked, forbidden, http):
    """Not at the definition nor the call, not with either client, and not by a redirect."""
    url = form.format(port=forbidden.port)
    by_name = any(f"//{name}:" in url for name in NAMES if name.endswith(".wild.test"))
    if not by_name:  # what a listed pattern matches may be stored: its addresses are seen at the call
        with pytest.raises(InvalidBundle):
            check_http_impl(request(url), {}, LISTED)
    with pytest.raises(ExecutionError) as refused:
        await called(url, http)
    assert refused.value.reason is Reason.HOST_NOT_ALLOWED
    with pytest.raises((OSError, httpx2.HTTPError, httpx2.InvalidURL, UnicodeError)):
        await asyncio.wait_for(http.async_client().get(url), 5)
    with pytest.raises((OSError, httpx2.HTTPError, httpx2.InvalidURL, UnicodeError)):
        await asyncio.to_thread(http.client().get, url)
    assert forbidden.connections == 0


@pytest.mark.spec("BND-19")
@pytest.mark.parametrize("form", [form for form in FORMS if "\r" not in form and form.isascii()])
async def test_no_redirect_reaches_a_server_that_is_not_listed(form, asked, forbidden, http):
    """A listed server is asked, and what it leads to is refused."""
    location = form.format(port=forbidden.port)
    async with RawServer(lambda seen: reply("", 302, Location=location)) as listed:
        with pytest.raises(ExecutionError) as refused:
            await called(f"http://allowed.test:{listed.port}/", http)
        asked_of_it = {seen.target for seen in listed.requests}
    relative = location.startswith(("http:1", "http:///"))  # then it names a path of the listed server
    assert refused.value.reason is (Reason.UPSTREAM if relative else Reason.HOST_NOT_ALLOWED)
    assert ("/" in asked_of_it, forbidden.connections) == (True, 0)


async def test_a_listed_name_may_be_private(asked, forbidden, http):
    """The operator has said so, for the very name, in any case and with any port."""
    for host in ("allowed.test", "ALLOWED.test."):
        assert await called(f"http://{host}:{forbidden.port}/", http) == "inside"
    assert (await http.async_client().get(f"http://allowed.test:{forbidden.port}/")).text == "inside"
    assert (await asyncio.to_thread(http.client().get, f"http://allowed.test:{forbidden.port}/")).is_success


async def test_a_name_is_asked_for_once_and_what_was_checked_is_dialled(asked, forbidden, http):
    """A name that answers differently the second time gains nothing."""
    url = f"http://rebind.wild.test:{forbidden.port}/"
    with pytest.raises(ExecutionError) as first:
        await called(url, http, 1.0, maxRetries=0)
    assert (first.value.reason in (Reason.UPSTREAM, Reason.TIMEOUT), asked["rebind.wild.test"]) == (True, 1)
    with pytest.raises(ExecutionError, match=r"leads to 127\.0\.0\.1, which is not public") as second:
        await called(url, http)
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
def test_which_address_a_host_may_have(address, host, allowed, expected):
    """Private ones for a host that is listed itself; metadata services only for their own address."""
    assert is_reachable(address, host, allowed) is expected


def test_the_refusal_says_what_to_list(asked):
    """The host, or the address where only that would do."""
    with pytest.raises(HostNotAllowed, match=r"Add 'loop\.wild\.test' itself to allowedHosts"):
        resolve("loop.wild.test", 80, LISTED)
    with pytest.raises(HostNotAllowed, match=r"Add '169\.254\.169\.254' itself"):
        resolve("169.254.169.254", 80, [])


async def test_a_slow_name_server_holds_nobody_up(asked, monkeypatch, http):
    """The connection is given up in time, and a late answer changes nothing."""
    import threading

    late = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: late.wait(10) and [])
    with pytest.raises(httpx2.ConnectTimeout, match="was not resolved in time"):
        await http.async_client().get("http://allowed.test/", timeout=0.05)
    with pytest.raises(ExecutionError) as given_up:
        await called("http://allowed.test/", http, 0.1)
    assert given_up.value.reason is Reason.TIMEOUT
    late.set()


async def test_a_host_without_addresses(asked, monkeypatch, http):
    """Both clients say so."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: [])
    with pytest.raises(httpx2.ConnectError, match="has no address"):
        await http.async_client().get("http://allowed.test/")
    with pytest.raises(OSError, match="has no address"):
        await asyncio.to_thread(http.client().get, "http://allowed.test/")


async def test_the_async_client_keeps_nothing_between_calls(asked, caplog, http):
    """No cookies, no line in any log that repeats a URL, no redirect of its own accord."""
    caplog.set_level("INFO")
    async with RawServer(lambda seen: reply("", 302, Location="/next", Set_Cookie="a=b")) as server:
        for _ in range(2):
            answer = await http.async_client().get(f"http://allowed.test:{server.port}/?key=s3cret")
            assert answer.status_code == 302
    assert (len(server.requests), server.connections) == (2, 1)
    assert not any("cookie" in seen.headers for seen in server.requests)
    assert "s3cret" not in caplog.text
    await http.aclose()
    await http.aclose()


async def test_no_socket_of_this_machine_is_opened(http):
    """Neither client speaks to a path instead of a host; each is made once."""
    with pytest.raises(HostNotAllowed):
        Backend([]).connect_unix_socket("/run/x")
    with pytest.raises(HostNotAllowed):
        await AsyncBackend([]).connect_unix_socket("/run/x")
    assert http.client() is http.client()
    assert http.async_client() is http.async_client()

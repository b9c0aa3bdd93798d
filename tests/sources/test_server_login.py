"""Logging in to a remote MCP server: a real authorization server, a real browser's way, real files."""

import asyncio
import json
import logging
import socket
import stat
import subprocess
import sys
import threading
import time
import traceback
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import httpx2
import pytest

from onetool.domain.caller import Caller
from onetool.domain.errors import ExecutionError, LoginFailed
from onetool.domain.invocation import Flag, Invocation
from onetool.settings.schema import Server
from onetool.settings.secrets import Secrets
from onetool.sources.mcp_servers import McpServer
from onetool.sources.mcp_servers.account import account_of
from onetool.sources.mcp_servers.bearer import Bearer
from onetool.sources.mcp_servers.callback import Callback
from onetool.sources.mcp_servers.grant import Grant
from onetool.storage.flat_file_tokens import FlatFileTokens
from onetool.storage.memory_manifests import MemoryManifests
from onetool.storage.memory_tokens import MemoryTokens
from onetool.testing.http_stub import HttpStub, Reply
from onetool.threads import Threads
from protected_server import ASM, JSON, PRM, Protected

WANTED = "it wants you to log in: onetool servers login s"
SCRIPT = Path(__file__).parents[1] / "mcp_servers" / "logged_in.py"


@pytest.fixture
def protected():
    with Protected() as found:
        yield found


@pytest.fixture
def store(tmp_path):
    return FlatFileTokens(tmp_path / "tokens")


@asynccontextmanager
async def running(url, store, **known):
    settings = known.pop("settings", None) or Server(url=url)
    server = McpServer(
        "s", settings, Secrets(), manifest=MemoryManifests(), threads=Threads(), tokens=store, **known
    )
    try:
        yield server
    finally:
        await server.close()


class Browser:
    """Goes where it is sent, as a person who agrees to everything."""

    def __init__(self):
        self.shown, self.opened, self.pages = [], [], []

    def show(self, url):
        self.shown.append(url)

    def open(self, url):
        self.opened.append(url)
        try:  # not with our client, which would log where it goes
            with urlopen(url, timeout=20) as page:
                self.pages.append((page.status, page.read().decode()))
        except HTTPError as page:
            self.pages.append((page.code, page.read().decode()))
            page.close()
        return True


async def log_in(server):
    browser = Browser()
    await server.login(browser.show, browser.open)
    return browser


async def logged_in(protected, store):
    async with running(protected.url, store) as server:
        return await log_in(server)


async def refusal(server, browser=None):
    browser = browser or Browser()
    with pytest.raises(LoginFailed) as caught:
        await server.login(browser.show, browser.open)
    return str(caught.value)


async def call(server, text="hi"):
    found = await server.find("s.echo")
    assert found is not None, server.reason
    invocation = Invocation("id", "echo", {}, Caller(door="test"), time.monotonic() + 20, Flag())
    return await found.runner({"text": text}, invocation)


def kept(store):
    return json.loads(store.read("s"))["tokens"]


def change_kept(store, **changed):
    """Alter what is kept, as time or another process would."""
    store.change("s", lambda text: json.dumps(json.loads(text) | changed))


async def test_a_login_lasts(protected, store, tmp_path):
    """A page is shown and opened once; afterwards any process of the user calls, without a browser."""
    async with running(protected.url, store) as server:
        browser = await log_in(server)
        assert (server.state, await call(server)) == ("started", "hi")
    assert browser.shown == browser.opened
    assert browser.pages == [(200, "You can close this window.")]
    asked = parse_qs(urlsplit(browser.shown[0]).query)
    assert (asked["code_challenge_method"], asked["resource"]) == (["S256"], [protected.url])
    back = urlsplit(asked["redirect_uri"][0])
    assert (back.hostname, back.path) == ("127.0.0.1", "/callback")
    with pytest.raises(ConnectionRefusedError), socket.create_connection((back.hostname, back.port)):
        pass
    async with running(protected.url, FlatFileTokens(tmp_path / "tokens")) as server:
        assert await call(server, "again") == "again"
    assert protected.asked["/authorize"] == protected.asked["/token"] == 1


async def test_what_is_kept_is_the_owner_s_alone(protected, store, tmp_path):
    """Files 0600 in a directory 0700."""
    await logged_in(protected, store)
    folder = tmp_path / "tokens"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


async def test_who_has_not_logged_in_is_told_how(protected, store):
    """The connection fails with the command to type; nothing is registered, and no browser opens."""
    async with running(protected.url, store) as server:
        assert await server.probe() is False
        assert (server.state, server.reason, await server.count()) == ("failed", WANTED, 0)
        await log_in(server)
        protected.forget_everything()
        with pytest.raises(ExecutionError, match=f"The server 's' cannot be used: {WANTED}"):
            await call(server)
        assert (server.state, store.read("s")) == ("failed", None)
        await logged_in(protected, store)
        assert await server.probe() is True
    assert protected.asked["/register"] == 2


@pytest.mark.parametrize("is_known", [True, False])
async def test_tokens_are_renewed_when_their_time_has_passed(protected, store, is_known):
    """Before they are sent, where their end is known, else when the server no longer takes them."""
    await logged_in(protected, store)
    before = kept(store)
    protected.forget_access()
    if is_known:
        change_kept(store, ends_at=time.time())
    else:
        change_kept(store, ends_at=None)
    protected.seen_tokens.clear()
    async with running(protected.url, store) as server:
        assert await call(server) == "hi"
    assert protected.asked["refresh_token"] == 1
    assert (before["access_token"] in protected.seen_tokens) is not is_known
    assert not set(before.values()) & set(kept(store).values()) - {"Bearer", 3600, "all"}


async def test_one_renewal_serves_all_who_wait(protected, store):
    """Ten calls that find the token over fetch one new one."""
    async with running(protected.url, store) as server:
        await log_in(server)
        protected.forget_access()
        assert await asyncio.gather(*(call(server, str(n)) for n in range(10))) == [str(n) for n in range(10)]
    assert protected.asked["refresh_token"] == 1


async def test_what_another_process_renewed_is_used(protected, store):
    """The refresh token in memory is spent by then; the one in the file is not."""
    async with running(protected.url, store) as first, running(protected.url, store) as second:
        await log_in(first)
        assert await call(second) == "hi"
        protected.forget_access()
        assert [await call(first), await call(second)] == ["hi", "hi"]
    assert protected.asked["refresh_token"] == 1


async def test_two_processes_renew_at_once(protected, store, tmp_path):
    """Each request of each needs a new token, none is used twice: both keep working."""
    await logged_in(protected, store)
    change_kept(store, ends_at=time.time())
    protected.expires_in = 0
    words = [sys.executable, str(SCRIPT), protected.url, str(tmp_path / "tokens"), "10"]
    processes = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [await asyncio.to_thread(process.communicate, timeout=60) for process in processes]
    assert [output.split() for output, _ in outputs] == [[str(number) for number in range(10)]] * 2
    assert protected.asked["refresh_token"] >= 10
    assert protected.asked["reused"] == 0


async def test_a_renewal_is_kept_although_the_call_was_given_up(protected, store):
    """The old refresh token is spent: the new one must not be lost with the call that wanted it."""
    begun, go_on = threading.Event(), threading.Event()

    def slowly(request):
        begun.set()
        assert go_on.wait(20)
        return protected._token(request)

    async with running(protected.url, store) as server:
        await log_in(server)
        before = kept(store)
        protected.forget_access()
        protected.replies["/token"] = slowly
        given_up = asyncio.create_task(call(server))
        assert await asyncio.to_thread(begun.wait, 20)
        given_up.cancel()
        await asyncio.wait({given_up})
        go_on.set()
        assert await call(server) == "hi"
    assert (given_up.cancelled(), protected.asked["refresh_token"]) == (True, 1)
    assert kept(store)["refresh_token"] != before["refresh_token"]


async def test_who_leaves_waits_for_a_renewal(protected, store):
    """A process that ends in the middle of one would take the only good refresh token with it."""
    await logged_in(protected, store)
    before = kept(store)
    change_kept(store, ends_at=time.time())
    begun, go_on = threading.Event(), threading.Event()

    def slowly(request):
        begun.set()
        assert go_on.wait(20)
        return protected._token(request)

    async def short_life():
        async with running(protected.url, store) as server:
            probing = asyncio.create_task(server.probe())
            assert await asyncio.to_thread(begun.wait, 20)
            asyncio.get_running_loop().call_later(0.2, go_on.set)
        assert await probing is False

    protected.replies["/token"] = slowly
    await asyncio.to_thread(asyncio.run, short_life())
    assert kept(store)["refresh_token"] != before["refresh_token"]


async def test_no_clear_answer_forgets_nothing(protected, store):
    """An authorization server that is out of order is asked again later."""
    async with running(protected.url, store) as server:
        await log_in(server)
    protected.forget_access()
    for reply in (Reply("later", 503), Reply({"access_token": 1}), Reply({"access_token": "a\nb"})):
        protected.replies["/token"] = reply
        async with running(protected.url, store) as server:
            assert await server.probe() is False
            assert "its login cannot be renewed" in server.reason
    del protected.replies["/token"]
    async with running(protected.url, store) as server:
        assert await call(server) == "hi"


NOT_NOW = [
    Reply({"error": "temporarily_unavailable"}, 400),
    Reply({"error": "slow_down"}, 400),
    Reply({"error": "invalid_request"}, 400),
    Reply({"error": ["invalid_grant"]}, 400),
    Reply("[" * 100_000, 400, JSON),
    Reply("<h1>Sign in</h1>", 401, {"Content-Type": "text/html"}),
    Reply({"error": "invalid_grant"}, 503),
]


@pytest.mark.parametrize("reply", NOT_NOW)
async def test_a_refusal_that_may_pass_keeps_the_login(protected, store, reply):
    """Only what says that the login itself is over ends it; a busy server or a page in between does not."""
    await logged_in(protected, store)
    before = store.read("s")
    protected.forget_access()
    protected.replies["/token"] = reply
    async with running(protected.url, store) as server:
        assert await server.probe() is False
        assert (
            f"its login cannot be renewed: the authorization server answers with HTTP status {reply.status}"
            in (server.reason)
        )
    assert store.read("s") == before


@pytest.mark.parametrize("code", ["invalid_grant", "invalid_client", "unauthorized_client"])
@pytest.mark.parametrize("status", [400, 401])
async def test_a_login_that_is_over_is_forgotten(protected, store, code, status):
    """The person is asked to log in again, and the spent token is sent no more."""
    await logged_in(protected, store)
    protected.forget_access()
    protected.replies["/token"] = Reply({"error": code}, status)
    async with running(protected.url, store) as server:
        assert await server.probe() is False
        assert server.reason == WANTED
    assert store.read("s") is None


async def test_a_token_is_used_to_its_end(protected, store):
    """Where it cannot be renewed early, it is still good; after its end the failure is told."""
    await logged_in(protected, store)
    protected.replies["/token"] = Reply("later", 503)
    change_kept(store, ends_at=time.time() + 20)
    async with running(protected.url, store) as server:
        assert await call(server) == "hi"
    change_kept(store, ends_at=time.time())
    async with running(protected.url, store) as server:
        assert await server.probe() is False
        assert "HTTP status 503" in server.reason


async def test_tokens_that_cannot_be_renewed_end(protected, store):
    """Without a refresh token the person is asked again, and the token stays: the server may be mistaken."""
    await logged_in(protected, store)
    tokens = {name: value for name, value in kept(store).items() if name != "refresh_token"}
    change_kept(store, tokens=tokens, ends_at=time.time())
    async with running(protected.url, store) as server:
        assert await call(server) == "hi"
        protected.forget_access()
        with pytest.raises(ExecutionError, match=WANTED):
            await call(server)
    assert kept(store) == tokens


async def test_a_new_login_replaces_the_old_one(protected, store):
    """At once, also where the server is in use."""
    async with running(protected.url, store) as server:
        await log_in(server)
        before = kept(store)["access_token"]
        await log_in(server)
        protected.seen_tokens.clear()
        assert await call(server) == "hi"
    assert before not in protected.seen_tokens


async def test_a_login_belongs_to_a_url(protected, store):
    """A server that the operator gives the same name gets nothing of it, nor does what is no login."""
    await logged_in(protected, store)
    with Protected() as other:
        async with running(other.url, store) as server:
            assert await server.probe() is False
            assert server.reason == WANTED
        assert not any(other.seen_tokens)
    store.change("s", lambda text: "{}")
    async with running(protected.url, store) as server:
        assert await server.probe() is False
        assert server.reason == WANTED


async def test_tokens_go_to_no_other_origin(protected, store):
    """A redirect to elsewhere is not followed, and a request to elsewhere bears none."""
    await logged_in(protected, store)
    with HttpStub({"/mcp": Reply({"jsonrpc": "2.0", "id": 1, "result": {}})}) as other:
        protected.replies["/mcp"] = Reply("", 307, {"Location": f"{other.url}/mcp"})
        async with running(protected.url, store) as server:
            assert await server.probe() is False
        assert other.requests == []
        account = account_of("s", Server(url=protected.url), store, Threads(), ())
        async with httpx2.AsyncClient(transport=Bearer(httpx2.AsyncHTTPTransport(), account)) as client:
            await client.get(f"{other.url}/mcp")
        assert "authorization" not in {name.lower() for name in other.requests[0].headers}


async def test_a_header_of_the_operator_wins(protected, store):
    """No login is attempted, and none is offered; nor to programs, nor where nothing can be kept."""
    await logged_in(protected, store)
    given = Server(url=protected.url, headers={"authorization": "Bearer given"})
    protected.seen_tokens.clear()
    async with running("", store, settings=given) as server:
        assert await server.probe() is False
        assert "log in" not in server.reason
        assert "has no login" in await refusal(server)
    assert set(protected.seen_tokens) == {"Bearer given".removeprefix("Bearer ")}
    for settings, tokens in ((Server(command="x"), store), (Server(url="ftp://x"), store), (given, None)):
        async with running("", tokens, settings=settings) as server:
            assert "has no login" in await refusal(server)


@pytest.mark.parametrize(
    ("back", "said"),
    [
        ({"code": None, "error": "access_denied"}, "it was denied: 'access_denied'"),
        ({"code": None, "error": "x", "error_description": "y" * 999}, "it was denied: 'x: yyy"),
        ({"code": None}, "came back with no code"),
        ({"iss": "https://other.example"}, "iss mismatch"),
        ({"code": "made-up"}, "gives no tokens: HTTP status 400, 'invalid_grant'"),
    ],
)
async def test_an_answer_that_is_not_the_one_is_refused(protected, store, back, said):
    """In one sentence; what an earlier login has brought stays, and the page says that it failed."""
    await logged_in(protected, store)
    before = store.read("s")
    protected.tampered = back
    browser = Browser()
    async with running(protected.url, store) as server:
        text = await refusal(server, browser)
    assert text.startswith("Logging in to 's' failed: ")
    assert (said in text, len(text) < 400, store.read("s")) == (True, True, before)
    assert all(secret not in text for secret in protected.secrets)
    while not browser.pages:
        await asyncio.sleep(0.01)
    is_fine = set(back) <= {"iss"} or back.get("code") == "made-up"
    assert browser.pages[0][0] == (200 if is_fine else 400)


NOTHING = {PRM: Reply("", 404), ASM: Reply("", 404)}


@pytest.mark.parametrize(
    ("replies", "metadata", "said"),
    [
        (NOTHING, {}, "it publishes no OAuth metadata"),
        ({ASM: Reply("not json")}, {}, "it publishes no OAuth metadata"),
        ({PRM: Reply("", 503)}, {}, "HTTP 503"),
        ({ASM: Reply("", 503)}, {}, "out of order: HTTP status 503."),
        ({}, {"registration_endpoint": None}, "registers no program by itself"),
        ({}, {"code_challenge_methods_supported": ["plain"]}, "PKCE with S256"),
        ({}, {"code_challenge_methods_supported": None}, "PKCE with S256"),
        ({}, {"issuer": "https://other.example"}, "issuer mismatch"),
        (
            {"/register": Reply({"client_secret": "s3cr3t"}, 403)},
            {},
            "not register OneTool: HTTP status 403.",
        ),
        ({"/register": Reply({"client_secret": "s3cr3t"})}, {}, "not register OneTool: HTTP status 200."),
        ({"/token": Reply({"refresh_token": "s3cr3t"})}, {}, "gives no tokens: HTTP status 200."),
        ({"/token": Reply({"access_token": "s3cr3t\r\nX: y"})}, {}, "is not OAuth (ValidationError)"),
        ({"/token": Reply({"access_token": "s3cr3t", "expires_in": 10**400})}, {}, "is not OAuth (Over"),
        ({"/token": Reply("s3cr3t" * 400_000, headers=JSON)}, {}, "more than 1048576 bytes"),
        ({"/token": Reply("s3cr3t", headers={"Content-Encoding": "gzip"})}, {}, "an encoding"),
        ({"/token": Reply("", 307, {"Location": "https://other.example/"})}, {}, "HTTP status 307"),
        (
            {"/mcp": Reply("", 401, {"WWW-Authenticate": 'Bearer resource_metadata="http://["'})},
            {},
            "an address of it cannot be used",
        ),
    ],
)
async def test_a_server_that_does_not_play_by_the_rules(protected, replies, metadata, said, caplog):
    """Says so in one sentence, which repeats nothing that could be a secret, as does no log."""
    protected.replies, protected.metadata = replies, metadata
    store = MemoryTokens()
    with caplog.at_level(logging.DEBUG):
        async with running(protected.url, store) as server:
            text = await refusal(server)
    assert said in text
    assert store.read("s") is None
    assert "s3cr3t" not in text + caplog.text


PRIVATE = (
    "https://10.0.0.1/x",
    "https://169.254.169.254/x",
    "https://[::ffff:10.0.0.1]/x",
    "https://[fd00::1]/",
)
OVERHEARD = ("http://example.com/x", "http://10.0.0.1/x")


@pytest.mark.parametrize("url", [*PRIVATE, *OVERHEARD])
@pytest.mark.parametrize(
    "name", ["authorization_endpoint", "token_endpoint", "registration_endpoint", "", "www"]
)
async def test_addresses_in_metadata_are_strangers(protected, url, name):
    """Private ones are not reached, and nothing is sent where others listen; no browser opens such a page."""
    if name == "www":
        where = {"WWW-Authenticate": f'Bearer resource_metadata="{url}"'}
        protected.replies["/mcp"] = Reply("", 401, where)
    elif name:
        protected.metadata[name] = url
    else:
        protected.resource_metadata["authorization_servers"] = [url]
    browser = Browser()
    async with running(protected.url, MemoryTokens()) as server:
        text = await refusal(server, browser)
    assert ("is not public" if url in PRIVATE else "can be overheard") in text
    if name != "token_endpoint":
        assert browser.shown == browser.opened == []


async def test_the_operator_may_list_a_private_host():
    """Then it is asked; a server that others can listen to is not logged in to at all."""
    with HttpStub({}) as stub:
        port = stub.url.rpartition(":")[2]
        for url, said in (
            (f"http://localhost:{port}/mcp", "no OAuth metadata"),
            ("http://example.com/mcp", "can be overheard"),
            ("https://127.0.0.1:1/mcp", "has no answer: ConnectError"),
        ):
            async with running(url, MemoryTokens()) as server:
                assert said in await refusal(server)
    with Protected() as protected:
        protected.metadata["token_endpoint"] = "https://[::ffff:10.0.0.1]:1/x"
        async with running(protected.url, MemoryTokens(), allowed_hosts=["::ffff:10.0.0.1"]) as server:
            assert "is not public" not in await refusal(server)


async def test_a_name_that_leads_nowhere(protected):
    """It cannot be resolved: said before a browser opens."""
    protected.metadata["authorization_endpoint"] = "https://nowhere.invalid/authorize"
    async with running(protected.url, MemoryTokens()) as server:
        assert "'nowhere.invalid' was not resolved" in await refusal(server)


async def test_nobody_waits_for_ever(protected, monkeypatch):
    """Neither for a person nor for an authorization server."""
    monkeypatch.setattr("onetool.sources.mcp_servers.callback.LIMIT", 0.05)
    async with running(protected.url, MemoryTokens()) as server:
        with pytest.raises(LoginFailed, match=r"nobody has logged in within 0\.05 s"):
            await server.login(lambda url: None, lambda url: False)
    monkeypatch.setattr("onetool.sources.mcp_servers.endpoints.LIMIT", 0.2)
    go_on = threading.Event()
    protected.replies[ASM] = lambda request: Reply(str(go_on.wait(20)))
    async with running(protected.url, MemoryTokens()) as server:
        assert "did not answer within 0.2 s" in await refusal(server)
    go_on.set()


async def test_a_renewal_that_hangs_is_given_up(protected, store, monkeypatch):
    """What is kept stays for the next attempt."""
    await logged_in(protected, store)
    monkeypatch.setattr("onetool.sources.mcp_servers.renewal.LIMIT", 0.1)
    go_on = threading.Event()
    protected.forget_access()
    protected.replies["/token"] = lambda request: Reply(str(go_on.wait(20)))
    async with running(protected.url, store) as server:
        assert await server.probe() is False
        assert "was not renewed within 0.1 s" in server.reason
    go_on.set()
    assert kept(store)["access_token"]


async def test_a_browser_that_cannot_be_opened_is_none_the_worse(protected):
    """The address was shown: a person can go there by hand."""

    def fail(url):
        raise RuntimeError("no browser")

    by_hand = []

    def show(url):
        by_hand.append(threading.Thread(target=Browser().open, args=(url,)))
        by_hand[0].start()

    async with running(protected.url, MemoryTokens()) as server:
        await server.login(show, fail)
        assert await call(server) == "hi"
    by_hand[0].join()


async def test_a_server_that_greets_everyone_can_be_logged_in_to(protected, store):
    """It may want to know who one is later."""
    hello = {"jsonrpc": "2.0", "id": 0, "result": {}}

    def greet_strangers(request):
        is_stranger = "authorization" not in {name.lower() for name in request.headers}
        return Reply(hello) if is_stranger else protected._mcp(request)

    protected.replies["/mcp"] = greet_strangers
    async with running(protected.url, store) as server:
        await log_in(server)
        assert await call(server) == "hi"


def request_to(callback, method="GET", path="/callback?state=right&code=c", host=None):
    host = host or callback.url.split("/")[2]
    return f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


async def send(callback, content):
    reader, writer = await asyncio.open_connection("127.0.0.1", int(callback.url.split("/")[2].split(":")[1]))
    writer.write(content)
    answer = (await reader.read()).decode()
    writer.close()
    return answer.partition("\r\n")[0].partition(" ")[2]


async def test_the_listener_takes_one_answer(monkeypatch):
    """From a browser that was sent from here: by no other name, path or method, and not twice."""
    monkeypatch.setattr("onetool.sources.mcp_servers.callback.REQUEST_LIMIT", 0.2)
    async with Callback() as callback:
        assert await send(callback, request_to(callback)) == "404 Not Found"
        callback.expect("right")
        port = callback.url.split("/")[2].split(":")[1]
        for strange in (
            {"host": f"evil.example:{port}"},
            {"host": f"localhost:{port}"},
            {"path": "/favicon.ico"},
            {"path": "/callback/?state=right&code=c"},
            {"method": "POST"},
        ):
            assert await send(callback, request_to(callback, **strange)) == "404 Not Found"
        assert await send(callback, b"\xff\r\n\r\n") == "404 Not Found"
        assert await send(callback, b"GET /callback") == ""
        assert await send(callback, b"x" * 100_000) == ""
        assert await send(callback, request_to(callback)) == "200 OK"
        assert await send(callback, request_to(callback)) == "404 Not Found"
        assert (await callback.answer())["code"] == "c"
        waiting, sending = await asyncio.open_connection("127.0.0.1", int(port))
        while not callback._tasks:
            await asyncio.sleep(0)
    assert await waiting.read() == b""
    sending.close()


async def test_what_bears_another_state_ends_no_login():
    """A page that tries ports is answered with 400, and the listener goes on waiting for the browser."""
    async with Callback() as callback:
        callback.expect("right")
        for query in ("", "?code=c", "?state=&code=c", "?state=wrong&error=denied", "?state=%C3%A4&code=c"):
            assert await send(callback, request_to(callback, path=f"/callback{query}")) == "400 Bad Request"
        assert await send(callback, request_to(callback)) == "200 OK"
        assert await callback.answer() == {"state": "right", "code": "c"}


class Full(MemoryTokens):
    """A store on a disk that is full, or that cannot be read."""

    problem = None

    def read(self, server):
        if self.problem == "read":
            raise PermissionError(13, "Permission denied")
        return super().read(server)

    def change(self, server, change):
        if self.problem == "write":
            change(super().read(server))
            raise OSError(28, "No space left on device")
        return super().change(server, change)


async def test_a_store_that_fails(protected, caplog):
    """Tokens that cannot be kept are used all the same; what cannot be read is said."""
    store = Full()
    async with running(protected.url, store) as server:
        await log_in(server)
        store.problem = "write"
        protected.forget_access()
        assert await call(server) == "hi"
        assert "its login cannot be read or kept: No space left on device" in caplog.text
        protected.forget_everything()
        assert await server.probe() is False
        assert "No space left" in await refusal(server)
    store.problem = "read"
    async with running(protected.url, store) as server:
        assert await server.probe() is False
        assert "Permission denied" in server.reason


async def test_no_secret_is_ever_seen(protected, store, caplog):
    """Codes, verifiers and tokens stand in no log, no error and no repr."""
    seen = []
    with caplog.at_level(logging.DEBUG):
        async with running(protected.url, store) as server:
            await log_in(server)
            protected.forget_access()
            await call(server)
            grant = Grant.read(store.read("s"), protected.url)
            seen += [repr(grant), str(grant), repr(server), repr(store), repr(server._account), server.reason]
            protected.forget_everything()
            try:
                await call(server)
            except ExecutionError:
                seen.append(traceback.format_exc())
            protected.tampered = {"code": "made-up"}
            try:
                await log_in(server)
            except LoginFailed:
                seen.append(traceback.format_exc())
    said = "\n".join([caplog.text, *map(str, (vars(record) for record in caplog.records)), *seen])
    assert len(protected.secrets) >= 7
    assert [secret for secret in protected.secrets if secret in said] == []

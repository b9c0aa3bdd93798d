"""OAuth login to MCP servers: a real authorization server, a browser, and tokens in files."""

import asyncio
import json
import logging
import socket
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

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.invocation import CancelFlag, Invocation
from onetool.domain.errors import ExecutionError, LoginFailed, WorkspaceUnavailable
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.secrets.redaction import MASK
from onetool.settings.server_schema import ServerSettings
from onetool.sources.mcp_servers.oauth import callback_server, refresh
from onetool.sources.mcp_servers.oauth.bearer_transport import BearerTransport
from onetool.sources.mcp_servers.oauth.callback_server import CallbackServer
from onetool.sources.mcp_servers.oauth.config import oauth_config_for
from onetool.sources.mcp_servers.oauth.tokens import StoredTokens
from onetool.storage.files.tokens import FileTokens
from onetool.storage.memory.tokens import MemoryTokens
from onetool.testing.http_stub import HttpStub, StubResponse
from onetool.threads import Threads
from support.oauth_server import JSON, RESOURCE_METADATA_PATH, SERVER_METADATA_PATH, OAuthMcpServer
from support.opened_server import opened_server
from support.waiting import HANG_S, until

LOGIN_REQUIRED = "login required: onetool servers login s"


@pytest.fixture
def protected():
    with OAuthMcpServer() as server:
        yield server


@pytest.fixture
def store(tmp_path):
    return FileTokens(tmp_path / "tokens", Threads())


def running(url, store, *, settings=None, **options):
    """Open the server, whose home is never used."""
    settings = settings or ServerSettings(url=url)
    return opened_server(settings, Path("unused"), tokens=store, is_patient=False, **options)


class Browser:
    """Follows redirects like the browser of a user who agrees to everything."""

    def __init__(self):
        self.shown, self.opened, self.pages = [], [], []

    def show(self, url):
        self.shown.append(url)

    def open(self, url):
        self.opened.append(url)
        try:  # our own client would log the URL
            with urlopen(url, timeout=HANG_S) as page:
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


async def login_error(server, browser=None):
    browser = browser or Browser()
    with pytest.raises(LoginFailed) as caught:
        await server.login(browser.show, browser.open)
    return str(caught.value)


async def call(server, text="hi"):
    tool = await server.find("s.echo")
    assert tool is not None, server.status().reason
    deadline = time.monotonic() + HANG_S
    invocation = Invocation("id", "echo", {}, Caller(interface="test"), deadline, CancelFlag())
    return (await tool.runner({"text": text}, invocation)).to_data()


async def test_tokens_of_a_login_are_redacted(protected, store):
    """The tokens of this process, those that another process stored, and those of a refresh."""
    first, second = CredentialSet(), CredentialSet()
    async with running(protected.url, store, credentials=first) as server:
        await log_in(server)
        before = await stored_tokens(store)
        async with running(protected.url, store, credentials=second) as other:
            await call(other)
            protected.expire_access_tokens()
            await call(server)
            await call(other)
    after = await stored_tokens(store)
    assert before["access_token"] != after["access_token"]
    names = ("access_token", "refresh_token")
    text = " ".join(tokens[name] for tokens in (before, after) for name in names)
    assert first.redact(text) == second.redact(text) == " ".join([MASK] * 4)


async def stored_tokens(store):
    return json.loads(await store.read("s"))["tokens"]


async def update_stored(store, **changes):
    """Change what is stored, as another process would."""
    async with store.exclusive("s") as stored:
        await stored.replace(json.dumps(json.loads(stored.text) | changes))


async def test_one_login_serves_all_processes(protected, store, tmp_path):
    """The page is shown and opened once. Afterwards any process of the user can call without a browser."""
    async with running(protected.url, store) as server:
        browser = await log_in(server)
        assert (server.state, await call(server)) == ("connected", "hi")
    assert browser.shown == browser.opened
    assert browser.pages == [(200, "You can close this window.")]
    params = parse_qs(urlsplit(browser.shown[0]).query)
    assert (params["code_challenge_method"], params["resource"]) == (["S256"], [protected.url])
    redirect_uri = urlsplit(params["redirect_uri"][0])
    address = (redirect_uri.hostname, redirect_uri.port)
    assert (redirect_uri.hostname, redirect_uri.path) == ("127.0.0.1", "/callback")
    with pytest.raises(ConnectionRefusedError), socket.create_connection(address):
        pass
    async with running(protected.url, FileTokens(tmp_path / "tokens", Threads())) as server:
        assert await call(server, "again") == "again"
    assert protected.request_counts["/authorize"] == protected.request_counts["/token"] == 1


async def test_missing_login_is_reported_with_the_command(protected, store):
    """The reason names the command. No client is registered, and no browser opens."""
    async with running(protected.url, store) as server:
        assert await server.probe() is False
        assert (server.state, server.status().reason, await server.count()) == ("failed", LOGIN_REQUIRED, 0)
        await log_in(server)
        protected.revoke_all_tokens()
        with pytest.raises(ExecutionError, match=f"Server 's' is unavailable: {LOGIN_REQUIRED}"):
            await call(server)
        assert (server.state, await store.read("s")) == ("failed", None)
        await logged_in(protected, store)
        assert await server.probe() is True
    assert protected.request_counts["/register"] == 2


@pytest.mark.parametrize("has_expiry", [True, False])
async def test_expired_tokens_are_refreshed(protected, store, has_expiry):
    """Before the request if the expiry is known, otherwise when the server rejects them."""
    await logged_in(protected, store)
    before = await stored_tokens(store)
    protected.expire_access_tokens()
    if has_expiry:
        await update_stored(store, expires_at=time.time())
    else:
        await update_stored(store, expires_at=None)
    protected.received_tokens.clear()
    async with running(protected.url, store) as server:
        assert await call(server) == "hi"
    assert protected.request_counts["refresh_token"] == 1
    assert (before["access_token"] in protected.received_tokens) is not has_expiry
    assert not set(before.values()) & set((await stored_tokens(store)).values()) - {"Bearer", 3600, "all"}


async def test_concurrent_calls_share_one_refresh(protected, store):
    async with running(protected.url, store) as server:
        await log_in(server)
        protected.expire_access_tokens()
        assert await asyncio.gather(*(call(server, str(n)) for n in range(10))) == [str(n) for n in range(10)]
    assert protected.request_counts["refresh_token"] == 1


async def test_tokens_refreshed_by_another_process_are_used(protected, store):
    """The refresh token in memory is used up by then; the one in the file is valid."""
    async with running(protected.url, store) as first, running(protected.url, store) as second:
        await log_in(first)
        assert await call(second) == "hi"
        protected.expire_access_tokens()
        assert [await call(first), await call(second)] == ["hi", "hi"]
    assert protected.request_counts["refresh_token"] == 1


async def test_refresh_completes_although_the_call_was_cancelled(protected, store):
    """The old refresh token is used up, so the new one must not be lost."""
    started, proceed = threading.Event(), threading.Event()

    def slow_response(request):
        started.set()
        assert proceed.wait(HANG_S)
        return protected._token(request)

    async with running(protected.url, store) as server:
        await log_in(server)
        before = await stored_tokens(store)
        protected.expire_access_tokens()
        protected.responses["/token"] = slow_response
        cancelled = asyncio.create_task(call(server))
        assert await asyncio.to_thread(started.wait, HANG_S)
        cancelled.cancel()
        await asyncio.wait({cancelled})
        proceed.set()
        assert await call(server) == "hi"
    assert (cancelled.cancelled(), protected.request_counts["refresh_token"]) == (True, 1)
    assert (await stored_tokens(store))["refresh_token"] != before["refresh_token"]


async def test_close_waits_for_a_refresh(protected, store):
    """A process that exits during a refresh would lose the only valid refresh token."""
    await logged_in(protected, store)
    before = await stored_tokens(store)
    await update_stored(store, expires_at=time.time())
    started, proceed = threading.Event(), threading.Event()

    def slow_response(request):
        started.set()
        assert proceed.wait(HANG_S)
        return protected._token(request)

    async def probe_and_close():
        async with running(protected.url, store) as server:
            probing = asyncio.create_task(server.probe())
            assert await asyncio.to_thread(started.wait, HANG_S)
            asyncio.get_running_loop().call_later(0.2, proceed.set)
        assert await probing is False

    protected.responses["/token"] = slow_response
    await asyncio.to_thread(asyncio.run, probe_and_close())
    assert (await stored_tokens(store))["refresh_token"] != before["refresh_token"]


TEMPORARY_ERRORS = [
    StubResponse({"error": "temporarily_unavailable"}, 400),
    StubResponse({"error": "slow_down"}, 400),
    StubResponse({"error": "invalid_request"}, 400),
    StubResponse({"error": ["invalid_grant"]}, 400),
    StubResponse("[" * 100_000, 400, JSON),
    StubResponse("<h1>Sign in</h1>", 401, {"Content-Type": "text/html"}),
    StubResponse({"error": "invalid_grant"}, 503),
    StubResponse("later", 503),
    StubResponse({"access_token": 1}),
    StubResponse({"access_token": "a\nb"}),
]


@pytest.mark.parametrize("response", TEMPORARY_ERRORS)
async def test_temporary_refresh_error_keeps_the_tokens(protected, store, response):
    """Only errors about the grant or the client end a login. A later refresh succeeds."""
    await logged_in(protected, store)
    before = await store.read("s")
    protected.expire_access_tokens()
    protected.responses["/token"] = response
    is_error = response.status != 200
    status = f": the authorization server returned HTTP status {response.status}" if is_error else ""
    async with running(protected.url, store) as server:
        assert await server.probe() is False
        assert f"token refresh failed{status}" in server.status().reason
    assert await store.read("s") == before
    del protected.responses["/token"]
    async with running(protected.url, store) as server:
        assert await call(server) == "hi"


@pytest.mark.parametrize("code", ["invalid_grant", "invalid_client", "unauthorized_client"])
@pytest.mark.parametrize("status", [400, 401])
async def test_permanent_refresh_error_deletes_the_tokens(protected, store, code, status):
    """The user must log in again, and the old tokens are not sent any more."""
    await logged_in(protected, store)
    protected.expire_access_tokens()
    protected.responses["/token"] = StubResponse({"error": code}, status)
    async with running(protected.url, store) as server:
        assert await server.probe() is False
        assert server.status().reason == LOGIN_REQUIRED
    assert await store.read("s") is None


async def test_token_is_used_until_it_expires(protected, store):
    """If an early refresh fails, the token is still used. After expiry the failure is reported."""
    await logged_in(protected, store)
    protected.responses["/token"] = StubResponse("later", 503)
    await update_stored(store, expires_at=time.time() + 29)
    async with running(protected.url, store) as server:
        assert await call(server) == "hi"
    await update_stored(store, expires_at=time.time())
    async with running(protected.url, store) as server:
        assert await server.probe() is False
        assert "HTTP status 503" in server.status().reason


async def test_rejected_token_without_refresh_token_requires_login(protected, store):
    """The token stays stored: the rejection may be temporary."""
    await logged_in(protected, store)
    tokens = {name: value for name, value in (await stored_tokens(store)).items() if name != "refresh_token"}
    await update_stored(store, tokens=tokens, expires_at=time.time())
    async with running(protected.url, store) as server:
        assert await call(server) == "hi"
        protected.expire_access_tokens()
        with pytest.raises(ExecutionError, match=LOGIN_REQUIRED):
            await call(server)
    assert await stored_tokens(store) == tokens


async def test_new_login_replaces_the_old_one_at_once(protected, store):
    async with running(protected.url, store) as server:
        await log_in(server)
        before = (await stored_tokens(store))["access_token"]
        await log_in(server)
        protected.received_tokens.clear()
        assert await call(server) == "hi"
    assert before not in protected.received_tokens


async def test_tokens_are_bound_to_a_url(protected, store):
    """Another server with the same name does not get them. Invalid stored data counts as no login."""
    await logged_in(protected, store)
    with OAuthMcpServer() as other:
        async with running(other.url, store) as server:
            assert await server.probe() is False
            assert server.status().reason == LOGIN_REQUIRED
        assert not any(other.received_tokens)
    async with store.exclusive("s") as stored:
        await stored.replace("{}")
    async with running(protected.url, store) as server:
        assert await server.probe() is False
        assert server.status().reason == LOGIN_REQUIRED


async def test_tokens_are_not_sent_to_another_origin(protected, store):
    """A redirect to another origin is not followed, and a request to one has no token."""
    await logged_in(protected, store)
    with HttpStub({"/mcp": StubResponse({"jsonrpc": "2.0", "id": 1, "result": {}})}) as other:
        protected.responses["/mcp"] = StubResponse("", 307, {"Location": f"{other.url}/mcp"})
        async with running(protected.url, store) as server:
            assert await server.probe() is False
        assert other.requests == []
        config = oauth_config_for("s", ServerSettings(url=protected.url), store, Threads(), ())
        async with httpx2.AsyncClient(
            transport=BearerTransport(httpx2.AsyncHTTPTransport(), config)
        ) as client:
            await client.get(f"{other.url}/mcp")
        assert "authorization" not in {name.lower() for name in other.requests[0].headers}


async def test_configured_authorization_header_disables_login(protected, store):
    """There is no login either for commands, for invalid URLs or without a token store."""
    await logged_in(protected, store)
    configured = ServerSettings(url=protected.url, headers={"authorization": "Bearer given"})
    protected.received_tokens.clear()
    async with running("", store, settings=configured) as server:
        assert await server.probe() is False
        assert "log in" not in server.status().reason
        assert "has no login" in await login_error(server)
    assert set(protected.received_tokens) == {"given"}
    for settings, tokens in (
        (ServerSettings(command="x"), store),
        (ServerSettings(url="ftp://x"), store),
        (configured, None),
    ):
        async with running("", tokens, settings=settings) as server:
            assert "has no login" in await login_error(server)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({"code": None, "error": "access_denied"}, "the authorization server denied access: 'access_denied'"),
        (
            {"code": None, "error": "x", "error_description": "y" * 999},
            "the authorization server denied access: 'x: yyy",
        ),
        ({"code": None}, "the redirect contains no code"),
        ({"iss": "https://other.example"}, "iss mismatch"),
        ({"code": "made-up"}, "issued no tokens: HTTP status 400, 'invalid_grant'"),
    ],
)
async def test_failed_authorization_keeps_the_old_tokens(protected, store, overrides, expected):
    """The error is one short sentence without secrets, and the browser shows the failure."""
    await logged_in(protected, store)
    before = await store.read("s")
    protected.callback_overrides = overrides
    browser = Browser()
    async with running(protected.url, store) as server:
        text = await login_error(server, browser)
    assert text.startswith("Login to server 's' failed: ")
    assert (expected in text, len(text) < 400, await store.read("s")) == (True, True, before)
    assert all(secret not in text for secret in protected.secrets)
    await until(lambda: browser.pages)
    has_code = set(overrides) <= {"iss"} or overrides.get("code") == "made-up"
    assert browser.pages[0][0] == (200 if has_code else 400)


async def test_code_of_another_service_is_not_sent_to_the_server(protected, store):
    """The login page of another host must name its issuer. Otherwise the server could receive its codes."""
    page = protected.issuer.replace("127.0.0.1", "localhost")
    protected.server_metadata_overrides = {"authorization_endpoint": f"{page}/authorize"}
    async with running(protected.url, store) as server:
        await log_in(server)
        requests = protected.request_counts["authorization_code"]
        protected.callback_overrides = {"iss": None}
        text = await login_error(server)
    assert f"the login page is on {urlsplit(page).netloc}, but the code would be sent to 127.0.0.1" in text
    assert protected.request_counts["authorization_code"] == requests


NO_METADATA = {RESOURCE_METADATA_PATH: StubResponse("", 404), SERVER_METADATA_PATH: StubResponse("", 404)}


@pytest.mark.parametrize(
    ("responses", "metadata", "expected"),
    [
        (NO_METADATA, {}, "publishes no OAuth metadata"),
        ({SERVER_METADATA_PATH: StubResponse("not json")}, {}, "publishes no OAuth metadata"),
        ({RESOURCE_METADATA_PATH: StubResponse("", 503)}, {}, "HTTP 503"),
        (
            {SERVER_METADATA_PATH: StubResponse("", 503)},
            {},
            "the authorization server failed: HTTP status 503.",
        ),
        ({}, {"registration_endpoint": None}, "does not support dynamic client registration"),
        ({}, {"code_challenge_methods_supported": ["plain"]}, "PKCE with S256"),
        ({}, {"code_challenge_methods_supported": None}, "PKCE with S256"),
        ({}, {"issuer": "https://other.example"}, "issuer mismatch"),
        (
            {"/register": StubResponse({"client_secret": "s3cr3t"}, 403)},
            {},
            "client registration failed: HTTP status 403.",
        ),
        (
            {"/register": StubResponse({"client_secret": "s3cr3t"})},
            {},
            "client registration failed: HTTP status 200.",
        ),
        ({"/token": StubResponse({"refresh_token": "s3cr3t"})}, {}, "issued no tokens: HTTP status 200."),
        (
            {"/token": StubResponse({"access_token": "s3cr3t\r\nX: y"})},
            {},
            "invalid OAuth response (ValidationError)",
        ),
        (
            {"/token": StubResponse({"access_token": "s3cr3t", "expires_in": 10**400})},
            {},
            "invalid OAuth response (Over",
        ),
        ({"/token": StubResponse("s3cr3t" * 400_000, headers=JSON)}, {}, "more than 1048576 bytes"),
        ({"/token": StubResponse("s3cr3t", headers={"Content-Encoding": "gzip"})}, {}, "a content encoding"),
        ({"/token": StubResponse("", 307, {"Location": "https://other.example/"})}, {}, "HTTP status 307"),
        (
            {"/mcp": StubResponse("", 401, {"WWW-Authenticate": 'Bearer resource_metadata="http://["'})},
            {},
            "invalid login URL",
        ),
    ],
)
async def test_invalid_oauth_responses_fail_the_login(protected, responses, metadata, expected, caplog):
    """Neither the error nor the log contains anything secret."""
    protected.responses, protected.server_metadata_overrides = responses, metadata
    store = MemoryTokens()
    with caplog.at_level(logging.DEBUG):
        async with running(protected.url, store) as server:
            text = await login_error(server)
    assert expected in text
    assert await store.read("s") is None
    assert "s3cr3t" not in text + caplog.text


PRIVATE = (
    "https://10.0.0.1/x",
    "https://169.254.169.254/x",
    "https://[::ffff:10.0.0.1]/x",
    "https://[fd00::1]/",
)
UNENCRYPTED = ("http://example.com/x", "http://10.0.0.1/x")


@pytest.mark.parametrize("url", [*PRIVATE, *UNENCRYPTED])
@pytest.mark.parametrize(
    "name", ["authorization_endpoint", "token_endpoint", "registration_endpoint", "", "www"]
)
async def test_urls_in_metadata_are_untrusted(protected, url, name):
    """Private and unencrypted URLs are neither requested nor opened in a browser."""
    if name == "www":
        headers = {"WWW-Authenticate": f'Bearer resource_metadata="{url}"'}
        protected.responses["/mcp"] = StubResponse("", 401, headers)
    elif name:
        protected.server_metadata_overrides[name] = url
    else:
        protected.resource_metadata_overrides["authorization_servers"] = [url]
    browser = Browser()
    async with running(protected.url, MemoryTokens()) as server:
        text = await login_error(server, browser)
    assert ("is not public" if url in PRIVATE else "is not encrypted") in text
    if name != "token_endpoint":
        assert browser.shown == browser.opened == []


async def test_allowed_hosts_permit_private_urls():
    """A server without encryption on another machine is rejected in any case."""
    with HttpStub({}) as stub:
        port = stub.url.rpartition(":")[2]
        for url, expected in (
            (f"http://localhost:{port}/mcp", "no OAuth metadata"),
            ("http://example.com/mcp", "is not encrypted"),
            ("https://127.0.0.1:1/mcp", "failed: ConnectError"),
        ):
            async with running(url, MemoryTokens()) as server:
                assert expected in await login_error(server)
    with OAuthMcpServer() as protected:
        protected.server_metadata_overrides["token_endpoint"] = "https://[::ffff:10.0.0.1]:1/x"
        async with running(protected.url, MemoryTokens(), allowed_hosts=["::ffff:10.0.0.1"]) as server:
            assert "is not public" not in await login_error(server)


async def test_unresolvable_authorization_host_fails_the_login(protected):
    protected.server_metadata_overrides["authorization_endpoint"] = "https://nowhere.invalid/authorize"
    async with running(protected.url, MemoryTokens()) as server:
        assert "cannot resolve 'nowhere.invalid'" in await login_error(server)


async def test_login_times_out(protected, monkeypatch):
    """The wait for the user and for the authorization server is limited."""
    monkeypatch.setattr(callback_server, "LOGIN_TIMEOUT_S", 0.05)
    async with running(protected.url, MemoryTokens()) as server:
        with pytest.raises(LoginFailed, match=r"no login within 0\.05 s"):
            await server.login(lambda url: None, lambda url: False)
    monkeypatch.setattr("onetool.sources.mcp_servers.oauth.metadata_client.REQUEST_TIMEOUT_S", 0.2)
    proceed = threading.Event()
    protected.responses[SERVER_METADATA_PATH] = lambda request: StubResponse(str(proceed.wait(HANG_S)))
    async with running(protected.url, MemoryTokens()) as server:
        assert "did not respond within 0.2 s" in await login_error(server)
    proceed.set()


async def test_refresh_times_out(protected, store, monkeypatch):
    """The tokens stay stored for the next attempt."""
    await logged_in(protected, store)
    monkeypatch.setattr("onetool.sources.shared_refresh.REFRESH_TIMEOUT_S", 0.1)
    proceed = threading.Event()
    protected.expire_access_tokens()
    protected.responses["/token"] = lambda request: StubResponse(str(proceed.wait(HANG_S)))
    async with running(protected.url, store) as server:
        assert await server.probe() is False
        assert "token refresh timed out after 0.1 s" in server.status().reason
    proceed.set()
    assert (await stored_tokens(store))["access_token"]


async def test_login_works_if_the_browser_cannot_be_opened(protected):
    """The user can open the URL that was shown."""

    def fail(url):
        raise RuntimeError("no browser")

    users = []

    def show(url):
        users.append(threading.Thread(target=Browser().open, args=(url,)))
        users[0].start()

    async with running(protected.url, MemoryTokens()) as server:
        await server.login(show, fail)
        assert await call(server) == "hi"
    users[0].join()


async def test_login_to_a_server_with_anonymous_sessions(protected, store):
    """A server may require a login only for later requests."""
    initialized = {"jsonrpc": "2.0", "id": 0, "result": {}}

    def accept_anonymous(request):
        is_anonymous = "authorization" not in {name.lower() for name in request.headers}
        return StubResponse(initialized) if is_anonymous else protected._mcp(request)

    protected.responses["/mcp"] = accept_anonymous
    async with running(protected.url, store) as server:
        await log_in(server)
        assert await call(server) == "hi"


def request_to(callback, method="GET", path="/callback?state=right&code=c", host=None):
    host = host or callback.url.split("/")[2]
    return f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


async def send(callback, content):
    reader, writer = await asyncio.open_connection("127.0.0.1", int(callback.url.split("/")[2].split(":")[1]))
    writer.write(content)
    response = (await reader.read()).decode()
    writer.close()
    return response.partition("\r\n")[0].partition(" ")[2]


async def test_callback_server_accepts_one_redirect(monkeypatch):
    """Requests with another host, path or method are rejected, and so is a second redirect."""
    monkeypatch.setattr(callback_server, "REQUEST_TIMEOUT_S", HANG_S)
    async with CallbackServer() as callback:
        assert await send(callback, request_to(callback)) == "404 Not Found"
        callback.expect("right")
        port = callback.url.split("/")[2].split(":")[1]
        for request in (
            {"host": f"evil.example:{port}"},
            {"host": f"localhost:{port}"},
            {"path": "/favicon.ico"},
            {"path": "/callback/?state=right&code=c"},
            {"method": "POST"},
        ):
            assert await send(callback, request_to(callback, **request)) == "404 Not Found"
        assert await send(callback, b"\xff\r\n\r\n") == "404 Not Found"
        with monkeypatch.context() as patched:
            patched.setattr(callback_server, "REQUEST_TIMEOUT_S", 0.2)
            assert await send(callback, b"GET /callback") == ""
        assert await send(callback, b"x" * 100_000) == ""
        assert await send(callback, request_to(callback)) == "200 OK"
        assert await send(callback, request_to(callback)) == "404 Not Found"
        assert (await callback.wait())["code"] == "c"
        reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
        while not callback._tasks:
            await asyncio.sleep(0)
    assert await reader.read() == b""
    writer.close()


async def test_redirect_with_another_state_is_rejected():
    """The server responds with 400 and keeps waiting for the browser."""
    async with CallbackServer() as callback:
        callback.expect("right")
        for query in ("", "?code=c", "?state=&code=c", "?state=wrong&error=denied", "?state=%C3%A4&code=c"):
            assert await send(callback, request_to(callback, path=f"/callback{query}")) == "400 Bad Request"
        assert await send(callback, request_to(callback)) == "200 OK"
        assert await callback.wait() == {"state": "right", "code": "c"}


class FailingStore(MemoryTokens):
    """A store that fails to read or to write."""

    problem, reads = None, 0

    async def read(self, server):
        self.reads += 1
        if self.problem == "away":
            raise WorkspaceUnavailable("The database is away.")
        if self.problem == "read":
            raise PermissionError(13, "Permission denied")
        return await super().read(server)

    @asynccontextmanager
    async def exclusive(self, server):
        async with super().exclusive(server) as stored:
            yield stored
            if self.problem == "write":
                raise OSError(28, "No space left on device")


async def test_store_errors(protected, caplog):
    """Refreshed tokens that cannot be stored are used nevertheless. Read errors are reported."""
    store = FailingStore()
    async with running(protected.url, store) as server:
        await log_in(server)
        store.problem = "write"
        protected.expire_access_tokens()
        assert await call(server) == "hi"
        assert "cannot read or store the tokens: No space left on device" in caplog.text
        protected.revoke_all_tokens()
        assert await server.probe() is False
        assert "No space left" in await login_error(server)
    store.problem = "read"
    async with running(protected.url, store) as server:
        assert await server.probe() is False
        assert "Permission denied" in server.status().reason


@pytest.mark.parametrize("recheck_s", [0.0, HANG_S])
async def test_server_without_a_login_is_used_while_the_store_is_away(protected, monkeypatch, recheck_s):
    """The store need not be asked before each request."""
    monkeypatch.setattr(refresh, "RECHECK_S", recheck_s)
    protected.accept_anyone()
    store = FailingStore()
    async with running(protected.url, store) as server:
        assert await call(server) == "hi"
        store.problem, asked = "away", store.reads
        for _ in range(3):
            assert await call(server) == "hi"
        assert (store.reads > asked) == (recheck_s == 0)


async def test_login_of_another_process_is_found_by_a_request_that_needs_it(protected, monkeypatch):
    monkeypatch.setattr(refresh, "RECHECK_S", HANG_S)
    store = MemoryTokens()
    async with running(protected.url, store) as server:
        assert await server.probe() is False
        await logged_in(protected, store)
        assert await server.probe() is True
        assert await call(server) == "hi"


async def test_logs_errors_and_reprs_contain_no_secrets(protected, store, caplog):
    """Codes, verifiers and tokens."""
    texts = []
    with caplog.at_level(logging.DEBUG):
        async with running(protected.url, store) as server:
            await log_in(server)
            protected.expire_access_tokens()
            await call(server)
            tokens = StoredTokens.read(await store.read("s"), protected.url)
            texts += [
                repr(tokens),
                str(tokens),
                repr(server),
                repr(store),
                repr(server._oauth),
                server.status().reason,
            ]
            protected.revoke_all_tokens()
            try:
                await call(server)
            except ExecutionError:
                texts.append(traceback.format_exc())
            protected.callback_overrides = {"code": "made-up"}
            try:
                await log_in(server)
            except LoginFailed:
                texts.append(traceback.format_exc())
    output = "\n".join([caplog.text, *map(str, (vars(record) for record in caplog.records)), *texts])
    assert len(protected.secrets) >= 7
    assert [secret for secret in protected.secrets if secret in output] == []

"""Secrets that are bound to hosts reach no other host, in any way and in any encoding."""

import base64
import json
import time
from contextlib import asynccontextmanager
from urllib.parse import quote

import pytest

from onetool.domain import Reason, Registry, Tool, ToolSpec
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.invocation import CancelFlag, Invocation
from onetool.domain.errors import ExecutionError
from onetool.domain.identity.principal import Principal
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.secrets.secret import Secret
from onetool.network.backoff import Backoff
from onetool.network.client import HttpClients
from onetool.sdk import call_tool_async, fetch_url, get_secret, http_client, safe_request
from onetool.settings.secrets import Secrets
from onetool.settings.server_schema import ServerSettings
from onetool.sources.http_tools import HttpToolRunner, TokenCache
from onetool.sources.mcp_servers.endpoint import ServerEndpoint
from onetool.sources.snapshot import SnapshotSource, StaticReader
from onetool.storage.memory.tokens import MemoryTokens
from onetool.testing import memory_runtime
from support.raw_http import RawHttpServer, raw_response
from support.waiting import HANG_S

HOME, OTHER = "127.0.0.1", "127.0.0.2"
KEY = 'gh-S3cret/of "Ann"+é\\1'
SHORT = "pw9x"
OWN = {"KEY": Secret(name="KEY", value=KEY, hosts=(HOME,))}
BEARER = {"type": "basic", "username": "ann", "password": "${KEY}"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TOKEN = "4ccess-of-the-member"


def echoed(received):
    """Return what the receiver of a secret can return of it: as it is, encoded, or in pieces."""
    if received.target == "/token":
        return raw_response({"access_token": TOKEN, "expires_in": 3600})
    sent = received.headers.get("authorization", "")
    secret = KEY
    if sent.startswith("Basic "):
        secret = base64.b64decode(sent[6:]).decode().partition(":")[2]
    data = secret.encode()
    return raw_response(
        {
            "headers": {"Authorization": sent, "X": received.headers.get("x-signature", "")},
            "plain": secret,
            "upper": secret.upper(),
            "base64": base64.b64encode(data).decode(),
            "base64url": base64.urlsafe_b64encode(b"ab" + data + b"c").decode(),
            "hex": data.hex(),
            "HEX": data.hex().upper(),
            "url": quote(secret, ""),
            "urlTwice": quote(quote(secret, ""), ""),
            "allPercent": "".join(f"%{byte:02x}" for byte in data),
            "json": json.dumps({"a": secret}),
            "jsonAscii": "".join(f"\\u{ord(char):04x}" for char in secret),
            "html": "".join(f"&#{ord(char)};" for char in secret),
            "first": secret[:9],
            "rest": secret[9:],
            "firstHex": data.hex()[:9],
            "restHex": data.hex()[9:],
        }
    )


def make_runner(http, *requests, shared=(), args=(), credentials="either"):
    return HttpToolRunner(
        {"requests": list(requests), "credentials": credentials},
        arg_schema={"type": "object", "properties": {name: {} for name in args}},
        limits=None,
        secrets=Secrets({secret.name: secret for secret in shared}),
        http=http,
        allowed_hosts=[HOME, OTHER, "*.example.com"],
        tokens=TokenCache(MemoryTokens()),
        backoff=Backoff(base_s=0.01),
    )


async def call(runner, own=OWN, **args):
    caller = Caller(interface="test", credentials=CredentialSet(), own_secrets=own)
    return await runner.run(
        args, Invocation("id", "x.y", args, caller, time.monotonic() + HANG_S, CancelFlag())
    )


@pytest.fixture
async def http():
    clients = HttpClients([HOME, OTHER])
    yield clients
    await clients.aclose()


@asynccontextmanager
async def hosts(home=echoed):
    """Serve the host that may have the secret, and one that may not."""
    async with (
        RawHttpServer(home, HOME) as bound,
        RawHttpServer(lambda received: raw_response({"seen": received.target}), OTHER) as other,
    ):
        yield bound, other


def first(home, auth=BEARER):
    return {"method": "GET", "urlTemplate": home.url + "/echo", "auth": auth}


def second(other, path="/", **fields):
    return {"method": "POST" if "body" in fields else "GET", "urlTemplate": other.url + path, **fields}


def multipart(value):
    body = f'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n{value}\r\n--b--\r\n'
    return {"headers": {"Content-Type": "multipart/form-data; boundary=b"}, "body": body}


ENCODINGS = [
    "plain",
    "upper",
    "base64",
    "base64url",
    "hex",
    "HEX",
    "url",
    "urlTwice",
    "allPercent",
    "json",
    "jsonAscii",
    "html",
    "headers",
]
VARIANTS = {
    **{f"{name} in a query": {"query": {"q": f"${{steps.0.{name}}}"}} for name in ENCODINGS},
    **{f"{name} in JSON": {"body": {"a": [f"is ${{steps.0.{name}}}."]}} for name in ENCODINGS},
    "in the path": {"path": "/a/${steps.0.plain}/b"},
    "in the query of the template": {"path": "/?a=1&q=x${steps.0.plain}"},
    "as the name of a parameter": {"query": {"${steps.0.plain}": "1"}},
    "in a header": {"headers": {"X-Note": "${steps.0.base64}"}},
    "as the credentials of the first request": {
        "headers": {"Authorization": "${steps.0.headers.Authorization}"}
    },
    "in a cookie": {"headers": {"Cookie": "a=b; session=${steps.0.url}"}},
    "in a form": {"headers": FORM, "body": {"a": "${steps.0.plain}", "b": "1"}},
    "in the text of a form": {"headers": FORM, "body": "a=${steps.0.plain}"},
    "in text": {"body": "the value is ${steps.0.plain}, in text"},
    "in XML": {"headers": {"Content-Type": "text/xml"}, "body": "<a>${steps.0.plain}</a>"},
    "in a part": multipart("${steps.0.plain}"),
    "as the user of Basic": {"auth": {"type": "basic", "username": "${steps.0.plain}", "password": ""}},
    "as a bearer token": {"auth": {"type": "bearer", "token": "${steps.0.base64}"}},
    "as an API key": {"auth": {"type": "apiKey", "in": "query", "name": "k", "value": "${steps.0.plain}"}},
    "in two parameters": {"query": {"b": "${steps.0.rest}", "a": "${steps.0.first}"}},
    "in a header and in the body": {"headers": {"X": "${steps.0.firstHex}"}, "body": "${steps.0.restHex}"},
    "within the whole response": {"body": "${steps.0}"},
}


async def refusal(runner, own=OWN, **args):
    with pytest.raises(ExecutionError) as caught:
        await call(runner, own, **args)
    return caught.value


def check_refusal(error, value=KEY, name="KEY"):
    assert error.reason is Reason.HOST_NOT_ALLOWED, str(error)
    text = str(error)
    assert (repr(name) in text, OTHER in text, HOME in text) == (True, True, True), text
    assert value not in text


@pytest.mark.guards("secret-hosts")
@pytest.mark.parametrize("variant", list(VARIANTS))
async def test_request_with_what_a_secret_was_echoed_as_is_not_sent(http, variant):
    """A host that may have a secret returns it; the next request of the tool would send that elsewhere."""
    async with hosts() as (home, other):
        runner = make_runner(http, first(home), second(other, **VARIANTS[variant]))
        check_refusal(await refusal(runner))
    assert (len(home.requests), other.connections) == (1, 0)


@pytest.mark.parametrize("is_own", [True, False])
async def test_secrets_of_the_workspace_and_of_the_caller_are_alike(http, is_own):
    shared = () if is_own else OWN.values()
    async with hosts() as (home, other):
        runner = make_runner(http, first(home), second(other, "/${steps.0.plain}"), shared=shared)
        check_refusal(await refusal(runner, OWN if is_own else {}))
    assert other.connections == 0


async def test_argument_with_a_secret_is_not_sent_elsewhere(http):
    """Also if the tool uses no secret, and its own credentials are those of the workspace."""
    async with hosts() as (home, other):
        for credentials in ("either", "workspace"):
            there = make_runner(http, second(other, "/${a}"), args=["a"], credentials=credentials)
            check_refusal(await refusal(there, a=f"it is {KEY}"))
        here = make_runner(http, second(home, "/${a}"), args=["a"])
        assert (await call(here, a=KEY))["plain"] == KEY
    assert other.connections == 0


async def test_large_body_is_searched(http):
    async with hosts() as (_, other):
        runner = make_runner(http, second(other, body="${a}"), args=["a"])
        check_refusal(await refusal(runner, a="x" * 200_000 + KEY + "x" * 200_000))
    assert other.connections == 0


@pytest.mark.guards("secret-hosts")
async def test_redirect_does_not_carry_a_secret_elsewhere(http):
    """The host that may have it chooses where to, also in the name of a host."""
    for location in (
        f"http://{OTHER}:{{port}}/?k={quote(KEY, '')}",
        f"http://{OTHER}:{{port}}/{KEY.encode().hex()}",
    ):
        async with hosts() as (home, other):
            home.handler = lambda _, to=location, end=other: raw_response(
                "", 302, Location=to.format(port=end.port)
            )
            check_refusal(await refusal(make_runner(http, first(home))))
        assert other.connections == 0
    name = {"KEY": Secret(name="KEY", value="S3cretOfAnn", hosts=(HOME,))}
    async with hosts(lambda _: raw_response("", 302, Location="http://S3cretOfAnn.example.com/")) as (
        home,
        _,
    ):
        error = await refusal(make_runner(http, first(home)), name)
    assert error.reason is Reason.HOST_NOT_ALLOWED
    assert "'KEY'" in str(error)
    assert "s3cretofann" not in str(error).lower()


async def test_each_attempt_is_checked(http):
    """The token of another attempt may be another one."""
    answers = iter([raw_response("", 503)])
    async with hosts(lambda received: next(answers, None) or echoed(received)) as (home, other):
        runner = make_runner(http, first(home), second(other, "/${steps.0.plain}"))
        check_refusal(await refusal(runner))
    assert (len(home.requests), other.connections) == (2, 0)


@pytest.mark.guards("secret-hosts")
async def test_token_request_does_not_carry_a_secret_elsewhere(http):
    """Neither in its URL, nor in its form."""
    async with hosts() as (home, other):
        for token_url, scope in [("/token/${steps.0.plain}", "a"), ("/token", "${steps.0.plain}")]:
            auth = {"type": "oauth2", "clientId": "me", "tokenUrl": other.url + token_url, "scope": scope}
            check_refusal(await refusal(make_runner(http, first(home), second(other, auth=auth))))
    assert other.connections == 0


MADE = {
    "a token": ({"type": "oauth2", "clientId": "me", "clientSecret": "${KEY}"}, KEY),
    "a refreshed token": (
        {"type": "oauth2", "grant": "refresh_token", "clientId": "me", "refreshToken": "${KEY}"},
        KEY,
    ),
    "a signature": ({"type": "hmac", "secret": "${KEY}", "payload": "x"}, KEY),
    "a short password in Basic": ({"type": "basic", "username": "", "password": "${KEY}"}, SHORT),
}


@pytest.mark.guards("secret-hosts")
@pytest.mark.parametrize("kind", list(MADE))
@pytest.mark.parametrize("is_own", [True, False])
async def test_what_was_made_from_a_secret_is_not_sent_elsewhere(http, kind, is_own):
    auth, value = MADE[kind]
    secrets = {"KEY": Secret(name="KEY", value=value, hosts=(HOME,))}
    async with hosts() as (home, other):
        auth = auth | ({"tokenUrl": home.url + "/token"} if auth["type"] == "oauth2" else {})
        again = second(home, "/again", auth=auth)
        send = second(
            other,
            query={"a": "${steps.0.headers.Authorization}", "b": "${steps.0.headers.X}"},
        )
        runner = make_runner(http, first(home, auth), again, send, shared=() if is_own else secrets.values())
        check_refusal(await refusal(runner, secrets if is_own else {}), value)
    assert (home.requests[-1].target, other.connections) == ("/again", 0)


async def test_secret_of_the_caller_is_not_echoed_into_an_unencrypted_request(http):
    """Its hosts may have it, but not every network on the way."""
    own = {"KEY": Secret(name="KEY", value=KEY, hosts=("*.example.com",))}
    for url, reason in [("http://a.example.com/", "over http"), ("http://b.test/", "not in allowedHosts")]:
        runner = make_runner(http, {"method": "POST", "urlTemplate": url, "body": "${a}"}, args=["a"])
        error = await refusal(runner, own, a=KEY)
        assert (error.reason, reason in str(error)) == (Reason.HOST_NOT_ALLOWED, True), str(error)


@pytest.mark.parametrize(
    ("other_secret", "is_own"),
    [
        (Secret(name="SAME", value=KEY, hosts=(OTHER,)), True),
        (Secret(name="LONGER", value=f"user:{KEY}@host", hosts=None), False),
    ],
)
async def test_value_that_another_secret_may_bring_to_a_host_is_sent(http, other_secret, is_own):
    async with hosts() as (_, other):
        body = {"a": f"${{{other_secret.name}}}"}
        shared = [*(() if is_own else [other_secret]), *OWN.values()]
        runner = make_runner(http, second(other, body=body), shared=shared)
        await call(runner, {other_secret.name: other_secret} if is_own else {})
    assert json.loads(other.requests[0].body) == {"a": other_secret.value}


async def test_other_requests_are_sent(http):
    """Parts of a secret, other texts, and secrets that may be sent anywhere."""
    free = Secret(name="FREE", value="free-of-hosts")
    async with hosts() as (home, other):
        runner = make_runner(
            http,
            first(home),
            second(other, body={"half": "${steps.0.first}", "free": "${FREE}", "text": "gh S3cret of Ann"}),
            shared=[free],
        )
        assert await call(runner) == {"seen": "/"}
    assert json.loads(other.requests[0].body)["free"] == free.value


@pytest.mark.guards("secret-hosts")
@pytest.mark.parametrize("way", ["result", "error", "code", "direct"])
async def test_result_of_a_tool_does_not_carry_a_secret_into_another(http, way):
    """A pack gets results unmasked, also those in errors. It may pass them to tools, but not to that host."""
    async with hosts() as (home, other):
        if way == "error":
            home.handler = lambda received: raw_response(received.head, 500)
        read = make_runner(http, first(home), shared=OWN.values())
        send = make_runner(http, second(other, body="${text}"), args=["text"])

        async def carry() -> str:
            """Send the result of one tool with another."""
            try:
                text = json.dumps(await call_tool_async("web.read"), ensure_ascii=False)
            except Exception as error:
                text = str(error)
            return str(await call_tool_async("web.send", text=text))

        registry = Registry()
        for name, runner in {"read": read, "send": send}.items():
            properties = {"text": {"type": "string"}} if name == "send" else {}
            spec = ToolSpec(
                name=f"web.{name}",
                description="x",
                input_schema={"type": "object", "properties": properties},
                read_only=True,
            )
            registry.register(Tool(spec, runner.run))
        web = SnapshotSource(StaticReader("web", registry))
        caller = Caller(interface="test", principal=Principal("ann"), own_secrets=OWN)
        async with memory_runtime(packs={"mine": [carry]}, sources=[web], caller=caller) as ot:
            if way == "code":
                result = await ot.run("web.send(text=str(web.read()))")
            elif way == "direct":
                result = await ot.call("web.send", text=KEY)
            else:
                result = await ot.call("mine.carry")
    sent = b"".join(request.head + request.body for request in other.requests)
    assert KEY.encode() not in sent
    assert b"S3cret" not in sent
    if way in ("result", "direct"):
        assert (result.ok, other.connections) == (False, 0)
        assert "'KEY'" in result.error.message


@pytest.mark.guards("secret-hosts")
@pytest.mark.parametrize("way", ["client", "redirect", "upload", "safe_request", "fetch_url"])
async def test_request_of_a_pack_does_not_carry_a_secret_elsewhere(way):
    """Whatever function of the SDK sends it."""
    async with hosts() as (home, other):
        home.handler = lambda received: raw_response("", 302, Location=f"{other.url}/?k={quote(KEY, '')}")

        def send() -> str:
            """Send the secret."""
            client, key = http_client(), get_secret("KEY")
            if way == "safe_request":
                return str(safe_request(client, "POST", other.url, json={"a": key}))
            if way == "fetch_url":
                headers = {"X-Key": key.encode().hex()}
                return fetch_url(other.url, max_bytes=1_000, headers=headers).text()
            if way == "upload":
                return client.post(other.url, files={"a": key.encode()}).text
            if way == "redirect":
                return client.get(home.url).text
            return client.get(other.url, params={"a": key}).text

        caller = Caller(interface="test", principal=Principal("ann"), own_secrets=OWN)
        settings = {"allowedHosts": [HOME, OTHER]}
        async with memory_runtime(packs={"mine": [send]}, settings=settings, caller=caller) as ot:
            result = await ot.call("mine.send")
    text = result.data if way == "safe_request" else result.error.message
    assert "it contains secret 'KEY'" in text
    assert KEY not in text
    assert (len(home.requests), other.connections) == (way == "redirect", 0)


async def test_arguments_and_prompts_do_not_carry_a_secret_to_a_server_elsewhere():
    """To a server with a URL: it may have the secrets of its own host only."""
    settings = ServerSettings(url=f"http://{HOME}/mcp")
    away = {"KEY": Secret(name="KEY", value=KEY, hosts=("api.example.com",))}
    caller, shared = Caller(interface="test", own_secrets=away), Secrets(away)
    for params in ({"a": [KEY]}, {"a": KEY[:9], "b": KEY[9:]}, {KEY: 1}):
        for secrets, asker in ((Secrets(), caller), (shared, None)):
            with pytest.raises(ExecutionError, match=r"The request to the server was not sent: .* 'KEY'"):
                await ServerEndpoint(settings, secrets, "").check(params, asker)
    endpoint = ServerEndpoint(settings, Secrets(), "")
    await endpoint.check({"a": "other"}, caller)
    await endpoint.check({"a": KEY}, Caller(interface="test", own_secrets=OWN))
    await endpoint.check({"a": KEY}, None)
    await ServerEndpoint(ServerSettings(command="x"), shared, "").check({"a": KEY}, caller)
    await ServerEndpoint(ServerSettings(url="http://1.2/"), shared, "").check({"a": KEY}, caller)

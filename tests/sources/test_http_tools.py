"""HTTP tools against local servers: requests, responses, retries, redirects, authentication, redaction."""

import asyncio
import base64
import gc
import hashlib
import hmac
import json
import random
import time
import zlib
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, quote

import pytest

from onetool.domain import Reason, Registry, Tool, ToolSpec
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.invocation import CancelFlag, Invocation
from onetool.domain.errors import ExecutionError
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.secrets.secret import Secret
from onetool.network.backoff import Backoff
from onetool.network.client import HttpClients
from onetool.sdk import call_tool_async
from onetool.settings.secrets import Secrets
from onetool.sources.http_tools import HttpToolRunner, TokenCache
from onetool.sources.http_tools.response_body import ResponseBody
from onetool.sources.http_tools.token_cache import AccessToken
from onetool.sources.http_tools.token_chain import IssuedToken, TokenChain
from onetool.sources.shared_refresh import SharedRefresh
from onetool.sources.snapshot import SnapshotSource, StaticReader
from onetool.storage.files.tokens import FileTokens
from onetool.storage.memory.tokens import LockedTokenText, MemoryTokens
from onetool.testing import memory_runtime
from onetool.threads import Threads
from support.raw_http import RawHttpServer, raw_response
from support.waiting import HANG_S, until

HOSTS = ["127.0.0.1", "127.0.0.2", "localhost"]
KEY = "k3y-s3cret/value+1"
FAST = Backoff(base_s=0.01)


def secret(name, value=KEY, hosts=None):
    return {name: Secret(name=name, value=value, hosts=hosts)}


def schema(*names):
    return {"type": "object", "properties": {name: {} for name in names}}


@pytest.fixture
async def http():
    clients = HttpClients(HOSTS)
    yield clients
    await clients.aclose()


@pytest.fixture
def make_tool(http):
    def tool(
        *requests,
        secrets=None,
        limits=None,
        response=None,
        hosts=HOSTS,
        tokens=None,
        backoff=FAST,
        args=(),
        arg_schema=None,
    ):
        impl = {"request": None, "requests": list(requests), "response": response or {}}
        return HttpToolRunner(
            impl,
            arg_schema=arg_schema or schema(*args),
            limits=limits,
            secrets=secrets if isinstance(secrets, Secrets) else Secrets(secrets),
            http=http,
            allowed_hosts=hosts,
            tokens=tokens or TokenCache(MemoryTokens()),
            backoff=backoff,
        )

    return tool


def call(tool, *, seconds=HANG_S, **args):
    invocation = Invocation(
        "id", "x.y", args, Caller(interface="test"), time.monotonic() + seconds, CancelFlag()
    )
    return tool.run(args, invocation)


async def call_error(tool, *, seconds=HANG_S, **args):
    with pytest.raises(ExecutionError) as caught:
        await call(tool, seconds=seconds, **args)
    return caught.value


@asynccontextmanager
async def server(*responses, host="127.0.0.1"):
    """Serve the responses in turn. The last one is repeated."""
    remaining = list(responses)

    def respond(received):
        response = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        return response(received) if callable(response) else response

    async with RawHttpServer(respond, host) as upstream:
        yield upstream


def get(url, **fields):
    return {"method": "GET", "urlTemplate": url, **fields}


def post(url, **fields):
    return {"method": "POST", "urlTemplate": url, **fields}


@pytest.mark.spec("BND-12", "BND-18", "BND-55")
async def test_request_is_built_from_its_templates(make_tool):
    """Arguments and secrets are inserted into path, query, headers and body."""
    async with server(raw_response({"ok": 1})) as upstream:
        url = upstream.url + "/a b/${id}?fixed=1&q=${text}&absent=${none}".replace(" ", "%20")
        request = post(
            url,
            query={"tags": "${tags}", "n": 5, "yes": True, "none": "${none}", "deep": {"a": 1}},
            headers={"X-Key": "key ${KEY}", "X-None": "${none}", "X-Ü".replace("Ü", "U"): "ü ${text}"},
            body={"n": "${id}", "text": "is ${text}", "none": "${none}", "list": "${tags}", "$${x}": None},
        )
        tool = make_tool(request, args=["id", "text", "tags", "none"], secrets=secret("KEY"))
        assert await call(tool, id=7, text="a&b/ü ${KEY}", tags=["x y", "z"], none=None) == {"ok": 1}
    (received,) = upstream.requests
    body = '{"n":7,"text":"is a&b/ü ${KEY}","list":["x y","z"],"${x}":null}'.encode()
    assert received.head.decode() == (
        "POST /a%20b/7?fixed=1&q=a%26b%2F%C3%BC%20%24%7BKEY%7D"
        "&tags=x%20y&tags=z&n=5&yes=true&deep=%7B%22a%22%3A1%7D HTTP/1.1\r\n"
        f"Host: 127.0.0.1:{upstream.port}\r\n"
        "User-Agent: OneTool/0.1.0\r\n"
        "Accept: */*\r\n"
        "Accept-Encoding: gzip\r\n"
        f"X-Key: key {KEY}\r\n"
        "X-U: ü a&b/ü ${KEY}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    assert received.body == body


@pytest.mark.parametrize(
    ("headers", "body", "content_type", "sent"),
    [
        ({}, "plain ${v}", "text/plain; charset=utf-8", b'plain a&b=<"c">'),
        ({}, [1, "${v}"], "application/json", b'[1,"a&b=<\\"c\\">"]'),
        ({}, "${n}", "application/json", b"5"),
        ({"content-type": "application/json"}, "${v}", "application/json", b'"a&b=<\\"c\\">"'),
        (
            {"Content-Type": "application/x-www-form-urlencoded"},
            {"a": "${v}", "b": [1, 2], "c": "${none}"},
            "application/x-www-form-urlencoded",
            b"a=a%26b%3D%3C%22c%22%3E&b=1&b=2",
        ),
        (
            {"Content-Type": "application/x-www-form-urlencoded"},
            "a=${v}&b=1",
            "application/x-www-form-urlencoded",
            b"a=a%26b%3D%3C%22c%22%3E&b=1",
        ),
        ({"Content-Type": "text/xml"}, "<a>${v}</a>", "text/xml", b"<a>a&amp;b=&lt;&quot;c&quot;&gt;</a>"),
        ({"Accept": "text/csv", "user-agent": "me"}, None, None, b""),
    ],
)
async def test_body_is_encoded_by_content_type(make_tool, headers, body, content_type, sent):
    """Values are escaped in JSON, forms and markup. Without a body there is no content type."""
    async with server(raw_response()) as upstream:
        tool = make_tool(post(upstream.url, headers=headers, body=body), args=["v", "n", "none"])
        assert await call(tool, v='a&b=<"c">', n=5) == ""
    assert (upstream.requests[0].headers.get("content-type"), upstream.requests[0].body) == (
        content_type,
        sent,
    )


@pytest.mark.spec("BND-12")
async def test_requests_run_in_order_and_use_earlier_responses(make_tool):
    """The last response is the value."""
    responses = [raw_response({"id": 7, "list": [{"k": "v"}]}), raw_response("done")]
    async with server(*responses) as upstream:
        first = post(upstream.url + "/make", body={"name": "${user.name}"})
        second = get(upstream.url + "/${steps.0.id}/${steps.0.list.0.k}", query={"all": "${steps.0.list}"})
        assert await call(make_tool(first, second, args=["user"]), user={"name": "Ann"}) == "done"
        assert json.loads(upstream.requests[0].body) == {"name": "Ann"}
        assert upstream.requests[1].target == "/7/v?all=%7B%22k%22%3A%22v%22%7D"
        missing = await call_error(
            make_tool(first, get(upstream.url + "/${steps.0.id}"), args=["user"]), user={"name": "x"}
        )
    assert (missing.reason, "${steps.0.id}" in str(missing)) == (Reason.UPSTREAM, True)


@pytest.mark.spec("BND-18", "BND-19")
async def test_request_with_invalid_placeholders_or_host_is_not_sent(make_tool):
    """A missing argument or secret, a value that is invalid in its place, a host that is not listed."""
    async with server(raw_response()) as upstream:
        cases = [
            (
                make_tool(get(upstream.url + "/${id}"), args=["id"]),
                Reason.BAD_ARGS,
                "Argument 'id' has no value",
            ),
            (make_tool(post(upstream.url, body="${id}"), args=["id"]), Reason.BAD_ARGS, "'id' has no value"),
            (
                make_tool(get(upstream.url + "/${user.x}"), args=["user"]),
                Reason.BAD_ARGS,
                "'user.x' has no value",
            ),
            (
                make_tool(get(upstream.url + "/${KEY}")),
                Reason.RAISED,
                "Add it with: onetool secrets set KEY",
            ),
            (
                make_tool(get(upstream.url, auth={"type": "bearer", "token": "${id}"}), args=["id"]),
                Reason.BAD_ARGS,
                "id",
            ),
            (
                make_tool(
                    get(upstream.url, auth={"type": "hmac", "secret": "x", "payload": "${id}"}), args=["id"]
                ),
                Reason.BAD_ARGS,
                "'id' has no value",
            ),
            (
                make_tool(get(upstream.url), hosts=["other.test"]),
                Reason.HOST_NOT_ALLOWED,
                "not in allowedHosts",
            ),
            (make_tool(get("http://127.1/")), Reason.HOST_NOT_ALLOWED, "not an IP address"),
            (
                make_tool(
                    get(upstream.url, headers={"X": "${KEY}"}), secrets=secret("KEY", hosts=("api.test",))
                ),
                Reason.HOST_NOT_ALLOWED,
                "Secret 'KEY' may not be sent to '127.0.0.1'. Its hosts in secrets.yaml: api.test.",
            ),
            (
                make_tool(get(upstream.url, headers={"X": "${KEY}"}), secrets=secret("KEY", f"{KEY}\nX: y")),
                Reason.RAISED,
                "Secret 'KEY' contains '\\n'",
            ),
            (
                make_tool(
                    get(upstream.url, headers={"X": "${KEY}"}),
                    secrets=Secrets(unavailable={"KEY": "'op' printed nothing"}),
                ),
                Reason.RAISED,
                "Secret 'KEY' is unavailable: 'op' printed nothing.",
            ),
        ]
        for tool, reason, text in cases:
            error = await call_error(tool)
            assert (error.reason, text in str(error), KEY in str(error)) == (reason, True, False), str(error)
        error = await call_error(make_tool(get(upstream.url + "/${id}"), args=["id"]), id="..")
        assert (error.reason, upstream.connections) == (Reason.BAD_ARGS, 0)
        assert (await call_error(make_tool(get(upstream.url + "/${steps.0.a}")))).reason is Reason.UPSTREAM
    async with server(raw_response({"a": ".."})) as upstream:
        both = make_tool(get(upstream.url), get(upstream.url + "/${steps.0.a}"))
        assert (await call_error(both)).reason is Reason.UPSTREAM


@pytest.mark.spec("BND-18")
async def test_declared_argument_is_never_replaced_by_a_secret(make_tool):
    """If the argument is omitted, the secret of the same name is not sent."""
    async with server(raw_response()) as upstream:
        request = get(upstream.url, headers={"X-Key": "${KEY}"}, query={"k": "${KEY}"})
        tool = make_tool(request, secrets=secret("KEY"), args=["KEY"])
        await call(tool)
        await call(tool, KEY="mine")
        in_path = make_tool(get(upstream.url + "/${KEY}"), secrets=secret("KEY"), args=["KEY"])
        assert (await call_error(in_path)).reason is Reason.BAD_ARGS
    omitted, passed = upstream.requests
    assert (omitted.target, "x-key" in omitted.headers) == ("/", False)
    assert (passed.target, passed.headers["x-key"]) == ("/?k=mine", "mine")


@pytest.mark.spec("BND-55", "BND-58")
@pytest.mark.parametrize(
    ("method", "response", "value"),
    [
        ("GET", raw_response({"a": [1]}), {"a": [1]}),
        ("GET", raw_response("[1, 2]"), [1, 2]),
        ("GET", raw_response("42"), "42"),
        ("GET", raw_response("{not json"), "{not json"),
        ("GET", raw_response("\ufeff[1]", Content_Type="application/json"), [1]),
        (
            "GET",
            raw_response('["gr\xfcn"]'.encode("latin-1"), Content_Type="text/json; charset=latin-1"),
            ["grün"],
        ),
        ("GET", raw_response('["\\ud800"]', Content_Type="application/json"), ["\ud800"]),
        ("GET", raw_response("", Content_Type="application/problem+json"), None),
        (
            "GET",
            raw_response("grün".encode("latin-1"), Content_Type="text/plain; charset=ISO-8859-1"),
            "grün",
        ),
        ("GET", raw_response("\ufeffgrün", Content_Type="text/plain; charset=nonsense"), "grün"),
        ("GET", raw_response("<svg/>", Content_Type="image/svg+xml"), "<svg/>"),
        ("GET", raw_response({"z": 1}, gzipped=True), {"z": 1}),
        ("GET", raw_response(zlib.compress(b"deflated"), Content_Encoding="deflate"), "deflated"),
        ("GET", raw_response("same", Content_Encoding="identity"), "same"),
        ("GET", raw_response("", Content_Encoding="gzip"), ""),
        ("DELETE", b"HTTP/1.1 204 X\r\n\r\n", None),
        ("HEAD", b"HTTP/1.1 200 X\r\nContent-Length: 5\r\n\r\n", None),
        (
            "GET",
            b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[1\r\n2\r\n,2\r\n1\r\n]\r\n0\r\n\r\n",
            [1, 2],
        ),
    ],
)
async def test_response_value(make_tool, method, response, value):
    """JSON if declared or detected, else text; None if there is no content."""
    async with server(response) as upstream:
        assert await call(make_tool({"method": method, "urlTemplate": upstream.url})) == value


@pytest.mark.parametrize("body", ["{bad", "oops", "[1] x", "[NaN]", "[" * 100_000, f'{{"key": "{KEY}'])
async def test_body_that_is_labelled_as_json_and_is_not_is_an_error(make_tool, body):
    """A tool that expects fields would otherwise get a text. Error pages are passed on as they are."""
    response = raw_response(body, Content_Type="application/json")
    async with server(response) as upstream:
        error = await call_error(make_tool(get(upstream.url), secrets=secret("KEY")))
    assert (error.reason, len(str(error)) < 400) == (Reason.BAD_OUTPUT, True)
    assert "returned a body that is labelled 'application/json', but is not valid JSON: " in str(error)
    async with server(raw_response(body, 502, Content_Type="application/json")) as upstream:
        tool = make_tool(get(upstream.url), response={"errorMode": "value"}, limits={"maxRetries": 0})
        assert await call(tool) == {"status": 502, "body": body}


async def test_arguments_are_sent_as_their_schema_means_them(make_tool):
    """With its defaults, and with integers as integers: JSON Schema accepts 5.0 for them."""
    arg_schema = {
        "properties": {
            "id": {"type": "integer"},
            "unit": {"type": "string", "default": "C"},
            "page": {"type": ["integer", "null"], "default": 1},
            "ratio": {"type": "number"},
            "items": {"type": "array", "items": {"type": "integer"}},
        }
    }
    request = post(
        "/x/${id}", query={"page": "${page}"}, headers={"X-Unit": "${unit}"}, body=["${ratio}", "${items}"]
    )
    async with server(raw_response()) as upstream:
        url = upstream.url + request.pop("urlTemplate")
        tool = make_tool({**request, "urlTemplate": url}, arg_schema=arg_schema)
        await call(tool, id=5.0, ratio=5.0, items=[1.0, 2])
        await call(tool, id=6, ratio=1, items=[], unit="F", page=None)
    first, second = upstream.requests
    assert (first.target, first.headers["x-unit"], first.body) == ("/x/5?page=1", "C", b"[5.0,[1,2]]")
    assert (second.target, second.headers["x-unit"]) == ("/x/6", "F")


@pytest.mark.parametrize("content_type", ["image/png", "Audio/WAV; rate=1", "video/mp4", "application/pdf"])
async def test_images_sounds_and_pdf_are_media(make_tool, content_type):
    data = b"[\x89\xff\x00]"
    async with server(raw_response(data, Content_Type=content_type)) as upstream:
        media = await call(make_tool(get(upstream.url)))
    assert (media.mime_type, media.to_bytes()) == (content_type.lower().partition(";")[0], data)


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (raw_response("x", Content_Encoding="br"), "unsupported content encoding 'br'"),
        (raw_response("not gzip", Content_Encoding="gzip"), "the compressed content is corrupt"),
        (raw_response(zlib.compress(b"x" * 999)[:-9], Content_Encoding="gzip"), "is truncated"),
        (b"nonsense\r\n\r\n", "failed: RemoteProtocolError"),
    ],
)
async def test_unreadable_response_is_an_error(make_tool, response, text):
    """An unsupported encoding, corrupt content, and a response that is not HTTP."""
    async with server(response) as upstream:
        error = await call_error(make_tool(post(upstream.url)))
    assert (error.reason, text in str(error)) == (Reason.UPSTREAM, True), str(error)


@pytest.mark.spec("BND-59")
async def test_error_status_is_reported_with_the_response_body(make_tool):
    """The message has method, host, path, status, and both ends of a long body, but not the query."""
    async with server(
        raw_response("why: " + "x" * 2000 + " end", 404), raw_response("", 400), raw_response({"a": 1}, 418)
    ) as upstream:
        error = await call_error(make_tool(get(upstream.url + "/a/${id}?q=hidden"), args=["id"]), id=7)
        assert error.reason is Reason.UPSTREAM
        assert str(error).startswith("GET 127.0.0.1/a/7 returned 404: why: xxx")
        assert (str(error).endswith("x end"), len(str(error)) < 560, "hidden" in str(error)) == (
            True,
            True,
            False,
        )
        assert str(await call_error(make_tool(get(upstream.url)))) == "GET 127.0.0.1/ returned 400."
        as_value = make_tool(get(upstream.url), get(upstream.url + "/never"), response={"errorMode": "value"})
        assert await call(as_value) == {"status": 418, "body": {"a": 1}}
        assert await call(make_tool(get(upstream.url), response={"successCodes": [418]})) == {"a": 1}
        await call_error(make_tool(get(upstream.url), get(upstream.url + "/never")))
        assert "/never" not in [received.target for received in upstream.requests]


@pytest.mark.spec("BND-56", "BND-66")
async def test_transient_error_is_retried(make_tool):
    """Idempotent methods are retried twice with growing delays. Other methods and other errors are not."""
    backoff = Backoff(base_s=0.05)
    async with server(raw_response("", 503), raw_response("", 429), raw_response("yes")) as upstream:
        assert await call(make_tool(get(upstream.url), backoff=backoff)) == "yes"
        gaps = [
            later.received_at - received.received_at
            for received, later in zip(upstream.requests, upstream.requests[1:], strict=False)
        ]
    assert (len(gaps), gaps[0] >= 0.05, gaps[1] >= 0.1) == (2, True, True)
    for method, status, limits, hits in [
        ("GET", 503, {}, 3),
        ("PUT", 502, {}, 3),
        ("DELETE", 504, {}, 3),
        ("OPTIONS", 429, {"maxRetries": 1}, 2),
        ("HEAD", 503, {"maxRetries": 0}, 1),
        ("POST", 503, {}, 1),
        ("PATCH", 503, {"maxRetries": 5}, 1),
        ("GET", 400, {}, 1),
        ("GET", 500, {}, 1),
    ]:
        async with server(raw_response("", status)) as upstream:
            tool = make_tool({"method": method, "urlTemplate": upstream.url}, limits=limits)
            assert (await call_error(tool)).reason is Reason.UPSTREAM
        assert len(upstream.requests) == hits, method
    async with server(raw_response("fine", 503)) as upstream:
        assert await call(make_tool(get(upstream.url), response={"successCodes": [503]})) == "fine"
    assert len(upstream.requests) == 1
    async with server(raw_response("fine")) as upstream:
        await call_error(make_tool(get(upstream.url), response={"successCodes": [503]}))


@pytest.mark.spec("BND-56")
async def test_lost_connection_is_retried(make_tool):
    """Any method if nothing was sent, otherwise idempotent methods only."""
    async with server(None, raw_response("back")) as upstream:
        assert await call(make_tool(get(upstream.url))) == "back"
    async with server(None, raw_response("twice")) as upstream:
        error = await call_error(make_tool(post(upstream.url)))
    assert (error.reason, len(upstream.requests)) == (Reason.UPSTREAM, 1)
    delays = []

    async def sleep(seconds):
        delays.append(seconds)

    error = await call_error(make_tool(post(upstream.url), backoff=Backoff(sleep=sleep, random=lambda: 0.0)))
    assert (error.reason, delays, "failed: ConnectError" in str(error)) == (Reason.UPSTREAM, [0.2, 0.4], True)


async def test_retry_waits_for_retry_after_but_not_beyond_the_deadline(make_tool):
    """If Retry-After exceeds the remaining time, the error is reported without a delay."""
    delays = []

    async def sleep(seconds):
        delays.append(seconds)

    async with server(raw_response("later", 503, Retry_After="3600")) as upstream:
        error = await call_error(make_tool(get(upstream.url), backoff=Backoff(sleep=sleep)))
    assert (error.reason, len(upstream.requests), delays) == (Reason.UPSTREAM, 1, [])
    async with server(raw_response("", 503, Retry_After="7"), raw_response("yes")) as upstream:
        assert await call(make_tool(get(upstream.url), backoff=Backoff(sleep=sleep))) == "yes"
    assert delays == [7.0]


@pytest.mark.guards("upstream-response")
@pytest.mark.parametrize("where", ["request", "limits", "invocation"])
async def test_timeout(make_tool, where):
    """The limits of the request, the tool and the call apply, also while a body is read."""

    async def hang(received):
        await asyncio.Event().wait()

    started = b"HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\nonly this"
    for response in (hang, started):
        async with server(response) as upstream:
            request = get(
                upstream.url + "/${KEY}?q=${KEY}", **({"timeoutMS": 80} if where == "request" else {})
            )
            limits = {"timeoutMS": 80} if where == "limits" else None
            tool = make_tool(request, limits=limits, secrets=secret("KEY"))
            error = await call_error(tool, seconds=0.08 if where == "invocation" else HANG_S)
        assert (error.reason, str(error)) == (
            Reason.TIMEOUT,
            "GET 127.0.0.1/_secret_ timed out.",
        )


@pytest.mark.guards("upstream-response")
@pytest.mark.spec("BND-66")
async def test_request_and_response_sizes_are_limited(make_tool):
    """Requests are checked before they are sent, responses while they are read."""
    async with server(raw_response("x" * 1000)) as upstream:
        error = await call_error(make_tool(post(upstream.url, body="y" * 99), limits={"maxSentBytes": 99}))
        assert (error.reason, upstream.connections, "maxSentBytes is 99" in str(error)) == (
            Reason.TOO_LARGE_OUT,
            0,
            True,
        )
        assert await call(make_tool(post(upstream.url, body="y" * 99), limits={"maxSentBytes": 100}))
        error = await call_error(make_tool(get(upstream.url), limits={"maxRespBytes": 999}))
        assert (error.reason, "more than 999 bytes" in str(error)) == (Reason.TOO_LARGE_OUT, True)
        assert len(await call(make_tool(get(upstream.url), limits={"maxRespBytes": 1000}))) == 1000
    async with server(raw_response("x" * 1000, 500)) as upstream:
        error = await call_error(make_tool(get(upstream.url), limits={"maxRespBytes": 10}))
        assert str(error).endswith("returned 500: xxxxxxxxxx")


@pytest.mark.guards("upstream-response")
@pytest.mark.spec("BND-66")
async def test_decompression_stops_at_the_size_limit(make_tool):
    """60 MB compressed to 60 kB: only the allowed size is decompressed."""
    import tracemalloc

    bomb = raw_response(b"\0" * 60_000_000, gzipped=True)
    async with server(bomb) as upstream:
        tracemalloc.start()
        try:
            error = await call_error(make_tool(get(upstream.url), limits={"maxRespBytes": 1_000_000}))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert (error.reason, peak < 10_000_000) == (Reason.TOO_LARGE_OUT, True), peak


async def test_https_requires_a_certificate(make_tool):
    """A plain server is rejected. A connection to a silent server is closed without a resource warning."""

    async def plain(reader, writer):
        writer.write(raw_response())
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        error = await call_error(make_tool(get(f"https://127.0.0.1:{port}/")))
    assert (error.reason, "SSL" in str(error)) == (Reason.UPSTREAM, True), str(error)
    async with server(raw_response()) as upstream:
        error = await call_error(make_tool(get(upstream.url.replace("http", "https"))), seconds=0.2)
    assert (error.reason, upstream.requests) == (Reason.TIMEOUT, [])
    gc.collect()


async def test_timed_out_calls_release_their_connections(make_tool):
    """More slow calls than the pool has connections, then one that succeeds."""

    async def hang(received):
        await asyncio.Event().wait()

    async with RawHttpServer(
        lambda received: hang(received) if received.target == "/slow" else raw_response("fast")
    ) as upstream:
        slow, fast = make_tool(get(upstream.url + "/slow")), make_tool(get(upstream.url + "/fast"))
        errors = await asyncio.gather(*(call_error(slow, seconds=0.3) for _ in range(150)))
        assert {error.reason for error in errors} == {Reason.TIMEOUT}
        assert await call(fast) == "fast"


async def test_connections_are_reused(make_tool):
    """Calls of several tools share one connection, also after errors and redirects."""
    async with server(
        raw_response("", 302, Location="/b"), raw_response("", 404), raw_response("x")
    ) as upstream:
        await call_error(make_tool(get(upstream.url)))
        for _ in range(10):
            await call(make_tool(get(upstream.url)))
    assert (len(upstream.requests), upstream.connections) == (12, 1)


@pytest.mark.spec("BND-19")
async def test_redirects_to_another_server_carry_no_secrets(make_tool):
    """On the same server all is sent again. Another server gets no credentials, secrets or body."""
    sent = {
        "headers": {
            "X-Secret": "${KEY}",
            "X-Plain": "p",
            "Cookie": "c=1",
            "X-Api-Key": "sk-live-51Hq8ZzKvXw2bN7dT3",
        },
        "auth": {"type": "bearer", "token": "${KEY}"},
    }
    async with server(raw_response("there")) as other, server(raw_response("here")) as same_host:
        for status, method in [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")]:
            async with server(
                raw_response("", status, Location=f"http://localhost:{other.port}/x#part")
            ) as upstream:
                tool = make_tool(post(upstream.url, body={"a": 1}, **sent), secrets=secret("KEY"))
                assert await call(tool) == "there"
            received = other.requests[-1]
            assert (received.line, received.body) == (f"{method} /x HTTP/1.1", b"")
            assert ("x-plain" in received.headers, KEY in received.head.decode()) == (True, False)
            assert not {"cookie", "authorization", "content-type", "x-api-key"} & set(received.headers)
            async with server(
                raw_response("", status, Location="/y?z=ü b"), raw_response("again")
            ) as upstream:
                tool = make_tool(post(upstream.url, body={"a": 1}, **sent), secrets=secret("KEY"))
                assert await call(tool) == "again"
            received = upstream.requests[-1]
            assert received.line == f"{method} /y?z=%C3%BC%20b HTTP/1.1"
            assert received.headers["authorization"] == f"Bearer {KEY}"
            assert received.body == (b'{"a":1}' if method == "POST" else b"")
        async with server(raw_response("", 302, Location=f"http://127.0.0.1:{same_host.port}/")) as upstream:
            assert await call(make_tool(get(upstream.url, **sent), secrets=secret("KEY"))) == "here"
        assert "authorization" not in same_host.requests[0].headers  # another port is another server


@pytest.mark.spec("BND-19")
async def test_invalid_redirects_are_not_followed(make_tool):
    """To a host that is not listed, to a URL that is not HTTP, in a loop, or without a location."""
    for location, reason, text in [
        ("http://evil.test/", Reason.HOST_NOT_ALLOWED, "'evil.test' is not in allowedHosts"),
        ("//evil.test/", Reason.HOST_NOT_ALLOWED, "'evil.test'"),
        (f"ftp://127.0.0.1/{KEY}", Reason.HOST_NOT_ALLOWED, "[secret]"),
        ("http://[::1", Reason.HOST_NOT_ALLOWED, "Cannot follow the redirect"),
        ("/again", Reason.UPSTREAM, "more than 5 redirects"),
    ]:
        async with server(raw_response("", 302, Location=location)) as upstream:
            tool = make_tool(get(upstream.url, headers={"X": "${KEY}"}), secrets=secret("KEY"))
            error = await call_error(tool)
            assert (error.reason, text in str(error), KEY in str(error)) == (reason, True, False), str(error)
            assert len(upstream.requests) == (6 if location == "/again" else 1)
    async with server(raw_response("nowhere", 302)) as upstream:
        assert "returned 302: nowhere" in str(await call_error(make_tool(get(upstream.url))))
        assert await call(make_tool(get(upstream.url), response={"successCodes": [302]})) == "nowhere"


def test_headers_that_were_filled_are_not_sent_to_another_server():
    """Arguments and results of steps may be credentials."""
    from onetool.sources.http_tools.placeholder_values import PlaceholderValues
    from onetool.sources.http_tools.request import build, build_redirect

    values = PlaceholderValues(
        {"session": "s-1"}, {"properties": {"session": {}}}, Secrets(), CredentialSet()
    )
    headers = {"X-Session": "${session}", "Accept": "text/plain"}
    outgoing = build(get("https://api.test/", headers=headers), values)
    following, _ = build_redirect(outgoing, 307, "https://other.test/", values)
    assert dict(outgoing.headers) == {"X-Session": "s-1", "Accept": "text/plain"}
    assert dict(following.headers) == {"Accept": "text/plain"}


def test_redirect_never_downgrades_to_http():
    from onetool.sources.http_tools.placeholder_values import PlaceholderValues
    from onetool.sources.http_tools.request import build, build_redirect

    values = PlaceholderValues({}, {}, Secrets(), CredentialSet())
    outgoing = build(get("https://127.0.0.1/"), values)
    with pytest.raises(ExecutionError, match="from https to http"):
        build_redirect(outgoing, 302, "http://127.0.0.1/", values)
    upgraded = build(get("http://127.0.0.1/", headers={"Authorization": "x"}), values)
    following, is_same_server = build_redirect(upgraded, 308, "https://127.0.0.1/", values)
    assert (str(following.url), is_same_server, dict(following.headers)) == (
        "https://127.0.0.1/",
        True,
        {"Authorization": "x"},
    )
    head = build({"method": "HEAD", "urlTemplate": "http://127.0.0.1/"}, values)
    assert build_redirect(head, 303, "/x", values)[0].method == "HEAD"


@pytest.mark.spec("BND-65")
async def test_bearer_basic_and_api_key_credentials(make_tool):
    """CredentialSet replace a header with the same name."""
    cases = [
        ({"type": "bearer", "token": "${KEY}"}, "authorization", f"Bearer {KEY}"),
        (
            {"type": "basic", "username": "ann", "password": "${KEY}"},
            "authorization",
            "Basic " + base64.b64encode(f"ann:{KEY}".encode()).decode(),
        ),
        ({"type": "apiKey", "in": "header", "name": "X-Key", "value": "${KEY}"}, "x-key", KEY),
    ]
    async with server(raw_response()) as upstream:
        for auth, header, value in cases:
            headers = {"AUTHORIZATION": "mine", "x-key": "mine"}
            await call(make_tool(get(upstream.url, auth=auth, headers=headers), secrets=secret("KEY")))
            assert upstream.requests[-1].headers[header] == value
            assert upstream.requests[-1].head.lower().count(header.encode() + b":") == 1
        for url, target in [("/p", "/p?api%20key="), ("/p?a=1", "/p?a=1&api%20key=")]:
            auth = {"type": "apiKey", "in": "query", "name": "api key", "value": "${KEY}"}
            await call(make_tool(get(upstream.url + url, auth=auth), secrets=secret("KEY")))
            assert upstream.requests[-1].target == target + "k3y-s3cret%2Fvalue%2B1"


@pytest.mark.spec("BND-65")
@pytest.mark.parametrize(("algorithm", "encoding"), [("sha256", "hex"), ("sha512", "base64")])
async def test_hmac_signature_covers_the_sent_bytes(make_tool, algorithm, encoding):
    """The server computes the same signature. Each redirect is signed again."""
    auth = {"type": "hmac", "secret": "${KEY}", "algorithm": algorithm, "encoding": encoding}
    auth |= {"header": "X-Sign", "prefix": "v1=", "timestampHeader": "X-At"}
    auth["payload"] = "${method}\n${path}\n${query}\n${timestamp}\n${body}\n${id}"
    async with server(raw_response("", 307, Location="/c?d=%22"), raw_response()) as upstream:
        url = upstream.url + '/a/${id}/"?q=${id}&b=ü'
        tool = make_tool(
            post(url, body={"x": "${id}"}, auth=auth),
            secrets=secret("KEY"),
            args=["id"],
            backoff=Backoff(wall_clock=lambda: 1234.9),
        )
        await call(tool, id="ü /")
    assert len(upstream.requests) == 2
    for received in upstream.requests:
        path, _, query = received.target.partition("?")
        signed = f"POST\n{path}\n{query}\n1234\n".encode() + received.body + "\nü /".encode()
        digest = hmac.new(KEY.encode(), signed, getattr(hashlib, algorithm)).digest()
        text = digest.hex() if encoding == "hex" else base64.b64encode(digest).decode()
        assert (received.headers["x-sign"], received.headers["x-at"]) == (f"v1={text}", "1234")
    async with server(raw_response()) as upstream:
        plain = get(upstream.url, auth={"type": "hmac", "secret": "s"})
        await call(make_tool(plain, backoff=Backoff(wall_clock=lambda: 5.0)))
    expected = hmac.new(b"s", b"GET\n/\n\n5\n", hashlib.sha256).hexdigest()
    assert upstream.requests[0].headers["x-signature"] == expected


class TokenServer:
    """Issues token-1, token-2, ... and accepts those that it issued and did not revoke."""

    def __init__(self, **fields):
        self.issued, self.revoked, self.fields, self.forms = 0, set(), {"expires_in": 3600} | fields, []
        self.release = asyncio.Event()
        self.release.set()

    async def __call__(self, received):
        if received.target != "/token":
            token = received.headers["authorization"].removeprefix("Bearer ")
            is_valid = token not in self.revoked and int(token.removeprefix("token-")) <= self.issued
            return raw_response(
                {"token": token} if is_valid else {"rejected": token}, 200 if is_valid else 401
            )
        self.forms.append((parse_qs(received.body.decode()), received.headers.get("authorization")))
        await self.release.wait()
        self.issued += 1
        return raw_response({"access_token": f"token-{self.issued}", **self.fields})


def oauth(upstream, **fields):
    return {
        "type": "oauth2",
        "tokenUrl": upstream.url + "/token",
        "clientId": "me",
        "clientSecret": "${KEY}",
        **fields,
    }


@pytest.mark.spec("BND-65")
async def test_concurrent_calls_fetch_one_token(make_tool):
    """Tools with the same credentials share a token. It is refreshed 30 seconds before it expires."""
    now = [100.0]
    tokens = TokenCache(MemoryTokens(), now=lambda: now[0])
    issuer = TokenServer()
    async with RawHttpServer(issuer) as upstream:
        tools = [
            make_tool(
                get(upstream.url + "/x", auth=oauth(upstream, scope="a b")),
                secrets=secret("KEY"),
                tokens=tokens,
                limits={"maxSentBytes": 5, "maxRespBytes": 30},
            )
            for _ in range(20)
        ]
        assert await asyncio.gather(*map(call, tools)) == [{"token": "token-1"}] * 20
        assert issuer.forms == [
            (
                {"grant_type": ["client_credentials"], "scope": ["a b"]},
                "Basic " + base64.b64encode(b"me:k3y-s3cret%2Fvalue%2B1").decode(),
            )
        ]
        now[0] += 3569
        assert await call(tools[0]) == {"token": "token-1"}
        now[0] += 1
        assert await asyncio.gather(*map(call, tools)) == [{"token": "token-2"}] * 20
        other = make_tool(
            get(upstream.url, auth=oauth(upstream)), secrets=secret("KEY", "another"), tokens=tokens
        )
        assert await call(other) == {"token": "token-3"}


@pytest.mark.spec("BND-65")
async def test_rejected_cached_token_is_replaced_once(make_tool):
    """The call is repeated with a new token. A token that was just fetched is not replaced."""
    issuer, tokens = TokenServer(), TokenCache(MemoryTokens())
    async with RawHttpServer(issuer) as upstream:
        tools = [
            make_tool(
                post(upstream.url, body="x", auth=oauth(upstream)), secrets=secret("KEY"), tokens=tokens
            )
            for _ in range(10)
        ]
        assert await call(tools[0]) == {"token": "token-1"}
        issuer.revoked = {"token-1"}
        assert await asyncio.gather(*map(call, tools)) == [{"token": "token-2"}] * 10
        assert issuer.issued == 2
        issuer.revoked = {"token-2", "token-3", "token-4"}
        error = await call_error(tools[0])
        assert (error.reason, issuer.issued, "token-3" in str(error)) == (Reason.UPSTREAM, 3, False)
        assert "returned 401" in str(error)
    fresh = TokenServer()
    fresh.revoked = {"token-1"}
    async with RawHttpServer(fresh) as upstream:
        assert "401" in str(
            await call_error(make_tool(get(upstream.url, auth=oauth(upstream)), secrets=secret("KEY")))
        )
    assert fresh.issued == 1


class RotatingIssuer(TokenServer):
    """Issues a new refresh token with every access token. Each is valid once; a reuse revokes everything."""

    def __init__(self, **fields):
        super().__init__(**fields)
        self.valid = KEY

    async def __call__(self, received):
        if received.target != "/token":
            return await super().__call__(received)
        (used,) = parse_qs(received.body.decode())["refresh_token"]
        is_valid, self.valid = used == self.valid, ""
        self.fields["refresh_token"] = f"refresh-{self.issued + 1}"
        response = await super().__call__(received)
        if not is_valid:
            return raw_response({"error": "invalid_grant"}, 400)
        self.valid = self.fields["refresh_token"]
        return response


def refresh_grant(upstream, **fields):
    auth = {"type": "oauth2", "grant": "refresh_token", "refreshToken": "${KEY}", "clientId": "me"}
    return get(upstream.url, auth={**auth, "tokenUrl": upstream.url + "/token", **fields})


@pytest.mark.spec("BND-65")
async def test_new_refresh_token_replaces_the_old_one(make_tool):
    """A public client sends its id in the form. A short-lived token is refreshed in its last tenth."""
    now, issuer = [100.0], TokenServer(refresh_token="next-refresh-token", expires_in=10)
    async with RawHttpServer(issuer) as upstream:
        tokens = TokenCache(MemoryTokens(), now=lambda: now[0])
        tool = make_tool(refresh_grant(upstream), secrets=secret("KEY"), tokens=tokens)
        assert await asyncio.gather(*(call(tool) for _ in range(5))) == [{"token": "token-1"}] * 5
        now[0] += 8.9
        assert await call(tool) == {"token": "token-1"}
        now[0] += 0.1
        assert await asyncio.gather(*(call(tool) for _ in range(5))) == [{"token": "token-2"}] * 5
    first = {"grant_type": ["refresh_token"], "client_id": ["me"], "refresh_token": [KEY]}
    assert issuer.forms == [(first, None), (first | {"refresh_token": ["next-refresh-token"]}, None)]


async def test_new_refresh_token_outlives_the_process(make_tool, tmp_path):
    """Another process uses the stored access token until it expires, and then the new refresh token."""
    now, issuer = [100.0], RotatingIssuer()
    async with RawHttpServer(issuer) as upstream:

        def start_process():
            tokens = TokenCache(FileTokens(tmp_path, Threads()), now=lambda: now[0])
            return make_tool(refresh_grant(upstream), secrets=secret("KEY"), tokens=tokens)

        first, second = start_process(), start_process()
        assert [await call(first), await call(second)] == [{"token": "token-1"}] * 2
        now[0] += 3600
        assert [await call(second), await call(first)] == [{"token": "token-2"}] * 2
        issuer.revoked = {"token-2"}  # both find out by a rejected call
        assert await asyncio.gather(call(first), call(second)) == [{"token": "token-3"}] * 2
        assert await call(start_process()) == {"token": "token-3"}
    assert issuer.issued == 3


async def test_refresh_token_stays_valid_if_no_new_one_is_issued(make_tool):
    now, issuer = [100.0], TokenServer(refresh_token="second")
    async with RawHttpServer(issuer) as upstream:
        tokens = TokenCache(MemoryTokens(), now=lambda: now[0])
        tool = make_tool(refresh_grant(upstream), secrets=secret("KEY"), tokens=tokens)
        for _ in range(3):
            await call(tool)
            now[0] += 3600
            issuer.fields.pop("refresh_token", None)
    assert [form["refresh_token"] for form, _ in issuer.forms] == [[KEY], ["second"], ["second"]]


async def test_tools_with_other_scopes_share_the_refresh_token(make_tool):
    """Each refresh token is valid once, so there is only one chain of them."""
    issuer = RotatingIssuer()
    async with RawHttpServer(issuer) as upstream:
        tokens = TokenCache(MemoryTokens())
        tools = [
            make_tool(refresh_grant(upstream, scope=scope), secrets=secret("KEY"), tokens=tokens)
            for scope in ("read", "write", "read")
        ]
        seen = [(await call(tool))["token"] for tool in tools]
        assert seen == ["token-1", "token-2", "token-1"]
        other = make_tool(refresh_grant(upstream), secrets=secret("KEY", "configured-anew"), tokens=tokens)
        assert "invalid_grant" in str(await call_error(other))  # a chain of its own


async def test_refresh_continues_if_its_call_is_cancelled(make_tool, tmp_path):
    """The old refresh token is used up, so the new one must be stored. Closing waits for that."""
    issuer = RotatingIssuer()
    issuer.release.clear()
    async with RawHttpServer(issuer) as upstream:
        tokens = TokenCache(FileTokens(tmp_path, Threads()))
        tool = make_tool(refresh_grant(upstream), secrets=secret("KEY"), tokens=tokens)
        cancelled = asyncio.create_task(call(tool))
        await until(lambda: issuer.forms)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        closing = asyncio.create_task(tokens.close())
        await asyncio.sleep(0)
        assert not closing.done()
        issuer.release.set()
        await closing
        again = TokenCache(FileTokens(tmp_path, Threads()))
        tool = make_tool(refresh_grant(upstream), secrets=secret("KEY"), tokens=again)
        assert await call(tool) == {"token": "token-1"}
    assert issuer.issued == 1


class UnreadableTokens(MemoryTokens):
    """A store that cannot be read."""

    def exclusive(self, server):
        raise OSError(28, "No space left on device")


async def test_tokens_are_not_requested_if_they_cannot_be_read(make_tool):
    issuer = RotatingIssuer()
    async with RawHttpServer(issuer) as upstream:
        tokens = TokenCache(UnreadableTokens())
        tool = make_tool(refresh_grant(upstream), secrets=secret("KEY"), tokens=tokens)
        error = await call_error(tool)
    assert str(error) == "Cannot read or store access tokens: No space left on device."
    assert (error.reason, issuer.issued) == (Reason.RAISED, 0)


class ReadOnlyTokenFile(LockedTokenText):
    """A text that can be locked and read, but not replaced while the disk is full."""

    is_full = True

    async def replace(self, text, *, is_refresh=False):
        if self.is_full and text != self.text:
            raise OSError(28, "No space left on device")
        await super().replace(text, is_refresh=is_refresh)


class FullTokens(MemoryTokens):
    """A store whose disk is full until it is not."""

    def __init__(self):
        super().__init__()
        self.texts = {}

    @asynccontextmanager
    async def exclusive(self, server):
        yield ReadOnlyTokenFile(self.texts, server)


@pytest.mark.guards("machine-disk")
async def test_refresh_token_that_cannot_be_stored_is_used_for_the_next_refresh_and_stored_later(
    make_tool, monkeypatch, caplog
):
    """The stored one is used up: a refresh with it would end the login. So is the access token."""
    issuer, store, now = RotatingIssuer(), FullTokens(), [1_000.0]
    async with RawHttpServer(issuer) as upstream:
        tokens = TokenCache(store, now=lambda: now[0])
        tool = make_tool(refresh_grant(upstream), secrets=secret("KEY"), tokens=tokens)
        for number in (1, 2):
            assert [await call(tool), await call(tool)] == [{"token": f"token-{number}"}] * 2
            now[0] += 10_000
        assert store.texts == {}
        assert "cannot store access tokens: No space left on device" in caplog.text
        monkeypatch.setattr(ReadOnlyTokenFile, "is_full", False)
        assert await call(tool) == {"token": "token-3"}
    (text,) = store.texts.values()
    assert "refresh-3" in text


async def test_token_that_was_not_stored_is_not_refreshed_again_by_another_state(make_tool):
    """A second reader of the same chain finds the token in memory, although storing it fails again."""
    issued = []

    async def refresh(text):
        if text is None:
            issued.append("new")
        return text or "new"

    shared = SharedRefresh(FullTokens(), "chain")
    with pytest.raises(OSError, match="No space left"):
        await shared.run(refresh)
    assert await shared.run(refresh) == "new"
    assert issued == ["new"]


async def test_refresh_that_hangs_times_out(make_tool, monkeypatch):
    monkeypatch.setattr("onetool.sources.shared_refresh.REFRESH_TIMEOUT_S", 0.05)
    issuer = RotatingIssuer()
    issuer.release.clear()
    async with RawHttpServer(issuer) as upstream:
        error = await call_error(make_tool(refresh_grant(upstream), secrets=secret("KEY")))
        issuer.release.set()
    assert (str(error), error.reason) == ("The token refresh timed out after 0.05 s.", Reason.UPSTREAM)


@pytest.mark.parametrize(
    "text", [None, "{", "[]", "{}", '{"tokens": 1}', '{"tokens": {"": {}}, "refresh_token": ""}']
)
def test_invalid_stored_tokens_count_as_missing(text):
    assert TokenChain.read(text) == TokenChain()


@pytest.mark.spec("BND-65")
@pytest.mark.parametrize(
    "response",
    [
        raw_response({"error": f"bad {KEY}"}, 401),
        raw_response("not json " + KEY),
        raw_response([KEY]),
        raw_response({"access_token": 5}),
        raw_response({"access_token": [KEY], "refresh_token": KEY}),
        raw_response({"access_token": f"{KEY}\r\nX: y"}),
        raw_response("", 302, Location="http://evil.test/"),
    ],
)
async def test_failed_token_request_is_shared_by_waiting_calls(make_tool, response):
    """One request is sent, and all calls get an error without secrets."""
    async with server(response) as upstream:
        tool = make_tool(get(upstream.url, auth=oauth(upstream)), secrets=secret("KEY"))
        errors = await asyncio.gather(*(call(tool) for _ in range(5)), return_exceptions=True)
    assert len(upstream.requests) == 1
    for error in errors:
        assert (error.reason, "access" in str(error)) == (Reason.UPSTREAM, True)
        assert KEY not in str(error)


@pytest.mark.parametrize("invalid", [{"expires_in": "1 hour"}, {"expires_in": None}, {"refresh_token": 5}])
async def test_invalid_fields_beside_a_token_are_ignored(make_tool, invalid):
    issuer = TokenServer(**invalid)
    async with server(issuer) as upstream:
        tool = make_tool(get(upstream.url, auth=oauth(upstream)), secrets=secret("KEY"))
        assert await call(tool) == {"token": "token-1"}


def test_server_cannot_select_a_slow_codec():
    """Charsets that are not in the list are decoded as UTF-8."""
    slow = ResponseBody(
        status=200, content=b"a" * 5_000_000 + b"-x", content_type="text/plain; charset=punycode"
    )
    assert slow.text().endswith("a-x")
    latin = ResponseBody(
        status=200, content="é".encode("latin-1"), content_type='text/plain; charset="ISO-8859-1"'
    )
    assert latin.text() == "é"


@pytest.mark.spec("BND-19", "BND-65")
async def test_token_endpoint_obeys_host_rules(make_tool):
    """Its host must be listed and allowed for the secret. A call that times out does not affect others."""
    issuer = TokenServer()
    async with RawHttpServer(issuer) as upstream:
        unlisted = make_tool(
            get(upstream.url, auth=oauth(upstream) | {"tokenUrl": "http://evil.test/t"}),
            secrets=secret("KEY"),
        )
        assert (await call_error(unlisted)).reason is Reason.HOST_NOT_ALLOWED
        restricted = make_tool(
            get(upstream.url, auth=oauth(upstream)), secrets=secret("KEY", hosts=("localhost",))
        )
        assert (await call_error(restricted)).reason is Reason.HOST_NOT_ALLOWED
        assert upstream.connections == 0
        tool = make_tool(get(upstream.url, auth=oauth(upstream)), secrets=secret("KEY"))
        issuer.release.clear()
        short, long = asyncio.create_task(call_error(tool, seconds=0.05)), asyncio.create_task(call(tool))
        assert (await short).reason is Reason.TIMEOUT
        issuer.release.set()
        assert (await long)["token"].startswith("token-")


async def test_token_cache_is_limited(make_tool, monkeypatch):
    """A new scope evicts the oldest entry."""
    monkeypatch.setattr("onetool.sources.http_tools.token_cache.MAX_ENTRIES", 2)
    issuer = TokenServer()
    async with RawHttpServer(issuer) as upstream:
        auth = oauth(upstream, scope="${s}")
        tool = make_tool(get(upstream.url, auth=auth), secrets=secret("KEY"), args=["s"])
        tokens = [(await call(tool, s=s))["token"] for s in "abaca"]
    assert tokens == ["token-1", "token-2", "token-1", "token-3", "token-4"]


async def test_no_message_contains_a_secret(make_tool, caplog):
    """Whatever the server sends back, in any encoding of the secret."""
    caplog.set_level("INFO")
    basic = base64.b64encode(f"ann:{KEY}".encode()).decode()

    def echo(received):
        return raw_response(
            received.head + received.body + json.dumps(KEY).encode(), random.choice([400, 401, 404, 500])
        )

    auths = [
        {"type": "bearer", "token": "${KEY}"},
        {"type": "basic", "username": "ann", "password": "${KEY}"},
        {"type": "apiKey", "in": "query", "name": "k", "value": "${KEY}"},
        {"type": "hmac", "secret": "${KEY}", "payload": "${KEY}"},
    ]
    async with server(echo) as upstream:
        for auth in auths:
            request = post(
                upstream.url + "/${KEY}/x?a=${KEY}",
                query={"b": "${KEY}"},
                headers={"X": "${KEY}", "User-Agent": "u", "Accept": "a"},
                body={"c": "d ${KEY}"},
                auth=auth,
            )
            error = await call_error(make_tool(request, secrets=secret("KEY")))
            texts = str(error) + repr(error) + repr(error.__cause__)
            assert str(error).startswith("POST 127.0.0.1/_secret_/x returned ")
            assert not [form for form in (KEY, KEY.replace("/", "%2F"), basic) if form in texts]
        for location in (f"/{KEY}", f"http://evil.test/{KEY}", f"http://{KEY}/", f"x://{KEY}"):
            async with server(raw_response("", 302, Location=location), None) as redirecting:
                tool = make_tool(post(redirecting.url, headers={"X": "${KEY}"}), secrets=secret("KEY"))
                assert KEY not in str(await call_error(tool))
    assert KEY not in caplog.text
    assert KEY not in repr(AccessToken(value=KEY, lifetime_s=1, refresh_token=KEY))
    token = IssuedToken(value=KEY, lifetime_s=1, expires_at=1)
    assert KEY not in repr(TokenChain(refresh_token=KEY, tokens={"": token}))


TOKEN_FIELDS = {"access_token": "4ccess-of-the-call", "refresh_token": "r3fresh-of-the-call"}
LITERAL = "l1teral-credential"
STEP_TOKEN = "st3p-token"


def echo_credentials(received):
    """Return everything that a client sends, in several encodings, and the tokens that were issued to it."""
    if received.target == "/token":
        return raw_response(TOKEN_FIELDS | {"expires_in": 3600})
    if received.target == "/login":
        return raw_response({"token": STEP_TOKEN})
    seen = json.dumps([received.target, received.headers, received.body.decode(), TOKEN_FIELDS])
    encoded = base64.b64encode(received.headers.get("authorization", "").encode()).decode()
    return raw_response({"seen": json.loads(seen), "text": seen, "url": quote(seen), "base64": encoded})


@pytest.mark.guards("upstream-response")
@pytest.mark.parametrize(
    ("request_fields", "credentials"),
    [
        ({"auth": {"type": "bearer", "token": "${KEY}"}}, [KEY]),
        ({"auth": {"type": "bearer", "token": LITERAL}}, [LITERAL]),
        ({"auth": {"type": "basic", "username": "ann", "password": "${KEY}"}}, [KEY, f"ann:{KEY}"]),
        ({"auth": {"type": "basic", "username": "ann", "password": LITERAL}}, [LITERAL, f"ann:{LITERAL}"]),
        ({"auth": {"type": "apiKey", "in": "query", "name": "k", "value": "${KEY}"}}, [KEY]),
        ({"auth": {"type": "apiKey", "in": "header", "name": "X", "value": LITERAL}}, [LITERAL]),
        ({"auth": {"type": "hmac", "secret": "${KEY}", "payload": "x"}}, [KEY, "HMAC"]),
        ({"auth": {"type": "hmac", "secret": "s", "payload": "x", "encoding": "base64"}}, ["HMAC"]),
        ({"auth": {"type": "oauth2", "clientId": "me", "clientSecret": "${KEY}"}}, [KEY, f"me:{KEY}"]),
        (
            {
                "auth": {
                    "type": "oauth2",
                    "grant": "refresh_token",
                    "clientId": "me",
                    "refreshToken": "${KEY}",
                }
            },
            [KEY],
        ),
        (
            {"headers": {"Authorization": f"Bearer {LITERAL}", "X-Api-Key": LITERAL[::-1]}},
            [LITERAL[::-1], LITERAL],
        ),
        ({"headers": {"Cookie": "session=${steps.0.token}"}}, [f"session={STEP_TOKEN}"]),
        ({"auth": {"type": "bearer", "token": "${steps.0.token}"}}, [STEP_TOKEN]),
    ],
)
@pytest.mark.parametrize("is_nested", [False, True])
async def test_credentials_that_a_call_used_are_redacted_in_its_result(
    make_tool, request_fields, credentials, is_nested
):
    """Also in the result of a tool that calls this one."""
    async with server(echo_credentials) as upstream:
        auth = request_fields.get("auth")
        if auth and auth["type"] == "oauth2":
            request_fields = {"auth": auth | {"tokenUrl": upstream.url + "/token"}}
        requests = get(upstream.url + "/login"), post(upstream.url + "/x", body="plain", **request_fields)
        process = CredentialSet()
        runner = make_tool(*requests, secrets=secret("KEY"), tokens=TokenCache(MemoryTokens(), process))

        async def outer() -> dict:
            """Call the tool and return what it returned."""
            return {"inner": await call_tool_async("web.call")}

        registry = Registry()
        spec = ToolSpec(name="web.call", description="x", input_schema=schema())
        registry.register(Tool(spec, runner.run))
        web = SnapshotSource(StaticReader("web", registry))
        async with memory_runtime(packs={"mine": [outer]}, sources=[web]) as ot:
            result = await ot.call("mine.outer" if is_nested else "web.call")
    assert result.ok, result.error
    text = json.dumps(result.data)
    sent = upstream.requests[-1].headers
    forms = [sent["x-signature"] if value == "HMAC" else value for value in credentials]
    if auth and auth["type"] == "oauth2":
        forms.append(TOKEN_FIELDS["access_token"])
        assert (
            process.redact(json.dumps(TOKEN_FIELDS))
            == '{"access_token": "[secret]", "refresh_token": "[secret]"}'
        )
    forms += [base64.b64encode(form.encode()).decode() for form in forms] + [
        quote(form, "") for form in forms
    ]
    assert not [form for form in forms if form in text]
    assert "[secret]" in text
    assert "plain" in text

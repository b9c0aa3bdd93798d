"""HTTP tools against real servers: what they send, what they make of answers, and what they never tell."""

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
from email.utils import formatdate
from urllib.parse import parse_qs

import pytest

from onetool.domain import Reason, Registry, Tool, ToolSpec
from onetool.domain.caller import Caller
from onetool.domain.errors import ExecutionError
from onetool.domain.invocation import Flag, Invocation
from onetool.network.client import HttpClients
from onetool.settings.secrets import Secret
from onetool.sources.http_tools import HttpTool, Pace, Tokens
from onetool.sources.http_tools.bodies import Answer as BodyAnswer
from onetool.sources.http_tools.tokens import Token
from onetool.sources.snapshot import Fixed, Snapshot
from onetool.testing import memory_runtime
from raw_http import RawServer, reply

HOSTS = ["127.0.0.1", "127.0.0.2", "localhost"]
KEY = "k3y-s3cret/value+1"
QUICK = Pace(base=0.01)


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
def make(http):
    def tool(
        *requests, secrets=None, limits=None, response=None, hosts=HOSTS, tokens=None, pace=QUICK, args=()
    ):
        impl = {"request": None, "requests": list(requests), "response": response or {}}
        return HttpTool(
            impl,
            arg_schema=schema(*args),
            limits=limits,
            secrets=secrets or {},
            http=http,
            allowed_hosts=hosts,
            tokens=tokens or Tokens(),
            pace=pace,
        )

    return tool


def call(tool, *, seconds=10.0, **args):
    invocation = Invocation("id", "x.y", args, Caller(door="test"), time.monotonic() + seconds, Flag())
    return tool.run(args, invocation)


async def failed(tool, *, seconds=10.0, **args):
    with pytest.raises(ExecutionError) as caught:
        await call(tool, seconds=seconds, **args)
    return caught.value


@asynccontextmanager
async def server(*answers, host="127.0.0.1"):
    """Give the answers in turn, the last one for ever."""
    left = list(answers)

    def answer(seen):
        given = left.pop(0) if len(left) > 1 else left[0]
        return given(seen) if callable(given) else given

    async with RawServer(answer, host) as raw:
        yield raw


def get(url, **more):
    return {"method": "GET", "urlTemplate": url, **more}


def post(url, **more):
    return {"method": "POST", "urlTemplate": url, **more}


@pytest.mark.spec("BND-12", "BND-18", "BND-55")
async def test_the_request_is_what_its_templates_say(make):
    """Every byte: path, query, headers and body, with arguments and a secret in their places."""
    async with server(reply({"ok": 1})) as raw:
        url = raw.url + "/a b/${id}?fixed=1&q=${text}&gone=${none}".replace(" ", "%20")
        request = post(
            url,
            query={"tags": "${tags}", "n": 5, "yes": True, "none": "${none}", "deep": {"a": 1}},
            headers={"X-Key": "key ${KEY}", "X-None": "${none}", "X-Ü".replace("Ü", "U"): "ü ${text}"},
            body={"n": "${id}", "text": "is ${text}", "none": "${none}", "list": "${tags}", "$${x}": None},
        )
        tool = make(request, args=["id", "text", "tags", "none"], secrets=secret("KEY"))
        assert await call(tool, id=7, text="a&b/ü ${KEY}", tags=["x y", "z"], none=None) == {"ok": 1}
    (seen,) = raw.requests
    body = '{"n":7,"text":"is a&b/ü ${KEY}","list":["x y","z"],"${x}":null}'.encode()
    assert seen.head.decode() == (
        "POST /a%20b/7?fixed=1&q=a%26b%2F%C3%BC%20%24%7BKEY%7D"
        "&tags=x%20y&tags=z&n=5&yes=true&deep=%7B%22a%22%3A1%7D HTTP/1.1\r\n"
        f"Host: 127.0.0.1:{raw.port}\r\n"
        "User-Agent: OneTool/0.1.0\r\n"
        "Accept: */*\r\n"
        "Accept-Encoding: gzip\r\n"
        f"X-Key: key {KEY}\r\n"
        "X-U: ü a&b/ü ${KEY}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    assert seen.body == body


@pytest.mark.parametrize(
    ("headers", "body", "kind", "sent"),
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
async def test_bodies_are_written_as_their_content_type_asks(make, headers, body, kind, sent):
    """A value stays a value in JSON, forms and markup; without a body there is no content type."""
    async with server(reply()) as raw:
        tool = make(post(raw.url, headers=headers, body=body), args=["v", "n", "none"])
        assert await call(tool, v='a&b=<"c">', n=5) == ""
    assert (raw.requests[0].headers.get("content-type"), raw.requests[0].body) == (kind, sent)


@pytest.mark.spec("BND-12")
async def test_requests_run_in_order_and_use_earlier_answers(make):
    """The last answer is the value."""
    answers = [reply({"id": 7, "list": [{"k": "v"}]}), reply("done")]
    async with server(*answers) as raw:
        first = post(raw.url + "/make", body={"name": "${user.name}"})
        second = get(raw.url + "/${steps.0.id}/${steps.0.list.0.k}", query={"all": "${steps.0.list}"})
        assert await call(make(first, second, args=["user"]), user={"name": "Ann"}) == "done"
        assert json.loads(raw.requests[0].body) == {"name": "Ann"}
        assert raw.requests[1].target == "/7/v?all=%7B%22k%22%3A%22v%22%7D"
        missing = await failed(
            make(first, get(raw.url + "/${steps.0.id}"), args=["user"]), user={"name": "x"}
        )
    assert (missing.reason, "${steps.0.id}" in str(missing)) == (Reason.UPSTREAM, True)


@pytest.mark.spec("BND-18", "BND-19")
async def test_what_cannot_be_filled_in_is_not_sent(make):
    """A missing argument or secret, a value that does not fit its place, a host that is not listed."""
    async with server(reply()) as raw:
        cases = [
            (make(get(raw.url + "/${id}"), args=["id"]), Reason.BAD_ARGS, "Argument 'id' has no value"),
            (make(post(raw.url, body="${id}"), args=["id"]), Reason.BAD_ARGS, "'id' has no value"),
            (make(get(raw.url + "/${user.x}"), args=["user"]), Reason.BAD_ARGS, "'user.x' has no value"),
            (make(get(raw.url + "/${KEY}")), Reason.RAISED, "Add it to secrets.yaml as KEY: <value>"),
            (
                make(get(raw.url, auth={"type": "bearer", "token": "${id}"}), args=["id"]),
                Reason.BAD_ARGS,
                "id",
            ),
            (
                make(get(raw.url, auth={"type": "hmac", "secret": "x", "payload": "${id}"}), args=["id"]),
                Reason.BAD_ARGS,
                "'id' has no value",
            ),
            (make(get(raw.url), hosts=["other.test"]), Reason.HOST_NOT_ALLOWED, "not in allowedHosts"),
            (make(get("http://127.1/")), Reason.HOST_NOT_ALLOWED, "not an address"),
            (
                make(get(raw.url, headers={"X": "${KEY}"}), secrets=secret("KEY", hosts=("api.test",))),
                Reason.HOST_NOT_ALLOWED,
                "Secret 'KEY' may not be sent to '127.0.0.1'. Its hosts in secrets.yaml: api.test.",
            ),
            (
                make(get(raw.url, headers={"X": "${KEY}"}), secrets=secret("KEY", f"{KEY}\nX: y")),
                Reason.RAISED,
                "Secret 'KEY' holds '\\n'",
            ),
        ]
        for tool, reason, text in cases:
            error = await failed(tool)
            assert (error.reason, text in str(error), KEY in str(error)) == (reason, True, False), str(error)
        error = await failed(make(get(raw.url + "/${id}"), args=["id"]), id="..")
        assert (error.reason, raw.connections) == (Reason.BAD_ARGS, 0)
        assert (await failed(make(get(raw.url + "/${steps.0.a}")))).reason is Reason.UPSTREAM
    async with server(reply({"a": ".."})) as raw:
        both = make(get(raw.url), get(raw.url + "/${steps.0.a}"))
        assert (await failed(both)).reason is Reason.UPSTREAM


@pytest.mark.spec("BND-55", "BND-58")
@pytest.mark.parametrize(
    ("method", "answer", "value"),
    [
        ("GET", reply({"a": [1]}), {"a": [1]}),
        ("GET", reply("[1, 2]"), [1, 2]),
        ("GET", reply("42"), "42"),
        ("GET", reply("{not json"), "{not json"),
        ("GET", reply("oops", Content_Type="application/json"), "oops"),
        ("GET", reply("", Content_Type="application/problem+json"), None),
        ("GET", reply("grün".encode("latin-1"), Content_Type="text/plain; charset=ISO-8859-1"), "grün"),
        ("GET", reply("\ufeffgrün", Content_Type="text/plain; charset=nonsense"), "grün"),
        ("GET", reply({"z": 1}, zipped=True), {"z": 1}),
        ("GET", reply(zlib.compress(b"deflated"), Content_Encoding="deflate"), "deflated"),
        ("GET", reply("same", Content_Encoding="identity"), "same"),
        ("GET", reply("", Content_Encoding="gzip"), ""),
        ("DELETE", b"HTTP/1.1 204 X\r\n\r\n", None),
        ("HEAD", b"HTTP/1.1 200 X\r\nContent-Length: 5\r\n\r\n", None),
        (
            "GET",
            b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[1\r\n2\r\n,2\r\n1\r\n]\r\n0\r\n\r\n",
            [1, 2],
        ),
    ],
)
async def test_what_an_answer_becomes(make, method, answer, value):
    """JSON where it says so or looks so, else text; nothing where there is none."""
    async with server(answer) as raw:
        assert await call(make({"method": method, "urlTemplate": raw.url})) == value


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (reply("x", Content_Encoding="br"), "content encoding 'br' is not understood"),
        (reply("nothing zipped", Content_Encoding="gzip"), "the compressed content is broken"),
        (reply(zlib.compress(b"x" * 999)[:-9], Content_Encoding="gzip"), "breaks off"),
        (b"nonsense\r\n\r\n", "has no answer: RemoteProtocolError"),
    ],
)
async def test_answers_that_cannot_be_read(make, answer, text):
    """An unknown encoding, a broken one, and what is no HTTP at all."""
    async with server(answer) as raw:
        error = await failed(make(post(raw.url)))
    assert (error.reason, text in str(error)) == (Reason.UPSTREAM, True), str(error)


@pytest.mark.spec("BND-59")
async def test_another_status_is_an_error_with_the_upstreams_own_words(make):
    """Method, host, path and status, and both ends of a long body; never the query."""
    async with server(reply("why: " + "x" * 2000 + " end", 404), reply("", 400), reply({"a": 1}, 418)) as raw:
        error = await failed(make(get(raw.url + "/a/${id}?q=hidden"), args=["id"]), id=7)
        assert error.reason is Reason.UPSTREAM
        assert str(error).startswith("GET 127.0.0.1/a/7 answered 404: why: xxx")
        assert (str(error).endswith("x end"), len(str(error)) < 560, "hidden" in str(error)) == (
            True,
            True,
            False,
        )
        assert str(await failed(make(get(raw.url)))) == "GET 127.0.0.1/ answered 400."
        as_value = make(get(raw.url), get(raw.url + "/never"), response={"errorMode": "value"})
        assert await call(as_value) == {"status": 418, "body": {"a": 1}}
        assert await call(make(get(raw.url), response={"successCodes": [418]})) == {"a": 1}
        assert "/never" not in [seen.target for seen in raw.requests]


@pytest.mark.spec("BND-56", "BND-66")
async def test_a_passing_failure_is_tried_again(make):
    """Twice more with growing gaps for what may be repeated; once for what may not; never for a plain no."""
    pace = Pace(base=0.05)
    async with server(reply("", 503), reply("", 429), reply("yes")) as raw:
        assert await call(make(get(raw.url), pace=pace)) == "yes"
        gaps = [later.at - seen.at for seen, later in zip(raw.requests, raw.requests[1:], strict=False)]
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
        async with server(reply("", status)) as raw:
            tool = make({"method": method, "urlTemplate": raw.url}, limits=limits)
            assert (await failed(tool)).reason is Reason.UPSTREAM
        assert len(raw.requests) == hits, method
    async with server(reply("fine", 503)) as raw:
        assert await call(make(get(raw.url), response={"successCodes": [503]})) == "fine"
    assert len(raw.requests) == 1


@pytest.mark.spec("BND-56")
async def test_a_lost_connection_is_tried_again(make):
    """Where nothing was sent for any method; afterwards only where repeating does no harm."""
    async with server(None, reply("back")) as raw:
        assert await call(make(get(raw.url))) == "back"
    async with server(None, reply("twice")) as raw:
        error = await failed(make(post(raw.url)))
    assert (error.reason, len(raw.requests)) == (Reason.UPSTREAM, 1)
    waits = []

    async def wait(seconds):
        waits.append(seconds)

    error = await failed(make(post(raw.url), pace=Pace(sleep=wait, random=lambda: 0.0)))
    assert (error.reason, waits, "has no answer" in str(error)) == (Reason.UPSTREAM, [0.2, 0.4], True)


def test_the_server_says_when_to_come_back():
    """Retry-After counts where it asks for more: seconds, or a date; nonsense says nothing."""
    pace = Pace(base=1, random=lambda: 1.0, wall=lambda: 1_000_000.0)
    assert [pace.gap(n, None) for n in (1, 2, 3)] == [1.5, 3.0, 6.0]
    assert pace.gap(1, " 7 ") == 7.0
    assert pace.gap(1, formatdate(1_000_030, usegmt=True)) == 30.0
    assert pace.gap(1, "Mon, 12 Jan 1970 13:47:10 -0000") == 30.0
    assert pace.gap(1, formatdate(5)) == 1.5
    for odd in ("", "soon", "-5", "٣", "Mon, 99 Foo", "1e9", "\0", "9" * 40, "99999999999 Jan 10:00 Mon"):
        assert pace.gap(1, odd) in (1.5, 999_999_999.0)


async def test_no_retry_goes_past_the_deadline(make):
    """A server that asks for more time than there is gets no second request; its answer is told at once."""
    async with server(reply("later", 503, Retry_After="60")) as raw:
        start = time.monotonic()
        error = await failed(make(get(raw.url)), seconds=5)
    assert (error.reason, len(raw.requests), time.monotonic() - start < 2) == (Reason.UPSTREAM, 1, True)


@pytest.mark.parametrize("where", ["request", "limits", "invocation"])
async def test_time_runs_out(make, where):
    """The request's limit, the tool's and the call's: the first one ends it, also within a body."""

    async def dribble(seen):
        await asyncio.sleep(30)

    started = b"HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\nonly this"
    for answer in (dribble, started):
        async with server(answer) as raw:
            request = get(raw.url + "/${KEY}?q=${KEY}", **({"timeoutMS": 80} if where == "request" else {}))
            limits = {"timeoutMS": 80} if where == "limits" else None
            tool = make(request, limits=limits, secrets=secret("KEY"))
            error = await failed(tool, seconds=0.08 if where == "invocation" else 10)
        assert (error.reason, str(error)) == (
            Reason.TIMEOUT,
            "GET 127.0.0.1/_secret_ took too long and was given up.",
        )


@pytest.mark.spec("BND-66")
async def test_sizes_are_bounded(make):
    """Sent bytes before they are sent; answers while they come, and as they are when decompressed."""
    async with server(reply("x" * 1000)) as raw:
        error = await failed(make(post(raw.url, body="y" * 99), limits={"maxSentBytes": 99}))
        assert (error.reason, raw.connections, "maxSentBytes is 99" in str(error)) == (
            Reason.TOO_LARGE_IN,
            0,
            True,
        )
        assert await call(make(post(raw.url, body="y" * 99), limits={"maxSentBytes": 100}))
        error = await failed(make(get(raw.url), limits={"maxRespBytes": 999}))
        assert (error.reason, "more than 999 bytes" in str(error)) == (Reason.TOO_LARGE_OUT, True)
        assert len(await call(make(get(raw.url), limits={"maxRespBytes": 1000}))) == 1000
    async with server(reply("x" * 1000, 500)) as raw:
        error = await failed(make(get(raw.url), limits={"maxRespBytes": 10}))
        assert str(error).endswith("answered 500: xxxxxxxxxx")


@pytest.mark.spec("BND-66")
async def test_a_small_answer_that_unfolds_without_end_is_stopped(make):
    """60 MB in 60 kB: no more is unfolded than allowed."""
    import tracemalloc

    bomb = reply(b"\0" * 60_000_000, zipped=True)
    async with server(bomb) as raw:
        tracemalloc.start()
        try:
            error = await failed(make(get(raw.url), limits={"maxRespBytes": 1_000_000}))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert (error.reason, peak < 10_000_000) == (Reason.TOO_LARGE_OUT, True), peak


async def test_https_is_spoken_only_with_whom_a_certificate_proves(make):
    """A server without one is not talked to, and a silent one is left without a trace."""

    async def plain(reader, writer):
        writer.write(reply())
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        error = await failed(make(get(f"https://127.0.0.1:{port}/")))
    assert (error.reason, "SSL" in str(error)) == (Reason.UPSTREAM, True), str(error)
    async with server(reply()) as raw:
        error = await failed(make(get(raw.url.replace("http", "https"))), seconds=0.2)
    assert (error.reason, raw.requests) == (Reason.TIMEOUT, [])
    gc.collect()


async def test_calls_that_are_given_up_leave_no_place_taken(make):
    """More than the pool has places for, all too slow; then one that is answered."""

    async def never(seen):
        await asyncio.sleep(30)

    async with RawServer(lambda seen: never(seen) if seen.target == "/slow" else reply("fast")) as raw:
        slow, fast = make(get(raw.url + "/slow")), make(get(raw.url + "/fast"))
        given_up = await asyncio.gather(*(failed(slow, seconds=0.3) for _ in range(150)))
        assert {error.reason for error in given_up} == {Reason.TIMEOUT}
        assert await call(fast) == "fast"


async def test_connections_are_kept(make):
    """Ten calls of ten tools, one connection; errors and redirects included."""
    async with server(reply("", 302, Location="/b"), reply("", 404), reply("x")) as raw:
        await failed(make(get(raw.url)))
        for _ in range(10):
            await call(make(get(raw.url)))
    assert (len(raw.requests), raw.connections) == (12, 1)


@pytest.mark.spec("BND-19")
async def test_redirects_are_followed_within_the_house_rules(make):
    """Same host: with everything. Another listed host: without credentials, secrets and body."""
    sent = {
        "headers": {"X-Secret": "${KEY}", "X-Plain": "p", "Cookie": "c=1"},
        "auth": {"type": "bearer", "token": "${KEY}"},
    }
    async with server(reply("there")) as other, server(reply("here")) as same_host:
        for status, method in [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")]:
            async with server(reply("", status, Location=f"http://localhost:{other.port}/x#part")) as raw:
                tool = make(post(raw.url, body={"a": 1}, **sent), secrets=secret("KEY"))
                assert await call(tool) == "there"
            seen = other.requests[-1]
            assert (seen.line, seen.body) == (f"{method} /x HTTP/1.1", b"")
            assert ("x-plain" in seen.headers, KEY in seen.head.decode()) == (True, False)
            assert not {"cookie", "authorization", "content-type"} & set(seen.headers)
            async with server(reply("", status, Location="/y?z=ü b"), reply("again")) as raw:
                tool = make(post(raw.url, body={"a": 1}, **sent), secrets=secret("KEY"))
                assert await call(tool) == "again"
            seen = raw.requests[-1]
            assert seen.line == f"{method} /y?z=%C3%BC%20b HTTP/1.1"
            assert seen.headers["authorization"] == f"Bearer {KEY}"
            assert seen.body == (b'{"a":1}' if method == "POST" else b"")
        async with server(reply("", 302, Location=f"http://127.0.0.1:{same_host.port}/")) as raw:
            assert await call(make(get(raw.url, **sent), secrets=secret("KEY"))) == "here"
        assert "authorization" not in same_host.requests[0].headers  # another port is another server


@pytest.mark.spec("BND-19")
async def test_redirects_that_are_not_followed(make):
    """To a host that is not listed, to no web address, without end, or without a place."""
    for location, reason, text in [
        ("http://evil.test/", Reason.HOST_NOT_ALLOWED, "'evil.test' is not in allowedHosts"),
        ("//evil.test/", Reason.HOST_NOT_ALLOWED, "'evil.test'"),
        (f"ftp://127.0.0.1/{KEY}", Reason.HOST_NOT_ALLOWED, "[secret]"),
        ("http://[::1", Reason.HOST_NOT_ALLOWED, "not followed"),
        ("/again", Reason.UPSTREAM, "more than 5 redirects"),
    ]:
        async with server(reply("", 302, Location=location)) as raw:
            tool = make(get(raw.url, headers={"X": "${KEY}"}), secrets=secret("KEY"))
            error = await failed(tool)
            assert (error.reason, text in str(error), KEY in str(error)) == (reason, True, False), str(error)
            assert len(raw.requests) == (6 if location == "/again" else 1)
    async with server(reply("nowhere", 302)) as raw:
        assert "answered 302: nowhere" in str(await failed(make(get(raw.url))))
        assert await call(make(get(raw.url), response={"successCodes": [302]})) == "nowhere"


def test_a_redirect_never_leaves_https():
    """What was sent under a lock is not sent on without."""
    from onetool.sources.http_tools.outgoing import build, redirected
    from onetool.sources.http_tools.values import Values

    values = Values({}, {}, {})
    outgoing = build(get("https://127.0.0.1/"), values)
    with pytest.raises(ExecutionError, match="from https to http"):
        redirected(outgoing, 302, "http://127.0.0.1/", values)
    upgraded = build(get("http://127.0.0.1/", headers={"Authorization": "x"}), values)
    following, is_same = redirected(upgraded, 308, "https://127.0.0.1/", values)
    assert (str(following.url), is_same, dict(following.headers)) == (
        "https://127.0.0.1/",
        True,
        {"Authorization": "x"},
    )
    head = build({"method": "HEAD", "urlTemplate": "http://127.0.0.1/"}, values)
    assert redirected(head, 303, "/x", values)[0].method == "HEAD"


@pytest.mark.spec("BND-65")
async def test_simple_credentials(make):
    """Bearer, basic and keys, where their definitions put them; over a header of the same name."""
    cases = [
        ({"type": "bearer", "token": "${KEY}"}, "authorization", f"Bearer {KEY}"),
        (
            {"type": "basic", "username": "ann", "password": "${KEY}"},
            "authorization",
            "Basic " + base64.b64encode(f"ann:{KEY}".encode()).decode(),
        ),
        ({"type": "apiKey", "in": "header", "name": "X-Key", "value": "${KEY}"}, "x-key", KEY),
    ]
    async with server(reply()) as raw:
        for auth, header, value in cases:
            headers = {"AUTHORIZATION": "mine", "x-key": "mine"}
            await call(make(get(raw.url, auth=auth, headers=headers), secrets=secret("KEY")))
            assert raw.requests[-1].headers[header] == value
            assert raw.requests[-1].head.lower().count(header.encode() + b":") == 1
        for url, target in [("/p", "/p?api%20key="), ("/p?a=1", "/p?a=1&api%20key=")]:
            auth = {"type": "apiKey", "in": "query", "name": "api key", "value": "${KEY}"}
            await call(make(get(raw.url + url, auth=auth), secrets=secret("KEY")))
            assert raw.requests[-1].target == target + "k3y-s3cret%2Fvalue%2B1"


@pytest.mark.spec("BND-65")
@pytest.mark.parametrize(("algorithm", "encoding"), [("sha256", "hex"), ("sha512", "base64")])
async def test_a_signature_covers_the_bytes_that_are_sent(make, algorithm, encoding):
    """The server computes the same from what it received; each redirect is signed anew."""
    auth = {"type": "hmac", "secret": "${KEY}", "algorithm": algorithm, "encoding": encoding}
    auth |= {"header": "X-Sign", "prefix": "v1=", "timestampHeader": "X-At"}
    auth["payload"] = "${method}\n${path}\n${query}\n${timestamp}\n${body}\n${id}"
    async with server(reply("", 307, Location="/c?d=%22"), reply()) as raw:
        url = raw.url + '/a/${id}/"?q=${id}&b=ü'
        tool = make(
            post(url, body={"x": "${id}"}, auth=auth),
            secrets=secret("KEY"),
            args=["id"],
            pace=Pace(wall=lambda: 1234.9),
        )
        await call(tool, id="ü /")
    assert len(raw.requests) == 2
    for seen in raw.requests:
        path, _, query = seen.target.partition("?")
        signed = f"POST\n{path}\n{query}\n1234\n".encode() + seen.body + "\nü /".encode()
        digest = hmac.new(KEY.encode(), signed, getattr(hashlib, algorithm)).digest()
        text = digest.hex() if encoding == "hex" else base64.b64encode(digest).decode()
        assert (seen.headers["x-sign"], seen.headers["x-at"]) == (f"v1={text}", "1234")
    async with server(reply()) as raw:
        plain = get(raw.url, auth={"type": "hmac", "secret": "s"})
        await call(make(plain, pace=Pace(wall=lambda: 5.0)))
    expected = hmac.new(b"s", b"GET\n/\n\n5\n", hashlib.sha256).hexdigest()
    assert raw.requests[0].headers["x-signature"] == expected


class TokenServer:
    """Gives tokens t1, t2, ... and takes only the newest that is not revoked."""

    def __init__(self, **said):
        self.given, self.revoked, self.said, self.forms = 0, set(), {"expires_in": 3600} | said, []

    async def __call__(self, seen):
        if seen.target != "/token":
            token = seen.headers["authorization"].removeprefix("Bearer ")
            is_good = token not in self.revoked and int(token.removeprefix("token-")) <= self.given
            return reply({"token": token} if is_good else {"refused": token}, 200 if is_good else 401)
        self.forms.append((parse_qs(seen.body.decode()), seen.headers.get("authorization")))
        await asyncio.sleep(0.02)
        self.given += 1
        return reply({"access_token": f"token-{self.given}", **self.said})


def oauth(raw, **more):
    return {
        "type": "oauth2",
        "tokenUrl": raw.url + "/token",
        "clientId": "me",
        "clientSecret": "${KEY}",
        **more,
    }


@pytest.mark.spec("BND-65")
async def test_twenty_calls_fetch_one_token(make):
    """It is kept for all tools with the same credentials, and renewed 30 seconds before its end."""
    now = [100.0]
    tokens = Tokens(now=lambda: now[0])
    issuer = TokenServer()
    async with RawServer(issuer) as raw:
        tools = [
            make(
                get(raw.url + "/x", auth=oauth(raw, scope="a b")),
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
        other = make(get(raw.url, auth=oauth(raw)), secrets=secret("KEY", "another"), tokens=tokens)
        assert await call(other) == {"token": "token-3"}


@pytest.mark.spec("BND-65")
async def test_a_refused_token_is_renewed_once(make):
    """The call is repeated with a new one; a token that was new already is not asked for again."""
    issuer, tokens = TokenServer(), Tokens()
    async with RawServer(issuer) as raw:
        tools = [
            make(post(raw.url, body="x", auth=oauth(raw)), secrets=secret("KEY"), tokens=tokens)
            for _ in range(10)
        ]
        assert await call(tools[0]) == {"token": "token-1"}
        issuer.revoked = {"token-1"}
        assert await asyncio.gather(*map(call, tools)) == [{"token": "token-2"}] * 10
        assert issuer.given == 2
        issuer.revoked = {"token-2", "token-3", "token-4"}
        error = await failed(tools[0])
        assert (error.reason, issuer.given, "token-3" in str(error)) == (Reason.UPSTREAM, 3, False)
        assert "answered 401" in str(error)
    fresh = TokenServer()
    fresh.revoked = {"token-1"}
    async with RawServer(fresh) as raw:
        assert "401" in str(await failed(make(get(raw.url, auth=oauth(raw)), secrets=secret("KEY"))))
    assert fresh.given == 1


@pytest.mark.spec("BND-65")
async def test_refresh_tokens_are_replaced_by_those_that_come(make):
    """A public client names itself in the form; tokens that end at once serve those who wait for them."""
    issuer = TokenServer(refresh_token="next-refresh-token", expires_in=1)
    auth = {"type": "oauth2", "grant": "refresh_token", "refreshToken": "${KEY}", "clientId": "me"}
    async with RawServer(issuer) as raw:
        tool = make(get(raw.url, auth={**auth, "tokenUrl": raw.url + "/token"}), secrets=secret("KEY"))
        assert await asyncio.gather(*(call(tool) for _ in range(5))) == [{"token": "token-1"}] * 5
        assert await call(tool) == {"token": "token-2"}
    first = {"grant_type": ["refresh_token"], "client_id": ["me"], "refresh_token": [KEY]}
    assert issuer.forms == [(first, None), (first | {"refresh_token": ["next-refresh-token"]}, None)]


@pytest.mark.spec("BND-65")
@pytest.mark.parametrize(
    "answer",
    [
        reply({"error": f"bad {KEY}"}, 401),
        reply("not json " + KEY),
        reply([KEY]),
        reply({"access_token": 5}),
        reply({"access_token": [KEY], "refresh_token": KEY}),
        reply({"access_token": f"{KEY}\r\nX: y"}),
        reply("", 302, Location="http://evil.test/"),
    ],
)
async def test_a_token_that_cannot_be_had(make, answer):
    """All who wait get the same refusal after one request, and no secret in it."""
    async with server(answer) as raw:
        tool = make(get(raw.url, auth=oauth(raw)), secrets=secret("KEY"))
        errors = await asyncio.gather(*(call(tool) for _ in range(5)), return_exceptions=True)
    assert len(raw.requests) == 1
    for error in errors:
        assert (error.reason, "access" in str(error)) == (Reason.UPSTREAM, True)
        assert KEY not in str(error)


@pytest.mark.parametrize("odd", [{"expires_in": "1 hour"}, {"expires_in": None}, {"refresh_token": 5}])
async def test_what_is_odd_beside_a_token_does_no_harm(make, odd):
    """A token that is there is used."""
    issuer = TokenServer(**odd)
    async with server(issuer) as raw:
        tool = make(get(raw.url, auth=oauth(raw)), secrets=secret("KEY"))
        assert await call(tool) == {"token": "token-1"}


def test_a_server_does_not_choose_a_codec_that_takes_minutes():
    """What is no encoding of texts is read as UTF-8; what is one, as that."""
    slow = BodyAnswer(
        status=200, content=b"a" * 5_000_000 + b"-x", content_type="text/plain; charset=punycode"
    )
    assert slow.text().endswith("a-x")
    latin = BodyAnswer(
        status=200, content="é".encode("latin-1"), content_type='text/plain; charset="ISO-8859-1"'
    )
    assert latin.text() == "é"


@pytest.mark.spec("BND-19", "BND-65")
async def test_the_token_endpoint_is_behind_the_same_wall(make):
    """Its host must be listed, and the secret be meant for it; the first who gives up does not spoil it."""
    async with RawServer(TokenServer()) as raw:
        elsewhere = make(
            get(raw.url, auth=oauth(raw) | {"tokenUrl": "http://evil.test/t"}), secrets=secret("KEY")
        )
        assert (await failed(elsewhere)).reason is Reason.HOST_NOT_ALLOWED
        bound = make(get(raw.url, auth=oauth(raw)), secrets=secret("KEY", hosts=("localhost",)))
        assert (await failed(bound)).reason is Reason.HOST_NOT_ALLOWED
        assert raw.connections == 0
        tool = make(get(raw.url, auth=oauth(raw)), secrets=secret("KEY"))
        hasty, patient = await asyncio.gather(call(tool, seconds=0.01), call(tool), return_exceptions=True)
    assert (hasty.reason, patient["token"][:6]) == (Reason.TIMEOUT, "token-")


async def test_tokens_do_not_pile_up(make, monkeypatch):
    """Scopes that a model makes up push out the oldest."""
    monkeypatch.setattr("onetool.sources.http_tools.tokens.MAX_KEPT", 2)
    issuer = TokenServer()
    async with RawServer(issuer) as raw:
        auth = oauth(raw, scope="${s}")
        tool = make(get(raw.url, auth=auth), secrets=secret("KEY"), args=["s"])
        found = [(await call(tool, s=s))["token"] for s in "abaca"]
    assert found == ["token-1", "token-2", "token-1", "token-3", "token-4"]


async def test_no_message_tells_a_secret(make, caplog):
    """Whatever an upstream sends back, in whatever form the secret has reached it."""
    caplog.set_level("INFO")
    basic = base64.b64encode(f"ann:{KEY}".encode()).decode()

    def tell(seen):
        return reply(seen.head + seen.body + json.dumps(KEY).encode(), random.choice([400, 401, 404, 500]))

    auths = [
        {"type": "bearer", "token": "${KEY}"},
        {"type": "basic", "username": "ann", "password": "${KEY}"},
        {"type": "apiKey", "in": "query", "name": "k", "value": "${KEY}"},
        {"type": "hmac", "secret": "${KEY}", "payload": "${KEY}"},
    ]
    async with server(tell) as raw:
        for auth in auths:
            request = post(
                raw.url + "/${KEY}/x?a=${KEY}",
                query={"b": "${KEY}"},
                headers={"X": "${KEY}", "User-Agent": "u", "Accept": "a"},
                body={"c": "d ${KEY}"},
                auth=auth,
            )
            error = await failed(make(request, secrets=secret("KEY")))
            told = str(error) + repr(error) + repr(error.__cause__)
            assert str(error).startswith("POST 127.0.0.1/_secret_/x answered ")
            assert not [form for form in (KEY, KEY.replace("/", "%2F"), basic) if form in told]
        for location in (f"/{KEY}", f"http://evil.test/{KEY}", f"http://{KEY}/", f"x://{KEY}"):
            async with server(reply("", 302, Location=location), None) as leads:
                tool = make(post(leads.url, headers={"X": "${KEY}"}), secrets=secret("KEY"))
                assert KEY not in str(await failed(tool))
    assert KEY not in caplog.text
    assert KEY not in repr(Token(value=KEY, seconds=1, refresh=KEY))


async def test_a_tool_in_the_pipeline(make):
    """Its errors keep their reasons, and its time limits work within those of the call."""

    async def dribble(seen):
        await asyncio.sleep(30)

    async with server(reply({"a": 1}), reply("no", 404), dribble) as raw:
        registry = Registry()
        for name, limits in [("plain", {}), ("short", {"timeoutMS": 50})]:
            spec = ToolSpec(name=f"web.{name}", description="x", input_schema=schema(), timeout=0.3)
            registry.register(Tool(spec, make(get(raw.url), limits=limits).run))
        async with memory_runtime(sources=[Snapshot(Fixed("web", registry))]) as ot:
            assert (await ot.call("web.plain")).data == {"a": 1}
            assert (await ot.call("web.plain")).meta.reason is Reason.UPSTREAM
            assert (await ot.call("web.short")).meta.reason is Reason.TIMEOUT
            assert (await ot.call("web.plain")).meta.reason is Reason.TIMEOUT
            assert (await ot.call("tools.echo", message=1)).ok

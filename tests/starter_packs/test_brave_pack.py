"""The brave pack: requests to the search API, and conversion of responses."""

import pytest

from onetool.testing import HttpStub, StubResponse, memory_runtime

ITEM = {
    "title": "A &amp; B",
    "url": "https://a.example/",
    "description": "what <strong>was</strong> found",
    "extra": {"favicon": "x"},
}
SECRETS = {"BRAVE_API_KEY": "bk-secret"}


def settings(stub):
    """Return settings that point the pack at a stub."""
    return {"allowedHosts": ["127.0.0.1"], "packs": {"brave": {"base_url": f"{stub.url}/res/v1/"}}}


async def call(tool, response, secrets=SECRETS, **args):
    path = f"/res/v1/{'news' if tool == 'news' else 'web'}/search"
    with HttpStub({path: response}) as stub:
        async with memory_runtime(settings=settings(stub), secrets=secrets) as ot:
            result = await ot.call(f"brave.{tool}", **args)
    return result, stub.requests


async def test_web_search():
    """The key is sent in its header, empty arguments are omitted, and results are compact."""
    result, requests = await call(
        "search", StubResponse({"web": {"results": [ITEM]}}), query="a b&c", count=3
    )
    assert result.data == [{"title": "A & B", "url": "https://a.example/", "description": "what was found"}]
    assert requests[0].headers["X-Subscription-Token"] == "bk-secret"
    assert requests[0].path == "/res/v1/web/search?q=a+b%26c&count=3&text_decorations=false"


async def test_news_search():
    """Articles have an age; country and freshness are sent."""
    response = StubResponse({"results": [{**ITEM, "age": "2 hours ago"}]})
    result, requests = await call("news", response, query="x", count=99, country="de", freshness="week")
    assert result.data[0]["age"] == "2 hours ago"
    assert "count=50&country=de&freshness=pw" in requests[0].path


async def test_response_without_results_returns_an_empty_list():
    bodies = iter([{}, [], {"web": None}, {"web": {"results": None}}, {"web": {"results": ["x", {}]}}])
    with HttpStub({"/res/v1/web/search": lambda request: StubResponse(next(bodies))}) as stub:
        async with memory_runtime(settings=settings(stub), secrets=SECRETS) as ot:
            for _ in range(5):
                assert (await ot.call("brave.search", query="x")).data == []


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "is invalid"), (429, "too many requests"), (500, "try again later")]
)
async def test_error_status_is_explained_without_the_key(status, hint):
    result, _ = await call("search", StubResponse({"error": "bk-secret"}, status), query="x")
    assert f"status {status}" in result.error.message
    assert hint in result.error.message
    assert "bk-secret" not in result.error.message


async def test_response_that_is_not_json_is_an_error():
    result, _ = await call("search", StubResponse("<html>"), query="x")
    assert "did not return JSON" in result.error.message


async def test_redirects_are_not_followed():
    """The key must not be sent to another server."""
    with HttpStub({}) as other:
        result, _ = await call("search", StubResponse("", 302, {"Location": f"{other.url}/x"}), query="x")
    assert "status 302" in result.error.message
    assert other.requests == []


async def test_missing_key_is_an_error_without_a_request():
    result, requests = await call("search", StubResponse({}), secrets={}, query="x")
    assert "BRAVE_API_KEY is missing. Add it with: onetool secrets set BRAVE_API_KEY" in result.error.message
    assert requests == []
    async with memory_runtime() as ot:
        lines = (await ot.call("ot.check", tool="brave")).data
    assert "BRAVE_API_KEY" in str(lines)

"""The brave pack: what is asked of the search engine, and what is made of its answer."""

import pytest

from onetool.testing import HttpStub, Reply, memory_runtime

FOUND = {
    "title": "A &amp; B",
    "url": "https://a.example/",
    "description": "what <strong>was</strong> found",
    "extra": {"favicon": "x"},
}
SECRETS = {"BRAVE_API_KEY": "bk-secret"}


def settings(stub):
    """Point the pack at a server on loopback."""
    return {"allowedHosts": ["127.0.0.1"], "packs": {"brave": {"base_url": f"{stub.url}/res/v1/"}}}


async def ask(tool, answer, secrets=SECRETS, **args):
    path = f"/res/v1/{'news' if tool == 'news' else 'web'}/search"
    with HttpStub({path: answer}) as stub:
        async with memory_runtime(settings=settings(stub), secrets=secrets) as ot:
            result = await ot.call(f"brave.{tool}", **args)
    return result, stub.requests


async def test_a_search_of_the_web():
    """The key goes in its header, empty arguments stay out, and results are compact."""
    result, requests = await ask("search", Reply({"web": {"results": [FOUND]}}), query="a b&c", count=3)
    assert result.data == [{"title": "A & B", "url": "https://a.example/", "description": "what was found"}]
    assert requests[0].headers["X-Subscription-Token"] == "bk-secret"
    assert requests[0].path == "/res/v1/web/search?q=a+b%26c&count=3&text_decorations=false"


async def test_a_search_of_the_news():
    """Articles come with their age; country and freshness are passed on."""
    answer = Reply({"results": [{**FOUND, "age": "2 hours ago"}]})
    result, requests = await ask("news", answer, query="x", count=99, country="de", freshness="week")
    assert result.data[0]["age"] == "2 hours ago"
    assert "count=50&country=de&freshness=pw" in requests[0].path


async def test_an_answer_without_results_is_empty():
    """Whatever shape an answer has, the tool returns a list."""
    odd = iter([{}, [], {"web": None}, {"web": {"results": None}}, {"web": {"results": ["x", {}]}}])
    with HttpStub({"/res/v1/web/search": lambda request: Reply(next(odd))}) as stub:
        async with memory_runtime(settings=settings(stub), secrets=SECRETS) as ot:
            for _ in range(5):
                assert (await ot.call("brave.search", query="x")).data == []


@pytest.mark.parametrize(
    ("status", "said"), [(401, "does not accept the key"), (429, "too many searches"), (500, "try later")]
)
async def test_a_refusal_says_what_to_do(status, said):
    """The status is explained, and the key is not repeated."""
    result, _ = await ask("search", Reply({"error": "bk-secret"}, status), query="x")
    assert f"status {status}" in result.error.message
    assert said in result.error.message
    assert "bk-secret" not in result.error.message


async def test_an_answer_that_is_no_json():
    """A page of a proxy in between is an error in words."""
    result, _ = await ask("search", Reply("<html>"), query="x")
    assert "did not answer with JSON" in result.error.message


async def test_the_key_follows_no_redirect():
    """Another server is not told the key."""
    with HttpStub({}) as other:
        result, _ = await ask("search", Reply("", 302, {"Location": f"{other.url}/x"}), query="x")
    assert "status 302" in result.error.message
    assert other.requests == []


async def test_without_a_key_nothing_is_asked():
    """The message says where the key belongs, and the check names it."""
    result, requests = await ask("search", Reply({}), secrets={}, query="x")
    assert "BRAVE_API_KEY is missing; add it to secrets.yaml" in result.error.message
    assert requests == []
    async with memory_runtime() as ot:
        lines = (await ot.call("ot.check", tool="brave")).data
    assert "BRAVE_API_KEY" in str(lines)

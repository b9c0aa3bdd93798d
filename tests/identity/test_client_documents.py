"""Documents of MCP clients, which anyone can publish: they may lie, be large or slow, and lead inside."""

import asyncio
import socket
import threading

import pytest

from onetool.domain.identity.oauth_client import InvalidClient
from onetool.identity import client_documents
from onetool.identity.client_documents import FAILURE_AGE_S, MAX_AGE_S, MAX_BYTES, ClientDocuments
from onetool.testing.http_stub import HttpStub, StubResponse

LISTED = ["127.0.0.1"]
URI = "https://client.example/cb"


class Publisher:
    """A host of documents."""

    def __init__(self, stub, responses):
        self.stub, self._responses = stub, responses
        self.url = f"{stub.url}/client.json"

    def publish(self, content_type="application/json", status=200, **fields):
        body = {"client_id": self.url, "client_name": "Client", "redirect_uris": [URI]} | fields
        self.respond(StubResponse(body, status, {"Content-Type": content_type}))

    def respond(self, response):
        self._responses["/client.json"] = response


@pytest.fixture
def publisher():
    responses = {}
    with HttpStub(responses) as stub:
        publisher = Publisher(stub, responses)
        publisher.publish()
        yield publisher


async def test_document_describes_its_client(publisher):
    client = await ClientDocuments(LISTED).find(publisher.url)
    assert client == (publisher.url, "Client", (URI,), "127.0.0.1")
    publisher.publish("application/vnd.client+json; charset=utf-8")
    assert await ClientDocuments(LISTED).find(publisher.url) == client


WRONG = {
    "a page": ({"content_type": "text/html"}, "not JSON"),
    "a text": ({"content_type": "text/plain"}, "not JSON"),
    "no type": ({"content_type": ""}, "not JSON"),
    "an error": ({"status": 500}, "status 500"),
    "missing": ({"status": 404}, "status 404"),
    "an empty response": ({"status": 204}, "status 204"),
    "another client": ({"client_id": "https://good.example/client.json"}, "another client"),
    "no client": ({"client_id": None}, "another client"),
    "a huge name": ({"client_name": "x" * MAX_BYTES}, "more than"),
}


@pytest.fixture
def log(caplog):
    caplog.set_level("INFO")
    return caplog


async def check_unusable(id, reason, log, hosts=LISTED):
    """Check that the one who named the URL gets one sentence, and the operator the reason."""
    documents = ClientDocuments(hosts)
    for _ in range(2):
        with pytest.raises(InvalidClient) as caught:
            await documents.find(id)
        assert str(caught.value) == client_documents.UNUSABLE
    assert reason in log.text


@pytest.mark.parametrize(("fields", "reason"), WRONG.values(), ids=WRONG)
async def test_wrong_document_is_refused_in_one_sentence(publisher, fields, reason, log):
    """Whatever is at a URL: a member must not learn which internal names and ports exist."""
    publisher.publish(**fields)
    await check_unusable(publisher.url, reason, log)


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"client_secret": "x"}, "no secret"), ({"redirect_uris": []}, "redirect_uris")],
)
async def test_document_that_the_client_wrote_is_described(publisher, fields, message):
    """It names the client by its URL, so its author may know what is wrong."""
    publisher.publish(**fields)
    with pytest.raises(InvalidClient, match=message):
        await ClientDocuments(LISTED).find(publisher.url)


async def test_closed_port_and_unknown_name_are_not_told_apart(log):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        await check_unusable(f"http://127.0.0.1:{closed.getsockname()[1]}/client.json", "cannot be read", log)
    await check_unusable("https://no-such-name.invalid/client.json", "cannot be read", log)


@pytest.mark.parametrize("body", ["<html>", "[]", '"x"', "{", "null"])
async def test_document_must_be_an_object(publisher, body, log):
    publisher.respond(StubResponse(body, 200, {"Content-Type": "application/json"}))
    await check_unusable(publisher.url, "not a JSON object", log)


async def test_redirect_is_not_followed(publisher, log):
    target = f"{publisher.stub.url}/other.json"
    publisher.respond(StubResponse("", 302, {"Location": target}))
    await check_unusable(publisher.url, "redirects", log)
    assert [request.path for request in publisher.stub.requests] == ["/client.json"]


async def test_slow_document_is_given_up(publisher, monkeypatch, log):
    monkeypatch.setattr(client_documents, "TIMEOUT_S", 0.05)
    is_over = threading.Event()

    def respond(request):
        is_over.wait(60)
        return StubResponse("")

    publisher.respond(respond)
    await check_unusable(publisher.url, "did not respond", log)
    is_over.set()


@pytest.mark.parametrize(
    "id",
    [
        "https://127.0.0.1/client.json", "https://10.0.0.1/client.json", "https://[::1]/client.json",
        "https://169.254.169.254/latest/meta-data", "https://localhost/client.json", "https://2130706433/x",
        "https://0x7f.1/client.json", "https://[::ffff:127.0.0.1]/client.json", "https://0/x",
    ],
)  # fmt: skip
async def test_private_address_is_not_reached(id, log):
    await check_unusable(id, "cannot be read", log, hosts=[])


async def test_host_must_be_listed_to_be_without_tls(publisher):
    for hosts in ([], ["localhost"], ["other.example"]):
        with pytest.raises(InvalidClient, match="must be an https URL"):
            await ClientDocuments(hosts).find(publisher.url)
    with pytest.raises(InvalidClient, match="must be an https URL"):
        await ClientDocuments(["intranet.example"]).find("http://intranet.example/client.json")
    assert publisher.stub.requests == []


@pytest.mark.parametrize(
    "id",
    [
        "", "client", "https://client.example", "https://client.example/", "https://user@client.example/c",
        "https://client.example/c#x", "https://client.example/a/../c", "https://client.example/./c",
        "https://client.example/a/..", "https://client.example/%2e%2e/c", "https://client.example/..?x",
        "HTTPS://client.example/c", "https://CLIENT.example/c", "https://client.example/ c",
        "https://client.example\\c", "https://client.example/c\n", "https://ä.example/c", "ftp://client.example/c",
        "javascript:alert(1)", "https://client.example/" + "x" * 1_000, "https:///c", "https://a b/c",
        'https://client.example/"', "https://client.example/<", "file:///etc/passwd", "registered",
    ],
)  # fmt: skip
async def test_id_must_be_a_plain_url(id):
    with pytest.raises(InvalidClient, match="is not an https URL"):
        await ClientDocuments(LISTED).find(id)


async def test_document_and_failure_stay_in_memory_for_a_while(publisher):
    now = 0.0
    documents = ClientDocuments(LISTED, clock=lambda: now)
    publisher.publish(status=500)
    for _ in range(3):
        with pytest.raises(InvalidClient):
            await documents.find(publisher.url)
    assert len(publisher.stub.requests) == 1
    publisher.publish()
    now += FAILURE_AGE_S
    assert (await documents.find(publisher.url)).name == "Client"
    publisher.publish(client_name="New")
    assert (await documents.find(publisher.url)).name == "Client"
    now += MAX_AGE_S
    found = await asyncio.gather(*(documents.find(publisher.url) for _ in range(20)))
    assert {client.name for client in found} == {"New"}
    assert len(publisher.stub.requests) <= 3 + client_documents.MAX_FETCHES


async def test_number_of_documents_in_memory_is_limited(publisher, monkeypatch):
    monkeypatch.setattr(client_documents, "MAX_DOCUMENTS", 2)
    documents = ClientDocuments(LISTED)
    for name in ("a", "b", "c"):
        with pytest.raises(InvalidClient):
            await documents.find(f"{publisher.stub.url}/{name}")
    with pytest.raises(InvalidClient):
        await documents.find(f"{publisher.stub.url}/a")
    assert [request.path for request in publisher.stub.requests] == ["/a", "/b", "/c", "/a"]


async def test_hanging_hosts_do_not_occupy_all_requests_for_ever(publisher, monkeypatch):
    monkeypatch.setattr(client_documents, "FETCH_WAIT_S", 0.05)
    is_over = threading.Event()

    def respond(request):
        is_over.wait(60)
        return StubResponse("")

    publisher.respond(respond)
    documents = ClientDocuments(LISTED)
    hanging = [
        asyncio.create_task(documents.find(f"{publisher.url}?{n}"))
        for n in range(client_documents.MAX_FETCHES)
    ]
    await asyncio.sleep(0)
    with pytest.raises(InvalidClient, match="Try again"):
        await documents.find(publisher.url)
    is_over.set()
    assert all(
        isinstance(one, InvalidClient) for one in await asyncio.gather(*hanging, return_exceptions=True)
    )

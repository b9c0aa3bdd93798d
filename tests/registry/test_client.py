"""The client of the MCP registry: limits, validation, and stored answers without a connection."""

import threading

import pytest

from onetool.registry import answer_cache
from onetool.registry import client as client_module
from onetool.registry.answer_cache import AnswerCache
from onetool.registry.client import RegistryClient, RegistryError
from onetool.testing import HttpStub, StubResponse
from support.registry_stub import FILESYSTEM, RegistryStub, entry, filesystem_entry, time_entry


class Clock:
    """A clock that a test sets."""

    def __init__(self):
        self.now = 1_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def stub():
    with RegistryStub(filesystem_entry("1.0.0"), filesystem_entry("2.0.0"), time_entry()) as running:
        yield running


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def offline():
    return []


@pytest.fixture
def client(stub, tmp_path, clock, offline):
    return RegistryClient(stub.url + "/", AnswerCache(tmp_path / "c"), now=clock, on_offline=offline.append)


def test_search_asks_for_latest_versions_and_compares_all_words(client, stub):
    found = client.search(["Filesystem", "about"], 50)
    assert [item.name for item in found.entries] == [FILESYSTEM]
    assert found.is_complete
    assert stub.requests[0].path == "/v0.1/servers?search=Filesystem&limit=100&version=latest"
    assert client.search(["filesystem", "missing"], 50).entries == ()


def test_search_follows_cursors_up_to_a_limit(client, stub):
    stub.entries = [entry(f"a.b/server-{number}") for number in range(12)]
    stub.page_size = 2
    found = client.search(["server"], 50)
    assert (len(found.entries), found.is_complete) == (10, False)
    assert len(stub.requests) == 5
    assert "&cursor=2" in stub.requests[1].path
    found = client.search(["server"], 3)
    assert (len(found.entries), found.is_complete) == (3, False)


@pytest.mark.parametrize(
    "metadata", [None, [], {"nextCursor": 5}, {"nextCursor": "x" * 1_001}, {"nextCursor": "\n"}]
)
def test_invalid_cursor_ends_the_search(metadata, client, stub):
    stub.failure = StubResponse({"servers": [filesystem_entry()], "metadata": metadata})
    assert len(client.search(["filesystem"], 50).entries) == 1
    assert len(stub.requests) == 1


def test_invalid_entries_are_skipped(client, stub):
    stub.entries = [entry("../../x"), entry("a/b\x1b"), "text", None, entry("a.b/good")]
    stub.failure = StubResponse({"servers": stub.entries})
    found = client.search(["good"], 50)
    assert ([item.name for item in found.entries], found.skipped) == (["a.b/good"], 4)


@pytest.mark.parametrize("answer", [[], "text", {"servers": {}}, None])
def test_answer_of_another_shape_has_no_servers(answer, client, stub):
    stub.failure = StubResponse(answer if answer != "text" else '"text"')
    assert client.search(["x"], 50).entries == ()


def test_entry_is_read_by_name_and_version(client, stub):
    assert client.entry(FILESYSTEM).version == "2.0.0"
    assert client.entry(FILESYSTEM, "1.0.0").version == "1.0.0"
    path = "/v0.1/servers/io.github.modelcontextprotocol%2Fserver-filesystem/versions/"
    assert [request.path for request in stub.requests] == [path + "latest", path + "1.0.0"]


@pytest.mark.parametrize(
    ("name", "version", "message"),
    [
        ("a.b/missing", "latest", "no such server or version"),
        ("../../../admin", "latest", "is not a name of the registry"),
        (FILESYSTEM, "../../x", "is not a version"),
    ],
)
def test_missing_and_invalid_names_are_errors(name, version, message, client):
    with pytest.raises(RegistryError, match=message):
        client.entry(name, version)


def test_another_server_than_requested_is_rejected(client, stub):
    stub.failure = StubResponse(entry("a.b/evil", "2.0.0"))
    with pytest.raises(RegistryError, match=r"returned 'a\.b/evil' '2\.0\.0' instead of"):
        client.entry(FILESYSTEM)
    stub.failure = StubResponse(filesystem_entry("2.0.0"))
    with pytest.raises(RegistryError, match="instead of"):
        client.entry(FILESYSTEM, "1.0.0")


def test_invalid_entry_is_an_error(client, stub):
    stub.failure = StubResponse({"server": {"name": "x\x1b"}})
    with pytest.raises(RegistryError, match="cannot be used: its name"):
        client.entry(FILESYSTEM)


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        (StubResponse("not JSON"), "not valid JSON"),
        (StubResponse("[" * 200_000), "not valid JSON"),
        (StubResponse("", 500), "status 500"),
        (StubResponse("", 302, {"Location": "http://169.254.169.254/"}), "redirects to another address"),
        (StubResponse("x", headers={"Content-Encoding": "gzip"}), "content encoding"),
        (StubResponse(" " * (4 * 2**20 + 1)), "more than 4,194,304 bytes"),
    ],
)
def test_unusable_response_is_an_error_and_the_stored_answer_is_used(
    response, problem, client, stub, clock, offline
):
    stub.failure = response
    with pytest.raises(RegistryError, match=problem):
        client.entry(FILESYSTEM)
    stub.failure = None
    client.entry(FILESYSTEM)
    stub.failure, clock.now = response, clock.now + 7_200
    assert client.entry(FILESYSTEM).version == "2.0.0"
    assert problem in offline[0].problem
    assert offline[0].age_s == 7_200


def test_redirect_is_not_followed(client, stub):
    with HttpStub({}) as other:
        stub.failure = StubResponse("", 302, {"Location": f"{other.url}/private"})
        with pytest.raises(RegistryError):
            client.entry(FILESYSTEM)
        assert other.requests == []


def test_slow_response_ends_at_the_time_limit(client, stub, monkeypatch):
    monkeypatch.setattr(client_module, "TIMEOUT_S", 0.2)
    released = threading.Event()

    def respond(request):
        released.wait(30)
        return StubResponse(filesystem_entry())

    monkeypatch.setattr(stub, "respond", respond)
    try:
        with pytest.raises(RegistryError, match=r"did not respond within 0\.2 s"):
            client.entry(FILESYSTEM)
    finally:
        released.set()


def test_search_works_without_a_connection(client, stub, clock, offline):
    online = client.search(["filesystem"], 50)
    stub.failure, clock.now = StubResponse("", 503), 900.0
    assert client.search(["filesystem"], 50) == online
    assert offline[0].age_s == 0.0
    with pytest.raises(RegistryError, match="cannot be reached"):
        client.search(["other"], 50)


def test_server_that_is_gone_is_not_taken_from_the_cache(client, stub):
    client.entry(FILESYSTEM)
    stub.entries = []
    with pytest.raises(RegistryError, match="no such server"):
        client.entry(FILESYSTEM)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"url": "x", "fetchedAt": "y"}', b"\xff", b"[" * 200_000]
)
def test_corrupt_stored_answer_counts_as_missing(content, client, stub, tmp_path):
    client.entry(FILESYSTEM)
    (file,) = (tmp_path / "c").iterdir()
    file.write_bytes(content)
    stub.failure = StubResponse("", 503)
    with pytest.raises(RegistryError, match="cannot be reached"):
        client.entry(FILESYSTEM)


def test_oldest_stored_answers_are_deleted(tmp_path, monkeypatch):
    monkeypatch.setattr(answer_cache, "MAX_FILES", 2)
    cache = AnswerCache(tmp_path / "c")
    for number in range(4):
        cache.write(f"u{number}", number, float(number))
    assert len(list((tmp_path / "c").iterdir())) == 2
    assert cache.read("u3") == (3.0, 3)
    assert cache.read("u0") is None


def test_cache_that_cannot_be_written_does_not_prevent_the_use(stub, tmp_path, clock):
    (tmp_path / "file").write_text("x")
    client = RegistryClient(stub.url, AnswerCache(tmp_path / "file"), now=clock, on_offline=print)
    assert client.entry(FILESYSTEM).name == FILESYSTEM


@pytest.mark.parametrize(
    "url",
    ["http://registry.example.com", "https://me:hunter2@x.com", "https://[bad", "ftp://x", "https:///a", ""],
)
def test_registry_must_use_https(url, tmp_path, clock):
    with pytest.raises(RegistryError, match=r"^registry\.base_url must be an https URL without a login\.$"):
        RegistryClient(url, AnswerCache(tmp_path), now=clock, on_offline=print)

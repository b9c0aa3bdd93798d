"""What clients may say about themselves, and where they may be sent."""

import pytest

from onetool.domain.identity.oauth_client import (
    MAX_NAME_CHARS,
    MAX_URI_CHARS,
    MAX_URIS,
    InvalidClient,
    OAuthClient,
    parse_client,
    redirect_origin,
)

URI = "https://client.example/cb"


def client(*uris):
    return parse_client("id", {"redirect_uris": list(uris)})


@pytest.mark.parametrize(
    "uri",
    [
        URI,
        "https://client.example:8443/cb?x=%20&y=a;b",
        "https://client.example",
        "http://127.0.0.1/cb",
        "http://[::1]:8/cb",
        "http://localhost:3000",
        "cursor://anysphere.cursor-retrieval/oauth/callback",
        "com.example.app://back",
        "vscode://vscode.github-authentication/did-authenticate",
    ],
)
def test_redirect_uris_of_web_pages_programs_and_apps(uri):
    assert client(uri).redirect_uris == (uri,)
    client(uri).check_redirect_uri(uri)


@pytest.mark.parametrize(
    "uri",
    [
        "", "cb", "/cb", "//client.example/cb", "https:/client.example", "https://", "https:///cb",
        "https://user@client.example/", "https://user:pw@client.example/", "https://client.example/#x",
        "https://client.example/ x", "https://client.example/\\x", 'https://client.example/"', "https://a;b/",
        "https://client.example/<x>", "https://a b/", "https://client.example:x/", "https://client.example:/",
        "https://client.example\n", "https://client.example/ä", "https://ä.example/", "HTTPS://client.example/",
        "https://client.example'; script-src *", "https://[::1/", "https://[x]/", "http://client.example/cb",
        "http://127.0.0.1.evil.com/", "http://127.0.0.1@evil.com/", "http://127.0.0.2/", "http://10.0.0.1/",
        "javascript:alert(1)", "javascript://x/%0aalert(1)", "data:text/html,x", "data://x/", "file:///etc/x",
        "file://host/x", "blob://x/", "ftp://x/", "vbscript://x/", "x" * 60 + "://a/",
        "ms-msdt://x/", "search-ms://x/", "ms-appinstaller://x/", "intent://x/", "chrome://x/", "view-source://x/",
        "x-apple.systempreferences://x/", "ssh://x/", "mailto://x/", "steam://run/1", "app://x/", "com.://x/",
        f"https://client.example/{'x' * MAX_URI_CHARS}", None, 1, ["https://client.example/"], {},
    ],
)  # fmt: skip
def test_other_redirect_uris_are_refused(uri):
    with pytest.raises(InvalidClient, match="redirect URI"):
        client(uri)
    with pytest.raises(InvalidClient):
        client(URI, uri)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"redirect_uris": None},
        {"redirect_uris": []},
        {"redirect_uris": URI},
        {"redirect_uris": {URI: 1}},
        {"redirect_uris": [URI] * (MAX_URIS + 1)},
        {"redirect_uris": [URI], "token_endpoint_auth_method": "client_secret_basic"},
        {"redirect_uris": [URI], "token_endpoint_auth_method": "private_key_jwt"},
        {"redirect_uris": [URI], "token_endpoint_auth_method": 1},
        {"redirect_uris": [URI], "client_secret": "x"},
        {"redirect_uris": [URI], "client_name": ["x"]},
    ],
)
def test_documents_that_cannot_be_used(document):
    with pytest.raises(InvalidClient):
        parse_client("id", document)


def test_name_is_shown_as_it_is_read():
    fields = {"redirect_uris": [URI], "client_name": " A\u202eB\x00\nC\u200b" + "x" * 200}
    name = parse_client("id", fields).name
    assert name == ("ABC" + "x" * 200)[:MAX_NAME_CHARS]
    assert parse_client("id", {"redirect_uris": [URI], "client_name": None}).name == ""


def test_only_programs_on_the_computer_choose_their_port():
    program = client("http://127.0.0.1:80/cb", "http://[::1]/cb")
    for uri in ("http://127.0.0.1/cb", "http://127.0.0.1:50000/cb", "http://[::1]:9/cb"):
        program.check_redirect_uri(uri)
    for uri in (
        "http://localhost/cb",
        "http://127.0.0.1:1:2/cb",
        "http://127.0.0.1:999999/cb",
        "http://[::1]:9/",
    ):
        with pytest.raises(InvalidClient, match="not one of the client's"):
            program.check_redirect_uri(uri)
    with pytest.raises(InvalidClient):
        client(URI).check_redirect_uri("https://client.example:443/cb")


def test_uri_that_was_registered_earlier_is_refused_if_it_opens_a_program():
    """Registrations are kept by the clients, sealed, and never expire."""
    registered = OAuthClient("id", "", ("ms-msdt://x/", URI))
    with pytest.raises(InvalidClient, match="of an app"):
        registered.check_redirect_uri("ms-msdt://x/")
    registered.check_redirect_uri(URI)


def test_origin_says_who_receives_a_code():
    assert redirect_origin("https://client.example:8/cb?x=https://good.example") == "https://client.example:8"
    assert redirect_origin("cursor://a.b/cb") == "cursor://a.b"
    assert redirect_origin("no URI") == ""

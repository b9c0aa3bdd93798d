"""The static files of the web UI: public, with a strict policy, and isolated from other files."""

import asyncio

import pytest

from onetool.interfaces.web.static import StaticApp
from onetool.testing import memory_runtime
from support.rest_in_process import serve_rest

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Authorization": ""}
SCRIPT = {"Accept": "*/*", "Authorization": ""}


@pytest.fixture
def built(tmp_path):
    directory = tmp_path / "static"
    (directory / "assets").mkdir(parents=True)
    (directory / "index.html").write_text("<!doctype html><title>OneTool</title>")
    (directory / "favicon.svg").write_text("<svg/>")
    (directory / "assets" / "app-1a2b.js").write_text("let x = 1")
    (tmp_path / "secret.txt").write_text("hunter2")
    (directory / "assets" / "link.txt").symlink_to(tmp_path / "secret.txt")
    return directory


@pytest.fixture
async def client(built):
    async with memory_runtime() as ot, serve_rest(ot.runtime, web_ui=StaticApp(built)) as client:
        yield client


PAGES = ("/", "/chat", "/chat/x", "/tools", "/tools/time/now", "/servers", "/login", "/stats")


@pytest.mark.guards("browser-texts")
async def test_every_page_is_the_same_document(client):
    """Also if a route has the same path: requests that accept HTML get the page, without a token."""
    for path in PAGES:
        response = await client.get(path, headers=BROWSER)
        assert (response.status_code, "<title>OneTool" in response.text) == (200, True), path
        assert "set-cookie" not in response.headers
    assert response.headers["cache-control"] == "no-cache"
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert response.headers["x-frame-options"] == "DENY"
    assert response.headers["referrer-policy"] == "no-referrer"


async def test_requests_that_do_not_accept_html_go_to_the_routes(client):
    """The routes require the token."""
    for path in ("/tools", "/tools/tools", "/servers", "/usage", "/openapi.json", "/nothing"):
        assert (await client.get(path, headers=SCRIPT)).status_code == 401
        assert "json" in (await client.get(path)).headers["content-type"]


async def test_routes_without_a_page_ignore_the_accept_header(client):
    for path in ("/usage", "/openapi.json", "/sessions", "/tools/tools", "/metrics"):
        assert (await client.get(path, headers=BROWSER)).status_code == 401


async def test_pages_support_only_get_and_head(client):
    assert (await client.post("/stats", headers=BROWSER)).status_code == 401
    assert (await client.head("/", headers=BROWSER)).status_code == 200


async def test_assets_are_cached_permanently(client):
    """Their names change with their content."""
    for path, kind in (("/assets/app-1a2b.js", "text/javascript"), ("/favicon.svg", "image/svg+xml")):
        response = await client.get(path, headers=SCRIPT)
        assert response.headers["content-type"].startswith(kind)
        assert "immutable" in response.headers["cache-control"]
        assert response.headers["x-content-type-options"] == "nosniff"
        again = await client.get(path, headers={**SCRIPT, "If-None-Match": response.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


TRAVERSALS = (
    "/assets/../../secret.txt",
    "/assets/..%2f..%2fsecret.txt",
    "/assets/%2e%2e/%2e%2e/secret.txt",
    "/assets/..\\..\\secret.txt",
    "/assets//etc/passwd",
    "/assets/link.txt",
    "/assets/",
    "/assets/%00",
    "/assets/../index.html",
    "/../secret.txt",
)


async def test_nothing_beside_the_built_files_is_served(client):
    """Paths are sent without normalization. Symbolic links are not followed."""
    for path in TRAVERSALS:
        reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        response = await reader.read()
        writer.close()
        await writer.wait_closed()
        assert response.split()[1] in (b"400", b"401", b"404"), path
        assert b"hunter2" not in response
        assert b"root:" not in response


async def test_a_missing_build_is_reported(tmp_path):
    """The web UI is served as soon as it is built."""
    directory = tmp_path / "static"
    async with memory_runtime() as ot, serve_rest(ot.runtime, web_ui=StaticApp(directory)) as client:
        response = await client.get("/", headers=BROWSER)
        assert (response.status_code, "just web" in response.text) == (503, True)
        assert (await client.get("/assets/x.js", headers=SCRIPT)).status_code == 404
        directory.mkdir()
        (directory / "index.html").write_text("now")
        assert (await client.get("/", headers=BROWSER)).text == "now"


async def test_without_the_web_ui_there_are_only_routes():
    async with memory_runtime() as ot, serve_rest(ot.runtime) as client:
        assert (await client.get("/", headers=BROWSER)).status_code == 401

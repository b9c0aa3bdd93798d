"""The built screens: open to everybody, strict about what runs, blind to what lies beside them."""

import asyncio

import pytest

from onetool.doors.web.static import Screens
from onetool.testing import memory_runtime
from rest_app import served

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Authorization": ""}
SCRIPT = {"Accept": "*/*", "Authorization": ""}


@pytest.fixture
def built(tmp_path):
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>OneTool</title>")
    (folder / "favicon.svg").write_text("<svg/>")
    (folder / "assets" / "app-1a2b.js").write_text("let x = 1")
    (tmp_path / "secret.txt").write_text("hunter2")
    (folder / "assets" / "link.txt").symlink_to(tmp_path / "secret.txt")
    return folder


@pytest.fixture
async def client(built):
    async with memory_runtime() as ot, served(ot.runtime, screens=Screens(built)) as found:
        yield found


SCREENS = ("/", "/chat", "/chat/x", "/tools", "/tools/time/now", "/servers", "/login", "/stats")


async def test_every_screen_is_the_same_page(client):
    """Also where a route has the same path: a browser that wants a page gets one, without a token."""
    for path in SCREENS:
        answer = await client.get(path, headers=BROWSER)
        assert (answer.status_code, "<title>OneTool" in answer.text) == (200, True), path
        assert "set-cookie" not in answer.headers
    assert answer.headers["cache-control"] == "no-cache"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"


async def test_programs_get_no_page(client):
    """What does not ask for HTML is answered by the routes, behind the guard."""
    for path in ("/tools", "/tools/tools", "/servers", "/usage", "/openapi.json", "/nothing"):
        assert (await client.get(path, headers=SCRIPT)).status_code == 401
        assert "json" in (await client.get(path)).headers["content-type"]


async def test_routes_that_are_no_screens_stay_routes(client):
    """Whatever a browser would like to see."""
    for path in ("/usage", "/openapi.json", "/sessions", "/tools/tools", "/metrics"):
        assert (await client.get(path, headers=BROWSER)).status_code == 401


async def test_a_page_is_only_read(client):
    """Nothing is posted to a screen."""
    assert (await client.post("/stats", headers=BROWSER)).status_code == 401
    assert (await client.head("/", headers=BROWSER)).status_code == 200


async def test_parts_are_kept_for_ever(client):
    """Their names change with their content; the page itself is asked for again."""
    for path, kind in (("/assets/app-1a2b.js", "text/javascript"), ("/favicon.svg", "image/svg+xml")):
        answer = await client.get(path, headers=SCRIPT)
        assert answer.headers["content-type"].startswith(kind)
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        again = await client.get(path, headers={**SCRIPT, "If-None-Match": answer.headers["etag"]})
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
    """Paths are sent as they stand, which no decent client does; links lead nowhere."""
    for path in TRAVERSALS:
        reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        assert answer.split()[1] in (b"400", b"401", b"404"), path
        assert b"hunter2" not in answer
        assert b"root:" not in answer


async def test_screens_that_are_not_built_say_so(tmp_path):
    """And are there as soon as they are."""
    folder = tmp_path / "static"
    async with memory_runtime() as ot, served(ot.runtime, screens=Screens(folder)) as client:
        answer = await client.get("/", headers=BROWSER)
        assert (answer.status_code, "just web" in answer.text) == (503, True)
        assert (await client.get("/assets/x.js", headers=SCRIPT)).status_code == 404
        folder.mkdir()
        (folder / "index.html").write_text("now")
        assert (await client.get("/", headers=BROWSER)).text == "now"


async def test_without_screens_there_are_only_routes():
    """A program that serves the API alone shows nobody a page."""
    async with memory_runtime() as ot, served(ot.runtime) as client:
        assert (await client.get("/", headers=BROWSER)).status_code == 401

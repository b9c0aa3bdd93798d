"""What a server returns reaches MCP clients as it is, over real processes and both protocol eras."""

import base64
import json
import re
import sys

import pytest

from support.contents_world import World
from support.mcp_servers import rich_server
from support.mcp_servers.rich_server import namespaced
from support.paths import MCP_SERVERS
from support.raw_mcp import LEGACY, META_PREFIX, MODERN, RawMcpClient

SCRIPT = str(MCP_SERVERS / "rich_server.py")
STAMP = f"{META_PREFIX}/serverInfo"


def rich_world(root, version, expose="all", **settings):
    """Return OneTool with the server `rich`."""
    arguments = ["-I", SCRIPT, *(["modern"] if version == MODERN else [])]
    server = {"command": sys.executable, "args": arguments, "sandbox": False}
    return World(root, version, names=(), servers={"rich": server}, expose=expose, **settings)


@pytest.fixture(scope="module", params=[LEGACY, MODERN])
def direct(request):
    """A client of the server itself."""
    arguments = [SCRIPT, *(["modern"] if request.param == MODERN else [])]
    client = RawMcpClient(request.param, {}, command=[sys.executable, "-I", *arguments])
    try:
        client.initialize()
        yield client
    finally:
        client.kill()


def fixture(expose):
    @pytest.fixture(scope="module")
    def through(direct, tmp_path_factory):
        with rich_world(tmp_path_factory.mktemp(expose), direct.version, expose) as world:
            yield world.client

    return through


through_all, through_search, through_run = fixture("all"), fixture("search"), fixture("run")


def call(client, name, /, **args):
    """Return the result of `tools/call` without the stamp of the sender."""
    result = client.request("tools/call", name=name, arguments=args)["result"]
    if STAMP in result.get("_meta", {}):
        result["_meta"].pop(STAMP)
        result = {key: value for key, value in result.items() if key != "_meta" or value}
    return result


@pytest.mark.spec("MCP-01", "MCP-02")
@pytest.mark.parametrize("tool", rich_server.RESULTS)
def test_all_returns_what_the_server_returns(direct, through_all, tool):
    expected = call(direct, tool)
    assert expected["content"] == rich_server.RESULTS[tool]["content"]
    assert json.dumps(call(through_all, f"rich__{tool}"), sort_keys=True) == json.dumps(
        namespaced(expected), sort_keys=True
    )


@pytest.mark.spec("MCP-02", "MCP-03")
@pytest.mark.parametrize("tool", rich_server.RESULTS)
def test_search_returns_what_the_server_returns(direct, through_search, tool):
    assert call(through_search, "call_tool", name=f"rich.{tool}") == namespaced(call(direct, tool))


def run(client, code):
    """Return the text of a run, and the blocks after it."""
    result = call(client, "run", command=code)
    assert not result["isError"], result
    text, *blocks = result["content"]
    assert text["type"] == "text"
    return text["text"], blocks


ONE = namespaced(rich_server.RESULTS["picture"]["content"])


@pytest.mark.spec("MCP-04")
@pytest.mark.parametrize(
    ("code", "text", "blocks"),
    [
        ("rich.picture()", "Media(mime_type='image/png', size=608, handle='", ONE),
        ("rich.screenshot()", "The page:", rich_server.RESULTS["screenshot"]["content"][1:]),
        (
            "[rich.picture(), rich.sound()]",
            "Media(mime_type='audio/wav'",
            [*ONE, namespaced(rich_server.AUDIO)],
        ),
        ("m = rich.picture()\n{'x': m, 'y': [m, m]}", "y:", ONE),
        ("m = rich.picture()\nprint('printed', m)\nm", "printed Media(mime_type='image/png'", ONE),
        ("m = rich.picture()\nm.handle = 'r_2'\nm", "size=608", ONE),
        ("rich.embedded_blob()", "memo://b", [namespaced(rich_server.EMBEDDED_BLOB)]),
        ("rich.picture().size", "608", []),
        ("rich.both()", "n: 1", [rich_server.image()]),
        ("rich.both()['n']", "1", []),
    ],
)
def test_run_returns_text_and_then_each_media_value_once(through_run, code, text, blocks):
    shown, received = run(through_run, code)
    assert text in shown
    assert received == blocks


@pytest.mark.parametrize(
    "code", ["rich.picture()['data']", "import json\njson.dumps(rich.picture())", "rich.picture().data"]
)
def test_code_that_expects_a_map_is_told_what_media_are(through_run, code):
    result = call(through_run, "run", command=code)
    assert result["isError"]
    shown = result["content"][0]["text"]
    assert "Media only have mime_type, size and handle." in shown
    assert "ot.result(handle=...)" in shown
    assert "--save DIR" in shown


def test_a_long_text_is_shortened_and_media_stay(through_all):
    preview, picture = call(through_all, "rich__large_text", size=20_000)["content"]
    assert "100000 bytes in 1 lines are stored as" in preview["text"]
    assert len(preview["text"]) < 1_000
    assert picture == rich_server.image()


def read_link(client, link):
    """Return the bytes behind a link."""
    (contents,) = client.request("resources/read", uri=link["uri"])["result"]["contents"]
    assert contents["mimeType"] == link["mimeType"]
    return base64.b64decode(contents["blob"])


@pytest.mark.spec("MCP-06")
@pytest.mark.parametrize(("tool", "mime_type"), [("large", "image/png"), ("large_blob", "application/zip")])
def test_media_over_the_limit_become_a_link_that_can_be_read(through_all, tool, mime_type):
    size = 10_000_000
    (link,) = call(through_all, f"rich__{tool}", size=size)["content"]
    assert (link["type"], link["mimeType"], link["size"]) == ("resource_link", mime_type, size)
    assert read_link(through_all, link) == rich_server.large(size)


def test_an_unknown_resource_is_an_error(through_all):
    code = {LEGACY: -32002, MODERN: -32602}[through_all.version]
    for uri in ("ot.result://" + "0" * 32, "ot.result://../x", "memo://b"):
        assert through_all.request("resources/read", uri=uri)["error"]["code"] == code


LARGE = 150_000
BASE64 = re.compile("[A-Za-z0-9+/]{257,}")
SAMPLE = base64.b64encode(rich_server.large(LARGE)).decode()


def has_base64(text):
    """Whether a text contains more than 256 characters of the image, wherever they begin."""
    return any(word[:257] in SAMPLE or word[-257:] in SAMPLE for word in BASE64.findall(text))


@pytest.mark.spec("MCP-05")
@pytest.mark.parametrize("limits", [{}, {"max_inline_size": 1_000_000, "max_media_size": 1_000}])
@pytest.mark.parametrize("expose", ["all", "search", "run"])
def test_media_are_no_base64_in_texts_logs_and_records(tmp_path, expose, limits):
    name, args = {
        "all": ("rich__large", {"size": LARGE}),
        "search": ("call_tool", {"name": "rich.large", "args": {"size": LARGE}}),
        "run": ("run", {"command": f"m = rich.large(size={LARGE})\nprint(m, [m])\n{{'m': m}}"}),
    }[expose]
    with rich_world(tmp_path, LEGACY, expose, output=limits, log={"level": "debug"}) as world:
        client = world.client
        result = call(client, name, **args)
        if expose == "run":
            failed = call(client, "run", command=f"m = rich.large(size={LARGE})\nm + 1")
            assert "Calls that had finished" in failed["content"][0]["text"]
            handle = failed["content"][0]["text"].partition("ot.result(handle='")[2][:32]
            stored = call(client, "run", command=f"ot.result(handle='{handle}', width=5000)")
            assert "Media(mime_type='image/png', size=150000" in stored["content"][0]["text"]
            result["content"] += [*failed["content"], *stored["content"]]
    *_, block = [block for block in result["content"] if block["type"] in {"image", "resource_link"}]
    if "max_media_size" in limits:
        assert (block["type"], block["size"]) == ("resource_link", LARGE)
    else:
        assert block == rich_server.image(rich_server.large(LARGE))
    texts = [block["text"] for block in result["content"] if block["type"] == "text"]
    files = [file for file in world.home.root.rglob("*") if file.is_file() and file.suffix != ".bin"]
    texts += [client.errors.decode(), *(file.read_bytes().decode("latin-1") for file in files)]
    assert world.home.log()
    assert not [text[:500] for text in texts if has_base64(text)]


@pytest.mark.spec("MCP-05")
def test_the_handle_of_media_gives_them_back(through_run):
    text, blocks = run(through_run, "m = rich.picture()\nprint(m.handle)\nNone")
    assert blocks == []
    shown, (block,) = run(through_run, f"ot.result(handle={text.strip()!r})")
    assert (text.strip() in shown, block) == (True, rich_server.image())


def test_media_that_cannot_be_stored_are_one_line(tmp_path):
    with rich_world(tmp_path, LEGACY, output={"max_media_size": 100}) as world:
        call(world.client, "rich__plain")
        (world.home.root / "data" / "results").write_text("no directory")
        (block,) = call(world.client, "rich__picture")["content"]
    assert block["type"] == "text"
    assert "Media(mime_type='image/png', size=608, handle='" in block["text"]
    assert "could not be stored" in block["text"]

"""What a tool may use of the SDK, held to rows SDK-01 to SDK-40."""

import importlib.util
import inspect
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial, reduce
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest

from commands import onetool
from onetool import onetool_runtime, sdk
from onetool.domain import Caller
from onetool.domain.caller import grant
from onetool.testing import memory_runtime

SECRETS = {"MY_API_KEY": "s3cret-value", "BRAVE_API_KEY": "bk"}
BRAVE = {"header_name": "X-Subscription-Token", "prefix": ""}
LONG = "".join(chr(97 + number % 26) for number in range(10_000))
JSON, TEXT = "application/json", "text/plain"
ANSWERS: dict[str, tuple[int, str, str, Any]] = {
    "/json": (200, JSON, '{"a":1}', {"a": 1}),
    "/text": (200, TEXT, "text", "text"),
    "/torn": (200, JSON, '{"a":', '{"a":'),
    "/404": (404, TEXT, "nope", "HTTP error (404): nope"),
    "/503": (503, "text/html", "<b>later</b>", "HTTP error (503): <b>later</b>"),
    "/fits": (500, TEXT, LONG[:200], f"HTTP error (500): {LONG[:200]}"),
    "/long": (500, TEXT, LONG, f"HTTP error (500): {LONG[:200]}"),
}
HEAD = "from onetool.sdk import *\n"


class Stub(BaseHTTPRequestHandler):
    """A server that answers by path, leads elsewhere, or hangs up."""

    def do_GET(self) -> None:
        self.server.hits.append(self.path)  # type: ignore[attr-defined]
        if self.path != "/hang-up":
            status, kind, text, _ = ANSWERS.get(self.path, (302, TEXT, "", ""))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.end_headers()
            self.wfile.write(text.encode())


@pytest.fixture
def stub() -> Iterator[Any]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Stub) as server:
        server.hits, server.url = [], f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def raised(function: Any, *args: Any, **kwargs: Any) -> BaseException:
    """Give the exception that must come out of a function."""
    with pytest.raises(Exception) as caught:  # noqa: PT011
        function(*args, **kwargs)
    return caught.value


async def inside(work: Any, packs: Any = None, **options: Any) -> Any:
    """Run `work` as a tool, and give what it returned as it was inside."""
    got: list[Any] = []

    def probe() -> None:
        got.append(work())

    async with memory_runtime({"probe": [probe], **(packs or {})}, **options) as ot:
        result = await ot.call("probe.probe")
    assert result.ok, result.error
    return got[0]


def named(tool_name: str, *decorators: Any) -> Any:
    """Make a tool of this name, and declare its needs."""

    def function(name: str) -> str:
        return f"hello {name}"

    function.__name__ = tool_name
    return reduce(lambda done, decorate: decorate(done), decorators, function)


greet = named("greet")
LLM = {"llm": [greet]}
WAYS: dict[str, Any] = {
    "call_tool": lambda name, /, **args: sdk.call_tool(f"llm.{name}", **args),
    "proxy": lambda name, /, **args: getattr(sdk.get_pack("llm"), name)(**args),
    "batch": lambda name, /, **args: sdk.batch_execute([name], lambda it: WAYS["proxy"](it, **args)),
}
both_ways = pytest.mark.parametrize("call", [WAYS["call_tool"], WAYS["proxy"]], ids=["call_tool", "proxy"])


@pytest.mark.spec("SDK-02")
async def test_a_proxy_has_the_tools_as_methods_on_any_thread() -> None:
    """The attributes of a proxy are callable and return the tool's result, also on a thread of the tool."""

    def work() -> Any:
        pack = sdk.get_pack("llm")
        got = [callable(pack.greet), pack.greet(name="Ann")]
        thread = threading.Thread(target=lambda: got.append(pack.greet(name="Bob")))
        thread.start()
        thread.join(5)
        return got

    assert await inside(work, LLM) == [True, "hello Ann", "hello Bob"]


@pytest.mark.spec("SDK-03", "SDK-22", "SDK-23")
@pytest.mark.parametrize("call", ["get_pack('one').read()", "call_tool('one.read')"])
def test_the_called_tool_sees_the_files_of_the_user(home: Any, call: str) -> None:
    """A tool called by another gets exactly the config and secrets that the user wrote."""
    home.write("secrets.yaml", "K: s3cret-value\nMY_API_KEY: s3\n")
    secrets = "get_secret('K') == 's3cret-' + 'value', api_headers('MY_API_KEY')"
    home.write("onetool.yaml", "execution:\n  timeout_s: 7.5\n")
    home.write("tools/one.py", f"{HEAD}def read(): return [get_config('execution.timeout_s'), {secrets}]\n")
    home.write("tools/two.py", f"{HEAD}def work(): return {call}\n")
    with onetool_runtime() as ot:
        assert ot.call("two.work").data == [7.5, True, {"Authorization": "Bearer s3"}]


@pytest.mark.spec("SDK-01", "SDK-04")
@pytest.mark.parametrize("name", ["nonexistent", "", "llm.greet", "greet"])
async def test_an_unknown_pack_is_none(name: str) -> None:
    """get_pack of what is no pack returns None and raises nothing."""
    assert await inside(lambda: sdk.get_pack(name=name), LLM) is None


@pytest.mark.spec("SDK-05")
async def test_call_tool_calls_by_qualified_name() -> None:
    """call_tool returns what the tool returns, also where the tool has a parameter called name."""
    assert await inside(lambda: sdk.call_tool("tools.echo", message="hi")) == "hi"
    assert await inside(lambda: sdk.call_tool("llm.greet", name="Bob"), LLM) == "hello Bob"


@pytest.mark.spec("SDK-06")
@both_ways
@pytest.mark.parametrize("answer", [{"n": (1, {2})}, object(), None, b"\xff"], ids=type)
async def test_arguments_and_result_are_handed_over_unchanged(call: Any, answer: Any) -> None:
    """The tool gets exactly the keywords, and the very object that it returns comes back."""
    recorded = []

    def transform(input: str, prompt: str) -> Any:
        recorded.append({"input": input, "prompt": prompt})
        return answer

    async def later(input: str, prompt: str) -> Any:
        return transform(input, prompt)

    args = {"input": "hello", "prompt": "summarize"}
    for name in ("transform", "later"):
        assert await inside(lambda name=name: call(name, **args) is answer, {"llm": [transform, later]})
    assert recorded == [args, args]


@pytest.mark.spec("SDK-06")
@both_ways
@pytest.mark.parametrize("kind", [KeyError, httpx2.ConnectError, partial(OSError, 2), sdk.ErrorText])
async def test_errors_come_through_as_they_are(call: Any, kind: Any) -> None:
    """An exception is raised again with its type and message; a returned ErrorText is the equal value."""
    end = kind("why")

    def fail() -> Any:
        if isinstance(end, Exception):
            raise end
        return end

    work = partial(call, "fail") if kind is sdk.ErrorText else partial(raised, call, "fail")
    got = await inside(work, {"llm": [fail]})
    assert (type(got), str(got)) == (type(end), str(end))


@pytest.mark.spec("SDK-07")
@pytest.mark.parametrize(
    ("name", "message"),
    [("nonexistent.foo", "Pack not found: nonexistent"), ("llm.foo", "Tool not found: llm.foo")]
    + [(name, None) for name in ("nonexistent.foo.bar", "llm", "", ".")],
)
async def test_call_tool_of_what_is_not_there_is_a_value_error(name: str, message: str | None) -> None:
    """An unknown pack, an unknown function and a name without a dot raise ValueError, in these words."""
    error = await inside(lambda: raised(sdk.call_tool, name, arg="value"), LLM)
    assert (isinstance(error, ValueError), message in (None, str(error))) == (True, True), error


async def test_an_async_tool_is_sent_to_call_tool_async() -> None:
    """call_tool in an async tool raises an error that names call_tool_async, and that one works there."""
    got: list[Any] = []

    async def work() -> None:
        got.append(await sdk.call_tool_async("llm.greet", name="Bob"))
        got.append("call_tool_async" in str(raised(sdk.call_tool, "llm.greet", name="Bob")))
        await sdk.call_tool_async("nonexistent.foo", arg="value")

    async with memory_runtime({"probe": [work], **LLM}) as ot:
        result = await ot.call("probe.work")
    assert (got, result.meta.exception) == (["hello Bob", True], "ValueError")


@pytest.mark.parametrize("use", ["call_tool x.y", "get_pack x", "get_secret x", "check_deps x"])
def test_without_a_runtime_the_error_says_how_to_start_one(use: str) -> None:
    """Outside of a tool what needs a runtime raises an error that names onetool_runtime."""
    function, argument = use.split()
    assert "onetool_runtime" in str(raised(getattr(sdk, function), argument))


@pytest.mark.parametrize("way", WAYS)
async def test_the_allow_list_holds_for_inner_calls(way: str) -> None:
    """A tool reaches no tool that its own caller may not call, and still reaches those it may."""
    ran = []

    def secret() -> None:
        ran.append(way)

    def work() -> Any:
        assert sdk.get_pack("shut") is None or raised(sdk.get_pack("shut").secret)
        assert isinstance(raised(sdk.call_tool, "shut.secret"), ValueError)
        refused = WAYS[way]("secret") if way == "batch" else f"Error: {raised(WAYS[way], 'secret')}"
        return WAYS[way]("greet", name="Bob").splitlines()[-1], "Error: " in refused

    caller = Caller(door="python", allowed=frozenset({"probe.probe", "llm.greet"}), approve=grant)
    got = await inside(work, {"llm": [greet, secret], "shut": [secret]}, caller=caller)
    assert (got, ran) == (("hello Bob", True), [])


@pytest.mark.spec("SDK-03", "SDK-09")
async def test_the_threads_of_a_batch_may_use_the_sdk() -> None:
    """In a batch functions call tools, use proxies and read secrets and config, as the tool itself may."""

    def work() -> Any:
        pack = sdk.get_pack("llm")

        def process(name: str) -> str:
            read = sdk.get_secret("MY_API_KEY"), sdk.get_config("execution.timeout_s")
            return sdk.call_tool("llm.greet", name=name) + pack.greet(name=name) + str(read)

        return sdk.batch_execute(map(str, range(25)), process)

    out = await inside(work, LLM, secrets=SECRETS, settings={"execution": {"timeout_s": 7.5}})
    assert out.split("\n\n") == [f"=== {n} ===\nhello {n}hello {n}('s3cret-value', 7.5)" for n in range(25)]


@pytest.mark.spec("SDK-08", "SDK-10")
@pytest.mark.parametrize("items", [["a", "b", "c"], ["a"], ["a", "a"], [], ["a", "missing", "c"]], ids=str)
async def test_each_output_stands_below_its_own_separator(items: list[str]) -> None:
    """One text has one separator line for each item; an item that fails says Error there and stops none."""
    values = {"a": "A 1", "b": "two\nlines", "c": ""}
    out = await inside(lambda: sdk.batch_execute(iter(items), values.__getitem__))
    values["missing"] = "Error: 'missing'"
    assert out == "\n\n".join(f"=== {item} ===\n{values[item]}" for item in items)


@pytest.mark.spec("SDK-11")
@pytest.mark.parametrize(
    ("fetch", "first"),
    [
        *[(str, "url1"), (lambda url, timeout=5: f"{url} {timeout}", "url1 5")],
        (partial(lambda timeout, url: f"{url} {timeout}", 5), "url1 5"),
        (lambda url, label: f"{url} {label}", "url1 Site A"),
        (lambda url, label, timeout=5: f"{url} {label} {timeout}", "url1 Site A 5"),
    ],
)
async def test_labels_are_shown_and_passed_only_where_required(fetch: Any, first: str) -> None:
    """Separators show labels; the function gets the value, and the label if it requires two arguments."""
    out = await inside(lambda: sdk.batch_execute([("url1", "Site A"), ("url2", "Site B")], fetch))
    second = first.replace("url1", "url2").replace("Site A", "Site B")
    assert out == f"=== Site A ===\n{first}\n\n=== Site B ===\n{second}"


@pytest.mark.spec("SDK-12")
async def test_a_batch_keeps_the_order_of_its_items() -> None:
    """The first item is first in the output, also when it is the last to finish."""
    gate = threading.Event()
    items = [(lambda: str(gate.wait(5)), "Site A"), (lambda: gate.set() or "set", "Site B")]
    out = await inside(lambda: sdk.batch_execute(items, lambda act: act()))
    assert out == "=== Site A ===\nTrue\n\n=== Site B ===\nset"


@pytest.mark.spec("SDK-09", "SDK-13")
@pytest.mark.parametrize(("workers", "count", "most"), [(3, 12, 3), (1, 4, 1), (None, 3, 3), (None, 30, 10)])
async def test_as_many_items_as_allowed_are_in_work_at_once(
    workers: int | None, count: int, most: int
) -> None:
    """Items run together, up to max_workers and never more, ten if not said; each one done is progress."""
    meet, running, peaks, heard = threading.Barrier(most), set(), [], []
    caller = Caller(door="python", approve=grant, progress=lambda *step: heard.append(step[:2]))

    def process(item: int) -> None:
        running.add(item)
        peaks.append((len(running), item))
        meet.wait(5)
        time.sleep(0.02)
        running.remove(item)

    limit = {"max_workers": workers} if workers else {}
    out = await inside(lambda: sdk.batch_execute(range(count), process, **limit), caller=caller)
    assert (max(peaks)[0], sorted(item for _, item in peaks)) == (most, list(range(count)))
    assert ("Error" in out, heard[-count:]) == (False, [(it + 1, count) for it in range(count)])


@pytest.mark.spec("SDK-14", "SDK-15", "SDK-16")
def test_items_become_labelled_tuples() -> None:
    """A plain item is its own label, a tuple stays as it is, and both may be mixed, in any iterable."""
    assert sdk.normalize_items(["a", "b"]) == [("a", "a"), ("b", "b")]
    pairs = [("a", "Label A"), ("b", "Label B"), (5, "")]
    assert sdk.normalize_items(pairs) == pairs
    assert sdk.normalize_items(iter(["ab", ("b", "B"), ""])) == [("ab", "ab"), ("b", "B"), ("", "")]


async def requested(client: str, url: str, *hosts: str) -> Any:
    """Send a request inside a tool, with a client of the tool's own or the shared one."""
    with httpx2.Client(trust_env=False) as own:
        pick = {"own": lambda: own, "shared": sdk.http_client}[client]
        return await inside(lambda: sdk.safe_request(pick(), "GET", url), settings={"allowedHosts": hosts})


@pytest.mark.spec("SDK-18", "SDK-19", "SDK-20")
@pytest.mark.parametrize("client", ["own", "shared"])
@pytest.mark.parametrize("path", ANSWERS)
async def test_a_request_gives_data_or_the_http_error(stub: Any, client: str, path: str) -> None:
    """Success is (True, data), JSON being parsed; 4xx and 5xx are (False, status and 200 characters)."""
    status, _, _, expected = ANSWERS[path]
    ok, data = await requested(client, stub.url + path, "127.0.0.1")
    if path == "/long" and len(data) <= len(expected) + 3:
        data = data[: len(expected)]
    assert (ok, data) == (status == 200, expected)


@pytest.mark.spec("SDK-17", "SDK-21")
@pytest.mark.parametrize("client", ["own", "shared"])
@pytest.mark.parametrize("url", ["{closed}", "{open}/hang-up", "ftp://127.0.0.1/x", "http://[::1", ""])
async def test_a_failed_connection_is_a_value_too(stub: Any, client: str, url: str) -> None:
    """Nothing is raised where no answer comes: it is (False, Request failed and why)."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = url.format(closed=f"http://127.0.0.1:{closed.getsockname()[1]}", open=stub.url)
        ok, message = await requested(client, url, "127.0.0.1")
    assert (ok, message[:16], len(message) > 16) == (False, "Request failed: ", True), message


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "127.0.0.2", "127.1", "2130706433", "0.0.0.0"])
async def test_the_shared_client_reaches_no_private_host_but_the_listed(stub: Any, host: str) -> None:
    """A loopback server gets no request under an unlisted name, neither at once nor by a redirect."""
    url, leads, listed = f"http://{host}:{stub.server_port}/text", f"{stub.url}/to/", "127.0.0.1"
    got = [await requested("shared", it, listed) for it in (url, leads + url, f"{leads}{stub.url}/text")]
    got.append(await requested("shared", f"{stub.url}/text"))
    assert [(ok, text[:16]) for ok, text in got if not ok] == [(False, "Request failed: ")] * 3
    assert (got[2], stub.hits) == ((True, "text"), [f"/to/{url}", f"/to/{stub.url}/text", "/text"])


@pytest.mark.spec("SDK-23", "SDK-24", "SDK-25")
@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("MY_API_KEY", {}, {"Authorization": "Bearer s3cret-value"}),
        ("MY_API_KEY", {"prefix": "Token"}, {"Authorization": "Token s3cret-value"}),
        ("BRAVE_API_KEY", BRAVE, {"X-Subscription-Token": "bk"}),
        ("MISSING_KEY", {}, {}),
        ("my_api_key", {"header_name": "X", "prefix": ""}, {}),
    ],
)
async def test_headers_are_built_from_a_secret(name: str, args: Any, expected: dict[str, str]) -> None:
    """The header holds prefix and secret, or the secret alone; a missing secret gives no header."""
    assert await inside(lambda: sdk.api_headers(name, **args), secrets=SECRETS) == expected


@pytest.mark.spec("SDK-26", "SDK-27", "SDK-28")
@pytest.mark.parametrize("count", [1, 32])
def test_a_lazy_client_is_made_once_and_only_when_called(count: int) -> None:
    """Nothing is made until the getter is called; however many threads call first, all get the same one."""
    made, together = [], threading.Barrier(count)
    getter = sdk.lazy_client(lambda: (time.sleep(0.05), made.append(object()), made[-1])[-1])
    assert (callable(getter), made) == (True, [])
    with ThreadPoolExecutor(count) as pool:
        got = list(pool.map(lambda _: (together.wait(10), getter())[-1], range(count)))
    assert (len(made), {id(client) for client in [*got, getter()]}) == (1, {id(made[0])})


@pytest.mark.spec("SDK-29")
async def test_a_lazy_client_waits_for_its_secret() -> None:
    """Without the secret the getter gives None and makes nothing; once the secret is there it makes one."""
    made: list[str | None] = []
    getter = sdk.lazy_client(lambda: made.append(sdk.get_secret("API_KEY")) or made, secret_name="API_KEY")
    assert (await inside(lambda: [getter(), getter()]), made) == ([None, None], [])
    same = await inside(lambda: getter() is getter() is made, secrets={"API_KEY": "s3cret-value"})
    assert (same, made) == (True, ["s3cret-value"])


@pytest.mark.spec("SDK-30", "SDK-34")
@pytest.mark.parametrize("require", [sdk.requires_cli("nonexistent"), sdk.requires_lib("nonexistent")])
async def test_a_declared_need_leaves_the_function_as_it_is(require: Any) -> None:
    """A decorated function is called as before: same result, name and signature, also as a tool."""
    decorated = require(named("greet"))
    assert (decorated("Bob"), list(inspect.signature(decorated).parameters)) == ("hello Bob", ["name"])
    assert await inside(lambda: WAYS["proxy"]("greet", name="Bob"), {"llm": [decorated]}) == "hello Bob"


NEEDY = {
    "ripgrep": [named("search", sdk.requires_cli("nonexistent", version_flag="--version")), greet],
    "frames": [named("load", *map(sdk.requires_lib, ["pandas", "pytest", "no_such_parent.child"]))],
    "web": [named("fetch", sdk.requires_secret("MY_API_KEY"), sdk.requires_secret("MISSING_KEY"))],
}


@pytest.mark.spec("SDK-31", "SDK-32", "SDK-35")
def test_the_needs_of_a_pack_file_are_listed_and_checked(home: Any) -> None:
    """`tools info` and check_deps name the program and the library that the decorators in a file declare."""
    needs = "@requires_cli('rg')\n@requires_lib('pandas')\ndef search(): ...\n"
    home.write("tools/ripgrep.py", f"{HEAD}{needs}def report(): return check_deps('ripgrep')\n")
    done = onetool("tools", "info", "ripgrep.search")
    with onetool_runtime() as ot:
        report = ot.call("ripgrep.report").data
    assert {entry["tool"] for entry in report} == {"ripgrep.search"}
    for listed in (json.loads(done.stdout)["requires"], report):
        assert sorted((need["kind"], need["name"]) for need in listed) == [("cli", "rg"), ("lib", "pandas")]


@pytest.mark.spec("SDK-33")
@pytest.mark.parametrize("printed", ["ffmpeg version 9.9", r"\377\376 version 9.9\nbuilt with gcc"])
async def test_a_program_is_found_and_asked_its_version(home: Any, monkeypatch: Any, printed: str) -> None:
    """A program on the PATH is ok, and its version is what it prints when asked with the given flag."""
    file = home.write("bin/ffmpeg", f"#!/bin/sh\n[ \"$*\" = --version ] && printf '{printed}'\n", 0o755)
    monkeypatch.setenv("PATH", str(file.parent), prepend=":")
    media = named("media", sdk.requires_cli("ffmpeg", version_flag="--version"))
    (entry,) = await inside(lambda: sdk.check_deps("media"), {"media": [media]})
    assert (entry["name"], entry["status"], "9.9" in entry["version"]) == ("ffmpeg", "ok", True)


@pytest.mark.spec("SDK-36", "SDK-38", "SDK-40")
async def test_check_deps_reports_every_need_with_its_status() -> None:
    """The report has each need of each tool, with its fields, and says missing of what is not there."""
    report = await inside(sdk.check_deps, NEEDY, secrets=SECRETS)
    assert all(set(it) == {"tool", "kind", "name", "status", "version", "install"} for it in report)
    found = {tuple(it[key] for key in ("tool", "kind", "name")): it["status"] for it in report}
    assert {key: value for key, value in found.items() if key[0].split(".")[0] in NEEDY} == {
        ("ripgrep.search", "cli", "nonexistent"): "missing",
        ("frames.load", "lib", "pandas"): "ok" if importlib.util.find_spec("pandas") else "missing",
        ("frames.load", "lib", "pytest"): "ok",
        ("frames.load", "lib", "no_such_parent.child"): "missing",
        ("web.fetch", "secret", "MY_API_KEY"): "ok",
        ("web.fetch", "secret", "MISSING_KEY"): "missing",
    }


@pytest.mark.spec("SDK-37", "SDK-39")
@pytest.mark.parametrize(("name", "count"), [("ripgrep", 1), ("ripgrep.search", 1), ("ripgrep.greet", 0)])
async def test_check_deps_of_one_tool_tells_of_no_other(name: str, count: int) -> None:
    """A pack or a qualified name gives that one's needs only; an unknown name is a ValueError."""
    report = await inside(lambda: sdk.check_deps(tool=name), NEEDY)
    assert [(it["tool"], it["name"]) for it in report] == [("ripgrep.search", "nonexistent")] * count
    for unknown in (f"{name}x", f"{name}.nothing", "search", "nonexistent", ""):
        error = await inside(lambda it=unknown: raised(sdk.check_deps, tool=it), NEEDY)
        assert isinstance(error, ValueError), error


def test_a_span_is_one_log_record(home: Any) -> None:
    """A LogSpan writes one record with span, inputs, status and duration, and no secret in it."""
    home.write("secrets.yaml", "K: s3cret-value\n")
    span = "LogSpan('my-span', x=x, key=get_secret('K')) as span: span.add(y=6 / x)"
    home.write("tools/mine.py", f"{HEAD}def work(x: int):\n    with {span}\n")
    with onetool_runtime() as ot:
        assert [ot.call("mine.work", x=x).ok for x in (2, 0)] == [True, False]
    good, bad = [record for record in home.log() if record.get("span") == "my-span"]
    assert (good["status"], good["inputs"]["x"], good["inputs"]["y"]) == ("SUCCESS", 2, 3)
    assert (bad["status"], bad["inputs"]["x"], "division by zero" in str(bad)) == ("FAILED", 0, True)
    assert "s3cret-value" not in str([good, bad])
    assert all(0 <= record["duration"] < 60 for record in (good, bad))

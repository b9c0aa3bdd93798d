"""The SDK for tools: rows SDK-01 to SDK-40."""

import importlib.util
import inspect
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial, reduce
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest

from onetool import onetool_runtime, sdk
from onetool.domain import Caller
from onetool.domain.calls.effect import Effect
from onetool.testing import memory_runtime
from support.onetool_process import onetool
from support.processes import wait_until
from support.waiting import HANG_S

SECRETS = {"MY_API_KEY": "s3cret-value", "BRAVE_API_KEY": "bk"}
BRAVE = {"header_name": "X-Subscription-Token", "prefix": ""}
LONG = "".join(chr(97 + number % 26) for number in range(10_000))
JSON, TEXT = "application/json", "text/plain"
RESPONSES: dict[str, tuple[int, str, str, Any]] = {
    "/json": (200, JSON, '{"a":1}', {"a": 1}),
    "/text": (200, TEXT, "text", "text"),
    "/torn": (200, JSON, '{"a":', '{"a":'),
    "/404": (404, TEXT, "nope", "HTTP error (404): nope"),
    "/400": (400, TEXT, "bad", "HTTP error (400): bad"),
    "/503": (503, "text/html", "<b>later</b>", "HTTP error (503): <b>later</b>"),
    "/fits": (500, TEXT, LONG[:200], f"HTTP error (500): {LONG[:200]}"),
    "/long": (500, TEXT, LONG, f"HTTP error (500): {LONG[:200]}"),
}
IMPORTS = "from onetool.sdk import *\n"


class StubHandler(BaseHTTPRequestHandler):
    """Replies by path, redirects, or closes the connection."""

    def do_GET(self) -> None:
        self.server.hits.append(self.path)  # type: ignore[attr-defined]
        if self.path != "/hang-up":
            status, kind, text, _ = RESPONSES.get(self.path, (302, TEXT, "", ""))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.end_headers()
            self.wfile.write(text.encode())


@pytest.fixture
def stub() -> Iterator[Any]:
    with ThreadingHTTPServer(("127.0.0.1", 0), StubHandler) as server:
        server.hits, server.url = [], f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def catch(function: Any, *args: Any, **kwargs: Any) -> BaseException:
    """Call a function that must raise, and return the exception."""
    with pytest.raises(Exception) as caught:  # noqa: PT011
        function(*args, **kwargs)
    return caught.value


async def run_as_tool(function: Any, packs: Any = None, **options: Any) -> Any:
    """Run a function as a tool and return its value, unserialized."""
    values: list[Any] = []

    def probe() -> None:
        values.append(function())

    async with memory_runtime({"probe": [probe], **(packs or {})}, **options) as ot:
        result = await ot.call("probe.probe")
    assert result.ok, result.error
    return values[0]


def make_tool(tool_name: str, *decorators: Any) -> Any:
    """Return a tool with this name and these requirements."""

    def function(name: str) -> str:
        return f"hello {name}"

    function.__name__ = tool_name
    return reduce(lambda decorated, decorate: decorate(decorated), decorators, function)


greet = make_tool("greet")
LLM = {"llm": [greet]}
CALL_METHODS: dict[str, Any] = {
    "call_tool": lambda name, /, **args: sdk.call_tool(f"llm.{name}", **args),
    "proxy": lambda name, /, **args: getattr(sdk.get_pack("llm"), name)(**args),
    "batch": lambda name, /, **args: sdk.batch_execute(
        [name], lambda item: CALL_METHODS["proxy"](item, **args)
    ),
}
both_ways = pytest.mark.parametrize(
    "call", [CALL_METHODS["call_tool"], CALL_METHODS["proxy"]], ids=["call_tool", "proxy"]
)


@pytest.mark.spec("SDK-02")
async def test_pack_proxy_methods_call_tools_on_any_thread() -> None:

    def work() -> Any:
        pack = sdk.get_pack("llm")
        results = [callable(pack.greet), pack.greet(name="Ann")]
        thread = threading.Thread(target=lambda: results.append(pack.greet(name="Bob")))
        thread.start()
        thread.join(5)
        return results

    assert await run_as_tool(work, LLM) == [True, "hello Ann", "hello Bob"]


@pytest.mark.spec("SDK-03", "SDK-22", "SDK-23")
@pytest.mark.parametrize("call", ["get_pack('one').read()", "call_tool('one.read')"])
def test_nested_tool_reads_the_config_and_secrets_of_the_user(home: Any, call: str) -> None:
    home.write("secrets.yaml", "K: s3cret-value\nMY_API_KEY: s3\n")
    secrets = "get_secret('K') == 's3cret-' + 'value', api_headers('MY_API_KEY')"
    home.write("onetool.yaml", "execution:\n  timeout_s: 7.5\n")
    home.write(
        "tools/one.py", f"{IMPORTS}def read(): return [get_config('execution.timeout_s'), {secrets}]\n"
    )
    home.write("tools/two.py", f"{IMPORTS}def work(): return {call}\n")
    with onetool_runtime() as ot:
        assert ot.call("two.work").data == [7.5, True, {"Authorization": "Bearer s3"}]


@pytest.mark.spec("SDK-01", "SDK-04")
@pytest.mark.parametrize("name", ["nonexistent", "", "llm.greet", "greet"])
async def test_get_pack_returns_none_for_an_unknown_pack(name: str) -> None:
    assert await run_as_tool(lambda: sdk.get_pack(name=name), LLM) is None


@pytest.mark.spec("SDK-05")
async def test_call_tool_calls_by_qualified_name() -> None:
    """A tool may have a parameter called `name`."""
    assert await run_as_tool(lambda: sdk.call_tool("tools.echo", message="hi")) == "hi"
    assert await run_as_tool(lambda: sdk.call_tool("llm.greet", name="Bob"), LLM) == "hello Bob"


@pytest.mark.spec("SDK-06")
@both_ways
@pytest.mark.parametrize("value", [{"n": (1, {2})}, object(), None, b"\xff"], ids=type)
async def test_nested_call_passes_arguments_and_result_unchanged(call: Any, value: Any) -> None:
    """The caller gets the very object that the tool returned."""
    recorded = []

    def transform(input: str, prompt: str) -> Any:
        recorded.append({"input": input, "prompt": prompt})
        return value

    async def later(input: str, prompt: str) -> Any:
        return transform(input, prompt)

    args = {"input": "hello", "prompt": "summarize"}
    for name in ("transform", "later"):
        assert await run_as_tool(lambda name=name: call(name, **args) is value, {"llm": [transform, later]})
    assert recorded == [args, args]


@pytest.mark.spec("SDK-06")
@both_ways
@pytest.mark.parametrize("kind", [KeyError, httpx2.ConnectError, partial(OSError, 2), sdk.ErrorText])
async def test_nested_call_raises_the_original_exception(call: Any, kind: Any) -> None:
    """A returned ErrorText is passed through."""
    outcome = kind("why")

    def fail() -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    work = partial(call, "fail") if kind is sdk.ErrorText else partial(catch, call, "fail")
    got = await run_as_tool(work, {"llm": [fail]})
    assert (type(got), str(got)) == (type(outcome), str(outcome))


@pytest.mark.spec("SDK-07")
@pytest.mark.parametrize(
    ("name", "message"),
    [("nonexistent.foo", "Pack not found: nonexistent"), ("llm.foo", "Tool not found: llm.foo")]
    + [("foo", "Pack not found: foo")]
    + [(name, None) for name in ("nonexistent.foo.bar", "llm", "", ".")],
)
async def test_call_tool_with_an_unknown_name_raises_value_error(name: str, message: str | None) -> None:
    error = await run_as_tool(lambda: catch(sdk.call_tool, name, arg="value"), LLM)
    assert (isinstance(error, ValueError), message in (None, str(error))) == (True, True), error


async def test_call_tool_in_an_async_tool_raises_and_names_call_tool_async() -> None:
    got: list[Any] = []

    async def work() -> None:
        got.append(await sdk.call_tool_async("llm.greet", name="Bob"))
        got.append("call_tool_async" in str(catch(sdk.call_tool, "llm.greet", name="Bob")))
        await sdk.call_tool_async("nonexistent.foo", arg="value")

    async with memory_runtime({"probe": [work], **LLM}) as ot:
        result = await ot.call("probe.work")
    assert (got, result.meta.exception) == (["hello Bob", True], "ValueError")


@pytest.mark.parametrize("use", ["call_tool x.y", "get_pack x", "get_secret x", "check_deps x"])
def test_sdk_outside_a_runtime_raises_and_names_onetool_runtime(use: str) -> None:
    function, argument = use.split()
    assert "onetool_runtime" in str(catch(getattr(sdk, function), argument))


@pytest.mark.parametrize("method", CALL_METHODS)
async def test_allow_list_applies_to_nested_calls(method: str) -> None:
    ran = []

    def secret() -> None:
        ran.append(method)

    def work() -> Any:
        assert sdk.get_pack("shut") is None or catch(lambda: sdk.get_pack("shut").secret())
        assert isinstance(catch(sdk.call_tool, "shut.secret"), ValueError)
        refused = (
            CALL_METHODS[method]("secret")
            if method == "batch"
            else f"Error: {catch(CALL_METHODS[method], 'secret')}"
        )
        return CALL_METHODS[method]("greet", name="Bob").splitlines()[-1], "Error: " in refused

    caller = Caller(
        interface="python", allowed=frozenset({"probe.probe", "llm.greet"}), default_effect=Effect.ALLOW
    )
    got = await run_as_tool(work, {"llm": [greet, secret], "shut": [secret]}, caller=caller)
    assert (got, ran) == (("hello Bob", True), [])


@pytest.mark.spec("SDK-03", "SDK-09")
async def test_batch_threads_can_use_the_sdk() -> None:
    """They can call tools, use proxies, and read secrets and settings."""

    def work() -> Any:
        pack = sdk.get_pack("llm")

        def process(name: str) -> str:
            read = sdk.get_secret("MY_API_KEY"), sdk.get_config("execution.timeout_s")
            return sdk.call_tool("llm.greet", name=name) + pack.greet(name=name) + str(read)

        return sdk.batch_execute(map(str, range(25)), process)

    out = await run_as_tool(work, LLM, secrets=SECRETS, settings={"execution": {"timeout_s": 7.5}})
    assert out.split("\n\n") == [f"=== {n} ===\nhello {n}hello {n}('s3cret-value', 7.5)" for n in range(25)]


@pytest.mark.spec("SDK-08", "SDK-10")
@pytest.mark.parametrize("items", [["a", "b", "c"], ["a"], ["a", "a"], [], ["a", "missing", "c"]], ids=str)
async def test_batch_output_has_a_separator_for_each_item(items: list[str]) -> None:
    """A failed item shows its error and does not stop the others."""
    values = {"a": "A 1", "b": "two\nlines", "c": ""}
    out = await run_as_tool(lambda: sdk.batch_execute(iter(items), values.__getitem__))
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
async def test_batch_passes_labels_only_to_functions_that_require_them(fetch: Any, first: str) -> None:
    """Separators always show the label."""
    out = await run_as_tool(lambda: sdk.batch_execute([("url1", "Site A"), ("url2", "Site B")], fetch))
    second = first.replace("url1", "url2").replace("Site A", "Site B")
    assert out == f"=== Site A ===\n{first}\n\n=== Site B ===\n{second}"


@pytest.mark.spec("SDK-12")
async def test_batch_output_is_in_the_order_of_the_items() -> None:
    gate = threading.Event()
    items = [(lambda: str(gate.wait(HANG_S)), "Site A"), (lambda: gate.set() or "set", "Site B")]
    out = await run_as_tool(lambda: sdk.batch_execute(items, lambda act: act()))
    assert out == "=== Site A ===\nTrue\n\n=== Site B ===\nset"


@pytest.mark.spec("SDK-09", "SDK-13")
@pytest.mark.parametrize(("workers", "count", "peak"), [(3, 12, 3), (1, 4, 1), (None, 3, 3), (None, 30, 10)])
async def test_batch_runs_up_to_max_workers_items_at_once(workers: int | None, count: int, peak: int) -> None:
    """The default is ten. Each finished item reports progress."""
    barrier, threads, processed, progress = threading.Barrier(peak), set(), [], []
    caller = Caller(
        interface="python", default_effect=Effect.ALLOW, on_progress=lambda *step: progress.append(step[:2])
    )

    def process(item: int) -> None:
        threads.add(threading.current_thread())
        processed.append(item)
        barrier.wait(HANG_S)

    limit = {"max_workers": workers} if workers else {}
    out = await run_as_tool(lambda: sdk.batch_execute(range(count), process, **limit), caller=caller)
    assert (len(threads), sorted(processed)) == (peak, list(range(count)))
    assert ("Error" in out, progress[-count:]) == (False, [(done + 1, count) for done in range(count)])


@pytest.mark.spec("SDK-14", "SDK-15", "SDK-16")
def test_normalize_items_returns_labelled_tuples() -> None:
    """A plain item is its own label; tuples do not change."""
    assert sdk.normalize_items(["a", "b"]) == [("a", "a"), ("b", "b")]
    pairs = [("a", "Label A"), ("b", "Label B"), (5, "")]
    assert sdk.normalize_items(pairs) == pairs
    assert sdk.normalize_items(iter(["ab", ("b", "B"), ""])) == [("ab", "ab"), ("b", "B"), ("", "")]


async def send_request(client: str, url: str, *hosts: str) -> Any:
    """Send a request inside a tool, with the tool's own client or the shared one."""
    with httpx2.Client(trust_env=False) as own:
        pick = {"own": lambda: own, "shared": sdk.http_client}[client]
        return await run_as_tool(
            lambda: sdk.safe_request(pick(), "GET", url), settings={"allowedHosts": hosts}
        )


@pytest.mark.spec("SDK-18", "SDK-19", "SDK-20")
@pytest.mark.parametrize("client", ["own", "shared"])
@pytest.mark.parametrize("path", RESPONSES)
async def test_safe_request_returns_data_or_the_http_error(stub: Any, client: str, path: str) -> None:
    """Success is (True, data) with parsed JSON; 4xx and 5xx are (False, status and 200 characters)."""
    status, _, _, expected = RESPONSES[path]
    ok, data = await send_request(client, stub.url + path, "127.0.0.1")
    if path == "/long" and len(data) <= len(expected) + 3:
        data = data[: len(expected)]
    assert (ok, data) == (status == 200, expected)


@pytest.mark.spec("SDK-17", "SDK-21")
@pytest.mark.parametrize("client", ["own", "shared"])
@pytest.mark.parametrize("url", ["{closed}", "{open}/hang-up", "ftp://127.0.0.1/x", "http://[::1", ""])
async def test_safe_request_returns_connection_errors(stub: Any, client: str, url: str) -> None:
    """The value is (False, "Request failed: ...")."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = url.format(closed=f"http://127.0.0.1:{closed.getsockname()[1]}", open=stub.url)
        ok, message = await send_request(client, url, "127.0.0.1")
    assert (ok, message[:16], len(message) > 16) == (False, "Request failed: ", True), message


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "127.0.0.2", "127.1", "2130706433", "0.0.0.0"])
async def test_shared_client_reaches_only_allowed_private_hosts(stub: Any, host: str) -> None:
    """This applies to direct requests and to redirects."""
    url, leads, listed = f"http://{host}:{stub.server_port}/text", f"{stub.url}/to/", "127.0.0.1"
    got = [
        await send_request("shared", target, listed)
        for target in (url, leads + url, f"{leads}{stub.url}/text")
    ]
    got.append(await send_request("shared", f"{stub.url}/text"))
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
async def test_api_headers_are_built_from_a_secret(name: str, args: Any, expected: dict[str, str]) -> None:
    """A missing secret gives no header."""
    assert await run_as_tool(lambda: sdk.api_headers(name, **args), secrets=SECRETS) == expected


@pytest.mark.spec("SDK-26", "SDK-27", "SDK-28")
@pytest.mark.parametrize("count", [1, 32])
def test_lazy_client_is_created_once_on_first_use(count: int) -> None:
    """Concurrent first calls get the same client."""
    created, callers = [], []

    def create() -> object:
        assert wait_until(lambda: len(callers) == count)
        created.append(object())
        return created[-1]

    def get(_: int) -> Any:
        callers.append(threading.current_thread())
        return getter()

    getter = sdk.lazy_client(create)
    assert (callable(getter), created) == (True, [])
    with ThreadPoolExecutor(count) as pool:
        clients = list(pool.map(get, range(count)))
    assert (len(created), {id(client) for client in [*clients, getter()]}) == (1, {id(created[0])})


@pytest.mark.spec("SDK-29")
async def test_lazy_client_is_none_until_its_secret_exists() -> None:
    created: list[str | None] = []
    getter = sdk.lazy_client(
        lambda: created.append(sdk.get_secret("API_KEY")) or created, secret_name="API_KEY"
    )
    assert (await run_as_tool(lambda: [getter(), getter()]), created) == ([None, None], [])
    same = await run_as_tool(lambda: getter() is getter() is created, secrets={"API_KEY": "s3cret-value"})
    assert (same, created) == (True, ["s3cret-value"])


@pytest.mark.spec("SDK-30", "SDK-34")
@pytest.mark.parametrize("require", [sdk.requires_cli("nonexistent"), sdk.requires_lib("nonexistent")])
async def test_requires_decorators_do_not_change_the_function(require: Any) -> None:
    """Result, name and signature remain, also as a tool."""
    decorated = require(make_tool("greet"))
    assert (decorated("Bob"), list(inspect.signature(decorated).parameters)) == ("hello Bob", ["name"])
    assert (
        await run_as_tool(lambda: CALL_METHODS["proxy"]("greet", name="Bob"), {"llm": [decorated]})
        == "hello Bob"
    )


PACKS_WITH_REQUIREMENTS = {
    "ripgrep": [make_tool("search", sdk.requires_cli("nonexistent", version_flag="--version")), greet],
    "frames": [make_tool("load", *map(sdk.requires_lib, ["pandas", "pytest", "no_such_parent.child"]))],
    "web": [make_tool("fetch", sdk.requires_secret("MY_API_KEY"), sdk.requires_secret("MISSING_KEY"))],
}


@pytest.mark.spec("SDK-31", "SDK-32", "SDK-35")
def test_requirements_of_a_pack_file_appear_in_info_and_check_deps(home: Any) -> None:
    decorators = "@requires_cli('rg')\n@requires_lib('pandas')\ndef search(): ...\n"
    home.write("tools/ripgrep.py", f"{IMPORTS}{decorators}def report(): return check_deps('ripgrep')\n")
    done = onetool("tools", "info", "ripgrep.search")
    with onetool_runtime() as ot:
        report = ot.call("ripgrep.report").data
    assert {entry["tool"] for entry in report} == {"ripgrep.search"}
    for listed in (json.loads(done.stdout)["requires"], report):
        assert sorted((need["kind"], need["name"]) for need in listed) == [("cli", "rg"), ("lib", "pandas")]


@pytest.mark.spec("SDK-33")
@pytest.mark.parametrize("stream", [1, 2])
@pytest.mark.parametrize("printed", ["ffmpeg version 9.9", r"\377\376 version 9.9\nbuilt with gcc"])
async def test_check_deps_reports_the_version_of_a_program(
    home: Any, monkeypatch: Any, printed: str, stream: int
) -> None:
    """Also if the program prints it to stderr."""
    program = f"#!/bin/sh\n[ \"$*\" = --version ] && printf '{printed}' >&{stream}\n"
    file = home.write("bin/ffmpeg", program, 0o755)
    monkeypatch.setenv("PATH", str(file.parent), prepend=":")
    media = make_tool("media", sdk.requires_cli("ffmpeg", version_flag="--version"))
    (entry,) = await run_as_tool(lambda: sdk.check_deps("media"), {"media": [media]})
    assert (entry["name"], entry["status"], "9.9" in entry["version"]) == ("ffmpeg", "ok", True)


@pytest.mark.spec("SDK-36", "SDK-38", "SDK-40")
async def test_check_deps_reports_every_requirement_with_its_status() -> None:
    report = await run_as_tool(sdk.check_deps, PACKS_WITH_REQUIREMENTS, secrets=SECRETS)
    assert all(set(entry) == {"tool", "kind", "name", "status", "version", "install"} for entry in report)
    found = {tuple(entry[key] for key in ("tool", "kind", "name")): entry["status"] for entry in report}
    assert {
        key: value for key, value in found.items() if key[0].split(".")[0] in PACKS_WITH_REQUIREMENTS
    } == {
        ("ripgrep.search", "cli", "nonexistent"): "missing",
        ("frames.load", "lib", "pandas"): "ok" if importlib.util.find_spec("pandas") else "missing",
        ("frames.load", "lib", "pytest"): "ok",
        ("frames.load", "lib", "no_such_parent.child"): "missing",
        ("web.fetch", "secret", "MY_API_KEY"): "ok",
        ("web.fetch", "secret", "MISSING_KEY"): "missing",
    }


@pytest.mark.spec("SDK-37", "SDK-39")
@pytest.mark.parametrize(("name", "count"), [("ripgrep", 1), ("ripgrep.search", 1), ("ripgrep.greet", 0)])
async def test_check_deps_of_one_tool_excludes_others(name: str, count: int) -> None:
    """An unknown name is a ValueError."""
    report = await run_as_tool(lambda: sdk.check_deps(tool=name), PACKS_WITH_REQUIREMENTS)
    assert [(entry["tool"], entry["name"]) for entry in report] == [("ripgrep.search", "nonexistent")] * count
    for unknown in (f"{name}x", f"{name}.nothing", "search", "nonexistent", ""):
        error = await run_as_tool(
            lambda tool=unknown: catch(sdk.check_deps, tool=tool), PACKS_WITH_REQUIREMENTS
        )
        assert isinstance(error, ValueError), error


def test_log_span_writes_one_record_without_secrets(home: Any) -> None:
    """The record has span, inputs, status and duration."""
    home.write("secrets.yaml", "K: s3cret-value\n")
    span = "LogSpan('my-span', x=x, key=get_secret('K')) as span: span.add(y=6 / x)"
    home.write("tools/mine.py", f"{IMPORTS}def work(x: int):\n    with {span}\n")
    with onetool_runtime() as ot:
        assert [ot.call("mine.work", x=x).ok for x in (2, 0)] == [True, False]
    good, bad = [record for record in home.log() if record.get("span") == "my-span"]
    assert (good["status"], good["inputs"]["x"], good["inputs"]["y"]) == ("SUCCESS", 2, 3)
    assert (bad["status"], bad["inputs"]["x"], "division by zero" in str(bad)) == ("FAILED", 0, True)
    assert "s3cret-value" not in str([good, bad])
    assert all(0 <= record["duration"] < 60 for record in (good, bad))

"""Secrets do not appear in results, errors, logs or listings."""

import asyncio
import base64
import json
import os
import re
from dataclasses import replace
from html import unescape
from urllib.parse import quote, unquote
from urllib.request import urlopen

import pytest
from mcp.client.client import Client

from onetool import onetool_runtime
from onetool.bootstrap import open_runtime
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.interfaces.mcp.server import create_server
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from support.chat_client import collect_events
from support.echo_upstream import EchoUpstream
from support.oauth_server import OAuthMcpServer
from support.onetool_process import onetool
from support.rest_in_process import serve_rest
from support.rest_process import http_tool, new_id
from support.waiting import HANG_S

CANARY = 'c4n"ary\\geheim/7'
PACK = '''
from dataclasses import dataclass
from onetool.sdk import ErrorText, call_tool, get_secret

@dataclass
class Box:
    content: str

def give() -> str:
    """Return the secret."""
    return get_secret("CANARY")

def box() -> dict:
    """Return the secret in nested data."""
    return {"a": [{get_secret("CANARY"): Box(get_secret("CANARY"))}]}

def fail() -> str:
    """Raise an error with the secret."""
    raise ValueError("sent to " + get_secret("CANARY"))

def complain() -> str:
    """Return the secret as an error."""
    return ErrorText("Error: " + get_secret("CANARY"))

def shout() -> int:
    """Log the secret."""
    import logging
    key = get_secret("CANARY")
    for name in ("onetool.packs.mine", __name__, "some.library", None):
        logging.getLogger(name).error("key %s", key, extra={"k": key})
    return 1

def use() -> int:
    """Get the secret from another tool, unmasked."""
    return len(call_tool("mine.give"))
'''


@pytest.fixture
def canary_home(home):
    """Return a home with a secret and tools that try to leak it."""
    home.write("secrets.yaml", f"CANARY: {json.dumps(CANARY)}\n")
    home.write("tools/mine.py", PACK)
    return home


def leaks(text: str) -> bool:
    """Return whether a text contains the secret, also escaped or in part."""
    forms = {CANARY, json.dumps(CANARY)[1:-1], repr(CANARY)[1:-1]}
    return any(form in text for form in forms) or "geheim" in text


@pytest.mark.guards("tool-results", "record-redaction")
def test_no_result_error_or_log_contains_the_secret(canary_home):
    """Checked through Python, the command line and the log file. Another tool gets the secret unmasked."""
    names = ("give", "box", "fail", "complain", "shout")
    with onetool_runtime() as ot:
        results = [ot.call(f"mine.{name}") for name in names]
        assert ot.call("mine.use").data == len(CANARY)
    assert not leaks("".join(f"{result!r} {result.to_json()}" for result in results))
    for name in names:
        done = onetool("--log-level", "debug", "tools", "invoke", f"mine.{name}")
        assert not leaks(done.stdout + done.stderr)
        assert done.stdout
    assert {"some.library", "root"} <= {record["logger"] for record in canary_home.log()}
    assert not leaks("".join(json.dumps(record, ensure_ascii=False) for record in canary_home.log()))


def test_secret_in_a_tool_definition_is_masked_in_listings(canary_home, monkeypatch):
    """The default of a parameter may contain a value from the environment."""
    monkeypatch.setenv("MY_TOKEN", CANARY)
    code = "import os\ndef f(token: str = os.environ.get('MY_TOKEN', 'none')) -> str:\n    return 'x'\n"
    canary_home.write("tools/leaky.py", code)
    for args in (["list"], ["info", "leaky.f"], ["export", "--format", "openai"]):
        done = onetool("tools", *args)
        assert "leaky" in done.stdout
        assert "[secret]" in done.stdout
        assert not leaks(done.stdout + done.stderr)


def test_no_listing_or_repr_contains_the_secret(canary_home):
    configuration = load_configuration(find_paths(canary_home.env, canary_home.cwd), {})
    assert not leaks(repr(configuration))
    for args in (["config", "show"], ["tools", "list"], ["tools", "info", "mine.give"], ["config", "path"]):
        done = onetool(*args)
        assert not leaks(done.stdout + done.stderr)
        assert done.returncode == 0


SOURCES = (
    "settings",
    "environment",
    "basic",
    "api",
    "refresh",
    "hmac",
    "provider",
    "header",
    "access",
    "rotated",
)
CANARIES = {name: f'{name}"c4n\\\\ry/{number}7' for number, name in enumerate(SOURCES)}
"""A credential of each source. The last two are issued by the upstream."""
AUTHS = {
    "settings": {"type": "bearer", "token": "${SETTINGS}"},
    "environment": {"type": "apiKey", "in": "header", "name": "X-Env", "value": "${ENVIRONMENT}"},
    "basic": {"type": "basic", "username": "ann", "password": "${BASIC}"},
    "api": {"type": "apiKey", "in": "query", "name": "key", "value": "${API}"},
    "hmac": {"type": "hmac", "secret": "${HMAC}", "payload": "${HMAC}"},
    "oauth": {"type": "oauth2", "grant": "refresh_token", "clientId": "me", "refreshToken": "${REFRESH}"},
}
ECHOES = [*(f"echo.{name}" for name in AUTHS), "headed.echo", "login.echo"]
CALLS = [(name, {"status": status}) for name in ECHOES for status in ("200", "500")]
CALLS += [(f"mine.{name}", {}) for name in ("give", "box", "fail", "complain", "shout", "nested", "large")]
MORE_TOOLS = """

def nested() -> str:
    \"\"\"Return what another tool echoes.\"\"\"
    return str(call_tool("echo.oauth", status="200")) + str(call_tool("login.echo", status="200"))

def large() -> str:
    \"\"\"Return a result that is stored.\"\"\"
    return (nested() + get_secret("CANARY") + " ") * 3
"""
BASE64_RUN = re.compile(r"[A-Za-z0-9+/_-]{8,}")


class Places:
    """Every place that is looked at, and what it shows."""

    def __init__(self):
        self.texts = {}

    def add(self, place, content):
        self.texts[place] = content if isinstance(content, str) else json.dumps(content, default=repr)

    def leaks(self, secrets):
        """Return the places that show a secret, in any of the encodings, and which."""
        views = {place: "\n".join(_decodings(text)) for place, text in self.texts.items()}
        return [
            (place, name) for place, view in views.items() for name, value in secrets.items() if value in view
        ]


def _decodings(text):
    for view in (text, unquote(text), unescape(text), text.replace("\\/", "/")):
        for _ in range(3):  # JSON in JSON in JSON
            yield view
            view = view.replace('\\"', '"').replace("\\\\", "\\")
    for run in BASE64_RUN.findall(text):
        for start in range(4):
            part = run[start : start + (len(run) - start) // 4 * 4].translate(str.maketrans("-_", "+/"))
            yield base64.b64decode(part).decode("latin-1")


def configure(home, upstream, protected):
    names = ("settings", "basic", "api", "refresh", "hmac", "provider")
    secrets = {name.upper(): CANARIES[name] for name in names} | {
        "ENVIRONMENT": "${CANARY_VARIABLE}",
        "CANARY": CANARY,
    }
    home.write("secrets.yaml", json.dumps(secrets))
    settings = {
        "allowedHosts": ["127.0.0.1"],
        "output": {"max_inline_size": 4000},
        "servers": {
            "headed": {"url": f"{upstream.url}/mcp", "headers": {"X-Api-Key": CANARIES["header"]}},
            "login": {"url": protected.url},
        },
        "providers": {"fake": {"base_url": f"{upstream.url}/v1", "model": "m", "key_secret": "PROVIDER"}},
    }
    home.write("onetool.yaml", json.dumps(settings))
    home.write("tools/mine.py", PACK + MORE_TOOLS)
    protected.responses["/mcp"] = lambda request: _protected_echo(upstream, protected, request)


def _protected_echo(upstream, protected, request):
    """Check the token as the protected server does, and echo."""
    response = protected._mcp(replace(request, method="GET"))
    return response if response.status == 401 else upstream.serve_mcp(request)


async def prepare(runtime, upstream):
    """Store the HTTP tools and log in to the server."""
    bundle = new_id()
    await runtime.state.bundles.put_bundle(bundle, {"slug": "echo", "isEnabled": True})
    for name, auth in AUTHS.items():
        token_url = {"tokenUrl": f"{upstream.url}/token"} if name == "oauth" else {}
        url = f"{upstream.url}/echo?status=${{status}}"
        body = http_tool(url, "status", request={"auth": auth | token_url, "method": "POST"})
        await runtime.state.bundles.put_tool((bundle, name, "v1"), body)

    def open_page(url):
        with urlopen(url, timeout=HANG_S) as page:
            return page.status == 200

    await runtime.state.servers["login"].login(lambda url: None, open_page)


async def look_at_calls(runtime, rest, clients, places):
    """Call every tool through every interface."""
    caller = Caller(interface="python", default_effect=Effect.ALLOW)
    for name, args in CALLS:
        place = f"{name} {args.get('status', '')}"
        result = await runtime.call_tool(name, args, caller, "python")
        places.add(f"python {place}", f"{result!r} {json.dumps(result.to_json(), default=repr)}")
        body = {"name": name, "args": args}
        places.add(f"rest {place}", (await rest.post("/tools/call", json=body)).text)
        stream = await rest.post("/tools/call", json=body, headers={"Accept": "text/event-stream"})
        places.add(f"stream {place}", stream.text)
        events = [json.loads(line[6:]) for line in stream.text.splitlines() if line.startswith("data: ")]
        messages = "".join(event["message"] for event in events if "message" in event)
        places.add(f"progress {place}", messages)
        code = f"{name}({', '.join(f'{key}={value!r}' for key, value in args.items())})"
        places.add(
            f"rest run {place}", (await rest.post("/run", json={"code": f"x = {code}\nprint(x)\nx"})).text
        )
        received = []

        async def on_progress(done, total, message, received=received):
            received.append(message or "")

        wire = name.replace(".", "__")
        reply = await clients["all"].call_tool(wire, args, progress_callback=on_progress)
        places.add(f"mcp {place}", reply.model_dump_json())
        places.add(f"mcp progress {place}", "".join(received))
        reply = await clients["run"].call_tool("run", {"command": code})
        places.add(f"mcp run {place}", reply.model_dump_json())


async def look_at_listings(rest, clients, places):
    for path in (
        *("/tools/tools", "/tools/tools/search?q=echo", "/tools/bundles", "/servers", "/health", "/usage"),
        "/activity",
        *("/providers", "/sessions", "/sessions/chat", "/signatures", "/servers/login/log", "/openapi.json"),
    ):
        response = await rest.get(path)
        assert response.status_code == 200, (path, response.text)
        places.add(f"rest {path}", response.text)
    for name in ("login", "headed"):
        places.add(f"rest probe {name}", (await rest.post(f"/servers/{name}/probe")).text)
    for name, client in clients.items():
        places.add(f"mcp tools {name}", (await client.list_tools()).model_dump_json())


def look_at_commands(places):
    commands = [
        *(
            ["--log-level", "debug", "tools", "invoke", name, "--args", '{"status": "500"}']
            for name in ECHOES[-3:]
        ),
        ["--log-level", "debug", "tools", "invoke", "mine.shout"],
        ["run", "[login.echo(status='200'), echo.basic(status='200')]"],
        ["ask", "Go.", "--provider", "fake", "--session", "cli"],
        *(
            ["tools", "list"],
            ["servers", "list"],
            ["servers", "test", "login"],
            ["config", "show"],
            ["stats"],
            ["activity"],
        ),
    ]
    for words in commands:
        done = onetool(*words)
        assert done.stdout, (words, done.stderr)
        places.add(f"stdout {words}", done.stdout)
        places.add(f"stderr {words}", done.stderr)


def look_at_files(home, places):
    """Look at results, statistics, sessions and logs: everything that is stored, except credentials."""
    kinds = set()
    for file in sorted([*(home.root / "data").rglob("*"), *home.state.rglob("*")]):
        kind = file.relative_to(home.root).parts[1]
        if file.is_file() and kind not in ("logins", "http_tokens"):
            kinds.add(kind)
            places.add(f"file {file}", file.read_bytes().decode("latin-1"))
    assert {"results", "sessions", "activity.sqlite3", "onetool.jsonl", "servers"} <= kinds


@pytest.mark.guards("upstream-response")
async def test_no_place_shows_a_credential_that_was_echoed(home, monkeypatch):
    """Every source of credentials, every interface; upstream and servers echo all that they receive."""
    monkeypatch.setenv("CANARY_VARIABLE", CANARIES["environment"])
    tokens, places = {"access_token": CANARIES["access"], "refresh_token": CANARIES["rotated"]}, Places()
    with EchoUpstream(tokens) as upstream, OAuthMcpServer() as protected:
        configure(home, upstream, protected)
        paths = find_paths(home.env, home.cwd)
        async with open_runtime(lambda: load_configuration(paths, os.environ)) as runtime:
            await prepare(runtime, upstream)
            servers = [create_server(runtime, name) for name in ("all", "run")]
            async with serve_rest(runtime) as rest, Client(servers[0]) as every, Client(servers[1]) as run:
                rest.timeout, clients = HANG_S, {"all": every, "run": run}
                await look_at_calls(runtime, rest, clients, places)
                events = await collect_events(rest, {"text": "Go.", "provider": "fake", "session": "chat"})
                places.add("chat events", events)
                places.add("chat text", "".join(data["text"] for kind, data in events if kind == "text"))
                await look_at_listings(rest, clients, places)
        await asyncio.to_thread(look_at_commands, places)
    look_at_files(home, places)
    issued = {secret: secret for secret in protected.secrets if secret.startswith(("access", "refresh"))}
    secrets = CANARIES | {"canary": CANARY} | issued
    secrets["signature"] = re.search(r"X-Signature: (\w+)", upstream.seen)[1]
    never_sent = [
        name
        for name in SOURCES
        if name not in ("hmac", "basic", "rotated") and CANARIES[name] not in upstream.seen
    ]
    assert never_sent == ["refresh"]  # it is sent in a form
    assert quote(CANARIES["refresh"], "") in upstream.seen
    assert base64.b64encode(f"ann:{CANARIES['basic']}".encode()).decode() in upstream.seen
    assert len(places.texts) >= 200
    assert places.leaks(secrets) == []
    assert sum("[secret]" in text for text in places.texts.values()) > 100

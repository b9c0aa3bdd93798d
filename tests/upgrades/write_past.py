"""Write what a user of this revision has stored: a home directory, and the dump of a hosted database.

Run it with an earlier revision, so that a test can open with today's code what that revision wrote:

    git worktree add /tmp/earlier REVISION
    PYTHONPATH=/tmp/earlier/src python tests/upgrades/write_past.py tests/upgrades/REVISION

It uses only the command line and the REST API, and PostgreSQL at 127.0.0.1:5432.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

DATABASE_SERVER = "postgresql://postgres@127.0.0.1:5432"
DATABASE = "onetool_past"
TOKEN = "token-of-the-past"
KEYS = "past:" + "cGFzdA" * 7 + "c="
"""Not a secret: a key that seals the secrets in the dump."""
WORKSPACE = "acme"
HEADER = {"slug": "", "displayName": "", "description": "", "isEnabled": True}
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
FOR_EVER_S = 3_000_000_000
"""A century: what is stored must not expire before a test reads it."""
BUNDLE, HTTP_ONLY = "0190aaaa-0000-7000-8000-000000000001", "0190aaaa-0000-7000-8000-000000000002"

SECRETS = {"PLAIN": "a-plain-secret", "BOUND": {"value": "a-bound-secret", "hosts": ["api.example.com"]}}
SCRIPT = [
    {"calls": [{"name": "journal.write", "args": {"text": "asked"}}]},
    {"text": "It is written."},
]
JOURNAL = '''"""A journal."""

from pathlib import Path

from onetool.sdk import tool

pack = "journal"


@tool(read_only=False)
def write(text: str) -> str:
    """Write a line."""
    return f"wrote {text}"


def pages(number: int) -> list:
    """Return many pages."""
    return [{"page": page, "text": "word " * 50} for page in range(number)]
'''
CLOCK_SERVER = '''"""An MCP server with one tool, which needs nothing but Python."""

import json
import sys

TOOL = {"name": "now", "description": "Tell the time.", "inputSchema": {"type": "object", "properties": {}}}
RESULTS = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "clock", "version": "1"},
    },
    "tools/list": {"tools": [TOOL]},
    "tools/call": {"content": [{"type": "text", "text": "noon"}]},
    "ping": {},
}
UNKNOWN = {"error": {"code": -32601, "message": "unknown method"}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = RESULTS.get(message["method"])
        answer = UNKNOWN if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
'''
SETTINGS = {
    "allowedHosts": ["127.0.0.1", "api.example.com"],
    "servers": {"clock": {"command": "python3", "args": ["-c", CLOCK_SERVER], "sandbox": False}},
    "providers": {"scripted": {"model": "script.json"}},
    "approval": {"allow": ["journal.*"]},
    "output": {"ttl_s": FOR_EVER_S},
    "sessions": {"retention_days": FOR_EVER_S / 86_400},
    "activity": {"retention_days": FOR_EVER_S // 86_400},
    "profiles": {"reader": {"packs": ["journal"], "exclude": ["journal.write"]}},
}


def onetool(*words: str, env: Mapping[str, str], cwd: Path, stdin: str = "") -> str:
    """Run a command, which must succeed, and return its output."""
    command = [sys.executable, "-m", "onetool", *words]
    ended = subprocess.run(
        command, env={**os.environ, **env}, cwd=cwd, input=stdin, capture_output=True, text=True
    )
    if ended.returncode:
        raise SystemExit(f"{' '.join(words)} failed: {ended.stderr}{ended.stdout}")
    return ended.stdout


class Api:
    """Requests to a server."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url, token

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request, which must succeed, and return the body of the response."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{method} {path}: {error.read().decode()}") from None


@contextmanager
def serving(*options: str, env: Mapping[str, str], cwd: Path) -> Iterator[str]:
    """Serve, and yield the URL."""
    command = [sys.executable, "-m", "onetool", "serve", "--port", "0", *options]
    with subprocess.Popen(
        command, env={**os.environ, **env}, cwd=cwd, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"http://[\d.:]+", line)
        try:
            assert address, line
            yield address[0]
        finally:
            process.send_signal(signal.SIGTERM)


def write_bundles(api: Api) -> None:
    """Store a bundle with a tool of each type, and call what can be called without a network."""
    bundle = f"/tools/bundles/{BUNDLE}"
    api.send("PUT", bundle, HEADER | {"slug": "house", "displayName": "House"})
    api.send(
        "PUT",
        f"/tools/bundles/{HTTP_ONLY}",
        HEADER | {"slug": "empty", "displayName": "Empty", "isEnabled": False},
    )
    common = {
        "displayName": "T",
        "description": "Of the past.",
        "tags": ["old"],
        "isEnabled": True,
        "argSchema": SCHEMA,
    }
    request = {
        "method": "GET",
        "urlTemplate": "https://api.example.com/${text}",
        "auth": {"type": "bearer", "token": "${BOUND}"},
    }
    tools = {
        "fetch": {"type": "http", "httpImpl": {"request": request}},
        "shout": {"type": "code", "codeImpl": {"program": "text.upper()"}},
    }
    for slug, fields in tools.items():
        for version in ("v1", "v2"):
            api.send("PUT", f"{bundle}/tools/{slug}/version/{version}", common | fields)
    api.send("PATCH", f"{bundle}/tools/fetch/version/v1", {"isEnabled": False})
    reply = api.send("POST", f"{bundle}/tools/shout/version/v1/invoke", {"args": {"text": "quiet"}})
    assert reply["value"] == "QUIET", reply


def write_home(root: Path) -> None:
    """Write a home directory in the way a user does."""
    folders = {name: root / name for name in ("config", "data", "state", "work")}
    for folder in folders.values():
        folder.mkdir(parents=True, mode=0o700)
    env = {f"ONETOOL_{name.upper()}_DIR": str(folders[name]) for name in ("config", "data", "state")}
    env["ONETOOL_TOKEN"] = TOKEN
    config, work = folders["config"], folders["work"]
    (config / "tools").mkdir()
    files = {
        config / "onetool.yaml": json.dumps(SETTINGS),
        config / "secrets.yaml": json.dumps(SECRETS),
        config / "tools" / "journal.py": JOURNAL,
        work / "script.json": json.dumps(SCRIPT),
    }
    for file, text in files.items():
        file.write_text(text)
        file.chmod(0o600)
    with serving(env=env, cwd=work) as url:
        write_bundles(Api(url, TOKEN))
    onetool("call", "journal.write", "text=called", env=env, cwd=work)
    onetool("servers", "test", env=env, cwd=work)
    onetool("call", "clock.now", env=env, cwd=work)
    onetool("run", "journal.pages(number=400)", env=env, cwd=work)
    onetool("ask", "Write it down.", "--provider", "scripted", "--session", "diary", env=env, cwd=work)
    onetool("tools", "disable", "time.now", env=env, cwd=work)


def write_dump(file: Path, folder: Path) -> None:
    """Write a dump of the database of a hosted installation with one workspace."""
    url = f"{DATABASE_SERVER}/{DATABASE}"
    env = {"ONETOOL_DATABASE_URL": url, "ONETOOL_KEYS": KEYS}
    psql = ["psql", "--quiet", "--no-psqlrc", f"{DATABASE_SERVER}/postgres", "--command"]
    subprocess.run([*psql, f"drop database if exists {DATABASE}"], check=True)
    subprocess.run([*psql, f"create database {DATABASE}"], check=True)
    try:
        onetool("migrate", env=env, cwd=folder)
        onetool("admin", "workspace", "create", WORKSPACE, env=env, cwd=folder)
        onetool("admin", "secret", "set", WORKSPACE, "PLAIN", env=env, cwd=folder, stdin="a-plain-secret\n")
        settings = folder / "settings.json"
        settings.write_text(json.dumps({"allowedHosts": SETTINGS["allowedHosts"]}))
        onetool("admin", "settings", "set", WORKSPACE, str(settings), env=env, cwd=folder)
        key = (
            "admin",
            "key",
            "create",
            WORKSPACE,
            "past",
            "--owner",
            "anna",
            "--role",
            "owner",
            "--days",
            "3650",
        )
        token = onetool(*key, env=env, cwd=folder).split()[0]
        with serving("--hosted", env=env, cwd=folder) as base:
            api = Api(f"{base}/w/{WORKSPACE}", token)
            write_bundles(api)
            api.send("POST", "/run", {"command": "tools.echo(message='past')"})
        dump = subprocess.check_output(["pg_dump", url], text=True)
        statements = re.sub(r"(?m)^\\(un)?restrict .*\n", "", dump)  # commands of newer versions of psql
        file.write_text(f"-- key: {token}\n{statements}")
    finally:
        subprocess.run([*psql, f"drop database {DATABASE} with (force)"], check=True)


def main(target: Path) -> None:
    """Write both into a directory."""
    target.mkdir(parents=True)
    with TemporaryDirectory() as temporary:
        write_home(Path(temporary) / "home")
        with tarfile.open(target / "home.tar.xz", "w:xz") as archive:
            archive.add(Path(temporary) / "home", "home")
        (Path(temporary) / "hosted").mkdir()
        write_dump(Path(temporary) / "hosted.sql", Path(temporary) / "hosted")
        subprocess.run(["xz", "-9", Path(temporary) / "hosted.sql"], check=True)
        shutil.move(Path(temporary) / "hosted.sql.xz", target)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())

"""Try real MCP servers from npm and PyPI as a new user, and write docs/compatibility.md.

Results are stored as each server finishes, so that an interrupted run continues where it stopped.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from benchmarks.compatibility_page import PAGE, write_page
from benchmarks.listed_servers import FILE, ListedServer, load_servers
from onetool.version import __version__

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onetool-compatibility"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
LIMIT_S = 300.0
NAME = "server"
"""The name of the tested server in OneTool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewUser:
    """A home without any file, and the commands that run in it."""

    home: Path
    path: str
    names: Mapping[str, str]

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run `onetool` with the time limit of a server."""
        folders = {
            f"ONETOOL_{name}_DIR": str(self.home / name.lower()) for name in ("CONFIG", "DATA", "STATE")
        }
        env = os.environ | folders | {"HOME": str(self.home), "PATH": self.path}
        for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "VIRTUAL_ENV"):
            env.pop(name, None)
        command = [sys.executable, "-m", "onetool", *words]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT_S, env=env, cwd=self.home, check=False
        )

    def fill(self, value: Any) -> Any:
        """Replace `{work}`, `{page}` and `{chromium}` in the texts of a value."""
        if isinstance(value, str):
            for name, text in self.names.items():
                value = value.replace(f"{{{name}}}", text)
            return value
        if isinstance(value, Mapping):
            return {key: self.fill(item) for key, item in value.items()}
        return [self.fill(item) for item in value] if isinstance(value, list | tuple) else value

    def anonymize(self, text: str) -> str:
        """Replace the addresses of this machine in a text by `{work}` and so on."""
        for name, value in self.names.items():
            text = text.replace(value, f"{{{name}}}")
        return text.replace(str(self.home), "~")


def try_server(server: ListedServer, cache: Path) -> dict[str, Any]:
    """Add a server to an empty home, start it twice and call one tool."""
    found: dict[str, Any] = {
        "server": json.loads(json.dumps(asdict(server))),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "onetool": __version__,
        "starts": [],
        "outcome": {},
    }
    with new_user(server, cache) as user:
        write_secrets(user.home, server)
        added = user.run("servers", "add", NAME, *user.fill(server.options), *user.fill(server.command))
        if added.returncode:
            return found | {"starts": [{"ok": False, "reason": user.anonymize(added.stderr)}]}
        try:
            for _ in range(2):
                found["starts"].append(_start(user))
            found["outcome"] = _call(user, server)
        except subprocess.TimeoutExpired as error:
            found["reason"] = f"{error.cmd[3:]} took longer than {LIMIT_S:.0f} s"
        return found | {"version": installed_version(user.home, server.package)}


def _start(user: NewUser) -> dict[str, Any]:
    done = user.run("servers", "test", NAME, "--json")
    try:
        result = json.loads(done.stdout)[0]
    except ValueError:
        return {"ok": False, "reason": user.anonymize(done.stderr)}
    sandbox = next((step["detail"] for step in result["steps"] if step["name"] == "sandbox"), "")
    result_part = {key: result[key] for key in ("ok", "tools", "seconds")}
    return result_part | {"reason": user.anonymize(result["reason"]), "sandbox": sandbox}


def _call(user: NewUser, server: ListedServer) -> dict[str, Any]:
    args = json.dumps(user.fill(server.args))
    done = user.run("tools", "invoke", f"{NAME}.{server.call}", "--args", args, "--json")
    try:
        result = json.loads(done.stdout)
    except ValueError:
        return {"ok": False, "text": user.anonymize(done.stderr), "reason": "no JSON"}
    if result["ok"]:
        data = result["data"]
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        return {"ok": True, "text": user.anonymize(text)[:2000]}
    message = user.anonymize(result["error"]["message"])
    return {"ok": False, "text": message[:2000], "reason": result["meta"]["reason"]}


def installed_version(home: Path, package: str) -> str:
    """Return the version that npx or uvx installed below a home, or an empty text."""
    for file in home.rglob(f"node_modules/{package}/package.json"):
        return str(json.loads(file.read_text(encoding="utf-8"))["version"])
    name = package.replace("-", "[-_]").replace(".", "[._]")
    for directory in home.rglob(f"{name}-*.dist-info"):
        return directory.name.removesuffix(".dist-info").rpartition("-")[2]
    return ""


@contextlib.contextmanager
def new_user(server: ListedServer, cache: Path) -> Iterator[NewUser]:
    """Create a home, a directory with sample files and a web page; delete them afterwards."""
    with tempfile.TemporaryDirectory(prefix="compat-", ignore_cleanup_errors=True) as directory:
        home, work = Path(directory, "home"), Path(directory, "work")
        home.mkdir(mode=0o700)
        write_samples(work)
        path = os.environ["PATH"]
        if server.node:
            path = f"{install_node(server.node, cache)}{os.pathsep}{path}"
        chromium = next(filter(None, map(shutil.which, BROWSERS)), "chromium")
        with serve(work) as page:
            names = {"work": str(work), "page": page, "chromium": chromium}
            yield NewUser(home=home, path=path, names=names)


def write_samples(work: Path) -> None:
    """Create the files that the calls use, in a Git repository."""
    work.mkdir()
    texts = {
        "note.txt": "A note.\n",
        "page.html": "<!doctype html><title>Sample page</title><h1>Sample page</h1><p>A paragraph.</p>",
    }
    for name, text in texts.items():
        (work / name).write_text(text, encoding="utf-8")
    with contextlib.closing(sqlite3.connect(work / "data.db")) as database:
        database.execute("CREATE TABLE notes (text)")
    subprocess.run(["git", "init", "--quiet", str(work)], check=True, timeout=30)


def write_secrets(home: Path, server: ListedServer) -> None:
    """Store a placeholder for every secret that the options name, where a user would store the real one."""
    names = re.findall(r"\$\{(\w+)\}", " ".join(server.options))
    file = home / "config" / "secrets.yaml"
    file.parent.mkdir(mode=0o700)
    file.touch(mode=0o600)
    file.write_text("".join(f"{name}: placeholder-{number}\n" for number, name in enumerate(names)))


def install_node(major: int, cache: Path) -> Path:
    """Return a directory with a Node of this major version, installed from npm."""
    root = cache / f"node-{major}"
    program = root / "node_modules" / "node" / "bin"
    if not program.exists():
        root.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--prefix", str(root), "--no-audit", "--no-fund", f"node@{major}"]
        subprocess.run(command, check=True, timeout=LIMIT_S, stdout=subprocess.DEVNULL)
    return program


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Write nothing: the output of this program is the progress."""


@contextlib.contextmanager
def serve(directory: Path) -> Iterator[str]:
    """Serve a directory on this machine and return the URL of its page."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_QuietHandler, directory=str(directory))) as web:
        Thread(target=web.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{web.server_port}/page.html"
        finally:
            web.shutdown()


def is_tried(server: ListedServer, results: Mapping[str, Any]) -> bool:
    """Return whether there is a result of the server exactly as it is listed."""
    return bool(results.get(server.package, {}).get("server") == json.loads(json.dumps(asdict(server))))


def main() -> int:
    """Try the servers that have no result yet, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compatibility", description=__doc__)
    parser.add_argument("packages", nargs="*", help="servers to try, by package; all by default")
    parser.add_argument("--again", action="store_true", help="also try servers that have a result")
    parser.add_argument("--cache", type=Path, default=CACHE, help=f"directory of the results: {CACHE}")
    args = parser.parse_args()
    servers = load_servers()
    unknown = set(args.packages) - {server.package for server in servers}
    if unknown:
        parser.error(f"unknown package {min(unknown)!r}. Valid: those in {FILE.name}.")
    args.cache.mkdir(parents=True, exist_ok=True)
    file = args.cache / "results.json"
    results = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    for server in servers:
        is_wanted = server.package in (args.packages or [server.package])
        if is_wanted and (args.again or not is_tried(server, results)):
            print(f"{server.package} ...", flush=True)
            results[server.package] = try_server(server, args.cache)
            new = file.with_suffix(".new")
            new.write_text(json.dumps(results, indent=1), encoding="utf-8")
            new.replace(file)
            print(json.dumps(results[server.package], indent=1), flush=True)
    write_page([(server, results[server.package]) for server in servers if is_tried(server, results)])
    print(f"Wrote {PAGE.name}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

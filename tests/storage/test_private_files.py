"""Everything that OneTool writes is private to the user, whatever the umask."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from onetool.domain.calls.question import CANCELLED
from onetool.domain.content.media import Media
from onetool.domain.jobs.job import Job
from onetool.domain.servers.manifest import ServerManifest
from onetool.files.atomic import make_private_dir, write_atomic, write_new
from onetool.storage.files.client_sessions import FileClientSessions
from onetool.storage.files.jobs import FileJobs
from onetool.storage.files.keys import read_or_create_key
from onetool.storage.files.manifests import FileManifests
from onetool.storage.files.results import FileResults
from onetool.storage.files.toggles import FileToggles
from onetool.storage.files.tokens import FileTokens
from onetool.threads import Threads
from support.onetool_process import TIMEOUT_S

pytestmark = pytest.mark.linux

COMMANDS = (
    ["init", "--yes"],
    ["auth", "login", "openai"],
    ["servers", "add", "gh", "--url", "https://example.com/mcp"],
    ["bundles", "import", "openapi", "api.json"],
    ["run", "'x' * 60_000"],
    ["ask", "--provider", "scripted", "--session", "s", "What time is it?"],
    ["stats", "--output", "report.html"],
)
EMPTY = ServerManifest(listed_at=0.0, tools=(), pins={})
API = """{"openapi": "3.1.0", "info": {"title": "Weather", "version": "1"}, "servers": [{"url": "https://a.example"}],
"paths": {"/now": {"get": {"operationId": "now", "responses": {"200": {"description": "ok"}}}}}}"""


def public_paths(root: Path) -> dict[str, str]:
    """Return every path below a directory that other users can access, with its mode."""
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in root.rglob("*")}
    return {str(path): f"{mode:04o}" for path, mode in modes.items() if mode & 0o077}


@pytest.mark.guards("record-calls", "user-reads")
def test_every_file_and_directory_is_private(tmp_path):
    """New parents of the user's directories and the files of SQLite included."""
    home, work = tmp_path / "home", tmp_path / "home" / "work"
    work.mkdir(parents=True, mode=0o700)
    (work / "api.json").write_text(API)
    (work / "api.json").chmod(0o600)
    env = {key: value for key, value in os.environ.items() if not key.startswith(("ONETOOL_", "XDG_"))}
    env |= {f"XDG_{kind}_HOME": str(home / "new" / kind.lower()) for kind in ("CONFIG", "DATA", "STATE")}
    for command in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", "onetool", *command],
            umask=0,
            env=env,
            cwd=work,
            input="sk-test\n",
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        assert done.returncode == 0, done
    written = {path.name for path in home.rglob("*")}
    assert written >= {"onetool.yaml", "secrets.yaml", "onetool.jsonl", "packs.json", "report.html"}
    assert written >= {"activity.sqlite3", "index.sqlite3", "s.jsonl", "results", "bundles"}
    assert public_paths(home) == {}


@pytest.mark.guards("client-state", "client-jobs", "user-reads")
async def test_stores_that_no_command_fills_are_private(tmp_path):
    """Directories too, even if they existed with other permissions."""
    before = os.umask(0)
    try:
        for name in ("jobs", "logins"):
            (tmp_path / name).mkdir(mode=0o755)
        await FileManifests(tmp_path / "a" / "servers", Threads()).change("gh", lambda _: EMPTY)
        async with FileTokens(tmp_path / "logins", Threads()).exclusive("gh") as stored:
            await stored.replace("{}")
        await FileToggles(tmp_path / "c" / "bundles" / "toggles.json", Threads()).set("id", False)
        await FileClientSessions(tmp_path / "clients", Threads()).put("1" * 32, "level", "info")
        await FileResults(tmp_path / "results", Threads()).put_media(
            Media(b"x", "image/png"), "a.b", owner="local"
        )
        jobs = FileJobs(tmp_path / "jobs", Threads())
        job = Job("0" * 32, "ann", "demo.tool", "d", jobs.owner, 5.0)
        await jobs.put(job)
        await jobs.answer(job.id, "q1", CANCELLED)
        await jobs.cancel(job.id)
        await jobs.aclose()
        read_or_create_key(tmp_path / "keys" / "key")
        write_atomic(tmp_path / "d" / "e" / "f", b"")
        write_new(tmp_path / "g" / "h" / "i", b"")
        make_private_dir(tmp_path / "j" / "k")
    finally:
        os.umask(before)
    written = {path.name for path in tmp_path.rglob("*")}
    assert written >= {f"{job.id}.{suffix}" for suffix in ("json", "q1", "cancel")} | {f"{jobs.owner}.lock"}
    assert written >= {"gh.json", "toggles.json", "level", "key"}
    assert public_paths(tmp_path) == {}

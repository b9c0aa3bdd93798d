"""A fresh home for each task: the files of the user, the settings and the stored tools."""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from uuid_utils.compat import uuid7

from benchmarks.agents import servers
from benchmarks.agents.parcels_api import HOST, serve_parcels, tool_definitions
from benchmarks.agents.samples import write_samples
from benchmarks.agents.session import PREFIX
from benchmarks.agents.tasks import Task
from onetool.domain.bundles.bundle import Bundle, ToolVersion, rfc3339


@dataclass(frozen=True, slots=True)
class AgentHome:
    """The directories of a user. `work` is the working directory, `state` what servers and the API store."""

    root: Path

    @property
    def work(self) -> Path:
        """The files of the user."""
        return self.root / "work"

    @property
    def state(self) -> Path:
        """What servers and the API store."""
        return self.root / "state"

    @property
    def env(self) -> dict[str, str]:
        """The environment in which `onetool` uses this home."""
        folders = {
            f"ONETOOL_{name}_DIR": str(self.root / "onetool" / name.lower())
            for name in ("CONFIG", "DATA", "STATE")
        }
        return os.environ | folders

    @property
    def onetool_state(self) -> Path:
        """Where OneTool stores what servers list."""
        return self.root / "onetool" / "state"


@contextlib.contextmanager
def temporary_home(task: Task, entries: servers.Entries) -> Iterator[AgentHome]:
    """Create a home, and delete it afterwards."""
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as folder:
        home = AgentHome(Path(folder))
        with open_home(home, task, entries):
            yield home


@contextlib.contextmanager
def open_home(home: AgentHome, task: Task, entries: servers.Entries) -> Iterator[None]:
    """Fill an empty home, and serve the HTTP API of its stored tools."""
    home.state.mkdir()
    write_samples(home.work, home.state)
    for name, text in (task.files or {}).items():
        file = home.work / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    with serve_parcels(home.state / "parcel_notes.jsonl") as port:
        _write_settings(home, entries)
        _write_bundle(home.root / "onetool" / "data" / "bundles", port)
        if entries:
            shutil.copytree(_listings(entries), home.onetool_state)
        yield


def _write_settings(home: AgentHome, entries: servers.Entries) -> None:
    settings = {
        "allowedHosts": [HOST],
        "servers": servers.settings_of(entries, home.work, home.state),
    }
    file = home.root / "onetool" / "config" / "onetool.yaml"
    file.parent.mkdir(mode=0o700, parents=True)
    file.touch(mode=0o600)
    file.write_text(yaml.safe_dump(settings), encoding="utf-8")


def _write_bundle(folder: Path, port: int) -> None:
    at = rfc3339(time.time())
    bundle = Bundle(id=str(uuid7()), slug="parcels", created_at=at, modified_at=at)
    _write_json(folder / bundle.id / "bundle.json", bundle.to_json())
    for fields in tool_definitions(port):
        tool = ToolVersion(
            id=str(uuid7()),
            bundle_id=bundle.id,
            version="v1",
            type="http",
            created_at=at,
            modified_at=at,
            **fields,
        )
        _write_json(folder / bundle.id / f"{tool.id}.json", tool.to_json())


def _write_json(file: Path, value: Mapping[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"schemaVersion": 1, **value}), encoding="utf-8")


def _listings(entries: servers.Entries) -> Path:
    """Return the directory with what a first start stores: listings of servers, and descriptions of packs."""
    servers.install(entries)
    digest = hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()[:16]
    folder = servers.CACHE / "listings" / digest
    if not folder.exists():
        with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as directory:
            home = AgentHome(Path(directory))
            home.state.mkdir()
            write_samples(home.work, home.state)
            _write_settings(home, entries)
            _start_servers(home)
            folder.parent.mkdir(parents=True, exist_ok=True)
            new = folder.with_suffix(f".{os.getpid()}")
            shutil.copytree(
                home.onetool_state / "servers", new / "servers", ignore=shutil.ignore_patterns("*.lock")
            )
            shutil.copy(home.onetool_state / "packs.json", new)
            new.rename(folder)
    return folder


def _start_servers(home: AgentHome) -> None:
    print("Starting the servers once ...", file=sys.stderr)
    command = [sys.executable, "-m", "onetool", "servers", "test", "--json"]
    done = subprocess.run(
        command, env=home.env, cwd=home.work, capture_output=True, text=True, timeout=servers.LIMIT_S
    )
    failed = [f"{found['name']}: {found['reason']}" for found in json.loads(done.stdout) if not found["ok"]]
    if failed:
        raise SystemExit("Servers do not start:\n" + "\n".join(failed))

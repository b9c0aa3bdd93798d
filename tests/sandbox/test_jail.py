"""Restrictions of the worker process that runs sandboxed code."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from onetool.sandbox.launcher import JAIL, active_restrictions, list_libraries
from onetool.testing import memory_runtime
from support.waiting import HANG_S

pytestmark = pytest.mark.linux
PERL = shutil.which("perl") or ""
MEMORY_BYTES = 300 * 2**20
ATTACKS = {
    "read a file": 'open(F, "<", "/etc/passwd")',
    "read its own memory map": 'open(F, "<", "/proc/self/maps")',
    "list a directory": 'opendir(D, "/")',
    "create a file": 'open(F, ">", "{folder}/new")',
    "append to a file": 'open(F, ">>", "{folder}/old")',
    "truncate a file": 'truncate("{folder}/old", 0)',
    "delete a file": 'unlink("{folder}/old")',
    "rename a file": 'rename("{folder}/old", "{folder}/new")',
    "link a file": 'link("{folder}/old", "{folder}/new")',
    "create a directory": 'mkdir("{folder}/new")',
    "change permissions": 'chmod(0777, "{folder}/old")',
    "change the owner": 'chown(1, 1, "{folder}/old")',
    "change the time": 'utime(1, 1, "{folder}/old")',
    "start a process": "defined(fork)",
    "execute a program": 'exec("/bin/true")',
    "open a Unix socket": "socket(S, 1, 1, 0)",
    "open a TCP socket": "socket(S, 2, 1, 0)",
    "open a UDP socket": "socket(S, 2, 2, 0)",
    "open an IPv6 socket": "socket(S, 10, 1, 0)",
    "open a pair of sockets": "socketpair(S, T, 1, 1, 0)",
    "signal its parent": "kill(0, getppid())",
    "become another user": "($< = 1) == 0 && !$!",
}
"""What a broken interpreter could try, as expressions of Perl that are true on success."""


def run_jailed(code: str, memory_bytes: int = MEMORY_BYTES) -> "subprocess.CompletedProcess[str]":
    """Run a native program in the jail: Perl, whose operators are system calls."""
    files = [PERL, *list_libraries(PERL), "/dev/null"]
    jail = json.dumps({"program": PERL, "files": files, "memory_bytes": memory_bytes})
    command = [sys.executable, "-I", "-S", str(JAIL), jail, "-e", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)


@pytest.mark.guards("model-code")
@pytest.mark.skipif(not PERL, reason="needs perl")
@pytest.mark.parametrize("attack", ATTACKS)
def test_native_program_in_the_jail_cannot(attack, tmp_path):
    (tmp_path / "old").write_text("old")
    expression = ATTACKS[attack].replace("{folder}", str(tmp_path))
    done = run_jailed(f'print "started "; print(({expression}) ? "done" : "denied: $!")')
    assert done.stdout.startswith("started denied: "), done
    assert (tmp_path / "old").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.skipif(not PERL, reason="needs perl")
def test_native_program_in_the_jail_cannot_exceed_its_memory():
    allocate = "my $n = $ARGV[0] || %d; my $text = 'x' x $n; print length $text"
    assert run_jailed(allocate % (MEMORY_BYTES // 4)).stdout == str(MEMORY_BYTES // 4)
    assert run_jailed(allocate % (2 * MEMORY_BYTES)).stdout == ""


@pytest.mark.guards("model-code")
@pytest.mark.skipif(not PERL, reason="needs perl")
def test_native_program_in_the_jail_has_no_environment_and_no_capabilities(monkeypatch):
    """It could otherwise read keys of the user's shell."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    assert run_jailed('print join(",", sort keys %ENV)').stdout == ""
    report = active_restrictions(PERL)
    assert report == dict.fromkeys(["network", "privileges", "limits", "files", "system calls"], True)


async def test_run_needs_no_executable_file_in_the_temporary_directory(tmp_path, monkeypatch):
    """A cleaner may delete everything there, and the directory may not allow to execute files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    before = set(workers())
    async with memory_runtime() as ot:
        assert (await ot.run("1 + 1")).data == 2
        assert [path for path in tmp_path.rglob("*") if path.is_file() and os.access(path, os.X_OK)] == []
        for path in tmp_path.iterdir():
            shutil.rmtree(path)
        for worker in set(workers()) - before:
            os.kill(int(worker.name), signal.SIGKILL)
        results = [await ot.run("2 + 2") for _ in range(3)]
    assert results[-1].data == 4


def workers() -> list[Path]:
    """Return the child processes that run the interpreter."""
    processes = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and b"monty" in (process / "cmdline").read_bytes():
                processes.append(process)
        except (OSError, ValueError, IndexError):
            continue
    return processes


async def test_worker_has_no_network_and_no_new_privileges():
    """It has its own empty network namespace and few open files."""
    before = set(workers())
    async with memory_runtime() as ot:
        assert (await ot.run("1 + 1")).data == 2
        (worker,) = set(workers()) - before
        status = (worker / "status").read_text()
        limits = (worker / "limits").read_text()
        network = (worker / "ns" / "net").readlink()
    assert "NoNewPrivs:\t1" in status
    assert "Max open files            64" in limits
    assert "Max core file size        0" in limits
    assert network != Path("/proc/self/ns/net").readlink()


async def test_workers_end_with_the_runtime():
    before = set(workers())
    async with memory_runtime() as ot:
        await asyncio.gather(*(ot.run("1 + 1") for _ in range(4)))
        assert set(workers()) - before
    assert set(workers()) <= before

"""Processes of a sandboxed server: none of them outlives the server or OneTool."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from onetool.sources.mcp_servers.sandbox import landlock_rules
from onetool.sources.mcp_servers.sandbox.policy import (
    Mechanism,
    MechanismSupport,
    PathGrant,
    SandboxPolicy,
)
from onetool.sources.mcp_servers.sandbox.wrapping import wrap
from sources.attacked_user import HOSTILE_SERVER, start_command, supported
from support.processes import command_lines, processes_with_env, wait_until
from support.waiting import HANG_S

pytestmark = pytest.mark.linux
PARENT = """
import subprocess, sys
from pathlib import Path
from onetool.sources.mcp_servers.sandbox.policy import Mechanism, MechanismSupport, PathGrant, SandboxPolicy
from onetool.sources.mcp_servers.sandbox.mechanisms import choose_mechanism
from onetool.sources.mcp_servers.sandbox.wrapping import wrap
mechanism, home, server, marker = sys.argv[1:]
policy = SandboxPolicy(home=Path(home), cwd=Path(home), paths=(PathGrant(path=Path(server)),))
argv = [sys.executable, "-I", "-S", server, "detach", "ignore stdin"]
env = {"PATH": "/usr/bin:/bin", "MARKER": marker}
command = wrap(argv, env, policy, choose_mechanism(Mechanism(mechanism)))
with command.open_plan() as (argv, descriptors):
    options = {"env": dict(command.env), "stdin": subprocess.PIPE, "start_new_session": True}
    child = subprocess.Popen(argv, pass_fds=descriptors, **options)
child.wait()
"""
"""A process that starts a server as OneTool does, and is killed."""


@pytest.fixture
def marker() -> Iterator[str]:
    """Return a value in the environment of all processes of the server, and kill those that are left."""
    value = f"marker-{uuid4().hex}"
    yield value
    for pid in processes_with_env(value):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture(params=[Mechanism.BUBBLEWRAP, Mechanism.LANDLOCK], ids=str)
def support(request: pytest.FixtureRequest) -> MechanismSupport:
    return supported(request.param)


def ends(marker: str) -> bool:
    return wait_until(lambda: not processes_with_env(marker))


def start_parent(mechanism: Mechanism, home: Path, marker: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", PARENT, mechanism.value, str(home), str(HOSTILE_SERVER), marker]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "detached\n"
    return process


def kill(process: "subprocess.Popen[str]") -> None:
    """Kill a process, whose descendants may go on and hold its pipes."""
    process.kill()
    process.wait(HANG_S)
    assert process.stdout is not None
    process.stdout.close()


def start_server(support: MechanismSupport, home: Path, marker: str, then: str) -> "subprocess.Popen[str]":
    policy = SandboxPolicy(home=home, cwd=home, paths=(PathGrant(path=HOSTILE_SERVER),))
    argv = [sys.executable, "-I", "-S", str(HOSTILE_SERVER), "detach", then]
    command = wrap(argv, {"PATH": os.defpath, "MARKER": marker}, policy, support)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    server = start_command(command, text=True, start_new_session=True, **pipes)
    assert server.stdout is not None
    assert server.stdout.readline() == "detached\n"
    return server


def test_detached_process_ends_without_a_sandbox(tmp_path, marker):
    parent = start_parent(Mechanism.NONE, tmp_path, marker)
    kill(parent)
    assert ends(marker)


@pytest.mark.guards("server-sandbox")
def test_nothing_survives_when_the_parent_is_killed(tmp_path, marker, support):
    parent = start_parent(support.mechanism, tmp_path, marker)
    assert len(processes_with_env(marker)) >= 2
    kill(parent)
    assert ends(marker), command_lines(processes_with_env(marker))


@pytest.mark.parametrize("number", [None, signal.SIGTERM])
def test_nothing_survives_when_the_server_is_stopped(tmp_path, marker, support, number):
    server = start_server(support, tmp_path, marker, "stay")
    if number is not None:
        os.killpg(server.pid, number)
    server.communicate(timeout=HANG_S)  # closes stdin
    assert ends(marker), command_lines(processes_with_env(marker))


def test_nothing_survives_in_bubblewrap_when_its_first_process_is_killed(tmp_path, marker):
    server = start_server(supported(Mechanism.BUBBLEWRAP), tmp_path, marker, "stay")
    server.kill()
    server.communicate(timeout=HANG_S)
    assert ends(marker), command_lines(processes_with_env(marker))


def test_fallback_states_what_survives_when_its_first_process_is_killed(tmp_path, marker):
    support = supported(Mechanism.LANDLOCK)
    server = start_server(support, tmp_path, marker, "stay")
    server.kill()
    server.communicate(timeout=HANG_S)
    assert wait_until(lambda: len(processes_with_env(marker)) == 1)
    policy = SandboxPolicy(home=tmp_path, cwd=tmp_path)
    assert landlock_rules.DETACHED in landlock_rules.landlock_restrictions(support, policy).limits


def test_nothing_survives_when_the_server_ends(tmp_path, marker, support):
    server = start_server(support, tmp_path, marker, "end")
    assert server.wait(HANG_S) == 0
    server.communicate(timeout=HANG_S)
    assert ends(marker), command_lines(processes_with_env(marker))


def test_server_cannot_kill_the_process_that_watches_it(tmp_path, marker, support):
    server = start_server(support, tmp_path, marker, "kill the parent")
    server.communicate(timeout=HANG_S)
    assert server.returncode != -signal.SIGKILL
    assert ends(marker), command_lines(processes_with_env(marker))

"""OneTool in the background is killed: its servers and their children end with it."""

import json
import os
import select
import signal
import sys
from contextlib import contextmanager

import pytest

from onetool.interfaces.background import attach
from onetool.interfaces.background.address import socket_path
from onetool.sources.mcp_servers.sandbox.mechanisms import choose_mechanism
from onetool.sources.mcp_servers.sandbox.policy import Mechanism, SandboxUnavailable
from support.mcp_client import child_env
from support.onetool_process import onetool
from support.paths import MCP_SERVERS
from support.waiting import HANG_S

pytestmark = pytest.mark.linux


class Fifo:
    """A FIFO that reports when the last process that holds it open has ended."""

    def __init__(self, path):
        os.mkfifo(path)
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.text = ""

    def close(self):
        os.close(self._descriptor)

    def wait_for(self, word):
        while word not in self.text:
            assert self._read(), f"{word!r} is not in {self.text!r}"

    def wait_for_end(self):
        while self._read():
            pass

    def _read(self):
        """Wait for data and return whether there was any: there is none once no process holds the FIFO."""
        assert select.select([self._descriptor], [], [], HANG_S)[0], "a process still holds the FIFO"
        block = os.read(self._descriptor, 65536).decode()
        self.text += block
        return bool(block)


@contextmanager
def background(home, env):
    started = onetool("up", env=env, cwd=home.cwd)
    assert started.returncode == 0, started.stderr
    try:
        yield attach.ask(socket_path(home.state), attach="status")["pid"]
    finally:
        onetool("down", env=env, cwd=home.cwd)


@pytest.fixture(params=[Mechanism.BUBBLEWRAP, Mechanism.LANDLOCK, Mechanism.NONE], ids=str)
def mechanism(request):
    if request.param != Mechanism.NONE:
        try:
            choose_mechanism(request.param)
        except SandboxUnavailable as error:
            pytest.skip(str(error))
    return request.param


def test_server_and_its_detached_child_end_when_the_background_process_is_killed(home, tmp_path, mechanism):
    """Both ignore SIGTERM, and the child has a session of its own."""
    granted, empty = tmp_path / "granted", tmp_path / "empty"
    granted.mkdir()
    empty.mkdir()
    fifo = Fifo(granted / "fifo")
    settings = {
        "command": sys.executable,
        "args": ["-I", str(MCP_SERVERS / "faulty_server.py"), "holds-file", str(granted / "fifo")],
        "paths": [{"path": str(granted), "write": True}, {"path": str(MCP_SERVERS)}],
        "sandbox": mechanism != Mechanism.NONE,
    }
    home.write("onetool.yaml", json.dumps({"servers": {"s": settings}}))
    env = child_env(**home.env)
    if mechanism == Mechanism.LANDLOCK:
        env["PATH"] = str(empty)  # without bubblewrap
    with background(home, env) as pid:
        called = onetool("run", "s.pid()", env=env, cwd=home.cwd)
        assert called.returncode == 0, called.stderr
        fifo.wait_for("child")
        listed = json.loads(onetool("servers", "list", "--json", env=env, cwd=home.cwd).stdout)
        assert listed[0]["sandbox"].startswith(mechanism.value)
        os.kill(pid, signal.SIGKILL)
        fifo.wait_for_end()
    fifo.close()

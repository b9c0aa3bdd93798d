"""OneTool in the background: clients share its servers, and nothing else."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from onetool.interfaces.background import address, attach
from onetool.interfaces.background.address import NotReachable, socket_path
from onetool.interfaces.background.runtimes import MAX_IDLE, DirectoryRuntimes
from support.listed_server import ListedServer
from support.mcp_client import child_env, create_home
from support.onetool_process import onetool
from support.paths import MCP_SERVERS
from support.raw_mcp import RawMcpClient
from support.user_home import Home
from support.waiting import HANG_S

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")
FAULTY = str(MCP_SERVERS / "faulty_server.py")
VERSION = "2025-06-18"


def server(*args, **settings):
    argv = ["-I", FAULTY, *map(str, args)]
    return {"command": sys.executable, "args": argv, "sandbox": False, **settings}


@contextmanager
def running(home):
    """Run OneTool in the background of a user."""
    started = onetool("up", env=child_env(**home.env), cwd=home.cwd)
    assert started.returncode == 0, started.stderr
    try:
        yield attach.ask(socket_path(home.state), attach="status")["pid"]
    finally:
        onetool("down", env=child_env(**home.env), cwd=home.cwd)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A user for whom OneTool runs in the background, and asks before a tool changes something."""
    home = create_home(tmp_path_factory.mktemp("background"))
    home.write("onetool.yaml", "approval: {mcp: ask}\n")
    home.write(
        "tools/demo.py",
        'from onetool.sdk import tool\npack = "demo"\n\n@tool(read_only=False)\n'
        'def change(name: str) -> str:\n    """Change something."""\n    return name\n',
    )
    with running(home):
        yield home


@contextmanager
def attached(home, count=1, cwd=None):
    clients = [RawMcpClient(VERSION, home.env, cwd or home.cwd) for _ in range(count)]
    try:
        for client in clients:
            client.initialize()
        yield clients
    finally:
        for client in clients:
            client.kill()


def status(home):
    return json.loads(onetool("status", "--json", env=child_env(**home.env), cwd=home.cwd).stdout)


@pytest.mark.linux
def test_clients_and_commands_share_one_process_for_each_server(home, tmp_path):
    logs = {f"s{number}": tmp_path / f"{number}.log" for number in range(3)}
    home.write(
        "onetool.yaml", json.dumps({"servers": {name: server("good", log) for name, log in logs.items()}})
    )
    code = "[" + ", ".join(f"{name}.pid()" for name in logs) + "]"
    with running(home) as pid, attached(home, 3) as clients:
        results = [client.run(code) for client in clients]
        command = onetool("run", code, env=child_env(**home.env), cwd=home.cwd)
        pids = {text for _, text in results}
        assert (command.returncode, len(pids)) == (0, 1), command.stderr
        assert json.loads(command.stdout) == json.loads(results[0][1])
        started = [log.read_text().count("started") for log in logs.values()]
        assert started == [1] * 3
        report = status(home)
        assert (report["pid"], len(report["clients"])) == (pid, 3)


@pytest.mark.linux
@pytest.mark.spec("MCP-16")
def test_a_server_has_the_same_definitions_through_the_background_process(home):
    """A process that starts the server itself and one that shares it store the same pins."""
    listed = ListedServer(home)
    icons, unknown = [{"src": "https://example.com/a.png", "future": 1}], {"deep": [None]}
    tool = {"name": "a", "inputSchema": {"type": "object"}, "icons": icons, "x-unknown": unknown}
    listed.list(tool, instructions="Use a.")
    listed.configure()
    manifest = home.state / "servers" / "s.json"
    environment = {"env": child_env(**home.env), "cwd": home.cwd}
    assert onetool("servers", "test", "s", **environment).returncode == 0
    direct = json.loads(manifest.read_text())
    with running(home), attached(home) as (client,):
        assert client.run("s.a()")[0] is False
        assert onetool("servers", "test", "s", **environment).returncode == 0
    shared = json.loads(manifest.read_text())
    assert shared["listedAt"] > direct["listedAt"]
    for key in ("tools", "pins", "instructions"):
        assert shared[key] == direct[key]
    assert direct["instructions"]["received"] == "Use a."


def test_clients_end_and_the_socket_is_replaced_after_the_process_was_killed(home):
    with running(home) as pid, attached(home) as (client,):
        os.kill(pid, signal.SIGKILL)
        client.process.wait(HANG_S)
        assert status(home)["running"] is False
    with running(home):  # the socket that was left behind is replaced
        assert status(home)["running"] is True


def test_each_client_has_the_settings_and_files_of_its_directory(shared, tmp_path):
    directories = [tmp_path / "one", tmp_path / "two"]
    for directory in directories:
        directory.mkdir()
        (directory / "name.txt").write_text(directory.name)
    texts = []
    for directory in directories:
        with attached(shared, cwd=directory) as (client,):
            texts.append(client.run("fs.read_file(path='name.txt')"))
    assert [text for _, text in texts] == ["one", "two"]


def test_questions_go_to_the_client_whose_call_asks(shared):
    """Two clients call a tool that changes something. Each gets its own question."""
    clients = [RawMcpClient(VERSION, shared.env, shared.cwd) for _ in range(2)]
    try:
        for client in clients:
            info = {"name": "raw", "version": "1"}
            client.request(
                "initialize", protocolVersion=VERSION, capabilities={"elicitation": {}}, clientInfo=info
            )
            client.notify("notifications/initialized")
        calls = [
            client.send("tools/call", name="run", arguments={"command": f"demo.change(name='{name}')"})
            for client, name in zip(clients, ("ann", "bob"), strict=True)
        ]
        for client, name, allow in zip(clients, ("ann", "bob"), (True, False), strict=True):
            question = client.receive()
            assert question.get("method") == "elicitation/create", question
            assert f'"name": "{name}"' in question["params"]["message"]
            answer = {"action": "accept", "content": {"allow": allow}}
            reply = {"jsonrpc": "2.0", "id": question["id"], "result": answer}
            client.write(json.dumps(reply).encode())
        ann, bob = (
            client.wait_for_response(call)["result"] for client, call in zip(clients, calls, strict=True)
        )
        assert ann["content"][0]["text"] == "ann"
        assert bob["isError"] is True
    finally:
        for client in clients:
            client.kill()


def test_other_version_is_reported_and_the_client_serves_itself(shared, monkeypatch):
    monkeypatch.setattr(attach, "__version__", "0.0.1")
    with pytest.raises(
        NotReachable, match=r"it is OneTool .*, and this is 0\.0\.1\. Restart it: onetool down"
    ):
        attach.request(socket_path(shared.state), attach="mcp", cwd=str(shared.cwd))
    assert attach.ask(socket_path(shared.state), attach="status")["version"] != "0.0.1"


def test_client_works_without_the_background_process(home):
    with attached(home) as (client,):
        assert client.run("1 + 1") == (False, "2")
    assert status(home) == {"running": False, "reason": "it is not running"}
    assert onetool("down", env=child_env(**home.env)).returncode == 1


def test_second_start_changes_nothing(shared):
    again = onetool("up", env=child_env(**shared.env), cwd=shared.cwd)
    assert f"already running (process {status(shared)['pid']})" in again.stdout


@pytest.mark.guards("user-background")
@pytest.mark.parametrize("mode", [0o755, 0o777, 0o750])
def test_socket_in_a_directory_that_others_can_access_is_refused(tmp_path, mode):
    path = socket_path(tmp_path)
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        address.connect(path).close()
        path.parent.chmod(mode)
        with pytest.raises(NotReachable, match="is not a private directory of this user"):
            address.connect(path)


def test_long_state_directory_has_its_socket_in_the_runtime_directory(monkeypatch):
    """Another user can take a name in /tmp before OneTool starts, and none in this directory."""
    state = Path("/home/user") / ("long" * 30)
    with tempfile.TemporaryDirectory() as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        path = socket_path(state)
        assert path.parents[1] == Path(runtime)
        assert len(os.fsencode(path)) <= address.MAX_SOCKET_PATH
        assert socket_path(state.with_name("other" * 30)) != path
        Path(runtime).chmod(0o755)
        assert Path(runtime) not in socket_path(state).parents


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs another user")
def test_directory_of_another_user_is_refused_with_what_to_do(tmp_path):
    path = socket_path(tmp_path)
    path.parent.mkdir(mode=0o700)
    os.chown(path.parent, 65534, 65534)
    with pytest.raises(NotReachable, match=r"\(uid 65534\); set XDG_RUNTIME_DIR"):
        address.connect(path)


def test_output_of_the_process_is_readable_by_its_user_only(shared):
    assert (socket_path(shared.state).parent / "output.log").stat().st_mode & 0o777 == 0o600


def test_socket_behind_a_link_is_refused(tmp_path):
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    path = socket_path(tmp_path)
    path.parent.symlink_to(real)
    with pytest.raises(NotReachable, match="is not a private directory"):
        address.connect(path)


@pytest.mark.guards("user-background")
@pytest.mark.linux
@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs another user")
def test_other_user_cannot_attach_even_if_the_directory_is_open():
    """The process at the socket checks who connects, besides the mode of the directory."""
    code = (
        "import os, socket, sys\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "connection = socket.socket(socket.AF_UNIX)\n"
        "connection.connect(sys.argv[1])\n"
        "try:\n"
        "    connection.sendall(sys.argv[2].encode() + bytes([10]))\n"
        "    print(connection.recv(100))\n"
        "except (BrokenPipeError, ConnectionResetError):  # closed before it was read\n"
        "    print(b'')\n"
    )
    with tempfile.TemporaryDirectory() as directory:  # which others can reach, unlike `tmp_path`
        Path(directory).chmod(0o755)
        user = Home(Path(directory), Path(directory) / "work")
        user.cwd.mkdir()
        user.config.mkdir()
        path = socket_path(user.state)
        command = ["python3", "-I", "-c", code, str(path), json.dumps({"attach": "status"})]
        with running(user):
            assert "PermissionError" in run_as_other(command).stderr
            for opened in (user.state, path.parent, path):
                opened.chmod(0o777)
            answered = run_as_other(command)
            assert answered.stdout == "b''\n", answered.stderr
            path.parent.chmod(0o700)


def run_as_other(command):
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin:/usr/local/bin"}
    )


def test_path_of_the_socket_fits_every_system(tmp_path):
    long = tmp_path / ("x" * 200)
    assert len(os.fsencode(socket_path(long))) <= address.MAX_SOCKET_PATH
    assert socket_path(long) != socket_path(long / "y")


@pytest.mark.parametrize("line", [b"", b"[]\n", b"{}\n", b'{"attach": "run"}\n', b"x" * 2_000_000, b"\xff\n"])
def test_malformed_request_ends_only_its_connection(shared, line):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(socket_path(shared.state)))
        connection.settimeout(HANG_S)
        try:
            connection.sendall(line)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(100_000):
                pass
        except OSError:
            pass  # the process closed it before it had read everything
    assert status(shared)["running"] is True


class FakeRuntime:
    def __init__(self, events, cwd):
        self.events, self.cwd = events, cwd

    async def __aenter__(self):
        self.events.append(f"open {self.cwd}")
        if self.cwd.name == "broken":
            raise ValueError("invalid settings")
        return self

    async def __aexit__(self, *error):
        self.events.append(f"close {self.cwd}")


async def test_runtimes_are_opened_once_and_closed_when_too_many_are_idle():
    events = []
    runtimes = DirectoryRuntimes(lambda cwd: FakeRuntime(events, cwd))
    async with runtimes.use(Path("a")) as first, runtimes.use(Path("a")) as second:
        assert first is second
        for number in range(MAX_IDLE + 1):
            async with runtimes.use(Path(str(number))):
                pass
        assert events[0] == "open a"
        assert [event for event in events if event.startswith("close")] == ["close 0"]
    with pytest.raises(ValueError, match="invalid settings"):
        async with runtimes.use(Path("broken")):
            pass
    await runtimes.aclose()
    assert len([event for event in events if event.startswith("close")]) == MAX_IDLE + 2
    assert runtimes.all() == {}

"""A user with secrets, processes and sockets, which a hostile server attacks."""

import contextlib
import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from onetool.sources.mcp_servers.sandbox.mechanisms import available_mechanisms
from onetool.sources.mcp_servers.sandbox.policy import (
    Mechanism,
    MechanismSupport,
    PathGrant,
    Restrictions,
    SandboxedCommand,
    SandboxPolicy,
)
from onetool.sources.mcp_servers.sandbox.wrapping import wrap
from support.waiting import HANG_S

HOSTILE_SERVER = Path(__file__).with_name("hostile_server")
ORDINARY_UID = 23456
"""A user without an account, for tests that root runs."""
SYSTEM_PATH = "/usr/bin:/bin"
"""Without /usr/local/bin: its links may lead to root's files, where this user cannot enter."""
VICTIM = """
import ctypes, os, signal, sys, time
key = open(sys.argv[2])
memory = ctypes.create_string_buffer(os.environ["SECRET"].encode())
def on_signal(number, frame):
    open(sys.argv[3], "w").write("attacked")
signal.signal(signal.SIGUSR1, on_signal)
print(key.fileno(), ctypes.addressof(memory), flush=True)
while True:
    time.sleep(60)
"""
FILES = {
    "ssh_key": "user/.ssh/id_ed25519",
    "aws_credentials": "user/.aws/credentials",
    "our_secrets": "user/.config/onetool/secrets.yaml",
    "browser_cookies": "user/.config/chromium/Default/Cookies",
    "other_server": "user/.local/share/onetool/servers/other/token",
    "project_file": "user/project/notes.txt",
    "shell_profile": "user/.bashrc",
    "movable": "user/movable",
    "link_target": "user/link_target",
    "truncatable": "user/truncatable",
    "changeable": "user/changeable",
    "read_only_file": "server/read_only",
    "deletable": "server/deletable",
    "linkable": "server/linkable",
}
"""Files that contain the secret."""


@dataclass
class AttackedUser:
    """The user's files below `root`, owned by `uid`, and what is needed to attack them."""

    root: Path
    uid: int
    python: str
    env: dict[str, str]
    plan: dict[str, Any]
    secret: str
    stopping: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def home(self) -> Path:
        return self.root / "user"

    def policy(self, *, network: bool = True, paths: tuple[PathGrant, ...] = ()) -> SandboxPolicy:
        grants = (PathGrant(path=self.root / "server"), *paths)
        own = Path(self.plan["home"])
        ours = (self.home / ".local/share/onetool",)
        return SandboxPolicy(
            home=own, cwd=self.home / "project", paths=grants, network=network, secret_places=ours
        )

    def start(
        self, support: MechanismSupport | None, policy: SandboxPolicy, *args: str, **options: Any
    ) -> "tuple[subprocess.Popen[str], Restrictions | None]":
        """Start the hostile server, in the sandbox if there is one."""
        argv: tuple[str, ...] = (self.python, "-I", "-S", str(self.root / "server" / "code"), *args)
        env, cwd, restrictions = self.env, policy.cwd, None
        command = None
        if support is not None:
            command = wrap(argv, env, policy, support, python=self.python)
            env, cwd, restrictions = dict(command.env), command.cwd, command.restrictions
        pipes: dict[str, Any] = {
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
        }
        options |= {"env": env, "cwd": cwd, "text": True, "start_new_session": True}
        options |= pipes | self.identity()
        if command is None:
            return subprocess.Popen(argv, **options), None
        return start_command(command, **options), restrictions

    def attack(
        self, support: MechanismSupport | None, policy: SandboxPolicy, names: list[str]
    ) -> "tuple[dict[str, str], Restrictions | None]":
        """Run attacks and return their outcomes: `done`, or why they failed."""
        process, restrictions = self.start(support, policy, json.dumps(self.plan), json.dumps(names))
        output, errors = process.communicate(timeout=HANG_S)
        assert process.returncode == 0, errors
        outcomes: dict[str, str] = json.loads(output)
        for name, happened in self.effects().items():
            if name in outcomes:
                outcomes[name] = "done" if happened else outcomes[name].replace("done", "without effect")
        return outcomes, restrictions

    def effects(self) -> dict[str, bool]:
        """Return which attacks changed something that the user sees."""
        plan = self.plan
        changed = Path(plan["changeable"]).stat()
        victim = Path(plan["signalled"])
        return {
            "append to the shell profile": self._holds("shell_profile", "attacked"),
            "create a file in the home directory": (self.home / "attacked").exists(),
            "create a file in the temporary directory": Path(plan["host_tmp"], "attacked").exists(),
            "write to the working directory": self._holds("project_file", "attacked"),
            "write to a read-only path": self._holds("read_only_file", "attacked"),
            "delete from a read-only path": not Path(plan["deletable"]).exists(),
            "write a read-only file through a hard link": self._holds("linkable", "attacked"),
            "write through a link": self._holds("link_target", "attacked"),
            "truncate a file": not self._holds("truncatable", self.secret),
            "change permissions": changed.st_mode & 0o777 == 0o777,
            "change times": changed.st_mtime == 1,
            "set an attribute": "user.attacked" in os.listxattr(plan["changeable"]),
            "write to the system": Path(plan["system_file"]).exists(),
            "signal another process": victim.exists(),
        }

    def _holds(self, name: str, text: str) -> bool:
        return text in Path(self.plan[name]).read_text()

    def identity(self) -> dict[str, Any]:
        """Return options of Popen that start a process as this user."""
        if os.getuid() == self.uid:
            return {}
        return {"user": self.uid, "group": self.uid, "extra_groups": []}


def start_command(command: SandboxedCommand, **options: Any) -> "subprocess.Popen[str]":
    """Start a command with its environment."""
    with command.open_plan() as (argv, descriptors):
        return subprocess.Popen(argv, pass_fds=descriptors, **{"env": dict(command.env), **options})


def run_command(command: SandboxedCommand) -> "subprocess.CompletedProcess[str]":
    """Run a command and return what it wrote."""
    pipe = subprocess.PIPE
    with start_command(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True) as process:
        output, errors = process.communicate(timeout=HANG_S)
    return subprocess.CompletedProcess(command.argv, process.returncode, output, errors)


def supported(mechanism: Mechanism) -> MechanismSupport:
    """Return a mechanism, or skip the test if it does not work here."""
    for support in available_mechanisms():
        if support.mechanism == mechanism:
            if support.problem:
                pytest.skip(f"{mechanism.value} does not work here: {support.problem}")
            return support
    pytest.skip(f"{mechanism.value} does not exist here")


def list_attacks() -> list[str]:
    """Return the names of all attacks."""
    command = [sys.executable, "-I", "-S", str(HOSTILE_SERVER), "--list"]
    names: list[str] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return names


@contextlib.contextmanager
def attacked_user(uid: int) -> Iterator[AttackedUser]:
    """Create a user with secrets, a running process and sockets; end and delete everything afterwards."""
    python = sys.executable if uid == os.getuid() else shutil.which("python3", path=SYSTEM_PATH) or ""
    root = Path(tempfile.mkdtemp(prefix="ot-attack-"))
    root.chmod(0o755)
    secret = f"secret-{uuid4().hex}"
    env = {"PATH": SYSTEM_PATH, "SECRET": secret}
    plan = {"secret": secret, "parent": os.getpid(), "user_home": str(root / "user")}
    user = AttackedUser(root=root, uid=uid, python=python, env=env, plan=plan, secret=secret)
    with user.stopping:
        user.stopping.callback(shutil.rmtree, root, ignore_errors=True)
        _create_files(user)
        _start_sockets(user)
        _share_memory(user)
        _change_owner(user)
        _start_victim(user)
        yield user


def _create_files(user: AttackedUser) -> None:
    for name, path in FILES.items():
        file = user.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(user.secret)
        user.plan[name] = str(file)
    for name in ("own", "host_tmp", "signalled"):
        (user.root / name).mkdir()
    shutil.copytree(HOSTILE_SERVER, user.root / "server" / "code")
    system = Path("/usr/local") if os.access("/usr/local", os.W_OK) else Path("/usr")
    system_file = system / f"ot-attack-{uuid4().hex}"
    user.stopping.callback(system_file.unlink, missing_ok=True)
    user.plan |= {
        "home": str(user.home / ".local/share/onetool/servers/own"),
        "host_tmp": str(user.root / "host_tmp"),
        "signalled": str(user.root / "signalled" / "marker"),
        "system_file": str(system_file),
        "root_file": str(user.root / "root_file"),
        "set_user_id": str(user.root / "server" / "show"),
    }
    (user.root / "root_file").write_text(user.secret)
    (user.root / "root_file").chmod(0o600)
    shutil.copy(shutil.which("cat") or "", user.plan["set_user_id"])
    Path(user.plan["home"]).mkdir()


def _change_owner(user: AttackedUser) -> None:
    if os.getuid() != user.uid:
        paths = [user.root / name for name in ("user", "server", "host_tmp", "signalled")]
        for path in [*paths, *(child for parent in paths for child in parent.rglob("*"))]:
            os.chown(path, user.uid, user.uid, follow_symlinks=False)
        os.chown(f"/dev/shm/{user.plan['shared_memory']}", user.uid, user.uid)
    os.chown(user.plan["set_user_id"], os.getuid(), os.getgid())
    Path(user.plan["set_user_id"]).chmod(0o4755)
    Path(user.plan["changeable"]).chmod(0o600)


def _start_victim(user: AttackedUser) -> None:
    args = [user.secret, user.plan["ssh_key"], user.plan["signalled"]]
    command = [user.python, "-I", "-S", "-c", VICTIM, *args]
    victim = subprocess.Popen(command, env=user.env, stdout=subprocess.PIPE, text=True, **user.identity())
    user.stopping.callback(_end, victim)
    assert victim.stdout is not None
    descriptor, address = map(int, victim.stdout.readline().split())
    user.plan |= {"victim": victim.pid, "victim_descriptor": descriptor, "victim_address": address}


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate(timeout=HANG_S)


def _start_sockets(user: AttackedUser) -> None:
    runtime = user.root / "user" / "run"
    runtime.mkdir()
    name = f"ot-attack-{uuid4().hex}"
    user.plan |= {
        "agent": str(user.home / ".ssh" / "agent"),
        "docker": str(runtime / "docker.sock"),
        "datagrams": str(runtime / "log"),
        "abstract": name,
        "abstract_datagrams": f"{name}-datagrams",
        "address": _own_address(),
    }
    for address in (user.plan["agent"], user.plan["docker"], f"\0{name}"):
        _serve(user, _bound(socket.AF_UNIX, socket.SOCK_STREAM, address))
    user.plan["port"] = _serve(user, _bound(socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0)))[1]
    user.plan["udp_port"] = _echo(user, _bound(socket.AF_INET, socket.SOCK_DGRAM, ("0.0.0.0", 0)))[1]
    for address in (user.plan["datagrams"], f"\0{user.plan['abstract_datagrams']}"):
        user.stopping.callback(_bound(socket.AF_UNIX, socket.SOCK_DGRAM, address).close)


def _bound(family: int, kind: int, address: Any) -> socket.socket:
    server = socket.socket(family, kind)
    server.bind(address)
    if kind == socket.SOCK_STREAM:
        server.listen()
    return server


def _serve(user: AttackedUser, server: socket.socket) -> Any:
    """Greet every client on a thread."""

    def greet() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = server.accept()
                with client, contextlib.suppress(OSError):  # the client may be gone
                    client.sendall(b"hello")

    return _run(user, server, greet)


def _echo(user: AttackedUser, server: socket.socket) -> Any:
    """Return every datagram to its sender, on a thread."""

    def echo() -> None:
        with contextlib.suppress(OSError):
            while True:
                data, address = server.recvfrom(1000)
                if address is None:  # the socket was shut down
                    return
                server.sendto(data, address)

    return _run(user, server, echo)


def _run(user: AttackedUser, server: socket.socket, target: Any) -> Any:
    address = server.getsockname()
    thread = threading.Thread(target=target, daemon=True)
    thread.start()

    def stop() -> None:
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(HANG_S)

    user.stopping.callback(stop)
    return address


def _own_address() -> str:
    """Return an address of this machine that is not the loopback one, if it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # nothing is sent
        return str(probe.getsockname()[0])
    return "127.0.0.2"


def _share_memory(user: AttackedUser) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    key = int(uuid4().hex[:7], 16)
    segment = libc.shmget(key, 4096, 0o1666)
    assert segment >= 0
    user.stopping.callback(libc.shmctl, segment, 0, None)
    file = Path("/dev/shm") / f"ot-attack-{uuid4().hex}"
    file.write_text(user.secret)
    user.stopping.callback(file.unlink, missing_ok=True)
    user.plan |= {"shared_key": key, "shared_memory": file.name}

"""The sandbox of MCP servers: what a hostile server can do inside it, and without it."""

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from onetool.sources.mcp_servers.sandbox import bubblewrap, landlock_rules
from onetool.sources.mcp_servers.sandbox.mechanisms import LAUNCHER
from onetool.sources.mcp_servers.sandbox.policy import Mechanism, MechanismSupport
from sources.attacked_user import (
    ORDINARY_UID,
    SYSTEM_PATH,
    AttackedUser,
    attacked_user,
    list_attacks,
    supported,
)

pytestmark = pytest.mark.linux
NETWORK = (
    "connect to this machine",
    "connect to another address",
    "send a datagram",
    "ask a name server",
    "listen on a port",
    "open a netlink socket",
)
"""Attacks that are allowed if the server may use the network."""
NEED_ROOT = (
    "read the password hashes",
    "read by file handle",
    "write to the system",
    "create a device",
    "open a device of the machine",
    "change a setting of the kernel",
    "open a raw socket",
    "open a packet socket",
    "load a program into the kernel",
)
NEED_ORDINARY_USER = ("read as root through a set-user-id program",)
DEPEND_ON_SYSTEM = (
    "trace another process",
    "trace the parent",
    "read memory with process_vm_readv",
    "read the memory of another process",
    "take a descriptor of another process",
    "measure another process",
    "create a user namespace",
    "create a user namespace with clone3",
    "connect from a new network namespace",
    "read after a bind mount",
    "read in a new mount tree",
    "use io_uring",
    "use the keyring",
    "handle page faults",
    "type into a terminal",
    "open a socket of the virtual machine",
    "listen to events of the kernel",
    "set an attribute",
    "create a device",
    "open a device of the machine",
)
"""Attacks that settings or the kernel of a machine may deny without a sandbox."""
NOT_STOPPED_BY_LANDLOCK = {
    landlock_rules.FILE_ATTRIBUTES: {"change permissions", "change times"},
    landlock_rules.FILE_METADATA: {"learn the size of a file"},
    landlock_rules.PRIORITIES: {"change the priority of another process"},
}


def users() -> list[int]:
    return [0, ORDINARY_UID] if os.getuid() == 0 else [os.getuid()]


@pytest.fixture(params=users(), ids=lambda uid: "as root" if uid == 0 else "as an ordinary user")
def user(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[AttackedUser]:
    if request.param != os.getuid():
        python = shutil.which("python3", path=SYSTEM_PATH)
        if python is None:
            pytest.skip("needs python3 of the system, which another user can execute")
        command = [python, "-I", "-S", str(LAUNCHER), "--landlock-version"]
        if subprocess.run(command, user=request.param, extra_groups=[], capture_output=True).returncode:
            pytest.skip("needs a checkout that another user can read")
    with attacked_user(request.param) as attacked:
        monkeypatch.setenv("HOME", str(attacked.home))
        monkeypatch.setenv("SSH_AUTH_SOCK", attacked.plan["agent"])
        yield attacked


@pytest.fixture(scope="module")
def attacks() -> list[str]:
    return list_attacks()


@pytest.fixture(params=[Mechanism.BUBBLEWRAP, Mechanism.LANDLOCK], ids=str)
def support(request: pytest.FixtureRequest) -> MechanismSupport:
    return supported(request.param)


def succeeded(outcomes: dict[str, str]) -> set[str]:
    return {name for name, outcome in outcomes.items() if outcome == "done"}


def not_stopped(limits: tuple[str, ...], uid: int) -> set[str]:
    """Return the attacks that are known to succeed."""
    names = {name for limit in limits for name in NOT_STOPPED_BY_LANDLOCK.get(limit, ())}
    return names - {"change the priority of another process"} if uid == 0 else names


@pytest.mark.guards("server-sandbox")
def test_attacks_succeed_without_a_sandbox(user, attacks):
    """Otherwise, they would prove nothing."""
    assert len(attacks) >= 60
    outcomes, _ = user.attack(None, user.policy(), attacks)
    impossible = NEED_ORDINARY_USER if user.uid == 0 else NEED_ROOT
    failed = {name: outcome for name, outcome in outcomes.items() if outcome != "done"}
    assert {name: failed[name] for name in failed if name not in (*impossible, *DEPEND_ON_SYSTEM)} == {}


@pytest.mark.guards("server-sandbox")
def test_server_without_network_reaches_nothing(user, support, attacks):
    outcomes, restrictions = user.attack(support, user.policy(network=False), attacks)
    assert restrictions.network
    assert succeeded(outcomes) == not_stopped(restrictions.limits, user.uid), outcomes


@pytest.mark.guards("server-sandbox")
def test_server_with_network_reaches_nothing_else(user, support, attacks):
    outcomes, restrictions = user.attack(support, user.policy(), attacks)
    assert not restrictions.network
    expected = not_stopped(restrictions.limits, user.uid) | set(NETWORK)
    if bubblewrap.ABSTRACT_SOCKETS in restrictions.limits:
        expected |= {"use an abstract socket", "send to an abstract socket from a pair"}
    assert succeeded(outcomes) == expected, outcomes

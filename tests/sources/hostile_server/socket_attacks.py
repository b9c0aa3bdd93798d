"""Attacks through sockets."""

import socket
import struct

from register import CLONE_NEWNET, CLONE_NEWUSER, LIMIT_S, Plan, add_changes, attack, check, libc

STREAMS = {
    "use the SSH agent": lambda plan: (socket.AF_UNIX, plan.agent),
    "use a socket of the runtime directory": lambda plan: (socket.AF_UNIX, plan.docker),
    "use an abstract socket": lambda plan: (socket.AF_UNIX, f"\0{plan.abstract}"),
    "connect to this machine": lambda plan: (socket.AF_INET, ("127.0.0.1", plan.port)),
    "connect to another address": lambda plan: (socket.AF_INET, (plan.address, plan.port)),
}
"""Attacks that connect, and where."""
SOCKETS = {
    "open a raw socket": ("AF_INET", socket.SOCK_RAW, socket.IPPROTO_ICMP),
    "open a packet socket": ("AF_PACKET", socket.SOCK_RAW, 0),
    "open a netlink socket": ("AF_NETLINK", socket.SOCK_RAW, 0),
    "listen to events of the kernel": ("AF_NETLINK", socket.SOCK_RAW, 15),
    "open a socket of the virtual machine": ("AF_VSOCK", socket.SOCK_STREAM, 0),
}
"""Attacks that open a socket of a kind."""


def stream(family: int, address: object) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(LIMIT_S / 2)
        client.connect(address)
        return client.recv(5) == b"hello"


def send_from_pair(address: str) -> None:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"attacked", address)


for name, place in STREAMS.items():
    attack(name)(lambda plan, place=place: stream(*place(plan)))  # type: ignore[misc]
for name, (family, kind, protocol) in SOCKETS.items():
    attack(name)(
        lambda plan, args=(family, kind, protocol): socket.socket(getattr(socket, args[0]), *args[1:])
    )
add_changes(
    {
        "send to a socket from a pair": lambda plan: send_from_pair(plan.datagrams),
        "send to an abstract socket from a pair": lambda plan: send_from_pair(f"\0{plan.abstract_datagrams}"),
        "connect from a new network namespace": lambda plan: check(
            libc.unshare(CLONE_NEWUSER | CLONE_NEWNET)
        ),
    }
)


@attack("send a datagram")
def send_datagram(plan: Plan) -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(LIMIT_S / 2)
        client.sendto(b"hello", ("127.0.0.1", plan.udp_port))
        return client.recv(5) == b"hello"


@attack("ask a name server")
def ask_name_server(plan: Plan) -> object:
    query = struct.pack(">6H", 1, 0x100, 1, 0, 0, 0) + b"\6secret\7example\0" + struct.pack(">2H", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(LIMIT_S / 2)
        client.connect((plan.address, plan.udp_port))
        client.send(query)
        return client.recv(500) == query


@attack("listen on a port")
def listen(plan: Plan) -> object:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), 5):
        return True

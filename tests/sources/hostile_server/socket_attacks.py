"""Attacks through sockets."""

import socket
import struct

from register import CLONE_NEWNET, CLONE_NEWUSER, LIMIT_S, Plan, attack, check, libc


def stream(family: int, address: object) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(LIMIT_S / 2)
        client.connect(address)
        return client.recv(5) == b"hello"


@attack("use the SSH agent")
def use_agent(plan: Plan) -> object:
    return stream(socket.AF_UNIX, plan.agent)


@attack("use a socket of the runtime directory")
def use_runtime_socket(plan: Plan) -> object:
    return stream(socket.AF_UNIX, plan.docker)


@attack("use an abstract socket")
def use_abstract_socket(plan: Plan) -> object:
    return stream(socket.AF_UNIX, "\0" + plan.abstract)


@attack("send to a socket from a pair")
def send_from_pair(plan: Plan) -> object:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return one.sendto(b"attacked", plan.datagrams) == len("attacked")


@attack("send to an abstract socket from a pair")
def send_abstract_from_pair(plan: Plan) -> object:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return one.sendto(b"attacked", "\0" + plan.abstract_datagrams) == len("attacked")


@attack("connect to this machine")
def connect_loopback(plan: Plan) -> object:
    return stream(socket.AF_INET, ("127.0.0.1", plan.port))


@attack("connect to another address")
def connect_address(plan: Plan) -> object:
    return stream(socket.AF_INET, (plan.address, plan.port))


@attack("connect from a new network namespace")
def connect_namespace(plan: Plan) -> object:
    check(libc.unshare(CLONE_NEWUSER | CLONE_NEWNET))
    return True


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


@attack("open a raw socket")
def open_raw(plan: Plan) -> object:
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).fileno() >= 0


@attack("open a packet socket")
def open_packet(plan: Plan) -> object:
    return socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).fileno() >= 0


@attack("open a netlink socket")
def open_netlink(plan: Plan) -> object:
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).fileno() >= 0


@attack("listen to events of the kernel")
def open_kernel_events(plan: Plan) -> object:
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15).fileno() >= 0


@attack("open a socket of the virtual machine")
def open_vsock(plan: Plan) -> object:
    return socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).fileno() >= 0

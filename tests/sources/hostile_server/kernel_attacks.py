"""Attacks on the kernel and on terminals."""

import fcntl
import os
import pty
import signal
import struct
import termios

from register import CLONE_NEWUSER, Plan, add_changes, attack, call, check, libc

TIOCSTI = 0x5412
add_changes(
    {
        "use the keyring": lambda plan: call("add_key", b"user", b"attacked", b"1", 1, -2),
        "create a user namespace": lambda plan: check(libc.unshare(CLONE_NEWUSER)),
        "use io_uring": lambda plan: call("io_uring_setup", 2, bytes(120)),
        "handle page faults": lambda plan: call("userfaultfd", 1),
    }
)


@attack("create a user namespace with clone3")
def create_namespace_directly(plan: Plan) -> object:
    arguments = struct.pack("11Q", CLONE_NEWUSER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    child = call("clone3", arguments, len(arguments))
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return True


@attack("load a program into the kernel")
def use_bpf(plan: Plan) -> object:
    attributes = struct.pack("4I", 2, 4, 8, 1) + bytes(100)  # an array
    return call("bpf", 0, attributes, len(attributes))


@attack("measure another process")
def use_perf(plan: Plan) -> object:
    attributes = struct.pack("IIQ", 1, 112, 0) + bytes(96)
    return call("perf_event_open", attributes, plan.victim, -1, -1, 0)


@attack("type into a terminal")
def type_into_terminal(plan: Plan) -> object:
    os.setsid()
    _, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    fcntl.ioctl(terminal, TIOCSTI, b"x")
    return True

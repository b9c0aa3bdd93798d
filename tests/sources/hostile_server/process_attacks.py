"""Attacks on other processes."""

import ctypes
import os
import resource
import signal
import struct

from register import Plan, add_changes, add_reads, attack, call

PTRACE_SEIZE = 0x4206
add_reads(
    {
        "read the arguments of another process": lambda plan: f"/proc/{plan.victim}/cmdline",
        "read the environment of another process": lambda plan: f"/proc/{plan.victim}/environ",
    }
)
add_changes(
    {
        "trace another process": lambda plan: call("ptrace", PTRACE_SEIZE, plan.victim, 0, 0),
        "trace the parent": lambda plan: call("ptrace", PTRACE_SEIZE, plan.parent, 0, 0),
        "signal another process": lambda plan: os.kill(plan.victim, signal.SIGUSR1),
        "signal through a descriptor": lambda plan: call(
            "pidfd_send_signal", call("pidfd_open", plan.victim, 0), signal.SIGUSR1, None, 0
        ),
        "limit another process": lambda plan: resource.prlimit(plan.victim, resource.RLIMIT_CORE, (0, 0)),
        "change the priority of another process": lambda plan: os.setpriority(
            os.PRIO_PROCESS, plan.victim, 5
        ),
    }
)


@attack("find another process")
def find_process(plan: Plan) -> object:
    return str(plan.victim) in os.listdir("/proc")


@attack("read the memory of another process")
def read_memory(plan: Plan) -> object:
    with open(f"/proc/{plan.victim}/mem", "rb", buffering=0) as memory:
        memory.seek(plan.victim_address)
        return memory.read(len(plan.secret)) == plan.secret.encode()


@attack("read memory with process_vm_readv")
def read_memory_directly(plan: Plan) -> object:
    buffer = ctypes.create_string_buffer(len(plan.secret))
    local = struct.pack("PN", ctypes.addressof(buffer), len(plan.secret))
    remote = struct.pack("PN", plan.victim_address, len(plan.secret))
    call("process_vm_readv", plan.victim, local, 1, remote, 1, 0)
    return buffer.raw == plan.secret.encode()


@attack("take a descriptor of another process")
def take_descriptor(plan: Plan) -> object:
    process = call("pidfd_open", plan.victim, 0)
    return plan.secret.encode() in os.pread(call("pidfd_getfd", process, plan.victim_descriptor, 0), 1000, 0)

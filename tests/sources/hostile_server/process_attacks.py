"""Attacks on other processes."""

import ctypes
import os
import resource
import signal
import struct

from register import Plan, attack, call, reads


@attack("find another process")
def find_process(plan: Plan) -> object:
    return str(plan.victim) in os.listdir("/proc")


@attack("read the arguments of another process")
def read_arguments(plan: Plan) -> object:
    return reads(f"/proc/{plan.victim}/cmdline", plan.secret)


@attack("read the environment of another process")
def read_environment(plan: Plan) -> object:
    return reads(f"/proc/{plan.victim}/environ", plan.secret)


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


@attack("trace another process")
def trace(plan: Plan) -> object:
    call("ptrace", 0x4206, plan.victim, 0, 0)  # PTRACE_SEIZE
    return True


@attack("trace the parent")
def trace_parent(plan: Plan) -> object:
    call("ptrace", 0x4206, plan.parent, 0, 0)
    return True


@attack("take a descriptor of another process")
def take_descriptor(plan: Plan) -> object:
    process = call("pidfd_open", plan.victim, 0)
    return plan.secret.encode() in os.pread(call("pidfd_getfd", process, plan.victim_descriptor, 0), 1000, 0)


@attack("signal another process")
def send_signal(plan: Plan) -> object:
    os.kill(plan.victim, signal.SIGUSR1)
    return True


@attack("signal through a descriptor")
def send_signal_directly(plan: Plan) -> object:
    call("pidfd_send_signal", call("pidfd_open", plan.victim, 0), signal.SIGUSR1, None, 0)
    return True


@attack("limit another process")
def limit_process(plan: Plan) -> object:
    resource.prlimit(plan.victim, resource.RLIMIT_CORE, (0, 0))
    return True


@attack("change the priority of another process")
def change_priority(plan: Plan) -> object:
    os.setpriority(os.PRIO_PROCESS, plan.victim, 5)
    return True

"""Attacks on files. If they change files, the user's side decides whether they succeeded."""

import array
import ctypes
import os
import stat
import struct
import subprocess
from operator import attrgetter
from pathlib import Path

from register import (
    CLONE_NEWNS,
    CLONE_NEWUSER,
    Plan,
    add_changes,
    add_reads,
    attack,
    call,
    check,
    libc,
    reads,
)

MS_BIND = 4096
FILES = ("ssh_key", "aws_credentials", "our_secrets", "browser_cookies", "other_server", "project_file")


add_reads({f"read {name}": attrgetter(name) for name in FILES})
add_reads(
    {
        "read through /proc/self/root": lambda plan: f"/proc/self/root{plan.ssh_key}",
        "read through the root of another process": lambda plan: f"/proc/{plan.victim}/root{plan.ssh_key}",
        "read through the root of the parent": lambda plan: f"/proc/{os.getppid()}/root{plan.ssh_key}",
        "read an open file of another process": lambda plan: (
            f"/proc/{plan.victim}/fd/{plan.victim_descriptor}"
        ),
        "read shared memory by name": lambda plan: f"/dev/shm/{plan.shared_memory}",
    }
)
add_changes(
    {
        "read the password hashes": lambda plan: Path("/etc/shadow").read_bytes(),
        "open shared memory by key": lambda plan: call("shmget", plan.shared_key, 0, 0),
        "create a file in the home directory": lambda plan: attack_file(f"{plan.user_home}/attacked"),
        "create a file in the temporary directory": lambda plan: attack_file(f"{plan.host_tmp}/attacked"),
        "write to the working directory": lambda plan: attack_file(plan.project_file),
        "write to a read-only path": lambda plan: attack_file(plan.read_only_file),
        "write to the system": lambda plan: attack_file(plan.system_file),
        "append to the shell profile": lambda plan: attack_file(plan.shell_profile, "a"),
        "delete from a read-only path": lambda plan: os.unlink(plan.deletable),
        "truncate a file": lambda plan: os.truncate(plan.truncatable, 0),
        "change permissions": lambda plan: os.chmod(plan.changeable, 0o777),
        "change times": lambda plan: os.utime(plan.changeable, (1, 1)),
        "set an attribute": lambda plan: os.setxattr(plan.changeable, "user.attacked", b"1"),
        "open a device of the machine": lambda plan: os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK),
        "change a setting of the kernel": lambda plan: os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY),
    }
)


def attack_file(path: str, mode: str = "w") -> None:
    with open(path, mode) as file:
        file.write("attacked")


@attack("list the home directory")
def list_home(plan: Plan) -> object:
    return ".ssh" in os.listdir(plan.user_home)


@attack("learn the size of a file")
def stat_file(plan: Plan) -> object:
    return os.stat(plan.ssh_key).st_size == len(plan.secret)


@attack("read through a link")
def read_link(plan: Plan) -> object:
    os.symlink(plan.ssh_key, f"{plan.home}/link")
    return reads(f"{plan.home}/link", plan.secret)


@attack("read through a parent directory")
def read_parent(plan: Plan) -> object:
    os.chdir(plan.home)
    return reads(os.path.relpath(plan.ssh_key, plan.home), plan.secret)


@attack("read through /proc/self/cwd")
def read_own_cwd(plan: Plan) -> object:
    os.chdir(plan.home)
    return reads(f"/proc/self/cwd/{os.path.relpath(plan.ssh_key, plan.home)}", plan.secret)


@attack("read through a hard link")
def read_hard_link(plan: Plan) -> object:
    os.link(plan.ssh_key, f"{plan.home}/hard")
    return reads(f"{plan.home}/hard", plan.secret)


@attack("read by moving the file")
def read_moved(plan: Plan) -> object:
    os.rename(plan.movable, f"{plan.home}/moved")
    return reads(f"{plan.home}/moved", plan.secret)


@attack("read by file handle")
def read_by_handle(plan: Plan) -> object:
    handle = array.array("B", struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    address, _ = handle.buffer_info()
    call("name_to_handle_at", -100, plan.ssh_key.encode(), ctypes.c_void_p(address), ctypes.byref(mount), 0)
    root = os.open(plan.home, os.O_RDONLY)
    descriptor = call("open_by_handle_at", root, ctypes.c_void_p(address), os.O_RDONLY)
    return plan.secret.encode() in os.read(descriptor, 1000)


@attack("read after a bind mount")
def read_bind_mount(plan: Plan) -> object:
    os.makedirs(f"{plan.home}/mounted", exist_ok=True)
    if os.getuid():
        check(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS))
    else:
        check(libc.unshare(CLONE_NEWNS))
    check(
        libc.mount(
            os.path.dirname(plan.ssh_key).encode(), f"{plan.home}/mounted".encode(), None, MS_BIND, None
        )
    )
    return reads(f"{plan.home}/mounted/{os.path.basename(plan.ssh_key)}", plan.secret)


@attack("read in a new mount tree")
def read_open_tree(plan: Plan) -> object:
    if os.getuid():
        check(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS))
    tree = call("open_tree", -100, os.path.dirname(plan.ssh_key).encode(), 1)
    descriptor = os.open(os.path.basename(plan.ssh_key), os.O_RDONLY, dir_fd=tree)
    return plan.secret.encode() in os.read(descriptor, 1000)


@attack("read as root through a set-user-id program")
def read_with_set_user_id(plan: Plan) -> object:
    done = subprocess.run([plan.set_user_id, plan.root_file], capture_output=True)
    return plan.secret.encode() in done.stdout


@attack("write a read-only file through a hard link")
def write_hard_link(plan: Plan) -> object:
    os.link(plan.linkable, f"{plan.home}/writable")
    return Path(f"{plan.home}/writable").write_text("attacked")


@attack("write through a link")
def write_link(plan: Plan) -> object:
    os.symlink(plan.link_target, f"{plan.home}/to_outside")
    return Path(f"{plan.home}/to_outside").write_text("attacked")


@attack("create a device")
def create_device(plan: Plan) -> object:
    os.mknod(f"{plan.home}/device", 0o666 | stat.S_IFCHR, os.makedev(1, 9))
    return len(os.read(os.open(f"{plan.home}/device", os.O_RDONLY), 4)) == 4

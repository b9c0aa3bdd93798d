"""Attacks on files. If they change files, the user's side decides whether they succeeded."""

import array
import ctypes
import os
import stat
import struct
import subprocess
from pathlib import Path

from register import ATTACKS, CLONE_NEWNS, CLONE_NEWUSER, Attack, Plan, attack, call, check, libc, reads

MS_BIND = 4096


def _read_attack(field: str) -> Attack:
    return lambda plan: reads(getattr(plan, field), plan.secret)


for field in ("ssh_key", "aws_credentials", "our_secrets", "browser_cookies", "other_server", "project_file"):
    ATTACKS[f"read {field}"] = _read_attack(field)


@attack("read the password hashes")
def read_shadow(plan: Plan) -> object:
    return Path("/etc/shadow").read_bytes()


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


@attack("read through /proc/self/root")
def read_own_root(plan: Plan) -> object:
    return reads(f"/proc/self/root{plan.ssh_key}", plan.secret)


@attack("read through /proc/self/cwd")
def read_own_cwd(plan: Plan) -> object:
    os.chdir(plan.home)
    return reads(f"/proc/self/cwd/{os.path.relpath(plan.ssh_key, plan.home)}", plan.secret)


@attack("read through the root of another process")
def read_other_root(plan: Plan) -> object:
    return reads(f"/proc/{plan.victim}/root{plan.ssh_key}", plan.secret)


@attack("read through the root of the parent")
def read_parent_root(plan: Plan) -> object:
    return reads(f"/proc/{os.getppid()}/root{plan.ssh_key}", plan.secret)


@attack("read an open file of another process")
def read_other_descriptor(plan: Plan) -> object:
    return reads(f"/proc/{plan.victim}/fd/{plan.victim_descriptor}", plan.secret)


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


@attack("read shared memory by name")
def read_shared_memory(plan: Plan) -> object:
    return reads(f"/dev/shm/{plan.shared_memory}", plan.secret)


@attack("open shared memory by key")
def open_shared_memory(plan: Plan) -> object:
    return call("shmget", plan.shared_key, 0, 0) >= 0


@attack("append to the shell profile")
def append_profile(plan: Plan) -> object:
    with open(plan.shell_profile, "a") as file:
        file.write("attacked")
    return True


@attack("create a file in the home directory")
def create_in_home(plan: Plan) -> object:
    return Path(plan.user_home, "attacked").write_text("attacked")


@attack("create a file in the temporary directory")
def create_in_tmp(plan: Plan) -> object:
    return Path(plan.host_tmp, "attacked").write_text("attacked")


@attack("write to the working directory")
def write_cwd(plan: Plan) -> object:
    return Path(plan.project_file).write_text("attacked")


@attack("write to a read-only path")
def write_read_only(plan: Plan) -> object:
    return Path(plan.read_only_file).write_text("attacked")


@attack("delete from a read-only path")
def delete_read_only(plan: Plan) -> object:
    os.unlink(plan.deletable)
    return True


@attack("write a read-only file through a hard link")
def write_hard_link(plan: Plan) -> object:
    os.link(plan.linkable, f"{plan.home}/writable")
    return Path(f"{plan.home}/writable").write_text("attacked")


@attack("write through a link")
def write_link(plan: Plan) -> object:
    os.symlink(plan.link_target, f"{plan.home}/to_outside")
    return Path(f"{plan.home}/to_outside").write_text("attacked")


@attack("truncate a file")
def truncate(plan: Plan) -> object:
    os.truncate(plan.truncatable, 0)
    return True


@attack("change permissions")
def change_mode(plan: Plan) -> object:
    os.chmod(plan.changeable, 0o777)
    return True


@attack("change times")
def change_times(plan: Plan) -> object:
    os.utime(plan.changeable, (1, 1))
    return True


@attack("set an attribute")
def set_attribute(plan: Plan) -> object:
    os.setxattr(plan.changeable, "user.attacked", b"1")
    return True


@attack("write to the system")
def write_system(plan: Plan) -> object:
    Path(plan.system_file).write_text("attacked")
    return True


@attack("create a device")
def create_device(plan: Plan) -> object:
    os.mknod(f"{plan.home}/device", 0o666 | stat.S_IFCHR, os.makedev(1, 9))
    return len(os.read(os.open(f"{plan.home}/device", os.O_RDONLY), 4)) == 4


@attack("open a device of the machine")
def open_device(plan: Plan) -> object:
    return os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)


@attack("change a setting of the kernel")
def change_kernel(plan: Plan) -> object:
    return os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)

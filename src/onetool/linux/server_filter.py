"""The filter of system calls for the programs of MCP servers."""

from onetool.linux.seccomp import (
    ALLOW,
    AND,
    DENY,
    JUMP_EQUAL,
    JUMP_SET,
    UNKNOWN,
    Instruction,
    build_filter,
    load_argument,
    on_call,
)

UNKNOWN_CALLS = ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "openat2")
"""Their arguments are in memory, which a filter cannot read. Programs use older calls instead."""
DENIED_CALLS = (
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "process_mrelease",
    "kcmp",
    "pidfd_getfd",
    "move_pages",
    "migrate_pages",
    "keyctl",
    "add_key",
    "request_key",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "fanotify_init",
    "open_by_handle_at",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "move_mount",
    "open_tree",
    "open_tree_attr",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "setns",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "reboot",
    "swapon",
    "swapoff",
    "acct",
    "quotactl",
    "quotactl_fd",
    "syslog",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "sethostname",
    "setdomainname",
    "iopl",
    "ioperm",
    "vhangup",
)
SHARED_CALLS = (
    "shmget",
    "shmat",
    "shmctl",
    "msgget",
    "msgsnd",
    "msgrcv",
    "msgctl",
    "semget",
    "semop",
    "semtimedop",
    "semctl",
    "mq_open",
    "mq_unlink",
    "chown",
    "fchown",
    "lchown",
    "fchownat",
    "setxattr",
    "lsetxattr",
    "fsetxattr",
    "setxattrat",
    "removexattr",
    "lremovexattr",
    "fremovexattr",
    "removexattrat",
    "file_setattr",
)
"""Calls that reach memory and files of other programs, unless namespaces separate them."""

NAMESPACES = 0x7E020080
"""Flags of `clone` and `unshare` that create namespaces; 0x80 is part of the exit signal for `clone`."""
EXIT_SIGNAL = 0xFF
TERMINAL_INPUT, TERMINAL_PASTE = 0x5412, 0x541C
"""Requests that type into a terminal."""
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
NETLINK_ROUTE = 0
TYPE_MASK, SOCK_DGRAM = 0xF, 2
IDENTITY_BITS = 0o6000
"""Permissions with which a program runs as the owner or group of its file, not of its user."""
CREATES = 0x400040
"""The flags of `open` with which its mode counts: O_CREAT and O_TMPFILE."""
MODE_ARGUMENTS = {
    "chmod": 1,
    "fchmod": 1,
    "fchmodat": 2,
    "fchmodat2": 2,
    "creat": 1,
    "mkdir": 1,
    "mkdirat": 2,
    "mknod": 1,
    "mknodat": 2,
}
"""Where each call has the permissions."""
FLAGS_AND_MODE_ARGUMENTS = {"open": (1, 2), "openat": (2, 3)}


def server_filter(*, internet: bool, unix_sockets: bool, namespaces: bool) -> list[Instruction]:
    """Return the filter.

    Args:
        internet: Whether sockets of the Internet may be created.
        unix_sockets: Whether Unix sockets may be created. Connected pairs always may.
        namespaces: Whether the server has namespaces of its own for processes, memory and files.
    """
    rules = [
        *(line for name in UNKNOWN_CALLS for line in on_call(name, UNKNOWN)),
        *(line for name in DENIED_CALLS for line in on_call(name, DENY)),
        *on_call("clone", load_argument(0), (JUMP_SET, 0, 1, NAMESPACES & ~EXIT_SIGNAL), DENY, ALLOW),
        *on_call("unshare", load_argument(0), (JUMP_SET, 0, 1, NAMESPACES), DENY, ALLOW),
        *on_call("ioctl", load_argument(1), *_deny_equal(TERMINAL_INPUT, TERMINAL_PASTE), ALLOW),
        *_identity_rules(),
        *_socket_rule(internet, unix_sockets),
    ]
    if not unix_sockets:  # an unconnected pair could send to any socket
        datagram = (JUMP_EQUAL, 0, 1, SOCK_DGRAM)
        rules += on_call("socketpair", load_argument(1), (AND, 0, 0, TYPE_MASK), datagram, DENY, ALLOW)
    if not namespaces:
        rules += [line for name in SHARED_CALLS for line in on_call(name, DENY)]
        rules += on_call("prlimit64", load_argument(0), (JUMP_EQUAL, 0, 1, 0), ALLOW, DENY)
    return build_filter(rules)


def _identity_rules() -> list[Instruction]:
    """Deny to set identity bits: other users could run the file with the rights of the server's user."""
    check = ((JUMP_SET, 0, 1, IDENTITY_BITS), DENY, ALLOW)
    rules = [
        line for name, mode in MODE_ARGUMENTS.items() for line in on_call(name, load_argument(mode), *check)
    ]
    for name, (flags, mode) in FLAGS_AND_MODE_ARGUMENTS.items():
        creates = (JUMP_SET, 0, 3, CREATES)
        rules += on_call(name, load_argument(flags), creates, load_argument(mode), *check)
    return rules


def _deny_equal(*values: int) -> list[Instruction]:
    return [line for value in values for line in ((JUMP_EQUAL, 0, 1, value), DENY)]


def _allow_equal(*values: int) -> list[Instruction]:
    return [line for value in values for line in ((JUMP_EQUAL, 0, 1, value), ALLOW)]


def _socket_rule(internet: bool, unix_sockets: bool) -> list[Instruction]:
    """Allow families of sockets. Netlink is only allowed to list the addresses of this machine."""
    families = [*([AF_INET, AF_INET6] if internet else []), *([AF_UNIX] if unix_sockets else [])]
    rule = [load_argument(0), *_allow_equal(*families)]
    if internet:
        rule += [(JUMP_EQUAL, 0, 3, AF_NETLINK), load_argument(2), *_allow_equal(NETLINK_ROUTE)]
    return on_call("socket", *rule, DENY)

"""Restricts a server's process on Linux, then executes the server: `server_launcher.py PLAN PROGRAM ARGS...`.

PLAN is a descriptor with JSON; its mechanism `none` only ends the server with its parent.
`--landlock-version` instead of it prints the version of Landlock. The script runs without installed packages.
If a restriction cannot be applied, nothing is executed.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

if __name__ == "__main__":  # started by its path, without installed packages
    sys.path.append(str(Path(__file__).parents[4]))
from onetool.linux import landlock, privileges, seccomp
from onetool.linux.memory_file import open_memory_file
from onetool.linux.server_filter import server_filter
from onetool.linux.system_calls import Unsupported

EXIT_FAILED = 126
TERMINATE_TIMEOUT_S = 1.0
"""Time for the server to exit after SIGTERM, in seconds."""
SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main() -> None:
    """Apply the plan, then run the program."""
    if sys.argv[1] == "--landlock-version":
        sys.stdout.write(str(landlock.version()))
        return
    with os.fdopen(int(sys.argv[1]), "rb") as file:
        plan, argv = json.load(file), sys.argv[2:]
    try:
        if plan["mechanism"] == "bubblewrap":
            _execute_bubblewrap(plan, argv)
        _supervise(plan, argv)
    except (Unsupported, OSError) as error:
        sys.stderr.write(f"the sandbox cannot start: {error}\n")
        sys.exit(EXIT_FAILED)


def _execute_bubblewrap(plan: dict[str, Any], argv: list[str]) -> NoReturn:
    """Replace this process with bubblewrap, which restricts files and processes."""
    _end_with(plan["parent"], signal.SIGKILL)
    privileges.deny_new_privileges()
    if plan["scopes"]:
        landlock.restrict_scopes()
    filter_file = seccomp.write_to_memory_file(server_filter(**plan["system_calls"]))
    options_file = open_memory_file("options", b"".join(os.fsencode(f"{word}\0") for word in plan["options"]))
    options = ["--args", str(options_file), "--seccomp", str(filter_file), "--"]
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # which Python ignores
    os.execv(plan["program"], [plan["program"], *options, *argv])  # noqa: S606 - the operator configured it


def _supervise(plan: dict[str, Any], argv: list[str]) -> NoReturn:
    """Run the server as a child, and end all its descendants when it ends or our parent does."""
    privileges.adopt_orphans()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # it is lost if our parent ignores it
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    _end_with(plan["parent"], signal.SIGTERM)
    own_pid = os.getpid()
    child = os.fork()
    if child == 0:
        _execute_server(plan, argv, own_pid)
    _close_pipes()
    status = _wait(child)
    _kill_descendants()
    _exit_like(status)


def _execute_server(plan: dict[str, Any], argv: list[str], parent: int) -> NoReturn:
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # which Python ignores
        os.chdir(plan["cwd"])
        _end_with(parent, signal.SIGKILL)
        if plan["mechanism"] != "none":
            _restrict(plan)
        os.execve(argv[0], argv, {**os.environ, **plan["env"]})  # noqa: S606 - the operator configured it
    except (Unsupported, OSError) as error:
        sys.stderr.write(f"the sandbox cannot start: {error}\n")
    finally:
        sys.stderr.flush()
        os._exit(EXIT_FAILED)


def _restrict(plan: dict[str, Any]) -> None:
    """Apply the restrictions of Landlock to this process."""
    privileges.deny_new_privileges()
    privileges.drop_capabilities()
    rights = {"read": landlock.READ, "write": landlock.READ | landlock.WRITE}
    rules = [(path, rights[access]) for path, access in plan["rules"] if os.path.exists(path)]  # noqa: PTH110
    own = f"/proc/{os.getpid()}"
    landlock.restrict_files([*rules, (own, landlock.READ)], network=True)
    seccomp.install(server_filter(**plan["system_calls"]))


def _end_with(parent: int, number: int) -> None:
    """Request a signal for the moment when the parent ends."""
    privileges.signal_on_parent_exit(number)
    if os.getppid() != parent:  # it ended before the request
        sys.exit(EXIT_FAILED)


def _close_pipes() -> None:
    """Leave stdin, stdout and stderr to the server, so that their ends are noticed."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)


def _wait(child: int) -> int:
    """Wait until the server ends, or until a signal and the time after it. Return its status."""
    while True:
        terminated = signal.sigwait(SIGNALS) != signal.SIGCHLD
        if terminated:
            signal.sigtimedwait([signal.SIGCHLD], TERMINATE_TIMEOUT_S)
        while (ended := _reap()) is not None:
            if ended[0] == child:
                return ended[1]
        if terminated:
            return signal.SIGTERM


def _reap() -> tuple[int, int] | None:
    """Return a child that ended and its status, if there is one."""
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, status) if pid else None


def _kill_descendants() -> None:
    """Kill every child. Orphans become our children, so this ends when there is none."""
    while True:
        for pid in _children():
            os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    """Return the children of this process that have not been waited for."""
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - a list of names is needed
        if name.isdigit():
            try:
                fields = Path("/proc", name, "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            found += [int(name)] if fields[1:2] == [str(os.getpid())] else []
    return found


def _exit_like(status: int) -> NoReturn:
    """End as the server ended."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else EXIT_FAILED)


if __name__ == "__main__":
    main()

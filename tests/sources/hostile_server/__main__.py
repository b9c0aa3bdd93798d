"""A hostile MCP server, which tries to leave its sandbox and prints what succeeded.

`python hostile_server PLAN NAMES` runs attacks: PLAN is JSON that names the files, processes and sockets of
the user. Each attack runs in a process of its own and returns whether it succeeded, as far as the server can
tell. `--list` prints the names of all attacks, and `detach` leaves a process behind.
"""

import json
import os
import signal
import sys
from types import SimpleNamespace

import file_attacks  # noqa: F401 - registers attacks
import kernel_attacks  # noqa: F401
import process_attacks  # noqa: F401
import socket_attacks  # noqa: F401
from register import ATTACKS, LIMIT_S, Attack, Plan


def main() -> None:
    plan = SimpleNamespace(**json.loads(sys.argv[1]))
    results = {name: run(ATTACKS[name], plan) for name in json.loads(sys.argv[2])}
    sys.stdout.write(json.dumps(results))


def run(function: Attack, plan: Plan) -> str:
    """Return `done`, or why the attack failed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT_S)
        try:
            text = "done" if function(plan) else "nothing found"
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        text = file.read().decode()
    os.waitpid(child, 0)
    return text or "ended without a result"


def detach(then: str) -> None:
    """Leave a process behind that has nothing in common with its ancestors, then wait or end."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for descriptor in (0, 1, 2):
                os.close(descriptor)
            while True:
                signal.pause()
        os._exit(0)
    os.wait()
    print("detached", flush=True)
    if then == "kill the parent":
        os.kill(os.getppid(), signal.SIGKILL)
    if then == "ignore stdin":
        signal.pause()
    if then != "end":
        sys.stdin.read()


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(json.dumps(list(ATTACKS)))
    elif sys.argv[1] == "detach":
        detach(sys.argv[2])
    else:
        main()

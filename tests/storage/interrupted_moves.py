"""Moves of workspaces in processes that are killed after each step."""

import os
import subprocess
import sys
from contextlib import contextmanager

from onetool.storage.postgres.clusters import HOME
from support.two_clusters import WEST

STEPS = 4
"""Lines that a move reports."""
MOVER = """
import sys
from onetool.storage.postgres.moves import WorkspaceMoves

def report(line):
    print(line, flush=True)
    sys.stdin.readline()

WorkspaceMoves({"home": sys.argv[1], "west": sys.argv[2]}, report).move(sys.argv[3], sys.argv[4])
"""
"""Moves a workspace, and waits for a line after each step."""


@contextmanager
def mover(two, workspace, target):
    command = [sys.executable, "-c", MOVER, two.urls[HOME], two.urls[WEST], workspace.slug, target]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": ""}
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def kill_after(two, workspace, target, steps):
    """Begin a move, and kill the process after a number of steps."""
    with mover(two, workspace, target) as process:
        for step in range(steps):
            assert process.stdout.readline()
            if step < steps - 1:
                process.stdin.write("\n")
                process.stdin.flush()

"""Do a task turn by turn, for a model without an API.

`start` prints what a client shows the model: the system message, the tools and the question. `call` makes one
call and prints the reply. `answer` ends the task, checks the outcome and stores the transcript.
"""

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

MODES = ("run", "search", "native")
PREFIX = "onetool-agents-"
SOCKET, LOG = "socket", "log"
ID = re.compile(r"[a-z0-9_]{4,20}")
NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,40}")
START_LIMIT_S = 1_800.0
MAX_MESSAGE_BYTES = 16_000_000


def start(task: str, mode: str, provider: str) -> None:
    """Start the process of a session, and print what the model sees."""
    root = Path(tempfile.mkdtemp(prefix=PREFIX))
    command = [sys.executable, "-m", "benchmarks.agents.session_host", task, mode, provider, str(root)]
    with (root / LOG).open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        shown = asyncio.run(_first_request(root, process))
    print(f"# Session {root.name.removeprefix(PREFIX)}\n\n# System\n{shown['system']}\n")
    print(f"# Tools\n{shown['tools']}\n\n# User\n{shown['prompt']}")


async def _first_request(root: Path, process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    async with asyncio.timeout(START_LIMIT_S):
        while not (root / SOCKET).exists():
            if process.poll() is not None:
                raise SystemExit(f"The session ended with exit code {process.returncode}.")
            await asyncio.sleep(0.1)
    return await request(root, {})


async def request(root: Path, message: dict[str, Any]) -> dict[str, Any]:
    """Send a message to the process of a session, and return its reply."""
    try:
        reader, writer = await asyncio.open_unix_connection(root / SOCKET, limit=MAX_MESSAGE_BYTES)
    except OSError:
        raise SystemExit("There is no such session, or it has ended.") from None
    writer.write(json.dumps(message).encode() + b"\n")
    await writer.drain()
    reply: dict[str, Any] = json.loads(await reader.readline())
    writer.close()
    if "error" in reply:
        raise SystemExit(f"The request failed: {reply['error']}")
    return reply


def call(root: Path, tool: str, text: str) -> None:
    """Make one call, and print the reply."""
    try:
        args = json.loads(text)
    except ValueError as error:
        raise SystemExit(f"The arguments are not JSON: {error}") from None
    if not isinstance(args, dict):
        raise SystemExit("The arguments must be a JSON object.")
    reply = asyncio.run(request(root, {"tool": tool, "args": args}))
    print(f"[failed]\n{reply['text']}" if reply["failed"] else reply["text"])


def answer(root: Path, text: str) -> None:
    """End a session, and print the figures."""
    print(json.dumps(asyncio.run(request(root, {"answer": text.strip()})), indent=1))


def _root(session: str) -> Path:
    if not ID.fullmatch(session):
        raise SystemExit(f"Invalid session {session!r}.")
    return Path(tempfile.gettempdir(), PREFIX + session)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agents.session", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    starting = commands.add_parser("start", help="start a task")
    starting.add_argument("task")
    starting.add_argument("mode", choices=MODES)
    starting.add_argument("--provider", default="session", help="name of the model, for the results")
    calling = commands.add_parser("call", help="call a tool")
    calling.add_argument("session")
    calling.add_argument("tool")
    calling.add_argument("args", help="JSON object, or - to read it from stdin")
    ending = commands.add_parser("answer", help="end the task with the answer for the user")
    ending.add_argument("session")
    ending.add_argument("text", help="the answer, or - to read it from stdin")
    return parser


def main() -> int:
    """Run one of the commands."""
    parser = _parser()
    args = parser.parse_args()
    if args.command == "start":
        from benchmarks.agents.tasks import load_tasks

        if args.task not in (tasks := load_tasks()):
            parser.error(f"unknown task {args.task!r}. Valid: {', '.join(tasks)}.")
        if not NAME.fullmatch(args.provider):
            parser.error(f"invalid name {args.provider!r}. Use small letters, digits, dots and hyphens.")
        start(args.task, args.mode, args.provider)
    elif args.command == "call":
        call(_root(args.session), args.tool, sys.stdin.read() if args.args == "-" else args.args)
    else:
        answer(_root(args.session), sys.stdin.read() if args.text == "-" else args.text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

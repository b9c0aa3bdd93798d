"""Record real terminal sessions as animated pictures in docs/pictures: python docs/record_terminal.py."""

import io
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples" / "assistant"
WIDTH = 92
PAUSE_S, LINE_S = 1.4, 0.12
"""Seconds before each command, and between the lines of its output."""


class Recording(NamedTuple):
    """A picture: the commands that are shown and run, and the files that they need."""

    name: str
    title: str
    commands: Sequence[str]
    files: Sequence[Path] = ()
    hidden: str = ""
    """Arguments that are passed but not shown, before the last one."""


RECORDINGS = (
    Recording(
        "first-minute",
        "Two MCP servers, one line of code",
        (
            "onetool servers add stock -- python stock.py",
            "onetool servers add orders -- python orders.py",
            "onetool run 'ot.find(query=\"orders not sent yet\", limit=1)'",
            'onetool run \'[order["number"] for order in orders.open_orders()["orders"]\n'
            '     if stock.count(article=order["article"])["pieces"] < order["pieces"]]\'',
            'onetool tools invoke stock.cuont --args \'{"article": "lamp"}\'',
        ),
        (EXAMPLES / "stock.py", EXAMPLES / "orders.py"),
    ),
    Recording(
        "ask",
        "onetool ask",
        ('onetool ask -v --provider scripted "What is missing in this project?"',),
        (),
        f"--model {DOCS / 'ask_demo.yaml'} --session demo",
    ),
)


def run_in_terminal(command: Sequence[str], cwd: Path, env: dict[str, str]) -> str:
    """Run a command in a pseudo terminal and return its output."""
    master, slave = pty.openpty()
    child = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, cwd=cwd, env=env)
    os.close(slave)
    output = b""
    while True:
        try:
            block = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        output += block
    child.wait(60)
    os.close(master)
    return output.decode().replace("\r\n", "\n").rstrip("\n")


def record(recording: Recording, directory: Path) -> list[tuple[str, str]]:
    """Run the commands in a new home directory and return each with its output."""
    work = directory / "shop"
    work.mkdir()
    for name in () if recording.files else ("dice.py", "notes.txt"):
        (work / name).write_text("")
    for file in recording.files:
        shutil.copy(file, work)
    env = os.environ | {f"ONETOOL_{kind}_DIR": str(directory / kind) for kind in ("CONFIG", "DATA", "STATE")}
    env |= {"COLUMNS": str(WIDTH), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    seen = []
    for command in recording.commands:
        words = shlex.split(command)
        words[-1:-1] = shlex.split(recording.hidden)
        seen.append((command, run_in_terminal([sys.executable, "-m", *words], work, env)))
    return seen


def draw(recording: Recording, seen: Sequence[tuple[str, str]]) -> str:
    """Draw a terminal in which the lines appear one after another."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    times: list[float] = []
    now = 0.0
    for command, output in seen:
        now += PAUSE_S
        shown = Text.assemble(("$ ", "green"), (command, "bold"))
        text = Text("\n").join([shown, Text.from_ansi(re.sub(r"scripted \S+ ·", "scripted demo ·", output))])
        lines = text.wrap(console, WIDTH)
        typed = len(shown.wrap(console, WIDTH))
        for number, _ in enumerate(lines):
            now += LINE_S if number >= typed else 0
            times.append(now + (PAUSE_S / 2 if number >= typed else 0))
        now += PAUSE_S / 2
        console.print(text)
    picture = console.export_svg(title=recording.title, unique_id=recording.name)
    without_fonts = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.S)  # load nothing from the network
    return without_fonts.replace("</style>", f"{_animation(recording.name, times)}</style>", 1)


def _animation(name: str, times: Sequence[float]) -> str:
    """Return rules that show each line at its time; readers who prefer no motion see everything at once."""
    rules = [
        f'    text[clip-path="url(#{name}-line-{number})"] {{'
        f" opacity: 0; animation: appear 0.01s {at:.2f}s forwards; }}"
        for number, at in enumerate(times)
    ]
    frames = "    @keyframes appear { to { opacity: 1; } }\n"
    motion = "    @media (prefers-reduced-motion: no-preference) {\n" + "\n".join(rules) + "\n    }\n"
    return frames + motion


def main() -> None:
    """Write the pictures."""
    for recording in RECORDINGS:
        with tempfile.TemporaryDirectory() as directory:
            picture = draw(recording, record(recording, Path(directory)))
        (DOCS / "pictures" / f"{recording.name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()

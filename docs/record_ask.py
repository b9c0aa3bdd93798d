"""Records `onetool ask` on a terminal as docs/pictures/ask.svg: python docs/record_ask.py."""

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

DOCS = Path(__file__).parent
QUESTION = "What is missing in this project?"
SHOWN = f'$ onetool ask -v --provider scripted "{QUESTION}"\n'
WIDTH = 92


def on_a_terminal(command: list[str], cwd: str, env: dict[str, str]) -> str:
    """What a person would see."""
    seen, shown = pty.openpty()
    child = subprocess.Popen(command, stdin=shown, stdout=shown, stderr=shown, cwd=cwd, env=env)
    os.close(shown)
    text = b""
    while True:
        try:
            block = os.read(seen, 65536)
        except OSError:  # the other end is closed
            break
        text += block
    child.wait(60)
    return text.decode().replace("\r\n", "\n")


def record(folder: Path) -> str:
    """Ask in a home of its own."""
    work = folder / "project"
    work.mkdir()
    for name in ("dice.py", "notes.txt"):
        (work / name).write_text("")
    places = {f"ONETOOL_{kind}_DIR": str(folder / kind) for kind in ("CONFIG", "DATA", "STATE")}
    env = {**os.environ, **places, "COLUMNS": str(WIDTH), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    script = ["--model", str(DOCS / "ask_demo.yaml"), "--session", "demo"]
    command = [sys.executable, "-m", "onetool", "ask", "-v", "--provider", "scripted", *script, QUESTION]
    return on_a_terminal(command, str(work), env)


def main() -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        text = re.sub(r"scripted \S+ ·", "scripted demo ·", record(Path(folder)))
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text(SHOWN) + Text.from_ansi(text))
    picture = console.export_svg(title="onetool ask", unique_id="ask")
    offline = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.S)  # a picture fetches nothing
    (DOCS / "pictures" / "ask.svg").write_text(offline, encoding="utf-8")


if __name__ == "__main__":
    main()

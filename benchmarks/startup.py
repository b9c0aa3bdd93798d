"""How long a command takes to start, beside a bare click program."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Figure, best_of

BARE = """
import click

@click.group()
@click.version_option("1.0", message="bare %(version)s")
def cli():
    pass

cli(prog_name="bare")
"""
BARE_LIST = """
import asyncio
import click
import pydantic

@click.group()
def cli():
    pass

@cli.command("list")
def list_all():
    async def work():
        return "[]"

    click.echo(asyncio.run(work()))

cli(prog_name="bare")
"""
PACK = '''
"""A pack of the benchmark."""

def look(path: str, depth: int = 1, names: list[str] | None = None) -> str:
    """Look at something.

    Args:
        path: Where.
        depth: How deep.
        names: What for.
    """
    return path
'''
PACKS = 20


def measure() -> list[Figure]:
    """`onetool --version`, and `onetool tools list` with twenty packs."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        env = _home(root)
        onetool = shutil.which("onetool", path=str(Path(sys.executable).parent))
        if onetool is None:
            raise SystemExit("onetool is not installed in this environment: run `just setup`.")
        bare, bare_list = _program(root, "bare.py", BARE), _program(root, "bare_list.py", BARE_LIST)
        _runs(env, onetool, "tools", "list")()  # first sight of the packs is not the start that users feel
        times = best_of(
            _runs(env, bare, "--version"),
            _runs(env, onetool, "--version"),
            _runs(env, bare_list, "list"),
            _runs(env, onetool, "tools", "list"),
        )
    return [
        Figure(what="onetool --version / bare click", bare=times[0], ours=times[1], limit=1.5),
        Figure(
            what=f"onetool tools list, {PACKS} packs / click + pydantic + asyncio",
            bare=times[2],
            ours=times[3],
            limit=1.5,
        ),
    ]


def _home(root: Path) -> dict[str, str]:
    tools = root / "config" / "tools"
    tools.mkdir(parents=True)
    for number in range(PACKS):
        (tools / f"pack{number}.py").write_text(PACK)
    places = {f"ONETOOL_{kind}_DIR": str(root / kind.lower()) for kind in ("CONFIG", "DATA", "STATE")}
    return {**os.environ, **places}


def _program(root: Path, name: str, code: str) -> str:
    file = root / name
    file.write_text(code)
    return str(file)


def _runs(env: dict[str, str], *command: str) -> Callable[[], float]:
    def run() -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, *command], env=env, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - started

    return run

"""Run the official MCP conformance suite: `just conformance`.

It runs against the everything server directly, and through `/mcp/only/everything` of OneTool. The newer suite
is a preview: `just conformance --next 2026-07-28`, or another protocol version.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.loopback_proxy import LoopbackProxy
from support.rest_process import TOKEN, RestProcess

FOLDER = Path(__file__).parent
SERVER = FOLDER / "everything_server.py"
SUITE = FOLDER / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
NEXT_SUITE = FOLDER / "node_modules" / "conformance-next" / "dist" / "index.js"
MODERN = "2026-07-28"
MIN_NODE = 22
NODE_PACKAGE = "node@22.23.3"
"""Node from npm, for machines with an older one."""
TIMEOUT_S = 600.0
LINE = re.compile(r"^\S+ (?P<scenario>[\w-]+): (?P<passed>\d+) passed, (?P<failed>\d+) failed$", re.MULTILINE)
SETTINGS = """\
approval: {{mcp: allow}}
servers:
  everything: {{command: {python}, args: [{args}], sandbox: false, sampling: ask, new_tools: allow}}
"""


class Score(NamedTuple):
    """How many checks of a scenario passed and failed."""

    passed: int
    failed: int


def install() -> None:
    """Install the suite from the lock file, unless it is installed.

    Raises:
        subprocess.CalledProcessError: npm failed; its output says why.
    """
    installed = FOLDER / "node_modules" / ".package-lock.json"
    lock = FOLDER / "package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime:
        return
    command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    subprocess.run(command, cwd=FOLDER, check=True, capture_output=True, text=True, timeout=TIMEOUT_S)
    installed.touch()


def node_command() -> list[str]:
    """Return the command of a Node that can run the suite."""
    node = shutil.which("node")
    if node is not None:
        version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
        if int(version.strip().lstrip("v").partition(".")[0]) >= MIN_NODE:
            return [node]
    return ["npm", "exec", "--yes", f"--package={NODE_PACKAGE}", "--", "node"]


def run_suite(url: str, suite: Path = SUITE, *options: str) -> dict[str, Score]:
    """Run a suite against a server and return the score of each scenario."""
    command = [*node_command(), str(suite), "server", "--url", url, *options]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S)
    summary = done.stdout.partition("=== SUMMARY ===")[2]
    scores = {
        found["scenario"]: Score(int(found["passed"]), int(found["failed"]))
        for found in LINE.finditer(summary)
    }
    if not scores:
        raise RuntimeError(f"The suite printed no summary: {(done.stdout + done.stderr)[-2000:]}")
    return scores


@contextmanager
def everything_server() -> Iterator[str]:
    """Run the everything server over HTTP and yield its URL."""
    with subprocess.Popen(
        [sys.executable, str(SERVER), "--http"], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@contextmanager
def onetool_server(root: Path, *options: str, processes: int = 1) -> Iterator[str]:
    """Run `onetool serve` with the everything server and yield a URL that needs no token.

    options: of the everything server.
    processes: how many `onetool serve` get the requests in turn.
    """
    settings = SETTINGS.format(python=sys.executable, args=", ".join([str(SERVER), *options]))
    with ExitStack() as stack:
        servers = [RestProcess(root, settings=settings, probes=False) for _ in range(processes)]
        ports = [stack.enter_context(server).port for server in servers]
        proxy = stack.enter_context(LoopbackProxy(ports, TOKEN))
        yield f"{proxy.url}/mcp/only/everything"


def total(scores: Iterable[Score], expected: Iterable[Score]) -> str:
    """Return passed and expected checks, such as `40 of 40`: a scenario that fails early counts fewer."""
    return f"{sum(score.passed for score in scores)} of {sum(sum(score) for score in expected)}"


def main() -> None:
    """Print the scores as a table. The exit code is 1 if a direct check fails."""
    parser = argparse.ArgumentParser(prog="just conformance")
    parser.add_argument("--next", metavar="VERSION", help="the newer suite, with a version of the protocol")
    parser.add_argument("--processes", type=int, default=1, help="how many `onetool serve` to run")
    args = parser.parse_args()
    install()
    suite = (NEXT_SUITE, "--requirements", args.next) if args.next else (SUITE,)
    options = ["--modern"] if args.next == MODERN else []
    with everything_server() as url:
        direct = run_suite(url, *suite)
    with (
        tempfile.TemporaryDirectory() as folder,
        onetool_server(Path(folder), *options, processes=args.processes) as url,
    ):
        through = run_suite(url, *suite)
    rows = [("scenario", "direct", "through OneTool")]
    for name, score in direct.items():
        rows.append((name, total([score], [score]), total([through[name]], [score])))
    rows.append(("total", total(direct.values(), direct.values()), total(through.values(), direct.values())))
    for row in rows:
        print("{:<48}{:<12}{}".format(*row))
    sys.exit(any(score.failed for score in direct.values()))


if __name__ == "__main__":
    main()

"""Compare real MCP servers directly and through OneTool, and write docs/fidelity.md: `just fidelity`."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.report import with_figures

from fidelity.comparison import Comparison, compare_server
from fidelity.recording import INTERFACES
from fidelity.rules import Reason
from fidelity.servers import RealServer, load_servers
from onetool.version import __version__
from support.paths import PROJECT

PAGE = PROJECT / "docs" / "fidelity.md"


def page_text(found: Sequence[Comparison], date: str) -> str:
    """Return the generated part of the page."""
    items = sum(sum(server.compared.values()) for server in found)
    unexplained = sum(len(server.unexplained) for server in found)
    lines = [
        f"Compared on {date} with OneTool {__version__}: {len(found)} servers, {items} comparisons, "
        f"{unexplained} unexplained differences.",
        "",
        "| Server | Version | Definitions | Calls | Prompts and resources | Explained | Unexplained |",
        f"|{' --- |' * 7}",
        *map(_server_row, found),
        "",
        "The differences, with the number of definitions and responses:",
        "",
        f"| Reason | {' | '.join(map(_interface, INTERFACES))} |",
        f"|{' --- |' * (len(INTERFACES) + 1)}",
        *_reason_rows(found),
        "",
        "Where they occur:",
        "",
        *_difference_lines(found),
        "",
    ]
    return "\n".join(lines)


def _server_row(server: Comparison) -> str:
    lists = sum(count for method, count in server.compared.items() if method.endswith("/list"))
    calls = server.compared["tools/call"]
    rest = server.compared["prompts/get"] + server.compared["resources/read"]
    explained = sum(server.differences.values())
    cells = [f"`{server.package}`", server.version, lists, calls, rest, explained, len(server.unexplained)]
    return f"| {' | '.join(map(str, cells))} |"


def _interface(name: str) -> str:
    return "`--only`" if name == "only" else f"`{name}`"


def _reason_rows(found: Sequence[Comparison]) -> list[str]:
    counts = Counter[tuple[str, Reason]]()
    for server in found:
        for (interface, _, reason), count in server.differences.items():
            counts[interface, reason] += count
    return [
        f"| {reason.value} | {' | '.join(str(counts[interface, reason]) for interface in INTERFACES)} |"
        for reason in Reason
        if any(counts[interface, reason] for interface in INTERFACES)
    ]


def _difference_lines(found: Sequence[Comparison]) -> list[str]:
    lines = []
    for server in found:
        differences = Counter[str]()
        for (interface, method, reason), count in server.differences.items():
            differences[f"{_interface(interface)} {method}: {reason.name.lower()}"] += count
        texts = [f"{text} ({count})" for text, count in differences.items()]
        lines.append(f"- `{server.package}`: {'; '.join(texts)}.")
    return lines


def compare_and_print(server: RealServer) -> Comparison:
    """Compare a server, and print the differences without a reason."""
    print(f"{server.package} ...", flush=True)
    found = compare_server(server)
    for difference in found.unexplained:
        print(json.dumps(difference, indent=1, ensure_ascii=False), flush=True)
    return found


def main() -> int:
    """Compare all servers, or those named; write the page if all were compared."""
    parser = argparse.ArgumentParser(prog="just fidelity", description=__doc__)
    parser.add_argument("packages", nargs="*", help="servers to compare, by package; all by default")
    args = parser.parse_args()
    servers = load_servers()
    wanted = [server for server in servers if server.package in (args.packages or [server.package])]
    found = [compare_and_print(server) for server in wanted]
    if len(wanted) == len(servers):
        text = page_text(found, f"{datetime.now(UTC):%Y-%m-%d}")
        page = with_figures(PAGE.read_text(encoding="utf-8"), text, "fidelity")
        PAGE.write_text(page, encoding="utf-8")
        print(f"Wrote {PAGE.name}.")
    return int(any(server.unexplained for server in found))


if __name__ == "__main__":
    sys.exit(main())

"""Compare real MCP servers directly and through OneTool, and write docs/fidelity.md: `just fidelity`.

Results are stored as each server finishes, so that an interrupted run continues where it stopped.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.report import with_figures

from fidelity.comparison import Comparison, compare_server
from fidelity.recording import INTERFACES
from fidelity.rules import Reason
from fidelity.servers import CACHE, RealServer, load_servers
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


def stored_comparison(server: RealServer, again: bool) -> Comparison:
    """Compare a server, unless there is a result of it exactly as it is listed."""
    file = CACHE / "results" / f"{server.folder.name}.json"
    listed = json.loads(json.dumps(asdict(server)))
    if not again and file.exists():
        stored = json.loads(file.read_text(encoding="utf-8"))
        if stored["server"] == listed:
            return Comparison.from_json(stored["comparison"])
    print(f"{server.package} ...", flush=True)
    found = compare_server(server)
    for difference in found.unexplained:
        print(json.dumps(difference, indent=1, ensure_ascii=False), flush=True)
    if not found.unexplained:
        file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"server": listed, "comparison": found.to_json()})
        file.with_suffix(".new").write_text(text, encoding="utf-8")
        file.with_suffix(".new").replace(file)
    return found


def main() -> int:
    """Compare all servers, or those named; write the page if all were compared."""
    parser = argparse.ArgumentParser(prog="just fidelity", description=__doc__)
    parser.add_argument("packages", nargs="*", help="servers to compare, by package; all by default")
    parser.add_argument("--again", action="store_true", help="also compare servers that have a result")
    args = parser.parse_args()
    servers = load_servers()
    wanted = [server for server in servers if server.package in (args.packages or [server.package])]
    found = [stored_comparison(server, args.again) for server in wanted]
    if len(wanted) == len(servers):
        text = page_text(found, f"{datetime.now(UTC):%Y-%m-%d}")
        page = with_figures(PAGE.read_text(encoding="utf-8"), text, "fidelity")
        PAGE.write_text(page, encoding="utf-8")
        print(f"Wrote {PAGE.name}.")
    return int(any(server.unexplained for server in found))


if __name__ == "__main__":
    sys.exit(main())

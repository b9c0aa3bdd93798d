"""Run the benchmarks, print the tables and update the documentation."""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks import (
    calls,
    capacity,
    context,
    discovery,
    growth,
    hosted,
    peers,
    report,
    smoke,
    startup,
    store,
)
from benchmarks.figures import Table
from benchmarks.options import Options

SECTIONS: dict[str, Callable[[Options], Awaitable[list[Table]]]] = {
    "context": context.measure,
    "discovery": discovery.measure,
    "calls": calls.measure,
    "hosted": hosted.measure,
    "capacity": capacity.measure,
    "startup": startup.measure,
    "store": store.measure,
    "growth": growth.measure,
}


async def measure(options: Options) -> list[Table]:
    """Run the selected sections and print each table when it is ready."""
    tables = list[Table]()
    for name in options.sections:
        for table in await SECTIONS[name](options):
            print(table.markdown(), flush=True)
            tables.append(table)
    return tables


def main() -> int:
    """Run all benchmarks and write the results, or run a part of them, or the smoke test."""
    parser = _parser()
    args = parser.parse_args()
    unknown = [name for name in args.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"unknown section {unknown[0]!r}. Valid: {', '.join(SECTIONS)}.")
    if args.smoke:
        return asyncio.run(smoke.write() if args.write_smoke else smoke.main())
    model = os.environ.get("ONETOOL_TEST_MODEL")
    with tempfile.TemporaryDirectory() as directory:
        options = Options(
            sections=tuple(args.sections or SECTIONS),
            data=args.data,
            model=Path(model) if model else None,
            peers=args.peers,
            cache=args.cache or Path(directory),
            quick=args.quick,
            seconds=0.3 if args.quick else 1.0,
        )
        start = time.perf_counter()
        tables = asyncio.run(measure(options))
    if options.sections == tuple(SECTIONS) and not options.quick:
        report.write(report.page(tables, peers.USED, time.perf_counter() - start))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "sections",
        nargs="*",
        help=f"sections to run: {', '.join(SECTIONS)}; results are written only if all run",
    )
    parser.add_argument("--data", type=Path, help="directory with livemcp, discovery and poisoning data")
    parser.add_argument(
        "--peers", action="store_true", help="also measure other gateways, installed from PyPI"
    )
    parser.add_argument("--cache", type=Path, help="directory for installed gateways; temporary by default")
    parser.add_argument("--quick", action="store_true", help="use small sizes; results are not written")
    parser.add_argument("--smoke", action="store_true", help="only compare with the recorded ratios")
    parser.add_argument("--write-smoke", action="store_true", help="with --smoke: record the current ratios")
    return parser


if __name__ == "__main__":
    sys.exit(main())

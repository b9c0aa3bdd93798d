"""`python -m benchmarks`: measure, print the tables, and write them down."""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks import calls, context, discovery, growth, peers, report, smoke, startup, store
from benchmarks.figures import Table
from benchmarks.options import Options

SECTIONS: dict[str, Callable[[Options], Awaitable[list[Table]]]] = {
    "context": context.measure,
    "discovery": discovery.measure,
    "calls": calls.measure,
    "startup": startup.measure,
    "store": store.measure,
    "growth": growth.measure,
}


async def measure(options: Options) -> list[Table]:
    """Run the sections that were asked for, and print each table as it is there."""
    tables = list[Table]()
    for name in options.sections:
        for table in await SECTIONS[name](options):
            print(table.markdown(), flush=True)
            tables.append(table)
    return tables


def main() -> int:
    """Measure all and write it down, or parts, or the smoke."""
    parser = _parser()
    given = parser.parse_args()
    unknown = [name for name in given.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"there is no section {unknown[0]!r}. Valid: {', '.join(SECTIONS)}.")
    if given.smoke:
        return asyncio.run(smoke.write() if given.write_smoke else smoke.main())
    model = os.environ.get("ONETOOL_TEST_MODEL")
    with tempfile.TemporaryDirectory() as folder:
        options = Options(
            sections=tuple(given.sections or SECTIONS),
            data=given.data,
            model=Path(model) if model else None,
            peers=given.peers,
            cache=given.cache or Path(folder),
            quick=given.quick,
            seconds=0.3 if given.quick else 1.0,
        )
        start = time.perf_counter()
        tables = asyncio.run(measure(options))
    if options.sections == tuple(SECTIONS) and not options.quick:
        report.write(report.page(tables, peers.USED, time.perf_counter() - start))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "sections", nargs="*", help=f"which to measure: {', '.join(SECTIONS)}; all are written down"
    )
    parser.add_argument("--data", type=Path, help="directory with livemcp, discovery, poisoning")
    parser.add_argument(
        "--peers", action="store_true", help="install other gateways from PyPI, and measure them too"
    )
    parser.add_argument("--cache", type=Path, help="where they are kept; otherwise they are made anew")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to try it out; nothing is written down"
    )
    parser.add_argument(
        "--smoke", action="store_true", help="only compare with the ratios that are written down"
    )
    parser.add_argument(
        "--write-smoke", action="store_true", help="with --smoke: write down the ratios as they are now"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""`python -m benchmarks`: print every figure with the bare engine's beside it, and fail over a limit."""

import asyncio
import sys

from benchmarks import calls, code, discovery, mcp_door, startup
from benchmarks.figures import Figure


def measure() -> list[Figure]:
    """Run all measurements."""
    parts = (calls.measure, code.measure, discovery.measure, mcp_door.measure)
    return [*startup.measure(), *(figure for part in parts for figure in asyncio.run(part()))]


def main() -> int:
    """Print the table; three attempts, because machines are noisy."""
    print("tokens (bytes / 4) of the shipped packs:")
    for what, number in asyncio.run(discovery.count_tokens()).items():
        print(f"  {what:<36} {number:>6,}")
    for attempt in (1, 2, 3):
        figures = measure()
        width = max(len(figure.what) for figure in figures)
        print(f"\n{'what':<{width}}  {'bare':>12}  {'onetool':>12}  {'figure':>12}  limit")
        for figure in figures:
            print(figure.row(width))
        over = [figure for figure in figures if not figure.is_met]
        if not over:
            return 0
        print(f"attempt {attempt}: over the limit: {', '.join(figure.what for figure in over)}")
    return 1


if __name__ == "__main__":
    sys.exit(main())

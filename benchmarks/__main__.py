"""`python -m benchmarks`: print every figure with the bare engine's beside it, and fail over a limit."""

import asyncio
import sys

from benchmarks import calls, code, startup
from benchmarks.figures import Figure


def measure() -> list[Figure]:
    """Run all measurements."""
    return [*startup.measure(), *asyncio.run(calls.measure()), *asyncio.run(code.measure())]


def main() -> int:
    """Print the table; three attempts, because machines are noisy."""
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

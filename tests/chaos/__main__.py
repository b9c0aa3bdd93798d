"""The chaos suite of hosted mode: `python tests/chaos --seeds 1-30 --seconds 60 --results FILE`."""

import argparse
import signal
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])

from chaos.campaign import print_summary, read_results, run_seeds, soak  # noqa: E402 - see above
from chaos.faults import FAULTS  # noqa: E402 - see above


def main() -> int:
    """Run what the options say, and return 1 if an invariant was violated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1-30", help="first and last seed, such as 1-30")
    parser.add_argument("--seed", type=int, help="replay one seed")
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds of traffic for each seed")
    parser.add_argument("--results", type=Path, help="file to which a line is appended for each run")
    parser.add_argument("--faults", help="names of faults, separated by commas, or `all`, or `none`")
    parser.add_argument(
        "--soak", type=float, metavar="MINUTES", help="run once for this time; without --faults, no faults"
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if options.soak:
        return 1 if soak(options.soak, options.results, _fault_names(options.faults)).violations else 0
    first, _, last = options.seeds.partition("-")
    seeds = [options.seed] if options.seed else range(int(first), int(last or first) + 1)
    found = run_seeds(seeds, options.seconds, options.results, _fault_names(options.faults))
    if options.results:
        print_summary(read_results(options.results))
    return 1 if any(result.violations for result in found) else 0


def _fault_names(text: str | None) -> list[str] | None:
    if text is None:
        return None
    if text == "none":
        return []
    names = list(FAULTS) if text == "all" else [name.strip() for name in text.split(",")]
    if unknown := set(names) - FAULTS.keys():
        raise SystemExit(f"Unknown faults {sorted(unknown)}. Valid: {', '.join(FAULTS)}.")
    return names


if __name__ == "__main__":
    sys.exit(main())

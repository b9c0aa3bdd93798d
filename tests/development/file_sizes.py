"""Check that no source file exceeds the line limit."""

import sys
from pathlib import Path

MAX_LINES = 500
ROOT = Path(__file__).parents[2]


def main() -> int:
    """Print every file over the limit and return the exit code."""
    too_long = [
        (path, lines)
        for path in sorted((ROOT / "src").rglob("*.py"))
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    ]
    for path, lines in too_long:
        print(
            f"{path.relative_to(ROOT)} has {lines} lines; the limit is {MAX_LINES}. Split the file.",
            file=sys.stderr,
        )
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())

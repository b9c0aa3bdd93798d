"""Fails when a source file has grown past the line limit."""

import sys
from pathlib import Path

LIMIT = 300
ROOT = Path(__file__).parent.parent


def main() -> int:
    long = [
        (path, lines)
        for path in sorted((ROOT / "src").rglob("*.py"))
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > LIMIT
    ]
    for path, lines in long:
        print(f"{path.relative_to(ROOT)} has {lines} lines; over {LIMIT} an idea is missing", file=sys.stderr)
    return 1 if long else 0


if __name__ == "__main__":
    sys.exit(main())

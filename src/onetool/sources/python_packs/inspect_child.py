"""The child process that imports pack files for the first time, so that a bad one harms nobody else.

Reads one JSON request a line (`file`, `source`), answers each with one line: `description` or `error`.
"""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .describe import Refused, describe_module
from .pack_file import execute


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Import one file and describe its tools."""
    file = Path(request["file"])
    try:
        module = execute(file, request["source"].encode(), "inspected")()
        return {"description": asdict(describe_module(module, file.stem))}
    except Refused as error:
        return {"error": str(error)}
    except BaseException as error:  # noqa: BLE001 - SystemExit too fails this file only
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Serve until the input ends. What a pack prints goes nowhere: the answers are alone on their pipe."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    sys.stdout = sys.stderr
    for line in sys.stdin:
        replies.write(json.dumps(answer(json.loads(line))) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()

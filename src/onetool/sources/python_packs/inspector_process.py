"""The child process that imports pack files for the first time.

It reads one JSON request per line (`file`, `source`) and writes one result per line (`description`, `error`).
"""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .function_specs import InvalidFunction, describe_module
from .pack_file import execute


def inspect_file(request: dict[str, Any]) -> dict[str, Any]:
    """Import one file and return the description of its tools or an error."""
    file = Path(request["file"])
    try:
        module = execute(file, request["source"].encode(), "inspected")()
        return {"description": asdict(describe_module(module, file.stem))}
    except InvalidFunction as error:
        return {"error": str(error)}
    except BaseException as error:  # noqa: BLE001 - even SystemExit must affect this file only
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Serve until stdin ends. The output of packs is discarded, because stdout carries the results."""
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    sys.stdout = sys.stderr
    for line in sys.stdin:
        results.write(json.dumps(inspect_file(json.loads(line))) + "\n")
        results.flush()


if __name__ == "__main__":
    main()

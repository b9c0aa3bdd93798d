"""The child process that imports pack files for the first time.

It reads one JSON request per line (`file`, `source`) and writes one result per line (`description`, `error`).
"""

import json
import os
import sys
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from onetool.domain.tools.requirement import secret_requirement

from .asked_secrets import asked_secrets
from .function_specs import InvalidFunction, describe_module
from .library_hints import MARKER, missing_library_hint
from .pack_file import execute


def inspect_file(request: dict[str, Any]) -> dict[str, Any]:
    """Import one file and return the description of its tools or an error."""
    file = Path(request["file"])
    try:
        module = execute(file, request["source"].encode(), "inspected")()
        description = asdict(describe_module(module, file.stem))
        _add_asked_secrets(description["tools"], request["source"])
        if MARKER in request["source"]:  # `check_deps` runs elsewhere, where its libraries are missing
            for tool in description["tools"]:
                tool["requires"] = [item for item in tool["requires"] if not _is_library_here(item)]
        return {"description": description}
    except InvalidFunction as error:
        return {"error": str(error)}
    except ModuleNotFoundError as error:
        has_metadata = MARKER in request["source"]
        hint = missing_library_hint(error.name, has_metadata=has_metadata) if error.name else ""
        return {"error": f"ModuleNotFoundError: {error}. {hint}".strip()}
    except BaseException as error:  # noqa: BLE001 - even SystemExit must affect this file only
        return {"error": f"{type(error).__name__}: {error}"}


def _add_asked_secrets(tools: list[dict[str, Any]], source: str) -> None:
    """Add the secrets that the code asks for to the requirements that the functions declare."""
    asked = asked_secrets(source)
    for tool in tools:
        declared = {item["name"] for item in tool["requires"] if item["kind"] == "secret"}
        names = [name for name in asked.get(tool["name"], ()) if name not in declared]
        tool["requires"] += [asdict(secret_requirement(name)) for name in names]


def _is_library_here(requirement: dict[str, Any]) -> bool:
    return requirement["kind"] == "lib" and find_spec(requirement["name"].partition(".")[0]) is not None


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

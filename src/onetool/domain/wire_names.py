"""Names that every provider takes, and the way back from them."""

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256

VALID = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
"""What OpenAI, Ollama, Gemini, Anthropic and MCP all accept."""
LONGEST = 64


def wire_names(names: Iterable[str]) -> dict[str, str]:
    """Return name -> wire name, one to one; a name that is valid already stays as it is."""
    names = list(dict.fromkeys(names))
    given = {name: name for name in names if VALID.fullmatch(name)}
    taken = set(given)
    for name in names:
        if name not in given:
            wire = _sanitised(name)
            digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
            length = 6
            stem = wire
            while len(wire) > LONGEST or wire in taken:
                wire = f"{stem[: LONGEST - 1 - length]}_{digest[:length]}"
                length += 2
            given[name] = wire
            taken.add(wire)
    return {name: given[name] for name in names}


def names_by_wire(names: Mapping[str, str]) -> dict[str, str]:
    """Return the way back: wire name -> name."""
    return {wire: name for name, wire in names.items()}


def _sanitised(name: str) -> str:
    wire = re.sub(r"[^a-zA-Z0-9_-]", "_", name.replace(".", "__"))
    return wire if VALID.match(wire) else f"_{wire}"

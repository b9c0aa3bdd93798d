"""Tool names that every provider accepts, and their reverse mapping."""

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256

VALID = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
"""Names that OpenAI, Ollama, Gemini, Anthropic and MCP all accept."""
MAX_LENGTH = 64


def wire_names(names: Iterable[str]) -> dict[str, str]:
    """Map each name to a unique wire name; valid names do not change."""
    names = list(dict.fromkeys(names))
    wires = {name: name for name in names if VALID.fullmatch(name)}
    taken = set(wires)
    for name in names:
        if name not in wires:
            wire = stem = _sanitize(name)
            digest, length = sha256(name.encode("utf-8", "surrogatepass")).hexdigest(), 6
            while len(wire) > MAX_LENGTH or wire in taken:
                wire = f"{stem[: MAX_LENGTH - 1 - length]}_{digest[:length]}"
                length += 2
            wires[name] = wire
            taken.add(wire)
    return {name: wires[name] for name in names}


def names_by_wire(names: Mapping[str, str]) -> dict[str, str]:
    """Map each wire name to its name."""
    return {wire: name for name, wire in names.items()}


def _sanitize(name: str) -> str:
    wire = re.sub(r"[^a-zA-Z0-9_-]", "_", name.replace(".", "__"))
    return wire if VALID.match(wire) else f"_{wire}"

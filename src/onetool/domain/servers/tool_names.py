"""Python names of a server's tools: unique, and the same for as long as the tool is known."""

from collections.abc import Iterable, Mapping
from hashlib import sha256

from onetool.domain.text.identifiers import safe_name


def assign_names(assigned: Mapping[str, str], listed: Iterable[str]) -> dict[str, str]:
    """Return the Python name of each tool. Assigned names stay; a tool with an exact name gets it first."""
    new = [name for name in dict.fromkeys(listed) if name not in assigned]
    return _add_names(assigned, sorted(new, key=lambda name: safe_name(name) != name))


def assign_in_order(listed: Iterable[str]) -> dict[str, str]:
    """Return the Python names that earlier versions assigned: the first tool with a name gets it."""
    return _add_names({}, dict.fromkeys(listed))


def _add_names(assigned: Mapping[str, str], new: Iterable[str]) -> dict[str, str]:
    names, taken = dict(assigned), set(assigned.values())
    for name in new:
        names[name] = _unique(name, taken)
        taken.add(names[name])
    return names


def _unique(name: str, taken: set[str]) -> str:
    plain = unique = safe_name(name)
    digest, length = sha256(name.encode("utf-8", "surrogatepass")).hexdigest(), 6
    while unique in taken:
        unique, length = f"{plain}_{digest[:length]}", length + 2
    return unique

"""ot: help on everything that has a name."""

from typing import Any, Literal

from onetool.domain.help_text import (
    OVERVIEW,
    alias_text,
    found_text,
    matches_text,
    nothing_text,
    pack_text,
    tool_text,
)
from onetool.domain.search import closest
from onetool.domain.texts import counted, first_line
from onetool.domain.tool import ToolSpec
from onetool.sdk import YamlList, find_tools, get_config, instructions, list_tools, show_snippet

pack = "ot"

MOST_FOUND = 50
MANY = 3
"""How many tools a search with `full` explains."""


def help(query: str = "", info: Literal["list", "min", "full"] = "min") -> Any:
    """Explain a tool, a pack, a `$snippet` or an alias; anything else is searched for, typos forgiven.

    Args:
        query: A name, or words that describe what is wanted; empty for an overview.
        info: `list` for names only, `min` for the usual text, `full` for all that is known.

    Returns:
        A text; with `list` the names that match.

    Example:
        ot.help(query="read a file")
    """
    query = query.strip()
    if not query and info != "list":
        return OVERVIEW
    index = _Index(list_tools())
    if info == "list":
        return YamlList(
            index.exact_names(query) or [n for group in index.search(query).values() for n in group]
        )
    return index.explain(query, everything=info == "full")


def find(query: str, limit: int = 5) -> str:
    """Find the tools that fit what you want to do; read more of one with ot.help.

    Args:
        query: What you want to do, in your own words.
        limit: How many tools at most.

    Returns:
        A signature and one line for each tool, the best first.

    Example:
        ot.find(query="look up the weather in a city")
    """
    if not 1 <= limit <= MOST_FOUND:
        raise ValueError(f"limit must be from 1 to {MOST_FOUND}, got {limit}")
    return found_text(find_tools(query, limit)) or nothing_text(query)


class _Index:
    """Everything that has a name here, and the texts about it."""

    def __init__(self, specs: list[ToolSpec]) -> None:
        self._tools = {spec.qualified_name: spec for spec in specs}
        self._packs: dict[str, list[ToolSpec]] = {}
        for spec in specs:
            self._packs.setdefault(spec.pack, []).append(spec)
        self._snippets = {name: known["description"] for name, known in get_config("snippets").items()}
        self._aliases: dict[str, str] = get_config("aliases")
        self._docs_base: str = get_config("docs_base")

    def exact_names(self, query: str) -> list[str]:
        """The names that a name stands for: a pack's tools too."""
        if query in self._packs:
            return [query, *(spec.qualified_name for spec in self._packs[query])]
        is_known = query in self._tools or query in self._aliases or query.removeprefix("$") in self._snippets
        return [query] if is_known else []

    def explain(self, query: str, *, everything: bool) -> str:
        """The text about what is called so, or about what looks like it."""
        named = self._tools.get(query) or next(
            (spec for spec in self._tools.values() if spec.name == query), None
        )
        if named is not None:
            return tool_text(named, self._docs_base, everything=everything)
        if query in self._packs:
            return pack_text(query, self._packs[query], instructions(query), self._docs_base)
        if query.startswith("$") and query[1:] in self._snippets:
            return show_snippet(query[1:])
        if query in self._aliases:
            return alias_text(query, self._aliases[query])
        return self._found(query, everything)

    def search(self, query: str) -> dict[str, dict[str, str]]:
        """What looks like the query, by kind; the best first."""
        query = query.removeprefix("$")
        tools = {name: first_line(spec.description) for name, spec in self._tools.items()}
        packs = {name: counted(len(specs), "tool") for name, specs in self._packs.items()}
        aliases = {name: f"-> {target}" for name, target in self._aliases.items()}
        return {
            "Tools": _best(query, tools, [spec.description for spec in self._tools.values()]),
            "Packs": _best(query, packs),
            "Snippets": _best(query, self._snippets, list(self._snippets.values())),
            "Aliases": _best(query, aliases, list(self._aliases.values())),
        }

    def _found(self, query: str, everything: bool) -> str:
        groups = self.search(query)
        if not any(groups.values()):
            return nothing_text(query)
        text = matches_text(query, groups)
        if not everything:
            return text
        best = [tool_text(self._tools[name], self._docs_base, everything=True) for name in groups["Tools"]]
        return "\n\n".join([text, *best[:MANY]])


def _best(query: str, described: dict[str, str], descriptions: list[str] | None = None) -> dict[str, str]:
    names = list(described)
    return {names[index]: described[names[index]] for index in closest(query, names, descriptions or ())}

"""ot: help on tools, packs, snippets and aliases."""

from typing import Any, Literal

from onetool.domain.search.matching import rank_names
from onetool.domain.text.strings import pluralize
from onetool.domain.tools.help_text import (
    OVERVIEW,
    alias_text,
    found_text,
    matches_text,
    no_matches_text,
    overlaps_of,
    pack_text,
    summary_line,
    tool_text,
)
from onetool.domain.tools.tool import ToolSpec
from onetool.sdk import (
    YamlList,
    find_tools,
    get_config,
    instructions,
    list_aliases,
    list_snippets,
    list_tools,
    show_snippet,
)

pack = "ot"

MAX_FOUND = 50
MAX_EXPLAINED = 3
"""Number of tools that a search with `full` explains."""


def help(query: str = "", info: Literal["list", "min", "full"] = "min") -> Any:
    """Explain a tool, pack, `$snippet` or alias. Any other text is searched for, tolerating typos.

    Args:
        query: A name, or words that describe what you need; empty for an overview.
        info: `list` for names only, `min` for a summary, `full` for all details.

    Returns:
        A text; with `list`, the matching names.

    Example:
        ot.help(query="read a file")
    """
    query = query.strip()
    if not query and info != "list":
        return OVERVIEW
    index = _HelpIndex(list_tools())
    if info == "list":
        return YamlList(
            index.exact_names(query) or [name for group in index.search(query).values() for name in group]
        )
    return index.explain(query, everything=info == "full")


def find(query: str, limit: int = 5) -> str:
    """Find tools for a task. Use ot.help to read more about one.

    Args:
        query: What you want to do, in your own words.
        limit: Maximum number of tools.

    Returns:
        A signature and one line for each tool, best match first: `[read-only]` or `[changes]`. The last line
        says if there are more.

    Example:
        ot.find(query="look up the weather in a city")
    """
    if not 1 <= limit <= MAX_FOUND:
        raise ValueError(f"limit must be from 1 to {MAX_FOUND}, got {limit}")
    return found_text(query, find_tools(query, limit))


class _HelpIndex:
    """The tools, packs, snippets and aliases, with their help texts."""

    def __init__(self, specs: list[ToolSpec]) -> None:
        self._tools = {spec.qualified_name: spec for spec in specs}
        self._packs: dict[str, list[ToolSpec]] = {}
        for spec in specs:
            self._packs.setdefault(spec.pack, []).append(spec)
        self._snippets, self._aliases = list_snippets(), list_aliases()
        self._docs_base_url: str = get_config("docs_base_url")

    def exact_names(self, query: str) -> list[str]:
        """Return the name if it exists, followed by the tools of a pack."""
        if query in self._packs:
            return [query, *(spec.qualified_name for spec in self._packs[query])]
        is_known = query in self._tools or query in self._aliases or query.removeprefix("$") in self._snippets
        return [query] if is_known else []

    def explain(self, query: str, *, everything: bool) -> str:
        """Return the help text for a name, or the search results for any other text."""
        spec = self._tools.get(query) or next(
            (known for known in self._tools.values() if known.name == query), None
        )
        if spec is not None:
            return tool_text(spec, self._docs_base_url, full=everything)
        if query in self._packs:
            overlaps = overlaps_of(self._tools.values()).get(query, ())
            return pack_text(query, self._packs[query], instructions(query), self._docs_base_url, overlaps)
        if query.startswith("$") and query[1:] in self._snippets:
            return show_snippet(query[1:])
        if query in self._aliases:
            return alias_text(query, self._aliases[query])
        if query in self._snippets:
            return show_snippet(query)
        return self._explain_matches(query, everything)

    def search(self, query: str) -> dict[str, dict[str, str]]:
        """Return matches for a query by kind, best match first. A query with `$` is about snippets only."""
        snippets = _best_matches(query.removeprefix("$"), self._snippets, list(self._snippets.values()))
        if query.startswith("$"):
            return {"Tools": {}, "Packs": {}, "Snippets": snippets, "Aliases": {}}
        tools = {name: summary_line(spec) for name, spec in self._tools.items()}
        packs = {name: pluralize(len(specs), "tool") for name, specs in self._packs.items()}
        aliases = {name: f"-> {target}" for name, target in self._aliases.items()}
        return {
            "Tools": self._add_found(
                query, _best_matches(query, tools, [spec.description for spec in self._tools.values()]), tools
            ),
            "Packs": _best_matches(query, packs),
            "Snippets": snippets,
            "Aliases": _best_matches(query, aliases, list(self._aliases.values())),
        }

    def _add_found(self, query: str, matches: dict[str, str], tools: dict[str, str]) -> dict[str, str]:
        """Add what `ot.find` finds, so that its hint leads to all of its matches."""
        found = find_tools(query, MAX_FOUND)
        names = [spec.qualified_name for spec in found.specs if found.is_close]
        return matches | {name: tools[name] for name in names if name in tools}

    def _explain_matches(self, query: str, everything: bool) -> str:
        groups = self.search(query)
        if not any(groups.values()):
            return no_matches_text(query)
        text = matches_text(query, groups)
        if not everything:
            return text
        best = [tool_text(self._tools[name], self._docs_base_url, full=True) for name in groups["Tools"]]
        return "\n\n".join([text, *best[:MAX_EXPLAINED]])


def _best_matches(
    query: str, described: dict[str, str], descriptions: list[str] | None = None
) -> dict[str, str]:
    names = list(described)
    return {names[index]: described[names[index]] for index in rank_names(query, names, descriptions or ())}

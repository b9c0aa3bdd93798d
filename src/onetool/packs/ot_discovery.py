"""ot: lists of tools, packs, aliases and snippets."""

from typing import Any, Literal

from onetool.domain.search.matching import contains
from onetool.domain.text.strings import first_line
from onetool.domain.tools.help_text import overlaps_of, pack_text
from onetool.domain.tools.signature import arguments, result_type, signature
from onetool.domain.tools.tool import ToolSpec
from onetool.sdk import (
    YamlList,
    instructions,
    list_aliases,
    list_packs,
    list_snippets,
    list_tools,
    show_snippet,
)

pack = "ot"

Info = Literal["list", "min", "full"]


def tools(pattern: str = "", info: Info = "min") -> list[Any]:
    """List the available tools.

    Args:
        pattern: List only tools whose names contain this text (case-insensitive).
        info: `list` for names, `min` for names and descriptions, `full` to add signatures and arguments.

    Returns:
        A name or an entry for each tool.

    Example:
        ot.tools(pattern="file", info="full")
    """
    specs = list_tools(pattern)
    if info == "list":
        return YamlList(spec.qualified_name for spec in specs)
    return YamlList(map(_brief if info == "min" else _full, specs))


def packs(pattern: str = "", info: Info = "min") -> Any:
    """List the packs. A pack is a group of tools under one name.

    Args:
        pattern: List only packs whose names contain this text (case-insensitive).
        info: `list` for names, `min` for names and sources, `full` for instructions and tools.

    Returns:
        A name or an entry for each pack; with `full`, one text.

    Example:
        ot.packs(pattern="fs", info="full")
    """
    matches = [summary for summary in list_packs() if contains(pattern, summary.name)]
    if info == "list":
        return YamlList(summary.name for summary in matches)
    if info == "min":
        return YamlList(summary._asdict() for summary in matches)
    packs = {summary.name: _pack_specs(summary.name) for summary in matches}
    shown = (spec for specs in packs.values() for spec in specs)
    overlaps = overlaps_of([*list_tools(stored=False), *shown])
    texts = [
        pack_text(name, specs, instructions(name), overlaps=overlaps.get(name, ()))
        for name, specs in packs.items()
    ]
    return "\n\n".join(texts) or f"No pack matches {pattern!r}. See ot.packs()."


def aliases(pattern: str = "", info: Info = "min") -> list[Any]:
    """List the aliases. An alias is a short name for a tool.

    Args:
        pattern: List only aliases whose name or target contains this text (case-insensitive).
        info: `list` for names, `min` for `name -> target`, `full` for entries with name and target.

    Returns:
        A text or an entry for each alias.

    Example:
        ot.aliases()
    """
    matches = {name: target for name, target in list_aliases().items() if contains(pattern, name, target)}
    if info == "list":
        return YamlList(matches)
    if info == "min":
        return YamlList(f"{name} -> {target}" for name, target in matches.items())
    return YamlList({"name": name, "target": target} for name, target in matches.items())


def snippets(pattern: str = "", info: Info = "min") -> Any:
    """List the snippets. A snippet is a named piece of code, used as `$name key=value`.

    Args:
        pattern: List only snippets whose name or description contains this text (case-insensitive).
        info: `list` for names, `min` for `name: description`, `full` for definitions with an example.

    Returns:
        A text for each snippet; with `full`, one text.

    Example:
        ot.snippets(info="full")
    """
    matches = {name: text for name, text in list_snippets().items() if contains(pattern, name, text)}
    if info == "list":
        return YamlList(matches)
    if info == "min":
        return YamlList(f"{name}: {text}" for name, text in matches.items())
    return "\n\n".join(map(show_snippet, matches)) or f"No snippet matches {pattern!r}. See ot.snippets()."


def _pack_specs(name: str) -> list[ToolSpec]:
    return [spec for spec in list_tools(f"{name}.") if spec.pack == name]


def _brief(spec: ToolSpec) -> dict[str, Any]:
    return {"name": spec.qualified_name, "description": first_line(spec.description)}


def _full(spec: ToolSpec) -> dict[str, Any]:
    args = [f"{name}: {text}" for name, _, text in arguments(spec.input_schema) if text]
    optional = {"args": args, "returns": spec.returns or result_type(spec), "example": spec.example}
    return {
        "name": spec.qualified_name,
        "signature": signature(spec, has_placeholders=True),
        "description": spec.description,
        "source": spec.source,
        "access": spec.access,
        **{key: value for key, value in optional.items() if value},
    }

"""ot: which tools, packs, aliases and snippets there are."""

from typing import Any, Literal

from onetool.domain.help_text import origin_of, pack_text
from onetool.domain.search import contains
from onetool.domain.signature import arguments, signature
from onetool.domain.texts import first_line
from onetool.domain.tool import ToolSpec
from onetool.sdk import YamlList, get_config, instructions, list_tools, show_snippet

pack = "ot"

Info = Literal["list", "min", "full"]


def tools(pattern: str = "", info: Info = "min") -> list[Any]:
    """List the tools that can be called.

    Args:
        pattern: Only tools whose names contain this, in upper or lower case.
        info: `list` for names, `min` for names with descriptions, `full` for signatures and arguments too.

    Returns:
        A name, or an entry, for each tool.

    Example:
        ot.tools(pattern="file", info="full")
    """
    specs = [spec for spec in list_tools() if contains(pattern, spec.qualified_name)]
    if info == "list":
        return YamlList(spec.qualified_name for spec in specs)
    return YamlList(map(_brief if info == "min" else _full, specs))


def packs(pattern: str = "", info: Info = "min") -> Any:
    """List the packs: groups of tools under one name.

    Args:
        pattern: Only packs whose names contain this, in upper or lower case.
        info: `list` for names, `min` for where they come from, `full` for instructions and tools.

    Returns:
        A name, or an entry, for each pack; with `full` a text.

    Example:
        ot.packs(pattern="fs", info="full")
    """
    found: dict[str, list[ToolSpec]] = {}
    for spec in list_tools():
        if contains(pattern, spec.pack):
            found.setdefault(spec.pack, []).append(spec)
    if info == "list":
        return YamlList(found)
    if info == "min":
        return YamlList(
            {"name": name, "source": origin_of(specs), "tool_count": len(specs)}
            for name, specs in found.items()
        )
    texts = [pack_text(name, specs, instructions(name)) for name, specs in found.items()]
    return "\n\n".join(texts) or f"No pack matches {pattern!r}. See ot.packs()."


def aliases(pattern: str = "", info: Info = "min") -> list[Any]:
    """List the aliases: short names of tools.

    Args:
        pattern: Only aliases whose name or target contains this, in upper or lower case.
        info: `list` for names, `min` for `name -> target`, `full` for entries of name and target.

    Returns:
        A text, or an entry, for each alias.

    Example:
        ot.aliases()
    """
    known: dict[str, str] = get_config("aliases")
    found = {name: target for name, target in known.items() if contains(pattern, name, target)}
    if info == "list":
        return YamlList(found)
    if info == "min":
        return YamlList(f"{name} -> {target}" for name, target in found.items())
    return YamlList({"name": name, "target": target} for name, target in found.items())


def snippets(pattern: str = "", info: Info = "min") -> Any:
    """List the snippets: named pieces of code, used as `$name key=value`.

    Args:
        pattern: Only snippets whose name or description contains this, in upper or lower case.
        info: `list` for names, `min` for `name: description`, `full` for definitions with an example.

    Returns:
        A text for each snippet; with `full` one text.

    Example:
        ot.snippets(info="full")
    """
    known = {name: snippet["description"] for name, snippet in get_config("snippets").items()}
    found = {name: text for name, text in known.items() if contains(pattern, name, text)}
    if info == "list":
        return YamlList(found)
    if info == "min":
        return YamlList(f"{name}: {text}" for name, text in found.items())
    return "\n\n".join(map(show_snippet, found)) or f"No snippet matches {pattern!r}. See ot.snippets()."


def _brief(spec: ToolSpec) -> dict[str, Any]:
    return {"name": spec.qualified_name, "description": first_line(spec.description)}


def _full(spec: ToolSpec) -> dict[str, Any]:
    args = [f"{name}: {text}" for name, _, text in arguments(spec.input_schema) if text]
    more = {"args": args, "returns": spec.returns or spec.return_type, "example": spec.example}
    return {
        "name": spec.qualified_name,
        "signature": signature(spec),
        "description": spec.description,
        "source": spec.source,
        **{key: value for key, value in more.items() if value},
    }

"""What models and people read of tools, packs and aliases: headings, then the facts."""

from collections.abc import Iterable, Mapping, Sequence

from .signature import arguments, signature
from .texts import cut, first_line, first_words
from .tool import ToolSpec

SLUGS = {
    "brave": "brave-search",
    "code": "code-search",
    "db": "database",
    "ground": "grounding-search",
    "llm": "transform",
    "web": "web-fetch",
}
"""Packs whose page in the documentation is called otherwise."""
NONE = "(none)"
FOUND_BYTES = 1_120
"""At most about 300 tokens, in any script."""
FOUND_WHOLE = 5
"""How many tools an answer has room for at least; each is kept to its share."""
LONGEST_SIGNATURE = 220
LONGEST_REQUIRED = 600
SHORTEST_LINE, LONGEST_LINE = 80, 160
"""Bytes of a description, when there is little room and when there is much."""
SHOWN = 10
"""How many of a group are shown; the best ones."""
OVERVIEW = """\
# OneTool

## Discovery
- ot.tools(): every tool with one line; ot.tools(pattern="file") for names that contain it
- ot.packs(): groups of tools; ot.packs(pattern="fs", info="full") with instructions and tools
- ot.aliases(): short names of tools
- ot.snippets(): named pieces of code
- ot.find(query="read a file"): the few tools that fit, as signatures
- ot.help(query="read a file"): looks through all of these; typos are forgiven
- ot.config(), ot.health(), ot.stats(): settings, state and statistics

## Info levels
- info="list": names only
- info="min": names with one line each (the default)
- info="full": signatures, arguments, examples and everything else that is known

## Examples
- fs.read_file(path="README.md")
- [tool["name"] for tool in ot.tools(pattern="fs.")]
- ot.help(query="fs.read_file")
- $snippet_name key=value

## Tips
- Tools are called by keyword: pack.function(name=value).
- Make several calls in one run: each saves a round trip. The last line is the result.
- A large result is kept aside; read on with ot.result(handle="...", search="...").
- Ask for few fields: a list comprehension keeps answers small."""


def doc_url(pack: str, base: str) -> str:
    """Where the documentation of a pack lies."""
    return f"{base.rstrip('/')}/{SLUGS.get(pack, pack)}/"


def origin_of(specs: Sequence[ToolSpec]) -> str:
    """Where the tools of a pack come from: `local` or `proxy`."""
    return specs[0].source.partition(":")[0]


def tool_text(spec: ToolSpec, docs_base: str, *, everything: bool = False) -> str:
    """Explain one tool."""
    parts = [f"# {spec.qualified_name}", spec.description, f"Signature: {signature(spec)}"]
    if args := arguments(spec.input_schema):
        rows = [f"- {name} ({kind}): {text}" if text else f"- {name} ({kind})" for name, kind, text in args]
        parts.append("\n".join(["Arguments:", *rows]))
    returns = ": ".join(part for part in (spec.return_type, spec.returns) if part)
    parts.append(f"Returns: {returns}" if returns else "")
    parts.append(f"Example:\n{spec.example}" if spec.example else "")
    parts.append("\n".join(_facts(spec)) if everything else "")
    parts.append(f"Documentation: {doc_url(spec.pack, docs_base)}")
    return "\n\n".join(part for part in parts if part)


def pack_text(pack: str, specs: Sequence[ToolSpec], instructions: str, docs_base: str = "") -> str:
    """Explain a pack: what its users are told, and its tools."""
    parts = [f"# {pack}", f"Source: {origin_of(specs)}", instructions]
    rows = [f"- {spec.qualified_name}: {first_line(spec.description)}" for spec in specs]
    parts.append("\n".join(["Tools:", *rows]))
    parts.append(f"Documentation: {doc_url(pack, docs_base)}" if docs_base else "")
    return "\n\n".join(part for part in parts if part)


def alias_text(alias: str, target: str) -> str:
    """Explain an alias."""
    return (
        f"# {alias}\n\nAlias of {target}.\n\n"
        f'Usage: call {alias}(...) as you would {target}(...); see ot.help(query="{target}").'
    )


def matches_text(query: str, groups: Mapping[str, Mapping[str, str]]) -> str:
    """What was found, in its groups: the best first."""
    parts = [f"# Matches for {query!r}"]
    for title, found in groups.items():
        rows = [f"- {name}: {text}" if text else f"- {name}" for name, text in list(found.items())[:SHOWN]]
        rows += [f"({len(found) - SHOWN} more)"] if len(found) > SHOWN else []
        parts.append("\n".join([f"## {title}", *(rows or [NONE])]))
    return "\n\n".join(parts)


def found_text(specs: Sequence[ToolSpec], most_bytes: int = FOUND_BYTES) -> str:
    """Tools that fit, as signatures with one line each; as many as the bytes allow, but always the first."""
    lines = [_found_line(spec, most_bytes) for spec in specs]
    if _size(lines) > most_bytes:
        share = most_bytes // min(len(specs), FOUND_WHOLE)
        lines = [_found_line(spec, share) for spec in specs]
    while len(lines) > 1 and _size(lines) > most_bytes:
        lines.pop()
    return "\n".join(lines)


def nothing_text(query: str) -> str:
    """That nothing was found, and where to look."""
    return f"No matches found for {query!r}. Browse with ot.tools() or ot.packs()."


def _found_line(spec: ToolSpec, most_bytes: int) -> str:
    """A signature, without what is optional where it leaves too little room for words, and those words."""
    written = signature(spec)
    if len(written) > min(LONGEST_SIGNATURE, most_bytes - SHORTEST_LINE):
        written = cut(signature(spec, required_only=True), LONGEST_REQUIRED)
    room = most_bytes - _size([f"{written}: "])
    described = first_words(first_line(spec.description), min(max(room, SHORTEST_LINE), LONGEST_LINE))
    return f"{written}: {described}" if described else written


def _size(lines: Iterable[str]) -> int:
    return sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)


def _facts(spec: ToolSpec) -> list[str]:
    needs = ", ".join(f"{need.kind} {need.name}" for need in spec.requires)
    facts = {
        "Source": spec.source,
        "Version": spec.version,
        "Tags": ", ".join(spec.tags),
        "Needs": needs,
        "Time limit": f"{spec.timeout:g} s" if spec.timeout else "",
        "Changes things": "yes" if spec.changes else "",
    }
    return [f"{name}: {fact}" for name, fact in facts.items() if fact]

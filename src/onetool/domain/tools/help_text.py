"""Help texts about tools, packs and aliases for models and users."""

from collections.abc import Iterable, Mapping, Sequence

from onetool.domain.search.overlaps import overlapping_packs
from onetool.domain.text.strings import first_line, printable, truncate_middle, truncate_words

from .found_tools import FoundTools
from .schema_types import properties_of
from .signature import arguments, result_type, signature
from .tool import OWN_PACK, ToolSpec

DOC_SLUGS = {
    "brave": "brave-search",
    "code": "code-search",
    "db": "database",
    "ground": "grounding-search",
    "llm": "transform",
    "web": "web-fetch",
}
"""Packs whose documentation page has another name."""
PYTHON_ORIGINS = ("builtin", "pack")
NO_MATCHES = "(none)"
BROWSE = "Browse with ot.tools() or ot.packs()."
MAX_SIGNATURES_BYTES = 1_120
"""About 300 tokens, in any script."""
MIN_SIGNATURES = 5
"""Tools that always fit into MAX_SIGNATURES_BYTES; each is shortened to its share."""
MAX_SIGNATURE_LENGTH = 220
MAX_REQUIRED_LENGTH = 600
MIN_DESCRIPTION_BYTES, MAX_DESCRIPTION_BYTES = 80, 160
MAX_SUMMARY_BYTES = 400
MAX_TOOL_DESCRIPTION = 10_000
MAX_GROUP_MATCHES = 10
"""Matches shown in each group, best first."""
OVERVIEW = """\
# OneTool

## Discovery
- ot.tools(): all tools, one line each; ot.tools(pattern="file") for names that contain "file"
- ot.packs(): groups of tools; ot.packs(pattern="fs", info="full") for instructions and tools
- ot.aliases(): short names of tools
- ot.snippets(): named code templates
- ot.find(query="read a file"): the few tools that fit a task, as signatures
- ot.help(query="read a file"): search all of the above, tolerant of typos
- ot.config(), ot.health(), ot.stats(): settings, state and statistics

## Info levels
- info="list": names only
- info="min": names with one line each (default)
- info="full": everything, including signatures, arguments and examples

## Examples
- fs.read_file(path="README.md")
- [tool["name"] for tool in ot.tools(pattern="fs.")]
- ot.help(query="fs.read_file")
- $snippet_name key=value

## Tips
- Call tools with keyword arguments: pack.function(name=value).
- In a signature, {name, size?: int} is a dict: `?` marks optional fields, no type means text.
- Make several calls in one run; each saves a round trip. The last line is the result.
- Large results are stored; read them with ot.result(handle="...", search="...").
- Return only the fields that you need; a list comprehension keeps results small."""


def doc_url(pack: str, base: str) -> str:
    """Return the URL of a pack's documentation."""
    return f"{base.rstrip('/')}/{DOC_SLUGS.get(pack, pack)}/"


def origin_of(specs: Sequence[ToolSpec]) -> str:
    """Return the kind of source of a pack's tools: `local` or `proxy`."""
    return specs[0].source.partition(":")[0]


def summary_line(spec: ToolSpec, max_bytes: int = MAX_SUMMARY_BYTES) -> str:
    """Return whether a tool changes something, and the first line of its description, shortened."""
    label = f"[{spec.access}, deprecated]" if spec.is_deprecated else f"[{spec.access}]"
    text = truncate_words(printable(first_line(spec.description)), max_bytes - len(label) - 1)
    return f"{label} {text}".rstrip()


def overlaps_of(specs: Iterable[ToolSpec]) -> dict[str, list[str]]:
    """Return the packs that have similar tools, for each pack. Tools of OneTool are about itself."""
    packs: dict[str, list[str]] = {}
    for spec in specs:
        if spec.pack == OWN_PACK and spec.origin == "builtin":
            continue
        packs.setdefault(spec.pack, []).append(spec.qualified_name.partition(".")[2])
    return overlapping_packs(packs)


def overlap_line(packs: Sequence[str]) -> str:
    """Say that these packs have similar tools."""
    return f"Similar tools: {', '.join(packs)}. They can differ in what they may access; use one throughout."


def tool_text(spec: ToolSpec, docs_base_url: str, *, full: bool = False) -> str:
    """Describe one tool. `full` adds its source, version, tags and limits."""
    description = printable(truncate_middle(spec.description, MAX_TOOL_DESCRIPTION))
    parts = [f"# {spec.qualified_name}", description, f"Signature: {signature(spec)}"]
    if args := arguments(spec.input_schema):
        rows = [f"- {name} ({kind}): {text}" if text else f"- {name} ({kind})" for name, kind, text in args]
        hidden = len(properties_of(spec.input_schema)) - len(rows)
        rows += [f"({hidden} more)"] if hidden else []
        parts.append("\n".join(["Arguments:", *rows]))
    returns = ": ".join(part for part in (result_type(spec), spec.returns) if part)
    parts.append(f"Returns: {returns}" if returns else "")
    parts.append(f"Access: {spec.access}")
    parts.append(f"Example:\n{spec.example}" if spec.example else "")
    parts.append("\n".join(_facts(spec)) if full else "")
    parts.append(_documentation(spec, docs_base_url))
    return "\n\n".join(part for part in parts if part)


def pack_text(
    pack: str,
    specs: Sequence[ToolSpec],
    instructions: str,
    docs_base_url: str = "",
    overlaps: Sequence[str] = (),
) -> str:
    """Describe a pack: its source, instructions, tools, and the packs that it overlaps with."""
    parts = [f"# {pack}", f"Source: {origin_of(specs)}", instructions]
    parts.append(overlap_line([pack, *overlaps]) if overlaps else "")
    rows = [f"- {spec.qualified_name}: {summary_line(spec)}" for spec in specs]
    parts.append("\n".join(["Tools:", *rows]))
    parts.append(_documentation(specs[0], docs_base_url) if docs_base_url else "")
    return "\n\n".join(part for part in parts if part)


def _documentation(spec: ToolSpec, base: str) -> str:
    """Return where a pack is documented, or an empty text. Only Python packs have a page by default."""
    default = doc_url(spec.pack, base) if spec.origin in PYTHON_ORIGINS else ""
    url = default if spec.docs_url is None else spec.docs_url
    return f"Documentation: {url}" if url else ""


def alias_text(alias: str, target: str) -> str:
    """Describe an alias."""
    return (
        f"# {alias}\n\nAlias of {target}.\n\n"
        f'Usage: call {alias}(...) like {target}(...); see ot.help(query="{target}").'
    )


def matches_text(query: str, groups: Mapping[str, Mapping[str, str]]) -> str:
    """List the matches of a query by group, best first."""
    parts = [f"# Matches for {query!r}"]
    for title, matches in groups.items():
        shown = list(matches.items())[:MAX_GROUP_MATCHES]
        rows = [f"- {name}: {text}" if text else f"- {name}" for name, text in shown]
        hidden = len(matches) - len(shown)
        rows += [f"({hidden} more: ot.help(query={query!r}, info='list'))"] if hidden else []
        parts.append("\n".join([f"## {title}", *(rows or [NO_MATCHES])]))
    return "\n\n".join(parts)


def signatures_text(specs: Sequence[ToolSpec], max_bytes: int = MAX_SIGNATURES_BYTES) -> str:
    """List tools as signatures with one line of description each.

    Tools that do not fit into `max_bytes` are dropped from the end, but never the first.
    """
    lines = [_signature_line(spec, max_bytes) for spec in specs]
    if _size(lines) > max_bytes:
        share = max_bytes // min(len(specs), MIN_SIGNATURES)
        lines = [_signature_line(spec, share) for spec in specs]
    while len(lines) > 1 and _size(lines) > max_bytes:
        lines.pop()
    return "\n".join(lines)


def found_text(query: str, found: FoundTools) -> str:
    """List the tools that a search found, and say what else there is."""
    specs = found.specs
    if not specs:
        return no_matches_text(query)
    if not found.is_close:
        nearest = ", ".join(spec.qualified_name for spec in specs)
        return f"Nothing fits {query!r} closely. Nearest: {nearest}. {BROWSE}"
    lines = signatures_text(specs, MAX_SIGNATURES_BYTES * max(len(specs), MIN_SIGNATURES) // MIN_SIGNATURES)
    shown = specs[: lines.count("\n") + 1]
    total = f"{found.total} or more" if found.has_more else str(found.total)
    more = f"{len(shown)} of {total}: ot.help(query={query!r})" if len(shown) < found.total else ""
    overlaps = list(overlaps_of(shown))
    return "\n".join(part for part in (lines, more, overlap_line(overlaps) if overlaps else "") if part)


def no_matches_text(query: str) -> str:
    """Return the message for a query without matches."""
    return f"No matches found for {query!r}. {BROWSE}"


def _signature_line(spec: ToolSpec, max_bytes: int) -> str:
    """Return a signature and a short description.

    A long signature omits the optional parameters, then the fields of lists and objects.
    """
    max_length = min(MAX_SIGNATURE_LENGTH, max_bytes - MIN_DESCRIPTION_BYTES)
    text = signature(spec)
    if len(text) > max_length:
        text = signature(spec, required_only=True)
    if len(text) > max_length:
        text = truncate_middle(signature(spec, required_only=True, is_brief=True), MAX_REQUIRED_LENGTH)
    remaining = max_bytes - _size([f"{text}: "])
    description_bytes = min(max(remaining, MIN_DESCRIPTION_BYTES), MAX_DESCRIPTION_BYTES)
    return f"{text}: {summary_line(spec, description_bytes)}"


def _size(lines: Iterable[str]) -> int:
    return sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)


def _facts(spec: ToolSpec) -> list[str]:
    requirements = ", ".join(f"{requirement.kind} {requirement.name}" for requirement in spec.requires)
    facts = {
        "Source": spec.source,
        "Version": spec.version,
        "Tags": ", ".join(spec.tags),
        "Requires": requirements,
        "Timeout": f"{spec.timeout:g} s" if spec.timeout else "",
    }
    return [f"{name}: {fact}" for name, fact in facts.items() if fact]

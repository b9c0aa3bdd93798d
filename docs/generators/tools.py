"""A page for each pack that OneTool ships, from the tools themselves."""

import inspect
from collections.abc import Sequence
from importlib import import_module
from itertools import groupby
from operator import attrgetter

import onetool.packs
import onetool.starters
from onetool.domain.help_text import doc_url
from onetool.domain.signature import arguments, signature
from onetool.domain.tool import ToolSpec

from .markdown import MADE, anchor, code, first_paragraph, page, table

ABOUT = f"""These come with OneTool. The packs under *built in* are always there; the *starters* give way
to a pack of yours with the same name. `onetool help NAME` explains each on the command line. {MADE}"""
KINDS = {"Built in": onetool.packs.__name__, "Starters": onetool.starters.__name__}
FLAGS = {"changes": "changes things", "cacheable": "cacheable", "parallel": "parallel"}


def pages(specs: Sequence[ToolSpec]) -> dict[str, str]:
    """An overview, and a page for each pack where `ot.help` says that it lies."""
    ordered = sorted(specs, key=attrgetter("pack"))
    packs = {name: list(tools) for name, tools in groupby(ordered, key=attrgetter("pack"))}
    made = {f"reference/tools/{_place(name)}": pack_page(name, tools) for name, tools in packs.items()}
    return {"reference/tools/index.md": overview(packs)} | made


def overview(packs: dict[str, list[ToolSpec]]) -> str:
    """All tools, kind by kind."""
    parts = [ABOUT]
    for kind, package in KINDS.items():
        mine = [spec for name, tools in packs.items() if _package(name) == package for spec in tools]
        rows = [(f"[`{spec.name}`]({_place(spec.pack)}#{anchor(spec.name)})", _said(spec)) for spec in mine]
        parts += [f"## {kind}", table(("tool", "what it does"), rows)]
    return page("Tools that come with it", *parts)


def pack_page(name: str, specs: Sequence[ToolSpec]) -> str:
    """One pack: what it is for, what it needs, its tools."""
    about = first_paragraph(inspect.getdoc(import_module(f"{_package(name)}.{name}")))
    about = about.removeprefix(f"{name}: ")
    needs = sorted({f"{one.kind} `{one.name}`" for spec in specs for one in spec.requires})
    lacking = [f"Needs: {', '.join(needs)}."] if needs else []
    return page(f"Pack {name}", f"{about[:1].upper()}{about[1:]} {MADE}", *lacking, *map(section, specs))


def section(spec: ToolSpec) -> str:
    """One tool: how it is called, what it does, its parameters, an example."""
    rows = [(code(name), code(kind), text) for name, kind, text in arguments(spec.input_schema)]
    flags = [words for flag, words in FLAGS.items() if getattr(spec, flag)]
    parts = [
        f"## {spec.name}",
        f"```text\n{signature(spec)}\n```",
        spec.description,
        f"*{', '.join(flags)}*" if flags else "",
        table(("parameter", "type", "meaning"), rows) if rows else "",
        f"Returns: {spec.returns}" if spec.returns else "",
        f"Example:\n\n```text\n{inspect.cleandoc(spec.example)}\n```" if spec.example else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _package(name: str) -> str:
    """The package that ships a pack."""
    for package in KINDS.values():
        try:
            import_module(f"{package}.{name}")
        except ModuleNotFoundError:
            continue
        return package
    raise LookupError(f"no module ships the pack {name!r}")


def _place(name: str) -> str:
    return doc_url(name, "").strip("/") + ".md"


def _said(spec: ToolSpec) -> str:
    return first_paragraph(spec.description)

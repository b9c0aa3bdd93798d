"""The reference pages of the built-in and starter packs."""

import inspect
from collections.abc import Sequence
from importlib import import_module
from itertools import groupby
from operator import attrgetter

import onetool.packs
import onetool.starter_packs
from onetool.domain.tools.help_text import doc_url
from onetool.domain.tools.signature import arguments, signature
from onetool.domain.tools.tool import ToolSpec

from .markdown import GENERATED, anchor, code, first_paragraph, page, table

ABOUT = f"""OneTool includes these tools. Built-in packs are always available. A starter pack is overridden by
a pack with the same name. `onetool help NAME` shows the help on the command line. {GENERATED}"""
KINDS = {"Built-in packs": onetool.packs.__name__, "Starter packs": onetool.starter_packs.__name__}
FLAGS = {"cacheable": "cacheable", "parallel": "parallel"}


def pages(specs: Sequence[ToolSpec]) -> dict[str, str]:
    """Return an overview and a page for each pack, at the path that `ot.help` links to."""
    ordered = sorted(specs, key=attrgetter("pack"))
    packs = {name: list(tools) for name, tools in groupby(ordered, key=attrgetter("pack"))}
    pack_pages = {
        f"reference/tools/{_file_name(name)}": pack_page(name, tools) for name, tools in packs.items()
    }
    return {"reference/tools/index.md": overview(packs)} | pack_pages


def overview(packs: dict[str, list[ToolSpec]]) -> str:
    """Return the list of all tools by kind."""
    parts = [ABOUT]
    for kind, package in KINDS.items():
        members = [spec for name, tools in packs.items() if _package(name) == package for spec in tools]
        rows = [
            (
                f"[`{spec.name}`]({_file_name(spec.pack)}#{anchor(spec.name)})",
                first_paragraph(spec.description),
            )
            for spec in members
        ]
        parts += [f"## {kind}", table(("tool", "description"), rows)]
    return page("Included tools", *parts)


def pack_page(name: str, specs: Sequence[ToolSpec]) -> str:
    """Return the description, requirements and tools of one pack."""
    about = first_paragraph(inspect.getdoc(import_module(f"{_package(name)}.{name}")))
    about = about.removeprefix(f"{name}: ")
    requirements = sorted({f"{item.kind} `{item.name}`" for spec in specs for item in spec.requires})
    requires = [f"Requires: {', '.join(requirements)}."] if requirements else []
    return page(
        f"Pack {name}", f"{about[:1].upper()}{about[1:]} {GENERATED}", *requires, *map(section, specs)
    )


def section(spec: ToolSpec) -> str:
    """Return the signature, description, parameters and example of one tool."""
    rows = [(code(name), code(kind), text) for name, kind, text in arguments(spec.input_schema)]
    flags = [label for flag, label in FLAGS.items() if getattr(spec, flag)]
    flags += [] if spec.read_only else ["not read-only"]
    parts = [
        f"## {spec.name}",
        f"```text\n{signature(spec)}\n```",
        spec.description,
        f"*{', '.join(flags)}*" if flags else "",
        table(("parameter", "type", "description"), rows) if rows else "",
        f"Returns: {spec.returns}" if spec.returns else "",
        f"Example:\n\n```text\n{inspect.cleandoc(spec.example)}\n```" if spec.example else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _package(name: str) -> str:
    """Return the package that contains a pack."""
    for package in KINDS.values():
        try:
            import_module(f"{package}.{name}")
        except ModuleNotFoundError:
            continue
        return package
    raise LookupError(f"no package contains the pack {name!r}")


def _file_name(name: str) -> str:
    return doc_url(name, "").strip("/") + ".md"

"""The page of every setting, from the settings' own definition."""

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_args, get_type_hints

from onetool.domain.json_text import encode
from onetool.settings.schema import Prompts, Settings

from .markdown import MADE, page, table

ABOUT = f"""Written in `onetool.yaml`, in the config directory that `onetool config path` shows. A trusted
project's `.onetool/onetool.yaml` goes over it: maps merge by key, lists replace. Everything is optional.
An unknown key or a wrong value is an error that names file, line and the nearest valid key. {MADE}"""


PROMPTS = """## prompts.yaml

Beside `onetool.yaml`: what models are told."""
HEAD = ("setting", "default", "meaning")


def pages() -> dict[str, str]:
    """The page, by its place."""
    text = page("Settings", ABOUT, table(HEAD, rows(Settings)), PROMPTS, table(HEAD, rows(Prompts)))
    return {"settings.md": text}


def rows(kind: Any, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """One row for each setting, groups before what they hold."""
    hints = get_type_hints(kind)
    for one in fields(kind):
        yield f"`{prefix}{one.name}`", _default(one), one.metadata.get("doc") or "Must be given."
        inner = [hints[one.name], *get_args(hints[one.name])]
        for group in filter(is_dataclass, inner):
            between = "" if group is inner[0] else ".<name>" if inner[1] is str else "[]"
            yield from rows(group, f"{prefix}{one.name}{between}.")


def _default(one: "Field[Any]") -> str:
    if one.default_factory is not MISSING:
        return "" if is_dataclass(one.default_factory()) else "`{}`"
    return "" if one.default is MISSING else f"`{encode(one.default).decode()}`"

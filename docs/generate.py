"""Write docs/settings.md from the settings' own definition: `just docs`."""

from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

from onetool.domain.json_text import encode
from onetool.settings.schema import Settings

PAGE = Path(__file__).parent / "settings.md"
HEAD = """# Settings

Written in `onetool.yaml`, in the config directory that `onetool config path` shows. A trusted project's
`.onetool/onetool.yaml` goes over it: maps merge by key, lists replace. Everything is optional. An unknown key
or a wrong value is an error that names file, line and the nearest valid key.
This page is made from the code by `just docs`.

| setting | default | meaning |
| --- | --- | --- |
"""


def rows(kind: Any, prefix: str = "") -> list[str]:
    """One row for each setting, groups before what they hold."""
    found = []
    hints = get_type_hints(kind)
    for one in fields(kind):
        found.append(
            f"| `{prefix}{one.name}` | {_default(one)} | {one.metadata.get('doc') or 'Must be given.'} |"
        )
        inner = [hints[one.name], *get_args(hints[one.name])]
        for group in filter(is_dataclass, inner):
            between = "" if group is inner[0] else ".<name>" if inner[1] is str else "[]"
            found += rows(group, f"{prefix}{one.name}{between}.")
    return found


def page() -> str:
    """The whole page."""
    return HEAD + "\n".join(rows(Settings)) + "\n"


def _default(one: "Field[Any]") -> str:
    if one.default_factory is not MISSING:
        value = one.default_factory()
        return "" if is_dataclass(value) else "`{}`"
    if one.default is MISSING:
        return ""
    return f"`{encode(one.default).decode()}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

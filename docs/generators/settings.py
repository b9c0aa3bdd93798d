"""The reference page of the settings."""

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_args, get_type_hints

from onetool.domain.text.json_text import encode
from onetool.settings.schema import PromptSettings, Settings

from .markdown import GENERATED, page, table

ABOUT = f"""Settings are in `onetool.yaml` in the config directory (see `onetool config path`). The
`.onetool/onetool.yaml` of a trusted project overrides it: maps are merged by key, lists are replaced.
All settings are optional. An unknown key or an invalid value is an error with the file, the line and a
suggestion.

Edit the file, use the page Settings of the [web UI](web.md), or a command. `onetool config get KEY` shows a
value and the file that sets it, `onetool config set KEY VALUE` changes it in your file, `onetool config unset
KEY` removes it; `--project` changes the settings of the project instead. They keep comments, and write
nothing that OneTool would not start with:

```console
$ onetool config set activity.retention_days 90
Set activity.retention_days to 90.
$ onetool config set allowedHosts 'api.github.com,*.example.com'
Set allowedHosts to ["api.github.com","*.example.com"].
$ onetool config unset activity.retention_days
Removed activity.retention_days. It is now 35.
```

These changes apply at once in all your running processes. After you edit the file, changes to tools apply to
the next call, changes to other settings after a reload: `onetool run 'ot.reload()'`. A few settings, marked
below, require a restart; `ot.reload()` and the log of each process name those that changed. {GENERATED}"""

PROMPTS = """## prompts.yaml

Instructions for models, in a file beside `onetool.yaml`."""
RESTART = "**A change requires a restart.**"
COLUMNS = ("setting", "default", "description")


def pages() -> dict[str, str]:
    """Return the page by its path."""
    text = page(
        "Settings", ABOUT, table(COLUMNS, rows(Settings)), PROMPTS, table(COLUMNS, rows(PromptSettings))
    )
    return {"settings.md": text}


def rows(kind: Any, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield one row for each setting, groups before their members."""
    hints = get_type_hints(kind)
    for field in fields(kind):
        yield f"`{prefix}{field.name}`", _default(field), _description(field)
        types = [hints[field.name], *get_args(hints[field.name])]
        for group in filter(is_dataclass, types):
            separator = "" if group is types[0] else ".<name>" if types[1] is str else "[]"
            yield from rows(group, f"{prefix}{field.name}{separator}.")


def _description(field: "Field[Any]") -> str:
    doc = field.metadata.get("doc") or "Required."
    return f"{doc} {RESTART}" if field.metadata["restart"] else doc


def _default(field: "Field[Any]") -> str:
    if field.default_factory is not MISSING:
        return "" if is_dataclass(field.default_factory()) else "`{}`"
    return "" if field.default is MISSING else f"`{encode(field.default).decode()}`"

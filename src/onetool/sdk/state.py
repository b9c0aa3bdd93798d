"""What a tool may know of the OneTool that runs it."""

from dataclasses import asdict
from typing import Any

from onetool.domain.errors import SettingsError
from onetool.domain.stored import part_of, query, split_lines
from onetool.domain.usage import Tally
from onetool.runtime import Health, current

from .calls import wait_for


def get_config(key: str, default: Any = None) -> Any:
    """Return a setting by its dotted path, such as `execution.timeout_s`; `default` where there is none."""
    value: Any = asdict(current().runtime.configuration.settings)
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            return default
        value = value[part]
    return value


def health() -> Health:
    """Return how the parts of the running OneTool are."""
    scope = current()
    return wait_for(scope, scope.runtime.health(), "health()")


def reload() -> None:
    """Read all settings, secrets, prompts and packs again.

    Raises ValueError that says which line of which file is wrong; everything stays as it was then.
    """
    scope = current()
    try:
        wait_for(scope, scope.runtime.reload(), "reload()")
    except SettingsError as error:
        raise ValueError(str(error)) from None


def usage(period_s: float | None = None) -> Tally:
    """Return what the calls of the last seconds, or all, add up to."""
    scope = current()
    return wait_for(scope, scope.runtime.usage(period_s), "usage()")


def query_result(
    handle: str,
    *,
    offset: int = 1,
    limit: int = 100,
    search: str | None = None,
    fuzzy: bool = False,
    path: str | None = None,
) -> dict[str, Any]:
    """Return lines of a stored result, or of the part of it that a path leads to.

    Raises LookupError when the handle is not known, or its text has expired; ValueError for a bad
    pattern or path.
    """
    runtime = current().runtime
    text = runtime.results.text(handle)
    if text is None:
        known = runtime.results.find(handle)
        raise LookupError(f"Result {handle!r} has expired." if known else f"Result not found: {handle!r}.")
    text = text if path is None else part_of(text, path)
    most = runtime.configuration.settings.output.max_inline_size // 2
    return query(split_lines(text), offset=offset, limit=limit, search=search, fuzzy=fuzzy, most_bytes=most)

"""The parts of a setup as `onetool import` lists and counts them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onetool.domain.text.strings import pluralize
from onetool.interfaces.setup.plan import PlannedBundle, SetupPlan
from onetool.interfaces.setup.settings_merge import UNITED, Status

WRITTEN = ("new", "replace", "disable", "enable")
"""What happens to parts that are written; others are the same, kept or skipped."""


def setup_parts(plan: SetupPlan, current: Mapping[str, Any], *, enable: bool) -> Iterator[tuple[str, str]]:
    """Yield what happens to each part, and its description, grouped by kind."""
    for planned in plan.bundles:
        yield _bundle_part(planned, is_enabling=enable and planned in plan.enabled_bundles)
    for pack in plan.packs:
        yield _part(pack.status, f"pack file {pack.name}", replace=plan.replace)
    for change in plan.settings:
        is_added = change.status == "new" and change.path in UNITED and _has(current, change.path)
        text = f"setting {change.name}{'  (added to yours)' if is_added else ''}"
        yield _part(change.status, text, replace=plan.replace)
    for change in plan.prompts:
        yield _part(change.status, f"prompt {change.name}", replace=plan.replace)
    for name, reason in plan.rejected.items():
        yield "skipped", f"{name}: {reason}"
    for kind, names in zip(("pack", "tool"), plan.disabled, strict=True):
        yield from (("disable", f"{kind} {name}") for name in names)


def _bundle_part(planned: PlannedBundle, *, is_enabling: bool) -> tuple[str, str]:
    name = f"bundle {planned.bundle.slug}"
    if planned.status == "changed":
        return "kept", f"{name}  (yours differs; delete it first to import this one)"
    state = "enabled" if planned.is_enabled or is_enabling else "disabled"
    status = "enable" if is_enabling and planned.status == "same" else planned.status
    return status, f"{name} ({pluralize(len(planned.tools), 'tool')}, {state})"


def _part(status: Status, text: str, *, replace: bool) -> tuple[str, str]:
    if status != "changed":
        return status, text
    return ("replace", text) if replace else ("kept", f"{text}  (yours differs; --replace takes this one)")


def _has(settings: Mapping[str, Any], path: Sequence[str]) -> bool:
    """Whether settings have a value at a path."""
    value: Any = settings
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value is not None


def format_rest(parts: Sequence[tuple[str, str]]) -> str:
    """Return how many parts were not imported because the user has others, or because they cannot be."""
    counts = Counter(status for status, _ in parts)
    kept = f" Kept {counts['kept']} of yours that differ." if counts["kept"] else ""
    return kept + (f" Skipped {counts['skipped']}." if counts["skipped"] else "")

"""Settings, health, usage and stored results of the running OneTool."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from onetool.domain.content.media import Media
from onetool.domain.errors import SettingsError
from onetool.domain.health import Health
from onetool.domain.results.result_page import ResultPage, query_lines
from onetool.domain.results.stored_result import select_path, split_lines
from onetool.domain.usage.summary import UsageSummary
from onetool.runtime.active_call import current_call, current_runtime
from onetool.runtime.health import check_health
from onetool.version import __version__

from .calls import wait_for
from .discovery import list_servers
from .forwarding import in_runtime, waits_in_runtime


@in_runtime
def get_config(key: str, default: Any = None) -> Any:
    """Return a setting by its dotted path, such as `execution.timeout_s`, or `default`."""
    value: Any = asdict(current_runtime().state.configuration.settings)
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            return default
        value = value[part]
    return value


def version() -> str:
    """Return the version of OneTool."""
    return __version__


@waits_in_runtime
def health() -> Health:
    """Return the health of the running OneTool, without packs and servers that are hidden from the caller."""
    active = current_call()
    report = wait_for(active, check_health(active.runtime.state, active.runtime.threads), "health()")
    visible = list_servers()
    servers = {name: health for name, health in report.servers.items() if name in visible}
    policy, caller = active.runtime.state.catalog.policy, active.invocation.caller
    skipped, failures = [
        {name: reason for name, reason in reasons.items() if policy.pack_rule(name, caller) is None}
        for reasons in (report.skipped, report.failures)
    ]
    return replace(report, servers=servers, skipped=skipped, failures=failures)


@waits_in_runtime
def reload() -> Mapping[str, Any]:
    """Reload settings, secrets, prompts and packs.

    Returns the names of the settings that only a restart applies, with the values that stay active.

    Raises:
        ValueError: A file is invalid; the message names the file and line. The previous state stays active.
            Or the caller may not change the workspace, which all its members use.
    """
    active = current_call()
    if not active.runtime.state.catalog.policy.may_make(active.invocation.caller):
        raise ValueError("A reload needs the role owner or maker. Changes are followed without one.")
    try:
        return wait_for(active, active.runtime.reload(), "reload()")
    except SettingsError as error:
        raise ValueError(str(error)) from None


@waits_in_runtime
def usage(period_s: float | None = None) -> UsageSummary:
    """Return usage statistics for the last `period_s` seconds, or for all time.

    A caller that may call only a part of the tools sees those of this part.
    """
    active = current_call()
    caller, policy = active.invocation.caller, active.runtime.state.catalog.policy
    summary = wait_for(active, active.runtime.recorder.summary(period_s), "usage()")
    if not policy.is_restricted(caller):
        return summary
    tools = {name: tool for name, tool in summary.tools.items() if policy.may_see(name, caller)}
    return replace(summary, tools=tools)


@waits_in_runtime
def query_result(
    handle: str,
    *,
    offset: int = 1,
    limit: int = 100,
    search: str | None = None,
    fuzzy: bool = False,
    path: str | None = None,
    column: int = 1,
    width: int | None = None,
) -> ResultPage | Media:
    """Return lines of a stored result, or of the part that `path` selects. They are never shortened.

    Stored media are returned as they are.

    Raises:
        LookupError: The handle is unknown to the caller, or the result has expired.
        ValueError: The pattern or path is invalid.
    """
    active = current_call()
    results, reader = active.runtime.state.results, active.invocation.caller.principal.scope
    text = wait_for(active, results.text(handle, reader=reader), "result()")
    if (
        text is None
        and (media := wait_for(active, results.media(handle, reader=reader), "result()")) is not None
    ):
        return media
    if text is None:
        stored = wait_for(active, results.find(handle, reader=reader), "result()")
        raise LookupError(f"Result {handle!r} has expired." if stored else f"Result not found: {handle!r}.")
    if path is not None:
        stored = wait_for(active, results.find(handle, reader=reader), "result()")
        value = stored.value if stored else ""
        content = wait_for(active, results.text(value, reader=reader), "result()") if value else text
        if content is None:
            raise LookupError(f"Result {handle!r} has expired.")
        text = select_path(content, path)
    query: dict[str, Any] = {"offset": offset, "limit": limit, "search": search, "fuzzy": fuzzy}
    query |= {"column": column, "width": width}
    return ResultPage(query_lines(split_lines(text), **query), {"handle": handle, "path": path} | query)

"""`onetool doctor`: every part tried, and what would mend those that fail."""

import asyncio
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import click

from onetool.domain.caller import Caller, grant
from onetool.runtime import Runtime
from onetool.settings.configuration import SETTINGS_FILE
from onetool.settings.providers import set_up

from .session import json_option, wants_json, with_runtime, write_json

SIGNS = {"ok": "[green]✓[/green]", "hint": "[dim]·[/dim]", "problem": "[red]✗[/red]"}


class Finding(NamedTuple):
    """One part: how it is, in words, and what would mend it."""

    part: str
    status: str
    """`ok`, `hint` for what could be better, or `problem`."""
    says: str
    fix: str = ""


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Try every part: settings, tools, code, models, servers, and what tools need. Exit code 1: a problem.

    \b
    Example:
      onetool doctor
    """
    click.echo("Trying every part ...", err=True)
    found = with_runtime(_examine)
    if wants_json(as_json):
        write_json([finding._asdict() for finding in found])
    else:
        _show(found)
    if any(finding.status == "problem" for finding in found):
        raise SystemExit(1)


async def _examine(runtime: Runtime) -> list[Finding]:
    caller = Caller(door="cli", approve=grant)
    health, code, needs = await asyncio.gather(
        runtime.health(),
        runtime.run("1 + 1", caller),
        runtime.call(runtime.new_call("ot.check", {}, "cli"), caller),
    )
    settings = runtime.configuration.places.config / SETTINGS_FILE
    found = [
        Finding("settings", "ok", str(settings))
        if settings.exists()
        else Finding("settings", "hint", "none yet: the defaults hold", "onetool init"),
        Finding("tools", "ok", f"{health.tool_count} here, in {len(await runtime.catalog.packs())} packs"),
        Finding("code", "ok", "runs")
        if code.ok
        else Finding(
            "code", "problem", f"does not run: {code.error and code.error.message}", "reinstall OneTool"
        ),
        *(Finding("health", "problem", problem.what, problem.fix) for problem in health.problems()),
        *_needs(needs.data if needs.ok else ()),
        _model(runtime),
    ]
    servers = [name for name, answers in health.servers.items() if answers]
    if servers:
        found.append(Finding("servers", "ok", f"{', '.join(servers)} answer"))
    if runtime.discovery.problem:
        found.append(Finding("search", "hint", runtime.discovery.problem))
    return found


def _needs(needs: Sequence[Any]) -> list[Finding]:
    """What tools lack; a tool that is not used does no harm."""
    return [
        Finding("needs", "hint", f"{need['tool']} lacks {need['name']}", str(need.get("install") or ""))
        for need in needs
        if need["status"] != "ok"
    ]


def _model(runtime: Runtime) -> Finding:
    ready = [
        one.name
        for one in set_up(runtime.configuration, os.environ)
        if one.place in ("secrets.yaml", "environment")
    ]
    if ready:
        return Finding("models", "ok", f"keys of {', '.join(ready)}")
    return Finding("models", "hint", "no key of a chat model", "onetool auth login openai")


def _show(found: Sequence[Finding]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from .session import answers, masked

    drawn = Table.grid(padding=(0, 2))
    for finding in found:
        fix = f"[dim]{escape(masked(finding.fix))}[/dim]" if finding.fix else ""
        drawn.add_row(
            SIGNS[finding.status], f"[bold]{finding.part}[/bold]", escape(masked(finding.says)), fix
        )
    Console(file=answers(), highlight=False).print(drawn)

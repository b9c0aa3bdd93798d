"""`onetool doctor`: check all components and suggest fixes."""

import asyncio
import os
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import click

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.runtime.health import UNTIL_STARTED_S, check_health
from onetool.runtime.runtime import Runtime
from onetool.settings.documents import SETTINGS_FILE
from onetool.settings.provider_status import provider_statuses

from .command import json_option, print_json, use_json, with_runtime
from .introspection import grouped

T = TypeVar("T")
MARKS = {"ok": "[green]✓[/green]", "hint": "[dim]·[/dim]", "problem": "[red]✗[/red]"}


class DoctorFinding(NamedTuple):
    """The status of one component, with a fix if it has a problem."""

    part: str
    status: str
    """`ok`, `hint` (optional improvement) or `problem`."""
    message: str
    fix: str = ""


@click.command()
@click.option("--no-servers", is_flag=True, help="Do not start MCP servers; report what is known of them.")
@json_option
def doctor(*, no_servers: bool, as_json: bool) -> None:
    """Check settings, tools and their requirements, the sandbox, models and servers, and suggest fixes.

    Exits with code 1 if there is a problem.

    \b
    Examples:
      onetool doctor
      onetool doctor --no-servers
    """
    findings = with_runtime(lambda runtime: _check(runtime, connect=not no_servers))
    if use_json(as_json):
        print_json([finding._asdict() for finding in findings])
    else:
        _print_findings(findings)
    if any(finding.status == "problem" for finding in findings):
        raise SystemExit(1)


async def _check(runtime: Runtime, *, connect: bool) -> list[DoctorFinding]:
    caller = Caller(interface="cli", default_effect=Effect.ALLOW)
    parts = ["servers" if connect else "packs", "code", "requirements", "sandbox"]
    click.echo(f"Checking {', '.join(parts)} ...", err=True)

    async def checked(part: str, check: Awaitable[T]) -> T:
        result = await check
        parts.remove(part)
        click.echo(f"Checked {part}{'; waiting for ' + ', '.join(parts) if parts else ''}.", err=True)
        return result

    health, code, needs, restrictions = await asyncio.gather(
        checked(
            parts[0],
            check_health(runtime.state, runtime.threads, connect=connect, timeout_s=UNTIL_STARTED_S),
        ),
        checked("code", runtime.run("1 + 1", caller)),
        checked("requirements", runtime.call_tool("ot.check", {}, caller, "cli")),
        checked("sandbox", runtime.state.code_runner.restrictions()),
    )
    settings = runtime.state.configuration.paths.config / SETTINGS_FILE
    findings = [
        DoctorFinding("settings", "ok", str(settings))
        if settings.exists()
        else DoctorFinding("settings", "hint", "no settings file, using defaults", "onetool init"),
        DoctorFinding(
            "tools", "ok", f"{health.tool_count} in {len(await runtime.state.catalog.packs())} packs"
        ),
        DoctorFinding("code", "ok", "works")
        if code.ok
        else DoctorFinding(
            "code", "problem", f"does not work: {code.error and code.error.message}", "Reinstall OneTool."
        ),
        _check_sandbox(restrictions),
        *(DoctorFinding("health", "problem", problem.what, problem.fix) for problem in health.problems()),
        *_missing_requirements(needs.data if needs.ok else ()),
        _check_keys(runtime),
    ]
    servers = [name for name, server in health.servers.items() if server.state == "connected"]
    if servers:
        findings.append(DoctorFinding("servers", "ok", f"{', '.join(servers)} responding"))
    findings += [
        DoctorFinding("servers", "hint", warning)
        for server in health.servers.values()
        for warning in server.warnings
    ]
    findings += _check_unrestricted(await runtime.state.servers.describe())
    if runtime.state.search.problem:
        findings.append(DoctorFinding("search", "hint", runtime.state.search.problem))
    return findings


def _check_sandbox(restrictions: Mapping[str, bool]) -> DoctorFinding:
    """Report which restrictions of the processes that run code are in force."""
    active = ", ".join(name for name, is_active in restrictions.items() if is_active)
    missing = ", ".join(name for name, is_active in restrictions.items() if not is_active)
    if not restrictions:
        return DoctorFinding("sandbox", "hint", "processes are restricted on Linux only")
    if missing:
        return DoctorFinding(
            "sandbox",
            "hint",
            f"restricted: {active or 'nothing'}; not restricted: {missing}",
            "Use Linux 5.13 or newer with Landlock, seccomp and user namespaces.",
        )
    return DoctorFinding("sandbox", "ok", f"restricted: {active}")


def _check_unrestricted(servers: Sequence[Mapping[str, Any]]) -> list[DoctorFinding]:
    """Report servers whose programs run without restrictions."""
    names = [server["name"] for server in servers if server["sandbox"].startswith("none")]
    if not names:
        return []
    fix = "Install bubblewrap, or remove `sandbox: false`."
    return [DoctorFinding("servers", "hint", f"{', '.join(names)} without a sandbox", fix)]


def _missing_requirements(needs: Sequence[Any]) -> list[DoctorFinding]:
    """Report missing requirements as hints: they matter only if the tool is used."""
    return [
        DoctorFinding(
            "needs", "hint", f"{need['tool']} requires {need['name']}", str(need.get("install") or "")
        )
        for need in grouped(needs)
        if need["status"] != "ok"
    ]


def _check_keys(runtime: Runtime) -> DoctorFinding:
    ready = [
        status.name
        for status in provider_statuses(runtime.state.configuration, os.environ)
        if status.key_location in ("secrets.yaml", "environment")
    ]
    if ready:
        return DoctorFinding("models", "ok", f"API keys for {', '.join(ready)}")
    return DoctorFinding("models", "hint", "no API key for a chat model", "onetool auth login openai")


def _print_findings(findings: Sequence[DoctorFinding]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from .command import mask, stdout

    grid = Table.grid(padding=(0, 2))
    for finding in findings:
        fix = f"[dim]{escape(mask(finding.fix))}[/dim]" if finding.fix else ""
        grid.add_row(
            MARKS[finding.status], f"[bold]{finding.part}[/bold]", escape(mask(finding.message)), fix
        )
    Console(file=stdout(), highlight=False).print(grid)

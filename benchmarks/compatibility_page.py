"""The table of docs/compatibility.md: how real MCP servers work with OneTool."""

import os
import platform
import re
import socket
from collections.abc import Sequence
from typing import Any

from benchmarks.listed_servers import ListedServer
from benchmarks.report import ROOT, with_figures

PAGE = ROOT / "docs" / "compatibility.md"
COLUMNS = (
    "Server",
    "Version",
    "Starts",
    "Tools",
    "First start",
    "Second start",
    "Contained",
    "Granted or set",
    "Call",
    "Outcome",
)
MAX_TEXT = 120
SERVER_MESSAGES = ("returned_error", "upstream")
"""The reasons of calls that the server itself answered with an error."""
Row = tuple[ListedServer, dict[str, Any]]


def write_page(rows: Sequence[Row]) -> None:
    """Replace the figures of the page by the results of all servers."""
    sandboxes = list(dict.fromkeys(text for _, result in rows if (text := _sandbox(result))))
    lines = [
        _measured(rows),
        "",
        _summary(rows),
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"|{' --- |' * len(COLUMNS)}",
        *(f"| {' | '.join(_cells(server, result, sandboxes))} |" for server, result in rows),
        "",
        "The sandboxes, in the words of `onetool servers test`:",
        "",
        *(f"{number}. {text}" for number, text in enumerate(sandboxes, 1)),
        "",
    ]
    text = with_figures(PAGE.read_text(encoding="utf-8"), "\n".join(lines), "compat")
    PAGE.write_text(text, encoding="utf-8")


def _measured(rows: Sequence[Row]) -> str:
    dates = sorted({result["date"] for _, result in rows})
    versions = " and ".join(sorted({result["onetool"] for _, result in rows}))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"Measured on {' to '.join(dict.fromkeys([dates[0], dates[-1]]))} with OneTool {versions} "
        f"and Python {platform.python_version()}, on {platform.system()} with {os.cpu_count()} cores "
        f"and {memory:.0f} GB, while other programs ran. {_internet()}"
    )


def _internet() -> str:
    try:
        socket.create_connection(("example.com", 443), timeout=10).close()
    except OSError:
        return "The machine reached the package registries and no other host of the internet."
    return "The machine had access to the internet."


def _summary(rows: Sequence[Row]) -> str:
    started = sum(map(_has_started, (result for _, result in rows)))
    contained = sum(bool(_sandbox(result)) and _has_started(result) for _, result in rows)
    local = [result for server, result in rows if not server.needs]
    succeeded = sum(result["outcome"].get("ok", False) for result in local)
    return (
        f"{started} of {len(rows)} servers start and list their tools, {contained} of them contained. "
        f"Of the {len(local)} servers whose call needs nothing but this machine, {succeeded} return a result."
    )


def _cells(server: ListedServer, result: dict[str, Any], sandboxes: Sequence[str]) -> list[str]:
    starts = result["starts"]
    sandbox = _sandbox(result)
    return [
        f"`{server.package}`",
        result.get("version", ""),
        "yes" if _has_started(result) else "no",
        _tools(starts[0]) if _has_started(result) else "",
        *(_seconds(starts, index) for index in range(2)),
        f"yes ({sandboxes.index(sandbox) + 1})" if sandbox else "no",
        _granted(server),
        f"`{server.call}`",
        _outcome(server, result),
    ]


def _has_started(result: dict[str, Any]) -> bool:
    return bool(result["starts"]) and result["starts"][0]["ok"]


def _sandbox(result: dict[str, Any]) -> str:
    return next((start["sandbox"] for start in result["starts"] if start.get("sandbox")), "")


def _tools(start: dict[str, Any]) -> str:
    quarantined = re.match(r"\d+ tools? quarantined", start["reason"])
    return f"{start['tools']} ({quarantined[0]})" if quarantined else str(start["tools"])


def _seconds(starts: list[dict[str, Any]], index: int) -> str:
    is_measured = index < len(starts) and starts[index]["ok"]
    return f"{starts[index]['seconds']:.1f} s" if is_measured else ""


def _granted(server: ListedServer) -> str:
    is_plain = server.command in (("npx", "-y", server.package), ("uvx", server.package))
    parts = [server.options, () if is_plain else server.command]
    texts = [f"`{_readable(' '.join(part))}`" for part in parts if part]
    return ", ".join([*texts, *([f"Node {server.node}"] if server.node else [])]) or "nothing"


def _outcome(server: ListedServer, result: dict[str, Any]) -> str:
    outcome = result["outcome"]
    if not outcome or not _has_started(result):
        reasons = [result.get("reason", ""), *(start["reason"] for start in result["starts"])]
        return f"none: {_shorten(next(filter(None, reasons), 'no reason was given'))}"
    origin = "result" if outcome["ok"] else f"failed ({outcome['reason']})"
    if outcome.get("reason") in SERVER_MESSAGES:
        origin = "message of the server"
    needs = f"needs {server.needs}; " if server.needs else ""
    return f"{needs}{origin}: {_shorten(outcome['text'])}"


def _shorten(text: str) -> str:
    """Return the start of a text as code in a table cell."""
    line = re.sub(r"[\s`]+", " ", _readable(text)).strip()
    short = line if len(line) <= MAX_TEXT else line[: MAX_TEXT - 4].rstrip() + " ..."
    return f"`{short.replace('|', chr(0xA6))}`"


def _readable(text: str) -> str:
    for name, word in (("{work}", "DIR"), ("{page}", "URL"), ("{chromium}", "CHROMIUM")):
        text = text.replace(name, word)
    return text

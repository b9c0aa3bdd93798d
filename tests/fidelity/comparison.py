"""Compare what a client receives directly and through OneTool, and find the reason of each difference."""

import base64
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fidelity.recording import INTERFACES, LISTS, Recording, record
from fidelity.rules import (
    INSTRUCTIONS,
    Expected,
    Reason,
    expected_entry,
    expected_handshake,
    expected_key,
    expected_response,
    explain_error,
    python_name,
    without_findings,
)
from fidelity.servers import RealServer, install_server
from fidelity.world import World

CHANGING = "(changing)"
BASE64_KEYS = ("blob", "data")


@dataclass(slots=True)
class Comparison:
    """The differences of one server."""

    package: str
    version: str
    compared: Counter[str] = field(default_factory=Counter)
    """How many items of each method were compared, over all interfaces."""
    differences: Counter[tuple[str, str, Reason]] = field(default_factory=Counter)
    """How many items differ, by interface, method and reason."""
    unexplained: list[dict[str, Any]] = field(default_factory=list)


def compare_server(server: RealServer) -> Comparison:
    """Install a server, ask it everything directly and through each interface, and compare."""
    install_server(server)
    found = Comparison(server.package, server.version())
    with tempfile.TemporaryDirectory(prefix="fidelity-", ignore_cleanup_errors=True) as folder:
        world = World(Path(folder))
        world.write_settings(server)
        direct = record(world, server, "direct", {})
        quarantined = world.quarantined()
        for interface in INTERFACES:
            through = record(world, server, interface, direct)
            compare(found, server, interface, (direct, through), quarantined)
    return found


def compare(
    found: Comparison,
    server: RealServer,
    interface: str,
    recordings: tuple[Recording, Recording],
    quarantined: set[str],
) -> None:
    """Add the differences between a direct recording and that of an interface."""
    direct, through = recordings
    for item, key, expected in expected_items(interface, direct):
        method = item.partition(" ")[0]
        found.compared[method] += 1
        reasons = reasons_of(server, expected, direct[item], through.get(key))
        if reasons is None and is_quarantined(item, through.get(key), expected.value, quarantined):
            reasons = frozenset([Reason.QUARANTINED])
        for reason in reasons or ():
            found.differences[interface, method, reason] += 1
        if reasons is None:
            entry = {"interface": interface, "item": item, "expected": expected.value}
            found.unexplained.append(entry | {"received": through.get(key)})
    known = {key for _, key, _ in expected_items(interface, direct)}
    for key in through.keys() - known:
        found.unexplained.append({"interface": interface, "item": key, "received": through[key]})


def is_quarantined(item: str, received: Any, expected: Any, quarantined: set[str]) -> bool:
    """Return whether a tool, or the instructions in the handshake, are missing because of a quarantine."""
    method, _, name = item.partition(" ")
    if method == "initialize":
        return INSTRUCTIONS in quarantined and received == expected | {INSTRUCTIONS: None}
    return method == "tools/list" and received is None and python_name(name) in quarantined


def reasons_of(
    server: RealServer, expected: Expected, direct: Any, received: Any
) -> frozenset[Reason] | None:
    """Return the reasons of the differences, none if there is no difference; None if it has no reason."""
    if received is None:
        return None
    value, patterns = without_changing(expected.value, server.changing), server.changing
    if value == without_changing(received, patterns):
        return expected.reasons
    if "contents" in received and value == without_changing(without_findings(received), patterns):
        return expected.reasons | {Reason.FINDINGS}
    reason = explain_error(direct, received)
    return None if reason is None else frozenset([reason])


def expected_items(interface: str, direct: Recording) -> Iterator[tuple[str, str, Expected]]:
    """Return for each direct item its key in the recording of an interface, and what should be there."""
    schemas = {
        entry["name"]: entry.get("outputSchema")
        for item, entry in direct.items()
        if item.startswith("tools/list ")
    }
    for item, value in direct.items():
        method, _, name = item.partition(" ")
        if method == "initialize":
            if interface == "only":
                yield item, item, expected_handshake(value)
        elif method in LISTS:
            key = f"{method} {expected_key(interface, method, name)}"
            yield item, key, expected_entry(interface, method, value)
        else:
            schema = schemas.get(name.partition(" ")[2]) if method == "tools/call" else None
            yield item, item, expected_response(interface, method, value, schema)


def without_changing(value: Any, patterns: list[str], key: str = "") -> Any:
    """Return a value in which all changing texts are the same, also inside base64."""
    if isinstance(value, Mapping):
        return {name: without_changing(item, patterns, name) for name, item in value.items()}
    if isinstance(value, list):
        return [without_changing(item, patterns) for item in value]
    if not isinstance(value, str):
        return value
    text = decoded(value) if key in BASE64_KEYS else value
    for pattern in patterns:
        text = re.sub(pattern, CHANGING, text)
    return text


def decoded(value: str) -> str:
    """Return the text in base64; the base64 itself if there is no text in it."""
    try:
        return base64.b64decode(value, validate=True).decode()
    except ValueError:
        return value

"""What was wrong with code, in its author's names: the nearest tool, the signature, what there is instead."""

import re
from collections.abc import Mapping
from typing import Any

from onetool.domain.nearest import did_you_mean
from onetool.domain.sandbox import SandboxJob

MODULE = "pack_{}"
"""Name of a pack's module inside: the plain one may be a module of the interpreter's own."""
DIAGNOSTIC = re.compile(r"^\S+?:(?P<line>\d+):\d+: error\[[\w-]+\] (?P<message>.*)$", re.M)
MISSING_TOOL = re.compile(r"Module `(\w+)` has no member `(\w+)`")
UNDEFINED = re.compile(r"Name `(\w+)` used when not defined")
UNKNOWN_MODULE = re.compile(r"Cannot resolve imported module `([\w.]+)`")
UNKNOWN_PARAMETER = re.compile(r"Argument `(\w+)` does not match any known parameter")
FUNCTION = re.compile(r"function `(\w+)`")
TOOL = re.compile(MODULE.format(r"(\w+)\.(\w+)"))
MOST_DIAGNOSTICS = 5
LACKS = "Not available: class inheritance, yield, del, property, async with, files, network, most modules."


def explain_check(text: str, job: SandboxJob) -> str:
    """What the checker found before the code ran."""
    found = [_diagnostic(match, job) for match in DIAGNOSTIC.finditer(text)]
    return "\n".join(dict.fromkeys(found[:MOST_DIAGNOSTICS])) or text


def explain_tool(output: Any, job: SandboxJob) -> str:
    """What is wrong with code whose result is a tool, not what the tool returns; nothing otherwise."""
    found = TOOL.fullmatch(output) if isinstance(output, str) else None
    signature = found and _signatures(job.modules.get(found[1], "")).get(found[2])
    if not found or signature is None:
        return ""
    return f"The result is the tool itself. Call it: {found[1]}.{found[2]}({signature})"


def _diagnostic(match: "re.Match[str]", job: SandboxJob) -> str:
    line, message = f"line {match['line']}", match["message"].replace("`pack_", "`")
    if undefined := UNDEFINED.search(message):
        name = undefined[1]
        if why := job.known.get(name):
            return f"{line}: {name!r} cannot be used: {why}"
        return f"{line}: {name!r} is not defined.{did_you_mean(name, job.known)}"
    if unknown := UNKNOWN_MODULE.search(message):
        return f"{line}: {unknown[1]!r} cannot be imported here. {LACKS}"
    if missing := MISSING_TOOL.search(message):
        pack, name = missing.groups()
        known = [f"{pack}.{one}" for one in _signatures(job.modules.get(pack, ""))]
        return f"{line}: there is no tool {pack}.{name}.{did_you_mean(f'{pack}.{name}', known)}"
    if function := FUNCTION.search(message):
        message = _about_call(message, _meant(function[1], int(match["line"]), job))
    return f"{line}: {message}"


def _meant(name: str, line: int, job: SandboxJob) -> dict[str, str]:
    """Signatures of the tools that a complaint may be about: those on its line, if it names any."""
    packs = {pack: _signatures(stubs) for pack, stubs in job.modules.items()}
    found = {f"{pack}.{name}": known[name] for pack, known in packs.items() if name in known}
    written = "".join(job.program.source.splitlines()[line - 1 : line])
    return {tool: signature for tool, signature in found.items() if f"{tool}(" in written} or found


def _about_call(message: str, meant: Mapping[str, str]) -> str:
    if not meant:
        return message
    unknown = UNKNOWN_PARAMETER.search(message)
    parameters = re.findall(r"(\w+):", " ".join(meant.values()))
    nearest = did_you_mean(unknown[1], parameters) if unknown else ""
    signatures = " or ".join(f"{tool}({signature})" for tool, signature in meant.items())
    return f"{message}.{nearest} Signature: {signatures}"


def _signatures(stubs: str) -> dict[str, str]:
    return dict(re.findall(r"^def (\w+)\((.*)\) -> Any", stubs, re.M))

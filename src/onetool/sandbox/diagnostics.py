"""Error messages for sandboxed code, with suggestions and signatures."""

import re
from collections.abc import Mapping
from typing import Any

from onetool.domain.code.sandbox import IMPORTABLE_MODULES, SandboxJob
from onetool.domain.code.source_map import quote_line
from onetool.domain.text.suggestions import did_you_mean

MODULE = "pack_{}"
"""Name of a pack's module in the sandbox. The plain name could be a module of the interpreter."""
DIAGNOSTIC = re.compile(r"^\S+?:(?P<line>\d+):\d+: error\[[\w-]+\] (?P<message>.*)$", re.M)
MISSING_TOOL = re.compile(r"Module `(\w+)` has no member `(\w+)`")
UNDEFINED = re.compile(r"Name `(\w+)` used when not defined")
UNKNOWN_MODULE = re.compile(r"Cannot resolve imported module `([\w.]+)`")
UNKNOWN_PARAMETER = re.compile(r"Argument `(\w+)` does not match any known parameter")
ASSIGNED_PACK = re.compile(r"is not assignable to `<module '(?:pack_)?(\w+)'>`")
STUB = re.compile(r"^def (\w+)\(.*?\) -> Any: \.\.\.  # (.*)$", re.M)
PARAMETER = re.compile(r"[(,] ?(\w+):")
FUNCTION = re.compile(r"function `(\w+)`")
TOOL = re.compile(MODULE.format(r"(\w+)\.(\w+)"))
MAX_DIAGNOSTICS = 5
UNAVAILABLE = (
    "Not available: class inheritance, yield, del, property, async with, files, network, modules other than "
    f"{', '.join(IMPORTABLE_MODULES)}."
)


def explain_check(text: str, job: SandboxJob) -> str:
    """Rewrite the output of the type checker for the author of the code."""
    matches = list(DIAGNOSTIC.finditer(text))
    assigned = [match for match in matches if ASSIGNED_PACK.search(match["message"])]
    messages = [_explain(match, job) for match in assigned or matches]  # the others follow from these
    return "\n".join(dict.fromkeys(messages[:MAX_DIAGNOSTICS])) or text


def concerns_only_none(text: str) -> bool:
    """Return whether the type checker only found values that may be None: `re.search(...).group()`."""
    messages = [match["message"] for match in DIAGNOSTIC.finditer(text)]
    return bool(messages) and all("on `None` in union" in message for message in messages)


def explain_tool(output: Any, job: SandboxJob) -> str:
    """Return an error message if the result of the code is a tool instead of a call, else an empty string."""
    match = TOOL.fullmatch(output) if isinstance(output, str) else None
    signature = match and _signatures(job.modules.get(match[1], "")).get(match[2])
    if not match or signature is None:
        return ""
    return f"The result is the tool itself. Call it: {match[1]}.{match[2]}{signature}"


def _explain(match: "re.Match[str]", job: SandboxJob) -> str:
    if assigned := ASSIGNED_PACK.search(match["message"]):
        problem = f"{assigned[1]!r} is the name of a pack. Choose another name for the variable."
        message = f"line {match['line']}: {problem}"
    else:
        message = _explain_message(match, job)
    return message + quote_line(job.program.code, int(match["line"]))


def _explain_message(match: "re.Match[str]", job: SandboxJob) -> str:
    line, message = f"line {match['line']}", match["message"].replace("`pack_", "`")
    if undefined := UNDEFINED.search(message):
        name = undefined[1]
        if reason := job.known_names.get(name):
            return f"{line}: {name!r} is unavailable: {reason}"
        if name in IMPORTABLE_MODULES:
            return f"{line}: {name!r} is not defined. Add the line: import {name}"
        return f"{line}: {name!r} is not defined.{did_you_mean(name, job.known_names)}"
    if unknown := UNKNOWN_MODULE.search(message):
        return f"{line}: {unknown[1]!r} cannot be imported here. {UNAVAILABLE}"
    if missing := MISSING_TOOL.search(message):
        pack, name = missing.groups()
        tools = [f"{pack}.{function}" for function in _signatures(job.modules.get(pack, ""))]
        return f"{line}: there is no tool {pack}.{name}.{did_you_mean(f'{pack}.{name}', tools)}"
    if function := FUNCTION.search(message):
        message = _add_signatures(message, _candidates(function[1], int(match["line"]), job))
    return f"{line}: {message}"


def _candidates(name: str, line: int, job: SandboxJob) -> dict[str, str]:
    """Return the signatures of the tools with this function name; only those called on the line, if any."""
    packs = {pack: _signatures(stubs) for pack, stubs in job.modules.items()}
    candidates = {
        f"{pack}.{name}": signatures[name] for pack, signatures in packs.items() if name in signatures
    }
    source = "".join(job.program.source.splitlines()[line - 1 : line])
    called = {tool: signature for tool, signature in candidates.items() if f"{tool}(" in source}
    return called or candidates


def _add_signatures(message: str, candidates: Mapping[str, str]) -> str:
    if not candidates:
        return message
    unknown = UNKNOWN_PARAMETER.search(message)
    parameters = [
        name for text in candidates.values() for name in PARAMETER.findall(text.partition(") -> ")[0])
    ]
    suggestion = did_you_mean(unknown[1], parameters) if unknown else ""
    signatures = " or ".join(f"{tool}{signature}" for tool, signature in candidates.items())
    return f"{message}.{suggestion} Signature: {signatures}"


def _signatures(stubs: str) -> dict[str, str]:
    """Return the signature of each function, from the comment in its stub."""
    return dict(STUB.findall(stubs))

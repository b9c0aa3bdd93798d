"""The page of every error code and reason."""

from onetool.domain.errors import CODE_OF, ErrorCode, Reason
from onetool.doors.rest.problems import STATUS_OF_REASON

from .markdown import MADE, code, page, table

ABOUT = f"""A call never raises through a door: it answers `ok: false` with `error.code`, `error.message`
and, in `meta.reason`, which situation it was. Codes are few, so that a model can act on them; reasons are
a closed set, so that a program can. {MADE}"""
CODES = {
    ErrorCode.TOOL_NOT_FOUND: "There is no such tool for this caller. The message names the nearest one.",
    ErrorCode.INVALID_ARGS: "The tool is there, the arguments do not fit. Nothing has run.",
    ErrorCode.EXECUTION_ERROR: "The tool is there and the arguments fit, yet there is no good answer.",
}
REASONS = {
    Reason.UNKNOWN: "Nobody has a tool of this name.",
    Reason.DISABLED: "The tool, its bundle or its server is switched off, or the tool is held back.",
    Reason.NOT_REGISTERED: "The tool is defined, but what should run it is not there.",
    Reason.NOT_ALLOWED: "The caller was given an allow-list, and the tool is not on it.",
    Reason.BAD_ARGS: "The arguments do not fit the schema.",
    Reason.NEEDS_APPROVAL: "The tool changes things; nobody said yes, or `approval.deny` names it.",
    Reason.RATE_LIMITED: "More calls a minute than the tool takes. The message says when to try again.",
    Reason.BUSY: "Too many calls run at once, here or of this tool.",
    Reason.TOO_LARGE_IN: "The arguments, or what a request would send, are larger than allowed.",
    Reason.TOO_LARGE_OUT: "The result is larger than allowed.",
    Reason.TIMEOUT: "The tool took too long and was given up, or no time was left to begin.",
    Reason.CANCELLED: "Whoever called has left.",
    Reason.RAISED: "The tool raised an exception; the message is what it said, without secrets.",
    Reason.RETURNED_ERROR: "The tool returned a text that says what went wrong.",
    Reason.BAD_OUTPUT: "The result does not fit the tool's output schema, or is nothing that JSON can hold.",
    Reason.UPSTREAM: "The server behind the tool failed, or answered with something that cannot be used.",
    Reason.HOST_NOT_ALLOWED: "The address is not in `allowedHosts`, or leads into the private network.",
}
REST = """## Over REST

The status column above is what `POST /tools/call` and `.../invoke` answer: the caller's mistakes have a
status of their own, a failure of the tool itself is a 200 with `ok: false`. Every other route answers
`application/problem+json`; see [REST](rest.md)."""


def pages() -> dict[str, str]:
    """The page, by its place; a code or reason without words stops the build."""
    codes = [(code(one), CODES[one]) for one in ErrorCode]
    reasons = [(code(one), code(CODE_OF[one]), str(STATUS_OF_REASON[one]), REASONS[one]) for one in Reason]
    text = page(
        "Errors",
        ABOUT,
        "## Codes",
        table(("code", "meaning"), codes),
        "## Reasons",
        table(("reason", "code", "REST status", "meaning"), reasons),
        REST,
    )
    return {"reference/errors.md": text}

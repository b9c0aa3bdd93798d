"""The reference page of error codes and reasons."""

from onetool.domain.errors import CODE_BY_REASON, ErrorCode, Reason
from onetool.interfaces.rest.problems import STATUS_BY_REASON

from .markdown import GENERATED, code, page, table

ABOUT = f"""A failed call does not raise. It returns `ok: false` with `error.code`, `error.message` and
`meta.reason`. There are only three codes, so that models can act on them. The reasons are a closed set,
so that programs can. {GENERATED}"""
CODES = {
    ErrorCode.TOOL_NOT_FOUND: "The caller has no tool with this name. The message suggests a similar name.",
    ErrorCode.INVALID_ARGS: "The arguments are invalid. The tool did not run.",
    ErrorCode.EXECUTION_ERROR: "The call failed although the tool exists and the arguments are valid.",
}
REASONS = {
    Reason.UNKNOWN: "No source has a tool with this name.",
    Reason.DISABLED: "The tool, its bundle or its server is disabled, or the tool is quarantined.",
    Reason.NOT_REGISTERED: "The tool is defined, but its handler does not exist.",
    Reason.NOT_ALLOWED: "The tool is not on the allow-list of the caller.",
    Reason.BAD_ARGS: "The arguments do not match the schema.",
    Reason.NEEDS_APPROVAL: "The tool requires approval and was not approved, or `approval.deny` matches it.",
    Reason.NEEDS_LOGIN: "The tool is called with a login or secrets of the caller, who has none yet. The "
    "message contains where to log in.",
    Reason.RATE_LIMITED: "The tool, or in a hosted OneTool the workspace or the caller, has reached a limit. "
    "The message contains which one and when to retry.",
    Reason.BUSY: "Too many concurrent calls, in total or of this tool, or too many runs.",
    Reason.TOO_LARGE_IN: "The arguments are too large.",
    Reason.TOO_LARGE_OUT: "The result, or the request of an HTTP tool, is too large.",
    Reason.TIMEOUT: "The call timed out, or its deadline had passed before it started.",
    Reason.CANCELLED: "The caller cancelled the call or disconnected.",
    Reason.RAISED: "The tool raised an exception. The message contains it, with secrets redacted.",
    Reason.RETURNED_ERROR: "The tool returned an error text.",
    Reason.BAD_OUTPUT: "The result does not match the output schema or cannot be represented as JSON.",
    Reason.UPSTREAM: "The server behind the tool failed or sent an unusable response.",
    Reason.HOST_NOT_ALLOWED: "The host is not in `allowedHosts`, or its address is private.",
    Reason.LOST: "The process that ran the job has ended. The message names the calls that may have run.",
    Reason.UNAVAILABLE: "The database of a hosted OneTool is away, and the tool must be looked up there. "
    "Nothing was called.",
}
REST = """## Over REST

`POST /tools/call` and `.../invoke` return the status in the table. Errors of the caller have their own
status. If the tool itself fails, the status is 200 with `ok: false`. All other routes return
`application/problem+json`; see [REST](rest.md)."""


def pages() -> dict[str, str]:
    """Return the page by its path.

    Raises:
        KeyError: A code or reason has no description.
    """
    codes = [(code(error), CODES[error]) for error in ErrorCode]
    reasons = [
        (code(reason), code(CODE_BY_REASON[reason]), str(STATUS_BY_REASON[reason]), REASONS[reason])
        for reason in Reason
    ]
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

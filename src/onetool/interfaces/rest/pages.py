"""Pages without styles and scripts for people who log in, and the parameters with which browsers come."""

from html import escape
from urllib.parse import parse_qsl

from starlette.responses import HTMLResponse

from .problems import ProblemError

MAX_PARAMETER_BYTES, MAX_PARAMETERS = 16 * 2**10, 50
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""URLs of these pages have codes, which must not be in the `Referer` of further requests."""


def page(status: int, title: str, content: str) -> HTMLResponse:
    """Return a page. The content is HTML."""
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)} - OneTool</title>'
    return HTMLResponse(f"{head}<h1>{escape(title)}</h1>{content}", status)


def unique_parameters(data: bytes) -> dict[str, str]:
    """Return the parameters of a query or a form.

    Raises:
        ProblemError: They are too long, or one of them occurs more than once.
    """
    if len(data) > MAX_PARAMETER_BYTES:
        raise ProblemError(414, f"The parameters are longer than {MAX_PARAMETER_BYTES} bytes.")
    try:
        text = data.decode("ascii", "replace")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
    except ValueError:
        raise ProblemError(400, f"There are more than {MAX_PARAMETERS} parameters.") from None
    if len(parameters := dict(pairs)) != len(pairs):
        raise ProblemError(400, "A parameter occurs more than once.")
    return parameters

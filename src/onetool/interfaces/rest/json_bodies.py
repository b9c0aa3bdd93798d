"""The check of request bodies: FastAPI accepts numbers that JSON does not have, and any content type."""

import json
import math
import re
from typing import NoReturn

from fastapi import HTTPException, Request

SUSPECT = re.compile(rb"NaN|Infinity|[eE]\+?\d\d|(?<!\d)\d{200}")
"""What a number that is too large contains. Most bodies have none of it and are not parsed again."""
MAX_QUOTED = 40


async def check_json_body(request: Request) -> None:
    """Refuse a body that is not labelled as JSON, or has a number that would become null.

    Raises:
        HTTPException: The body is one of these. Its cause says what is wrong.
    """
    route = request.scope.get("route")
    if getattr(route, "body_field", None) is None or not (body := await request.body()):
        return
    content_type = request.headers.get("content-type", "")
    if not _is_json(content_type):
        found = f"{content_type[:MAX_QUOTED]!r}" if content_type else "missing"
        raise HTTPException(400) from ValueError(f"its Content-Type is {found}; send application/json")
    if not SUSPECT.search(body):
        return
    try:
        json.loads(body, parse_constant=_refuse, parse_float=_parse_float)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):  # the route has refused the body
        return
    except ValueError as error:
        raise HTTPException(400) from error


def _is_json(content_type: str) -> bool:
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type.startswith("application/") and media_type.endswith(("/json", "+json"))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number in JSON; send null or a text")


def _parse_float(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError(f"{text[:MAX_QUOTED]} is too large for a number; send a text")
    return number

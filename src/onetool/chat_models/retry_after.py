"""How long a provider wants to be left alone."""

import math
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the headers ask for, as a number or a date; None where they do not."""
    exact = seconds(headers.get("retry-after-ms", ""))
    if exact is not None:
        return exact / 1000
    text = headers.get("retry-after", "")
    plain = seconds(text)
    return plain if plain is not None else _until(text)


def seconds(text: str) -> float | None:
    """Read a number of seconds, such as `1.5` or `17s`."""
    try:
        number = float(text.strip().removesuffix("s"))
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


def _until(text: str) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError, TypeError, IndexError):  # its parser raises all of them
        return None
    return max((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - time.time(), 0.0)

"""time: the current time."""

from datetime import UTC, datetime
from typing import Any

pack = "time"


def now() -> dict[str, Any]:
    """Return the current time.

    Returns:
        timestamp: milliseconds since 1970-01-01 UTC. iso: the same time in ISO 8601 format, UTC.

    Example:
        time.now()["iso"]
    """
    instant = datetime.now(UTC)
    milliseconds = int(instant.timestamp() * 1000)
    iso = datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
    return {"timestamp": milliseconds, "iso": iso.replace("+00:00", "Z")}

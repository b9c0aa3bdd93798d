"""Notes: messages that are appended to the file of the first topic that matches."""

from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from onetool.domain.yaml_text import flow
from onetool.files.append import append_lines
from onetool.runtime import current

BEGINS = b"--- {"


def publish(topic: str, message: str) -> Path | None:
    """Append a message to the file of the first topic whose pattern matches; None when there is none.

    On return the message is on the disk. Raises OSError.
    """
    topics = current().runtime.configuration.settings.topics
    file = next((Path(one.file) for one in topics if fnmatchcase(topic, one.pattern)), None)
    if file is not None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        note = flow({"at": at, "topic": topic, "message": message})
        append_lines(file, f"--- {note}\n".encode("utf-8", "replace"), is_torn=_is_torn)
    return file


def _is_torn(line: bytes) -> bool:
    """Whether a last line without an end is a note that was not written to its end."""
    import yaml

    if not line.startswith(BEGINS[: len(line)]):
        return False
    try:
        return not isinstance(yaml.safe_load(line), dict)
    except (yaml.YAMLError, ValueError):
        return True

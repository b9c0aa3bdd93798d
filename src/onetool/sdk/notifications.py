"""Messages that are appended to the file of the first matching topic."""

from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from onetool.domain.text.yaml_text import to_flow
from onetool.files.append import append_lines
from onetool.runtime.active_call import current_call

from .forwarding import in_runtime

NOTE_PREFIX = b"--- {"


@in_runtime
def publish(topic: str, message: str) -> Path | None:
    """Append a message to the file of the first matching topic; return the file, or None if none matches.

    The message is on disk when the function returns.

    Raises:
        OSError: The file cannot be written.
    """
    topics = current_call().runtime.state.configuration.settings.topics
    file = next((Path(entry.file) for entry in topics if fnmatchcase(topic, entry.pattern)), None)
    if file is not None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        note = to_flow({"at": at, "topic": topic, "message": message})
        append_lines(file, f"--- {note}\n".encode("utf-8", "replace"), is_torn=_is_partial)
    return file


def _is_partial(line: bytes) -> bool:
    """Return whether the last line of a file is a partially written note."""
    from onetool.files.safe_yaml import InvalidYaml, YamlRules, read_yaml

    if not line.startswith(NOTE_PREFIX[: len(line)]):
        return False
    rules = YamlRules(max_bytes=len(line), max_depth=2, max_expanded=10 * len(line))
    try:
        return not isinstance(read_yaml(line, rules), dict)
    except InvalidYaml:
        return True

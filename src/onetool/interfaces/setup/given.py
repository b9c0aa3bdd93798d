"""What a user gives to `onetool import`: a file, a directory, a URL or standard input."""

import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from onetool.domain.secrets.detection import redact_server
from onetool.files.zip_files import MAX_TOTAL
from onetool.network.limited_request import RequestFailed, get_limited

STDIN = "-"
TIMEOUT_S = 60.0
GITHUB, RAW_GITHUB = "github.com", "https://raw.githubusercontent.com"
HTML_STARTS = (b"<!doctype html", b"<html")


class UnreadableSource(Exception):
    """What the user gave cannot be read. The message is a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenSource:
    """The content of a file, or a directory."""

    name: str
    """The file name; empty if there is none."""
    origin: str
    """Where it came from, for people, without secrets."""
    content: bytes = b""
    directory: Path | None = None
    is_remote: bool = False
    """Whether it was downloaded."""


def read_given(text: str) -> GivenSource:
    """Read a file, a URL or standard input (`-`). It blocks.

    Raises:
        UnreadableSource: There is nothing that can be read.
    """
    if text == STDIN:
        return GivenSource(
            name="", origin="standard input", content=_limit(sys.stdin.buffer.read(MAX_TOTAL + 1))
        )
    if "://" in text:
        return _download(text)
    try:
        path = Path(text).expanduser()
        if path.is_dir():
            return GivenSource(name=path.name, origin=str(path), directory=path)
        with path.open("rb") as file:
            return GivenSource(name=path.name, origin=str(path), content=_limit(file.read(MAX_TOTAL + 1)))
    except (OSError, ValueError, RuntimeError) as error:  # not a path, or no such user
        reason = getattr(error, "strerror", None) or error
        raise UnreadableSource(f"Cannot read {text!r}: {reason}.") from None


def _limit(content: bytes) -> bytes:
    if len(content) > MAX_TOTAL:
        raise UnreadableSource(f"The content is larger than {MAX_TOTAL:,} bytes.")
    return content


def _download(url: str) -> GivenSource:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UnreadableSource(
            f"{parts.scheme}:// is not supported. Use an http:// or https:// URL, or a file."
        )
    origin = redact_server(url, None, ())
    try:
        reply = get_limited(url, accept="*/*", max_bytes=MAX_TOTAL, timeout_s=TIMEOUT_S)
    except RequestFailed as error:
        raise UnreadableSource(f"Cannot download {origin}: {error}.") from None
    if reply.status != 200:
        raise UnreadableSource(f"Cannot download {origin}: the server responded with status {reply.status}.")
    if reply.content.lstrip()[:20].lower().startswith(HTML_STARTS):
        raise UnreadableSource(f"{origin} is a web page, not a file.{_raw_hint(parts.hostname, parts.path)}")
    name = parts.path.rpartition("/")[2]
    return GivenSource(name=name, origin=origin, content=reply.content, is_remote=True)


def _raw_hint(host: str, path: str) -> str:
    """Return where the file of a page is, if that is known."""
    owner, repository, kind, *rest = [*path.strip("/").split("/"), "", "", ""]
    if host.removeprefix("www.") == GITHUB and kind == "blob":
        file = "/".join(filter(None, rest))
        return f" Use the URL of the file itself: {RAW_GITHUB}/{owner}/{repository}/{file}"
    return " Use the URL of the file itself, or download the file and import it."

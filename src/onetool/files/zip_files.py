"""ZIP archives in memory: deterministic when written, untrusted when read."""

import stat
import struct
import zlib
from collections.abc import Callable, Mapping
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from onetool.domain.text.strings import truncate_middle

MAX_ENTRIES = 10_000
MAX_TOTAL = 64 * 2**20
MAX_ENTRY = 4 * 2**20
MAX_RATIO = 200
LOCAL_HEADER = b"PK\x03\x04"
"""First bytes of a ZIP file with at least one entry."""
CENTRAL_HEADER = b"PK\x01\x02"
"""Signature of each entry in the central directory of a ZIP file."""
ENCRYPTED = 0x1 | 0x40 | 0x2000
UNREADABLE = (BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, OSError, ValueError)


class InvalidArchive(ValueError):
    """An archive is damaged, malicious or too large."""


def write_zip(files: Mapping[str, bytes]) -> bytes:
    """Return an archive with these files, in this order. The same content gives the same bytes.

    Raises:
        InvalidArchive: The archive would exceed a limit of `read_zip`.
    """
    if len(files) > MAX_ENTRIES:
        raise InvalidArchive(f"The archive has {len(files)} files; the maximum is {MAX_ENTRIES}.")
    output = BytesIO()
    with ZipFile(output, "w") as archive:
        for name, content in files.items():
            if len(content) > MAX_ENTRY:
                raise InvalidArchive(f"{name} has {len(content)} bytes; the maximum is {MAX_ENTRY}.")
            archive.writestr(_entry(name, content), content)
    if max(output.tell(), sum(map(len, files.values()))) > MAX_TOTAL:
        raise InvalidArchive(f"The content is larger than {MAX_TOTAL} bytes, the maximum for an archive.")
    return output.getvalue()


def read_zip(content: bytes, check_name: Callable[[str], None]) -> dict[str, bytes]:
    """Return the files of an archive by name. Directories are left out.

    check_name: raises an error for a name that is not allowed. Names are as they are in the archive: they may
        be absolute or contain `..`, and a directory ends with a slash.

    Raises:
        InvalidArchive: The archive is damaged, malicious or too large.
    """
    # Entries are counted before opening, because ZipFile creates an object for each of them.
    if len(content) > MAX_TOTAL or content.count(CENTRAL_HEADER) > MAX_ENTRIES:
        raise InvalidArchive(f"The archive is larger than {MAX_TOTAL} bytes or {MAX_ENTRIES} entries.")
    try:
        archive = ZipFile(BytesIO(content))
    except UNREADABLE:
        raise InvalidArchive("This is not a ZIP archive, or it is damaged.") from None
    files: dict[str, bytes] = {}
    total = 0
    with archive:
        for entry in archive.infolist():
            name = entry.orig_filename
            check_name(name)
            _check_entry(entry)
            if name in files:
                raise InvalidArchive(f"The archive contains {name!r} twice.")
            files[name] = _read_entry(archive, entry)
            total += len(files[name])
            if total > MAX_TOTAL or total > MAX_RATIO * len(content):
                raise InvalidArchive(
                    f"The archive unpacks to more than {MAX_TOTAL} bytes, or {MAX_RATIO} times its size."
                )
    return {name: file for name, file in files.items() if not name.endswith("/")}


def _entry(name: str, content: bytes) -> ZipInfo:
    entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    entry.create_system = 3  # Unix, so that every system writes the same bytes
    # Content that compresses too well is stored, because reading rejects it as a ZIP bomb.
    exceeds_ratio = len(content) > MAX_RATIO * len(zlib.compress(content))
    entry.compress_type = ZIP_STORED if exceeds_ratio else ZIP_DEFLATED
    return entry


def _check_entry(entry: ZipInfo) -> None:
    name = entry.orig_filename
    short_name = repr(truncate_middle(name, 80))
    expected = stat.S_IFDIR if name.endswith("/") else stat.S_IFREG
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, expected):
        raise InvalidArchive(f"{short_name} is not a regular file.")
    if entry.flag_bits & ENCRYPTED:
        raise InvalidArchive(f"{short_name} is encrypted. Encryption is not supported.")
    if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):  # the other methods unpack without a limit
        raise InvalidArchive(
            f"{short_name} uses compression method {entry.compress_type}. Valid: stored (0), deflated (8)."
        )


def _read_entry(archive: ZipFile, entry: ZipInfo) -> bytes:
    try:
        with archive.open(entry) as file:
            content = file.read(MAX_ENTRY + 1)
    except UNREADABLE:
        raise InvalidArchive(f"{entry.orig_filename!r} is damaged.") from None
    if len(content) > MAX_ENTRY:
        raise InvalidArchive(f"{entry.orig_filename!r} unpacks to more than {MAX_ENTRY} bytes.")
    return content

"""File names for media, and which types a browser may show. Neither depends on a name that a server sends."""

import re

EXTENSIONS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/avif": "avif",
    "image/bmp": "bmp",
    "image/tiff": "tiff",
    "image/svg+xml": "svg",
    "audio/mpeg": "mp3",
    "audio/mp4": "m4a",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/ogg": "ogg",
    "audio/flac": "flac",
    "audio/webm": "weba",
    "video/mp4": "mp4",
    "video/webm": "webm",
    "application/pdf": "pdf",
    "application/json": "json",
    "application/zip": "zip",
    "application/gzip": "gz",
    "text/plain": "txt",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
}
OTHER_EXTENSION = "bin"
SHOWN = re.compile(
    r"image/(png|jpeg|gif|webp|avif|bmp|tiff)|(audio|video)/[a-z0-9.-]+|application/(pdf|json)|text/plain"
)
"""Types that contain no scripts. SVG and HTML may contain some."""


def is_shown(mime_type: str) -> bool:
    """Whether a browser may show the content of media instead of saving it."""
    return SHOWN.fullmatch(mime_type.lower()) is not None


def file_name(stem: str, mime_type: str) -> str:
    """Return the name of a file for media.

    >>> file_name("chart", "image/png")
    'chart.png'
    """
    return f"{stem}.{EXTENSIONS.get(mime_type.lower(), OTHER_EXTENSION)}"

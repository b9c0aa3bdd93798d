"""The type of an image by its first bytes, because providers reject an image with a wrong type."""

SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
WEBP = "image/webp"
IMAGE_TYPES = frozenset({*SIGNATURES.values(), WEBP})


def image_type(data: bytes) -> str:
    """Return the MIME type of a PNG, JPEG, GIF or WebP image; an empty string for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return WEBP
    return next((kind for start, kind in SIGNATURES.items() if data.startswith(start)), "")

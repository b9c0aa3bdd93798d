"""Which strings a column of text can hold."""

REPLACEMENT = "\ufffd"


def is_storable(text: str) -> bool:
    """Whether a string has neither NUL nor lone surrogates, which PostgreSQL refuses."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def to_storable(text: str) -> str:
    """Return a text with U+FFFD in place of what PostgreSQL refuses.

    >>> to_storable("a\\0b")
    'a\ufffdb'
    """
    if is_storable(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", REPLACEMENT)

"""Which strings a column of text can hold."""

REPLACEMENT = "\ufffd"


def is_storable(text: str) -> bool:
    """Whether a string has neither NUL nor lone surrogates, which PostgreSQL refuses."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def check_storable(name: str) -> str:
    """Return a name that can be stored.

    Raises:
        ValueError: The name has NUL or a lone surrogate.
    """
    if not is_storable(name):
        raise ValueError(f"Invalid name {name!r}. Use Unicode characters other than NUL.")
    return name


def to_storable(text: str) -> str:
    """Return a text with U+FFFD in place of what PostgreSQL refuses."""
    if is_storable(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", REPLACEMENT)

"""Texts that somebody else wrote, kept to a length that can be read."""

from functools import cache

MORE = " ..."


def cut(text: str, longest: int) -> str:
    """Keep both ends of a long text: a value stands at the start, what is wrong with it at the end."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]} ... {text[-half:]}"


def first_line(text: str) -> str:
    """The first line: what a listing shows of a description."""
    return text.strip().partition("\n")[0].rstrip()


def first_words(text: str, most_bytes: int) -> str:
    """The start of a long text, up to the end of a word; in scripts without spaces, of a character."""
    written = text.encode("utf-8", "replace")
    if len(written) <= most_bytes:
        return text
    start = written[: most_bytes - len(MORE)].decode("utf-8", "ignore")
    words = start.rpartition(" ")[0]
    return (words if 2 * len(words) > len(start) else start).rstrip(" .,;:") + MORE


def counted(number: int, thing: str) -> str:
    """A number of things, in words that fit it: 1 file, 2 files."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def printable(text: str) -> str:
    """A text fit for a terminal: no signs that would move or hide what is shown."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


@cache  # asked for each field of each stored tool, and there are few fields
def camel(field: str) -> str:
    """A field as JSON names it: `display_name` is `displayName`, and an id `bundleID`."""
    head, *rest = field.split("_")
    return head + "".join("ID" if part == "id" else part.capitalize() for part in rest)

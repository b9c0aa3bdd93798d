"""Texts that somebody else wrote, kept to a length that can be read."""

from functools import cache


def cut(text: str, longest: int) -> str:
    """Keep both ends of a long text: a value stands at the start, what is wrong with it at the end."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]} ... {text[-half:]}"


def first_line(text: str) -> str:
    """The first line: what a listing shows of a description."""
    return text.strip().partition("\n")[0].rstrip()


@cache
def camel(field: str) -> str:
    """A field as JSON names it: `display_name` is `displayName`, and an id `bundleID`."""
    head, *rest = field.split("_")
    return head + "".join("ID" if part == "id" else part.capitalize() for part in rest)

"""Ids, slugs and versions: what they may look like, and the names that code makes of them."""

import keyword
import re
import unicodedata
from uuid import UUID

from .bundle import InvalidBundle, Pair

LONGEST_SLUG = 64
BEFORE_ALL = "00000000-0000-"
"""How the ids begin of what is not stored."""


def check_id(text: str, what: str) -> str:
    """Return a UUIDv7 in its usual form.

    Raises InvalidBundle.
    """
    try:
        found = UUID(text)
    except ValueError:
        found = None
    if found is None or found.version != 7 or str(found) != text.lower():
        raise InvalidBundle(
            f"{what} {text[:80]!r} is not a UUIDv7 such as 0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77."
        )
    return str(found)


def check_stored_id(text: str, what: str) -> str:
    """Return an id that something stored may have.

    Raises InvalidBundle.
    """
    found = check_id(text, what)
    if found.startswith(BEFORE_ALL):
        raise InvalidBundle(f"{what} {text!r} has the time 0: such ids belong to packs that are not stored.")
    return found


def check_slug(text: str, what: str = "slug") -> str:
    """Return a slug in its normal form: letters, digits and dashes.

    Raises InvalidBundle.
    """
    return _checked(text, what, also="-", example="read-file")


def check_version(text: str) -> str:
    """Return a version label in its normal form: letters, digits, dashes and dots.

    Raises InvalidBundle.
    """
    label = _checked(text, "version", also="-.", example="1.0.0")
    if not label.strip("."):
        raise InvalidBundle(f"version {text!r} consists of dots alone. Example: 1.0.0")
    return label


def check_pair(pair: Pair) -> Pair:
    """Return what names a tool version in its normal form.

    Raises InvalidBundle.
    """
    return check_id(pair[0], "bundleID"), check_slug(pair[1]), check_version(pair[2])


def python_name(slug: str) -> str:
    """How code calls what has this slug: dashes become underscores; a slug has none of its own."""
    name = unicodedata.normalize("NFKC", slug.replace("-", "_"))
    if name.isidentifier() and not keyword.iskeyword(name):
        return name
    return "_" + re.sub(r"\W", "_", name)


def slug_of(name: str) -> str:
    """The slug of a function or pack that is not stored."""
    return name.replace("_", "-")


def _checked(text: str, what: str, *, also: str, example: str) -> str:
    label = unicodedata.normalize("NFC", text)
    if not label:
        raise InvalidBundle(f"{what} is empty. Example: {example}")
    if len(label) > LONGEST_SLUG:
        raise InvalidBundle(f"{what} has {len(label)} characters; {LONGEST_SLUG} are allowed.")
    wrong = [char for char in label if char not in also and not _is_word(char)]
    if wrong:
        allowed = "letters, digits and dashes" + (", and dots" if "." in also else "")
        raise InvalidBundle(f"{what} {label!r} holds {wrong[0]!r}. Allowed: {allowed}. Example: {example}")
    return label


def _is_word(char: str) -> bool:
    """A letter or a decimal digit of any script; not `isdigit`, which admits raised ones."""
    kind = unicodedata.category(char)
    return kind.startswith("L") or kind == "Nd"

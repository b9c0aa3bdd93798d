"""Validation of ids, slugs and versions, and the Python names derived from slugs."""

import keyword
import re
import unicodedata
from uuid import UUID

from .bundle import InvalidBundle, ToolKey

MAX_SLUG_LENGTH = 64
DERIVED_ID_PREFIX = "00000000-0000-"
"""Start of every derived id, whose timestamp is zero."""


def check_id(text: str, field: str) -> str:
    """Return a UUIDv7 in canonical form.

    Raises:
        InvalidBundle: The text is not a UUIDv7.
    """
    try:
        uuid = UUID(text)
    except ValueError:
        uuid = None
    if uuid is None or uuid.version != 7 or str(uuid) != text.lower():
        raise InvalidBundle(
            f"{field} {text[:80]!r} is not a UUIDv7 such as 0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77.", path=field
        )
    return str(uuid)


def is_derived_id(uuid: str) -> bool:
    """Whether an id is that of a pack or a tool that is not stored."""
    return uuid.startswith(DERIVED_ID_PREFIX)


def check_stored_id(text: str, field: str) -> str:
    """Return the id of a stored object in canonical form.

    Raises:
        InvalidBundle: The text is not a UUIDv7, or is reserved for objects that are not stored.
    """
    uuid = check_id(text, field)
    if is_derived_id(uuid):
        raise InvalidBundle(
            f"{field} {text!r} has a zero timestamp. Such ids are reserved for packs that are not stored.",
            path=field,
        )
    return uuid


def check_slug(text: str, field: str = "slug") -> str:
    """Return a slug of letters, digits and dashes in normal form (NFC).

    Raises:
        InvalidBundle: The slug is empty, too long or contains another character.
    """
    return _check_label(text, field, extra_chars="-", example="read-file")


def check_version(text: str) -> str:
    """Return a version label of letters, digits, dashes and dots in normal form (NFC).

    Raises:
        InvalidBundle: The label is empty, too long, only dots, or contains another character.
    """
    label = _check_label(text, "version", extra_chars="-.", example="1.0.0")
    if not label.strip("."):
        raise InvalidBundle(f"version {text!r} contains only dots. Example: 1.0.0", path="version")
    return label


def check_key(key: ToolKey) -> ToolKey:
    """Return the key of a tool version in normal form.

    Raises:
        InvalidBundle: The bundle id, the slug or the version is invalid.
    """
    bundle_id, slug, version = key
    return check_id(bundle_id, "bundleID"), check_slug(slug), check_version(version)


def python_name(slug: str) -> str:
    """Return the Python identifier of a slug: dashes become underscores, which slugs cannot contain."""
    name = unicodedata.normalize("NFKC", slug.replace("-", "_"))
    if name.isidentifier() and not keyword.iskeyword(name):
        return name
    return "_" + re.sub(r"\W", "_", name)


def to_slug(name: str) -> str:
    """Return the slug of a function or pack that is not stored."""
    return name.replace("_", "-")


def _check_label(text: str, field: str, *, extra_chars: str, example: str) -> str:
    label = unicodedata.normalize("NFC", text)
    if not label:
        raise InvalidBundle(f"{field} is empty. Example: {example}", path=field)
    if len(label) > MAX_SLUG_LENGTH:
        raise InvalidBundle(f"{field} has {len(label)} characters. Maximum: {MAX_SLUG_LENGTH}.", path=field)
    invalid = [char for char in label if char not in extra_chars and not _is_letter_or_digit(char)]
    if invalid:
        allowed = "letters, digits, dashes and dots" if "." in extra_chars else "letters, digits and dashes"
        raise InvalidBundle(
            f"{field} {label!r} contains {invalid[0]!r}. Allowed: {allowed}. Example: {example}", path=field
        )
    return label


def _is_letter_or_digit(char: str) -> bool:
    """Accept letters and decimal digits of any script; `isdigit` would also accept superscripts."""
    category = unicodedata.category(char)
    return category.startswith("L") or category == "Nd"

"""Unique `pack.func` names for stored tools, derived from their slugs."""

from collections.abc import Iterable
from hashlib import sha256

from .bundle import Bundle
from .identifiers import python_name


def pack_names(same_slug: Iterable[Bundle]) -> dict[str, str]:
    """Return the pack name of each bundle id, for bundles whose slugs give the same Python name.

    The oldest bundle gets the plain name; the others get a suffix from their id.
    """
    oldest_first = sorted(same_slug, key=lambda bundle: (bundle.first_stored_at, bundle.id))
    names = {bundle.id: f"{python_name(bundle.slug)}__{bundle.id[-8:]}" for bundle in oldest_first[1:]}
    return {bundle.id: python_name(bundle.slug) for bundle in oldest_first[:1]} | names


def function_name(slug: str, taken_by: str | None) -> str:
    """Return the function name of a slug, with a suffix if an older slug of the bundle has the name.

    `taken_by` is the oldest slug with this Python name, or None.
    """
    name = python_name(slug)
    return name if taken_by in (None, slug) else f"{name}_{sha256(slug.encode()).hexdigest()[:6]}"

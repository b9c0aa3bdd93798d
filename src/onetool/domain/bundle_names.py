"""How code calls stored tools: `pack.func`, made of slugs, and never two of one name."""

from collections.abc import Iterable
from hashlib import sha256

from .bundle import Bundle
from .bundle_ids import python_name


def pack_names(same_slug: Iterable[Bundle]) -> dict[str, str]:
    """The packs of bundles whose slugs make one name: the oldest has it, others get a part of their ids."""
    oldest_first = sorted(same_slug, key=lambda bundle: (bundle.known_since, bundle.id))
    names = {bundle.id: f"{python_name(bundle.slug)}__{bundle.id[-8:]}" for bundle in oldest_first[1:]}
    return {bundle.id: python_name(bundle.slug) for bundle in oldest_first[:1]} | names


def function_name(slug: str, taken_by: str | None) -> str:
    """The function of a slug; with a suffix when an older slug of the bundle has the name."""
    name = python_name(slug)
    return name if taken_by in (None, slug) else f"{name}_{sha256(slug.encode()).hexdigest()[:6]}"

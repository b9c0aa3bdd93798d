"""What a user has approved of a server."""

from .manifest import ServerManifest

SERVER_INSTRUCTIONS = "instructions"
"""Stands for the instructions of a server among the names of its tools."""


def new_approvals(old: ServerManifest | None, new: ServerManifest) -> list[str]:
    """Return the names, as in a review, of what the user has approved between two manifests."""
    known = [*old.reviewable(), *new.reviewable()] if old else [*new.reviewable()]
    names = {pin: name for name, pin in known}
    added = _approved(new) - (_approved(old) if old else frozenset())
    found = sorted({names.get(pin, pin) for pin in added})
    before, after = old.instructions if old else None, new.instructions
    if after is None or not after.is_approved:
        return found
    is_same = before is not None and before.is_approved and before.accepted == after.accepted
    return found if is_same else [*found, SERVER_INSTRUCTIONS]


def _approved(manifest: ServerManifest) -> frozenset[str]:
    """Return the hashes of all that the user has approved."""
    items = (listed.approved for listed in manifest.items.values())
    return manifest.approved.union(manifest.prompt_texts.approved, *items)

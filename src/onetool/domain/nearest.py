"""The names that somebody may have meant."""

from collections.abc import Iterable

CLOSE_ENOUGH = 60.0
AS_CLOSE = 10.0
"""Points by which another name may be further away than the nearest."""


def nearest(name: str, known: Iterable[str], *, limit: int = 3) -> list[str]:
    """Return the known names that look most like `name`, the best first."""
    from rapidfuzz import fuzz, process, utils

    found = process.extract(
        name[:200],
        list(known),
        scorer=fuzz.ratio,
        processor=utils.default_process,
        limit=limit,
        score_cutoff=CLOSE_ENOUGH,
    )
    return [match for match, score, _index in found if score >= found[0][1] - AS_CLOSE]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence with a leading space that names the nearest, or nothing."""
    names = nearest(name, known)
    return f" Did you mean {' or '.join(names)}?" if names else ""

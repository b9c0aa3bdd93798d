"""Suggestions for misspelled names."""

from collections.abc import Iterable, Sequence

MIN_SIMILARITY = 60.0
MAX_SCORE_GAP = 10.0
"""Points by which a suggestion may score below the best one."""


def closest_names(
    name: str, known: Iterable[str], *, limit: int = 3, min_similarity: float = MIN_SIMILARITY
) -> list[str]:
    """Return the known names most similar to `name`, best first."""
    from rapidfuzz import fuzz, process, utils

    matches = process.extract(
        name[:200],
        list(known),
        scorer=fuzz.ratio,
        processor=utils.default_process,
        limit=limit,
        score_cutoff=min_similarity,
    )
    return [match for match, score, _index in matches if score >= matches[0][1] - MAX_SCORE_GAP]


def similar_names(name: str, names: Sequence[str]) -> list[str]:
    """Return the names of tools whose pack is similar to that of `name`, or that are called the same.

    Whole names are similar for too little: `nope.tool` does not mean `ot.tools`.
    """
    pack, dot, function = name.partition(".")
    if not dot:
        return list(names)
    packs = {known.partition(".")[0] for known in names}
    near = {other for other in packs if closest_names(pack, [other])}
    return [known for known in names if known.partition(".")[0] in near or known.endswith(f".{function}")]


def did_you_mean(name: str, known: Iterable[str], *, min_similarity: float = MIN_SIMILARITY) -> str:
    """Return " Did you mean ...?" with the closest names, or an empty string."""
    names = closest_names(name, known, min_similarity=min_similarity)
    return f" Did you mean {' or '.join(names)}?" if names else ""

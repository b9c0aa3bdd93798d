"""Which tools fit, by their words and by their meaning: two rankings become one."""

from collections import defaultdict
from collections.abc import Sequence

from .finding import SENTENCE_END, Entry
from .finding_words import CAMEL, PARTS

MEANING = 0.8
"""What a place in the ranking by meaning counts; a place in that by words counts the rest."""
FLAT = 20
"""How slowly places lose: the one after this many more counts half of what the first does."""
NEAR = 0.2
"""From which similarity on a tool counts as near; words of no sense come nearly as near to something."""


def text_of(entry: Entry) -> str:
    """Return what a tool means in a few words: tags and name as words, then the first sentence."""
    named = " ".join((*entry.tags, *PARTS.findall(CAMEL.sub(" ", entry.name))))
    return f"{named}: {SENTENCE_END.split(entry.description.strip(), maxsplit=1)[0]}"


def mix(by_words: Sequence[str], by_meaning: Sequence[tuple[str, float]], limit: int) -> list[str]:
    """Return the keys of both rankings, the best first: only places count, as scores cannot be compared."""
    near = [key for key, similarity in by_meaning if similarity >= NEAR]
    scores: defaultdict[str, float] = defaultdict(float)
    for ranking, weight in ((by_words, 1 - MEANING), (near, MEANING)):
        for place, key in enumerate(ranking, 1):
            scores[key] += weight / (FLAT + place)
    return sorted(scores, key=scores.__getitem__, reverse=True)[:limit]

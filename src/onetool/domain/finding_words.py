"""The words of names, descriptions and queries in one form: case, endings, verbs that mean the same."""

import re
from functools import lru_cache

LONGEST = 40
"""Characters of a word; longer ones are no words."""
KNOWN_FORMS = 50_000
SHORTEST_STEM = 3
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
CHINESE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
PARTS = re.compile(rf"[{CHINESE}]+|[^\W_{CHINESE}]+")
IS_CHINESE = re.compile(rf"[{CHINESE}]")
VERBS = (
    "get fetch read retrieve load open obtain download pull",
    "list show display view enumerate browse",
    "create add make new insert generate build append",
    "delete remove erase drop clear destroy",
    "search find query lookup locate discover",
    "update edit modify change alter replace",
    "send post publish submit deliver",
    "run execute invoke launch start perform",
    "write save store record persist",
    "move rename relocate transfer",
    "convert translate transform",
    "compare diff differ",
    "connect link attach relate",
    "describe explain inspect",
    "check verify validate test",
    "copy duplicate clone",
    "stop cancel abort kill",
)
"""Verbs that tools use for one another, whatever they work on."""
IDLE_WORDS = (
    "a about an and any are as at be been but by can could do does for from give given had has have "
    "how i if in into is it its just let like me my need of off on onto or our out over please should so "
    "some such tell that the their them then there these they this those to too up us use used using via "
    "want was we were what when where whether which while who will with would you your d ll m re s t ve"
)
"""Words that say nothing about what is wanted, and what an apostrophe leaves of them."""
IDLE = frozenset(IDLE_WORDS.split())


def words(text: str) -> list[str]:
    """Return the words of a text in their stems; Chinese, Japanese and Korean ones as pairs of characters.

    Idle words are left out, unless there are no others: a tool may be called `use`.
    """
    parts = PARTS.findall(text)
    return [form for part in parts for form in _forms(part)] or [stem(part.lower()) for part in parts]


@lru_cache(maxsize=KNOWN_FORMS)
def _forms(part: str) -> tuple[str, ...]:
    if IS_CHINESE.match(part):
        return tuple(part[at : at + 2] for at in range(max(len(part) - 1, 1)))
    lowered = (word[:LONGEST].lower() for word in CAMEL.split(part))
    return tuple(stem(word) for word in lowered if word not in IDLE)


def joined(pair: tuple[str, str]) -> str:
    """Write two words as one: `read file` is found as `readfile`, and the other way round."""
    return "".join(pair)


def stem(word: str) -> str:
    """Cut the endings that do not change what a word is about; the result is a key, not a word."""
    for ending, instead in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            word = _undoubled(word.removesuffix(ending)) + instead
            break
    return word.removesuffix("e") if len(word) > SHORTEST_STEM else word


def _undoubled(word: str) -> str:
    return word[:-1] if word[-1] == word[-2] and word[-1] not in "aeiouls" else word


ENDINGS = (
    ("ies", "y"),
    ("sses", "ss"),
    ("ings", ""),
    ("ing", ""),
    ("ied", "y"),
    ("ed", ""),
    ("ss", "ss"),
    ("us", "us"),
    ("s", ""),
)
KINDS = {stem(verb): f"={row.split()[0]}" for row in VERBS for verb in row.split()}
"""Each verb's stem with the name of all verbs like it, which no text can hold."""

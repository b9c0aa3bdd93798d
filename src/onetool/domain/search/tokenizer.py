"""Tokenization and stemming of names, descriptions and queries."""

import re
from collections.abc import Sequence
from functools import lru_cache

MAX_WORD_LENGTH = 40
"""Characters of a word; longer words are truncated."""
CACHE_SIZE = 50_000
MIN_STEM_LENGTH = 3
CAMEL_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
WORD_PATTERN = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+")
IS_CJK = re.compile(rf"[{CJK}]")
SYNONYMOUS_VERBS = (
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
"""Groups of verbs that tool names use interchangeably."""
SYNONYMOUS_NOUNS = (
    "file document",
    "folder directory",
    "image picture photo photograph bitmap",
    "website webpage site page url",
    "spreadsheet excel xlsx workbook worksheet sheet",
    "presentation slide deck powerpoint pptx ppt",
    "word docx",
    "mail email message",
    "chart graph plot diagram visualize",
    "price cost worth quote",
    "stock share ticker equity",
    "repository repo",
    "package library module",
    "forecast weather",
    "trending hot popular top",
    "symbol icon",
    "route direction drive navigation",
    "news headline",
    "video clip youtube",
    "song music audio sound track",
    "task todo job",
    "note memo",
    "person people user",
    "program process",
    "version release",
    "summary overview abstract",
    "wikipedia encyclopedia",
    "database sql",
    "password secret",
    "currency money",
    "shell terminal console command",
    "paper article study publication",
    "comment reply thread discussion",
    "place location",
    "history past",
    "issue bug problem",
    "license licence",
    "web internet online",
)
"""Groups of other words that people and tools use for the same thing."""
STOP_WORD_LIST = (
    "a about an and any are as at be been but by can could do does for from give given had has have "
    "how i if in into is it its just let like me my need of off on onto or our out over please should so "
    "some such tell that the their them then there these they this those to too up us use used using via "
    "want was we were what when where whether which while who will with would you your d ll m re s t ve"
)
STOP_WORDS = frozenset(STOP_WORD_LIST.split())
"""Words without search value, including the parts of contractions."""


def tokenize(text: str) -> list[str]:
    """Return the stems of the words of a text; Chinese, Japanese and Korean text becomes character bigrams.

    Stop words are dropped unless there are no other words: a tool may be called `use`.
    """
    words = WORD_PATTERN.findall(text)
    return [token for word in words for token in _tokens(word)] or [stem(word.lower()) for word in words]


@lru_cache(maxsize=CACHE_SIZE)
def _tokens(word: str) -> tuple[str, ...]:
    if IS_CJK.match(word):
        return tuple(word[start : start + 2] for start in range(max(len(word) - 1, 1)))
    lowered = (part[:MAX_WORD_LENGTH].lower() for part in CAMEL_CASE_BOUNDARY.split(word))
    return tuple(stem(part) for part in lowered if part not in STOP_WORDS)


def join_pair(pair: tuple[str, str]) -> str:
    """Join two words, so that `read file` and `readfile` match each other."""
    return "".join(pair)


def stem(word: str) -> str:
    """Remove inflectional suffixes. The result is an index key and may not be a word."""
    if word in SINGULAR_WORDS:
        return word
    for suffix, replacement in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= MIN_STEM_LENGTH:
            word = _remove_doubled_consonant(word.removesuffix(suffix)) + replacement
            break
    return word.removesuffix("e") if len(word) > MIN_STEM_LENGTH else word


def _remove_doubled_consonant(word: str) -> str:
    return word[:-1] if word[-1] == word[-2] and word[-1] not in "aeiouls" else word


SINGULAR_WORDS = frozenset({"news"})
"""Words that end like a plural of another word."""
SUFFIXES = (
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


def _groups(rows: Sequence[str]) -> dict[str, str]:
    return {stem(word): f"={row.split()[0]}" for row in rows for word in row.split()}


VERB_GROUPS = _groups(SYNONYMOUS_VERBS)
"""Stem of each verb and the token of its group; the `=` keeps it apart from tokens of texts."""
SYNONYM_GROUPS = _groups(SYNONYMOUS_NOUNS) | VERB_GROUPS
"""The same for all synonyms."""

"""Rules for other languages: concepts that occur in one clause, in any order."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from .languages import LANGUAGES, Language
from .normalization import fold_words
from .patterns import compile_pattern, compile_set
from .word_lists import SENSITIVE_PATH

CLAUSE_END = re.compile(r"[!?;。।؟]|\.(?=\s)|\n[ \t]*(?:\n|[-*•])")
NO_LETTER = "[^a-z\u00c0-\u024f\u0370-\u052f\u0900-\u097f]"
"""What may surround words in the Latin, Greek, Cyrillic and Devanagari scripts; `\\pL` compiles slowly."""
SYSTEM = r"(?:système|sistema|systeem|система|sistem|系统|系統|システム|시스템|نظام|सिस्टम)"
IMPORTANT = r"(?:wichtig|importante?|belangrijk|ważne|важно|важливо|önemli|重要|중요|مهم|महत्वपूर्ण)"
SYSTEM_TAG = fold_words(rf"<\s*/?\s*(?:{SYSTEM}|{IMPORTANT})\s*>|\[\s*/?{SYSTEM}\s*\]")
QUOTED_EXAMPLE = fold_words(
    r"(?:erkenn|entdeck|détect|detect|rileva|wykrywa|обнаруж|выявл|виявл|algıla|tespit|检测|偵測|识别|検出|検知|탐지|"
    r"감지|كشف|पता लगा)[^\"'«»「」.!?;]{0,80}(?:\s'|[\"«「])[^\"'«»「」]{0,120}[\"'»」]"
)
"""A quotation of what a tool detects; an apostrophe inside a word starts none."""


class ConceptRule(NamedTuple):
    """One kind of injected instruction: concepts that all occur in one clause."""

    reason: str
    concepts: frozenset[str]
    ignore_if_negated: bool = False
    """Whether the clause is harmless if it says never to send something."""


def _rule(reason: str, concepts: str, *, ignore_if_negated: bool = False) -> ConceptRule:
    return ConceptRule(reason, frozenset(concepts.split()), ignore_if_negated)


CONCEPT_RULES = (
    _rule("fake system tag", "system_tag"),
    _rule("overrides instructions", "ignore scope instructions"),
    _rule("overrides instructions", "ignore told"),
    _rule("overrides instructions", "new_role"),
    _rule("hides actions from the user", "not_tell user"),
    _rule("hides actions from the user", "not_tell reply"),
    _rule("hides actions from the user", "not_know user"),
    _rule("hides actions from the user", "secretly send"),
    _rule("hides actions from the user", "secretly read"),
    _rule("asks for secrets", "read path", ignore_if_negated=True),
    _rule("asks for secrets", "send secrets quantity", ignore_if_negated=True),
    _rule("asks for the conversation", "send conversation", ignore_if_negated=True),
)


def match_concepts(folded: str) -> list[str]:
    """Return the reasons of the rules that a folded text matches."""
    text = compile_pattern(QUOTED_EXAMPLE).sub(" ", folded)
    rules = _matching_rules(CONCEPT_RULES, text)
    clauses = CLAUSE_END.split(text) if rules else []
    return [
        rule.reason
        for clause in clauses
        for rule in _matching_rules(rules, clause)
        if not (rule.ignore_if_negated and compile_pattern(_negated_sending()).search(clause))
    ]


def _matching_rules(rules: Sequence[ConceptRule], text: str) -> list[ConceptRule]:
    names, pattern_set = _concept_set()
    concepts = {names[index] for index in pattern_set.Match(" ".join(text.split())) or ()}
    return [rule for rule in rules if rule.concepts <= concepts]


@cache
def _concept_set() -> tuple[list[str], Any]:
    """Return the concept of each pattern, and the patterns."""
    named = [
        (name, pattern)
        for language in LANGUAGES.values()
        for name, pattern in _patterns(language).items()
        if name != "never"
    ]
    named += [("system_tag", SYSTEM_TAG), ("path", SENSITIVE_PATH)]
    return [name for name, _ in named], compile_set(pattern for _, pattern in named)


@cache
def _negated_sending() -> str:
    # apart from the set: these combinations would make every search several times as slow
    languages = [_patterns(language) for language in LANGUAGES.values()]
    return "|".join(
        f"{words['never']}.{{0,12}}{words['send']}|{words['send']}.{{0,12}}{words['never']}"
        for words in languages
    )


def _patterns(language: Language) -> dict[str, str]:
    start = rf"(?:^|{NO_LETTER})" if language.starts_words else ""
    fragments = {name: value for name, value in language._asdict().items() if isinstance(value, str)}
    return {
        name: f"{start}(?:{fold_words(value).replace('>', f'(?:{NO_LETTER}|$)')})"
        for name, value in fragments.items()
    }

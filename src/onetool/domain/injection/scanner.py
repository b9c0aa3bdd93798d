"""Detection of prompt injection in tool descriptions from untrusted MCP servers."""

import re
from functools import cache
from typing import Any

from .concepts import match_concepts
from .normalization import (
    MAX_DECODE_DEPTH,
    decode_blobs,
    decode_leet,
    find_blobs,
    find_hidden_characters,
    fold,
    normalize,
    reveal,
)
from .patterns import compile_pattern
from .polite_requests import POLITE_RULES
from .rules import INJECTION_RULES, InjectionRule
from .signals import SIGNALS
from .word_lists import DEFENSIVE_CLAUSE, DOUBLE_NEGATION, INSTRUCTION_START, NEGATED_ACTION

RULES = (*INJECTION_RULES, *POLITE_RULES)
MIN_SIGNALS = 2
"""Different weak signals that together are a finding."""


def scan(text: str) -> list[str]:
    """Return short reasons why a description looks like prompt injection; empty if it does not."""
    return list(dict.fromkeys(_scan(text, MAX_DECODE_DEPTH)))


def _scan(text: str, depth: int) -> list[str]:
    revealed = reveal(text)
    normalized = normalize(revealed)
    reasons = [
        *find_hidden_characters(text),
        *(["encoded blob"] if find_blobs(text) else []),
        *(reason for variant in _variants(normalized) for reason in _match_rules(variant)),
        *match_concepts(fold(revealed)),
    ]
    for decoded in decode_blobs(text) if depth else ():
        reasons += ["encoded text", *_scan(decoded, depth - 1)]
    return reasons


def _match_rules(normalized: str) -> list[str]:
    text = compile_pattern(DOUBLE_NEGATION).sub(" ", _without_mentions(normalized))
    without_negated = compile_pattern(NEGATED_ACTION).sub(" ", text)
    findings, signals = (_matching_reasons(rules, text, without_negated) for rules in (RULES, SIGNALS))
    return findings + signals if findings or len(signals) >= MIN_SIGNALS else []


def _matching_reasons(rules: tuple[InjectionRule, ...], text: str, without_negated: str) -> list[str]:
    if not any(_compile_all(rules).search(variant) for variant in {text, without_negated}):
        return []
    return [
        rule.reason for rule in rules if _matches(rule, without_negated if rule.ignore_if_negated else text)
    ]


def _matches(rule: InjectionRule, text: str) -> bool:
    return any(compile_pattern(pattern).search(text) for pattern in rule.patterns)


def _without_mentions(text: str) -> str:
    """Remove what a tool says it detects or prevents, but not an instruction in the same clause."""
    parts, end = [], 0
    for clause in compile_pattern(DEFENSIVE_CLAUSE).finditer(text):
        instruction = compile_pattern(INSTRUCTION_START).search(clause.group())
        parts.append(text[end : clause.start()])
        end = clause.start() + instruction.start() if instruction else clause.end()
    return " ".join([*parts, text[end:]])


def _variants(normalized: str) -> dict[str, None]:
    return dict.fromkeys((normalized, decode_leet(normalized, _rule_words())))


@cache
def _rule_words() -> frozenset[str]:
    """Return the words of the English rules."""
    patterns = [pattern for rule in (*RULES, *SIGNALS) for pattern in rule.patterns]
    return frozenset(word for pattern in patterns for word in re.findall(r"[a-z]{2,}", pattern))


@cache
def _compile_all(rules: tuple[InjectionRule, ...]) -> Any:
    """Combine all patterns, so that a harmless text is searched once instead of once per pattern."""
    return compile_pattern("|".join(f"(?:{pattern})" for rule in rules for pattern in rule.patterns))

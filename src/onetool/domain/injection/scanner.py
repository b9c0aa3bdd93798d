"""Detection of prompt injection in tool descriptions from untrusted MCP servers."""

from functools import cache
from typing import Any

from .normalization import MAX_DECODE_DEPTH, decode_blobs, find_blobs, find_hidden_characters, normalize
from .rules import INJECTION_RULES, InjectionRule
from .signals import SIGNALS
from .word_lists import DEFENSIVE_CLAUSE, DOUBLE_NEGATION, INSTRUCTION_START, NEGATED_ACTION

MIN_SIGNALS = 2
"""Different weak signals that together are a finding."""

MAX_MEMORY = 64 * 2**20


def scan(text: str) -> list[str]:
    """Return short reasons why a description looks like prompt injection; empty if it does not."""
    return list(dict.fromkeys(_scan(text, MAX_DECODE_DEPTH)))


def _scan(text: str, depth: int) -> list[str]:
    reasons = [
        *find_hidden_characters(text),
        *(["encoded blob"] if find_blobs(text) else []),
        *_match_rules(normalize(text)),
    ]
    for decoded in decode_blobs(text) if depth else ():
        reasons += ["encoded text", *_scan(decoded, depth - 1)]
    return reasons


def _match_rules(normalized: str) -> list[str]:
    text = _compile(DOUBLE_NEGATION).sub(" ", _without_mentions(normalized))
    without_negated = _compile(NEGATED_ACTION).sub(" ", text)
    findings, signals = (
        _matching_reasons(rules, text, without_negated) for rules in (INJECTION_RULES, SIGNALS)
    )
    return findings + signals if findings or len(signals) >= MIN_SIGNALS else []


def _matching_reasons(rules: tuple[InjectionRule, ...], text: str, without_negated: str) -> list[str]:
    if not any(_compile_all(rules).search(variant) for variant in {text, without_negated}):
        return []
    return [
        rule.reason for rule in rules if _matches(rule, without_negated if rule.ignore_if_negated else text)
    ]


def _matches(rule: InjectionRule, text: str) -> bool:
    return any(_compile(pattern).search(text) for pattern in rule.patterns)


def _without_mentions(text: str) -> str:
    """Remove what a tool says it detects or prevents, but not an instruction in the same clause."""
    parts, end = [], 0
    for clause in _compile(DEFENSIVE_CLAUSE).finditer(text):
        instruction = _compile(INSTRUCTION_START).search(clause.group())
        parts.append(text[end : clause.start()])
        end = clause.start() + instruction.start() if instruction else clause.end()
    return " ".join([*parts, text[end:]])


@cache
def _compile_all(rules: tuple[InjectionRule, ...]) -> Any:
    """Combine all patterns, so that a harmless text is searched once instead of once per pattern."""
    return _compile("|".join(f"(?:{pattern})" for rule in rules for pattern in rule.patterns))


@cache
def _compile(pattern: str) -> Any:
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.max_mem, options.log_errors = MAX_MEMORY, False  # below this, RE2 falls back to a slower engine
    return re2.compile(f"(?i){pattern}", options)

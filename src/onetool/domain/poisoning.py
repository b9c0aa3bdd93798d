"""Find orders to the model in the description of a tool: the texts that a stranger's server hands us."""

from functools import cache
from typing import Any

from .poisoning_rules import ORDERS, Rule
from .poisoning_signs import SIGNS
from .poisoning_text import NESTING, blobs, decoded, hidden_characters, normalise
from .poisoning_words import DEFENDING, DOUBLE_NEGATION, NEGATED, TURNING

ENOUGH = 2
"""Signs of different kinds that make a finding together."""

MOST_MEMORY = 64 * 2**20


def scan(text: str) -> list[str]:
    """Return why a description looks poisoned, in short reasons; nothing for an honest one."""
    return list(dict.fromkeys(_scan(text, NESTING)))


def _scan(text: str, depth: int) -> list[str]:
    found = hidden_characters(text) + (["an encoded blob"] if blobs(text) else []) + _orders(normalise(text))
    for inner in decoded(text) if depth else ():
        found += ["text in disguise", *_scan(inner, depth - 1)]
    return found


def _orders(plain: str) -> list[str]:
    said = _compiled(DOUBLE_NEGATION).sub(" ", _without_mentions(plain))
    calm = _compiled(NEGATED).sub(" ", said)
    orders, signs = (_given(rules, said, calm) for rules in (ORDERS, SIGNS))
    return orders + signs if orders or len(signs) >= ENOUGH else []


def _given(rules: tuple[Rule, ...], said: str, calm: str) -> list[str]:
    if not any(_any_of(rules).search(text) for text in {said, calm}):
        return []
    return [rule.reason for rule in rules if _matches(rule, calm if rule.is_protection_if_negated else said)]


def _matches(rule: Rule, text: str) -> bool:
    return any(_compiled(pattern).search(text) for pattern in rule.patterns)


def _without_mentions(plain: str) -> str:
    """Leave out what a tool says it detects or prevents; an order in the same clause stays."""
    kept, end = [], 0
    for clause in _compiled(DEFENDING).finditer(plain):
        turn = _compiled(TURNING).search(clause.group())
        kept.append(plain[end : clause.start()])
        end = clause.start() + turn.start() if turn else clause.end()
    return " ".join([*kept, plain[end:]])


@cache
def _any_of(rules: tuple[Rule, ...]) -> Any:
    """All patterns as one: an honest text is looked through once, and not fifty times."""
    return _compiled("|".join(f"(?:{pattern})" for rule in rules for pattern in rule.patterns))


@cache
def _compiled(pattern: str) -> Any:
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.max_mem, options.log_errors = MOST_MEMORY, False  # with less it takes a slower way, and says so
    return re2.compile(f"(?i){pattern}", options)

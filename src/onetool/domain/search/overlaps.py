"""Packs with tools for the same purpose, such as a local pack for files and a file server."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from .tokenizer import VERB_GROUPS, tokenize

MIN_SHARED = 2
"""Tools that two packs must share to overlap; half of the tools suffice in a smaller pack."""


def overlapping_packs(packs: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return the packs that overlap with each pack, by the names of their functions.

    Two functions have the same purpose if their names consist of the same words, with or without the name
    of the pack: `file.read` and `fs.read_file`. Verbs of the same group are the same word, and verbs alone
    say too little.
    """
    names = {pack: set(functions) for pack, functions in packs.items()}
    shared = _shared_functions(names)
    overlaps = defaultdict[str, list[str]](list)
    for pack, other in sorted(shared):
        needed = min(MIN_SHARED, (min(len(names[pack]), len(names[other])) + 1) // 2)
        if min(len(shared[pack, other]), len(shared[other, pack])) >= needed:
            overlaps[pack].append(other)
    return dict(overlaps)


def _shared_functions(packs: Mapping[str, set[str]]) -> Mapping[tuple[str, str], set[str]]:
    """Return the functions of one pack that another pack has too, by both packs."""
    tools = defaultdict[frozenset[str], set[tuple[str, str]]](set)
    for pack, functions in packs.items():
        for name in functions:
            for purpose in _purposes(pack, name):
                tools[purpose].add((pack, name))
    shared = defaultdict[tuple[str, str], set[str]](set)
    for members in tools.values():
        owners = {pack for pack, _ in members}
        for pack, name in members:
            for other in owners - {pack}:
                shared[pack, other].add(name)
    return shared


def _purposes(pack: str, function: str) -> set[frozenset[str]]:
    """Return the sets of words that name the purpose of a tool."""
    words, pack_words = set(tokenize(function)), set(tokenize(pack))
    return {
        frozenset(VERB_GROUPS.get(word, word) for word in purpose)
        for purpose in (words, words | pack_words)
        if not purpose <= VERB_GROUPS.keys()
    }

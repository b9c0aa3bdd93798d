"""Secrets that are recognized by their own form: tokens of known services, and random strings."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

Span = tuple[int, int]
KNOWN_TOKEN = re.compile(
    r"""(?<![A-Za-z0-9])(?:
    gh[oprsu]_[A-Za-z0-9]{16,} | github_pat_\w{16,} | glpat-[\w-]{16,}
    | sk-[\w-]{16,} | [prs]k_(?:live|test)_\w{10,} | whsec_[\w+/=-]{16,}
    | xox[abeoprs]-[\w-]{10,} | xapp-[\w-]{10,} | ntn_\w{16,} | secret_[A-Za-z0-9]{24,} | lin_api_\w{16,}
    | A(?:KIA|SIA)[A-Z0-9]{12,} | AIza[\w-]{30,} | ya29\.[\w-]{16,} | GOCSPX-[\w-]{16,}
    | eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?
    | npm_[A-Za-z0-9]{24,} | pypi-[\w-]{24,} | hf_[A-Za-z0-9]{16,} | r8_[A-Za-z0-9]{16,}
    | gsk_[A-Za-z0-9]{16,}
    | pplx-[A-Za-z0-9]{16,} | tvly-[\w-]{16,} | dop_v1_[0-9a-f]{24,} | figd_[\w-]{16,}
    | SG\.[\w-]{16,}\.[\w-]{16,} | AGE-SECRET-KEY-1\w{16,}
    ) | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----[^-]*""",
    re.VERBOSE,
)
"""Tokens and keys whose services gave them a prefix, so that they can be found."""
RUN = re.compile(r"(?<![@#A-Za-z0-9])(?<!sha\d{3}[:-])[A-Za-z0-9]{20,}")
"""Letters and digits that could be random: not the hash of a version or of a package."""
HEXADECIMAL = re.compile(r"[0-9a-f]{32,}|[0-9A-F]{32,}")
MIN_CHANGES, MIN_HEX_CHANGES, MIN_DIGITS, MIN_BITS = 0.4, 0.3, 2, 3.2
"""Changes between upper case, lower case and digits a character, digits, and bits of entropy a character."""


def known_tokens(text: str) -> Iterator[Span]:
    """Yield where a text contains tokens and keys of known services.

    >>> list(known_tokens("a ghp_abcdefghij0123456789 b"))
    [(2, 26)]
    """
    yield from (match.span() for match in KNOWN_TOKEN.finditer(text))


def random_strings(text: str) -> Iterator[Span]:
    """Yield where a text contains strings that a program probably generated.

    >>> list(random_strings("getWeatherForecastForCity2 x7Rt5Qz9mK2pL8wN4vB6"))
    [(27, 47)]
    """
    yield from (match.span() for match in RUN.finditer(text) if _is_random(match[0]))


def without_tokens(text: str, replacement: str) -> str:
    """Return a text with a replacement instead of each token and each random string."""
    result, end = "", 0
    for start, stop in sorted([*known_tokens(text), *random_strings(text)]):
        if start >= end:
            result += text[end:start] + replacement
        end = max(end, stop)
    return result + text[end:]


def _is_random(run: str) -> bool:
    kinds = ["0" if char.isdigit() else "A" if char.isupper() else "a" for char in run]
    changes = sum(before != after for before, after in pairwise(kinds))
    counts = Counter(run.lower()).values()
    bits = -sum(count / len(run) * math.log2(count / len(run)) for count in counts)
    is_mixed = kinds.count("0") >= MIN_DIGITS and len(set(kinds)) > 1
    least = MIN_HEX_CHANGES if HEXADECIMAL.fullmatch(run) else MIN_CHANGES
    return is_mixed and changes >= least * len(run) and bits >= MIN_BITS

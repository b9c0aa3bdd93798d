"""Removal of disguises from texts: invisible characters, marks, lookalike letters, entities, encoded text."""

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Collection
from itertools import chain, product, zip_longest

MIN_BLOB_LENGTH = 24
"""Shortest base64 or hex run that can encode an instruction; shorter ones are names or commit hashes."""
SUSPICIOUS_BLOB_LENGTH = 100
"""Length from which a blob is a finding whatever it contains; no checksum is as long."""
MAX_DECODE_DEPTH = 2
FLAG_EMOJI = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{2,6}\U000e007f")
"""Flags of England, Scotland and Wales, the only legitimate use of tag characters."""
UNUSUAL = re.compile(r"[^\t\n\r -~]")
BLOB = re.compile(rf"[A-Za-z0-9+/_-]{{{MIN_BLOB_LENGTH},}}")
HEX = re.compile(r"[0-9a-fA-F]+")
ESCAPE_SEQUENCES = re.compile(
    r"(?:\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|%[2-7][0-9a-fA-F]|&#x?[0-9a-fA-F]{2,6};){6,}"
)
ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]\w{1,30});")
"""A character as HTML entity; Python raises an error for numbers of thousands of digits."""
SPACED_WORD = re.compile(r"(?<!\w)(?:[^\W\d_][ ._*|/~\u00b7-]){3,}[^\W\d_](?!\w)")
"""A word with separators between its letters."""
MARKS = re.compile("[\u0300-\u036f\u0640\u064b-\u0652]+")
"""Marks on Latin, Greek and Cyrillic letters; the vowel marks and the lengthening of Arabic letters."""
LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0408\u0405"
    "\u03b1\u03bf\u03c1\u03bd\u03b9\u03ba\u03c4\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7"
    "\u2018\u2019\u201c\u201d\u2010\u2011\u2013\u2014",
    "aeopcyxijshdwABEKMHOPCTXIJSaopvikTABEHIKMNOPTX''\"\"----",
)


LEET_WORD = re.compile(r"(?<![A-Za-z0-9@$!|])[A-Za-z]*+[0134578@$!|][A-Za-z0-9@$!|]*")
"""A run of letters and signs with a sign that can stand for a letter."""
LEET_SIGNS = str.maketrans("034578@$", "oeastbas")
MAX_AMBIGUOUS = 4
"""Signs in one word that stand for `i` or `l` and are tried in every combination."""
FOLDED_LETTERS = LOOKALIKES | str.maketrans(
    {"\u0131": "i", "\u0142": "l", "\xdf": "ss", "\xf8": "o", "\u0111": "d", "\u0307": None}
)
"""Lookalikes, and letters that Unicode does not split into a Latin letter and a mark."""


def reveal(text: str) -> str:
    """Return a text as a model reads it: no entities, invisible characters, marks or letter variants."""
    decoded = ENTITY.sub(lambda match: html.unescape(match.group()), text)
    if decoded.isascii():
        return decoded
    unmarked = unicodedata.normalize("NFC", MARKS.sub("", unicodedata.normalize("NFKD", decoded)))
    return "".join(char for char in unmarked if char.isascii() or not _is_invisible(char))


def normalize(revealed: str) -> str:
    """Return a revealed text for rules about English words: no lookalikes or spaced letters."""
    unified = revealed if revealed.isascii() else revealed.translate(LOOKALIKES)
    return re.sub(r"\s+", " ", _join_letters(unified))


def fold(revealed: str) -> str:
    """Return a revealed text for rules about words of any language: normalized lower case, with its lines."""
    return _join_letters(_fold_letters(revealed))


def fold_words(pattern: str) -> str:
    """Return a pattern that matches folded texts."""
    return _fold_letters(reveal(pattern))


def _fold_letters(text: str) -> str:
    return text.lower() if text.isascii() else text.lower().translate(FOLDED_LETTERS)


def decode_leet(text: str, words: Collection[str]) -> str:
    """Replace digits and signs that stand for letters, where the result is one of the words.

    >>> decode_leet("d0 n0t use base64", {"do", "not"})
    'do not use base64'
    """
    return LEET_WORD.sub(lambda match: _decode_leet_word(match.group(), words), text)


def _decode_leet_word(word: str, words: Collection[str]) -> str:
    translated = re.sub(r"[1!|]", "1", word.rstrip("!")).lower().translate(LEET_SIGNS)
    parts = translated.split("1")
    if word.isdigit() or len(parts) > MAX_AMBIGUOUS + 1:
        return word
    for letters in product("il", repeat=len(parts) - 1):
        decoded = "".join(chain.from_iterable(zip_longest(parts, letters, fillvalue="")))
        if decoded in words or decoded.removesuffix("s") in words or f"{decoded}s" in words:
            return decoded
    return word


def _join_letters(text: str) -> str:
    return SPACED_WORD.sub(lambda match: re.sub(r"[\W_]", "", match.group()), text)


def find_hidden_characters(text: str) -> list[str]:
    """Return the kinds of suspicious characters in a text that people do not see."""
    if not UNUSUAL.search(text):
        return []
    shown = " " + FLAG_EMOJI.sub("", text)
    found = {_classify(match.group(), shown[match.start() - 1]) for match in UNUSUAL.finditer(shown)}
    return sorted(found - {""})


def find_blobs(text: str) -> list[str]:
    """Return long runs of encoded data."""
    encoded = [
        blob for blob in BLOB.findall(text) if len(blob) >= SUSPICIOUS_BLOB_LENGTH and _looks_encoded(blob)
    ]
    return encoded + [match.group() for match in ESCAPE_SEQUENCES.finditer(text)]


def decode_blobs(text: str) -> list[str]:
    """Return the texts that are encoded in base64 or hex inside a text."""
    return [decoded for blob in BLOB.findall(text) for decoded in _decode(blob)]


def _is_invisible(char: str) -> bool:
    return unicodedata.category(char) == "Cf" or _is_variation_selector(char)


def _is_variation_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def _classify(char: str, previous: str) -> str:
    if char.isascii():
        return "control characters" if _is_control(char, previous) else ""
    if "\U000e0000" <= char <= "\U000e007f":
        return "tag characters"
    if "\u202a" <= char <= "\u202e" or "\u2066" <= char <= "\u2069":
        return "bidirectional control characters"
    if "\x80" <= char <= "\x9f":
        return "control characters"
    return "invisible characters" if _is_invisible(char) and _is_suspicious(char, previous) else ""


def _is_suspicious(char: str, previous: str) -> bool:
    # joiners shape Persian words and emoji, and marks order brackets: legitimate ones occur singly and not
    # after an English letter
    follows_english = previous.isascii() and previous.isalpha()
    follows_invisible = _is_invisible(previous) and previous != "\ufe0f"
    return char in "\u200b\u2060\u2061\u2062\u2063\u2064\u00ad\ufeff" or follows_english or follows_invisible


def _is_control(char: str, previous: str) -> bool:
    # a backspace at the start of a line marks a paragraph that click does not rewrap
    return (char < " " and char not in "\t\n\r\b") or char == "\x7f" or (char == "\b" and previous != "\n")


def _looks_encoded(blob: str) -> bool:
    """Accept hex, or a mix of capitals, lower-case letters and digits; reject paths and lines of dashes."""
    kinds = (str.isupper, str.islower, str.isdigit)
    return bool(HEX.fullmatch(blob)) or all(any(kind(char) for char in blob) for kind in kinds)


def _decode(blob: str) -> list[str]:
    candidates = [_decode_base64(blob)]
    if HEX.fullmatch(blob) and len(blob) % 2 == 0:
        candidates.append(bytes.fromhex(blob))
    texts = [data.decode(errors="replace") for data in candidates]
    return [text for text in texts if _is_prose(text)]


def _decode_base64(blob: str) -> bytes:
    standard = blob.translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4))
    except binascii.Error:
        return b""


def _is_prose(text: str) -> bool:
    """Accept words with spaces, and texts in scripts that need none."""
    is_readable = all(char.isprintable() or char in "\t\n\r" for char in text) and "\ufffd" not in text
    return is_readable and (" " in text or not text.isascii())

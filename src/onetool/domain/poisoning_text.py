"""What a text hides: characters that nobody sees, words in disguise, texts inside of encoded blobs."""

import base64
import binascii
import re
import unicodedata
from itertools import pairwise

SHORTEST_BLOB = 24
"""Characters of base64 or hex that can hold an order; shorter ones are names and hashes of commits."""
LONGEST_BLOB = 100
"""A blob beyond any checksum, whatever is inside."""
NESTING = 2
FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{2,6}\U000e007f")
"""The flags of England, Scotland and Wales are the one honest use of tag characters."""
BLOB = re.compile(rf"[A-Za-z0-9+/_-]{{{SHORTEST_BLOB},}}")
HEX = re.compile(r"[0-9a-fA-F]+")
ESCAPED = re.compile(r"(?:\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|%[2-7][0-9a-fA-F]|&#x?[0-9a-fA-F]{2,6};){6,}")
SPACED = re.compile(r"(?<!\w)(?:[A-Za-z][ ._-]){3,}[A-Za-z](?!\w)")
"""A word whose letters stand apart."""
LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0408\u0405"
    "\u03b1\u03bf\u03c1\u03bd\u03b9\u03ba\u03c4\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7"
    "\u2018\u2019\u201c\u201d\u2010\u2011\u2013\u2014",
    "aeopcyxijshdwABEKMHOPCTXIJSaopvikTABEHIKMNOPTX''\"\"----",
)


def normalise(text: str) -> str:
    """Write a text as a model reads it: one form, one blank, nothing invisible, no lookalikes."""
    shown = "".join(char for char in unicodedata.normalize("NFKC", text) if not _is_unseen(char))
    joined = SPACED.sub(lambda found: re.sub(r"[\W_]", "", found.group()), shown.translate(LOOKALIKES))
    return re.sub(r"\s+", " ", joined)


def hidden_characters(text: str) -> list[str]:
    """Say which kinds of characters stand in a text that people do not see."""
    plain = FLAG.sub("", text)
    return sorted({_kind(char, before) for before, char in pairwise(" " + plain)} - {""})


def blobs(text: str) -> list[str]:
    """Return what is too long and too regular to be words."""
    return [one for one in BLOB.findall(text) if len(one) >= LONGEST_BLOB and _is_mixed(one)] + [
        found.group() for found in ESCAPED.finditer(text)
    ]


def decoded(text: str) -> list[str]:
    """Return the texts that are written in base64 or hex inside of a text."""
    return [plain for blob in BLOB.findall(text) for plain in _readings(blob)]


def _is_unseen(char: str) -> bool:
    return unicodedata.category(char) == "Cf" or _is_selector(char)


def _is_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def _kind(char: str, before: str) -> str:
    if char.isascii():
        return "control characters" if _is_control(char, before) else ""
    if "\U000e0000" <= char <= "\U000e007f":
        return "tag characters"
    if "\u202a" <= char <= "\u202e" or "\u2066" <= char <= "\u2069":
        return "characters that turn the direction of text"
    if "\x80" <= char <= "\x9f":
        return "control characters"
    return "invisible characters" if _is_unseen(char) and _is_hiding(char, before) else ""


def _is_hiding(char: str, before: str) -> bool:
    # joiners shape Persian words and emoji, marks turn brackets: honest ones stand alone, and not in English
    is_in_english = before.isascii() and before.isalpha()
    is_one_of_many = _is_unseen(before) and before != "\ufe0f"
    return char in "\u200b\u2060\u2061\u2062\u2063\u2064\u00ad\ufeff" or is_in_english or is_one_of_many


def _is_control(char: str, before: str) -> bool:
    # a backspace that begins a line only asks for its lines to be kept, as texts of command lines do
    return (char < " " and char not in "\t\n\r\b") or char == "\x7f" or (char == "\b" and before != "\n")


def _is_mixed(blob: str) -> bool:
    """Capitals, small letters and digits, or hex alone: not a path and not a line of dashes."""
    kinds = (str.isupper, str.islower, str.isdigit)
    return bool(HEX.fullmatch(blob)) or all(any(kind(char) for char in blob) for kind in kinds)


def _readings(blob: str) -> list[str]:
    tried = [_base64(blob)]
    if HEX.fullmatch(blob) and len(blob) % 2 == 0:
        tried.append(bytes.fromhex(blob))
    return [data.decode("ascii") for data in tried if _is_prose(data)]


def _base64(blob: str) -> bytes:
    plain = blob.translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4))
    except binascii.Error:
        return b""


def _is_prose(data: bytes) -> bool:
    return data.isascii() and b" " in data and all(32 <= byte < 127 or byte in b"\t\n\r" for byte in data)

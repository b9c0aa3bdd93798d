"""Removal of disguises from texts: invisible characters, lookalike letters, encoded text."""

import base64
import binascii
import re
import unicodedata
from itertools import pairwise

MIN_BLOB_LENGTH = 24
"""Shortest base64 or hex run that can encode an instruction; shorter ones are names or commit hashes."""
SUSPICIOUS_BLOB_LENGTH = 100
"""Length from which a blob is a finding whatever it contains; no checksum is as long."""
MAX_DECODE_DEPTH = 2
FLAG_EMOJI = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{2,6}\U000e007f")
"""Flags of England, Scotland and Wales, the only legitimate use of tag characters."""
BLOB = re.compile(rf"[A-Za-z0-9+/_-]{{{MIN_BLOB_LENGTH},}}")
HEX = re.compile(r"[0-9a-fA-F]+")
ESCAPE_SEQUENCES = re.compile(
    r"(?:\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|%[2-7][0-9a-fA-F]|&#x?[0-9a-fA-F]{2,6};){6,}"
)
SPACED_WORD = re.compile(r"(?<!\w)(?:[A-Za-z][ ._-]){3,}[A-Za-z](?!\w)")
"""A word with separators between its letters."""
LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0408\u0405"
    "\u03b1\u03bf\u03c1\u03bd\u03b9\u03ba\u03c4\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7"
    "\u2018\u2019\u201c\u201d\u2010\u2011\u2013\u2014",
    "aeopcyxijshdwABEKMHOPCTXIJSaopvikTABEHIKMNOPTX''\"\"----",
)


def normalize(text: str) -> str:
    """Return a text as a model reads it: no invisible characters, lookalikes or spaced letters."""
    visible = "".join(char for char in unicodedata.normalize("NFKC", text) if not _is_invisible(char))
    joined = SPACED_WORD.sub(lambda match: re.sub(r"[\W_]", "", match.group()), visible.translate(LOOKALIKES))
    return re.sub(r"\s+", " ", joined)


def find_hidden_characters(text: str) -> list[str]:
    """Return the kinds of suspicious characters in a text that people do not see."""
    without_flags = FLAG_EMOJI.sub("", text)
    return sorted({_classify(char, previous) for previous, char in pairwise(" " + without_flags)} - {""})


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
    return [data.decode("ascii") for data in candidates if _is_prose(data)]


def _decode_base64(blob: str) -> bytes:
    standard = blob.translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4))
    except binascii.Error:
        return b""


def _is_prose(data: bytes) -> bool:
    return data.isascii() and b" " in data and all(32 <= byte < 127 or byte in b"\t\n\r" for byte in data)

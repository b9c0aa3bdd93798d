"""Redaction of texts that arrive in pieces: a secret may be split over several of them."""

import threading
from bisect import bisect_right

from .credential_set import CredentialSet
from .redaction import MIN_LENGTH, Redactor, mask_spans


class StreamRedactor:
    """Redacts the pieces of one text. Withholds the end of a piece that could begin a secret."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._withheld = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown after this piece. All returned texts together are the redacted text."""
        text = self._withheld + piece
        end = unfinished_secret(self._redactor, text)
        spans = self._redactor.spans(text)
        for start, stop in reversed(spans):  # sorted by start, so one pass finds every overlap
            if start < end < stop:
                end = start
        self._withheld = text[end:]
        return self._redactor.redact(text[:end])

    def flush(self) -> str:
        """Return what was withheld, at the end of the text."""
        withheld, self._withheld = self._withheld, ""
        return self._redactor.redact(withheld)


class MessageRedactor:
    """Redacts messages that are shown one after the other, each at once. Thread-safe.

    Nothing is withheld. So the beginning of a secret at the end of a message is masked, if it is long
    enough not to be an ordinary word, and so is the rest of the secret in the messages after it.
    """

    def __init__(self, credentials: CredentialSet) -> None:
        self._credentials, self._lock = credentials, threading.Lock()
        self._tail = ""
        """The end of the messages so far, if it could begin a secret."""

    def redact(self, message: str) -> str:
        """Return the message with every secret, and every part of one, masked."""
        with self._lock:
            redactor, shown = self._credentials.redactor, len(self._tail)
            text = self._tail + message
            start = unfinished_secret(redactor, text)
            self._tail = text[start:]
        spans = redactor.spans(text)
        if len(text) - start >= MIN_LENGTH:
            spans = sorted([*spans, (start, len(text))])
        return mask_spans(message, [(max(a - shown, 0), b - shown) for a, b in spans if b > shown])


def unfinished_secret(redactor: Redactor, text: str) -> int:
    """Return where a secret may begin that is not complete at the end of the text, or the text's length."""
    longest = max((len(form) for forms in redactor.forms for form in forms), default=0)
    for start in range(max(len(text) - longest + 1, 0), len(text)):
        beginning = text[start:]
        for forms in redactor.forms:
            following = bisect_right(forms, beginning)  # the first form after it in sorted order
            if following < len(forms) and forms[following].startswith(beginning):
                return start
    return len(text)

"""Names of tools, arguments and secrets, made of what an API calls them."""

import re
import unicodedata
from collections.abc import Iterable

from onetool.domain.bundle_ids import LONGEST_SLUG

HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def slug_from(text: str) -> str:
    """`listPets_v2` as `list-pets-v2`; empty where no letter or digit is left."""
    lower = unicodedata.normalize("NFC", HUMPS.sub("-", text).lower())
    kept = "".join(char if _is_word(char) else "-" for char in lower)
    return re.sub("-+", "-", kept).strip("-")[:LONGEST_SLUG].rstrip("-")


def argument_from(text: str) -> str:
    """A name that a template can hold: `X-Request-ID` as `X_Request_ID`."""
    name = re.sub(r"\W", "_", unicodedata.normalize("NFKC", text)) or "_"
    return f"_{name}" if name[0].isnumeric() or name == "steps" else name


def secret_from(*parts: str) -> str:
    """`petstore`, `apiKey` as `PETSTORE_API_KEY`."""
    text = unicodedata.normalize("NFKD", "_".join(HUMPS.sub("_", part) for part in parts)).upper()
    plain = "".join(char for char in text if not unicodedata.combining(char))
    name = re.sub(r"[\W_]+", "_", plain).strip("_")
    return f"_{name}" if name[:1].isnumeric() else name


class UniqueNames:
    """Names of which each is given once: `find`, then `find-2`."""

    def __init__(self, separator: str, longest: int, taken: Iterable[str] = ()) -> None:
        self._separator, self._longest = separator, longest
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def take(self, name: str) -> str:
        """Return the name, or the first of its numbered forms that is free."""
        free = name[: self._longest]
        while free in self._taken:
            self._last[name] = number = self._last.get(name, 1) + 1
            suffix = f"{self._separator}{number}"
            free = name[: self._longest - len(suffix)] + suffix
        self._taken.add(free)
        return free


def _is_word(char: str) -> bool:
    kind = unicodedata.category(char)
    return kind.startswith("L") or kind == "Nd"

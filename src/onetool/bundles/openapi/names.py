"""Names of tools, arguments and secrets, derived from the names in an API."""

import re
import unicodedata
from collections.abc import Iterable

from onetool.domain.bundles.identifiers import MAX_SLUG_LENGTH

CAMEL_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def slug_from(text: str) -> str:
    """Return a slug: `listPets_v2` becomes `list-pets-v2`. Empty if the text has no letter or digit."""
    lower = unicodedata.normalize("NFC", CAMEL_CASE_BOUNDARY.sub("-", text).lower())
    dashed = "".join(char if _is_letter_or_digit(char) else "-" for char in lower)
    return re.sub("-+", "-", dashed).strip("-")[:MAX_SLUG_LENGTH].rstrip("-")


def argument_from(text: str) -> str:
    """Return a valid placeholder name: `X-Request-ID` becomes `X_Request_ID`."""
    name = re.sub(r"\W", "_", unicodedata.normalize("NFKC", text)) or "_"
    return f"_{name}" if name[0].isnumeric() or name == "steps" else name


def secret_from(*parts: str) -> str:
    """Return the name of a secret: `petstore` and `apiKey` become `PETSTORE_API_KEY`."""
    joined = "_".join(CAMEL_CASE_BOUNDARY.sub("_", part) for part in parts)
    decomposed = unicodedata.normalize("NFKD", joined).upper()
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    name = re.sub(r"[\W_]+", "_", plain).strip("_")
    return f"_{name}" if name[:1].isnumeric() else name


class UniqueNames:
    """Hands out each name once: `find`, then `find-2`."""

    def __init__(self, separator: str, max_length: int, reserved: Iterable[str] = ()) -> None:
        self._separator, self._max_length = separator, max_length
        self._reserved = set(reserved)
        self._last_number: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._reserved

    def reserve(self, name: str) -> str:
        """Reserve the name or, if it is in use, the name with the next free number. Return it."""
        unique = name[: self._max_length]
        while unique in self._reserved:
            self._last_number[name] = number = self._last_number.get(name, 1) + 1
            suffix = f"{self._separator}{number}"
            unique = name[: self._max_length - len(suffix)] + suffix
        self._reserved.add(unique)
        return unique


def _is_letter_or_digit(char: str) -> bool:
    category = unicodedata.category(char)
    return category.startswith("L") or category == "Nd"

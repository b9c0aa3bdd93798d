"""Texts of prompts that look like prompt injection: refused until the user approves them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

MAX_STORED, MAX_STORED_LENGTH = 20, 64_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptText:
    """The text of a prompt with signs of prompt injection."""

    prompt: str
    """The name on the server."""
    text: str
    reason: str
    pin: str
    """Hash of the whole text."""

    @property
    def label(self) -> str:
        """What it is called in a review."""
        return f"text of prompt {self.prompt} ({self.pin[:8]})"

    @property
    def definition(self) -> Mapping[str, Any]:
        """What a review shows."""
        return {"prompt": self.prompt, "text": self.text}


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTexts:
    """The refused texts of a server's prompts, and the hashes of the approved ones."""

    refused: tuple[PromptText, ...] = ()
    approved: frozenset[str] = frozenset()

    def refuse(self, prompt: str, text: str, reason: str) -> "PromptTexts":
        """Add a text. The oldest ones are dropped."""
        new = PromptText(prompt=prompt, text=text[:MAX_STORED_LENGTH], reason=reason, pin=text_pin(text))
        others = [other for other in self.refused if other.pin != new.pin]
        return replace(self, refused=(*others, new)[-MAX_STORED:])

    def approve(self, pins: Collection[str]) -> "PromptTexts":
        """Approve the texts with these hashes."""
        chosen = frozenset(text.pin for text in self.refused if text.pin in pins)
        refused = tuple(text for text in self.refused if text.pin not in chosen)
        return PromptTexts(refused=refused, approved=self.approved | chosen)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form that is stored."""
        refused = [
            {"prompt": text.prompt, "text": text.text, "reason": text.reason, "pin": text.pin}
            for text in self.refused
        ]
        return {"refused": refused, "approved": sorted(self.approved)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "PromptTexts":
        """Read the output of `to_json`.

        Raises:
            KeyError: A field is missing.
            TypeError: A field has the wrong type.
        """
        refused = tuple(PromptText(**text) for text in data["refused"])
        return cls(refused=refused, approved=frozenset(data["approved"]))


def text_pin(text: str) -> str:
    """Return the hash of a prompt's text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

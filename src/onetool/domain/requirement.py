"""What a tool needs that may not be there."""

from dataclasses import dataclass
from typing import Literal

REQUIREMENTS = "__onetool_requires__"
"""Attribute in which the SDK leaves Requirements for the source that reads packs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A program, a Python library or a secret."""

    kind: Literal["cli", "lib", "secret"]
    name: str
    version_flag: str = ""
    """Flag with which a program tells its version; empty: it is not asked."""
    install: str = ""
    """How to get it, for a person to read."""

"""External requirements of a tool."""

from dataclasses import dataclass
from typing import Literal

REQUIREMENTS = "__onetool_requires__"
"""Function attribute in which the SDK stores requirements for the pack loader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A program, a Python library or a secret that a tool requires."""

    kind: Literal["cli", "lib", "secret"]
    name: str
    version_flag: str = ""
    """Flag that makes a program print its version. Empty: the version is not checked."""
    install: str = ""
    """Installation instructions for the user."""


def secret_requirement(name: str) -> Requirement:
    """Return the requirement of a tool that reads a secret.

    >>> secret_requirement("KEY").install
    'onetool secrets set KEY'
    """
    return Requirement(kind="secret", name=name, install=f"onetool secrets set {name}")

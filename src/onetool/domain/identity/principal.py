"""The person or program on whose behalf calls are made."""

from typing import NamedTuple


class Principal(NamedTuple):
    """Whose calls, jobs and results these are. No one else can see or answer them."""

    id: str


LOCAL = Principal("local")
"""The user of a machine on which OneTool has one user."""

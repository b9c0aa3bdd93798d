"""Ids of things that are not stored and have only a name: the same name gives the same id everywhere."""

from hashlib import sha256
from uuid import UUID

VERSION, VARIANT = 7 << 76, 0b10 << 62
RANDOM = (1 << 76) - 1 ^ 0b11 << 62
"""The bits that a UUIDv7 leaves free once its time is 0: all below the version, save the variant."""


def named_id(kind: str, name: str) -> str:
    """A UUIDv7 from before all others: its time is 0, the rest is a hash of what it names."""
    digest = int.from_bytes(sha256(f"{kind}:{name}".encode("utf-8", "surrogatepass")).digest()[:16])
    return str(UUID(int=digest & RANDOM | VERSION | VARIANT))

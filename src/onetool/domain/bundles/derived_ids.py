"""Deterministic ids for packs and tools that are not stored."""

from hashlib import sha256
from uuid import UUID

VERSION, VARIANT = 7 << 76, 0b10 << 62
HASH_BITS = (1 << 76) - 1 ^ 0b11 << 62
"""The bits of a UUIDv7 below its version, without the variant."""


def derived_id(kind: str, name: str) -> str:
    """Return a UUIDv7 with a zero timestamp, derived from a hash of the kind and the name.

    It sorts before every stored id, and every process derives the same id.
    """
    digest = int.from_bytes(sha256(f"{kind}:{name}".encode("utf-8", "surrogatepass")).digest()[:16])
    return str(UUID(int=digest & HASH_BITS | VERSION | VARIANT))

"""Vectors that were computed once, in a file. It holds nothing that cannot be made again, and never fails."""

import hashlib
import logging
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from onetool.files.atomic import write_atomic

log = logging.getLogger(__name__)

KEPT = 50_000
"""Vectors that are kept; over that only those in use are."""
KEY = CHECK = hashlib.sha256().digest_size

Vectors = dict[bytes, NDArray[np.float32]]


class VectorFile:
    """Vectors by key; several processes may use the file, and the last one to write is right."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, size: int) -> Vectors:
        """Return all vectors of this size; none where the file is missing or damaged."""
        try:
            content = self._path.read_bytes()
            return _unpack(content, size)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            log.warning("the vectors in %s are made anew: %s", self._path.name, error)
            return {}

    def add(self, vectors: Mapping[bytes, NDArray[np.float32]], size: int) -> None:
        """Keep these vectors beside those that are there."""
        kept = self.read(size) | dict(vectors)
        if len(kept) > KEPT:
            kept = dict(vectors)
        try:
            write_atomic(self._path, _pack(kept), durable=False)
        except OSError as error:
            log.warning("vectors cannot be kept, and will be computed again: %s", error)


def _pack(vectors: Mapping[bytes, NDArray[np.float32]]) -> bytes:
    keys = np.frombuffer(b"".join(vectors), np.uint8).reshape(-1, KEY)
    content = save({"keys": keys, "vectors": np.stack(list(vectors.values()))})
    return hashlib.sha256(content).digest() + content


def _unpack(content: bytes, size: int) -> Vectors:
    check, inside = content[:CHECK], content[CHECK:]
    if hashlib.sha256(inside).digest() != check:
        raise ValueError("the file is damaged.")
    tables = load(inside)
    keys, vectors = tables["keys"], tables["vectors"]
    if keys.shape != (len(vectors), KEY) or vectors.shape[1:] != (size,):
        raise ValueError(f"it holds vectors of {vectors.shape[1:]!r}, not of {(size,)!r}.")
    return {bytes(key): vector for key, vector in zip(keys, vectors, strict=True)}

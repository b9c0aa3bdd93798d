"""A cache of computed vectors in a file. Reading and writing never fail."""

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

MAX_VECTORS = 50_000
"""Size at which the cache is reduced to the vectors in use."""
KEY_SIZE = CHECKSUM_SIZE = hashlib.sha256().digest_size

Vectors = dict[bytes, NDArray[np.float32]]


class VectorCache:
    """Vectors by key. Several processes may share the file; the last writer wins."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, size: int) -> Vectors:
        """Return all vectors of this size, or none if the file is missing or corrupt."""
        try:
            return _unpack(self._path.read_bytes(), size)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            log.warning("vector cache %s is unusable and will be rebuilt: %s", self._path.name, error)
            return {}

    def add(self, vectors: Mapping[bytes, NDArray[np.float32]], size: int) -> None:
        """Add vectors to the cache. If it becomes too large, only these vectors remain."""
        cached = self.read(size) | dict(vectors)
        if len(cached) > MAX_VECTORS:
            cached = dict(vectors)
        try:
            write_atomic(self._path, _pack(cached), durable=False)
        except OSError as error:
            log.warning("cannot write vector cache; vectors will be computed again: %s", error)


def _pack(vectors: Mapping[bytes, NDArray[np.float32]]) -> bytes:
    keys = np.frombuffer(b"".join(vectors), np.uint8).reshape(-1, KEY_SIZE)
    content = save({"keys": keys, "vectors": np.stack(list(vectors.values()))})
    return hashlib.sha256(content).digest() + content


def _unpack(content: bytes, size: int) -> Vectors:
    checksum, payload = content[:CHECKSUM_SIZE], content[CHECKSUM_SIZE:]
    if hashlib.sha256(payload).digest() != checksum:
        raise ValueError("wrong checksum")
    tables = load(payload)
    keys, vectors = tables["keys"], tables["vectors"]
    if keys.shape != (len(vectors), KEY_SIZE) or vectors.shape[1:] != (size,):
        raise ValueError(f"vectors have shape {vectors.shape[1:]!r}, not {(size,)!r}")
    return {bytes(key): vector for key, vector in zip(keys, vectors, strict=True)}

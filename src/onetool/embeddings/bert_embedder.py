"""Embeddings by a small local BERT model. Nothing is loaded before the first use."""

import hashlib
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from onetool.files.installation import extra_command
from onetool.ports import EmbeddingIndex

from .model_files import hash_model

if TYPE_CHECKING:
    from .bert import BertEncoder, Floats

CHUNK_SIZE = 512
"""How many texts are embedded between writes of the cache, in case the process ends early."""
THREADS_VARIABLE = "OPENBLAS_NUM_THREADS"
NO_EXTRA = "Package {missing!r} is not installed. Run: {command}"


class BertEmbedder:
    """Embeds texts. `model` is the directory of the model, `cache` the directory of the cached vectors."""

    def __init__(self, model: Path, cache: Path) -> None:
        self._model, self._cache = model, cache
        self._lock = threading.Lock()
        self._loaded: tuple[BertEncoder, bytes] | None = None

    def index(self, entries: Sequence[Sequence[str]]) -> EmbeddingIndex:
        """Embed the texts that are not in the cache, and return an index over all entries."""
        with self._lock:  # a second thread finds the vectors in the cache instead of computing them too
            encoder, model_hash = self._load()
            vectors = self._vectors(encoder, model_hash, [text for texts in entries for text in texts])
            return _EmbeddedEntries(encoder, _means(vectors, [len(texts) for texts in entries]))

    def _load(self) -> "tuple[BertEncoder, bytes]":
        if self._loaded is None:
            try:
                with _single_threaded_numpy():
                    from .bert import BertEncoder
            except ImportError as error:
                command = extra_command("semantic")
                raise ImportError(NO_EXTRA.format(missing=error.name, command=command)) from error
            model_hash = hash_model(self._model)
            self._loaded = BertEncoder(self._model), model_hash
        return self._loaded

    def _vectors(self, encoder: "BertEncoder", model_hash: bytes, texts: Sequence[str]) -> "Floats":
        import numpy as np

        from .vector_cache import VectorCache

        cache = VectorCache(self._cache / f"{model_hash.hex()[:16]}.vectors")
        keys = [hashlib.sha256(model_hash + text.encode("utf-8", "replace")).digest() for text in texts]
        vectors = cache.read(encoder.size)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors}
        for start in range(0, len(missing), CHUNK_SIZE):
            chunk = list(missing)[start : start + CHUNK_SIZE]
            vectors |= zip(chunk, encoder.encode([missing[key] for key in chunk]), strict=True)
            cache.add({key: vectors[key] for key in keys if key in vectors}, encoder.size)
        return np.stack([vectors[key] for key in keys]) if keys else np.empty((0, encoder.size), np.float32)


@contextmanager
def _single_threaded_numpy() -> Iterator[None]:
    """Make an import of numpy use one core: on a busy machine its threads wait for each other."""
    if "numpy" in sys.modules or THREADS_VARIABLE in os.environ:
        yield
        return
    os.environ[THREADS_VARIABLE] = "1"
    try:
        yield
    finally:
        os.environ.pop(THREADS_VARIABLE, None)  # numpy has read it, and child processes must not inherit it


def _means(vectors: "Floats", counts: Sequence[int]) -> "Floats":
    """Return a unit vector for each entry: the mean of the next `count` vectors."""
    import numpy as np

    if not counts:
        return vectors
    sums = np.add.reduceat(vectors, np.cumsum([0, *counts[:-1]]))
    means: Floats = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), np.float32(1e-9))
    return means


class _EmbeddedEntries:
    """An index over embedded entries, one row per entry."""

    def __init__(self, encoder: "BertEncoder", vectors: "Floats") -> None:
        self._encoder, self._vectors = encoder, vectors

    def __call__(self, query: str, limit: int) -> list[tuple[int, float]]:
        """Compare the query with every entry and return the closest ones."""
        similarities = self._vectors @ self._encoder.encode([query])[0]
        order = (-similarities).argsort(kind="stable")[:limit]
        return [(int(index), float(similarities[index])) for index in order]

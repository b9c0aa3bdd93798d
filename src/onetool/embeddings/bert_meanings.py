"""What texts mean, by a small model on this machine. Loads nothing before it is asked to learn."""

import hashlib
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from onetool.ports import Nearest

from .model_files import hash_model

if TYPE_CHECKING:
    from .bert import Encoder, Floats

CHUNK = 512
"""Texts after which what was computed is kept: a process may end at any time."""
ONE_THREAD = "OPENBLAS_NUM_THREADS"
NO_EXTRA = "The software is missing ({missing!r}). Install it with: pip install 'onetool[semantic]'"


class BertMeanings:
    """Meanings as vectors; `cache` is the directory in which vectors are kept."""

    def __init__(self, model: Path, cache: Path) -> None:
        self._model, self._cache = model, cache
        self._lock = threading.Lock()
        self._opened: tuple[Encoder, bytes] | None = None

    def learn(self, texts: Sequence[str]) -> Nearest:
        """Compute the vectors that are not kept yet."""
        with self._lock:  # what two would compute beside each other, the second finds
            encoder, model = self._open()
            return _Learnt(encoder, self._vectors(encoder, model, texts))

    def _open(self) -> "tuple[Encoder, bytes]":
        if self._opened is None:
            try:
                with _one_thread():
                    from .bert import Encoder
            except ImportError as error:
                raise ImportError(NO_EXTRA.format(missing=error.name)) from error
            found = hash_model(self._model)
            self._opened = Encoder(self._model), found
        return self._opened

    def _vectors(self, encoder: "Encoder", model: bytes, texts: Sequence[str]) -> "Floats":
        import numpy as np

        from .vector_file import VectorFile

        file = VectorFile(self._cache / f"{model.hex()[:16]}.vectors")
        keys = [hashlib.sha256(model + text.encode("utf-8", "replace")).digest() for text in texts]
        kept = file.read(encoder.size)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in kept}
        for start in range(0, len(missing), CHUNK):
            chunk = list(missing)[start : start + CHUNK]
            kept |= zip(chunk, encoder.encode([missing[key] for key in chunk]), strict=True)
            file.add({key: kept[key] for key in keys if key in kept}, encoder.size)
        return np.stack([kept[key] for key in keys]) if keys else np.empty((0, encoder.size), np.float32)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let numpy, if it is loaded here, compute on one core: on a busy machine several wait for each other."""
    if "numpy" in sys.modules or ONE_THREAD in os.environ:
        yield
        return
    os.environ[ONE_THREAD] = "1"
    try:
        yield
    finally:
        os.environ.pop(ONE_THREAD, None)  # it is read once, and is nothing for programs that tools start


class _Learnt:
    """Texts as rows of a table."""

    def __init__(self, encoder: "Encoder", vectors: "Floats") -> None:
        self._encoder, self._vectors = encoder, vectors

    def __call__(self, query: str, limit: int) -> list[tuple[int, float]]:
        """Compare the query with every text."""
        similarities = self._vectors @ self._encoder.encode([query])[0]
        order = (-similarities).argsort(kind="stable")[:limit]
        return [(int(place), float(similarities[place])) for place in order]

"""Ports of semantic search."""

from collections.abc import Sequence
from typing import Protocol


class EmbeddingIndex(Protocol):
    """The embeddings of a list of entries, ready to query. Called on a thread: a query takes milliseconds."""

    def __call__(self, query: str, limit: int) -> Sequence[tuple[int, float]]:
        """Return the positions and similarities of the closest entries, closest first; 1.0 if identical."""
        ...


class Embedder(Protocol):
    """Turns texts into embeddings. Called on a thread: it may block."""

    def index(self, entries: Sequence[Sequence[str]]) -> EmbeddingIndex:
        """Embed the texts of each entry and return an index over the entries.

        An entry has at least one text. Its embedding is the mean of the embeddings of its texts. New texts
        take seconds. Implementations cache embeddings, so known texts cost almost nothing.

        Raises:
            ImportError: A package is missing. The message says how to install it.
            FileNotFoundError: The model is not installed. The message says how to install it.
        """
        ...

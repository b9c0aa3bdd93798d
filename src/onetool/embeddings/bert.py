"""Texts into vectors of what they mean: the forward pass of a small BERT. Needs the extra `semantic`."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from tokenizers import Tokenizer

from .model_files import CONFIG, TOKENIZER, WEIGHTS

LONGEST = 128
"""Tokens of a text that are looked at."""
BATCH = 8
"""Texts at once: more are no quicker, and take memory."""
NEVER = np.float32(-1e9)
PART = 1 << 14
"""Numbers that are worked on at once: they stay in the processor's cache."""
ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
"""Abramowitz and Stegun 7.1.26: as exact as 32 bits are."""

Floats = NDArray[np.float32]
Ids = list[int]


class Encoder:
    """A model in memory; safe for several threads."""

    def __init__(self, directory: Path) -> None:
        config = _read_config(directory / CONFIG)
        self._heads: int = config["num_attention_heads"]
        self._layers: int = config["num_hidden_layers"]
        self._epsilon = np.float32(config["layer_norm_eps"])
        self.size: int = config["hidden_size"]
        self._weights = _read_weights(directory / WEIGHTS)
        self._tokenizer = Tokenizer.from_file(str(directory / TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(min(LONGEST, config["max_position_embeddings"]))

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return a row of length 1 for each text: nearness of two is their product."""
        readable = (text.encode("utf-8", "replace").decode() for text in texts)
        ids = [self._tokenizer.encode(text).ids for text in readable]
        vectors = np.empty((len(ids), self.size), np.float32)
        for places in _batches(ids):
            vectors[places] = self._forward([ids[place] for place in places])
        return vectors

    def _forward(self, batch: Sequence[Ids]) -> Floats:
        """All layers, then the mean over the tokens of each text."""
        tokens = np.zeros((len(batch), max(map(len, batch))), np.int64)
        for row, ids in zip(tokens, batch, strict=True):
            row[: len(ids)] = ids
        real = np.arange(tokens.shape[1]) < np.array([[len(ids)] for ids in batch])
        state = self._embed(tokens)
        for layer in range(self._layers):
            state = self._layer(f"encoder.layer.{layer}.", state, real)
        mean = (state * real[:, :, None]).sum(axis=1, dtype=np.float32)
        vectors: Floats = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return vectors

    def _embed(self, tokens: NDArray[np.int64]) -> Floats:
        words = self._weights["embeddings.word_embeddings.weight"][tokens]
        places = self._weights["embeddings.position_embeddings.weight"][: tokens.shape[1]]
        kind = self._weights["embeddings.token_type_embeddings.weight"][0]
        return self._norm("embeddings.LayerNorm", words + places + kind)

    def _layer(self, at: str, state: Floats, real: NDArray[np.bool_]) -> Floats:
        seen = self._dense(f"{at}attention.output.dense", self._attend(f"{at}attention.self.", state, real))
        state = self._norm(f"{at}attention.output.LayerNorm", state + seen)
        wide = _gelu(self._dense(f"{at}intermediate.dense", state))
        return self._norm(f"{at}output.LayerNorm", state + self._dense(f"{at}output.dense", wide))

    def _attend(self, at: str, state: Floats, real: NDArray[np.bool_]) -> Floats:
        """Let every token look at all real ones, in several heads beside each other."""
        texts, tokens, size = state.shape
        query, key, value = (
            self._dense(at + part, state).reshape(texts, tokens, self._heads, -1).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) * np.float32(query.shape[-1] ** -0.5)
        scores += np.where(real, np.float32(0), NEVER)[:, None, None, :]
        scores -= scores.max(axis=-1, keepdims=True)
        shares = np.exp(scores, out=scores)
        shares /= shares.sum(axis=-1, keepdims=True)
        seen: Floats = (shares @ value).transpose(0, 2, 1, 3).reshape(texts, tokens, size)
        return seen

    def _dense(self, at: str, state: Floats) -> Floats:
        flat = state.reshape(-1, state.shape[-1])  # one large product is quicker than many small ones
        moved = flat @ self._weights[f"{at}.weight"]
        moved += self._weights[f"{at}.bias"]
        return moved.reshape(*state.shape[:-1], -1)

    def _norm(self, at: str, state: Floats) -> Floats:
        normed: Floats = state - state.mean(axis=-1, keepdims=True)
        normed /= np.sqrt((normed * normed).mean(axis=-1, keepdims=True) + self._epsilon)
        normed *= self._weights[f"{at}.weight"]
        normed += self._weights[f"{at}.bias"]
        return normed


def _gelu(state: Floats) -> Floats:
    """Weigh each number by the share of a normal distribution that lies below it; in place."""
    flat = state.reshape(-1)
    for start in range(0, flat.size, PART):
        part = flat[start : start + PART]
        far = np.abs(part)
        near = 1 / (1 + far * np.float32(0.3275911 * 0.5**0.5))
        tail = near * np.float32(ERF[0])
        for factor in ERF[1:]:
            tail += np.float32(factor)
            tail *= near
        tail *= np.exp(far * far * np.float32(-0.5))
        part[:] = np.maximum(part, 0) - far * tail * np.float32(0.5)
    return state


def _batches(ids: Sequence[Ids]) -> Iterator[list[int]]:
    """Texts of like length together: padding is computed as dearly as words."""
    by_length = sorted(range(len(ids)), key=lambda place: len(ids[place]))
    for start in range(0, len(by_length), BATCH):
        yield by_length[start : start + BATCH]


def _read_weights(file: Path) -> dict[str, Floats]:
    """All tables, one by one; those that states are multiplied by are turned as products want them."""
    with safe_open(file, "numpy") as tables:
        return {name: _turned(name, tables.get_tensor(name)) for name in tables.keys()}  # noqa: SIM118 - no dict


def _turned(name: str, table: Floats) -> Floats:
    is_product = name.startswith("encoder.") and name.endswith(".weight") and table.ndim > 1
    return np.ascontiguousarray(table.T) if is_product else table


def _read_config(file: Path) -> dict[str, Any]:
    config: dict[str, Any] = json.loads(file.read_bytes())
    kind = config.get("model_type"), config.get("hidden_act")
    if kind != ("bert", "gelu"):
        raise ValueError(f"{file.name}: the model is {kind!r}; only ('bert', 'gelu') is understood.")
    return config

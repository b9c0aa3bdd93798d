"""Text embeddings: the forward pass of a small BERT model. Requires the extra `semantic`."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from tokenizers import Tokenizer

from .model_files import CONFIG, TOKENIZER, WEIGHTS

MAX_TOKENS = 128
"""How many tokens of a text are used."""
BATCH_SIZE = 8
"""Texts per batch. Larger batches are not faster and use more memory."""
MASKED = np.float32(-1e9)
CHUNK_SIZE = 1 << 14
"""How many numbers are processed at a time, so that they stay in the CPU cache."""
ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
"""Coefficients of the error function, Abramowitz and Stegun 7.1.26. Precise enough for 32 bits."""

Floats = NDArray[np.float32]
Ids = list[int]


class BertEncoder:
    """A model in memory. Thread-safe."""

    def __init__(self, directory: Path) -> None:
        config = _read_config(directory / CONFIG)
        self._heads: int = config["num_attention_heads"]
        self._layers: int = config["num_hidden_layers"]
        self._epsilon = np.float32(config["layer_norm_eps"])
        self.size: int = config["hidden_size"]
        self._weights = _read_weights(directory / WEIGHTS)
        self._tokenizer = Tokenizer.from_file(str(directory / TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(min(MAX_TOKENS, config["max_position_embeddings"]))

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return a unit vector for each text. The dot product of two is their similarity."""
        valid = (text.encode("utf-8", "replace").decode() for text in texts)
        ids = [self._tokenizer.encode(text).ids for text in valid]
        vectors = np.empty((len(ids), self.size), np.float32)
        for indices in _batches(ids):
            vectors[indices] = self._forward([ids[index] for index in indices])
        return vectors

    def _forward(self, batch: Sequence[Ids]) -> Floats:
        """Run all layers and return the mean over the tokens of each text."""
        tokens = np.zeros((len(batch), max(map(len, batch))), np.int64)
        for row, ids in zip(tokens, batch, strict=True):
            row[: len(ids)] = ids
        mask = np.arange(tokens.shape[1]) < np.array([[len(ids)] for ids in batch])
        state = self._embed(tokens)
        for layer in range(self._layers):
            state = self._layer(f"encoder.layer.{layer}.", state, mask)
        mean = (state * mask[:, :, None]).sum(axis=1, dtype=np.float32)
        vectors: Floats = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return vectors

    def _embed(self, tokens: NDArray[np.int64]) -> Floats:
        words = self._weights["embeddings.word_embeddings.weight"][tokens]
        positions = self._weights["embeddings.position_embeddings.weight"][: tokens.shape[1]]
        types = self._weights["embeddings.token_type_embeddings.weight"][0]
        return self._norm("embeddings.LayerNorm", words + positions + types)

    def _layer(self, prefix: str, state: Floats, mask: NDArray[np.bool_]) -> Floats:
        attention = self._attend(f"{prefix}attention.self.", state, mask)
        attention = self._dense(f"{prefix}attention.output.dense", attention)
        state = self._norm(f"{prefix}attention.output.LayerNorm", state + attention)
        hidden = _gelu(self._dense(f"{prefix}intermediate.dense", state))
        return self._norm(f"{prefix}output.LayerNorm", state + self._dense(f"{prefix}output.dense", hidden))

    def _attend(self, prefix: str, state: Floats, mask: NDArray[np.bool_]) -> Floats:
        """Compute multi-head self-attention, ignoring padding."""
        texts, tokens, size = state.shape
        query, key, value = (
            self._dense(prefix + part, state).reshape(texts, tokens, self._heads, -1).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) * np.float32(query.shape[-1] ** -0.5)
        scores += np.where(mask, np.float32(0), MASKED)[:, None, None, :]
        scores -= scores.max(axis=-1, keepdims=True)
        weights = np.exp(scores, out=scores)
        weights /= weights.sum(axis=-1, keepdims=True)
        output: Floats = (weights @ value).transpose(0, 2, 1, 3).reshape(texts, tokens, size)
        return output

    def _dense(self, name: str, state: Floats) -> Floats:
        flat = state.reshape(-1, state.shape[-1])  # one large product is faster than many small ones
        output = flat @ self._weights[f"{name}.weight"]
        output += self._weights[f"{name}.bias"]
        return output.reshape(*state.shape[:-1], -1)

    def _norm(self, name: str, state: Floats) -> Floats:
        normed: Floats = state - state.mean(axis=-1, keepdims=True)
        normed /= np.sqrt((normed * normed).mean(axis=-1, keepdims=True) + self._epsilon)
        normed *= self._weights[f"{name}.weight"]
        normed += self._weights[f"{name}.bias"]
        return normed


def _gelu(state: Floats) -> Floats:
    """Apply the GELU activation in place."""
    flat = state.reshape(-1)
    for start in range(0, flat.size, CHUNK_SIZE):
        chunk = flat[start : start + CHUNK_SIZE]
        magnitude = np.abs(chunk)
        t = 1 / (1 + magnitude * np.float32(0.3275911 * 0.5**0.5))
        tail = t * np.float32(ERF[0])
        for coefficient in ERF[1:]:
            tail += np.float32(coefficient)
            tail *= t
        tail *= np.exp(magnitude * magnitude * np.float32(-0.5))
        chunk[:] = np.maximum(chunk, 0) - magnitude * tail * np.float32(0.5)
    return state


def _batches(ids: Sequence[Ids]) -> Iterator[list[int]]:
    """Yield indices of texts with similar lengths, because padding costs as much as words."""
    by_length = sorted(range(len(ids)), key=lambda index: len(ids[index]))
    for start in range(0, len(by_length), BATCH_SIZE):
        yield by_length[start : start + BATCH_SIZE]


def _read_weights(file: Path) -> dict[str, Floats]:
    """Read all tensors, with the matrices of dense layers transposed for multiplication."""
    with safe_open(file, "numpy") as tensors:
        names = tensors.keys()  # not a dict: it cannot be iterated
        return {name: _transpose(name, tensors.get_tensor(name)) for name in names}


def _transpose(name: str, tensor: Floats) -> Floats:
    is_dense = name.startswith("encoder.") and name.endswith(".weight") and tensor.ndim > 1
    return np.ascontiguousarray(tensor.T) if is_dense else tensor


def _read_config(file: Path) -> dict[str, Any]:
    config: dict[str, Any] = json.loads(file.read_bytes())
    architecture = config.get("model_type"), config.get("hidden_act")
    if architecture != ("bert", "gelu"):
        raise ValueError(
            f"{file.name}: unsupported model architecture {architecture!r}. Supported: ('bert', 'gelu')."
        )
    return config

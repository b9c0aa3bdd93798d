"""The BERT encoder, compared with a reference implementation."""

import os
from pathlib import Path

import numpy as np
import pytest

from embeddings.tiny_model import WORDS, reference_embedding, tokenizer, write_model
from onetool.embeddings.bert import BertEncoder

TEXTS = [
    "read a file",
    "",
    "how much it rains in a city",
    "send mail: writing, reading, sending",
    "unknown words and \ud800 a lone surrogate",
    *(" ".join(WORDS[4:15][: n + 1]) for n in range(11)),
]
REAL = os.environ.get("ONETOOL_TEST_MODEL", "")


def ids_of(text):
    plain = tokenizer()
    plain.no_padding()
    return plain.encode(text.encode("utf-8", "replace").decode()).ids


def test_vectors_equal_the_reference(tmp_path):
    """Texts of different lengths in one batch do not affect each other."""
    weights = write_model(tmp_path)
    vectors = BertEncoder(tmp_path).encode(TEXTS)
    for row, text in zip(vectors, TEXTS, strict=True):
        np.testing.assert_allclose(row, reference_embedding(weights, ids_of(text)), atol=5e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_long_text_is_truncated(tmp_path):
    """To the number of positions of the model."""
    weights = write_model(tmp_path)
    (vector,) = BertEncoder(tmp_path).encode(["rain " * 1000])
    truncated = [WORDS.index("[CLS]"), *[WORDS.index("rain")] * 38, WORDS.index("[SEP]")]
    np.testing.assert_allclose(vector, reference_embedding(weights, truncated), atol=5e-6)


def test_no_texts_give_no_rows(tmp_path):
    write_model(tmp_path)
    assert BertEncoder(tmp_path).encode([]).shape == (0, 32)


@pytest.mark.parametrize("config", [{"model_type": "gpt"}, {"hidden_act": "relu"}])
def test_other_architectures_are_rejected(tmp_path, config):
    write_model(tmp_path, **config)
    with pytest.raises(ValueError, match=r"Supported: \('bert', 'gelu'\)"):
        BertEncoder(tmp_path)


@pytest.mark.skipif(not REAL, reason="ONETOOL_TEST_MODEL is not set")
def test_real_model_ranks_by_meaning():
    """A text with the same meaning and no common words is closer. One vector is as the authors publish it."""
    encoder = BertEncoder(Path(REAL))
    query, same, other = encoder.encode(["delete a folder", "remove a directory", "a folder of letters"])
    assert query @ same > query @ other + 0.1
    (vector,) = encoder.encode(["This is an example sentence"])
    np.testing.assert_allclose(vector[:4], [0.0676569, 0.0634959, 0.0487131, 0.0793049], atol=1e-6)

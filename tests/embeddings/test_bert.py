"""Texts into vectors: the same numbers as a computation by hand, whatever stands beside a text."""

import os
from pathlib import Path

import numpy as np
import pytest

from onetool.embeddings.bert import Encoder
from tiny_model import WORDS, embedded, tokenizer, write_model

TEXTS = [
    "read a file",
    "",
    "how much it rains in a city",
    "send mail: writing, reading, sending",
    "unknown words and \ud800 half a sign",
    *(" ".join(WORDS[4:15][: n + 1]) for n in range(11)),
]
REAL = os.environ.get("ONETOOL_TEST_MODEL", "")


def ids_of(text):
    plain = tokenizer()
    plain.no_padding()
    return plain.encode(text.encode("utf-8", "replace").decode()).ids


def test_vectors_are_those_of_a_computation_by_hand(tmp_path):
    """Several texts of different lengths at once: every row is what its text alone would be."""
    weights = write_model(tmp_path)
    found = Encoder(tmp_path).encode(TEXTS)
    for row, text in zip(found, TEXTS, strict=True):
        np.testing.assert_allclose(row, embedded(weights, ids_of(text)), atol=5e-6)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)


def test_a_long_text_is_cut(tmp_path):
    """Never more tokens than the model has places for."""
    weights = write_model(tmp_path)
    (found,) = Encoder(tmp_path).encode(["rain " * 1000])
    cut = [WORDS.index("[CLS]"), *[WORDS.index("rain")] * 38, WORDS.index("[SEP]")]
    np.testing.assert_allclose(found, embedded(weights, cut), atol=5e-6)


def test_no_texts_are_no_rows(tmp_path):
    """Nothing to do is no error."""
    write_model(tmp_path)
    assert Encoder(tmp_path).encode([]).shape == (0, 32)


@pytest.mark.parametrize("other", [{"model_type": "gpt"}, {"hidden_act": "relu"}])
def test_another_architecture_is_refused(tmp_path, other):
    """A model that would be computed wrongly is an error that says what is understood."""
    write_model(tmp_path, **other)
    with pytest.raises(ValueError, match=r"only \('bert', 'gelu'\) is understood"):
        Encoder(tmp_path)


@pytest.mark.skipif(not REAL, reason="ONETOOL_TEST_MODEL names no model")
def test_the_real_model_knows_what_is_near():
    """What shares no word but the meaning is nearer; one vector as the model's authors print it."""
    encoder = Encoder(Path(REAL))
    query, same, other = encoder.encode(["delete a folder", "remove a directory", "a folder of letters"])
    assert query @ same > query @ other + 0.1
    (known,) = encoder.encode(["This is an example sentence"])
    np.testing.assert_allclose(known[:4], [0.0676569, 0.0634959, 0.0487131, 0.0793049], atol=1e-6)

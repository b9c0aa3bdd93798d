"""A tiny BERT model with random weights, and a reference implementation of its forward pass."""

import json
import math

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

SIZE, LAYERS, HEADS, INTERMEDIATE_SIZE, MAX_POSITIONS = 32, 2, 4, 48, 40
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "read",
    "write",
    "a",
    "file",
    "send",
    "mail",
    "rain",
    "in",
    "city",
    "tell",
    "how",
    "much",
    "it",
    "s",
    "##s",
    "##ing",
    ":",
]
CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": SIZE,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": INTERMEDIATE_SIZE,
    "max_position_embeddings": MAX_POSITIONS,
    "layer_norm_eps": 1e-12,
}


def write_model(directory, seed=7, **config):
    """Write the configuration, tokenizer and weights; return the weights."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(CONFIG | config))
    tokenizer().save(str(directory / "tokenizer.json"))
    weights = random_weights(seed)
    save_file(weights, directory / "model.safetensors")
    return weights


def tokenizer():
    """Return the tokenizer of the model."""
    wordpiece = Tokenizer(WordPiece({word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]"))
    wordpiece.normalizer, wordpiece.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    ends = [("[CLS]", WORDS.index("[CLS]")), ("[SEP]", WORDS.index("[SEP]"))]
    wordpiece.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    wordpiece.enable_padding(length=30)  # like the real tokenizer; the code under test must disable it
    return wordpiece


def random_weights(seed):
    """Return weights in the layout of a BERT model."""
    shapes = {
        "embeddings.word_embeddings.weight": (len(WORDS), SIZE),
        "embeddings.position_embeddings.weight": (MAX_POSITIONS, SIZE),
        "embeddings.token_type_embeddings.weight": (2, SIZE),
        **norm_shapes("embeddings.LayerNorm"),
    }
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        for part in ("query", "key", "value"):
            shapes |= dense_shapes(f"{prefix}attention.self.{part}", SIZE, SIZE)
        shapes |= dense_shapes(f"{prefix}attention.output.dense", SIZE, SIZE)
        shapes |= norm_shapes(f"{prefix}attention.output.LayerNorm")
        shapes |= dense_shapes(f"{prefix}intermediate.dense", INTERMEDIATE_SIZE, SIZE)
        shapes |= dense_shapes(f"{prefix}output.dense", SIZE, INTERMEDIATE_SIZE)
        shapes |= norm_shapes(f"{prefix}output.LayerNorm")
    numbers = np.random.default_rng(seed)
    return {name: numbers.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}


def dense_shapes(prefix, rows, columns):
    return {f"{prefix}.weight": (rows, columns), f"{prefix}.bias": (rows,)}


def norm_shapes(prefix):
    return {f"{prefix}.weight": (SIZE,), f"{prefix}.bias": (SIZE,)}


def reference_embedding(weights, ids):
    """Compute the embedding of one text with plain loops, independently of the code under test."""
    w = {name: table.tolist() for name, table in weights.items()}
    words, positions = w["embeddings.word_embeddings.weight"], w["embeddings.position_embeddings.weight"]
    token_type = w["embeddings.token_type_embeddings.weight"][0]
    rows = [
        [a + b + c for a, b, c in zip(words[i], positions[n], token_type, strict=True)]
        for n, i in enumerate(ids)
    ]
    rows = [apply_layer_norm(w, "embeddings.LayerNorm", row) for row in rows]
    for layer in range(LAYERS):
        rows = apply_layer(w, f"encoder.layer.{layer}.", rows)
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    length = math.sqrt(sum(x * x for x in mean))
    return [x / length for x in mean]


def apply_layer(w, prefix, rows):
    q, k, v = (
        [apply_dense(w, f"{prefix}attention.self.{part}", row) for row in rows]
        for part in ("query", "key", "value")
    )
    head_size = SIZE // HEADS
    attention = [[0.0] * SIZE for _ in rows]
    for head in range(HEADS):
        dims = range(head * head_size, (head + 1) * head_size)
        for n in range(len(rows)):
            scores = [
                math.exp(sum(q[n][d] * k[m][d] for d in dims) / math.sqrt(head_size))
                for m in range(len(rows))
            ]
            for d in dims:
                attention[n][d] = sum(s * v[m][d] for m, s in enumerate(scores)) / sum(scores)
    return [apply_feed_forward(w, prefix, *pair) for pair in zip(rows, attention, strict=True)]


def apply_feed_forward(w, prefix, row, attention):
    dense = apply_dense(w, f"{prefix}attention.output.dense", attention)
    hidden = apply_layer_norm(w, f"{prefix}attention.output.LayerNorm", add(row, dense))
    intermediate = [gelu(x) for x in apply_dense(w, f"{prefix}intermediate.dense", hidden)]
    output = apply_dense(w, f"{prefix}output.dense", intermediate)
    return apply_layer_norm(w, f"{prefix}output.LayerNorm", add(hidden, output))


def add(left, right):
    return [a + b for a, b in zip(left, right, strict=True)]


def gelu(x):
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


def apply_dense(w, prefix, row):
    outputs = zip(w[f"{prefix}.weight"], w[f"{prefix}.bias"], strict=True)
    return [sum(a * b for a, b in zip(weights, row, strict=True)) + bias for weights, bias in outputs]


def apply_layer_norm(w, prefix, row):
    mean = sum(row) / len(row)
    spread = math.sqrt(sum((x - mean) ** 2 for x in row) / len(row) + 1e-12)
    scaled = zip(row, w[f"{prefix}.weight"], w[f"{prefix}.bias"], strict=True)
    return [(x - mean) / spread * a + b for x, a, b in scaled]

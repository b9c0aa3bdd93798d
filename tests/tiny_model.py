"""A very small model with random weights, and what it must answer, computed number by number."""

import json
import math

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

SIZE, LAYERS, HEADS, WIDE, PLACES = 32, 2, 4, 48, 40
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
    "intermediate_size": WIDE,
    "max_position_embeddings": PLACES,
    "layer_norm_eps": 1e-12,
}


def write_model(directory, seed=7, **config):
    """Write config, tokenizer and weights; return the weights."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(CONFIG | config))
    tokenizer().save(str(directory / "tokenizer.json"))
    weights = random_weights(seed)
    save_file(weights, directory / "model.safetensors")
    return weights


def tokenizer():
    made = Tokenizer(WordPiece({word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    ends = [("[CLS]", WORDS.index("[CLS]")), ("[SEP]", WORDS.index("[SEP]"))]
    made.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    made.enable_padding(length=30)  # as the real one does: whoever loads it must not
    return made


def random_weights(seed):
    shapes = {
        "embeddings.word_embeddings.weight": (len(WORDS), SIZE),
        "embeddings.position_embeddings.weight": (PLACES, SIZE),
        "embeddings.token_type_embeddings.weight": (2, SIZE),
        **norm("embeddings.LayerNorm"),
    }
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        for part in ("query", "key", "value"):
            shapes |= dense(f"{at}attention.self.{part}", SIZE, SIZE)
        shapes |= dense(f"{at}attention.output.dense", SIZE, SIZE) | norm(f"{at}attention.output.LayerNorm")
        shapes |= dense(f"{at}intermediate.dense", WIDE, SIZE)
        shapes |= dense(f"{at}output.dense", SIZE, WIDE) | norm(f"{at}output.LayerNorm")
    numbers = np.random.default_rng(seed)
    return {name: numbers.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}


def dense(at, rows, columns):
    return {f"{at}.weight": (rows, columns), f"{at}.bias": (rows,)}


def norm(at):
    return {f"{at}.weight": (SIZE,), f"{at}.bias": (SIZE,)}


def embedded(weights, ids):
    """What the model says of one text: plain loops over plain numbers, nothing shared with the product."""
    w = {name: table.tolist() for name, table in weights.items()}
    words, places = w["embeddings.word_embeddings.weight"], w["embeddings.position_embeddings.weight"]
    kind = w["embeddings.token_type_embeddings.weight"][0]
    rows = [[a + b + c for a, b, c in zip(words[i], places[n], kind, strict=True)] for n, i in enumerate(ids)]
    rows = [normed(w, "embeddings.LayerNorm", row) for row in rows]
    for layer in range(LAYERS):
        rows = through(w, f"encoder.layer.{layer}.", rows)
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    length = math.sqrt(sum(x * x for x in mean))
    return [x / length for x in mean]


def through(w, at, rows):
    q, k, v = (
        [times(w, f"{at}attention.self.{part}", row) for row in rows] for part in ("query", "key", "value")
    )
    each = SIZE // HEADS
    seen = [[0.0] * SIZE for _ in rows]
    for head in range(HEADS):
        own = range(head * each, (head + 1) * each)
        for n in range(len(rows)):
            scores = [
                math.exp(sum(q[n][d] * k[m][d] for d in own) / math.sqrt(each)) for m in range(len(rows))
            ]
            for d in own:
                seen[n][d] = sum(s * v[m][d] for m, s in enumerate(scores)) / sum(scores)
    out = []
    for row, attended in zip(rows, seen, strict=True):
        added = times(w, f"{at}attention.output.dense", attended)
        first = normed(w, f"{at}attention.output.LayerNorm", [a + b for a, b in zip(row, added, strict=True)])
        wide = [x * (1 + math.erf(x / math.sqrt(2))) / 2 for x in times(w, f"{at}intermediate.dense", first)]
        back = times(w, f"{at}output.dense", wide)
        out.append(normed(w, f"{at}output.LayerNorm", [a + b for a, b in zip(first, back, strict=True)]))
    return out


def times(w, at, row):
    lines = zip(w[f"{at}.weight"], w[f"{at}.bias"], strict=True)
    return [sum(a * b for a, b in zip(line, row, strict=True)) + c for line, c in lines]


def normed(w, at, row):
    mean = sum(row) / len(row)
    spread = math.sqrt(sum((x - mean) ** 2 for x in row) / len(row) + 1e-12)
    scaled = zip(row, w[f"{at}.weight"], w[f"{at}.bias"], strict=True)
    return [(x - mean) / spread * a + b for x, a, b in scaled]

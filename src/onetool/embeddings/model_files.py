"""The files of an embedding model in its directory."""

import hashlib
from pathlib import Path

WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"
MISSING = "{directory!r} holds no model: {missing!r} is missing. Fetch it with: onetool search install-model"


def hash_model(directory: Path) -> bytes:
    """Return what tells this model from any other.

    Raises FileNotFoundError that says how to get a model.
    """
    digest = hashlib.sha256()
    for name in (WEIGHTS, CONFIG, TOKENIZER):
        try:
            with (directory / name).open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        except FileNotFoundError:
            raise FileNotFoundError(MISSING.format(directory=str(directory), missing=name)) from None
    return digest.digest()

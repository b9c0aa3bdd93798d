"""The files of an embedding model."""

import hashlib
from pathlib import Path

WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"
MISSING = "No embedding model in {directory!r}: {missing!r} is missing. Run: onetool search install-model"


def hash_model(directory: Path) -> bytes:
    """Return a hash that identifies the model.

    Raises:
        FileNotFoundError: A file is missing. The message says how to install a model.
    """
    digest = hashlib.sha256()
    for name in (WEIGHTS, CONFIG, TOKENIZER):
        try:
            with (directory / name).open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        except FileNotFoundError:
            raise FileNotFoundError(MISSING.format(directory=str(directory), missing=name)) from None
    return digest.digest()

"""How many tokens a text is: by the ranks of a real tokenizer where they are installed, else as bytes / 4."""

import gzip
import os
from collections.abc import Callable
from hashlib import sha1
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from onetool.domain.usage import tokens

ENCODING = "o200k_base"
ADDRESS = f"https://openaipublic.blob.core.windows.net/encodings/{ENCODING}.tiktoken"
ABSENT = "bytes / 4, because tiktoken and bpe-openai are not installed (uv sync --group bench)"
Count = Callable[[str], int]


class Tokenizer:
    """Counts tokens, and says how."""

    def __init__(self) -> None:
        self._count = _ranked()
        self.name = f"tokens of {ENCODING}" if self._count else ABSENT

    def count(self, text: str) -> int:
        """Count one text."""
        return self._count(text) if self._count else tokens(len(text.encode()))


def _ranked() -> Count | None:
    try:
        import tiktoken
    except ImportError:
        return None
    try:
        packed = files("bpe_openai.data") / f"{ENCODING}.tiktoken.gz"
    except ImportError:
        return None
    encoding = _load(tiktoken.get_encoding, gzip.decompress(packed.read_bytes()))
    return lambda text: len(encoding.encode_ordinary(text))


def _load(get_encoding: Callable[[str], Any], ranks: bytes) -> Any:
    """Lay the ranks where a download would be kept: tiktoken checks that they are the published ones."""
    with TemporaryDirectory() as folder:
        (Path(folder) / sha1(ADDRESS.encode()).hexdigest()).write_bytes(ranks)
        os.environ["TIKTOKEN_CACHE_DIR"] = folder
        try:
            return get_encoding(ENCODING)
        finally:
            del os.environ["TIKTOKEN_CACHE_DIR"]

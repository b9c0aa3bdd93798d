"""Token counts: from a real tokenizer if it is installed, otherwise bytes / 4."""

import gzip
import os
from collections.abc import Callable
from hashlib import sha1
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from onetool.domain.usage.summary import estimate_tokens

ENCODING = "o200k_base"
RANKS_URL = f"https://openaipublic.blob.core.windows.net/encodings/{ENCODING}.tiktoken"
FALLBACK = "bytes / 4, because tiktoken and bpe-openai are not installed (uv sync --group bench)"
Count = Callable[[str], int]


class Tokenizer:
    """Counts tokens and names the method."""

    def __init__(self) -> None:
        self._count = _tokenizer()
        self.name = f"tokens of {ENCODING}" if self._count else FALLBACK

    def count(self, text: str) -> int:
        """Return the number of tokens in a text."""
        return self._count(text) if self._count else estimate_tokens(len(text.encode()))


def _tokenizer() -> Count | None:
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
    """Load an encoding from the cache path that tiktoken uses; it verifies the ranks by their hash."""
    with TemporaryDirectory() as directory:
        (Path(directory) / sha1(RANKS_URL.encode()).hexdigest()).write_bytes(ranks)
        os.environ["TIKTOKEN_CACHE_DIR"] = directory
        try:
            return get_encoding(ENCODING)
        finally:
            del os.environ["TIKTOKEN_CACHE_DIR"]

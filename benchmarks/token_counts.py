"""How many tokens a text is: by the ranks of a real tokenizer where they are installed, and as bytes / 4."""

import gzip
import os
from collections.abc import Callable
from hashlib import sha1
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from onetool.domain.usage import tokens

ENCODING = "o200k_base"
ADDRESS = f"https://openaipublic.blob.core.windows.net/encodings/{ENCODING}.tiktoken"
ABSENT = "tiktoken and bpe-openai are not installed (uv sync --group bench): tokens are bytes / 4"
Count = Callable[[str], int]


class Tokens(NamedTuple):
    """One text, counted twice."""

    counted: int
    estimated: int
    """Bytes / 4, as OneTool itself says it."""

    def __str__(self) -> str:
        return f"{self.counted:,} ({self.estimated:,})"


class Tokenizer:
    """Counts tokens; without the packages both counts are the estimate."""

    def __init__(self) -> None:
        self._count = _ranked()
        self.name = f"tokens of {ENCODING} (bytes / 4)" if self._count else ABSENT

    def count(self, text: str) -> Tokens:
        """Count one text."""
        estimated = tokens(len(text.encode()))
        return Tokens(self._count(text) if self._count else estimated, estimated)


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

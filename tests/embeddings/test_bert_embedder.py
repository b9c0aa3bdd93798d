"""The embedder: caching, corrupt caches, and errors for missing parts."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from embeddings.tiny_model import write_model
from onetool.embeddings import bert_embedder, vector_cache
from onetool.embeddings.bert import BertEncoder
from onetool.embeddings.bert_embedder import BertEmbedder
from onetool.embeddings.vector_cache import VectorCache
from onetool.files.installation import extra_command

TEXTS = ["read a file", "send mail", "rain in city"]
ENTRIES = [[text] for text in TEXTS]
REAL = os.environ.get("ONETOOL_TEST_MODEL", "")


@pytest.fixture
def model(tmp_path):
    write_model(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def encoded(monkeypatch):
    """The texts that were encoded."""
    encoded, encode = [], BertEncoder.encode
    monkeypatch.setattr(
        BertEncoder, "encode", lambda self, texts: encoded.extend(texts) or encode(self, texts)
    )
    return encoded


def cache_file(directory: Path) -> Path:
    (file,) = directory.glob("*.vectors")
    return file


def test_closest_texts_come_first(model, tmp_path):
    """A text is closest to itself. `limit` is respected, and an empty index returns nothing."""
    index = BertEmbedder(model, tmp_path / "cache").index(ENTRIES)
    for position, text in enumerate(TEXTS):
        (first, similarity), *others = index(text, 10)
        assert (first, len(others)) == (position, 2)
        assert similarity == pytest.approx(1, abs=1e-5)
        assert [score for _, score in others] == sorted((score for _, score in others), reverse=True)
    assert len(index("mail", 1)) == 1
    assert BertEmbedder(model, tmp_path / "cache").index([])("mail", 5) == []


def test_embedding_of_an_entry_is_the_mean_of_its_texts(model, tmp_path):
    index = BertEmbedder(model, tmp_path / "cache").index([TEXTS[:2], TEXTS[2:]])
    first, second = BertEncoder(model).encode(TEXTS[:2])
    expected = (first + second) @ first / np.linalg.norm(first + second)
    assert dict(index(TEXTS[0], 2))[0] == pytest.approx(expected, abs=1e-5)
    assert dict(index(TEXTS[2], 2))[1] == pytest.approx(1, abs=1e-5)


def test_vectors_are_cached(model, tmp_path, encoded):
    """Another process encodes only new texts. A repeated text is encoded once."""
    BertEmbedder(model, tmp_path / "cache").index([*ENTRIES, ENTRIES[0]])
    assert encoded == TEXTS
    encoded.clear()
    again = BertEmbedder(model, tmp_path / "cache").index([*ENTRIES, ["write a file"]])
    assert encoded == ["write a file"]
    assert again("send mail", 1)[0][0] == 1
    assert cache_file(tmp_path / "cache").stat().st_mode & 0o777 == 0o600


def test_each_model_has_its_own_cache(model, tmp_path, encoded):
    BertEmbedder(model, tmp_path / "cache").index(ENTRIES)
    write_model(tmp_path / "other", seed=8)
    BertEmbedder(tmp_path / "other", tmp_path / "cache").index(ENTRIES)
    assert encoded == TEXTS * 2
    assert len(list((tmp_path / "cache").iterdir())) == 2


@pytest.mark.parametrize(
    "corrupt", [lambda c: b"", lambda c: c[:-7], lambda c: c[:200] + b"?" + c[201:], lambda c: b"x" * 500]
)
def test_corrupt_cache_is_rebuilt(model, tmp_path, encoded, caplog, corrupt):
    """An empty file, a truncated one, a wrong byte, other content. A warning is logged."""
    BertEmbedder(model, tmp_path / "cache").index(ENTRIES)
    file = cache_file(tmp_path / "cache")
    content = file.read_bytes()
    file.write_bytes(corrupt(content))
    assert BertEmbedder(model, tmp_path / "cache").index(ENTRIES)("send mail", 1)[0][0] == 1
    assert encoded == [*TEXTS * 2, "send mail"]
    assert "will be rebuilt" in caplog.text
    assert file.read_bytes() == content


def test_vectors_of_another_size_are_ignored(model, tmp_path, caplog):
    BertEmbedder(model, tmp_path / "cache").index(ENTRIES)
    assert VectorCache(cache_file(tmp_path / "cache")).read(16) == {}
    assert "not (16,)" in caplog.text


def test_unwritable_cache_is_ignored(model, tmp_path, caplog):
    """Here a file has the name of the cache directory."""
    (tmp_path / "cache").write_text("mine")
    assert BertEmbedder(model, tmp_path / "cache").index(ENTRIES)("send mail", 1)[0][0] == 1
    assert "will be computed again" in caplog.text


def test_full_cache_is_reduced_to_the_vectors_in_use(model, tmp_path, monkeypatch):
    monkeypatch.setattr(vector_cache, "MAX_VECTORS", 4)
    embedder = BertEmbedder(model, tmp_path / "cache")
    embedder.index(ENTRIES)
    embedder.index([*ENTRIES[:1], ["write a file"], ["tell how much"]])
    assert len(VectorCache(cache_file(tmp_path / "cache")).read(32)) == 3


def test_cache_is_written_in_chunks(model, tmp_path, monkeypatch):
    """A process that ends early loses at most one chunk."""
    monkeypatch.setattr(bert_embedder, "CHUNK_SIZE", 2)
    sizes, add = [], VectorCache.add
    monkeypatch.setattr(
        VectorCache, "add", lambda self, vectors, size: sizes.append(len(vectors)) or add(self, vectors, size)
    )
    BertEmbedder(model, tmp_path / "cache").index(ENTRIES)
    assert sizes == [2, 3]


def test_concurrent_threads_encode_once(model, tmp_path, encoded):
    """The second thread waits and uses the vectors of the first."""
    embedder = BertEmbedder(model, tmp_path / "cache")
    threads = [threading.Thread(target=embedder.index, args=(ENTRIES,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert encoded == TEXTS


def test_missing_model_error_names_the_install_command(tmp_path):
    message = r"No embedding model in '.*nowhere'.*onetool search install-model"
    with pytest.raises(FileNotFoundError, match=message):
        BertEmbedder(tmp_path / "nowhere", tmp_path / "cache").index(ENTRIES)


@pytest.mark.parametrize("threads", ["", "2"])
def test_environment_is_unchanged(model, tmp_path, threads):
    """The variable for numpy is not inherited by child processes, and the user's own value stays."""
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from onetool.embeddings.bert_embedder import BertEmbedder\n"
        "before = dict(os.environ)\n"
        "BertEmbedder(*map(Path, sys.argv[1:])).index([['a']])\n"
        "print(dict(os.environ) == before)\n"
    )
    env = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    env |= {"OPENBLAS_NUM_THREADS": threads} if threads else {}
    command = [sys.executable, "-c", code, str(model), str(tmp_path / "cache")]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("package", ["numpy", "safetensors", "tokenizers"])
def test_missing_extra_error_names_the_install_command(tmp_path, package):
    """Creating the embedder imports nothing."""
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from pathlib import Path\n"
        "from onetool.embeddings.bert_embedder import BertEmbedder\n"
        "embedder = BertEmbedder(Path('x'), Path('y'))\n"
        "assert not {'numpy', 'safetensors', 'tokenizers'} & {n for n, m in sys.modules.items() if m}\n"
        "try: embedder.index([['a']])\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert extra_command("semantic") in done.stdout, done.stderr
    assert package in done.stdout

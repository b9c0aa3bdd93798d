"""Learning texts: what was computed is kept, damage is mended, what is missing is said."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from onetool.embeddings import bert_meanings, vector_file
from onetool.embeddings.bert import Encoder
from onetool.embeddings.bert_meanings import BertMeanings
from onetool.embeddings.vector_file import VectorFile
from tiny_model import write_model

TEXTS = ["read a file", "send mail", "rain in city"]
REAL = os.environ.get("ONETOOL_TEST_MODEL", "")


@pytest.fixture
def model(tmp_path):
    write_model(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def encoded(monkeypatch):
    """Which texts were computed."""
    found, encode = [], Encoder.encode
    monkeypatch.setattr(Encoder, "encode", lambda self, texts: found.extend(texts) or encode(self, texts))
    return found


def kept_in(directory: Path) -> Path:
    (file,) = directory.glob("*.vectors")
    return file


def test_the_nearest_come_first(model, tmp_path):
    """A text is nearest to itself; no more than asked for, and none where none was learnt."""
    nearest = BertMeanings(model, tmp_path / "cache").learn(TEXTS)
    for place, text in enumerate(TEXTS):
        (first, similarity), *others = nearest(text, 10)
        assert (first, len(others)) == (place, 2)
        assert similarity == pytest.approx(1, abs=1e-5)
        assert [near for _, near in others] == sorted((near for _, near in others), reverse=True)
    assert len(nearest("mail", 1)) == 1
    assert BertMeanings(model, tmp_path / "cache").learn([])("mail", 5) == []


def test_what_was_computed_is_kept(model, tmp_path, encoded):
    """Another process computes only what is new; the same text twice is computed once."""
    BertMeanings(model, tmp_path / "cache").learn([*TEXTS, TEXTS[0]])
    assert encoded == TEXTS
    encoded.clear()
    again = BertMeanings(model, tmp_path / "cache").learn([*TEXTS, "write a file"])
    assert encoded == ["write a file"]
    assert again("send mail", 1)[0][0] == 1
    assert kept_in(tmp_path / "cache").stat().st_mode & 0o777 == 0o600


def test_another_model_keeps_its_own_vectors(model, tmp_path, encoded):
    """Vectors of two models are never compared."""
    BertMeanings(model, tmp_path / "cache").learn(TEXTS)
    write_model(tmp_path / "other", seed=8)
    BertMeanings(tmp_path / "other", tmp_path / "cache").learn(TEXTS)
    assert encoded == TEXTS * 2
    assert len(list((tmp_path / "cache").iterdir())) == 2


@pytest.mark.parametrize(
    "damage", [lambda c: b"", lambda c: c[:-7], lambda c: c[:200] + b"?" + c[201:], lambda c: b"x" * 500]
)
def test_a_damaged_cache_is_made_anew(model, tmp_path, encoded, caplog, damage):
    """Empty, cut short, one byte wrong, something else: computed again, with a line in the log."""
    BertMeanings(model, tmp_path / "cache").learn(TEXTS)
    file = kept_in(tmp_path / "cache")
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert BertMeanings(model, tmp_path / "cache").learn(TEXTS)("send mail", 1)[0][0] == 1
    assert encoded == [*TEXTS * 2, "send mail"]
    assert "made anew" in caplog.text
    assert file.read_bytes() == whole


def test_vectors_of_another_size_are_not_used(model, tmp_path, caplog):
    """A file that is whole, but not of this model."""
    BertMeanings(model, tmp_path / "cache").learn(TEXTS)
    assert VectorFile(kept_in(tmp_path / "cache")).read(16) == {}
    assert "not of (16,)" in caplog.text


def test_a_cache_that_cannot_be_written_harms_nothing(model, tmp_path, caplog):
    """A file where the directory should be: the vectors are there all the same."""
    (tmp_path / "cache").write_text("mine")
    assert BertMeanings(model, tmp_path / "cache").learn(TEXTS)("send mail", 1)[0][0] == 1
    assert "will be computed again" in caplog.text


def test_only_what_is_in_use_stays_when_there_is_too_much(model, tmp_path, monkeypatch):
    """The file does not grow for ever."""
    monkeypatch.setattr(vector_file, "KEPT", 4)
    meanings = BertMeanings(model, tmp_path / "cache")
    meanings.learn(TEXTS)
    meanings.learn([*TEXTS[:1], "write a file", "tell how much"])
    assert len(VectorFile(kept_in(tmp_path / "cache")).read(32)) == 3


def test_much_is_kept_piece_by_piece(model, tmp_path, monkeypatch):
    """What a process had computed before it was ended need not be computed again."""
    monkeypatch.setattr(bert_meanings, "CHUNK", 2)
    sizes, add = [], VectorFile.add
    monkeypatch.setattr(
        VectorFile, "add", lambda self, vectors, size: sizes.append(len(vectors)) or add(self, vectors, size)
    )
    BertMeanings(model, tmp_path / "cache").learn(TEXTS)
    assert sizes == [2, 3]


def test_two_threads_compute_once(model, tmp_path, encoded):
    """The second waits, and finds what the first has computed."""
    meanings = BertMeanings(model, tmp_path / "cache")
    threads = [threading.Thread(target=meanings.learn, args=(TEXTS,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert encoded == TEXTS


def test_a_missing_model_says_how_to_get_one(tmp_path):
    """The directory, the file, the command."""
    with pytest.raises(FileNotFoundError, match=r"'.*nowhere' holds no model.*onetool search install-model"):
        BertMeanings(tmp_path / "nowhere", tmp_path / "cache").learn(TEXTS)


@pytest.mark.parametrize("given", ["", "2"])
def test_the_environment_stays_as_it_was(model, tmp_path, given):
    """What numpy is told when it is loaded is not told to programs that tools start; an own choice holds."""
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from onetool.embeddings.bert_meanings import BertMeanings\n"
        "before = dict(os.environ)\n"
        "BertMeanings(*map(Path, sys.argv[1:])).learn(['a'])\n"
        "print(dict(os.environ) == before)\n"
    )
    env = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    env |= {"OPENBLAS_NUM_THREADS": given} if given else {}
    command = [sys.executable, "-c", code, str(model), str(tmp_path / "cache")]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("package", ["numpy", "safetensors", "tokenizers"])
def test_a_missing_extra_says_how_to_get_it(tmp_path, package):
    """Making the adapter costs nothing and loads nothing; learning names what to install."""
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from pathlib import Path\n"
        "from onetool.embeddings.bert_meanings import BertMeanings\n"
        "meanings = BertMeanings(Path('x'), Path('y'))\n"
        "assert not {'numpy', 'safetensors', 'tokenizers'} & {n for n, m in sys.modules.items() if m}\n"
        "try: meanings.learn(['a'])\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert "pip install 'onetool[semantic]'" in done.stdout, done.stderr
    assert package in done.stdout


@pytest.mark.skipif(not REAL, reason="ONETOOL_TEST_MODEL names no model")
def test_the_real_model_finds_what_shares_no_word(tmp_path):
    """By meaning alone."""
    texts = [
        "fs read file: Return what a document holds.",
        "weather forecast: How it rains.",
        "post: Send a letter.",
    ]
    nearest = BertMeanings(Path(REAL), tmp_path).learn(texts)
    assert nearest("should I take an umbrella", 1)[0][0] == 1

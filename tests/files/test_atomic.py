"""Atomic writes and fingerprints of files."""

import os

import pytest

from onetool.files.atomic import write_atomic, write_new
from onetool.files.fingerprint import fingerprint


def test_write_replaces_a_file_with_private_permissions(tmp_path):
    """No temporary file remains."""
    file = tmp_path / "deep" / "f"
    write_atomic(file, b"one")
    write_atomic(file, b"two")
    assert file.read_bytes() == b"two"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["f"]


def test_failed_write_leaves_no_temporary_file(tmp_path):
    folder = tmp_path / "f"
    (folder / "inside").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        write_atomic(folder, b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f"]


def test_write_new_never_overwrites(tmp_path):
    """Not even through a link."""
    file, link = tmp_path / "f", tmp_path / "link"
    assert write_new(file, b"one")
    assert not write_new(file, b"two")
    link.symlink_to(tmp_path / "elsewhere")
    assert not write_new(link, b"three")
    assert file.read_bytes() == b"one"
    assert not (tmp_path / "elsewhere").exists()


def test_fingerprint_changes_with_the_file(tmp_path):
    file = tmp_path / "f"
    fingerprints = [fingerprint(str(file))]
    for content in (b"a", b"b", b"c"):
        write_atomic(file, content)
        fingerprints.append(fingerprint(str(file)))
    before = fingerprint(str(tmp_path))
    os.utime(tmp_path, ns=(1, 1))
    assert fingerprints[0] is None
    assert len(set(fingerprints)) == 4
    assert fingerprint(str(tmp_path)) != before


def test_concurrent_write_new_creates_one_complete_file(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    file = tmp_path / "token"
    with ThreadPoolExecutor(8) as pool:
        written = list(pool.map(lambda n: write_new(file, b"%d" % n * 20), range(8)))
    assert sum(written) == 1
    assert len(file.read_bytes()) == 20
    assert [path.name for path in tmp_path.iterdir()] == ["token"]
